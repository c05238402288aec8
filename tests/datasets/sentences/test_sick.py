from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, Vocab
from graphdep.datasets import SICK
from graphdep.datasets.sentences import SICK_COLUMNS, read_sick, relatedness_target

ROW = "1\tA dog runs\tA cat runs\t3.5\tNEUTRAL\n"
TABLE = "\t".join(SICK_COLUMNS) + "\n" + ROW


def test_sick_relatedness(tmp_path, parser, write_sick):
    dataset = SICK(tmp_path / "sick", "train", parser=parser, raw_from=write_sick())
    assert len(dataset) == 3
    assert dataset.num_classes == 5
    data = dataset[1]
    assert torch.equal(data.y, torch.tensor([[0, 0.75, 0.25, 0, 0]]))
    assert data.score.tolist() == [2.25]
    assert data.pair.tolist() == [2]
    assert data.segment.tolist() == data.utterance.tolist() == [0] * 6 + [1] * 6
    assert (data.node_type == NodeType.ROOT).nonzero().flatten().tolist() == [0, 6]
    assert "edge_index" not in data
    data.validate()


def test_sick_entailment_labels_do_not_depend_on_the_split(tmp_path, parser, write_sick):
    raw = write_sick()
    dataset = SICK(tmp_path / "sick", "train", "entailment", parser=parser, raw_from=raw)
    assert [SICK.labels[data.y] for data in dataset] == ["ENTAILMENT", "CONTRADICTION", "NEUTRAL"]
    assert dataset[0].y.dtype == torch.long
    assert dataset[0].y.shape == (1,)
    assert "score" not in dataset[0]
    single = SICK(tmp_path / "sick", "val", "entailment", parser=parser)
    assert len(single) == 1
    assert single.num_classes == 3
    assert single[0].y.tolist() == [1]
    assert single[0].num_nodes == 14


def test_sick_vocabulary_is_of_the_training_split(tmp_path, parser, write_sick):
    raw = write_sick(test=[("9", "A zebra chases the cat", "A dog", "3.0", "NEUTRAL")])
    train = SICK(tmp_path / "sick", "train", parser=parser, raw_from=raw)
    test = SICK(tmp_path / "sick", "test", parser=parser, raw_from=raw)
    assert test.vocab == train.vocab
    assert "zebra" not in test.vocab
    assert "DOG" in test.vocab
    assert test[0].input_ids.tolist()[:3] == [1, test.vocab["a"], 0]
    assert test.describe()["unknown_words"] == pytest.approx(1 / 7)
    assert "sees" not in SICK(tmp_path / "sick", "test", parser=parser, min_freq=2).vocab
    assert "a" not in SICK(tmp_path / "sick", "val", parser=parser, lower=False, min_freq=4).vocab


def test_sick_takes_a_vocabulary(tmp_path, parser, write_sick):
    raw = write_sick()
    (raw / "SICK_train.txt").unlink()
    vocab = Vocab(["dog"], lower=True)
    test = SICK(tmp_path / "sick", "test", parser=parser, raw_from=raw, vocab=vocab)
    assert test.vocab == vocab
    assert test[0].input_ids[:3].tolist() == [1, 0, 5]
    with pytest.raises(FileNotFoundError, match=r"SICK_train\.txt \(the vocabulary is built from it"):
        SICK(tmp_path / "sick", "test", parser=parser)


def test_sick_limit_acts_before_parsing(tmp_path, parser, write_sick):
    dataset = SICK(tmp_path / "sick", "train", parser=parser, raw_from=write_sick(), limit=1)
    assert len(dataset) == 1
    assert len(parser.texts) == 2
    assert "sees" not in dataset.vocab
    with pytest.raises(ValueError, match=r"'limit' must be at least 1 \(got 0\)"):
        SICK(tmp_path / "sick", "train", parser=parser, limit=0)


def test_sick_keeps_a_text_one_tree(tmp_path, parser, write_sick):
    raw = write_sick([("1", "A dog runs | It barks", "A dog", "3", "NEUTRAL")])
    data = SICK(tmp_path / "sick", "train", parser=parser, raw_from=raw)[0]
    assert data.utterance.max() == 1
    assert data.word.tolist() == [-1, 0, 1, 2, 3, 4, -1, 0, 1]


def test_sick_counts_failures_of_the_parser(tmp_path, parser, write_sick, caplog):
    raw = write_sick(test=[("1", "A dog FAIL", "A dog", "3", "NEUTRAL")])
    for _ in range(2):
        dataset = SICK(tmp_path / "sick", "test", parser=parser, raw_from=raw)
        assert dataset.parser_failures == dataset.describe()["parser_failures"] == 1
        assert dataset[0].num_nodes == 7
    assert SICK(tmp_path / "sick", "train", parser=parser).parser_failures == 0


def test_sick_describe(tmp_path, parser, write_sick):
    dataset = SICK(tmp_path / "sick", "train", parser=parser, raw_from=write_sick())
    assert dataset.describe() == {
        "corpus": "SICK",
        "split": "train",
        "examples": 3,
        "words": 30,
        "vocabulary": 17,
        "unknown_words": 0.0,
        "parser": "chain/1",
        "parser_failures": 0,
        "unknown_relations": 0,
    }


def test_sick_without_root_nodes(tmp_path, parser, write_sick):
    data = SICK(tmp_path / "sick", "val", parser=parser, raw_from=write_sick(), root_node=False)[0]
    assert (data.node_type == NodeType.WORD).all()
    assert data.governor_index[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "trial"}, r"'split' must be one of train, val, test \(got 'trial'\)"),
        ({"task": "similarity"}, r"'task' must be one of relatedness, entailment \(got 'similarity'\)"),
        ({"min_freq": 0}, r"'min_freq' must be at least 1 \(got 0\)"),
    ],
)
def test_sick_refuses_options(tmp_path, parser, write_sick, options, message):
    with pytest.raises(ValueError, match=message):
        SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(), **options)


def test_sick_says_where_the_files_are(tmp_path, parser):
    with pytest.raises(FileNotFoundError) as caught:
        SICK(tmp_path / "sick", parser=parser, raw_from=tmp_path / "nothing")
    for part in (
        "SICK_train.txt",
        "SICK_trial.txt",
        "SICK_test_annotated.txt",
        "semeval2014",
        "raw_from=",
        "--raw-from",
    ):
        assert part in str(caught.value)


@given(st.floats(1, 5))
def test_relatedness_target(score):
    target = relatedness_target(score).double()
    grades = torch.arange(1, 6).double()
    assert torch.isclose(target.sum(), torch.tensor(1.0).double(), atol=1e-6)
    assert torch.isclose((target * grades).sum(), torch.tensor(score).double(), atol=1e-5)
    used = target.nonzero().flatten().tolist()
    assert (target >= 0).all()
    assert used in ([used[0]], [used[0], used[0] + 1])


def test_read_sick_accepts_windows_files(tmp_path):
    path = tmp_path / "SICK_train.txt"
    path.write_bytes(b"\xef\xbb\xbf" + TABLE.removesuffix("\n").replace("\n", "\r\n").encode())
    assert read_sick(path) == [(1, ("A dog runs", "A cat runs"), 3.5, "NEUTRAL")]


@given(st.lists(st.tuples(st.integers(0, len(TABLE) - 1), st.binary(max_size=3)), max_size=3))
def test_read_sick_reads_or_refuses(tmp_path_factory, edits):
    content = bytearray((TABLE + ROW.replace("1", "2", 1)).encode())
    for place, replacement in edits:
        content[place : place + 1] = replacement
    path = tmp_path_factory.getbasetemp() / "fuzz.txt"
    path.write_bytes(bytes(content))
    try:
        pairs = read_sick(path)
    except ValueError as error:
        assert re.match(rf"{re.escape(str(path))}:[1-4]: ", str(error))
    else:
        assert pairs
        assert all(1 <= pair.score <= 5 and pair.label in SICK.labels for pair in pairs)
