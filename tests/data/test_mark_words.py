from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, mark_words, text_data
from graphdep.transforms import resolve
from tests.kit.strategies import examples

RELATIONS = RelationVocab()


def by_loop(data: Data, marks: list[int]) -> list[int]:
    return [marks[word] if word >= 0 else 0 for word in data.word.tolist()]


def of_pieces(tokens, words: list[str], max_length: int = 60, text: bool = True) -> Data:
    sentence = Sentence.chain(words) if text else None
    return text_data(EncodedUtterance.of(sentence, tokens, RELATIONS), tokens=tokens, max_length=max_length)


@given(data=examples(max_utterances=1), marks=st.lists(st.integers(0, 5), min_size=7, max_size=9))
def test_all_pieces_of_a_word_have_its_mark(data: Data, marks: list[int]) -> None:
    assert mark_words(data, marks) is data
    assert data.mark.dtype == torch.long
    assert data.mark.tolist() == by_loop(data, marks)
    assert not data.mark[data.node_type != NodeType.WORD].any()


def test_pieces_and_special_nodes(tokens) -> None:
    data = of_pieces(tokens, ["c", "b", "a"])
    assert mark_words(data, [0, 2, 1]).mark.tolist() == [0, 0, 0, 0, 2, 2, 1, 0]
    assert mark_words(data, [3, 0, 0]).mark.tolist() == [0, 3, 3, 3, 0, 0, 0, 0]  # in place of the first


def test_cut_words_take_their_marks_with_them(tokens) -> None:
    data = of_pieces(tokens, ["a", "b", "c", "a"], max_length=6)
    kept = int(data.word.max()) + 1
    assert kept < 4
    assert mark_words(data, [0, 1, 1, 1]).mark.tolist() == by_loop(data, [0, 1, 1, 1])
    assert not mark_words(data, [0, 0, 0, 1]).mark.any()


def test_root_and_empty_nodes_have_none() -> None:
    empty = [("1.1", "x", "_", "_", "_", "_", "_", "_", "1:dep", "_")]
    sentence = Sentence(
        ["a", "b"], [0, 1], ["root", "dep"], deps=[[("0", "root")], [("1", "dep")]], empty=empty
    )
    data = to_data([sentence], vocab=Vocab("ab"), arcs="enhanced")
    assert data.num_nodes == 4
    assert mark_words(data, [1, 1]).mark.tolist() == by_loop(data, [1, 1])
    assert int(data.mark.sum()) == 2
    without = to_data([sentence], vocab=Vocab("ab"), root=False)
    assert mark_words(without, [0, 1]).mark.tolist() == [0, 1]


def test_no_words(tokens) -> None:
    data = of_pieces(tokens, [], text=False)
    assert mark_words(data, []).mark.tolist() == [0] * data.num_nodes


def test_batches_keep_the_marks_of_their_examples(tokens) -> None:
    one, two = of_pieces(tokens, ["a", "b"]), of_pieces(tokens, ["c"])
    marks = [mark_words(one, [0, 1]).mark, mark_words(two, [2]).mark]
    batch = Batch.from_data_list([one, two])
    assert torch.equal(batch.mark, torch.cat(marks))
    for data, mark in zip(batch.to_data_list(), marks):
        assert torch.equal(data.mark, mark)


def test_relation_nodes_have_none(tokens) -> None:
    data = [mark_words(of_pieces(tokens, list(words)), [1] * 3) for words in ("abc", "cba")]
    batch = resolve("dam")(Batch.from_data_list(data))
    relation = batch.node_type == NodeType.RELATION
    assert int(relation.sum()) == 4
    assert not batch.mark[relation].any()
    assert torch.equal(batch.mark > 0, batch.word >= 0)
    for one, back in zip(data, batch.to_data_list()):
        assert back.mark.tolist() == [*one.mark.tolist(), 0, 0]
    late = mark_words(resolve("dam")(of_pieces(tokens, list("abc"))), [1] * 3)
    assert torch.equal(late.mark, batch[0].mark)


def test_marks_of_other_kinds() -> None:
    data = to_data([Sentence.chain(["a", "b"])])
    for marks in ([False, True], (0, 1), torch.tensor([0, 1]), torch.tensor([False, True]).tolist()):
        mark = mark_words(data, marks).mark
        assert (mark.dtype, mark.tolist()) == (torch.long, [0, 0, 1])


def test_errors() -> None:
    sentence = Sentence.chain(["a", "b"])
    data = to_data([sentence])
    with pytest.raises(ValueError, match=r"'marks' must have a number for each of 2 words \(got 1\)"):
        mark_words(data, [1])
    for marks, shown in (
        ([0, -1], r"\[0, -1\]"),
        ([0.0, 1.0], r"\[0.0, 1.0\]"),
        (["a", "b"], r"\['a', 'b'\]"),
        ([None, 1], r"\[None, 1\]"),
        ([2**70, 0], rf"\[{2**70}, 0\]"),
        ([[0, 1], [1, 0]], r"\[\[0, 1\], \[1, 0\]\]"),
    ):
        with pytest.raises(ValueError, match=rf"'marks' must be whole numbers from 0 on \(got {shown}\)"):
            mark_words(data, marks)
    for several in (to_data([sentence, sentence]), Batch.from_data_list([data, data])):
        with pytest.raises(ValueError, match="'data' must be one example of one text: mark its words before"):
            mark_words(several, [0, 1])
    assert "mark" not in data
    with pytest.raises(AttributeError, match="has no attribute 'word'"):
        mark_words(Data(x=torch.ones(2, 1)), [0, 1])
