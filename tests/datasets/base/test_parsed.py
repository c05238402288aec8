from __future__ import annotations

import functools
import hashlib
import io
import os
import pickle
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep import NodeType, RelationVocab, Vocab
from graphdep.datasets import SICK, UDTreebank
from graphdep.datasets.base.parsed import _MAGIC, describe, digest, load_examples, warn_of_chains

ROWS = [("1", "A dog sees a bird", "A man sleeps", "1", "NEUTRAL")]
MINI = Path(__file__).parents[3] / "datasets" / "mini" / "ud" / "raw"


class Shift(BaseTransform):
    """A transform whose repr lacks the argument, as many have."""

    def __init__(self, amount: int) -> None:
        self.amount = amount

    def forward(self, data: Data) -> Data:
        data.position = data.position + self.amount
        return data

    def __repr__(self) -> str:
        return "Shift()"


class Keep:
    def __init__(self, pair: int) -> None:
        self.pair = pair

    def __call__(self, data: Data) -> bool:
        return bool(data.pair == self.pair)


class AddObject(BaseTransform):
    def forward(self, data: Data) -> Data:
        data.place = Path("here")
        return data


def processed(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "processed").glob("*"))


def equal(first: SICK, second: SICK) -> bool:
    return len(first) == len(second) and all(
        a.to_dict().keys() == b.to_dict().keys()
        and all(torch.equal(torch.as_tensor(a[key]), torch.as_tensor(b[key])) for key in a.to_dict())
        for a, b in zip(first, second)
    )


def test_other_options_have_another_file(tmp_path, parser, new_parser, new_tokens, write_sick):
    raw, tokens = write_sick(), new_tokens()
    choices = [
        {},
        {"split": "test"},
        {"task": "entailment"},
        {"limit": 2},
        {"min_freq": 2},
        {"lower": False},
        {"root_node": False},
        {"vocab": Vocab(["dog"])},
        {"relations": RelationVocab(["nsubj:chain"])},
        {"pre_transform": Shift(1)},
        {"pre_filter": Keep(1)},
        {"parser": new_parser("2")},
        {"tokens": tokens},
        {"tokens": new_tokens("other")},
        {"tokens": tokens, "max_length": 200},
        {"tokens": tokens, "max_length": 300},
        {"tokens": tokens, "relations": RelationVocab(["nsubj:chain"])},
        {"arcs": "enhanced"},
        {"arcs": "enhanced++"},
        {"arcs": "enhanced", "relations": RelationVocab()},
        {"arcs": "enhanced++", "relations": RelationVocab(["dep:dog"])},
    ]
    for options in choices * 2:
        made = SICK(tmp_path / "sick", **{"parser": parser, "raw_from": raw, **options})
        assert made.describe()["parser"] == ("chain/2" if "parser" in options else "chain/1")
    assert len(processed(tmp_path / "sick")) == len(choices)


def test_a_changed_raw_file_has_another_file(tmp_path, parser, write_sick):
    raw = write_sick()
    SICK(tmp_path / "sick", "test", parser=parser, raw_from=raw)
    path = tmp_path / "sick" / "raw" / "SICK_train.txt"  # the vocabulary depends on it
    path.write_text(path.read_text().replace("bird", "fish"))
    assert "fish" in SICK(tmp_path / "sick", "test", parser=parser).vocab


def test_pre_transform_is_known_by_its_arguments(tmp_path, parser, write_sick):
    raw = write_sick()
    for amount in (5, 20):
        dataset = SICK(tmp_path / "sick", parser=parser, raw_from=raw, pre_transform=Shift(amount))
        assert dataset[0].position[0] == amount
    with pytest.raises(ValueError, match="use a transform object"):
        SICK(tmp_path / "sick", parser=parser, pre_transform=lambda data: data)


def test_pre_transform_writes_plain_values(tmp_path, parser, write_sick):
    with pytest.raises(ValueError, match="tensors and plain values only"):
        SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(), pre_transform=AddObject())
    assert processed(tmp_path / "sick") == []


def test_pre_filter(tmp_path, parser, write_sick):
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(), pre_filter=Keep(2))
    assert [data.pair.item() for data in dataset] == [2]
    with pytest.raises(ValueError, match="'pre_filter' removes all 3 examples"):
        SICK(tmp_path / "sick", parser=parser, pre_filter=Keep(7))


def test_a_damaged_processed_file_is_made_again(tmp_path, new_parser, write_sick, caplog):
    first = SICK(tmp_path / "sick", parser=new_parser(), raw_from=write_sick())
    path = Path(first.processed_paths[0])
    content = path.read_bytes()
    lengths = [0, 1, 20, 52, 53, 1000, len(content) // 2, len(content) - 200, len(content) - 1]
    flipped = content[:-300] + bytes([content[-300] ^ 1]) + content[-299:]
    for damaged in [*(content[:length] for length in lengths), flipped, content + b"\0"]:
        path.write_bytes(damaged)
        caplog.clear()
        assert equal(SICK(tmp_path / "sick", parser=new_parser()), first)
        assert f"is damaged ({len(damaged)} bytes)" in caplog.text
        assert path.read_bytes()[:52] == content[:52]


def test_a_processed_file_with_an_object_is_made_again(tmp_path, new_parser, write_sick, caplog):
    first = SICK(tmp_path / "sick", parser=new_parser(), raw_from=write_sick())
    path = Path(first.processed_paths[0])
    saved = io.BytesIO()
    torch.save({"data": Path("here")}, saved)
    for content in (saved.getvalue(), pickle.dumps(Path("here"), protocol=2), b"", b"PK", b"x" * 500):
        path.write_bytes(_MAGIC + hashlib.sha256(content).digest() + content)
        caplog.clear()
        assert equal(SICK(tmp_path / "sick", parser=new_parser()), first)
        assert "is made again" in caplog.text
        assert len(content) < 600 or "holds more than tensors and plain values" in caplog.text
        assert load_examples(path) is not None


def test_an_interrupted_write_leaves_nothing(tmp_path, parser, write_sick, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        raw = write_sick()
        with pytest.raises(KeyboardInterrupt):
            SICK(tmp_path / "sick", parser=parser, raw_from=raw)
    assert list((tmp_path / "sick" / "raw").iterdir()) == []
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=raw)
    Path(dataset.processed_paths[0]).unlink()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            SICK(tmp_path / "sick", parser=parser)
    assert processed(tmp_path / "sick") == []
    assert equal(SICK(tmp_path / "sick", parser=parser), dataset)


def load_treebank(root: Path) -> None:
    UDTreebank(root, raw_from=MINI, limit=20, log=False)


def test_two_processes_at_once(tmp_path):
    running = [get_context("fork").Process(target=load_treebank, args=[tmp_path / "ud"]) for _ in range(2)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    assert [process.exitcode for process in running] == [0, 0]
    assert len(processed(tmp_path / "ud")) == 1
    assert len(UDTreebank(tmp_path / "ud", limit=20, log=False)) == 6


def test_raw_from_does_not_replace_other_files(tmp_path, parser, write_sick):
    SICK(tmp_path / "sick", parser=parser, raw_from=write_sick())
    other = write_sick([("7", "A cow", "A dog", "3", "NEUTRAL")], folder="other")
    with pytest.raises(
        ValueError, match="'raw_from' has .*other.*differs from .*: delete .*sick/raw/SICK_train"
    ):
        SICK(tmp_path / "sick", parser=parser, raw_from=other)
    assert len(SICK(tmp_path / "sick", parser=parser, raw_from=other, force_reload=True)) == 1


def test_raw_from_is_read_before_it_is_copied(tmp_path, parser, write_sick):
    for name in ["SICK_train.txt", "SICK_test_annotated.txt"]:
        raw = write_sick()
        right = (raw / name).read_text(encoding="utf-8")
        (raw / name).write_text(right.replace("NEUTRAL", "NEUTRA"), encoding="utf-8")
        with pytest.raises(ValueError, match=rf"raw_files/{name}:\d: 'entailment_judgment' must be one of"):
            SICK(tmp_path / name, parser=parser, raw_from=raw)
        assert not list((tmp_path / name).glob("raw/*"))
        (raw / name).write_text(right, encoding="utf-8")
        assert len(SICK(tmp_path / name, parser=parser, raw_from=raw)) == 3


def test_parses_are_kept_between_settings(tmp_path, new_parser, write_sick):
    SICK(tmp_path / "sick", parser=new_parser(), raw_from=write_sick())
    again = new_parser()
    SICK(tmp_path / "sick", "test", "entailment", parser=again)
    assert again.texts == []


def pieces(*words: str) -> list[int]:
    return [5 if letter == "z" else ord(letter) for word in words for letter in word]


def test_pieces_of_a_pair(tmp_path, parser, new_tokens, write_sick):
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(), tokens=new_tokens())
    words = SICK(tmp_path / "sick", parser=parser)
    first, second = ["A", "dog", "sees", "a", "bird"], ["A", "man", "sleeps"]
    data = dataset[2]
    sizes = [len(pieces(*first)), len(pieces(*second))]
    assert data.input_ids.tolist() == [2, *pieces(*first), 3, *pieces(*second), 3]
    assert data.segment.tolist() == data.utterance.tolist() == [0] * (sizes[0] + 2) + [1] * (sizes[1] + 1)
    of_words = [NodeType.WORD] * sizes[0], [NodeType.WORD] * sizes[1]
    assert data.node_type.tolist() == [NodeType.CLS, *of_words[0], NodeType.SEP, *of_words[1], NodeType.SEP]
    starts = [0, *accumulate(map(len, first))]
    arcs = [[1 + start for start in starts[:4]], [1 + start for start in starts[1:5]]]
    assert [row[:4] for row in data.arc_index.tolist()] == arcs  # a chain of the first pieces of words
    assert data.cut_words.tolist() == [[0, 0]]
    data.validate()
    for name in ("y", "score", "pair"):
        assert torch.equal(getattr(dataset, name), getattr(words, name))
        assert torch.equal(data[name], words[2][name])


def test_pieces_of_a_batch(tmp_path, parser, new_tokens, write_sick):
    options = {"tokens": new_tokens(), "max_length": 20}
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(), **options)
    batch = Batch.from_data_list([*dataset])
    assert batch.cut_words.shape == (3, 2)
    for alone, data in zip(batch.to_data_list(), dataset):
        for key in ("arc_index", "governor_index", "input_ids", "y", "cut_words"):
            assert torch.equal(alone[key], data[key]), key


def test_pieces_need_no_training_split(tmp_path, parser, new_tokens, write_sick):
    raw = write_sick()
    (raw / "SICK_train.txt").unlink()
    dataset = SICK(tmp_path / "sick", "test", parser=parser, raw_from=raw, tokens=new_tokens())
    assert len(dataset) == 2
    assert len(dataset.vocab) == len(Vocab())


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(5, 60))
def test_cut_words_are_counted(tmp_path, parser, new_tokens, write_sick, max_length):
    rows = [
        ("1", "a bcd efghz ij", "kl mnopqrstu v", "3", "NEUTRAL"),
        ("2", "zz zz", "a", "3", "NEUTRAL"),
        ("3", "abcdefghij", "abc de zf g h", "3", "NEUTRAL"),
    ]
    options = {"tokens": new_tokens(), "max_length": max_length, "force_reload": True}
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(rows), **options)
    described = dataset.describe()
    left = unknown = cut = cut_examples = 0
    for data, (_, *texts, _, _) in zip(dataset, rows):
        assert data.num_nodes <= max_length
        lost = 0
        for utterance, words in enumerate(text.split() for text in texts):
            ids = [
                data.input_ids[(data.utterance == utterance) & (data.word == n)].tolist() for n in range(9)
            ]
            whole = [piece == pieces(word) for piece, word in zip(ids, words)]
            assert not any(ids[len(words) :])
            lost += whole.count(False)
            left += sum(map(bool, ids))
            unknown += sum(5 in piece for piece in ids)
        cut += lost
        cut_examples += lost > 0
        assert data.cut_words.sum() == lost
    counted = [described[name] for name in ("words", "cut_words", "cut_examples", "forms")]
    assert counted == [left, cut, cut_examples, 14]
    assert described["unknown_words"] == pytest.approx(unknown / left)


def test_cut_words_are_reported(tmp_path, parser, new_tokens, write_sick, caplog):
    raw = write_sick()
    whole = SICK(tmp_path / "sick", parser=parser, raw_from=raw, tokens=new_tokens())
    assert not caplog.records
    for _ in range(2):  # processed, then loaded
        caplog.clear()
        dataset = SICK(tmp_path / "sick", parser=parser, tokens=new_tokens(), max_length=34)
        assert [record.getMessage() for record in caplog.records] == [
            "SICK (train): 'max_length' 34 cuts 4 words of 2 examples"
        ]
    assert whole.describe() == {
        "corpus": "SICK",
        "split": "train",
        "examples": 3,
        "words": 30,
        "cut_examples": 0,
        "cut_words": 0,
        "forms": 15,
        "unknown_words": 0.0,
        "parser": "chain/1",
        "parser_failures": 0,
        "unknown_relations": 0,
        "relation_types": 2,
        "relations": "2 labels of Universal Dependencies, 100% of the arcs",
    }
    part = dataset[2:].describe()
    assert (part["examples"], part["words"], part["cut_words"]) == (1, 8, 0)
    assert "forms" not in part
    assert equal(pickle.loads(pickle.dumps(dataset)), dataset)
    assert equal(dataset.copy(), dataset)
    assert pickle.loads(pickle.dumps(dataset)).describe() == dataset.describe()


def rows_of(*pairs: tuple[str, str]) -> list[tuple[str, ...]]:
    return [(str(number), *pair, "3", "NEUTRAL") for number, pair in enumerate(pairs)]


@pytest.mark.parametrize(
    ("min_freq", "lower", "more"),
    [
        (1, True, ["cat", "owls"]),  # from val and test
        (2, True, ["barks", "cat", "dog", "owls"]),  # and rare words of train
        (1, False, ["Owls", "cat"]),  # "Owls" has the vector of "owls"
    ],
)
def test_words_of_all_splits_that_have_a_vector(tmp_path, parser, write_sick, min_freq, lower, more):
    said = rows_of(("a dog barks", "a zyx")), rows_of(("a cat", "zyx")), rows_of(("Owls", "a wug cat"))
    file = tmp_path / "vectors.txt"
    file.write_text("".join(f"{word} 1 2\n" for word in ("cat", "owls", "dog", "barks", "elsewhere")))
    options = {"parser": parser, "raw_from": write_sick(*said), "min_freq": min_freq, "lower": lower}
    root, vectors = tmp_path / "sick", {"vocab_from": "vectors", "vectors": file}
    plain, train = SICK(root, **options), SICK(root, **options, **vectors)
    own, found = (dataset.vocab.state_dict()["words"] for dataset in (plain, train))
    assert own == (["a", "barks", "dog", "zyx"] if min_freq == 1 else ["a"])
    assert found[: len(own)] == own  # with the same ids
    assert sorted(found[len(own) :]) == more
    test = SICK(root, "test", parser=parser, vocab=train.vocab)
    owls = "owls" if lower else "Owls"
    assert train.vocab.words_of(test[0].input_ids) == ["[ROOT]", owls, "[ROOT]", "a", "[UNK]", "cat"]
    again = SICK(root, "test", **options, **vectors)  # without vocab=, the same vocabulary
    assert again.vocab == train.vocab
    assert equal(again, test)
    assert test.describe()["unknown_words"] == 1 / 4
    assert train.describe()["unknown_words"] == pytest.approx((min_freq - 1) / 5)  # zyx has no vector
    assert plain.describe()["unknown_words"] == pytest.approx((min_freq - 1) * 3 / 5)
    before = processed(root)
    file.write_text("cat 1 2\n")  # other vectors, other ids
    assert "owls" not in SICK(root, **options, **vectors).vocab
    assert len(processed(root)) == len(before) + 1


def test_labels_of_other_splits_do_not_change_the_words(tmp_path, parser, write_sick):
    file = tmp_path / "vectors.txt"
    file.write_text("man 1\nbird 2\n")
    found = []
    for label in ("NEUTRAL", "ENTAILMENT"):
        raw = write_sick(test=[(*row[:-1], label) for row in ROWS], folder=label)
        found.append(
            SICK(tmp_path / f"root-{label}", parser=parser, raw_from=raw, vocab_from="vectors", vectors=file)
        )
    assert found[0].vocab == found[1].vocab


def test_refused_options(tmp_path, parser, new_tokens, write_sick):
    for options, message in [
        ({"vocab_from": "test"}, r"'vocab_from' must be one of train, vectors \(got 'test'\)"),
        ({"vocab_from": "vectors"}, r"'vectors' must be a file with vocab_from='vectors', .*got None"),
        ({"vectors": "glove.txt"}, r"'vectors' must be .* only then \(got 'glove.txt', vocab_from='train'\)"),
        ({"vocab": Vocab()}, "'tokens' and 'vocab' cannot both be given"),
        ({"max_length": 4}, r"'max_length' must be at least 5 \(got 4\)"),
        ({"max_length": 0}, r"'max_length' must be at least 5 \(got 0\)"),
        ({"tokens": None, "max_length": 50}, r"'max_length' counts pieces and needs 'tokens' \(got 50\)"),
        ({"arcs": "deep"}, r"'arcs' must be one of basic, enhanced, .* \(got 'deep'\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            SICK(
                tmp_path / "sick", parser=parser, raw_from=write_sick(), **{"tokens": new_tokens(), **options}
            )
        assert processed(tmp_path / "sick") == []


def test_pieces_of_a_tokenizer(tmp_path, parser, write_sick):
    transformers = pytest.importorskip("transformers")
    from graphdep.vocab import SubwordTokens
    from tests.kit.tiny_encoder import write_tiny_encoder

    tokenizer = transformers.AutoTokenizer.from_pretrained(write_tiny_encoder(tmp_path / "encoder"))
    tokens = SubwordTokens(tokenizer, eou="[SEP]")
    raw = write_sick([("1", "A dog ☃", "A cat", "3", "NEUTRAL")])
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=raw, tokens=tokens)
    assert tokenizer.decode(dataset[0].input_ids) == "[CLS] a dog [UNK] [SEP] a cat [SEP]"
    assert dataset.describe()["unknown_words"] == pytest.approx(1 / 5)


def test_the_limit_of_words_is_named_where_the_parser_has_one(caplog):
    warn_of_chains("own.jsonl", "train", 0, "bundled/max_words=200")
    assert not caplog.text
    warn_of_chains("own.jsonl", "train", 1, "bundled/stanza-1/0123/max_words=200")
    said = (
        "own.jsonl (train): 1 text could not be parsed (each word below the one before): split sentences of "
    )
    assert f"{said}more than 200 words, then delete processed/ in the root" in caplog.messages[0]
    warn_of_chains("own.jsonl", "val", 2, "corenlp")
    assert "2 texts could not be parsed (each word below the one before): delete pro" in caplog.messages[1]


def test_digests_of_different_values_differ():
    values = [
        1,
        1.0,
        True,
        "1",
        None,
        [1],
        (1,),
        {1},
        {1: 2},
        [[1], [2]],
        [[1, 2]],
        ["1, 2"],
        torch.tensor([1]),
        torch.tensor([1.0]),
        torch.tensor([[1]]),
        torch.float,
        NodeType.CLS,
        int,
        SimpleNamespace(a=1),
        SimpleNamespace(a=2),
        SimpleNamespace(b=SimpleNamespace(a=1)),
        SimpleNamespace(b=SimpleNamespace(a=2)),
    ]
    assert len({digest(value) for value in values}) == len(values)


def test_digest_does_not_depend_on_the_order_of_a_set():
    words = {f"word{i}" for i in range(50)}
    assert digest(words) == digest(set(words))


def test_describe_refuses_functions():
    for value in [len, lambda x: x, functools.partial(int, base=2), "x".join]:
        with pytest.raises(ValueError, match="processed files could be stale"):
            describe([SimpleNamespace(f=value)])


def test_describe_refuses_addresses():
    with pytest.raises(ValueError, match="shows an address"):
        describe(object())
