"""The fixtures of tests/ and tests/examples/, and the modules of the research by their names."""

from __future__ import annotations

import logging
import runpy
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

RESEARCH = Path(__file__).parents[1]
ROOT = RESEARCH.parents[1]
# At the end: no name here may stand before one of another package.
sys.path += [str(RESEARCH), str(RESEARCH / "campaigns")]
for name in ("tests/conftest.py", "tests/examples/conftest.py"):
    shared = runpy.run_path(str(ROOT / name))
    globals().update({key: value for key, value in shared.items() if not key.startswith("_")})


@pytest.fixture
def scripts() -> Path:
    """The folder of the scripts that ``example`` runs."""
    return RESEARCH


@pytest.fixture(autouse=True)
def what_is_logged() -> Iterator[None]:
    """Campaigns hush the package; the tests after them must hear it."""
    logger = logging.getLogger("graphdep")
    level = logger.level
    yield
    logger.setLevel(level)


@pytest.fixture(scope="module")
def bench(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The benchmark that the file of tests is named for. It and what it imports from its folder go
    afterwards: their names are as plain as ``attention``.
    """
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(RESEARCH / "benchmarks"))
        patch.setenv("PYTHONPATH", str(ROOT))  # of the processes that it starts
        yield import_module(request.path.stem.removeprefix("test_"))
    torch.set_num_threads(threads)
    for path in (RESEARCH / "benchmarks").glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[EOU]", *(f"word{i}" for i in range(45))]
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocab)}, unk_token="[UNK]"))
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    folder = tmp_path_factory.mktemp("encoder")
    # Weights large enough for wrong scores to show, and the same whatever ran before: some draws hide them.
    config = BertConfig(vocab_size=50, max_position_embeddings=64, initializer_range=0.3, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=backend, **names).save_pretrained(folder)
    return str(folder)
