from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

pytest.importorskip("transformers")

FOLDER = Path(__file__).parents[2] / "examples" / "benchmarks"
SIZES = ["--batch-size", "3", "--batches", "2", "--rounds", "1", "--threads", "1", "--max-length", "60"]
MODULES = ("pretrained", "dra_throughput", "dialogue_lengths", "attention")


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield import_module("pretrained")
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
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


def test_examples_have_the_length_asked_for(bench: ModuleType, folder: str) -> None:
    encoder = bench.load_encoder(folder)
    for length in range(bench.LEAST, 64):
        data = bench.make_example(length, encoder, random.Random(length))
        assert data.num_nodes == length
        assert data.cut_words.sum() == 0


def test_lengths(bench: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text("3\n20\n\n999\n")
    assert bench.read_lengths(path, 64) == [8, 20, 64]
    for text, message in (
        ("9\n-1\n", r"lengths.txt:2: not a length of at least 1: '-1'"),
        ("\n", "no lengths"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            bench.read_lengths(path, 64)
    lengths = bench.sample_lengths(2000, 256)
    assert (min(lengths), max(lengths)) == (8, 256)
    assert 55 < sorted(lengths)[1000] < 65


def test_a_run(
    bench: ModuleType, folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "memory_in_a_process", lambda name, argv: len(name))
    bench.main(["--encoder", folder, *SIZES, "--padded", "sdpa", "--sia", "--json"])
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["largest_difference"]["sdpa"] < 1e-5
    assert set(outcome["words_per_second"]) == set(outcome["memory_mb"]) == {"packed", "sdpa", "sia"}
    assert all(rate > 0 for rate in outcome["words_per_second"].values())
    rates = outcome["words_per_second"]
    assert outcome["speedup"]["sdpa"] == pytest.approx(rates["packed"] / rates["sdpa"])
    assert outcome["sia_extra"] == pytest.approx(rates["packed"] / rates["sia"] - 1)
    assert outcome["padding"] > 1
    assert outcome["memory_mb"]["sdpa"] == 4


def test_memory_in_a_process(bench: ModuleType, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parents[1]))
    assert 0 < bench.memory_in_a_process("packed", ["--encoder", folder, *SIZES]) < 4000
    with pytest.raises(RuntimeError, match="measuring the memory of 'sdpa' failed"):
        bench.memory_in_a_process("sdpa", ["--encoder", f"{folder}/missing", *SIZES])


def test_different_scores_are_an_error(
    bench: ModuleType, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = bench.parse(["--encoder", folder, *SIZES])
    batch = bench.make_batches(args, bench.load_encoder(folder))[0]
    bench.check(args, batch)
    whole = bench.padded_inputs
    monkeypatch.setattr(bench, "padded_inputs", lambda batch: whole(batch) | {"attention_mask": None})
    with pytest.raises(RuntimeError, match="the scores of packed and padded models differ"):
        bench.check(args, batch)
