from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

from graphdep import NodeType

pytest.importorskip("transformers")

FOLDER = Path(__file__).parents[2] / "examples" / "benchmarks"
SIZES = ["--batch-size", "3", "--batches", "2", "--rounds", "1", "--threads", "1", "--max-length", "30"]
MODULES = ("dam_throughput", "pretrained", "dra_throughput", "dialogue_lengths", "attention")


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield import_module("dam_throughput")
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


def test_lengths(bench: ModuleType, folder: str, tmp_path: Path) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text("8\n20\n\n999\n")
    args = bench.parse(["--encoder", folder, *SIZES, "--batch-size", "20", "--lengths", str(path)])
    (first, _) = bench.make_batches(args, bench.load_encoder(folder))
    is_relation = first.node_type == NodeType.RELATION
    pieces = torch.zeros(20, dtype=torch.long).index_add(0, first.batch, (~is_relation).long())
    assert pieces.unique().tolist() == [8, 20, 30]
    assert torch.equal(first.ptr.diff(), pieces + (pieces - 3))  # a word, and no arc, for the root
    assert bench.num_words(first) == int((pieces - 2).sum())


def test_sentences(bench: ModuleType, tmp_path: Path) -> None:
    mini = bench.read_sentences(bench.parse(["--encoder", "none"]))
    assert len(mini) > 10
    assert all(mini)
    (tmp_path / "raw").mkdir()
    path = tmp_path / "raw" / "in_domain_train.tsv"
    args = bench.parse(["--encoder", "none", "--raw-from", str(tmp_path)])
    with pytest.raises(ValueError, match="no in_domain_train.tsv of CoLA"):
        bench.read_sentences(args)
    path.write_text("gj04\t1\t\tOur friends won't.\ngj04\t0\t*\tThey\n")
    assert bench.read_sentences(args) == [["Our", "friends", "won", "'", "t", "."], ["They"]]
    path.write_text("gj04\t1\n")
    with pytest.raises(ValueError, match=r"in_domain_train.tsv:1: only 2 columns"):
        bench.read_sentences(args)


def test_a_run(
    bench: ModuleType, folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    used = {"packed": {"peak": 30, "activations": 10}, "sdpa": {"peak": 50, "activations": 30}}
    monkeypatch.setattr(bench, "memory_in_a_process", lambda name, argv: used[name])
    bench.main(["--encoder", folder, *SIZES, "--padded", "sdpa", "--json"])
    caught = capsys.readouterr()
    outcome = json.loads(caught.out)
    assert outcome["largest_difference"]["sdpa"] < 1e-5
    rates = outcome["words_per_second"]
    assert set(rates) == {"packed", "sdpa"}
    assert all(rate > 0 for rate in rates.values())
    assert outcome["speedup"]["sdpa"] == pytest.approx(rates["packed"] / rates["sdpa"])
    assert outcome["memory_share"] == {"sdpa": 0.6}
    assert outcome["activation_share"] == {"sdpa": pytest.approx(1 / 3)}
    assert "MISS packed: 60% of the peak memory of sdpa (at most 50%)" in caught.err
    assert "ok   packed: 33% of the activations of sdpa (at most 50%)" in caught.err
    assert outcome["padding"] > 1


def test_memory_in_a_process(bench: ModuleType, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parents[1]))
    used = bench.memory_in_a_process("packed", ["--encoder", folder, *SIZES])
    assert 0 < used["peak"] < 4000
    assert used["activations"] < used["peak"]
    with pytest.raises(RuntimeError, match="measuring the memory of 'sdpa' failed"):
        bench.memory_in_a_process("sdpa", ["--encoder", f"{folder}/missing", *SIZES])


def test_different_scores_are_an_error(
    bench: ModuleType, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = bench.parse(["--encoder", folder, *SIZES])
    batch = bench.make_batches(args, bench.load_encoder(folder))[0]
    bench.check(args, batch)
    mask = bench.additive_mask
    monkeypatch.setattr(bench, "additive_mask", lambda batch, longest: mask(batch, longest) * 0)
    with pytest.raises(RuntimeError, match="the scores of packed and padded models differ"):
        bench.check(args, batch)
