"""Examples and benchmarks run in this process, and a tiny encoder for those that train one."""

from __future__ import annotations

import io
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType

import pytest
import torch

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "benchmarks"


@pytest.fixture(scope="module")
def bench(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The benchmark that the file of tests is named for. It and what it imports from its folder go
    afterwards: their names are as plain as ``attention``.
    """
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        patch.setenv("PYTHONPATH", str(ROOT))  # of the processes that it starts
        yield import_module(request.path.stem.removeprefix("test_"))
    torch.set_num_threads(threads)
    for path in FOLDER.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def example() -> Iterator[Callable[..., CompletedProcess[str]]]:
    """Runs a script of ``examples/`` by its name, with arguments, in this process: in one of its own most of
    the time would go into imports. Fails where it ends with another code than ``returncode``.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield _run
    torch.set_num_threads(threads)


def _run(name: str, *arguments: object, returncode: int = 0) -> CompletedProcess[str]:
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.syspath_prepend(str(ROOT / "examples"))
        try:
            runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
        except SystemExit as stop:
            code = stop.code or 0
    if not isinstance(code, int):  # a message
        err.write(str(code))
        code = 1
    assert code == returncode, err.getvalue()
    return CompletedProcess(name, code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[EOU]", *(f"word{i}" for i in range(45))]
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocab)}, unk_token="[UNK]"))
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    folder = tmp_path_factory.mktemp("encoder")
    # Weights large enough for wrong scores to show.
    config = BertConfig(vocab_size=50, max_position_embeddings=64, initializer_range=0.3, **sizes)
    BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=backend, **names).save_pretrained(folder)
    return str(folder)
