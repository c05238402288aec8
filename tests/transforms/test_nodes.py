from __future__ import annotations

import pytest
import torch
from hypothesis import given
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, Sentence, to_data
from graphdep.data import EncodedUtterance, text_data
from graphdep.nn.models import SpanReadout
from graphdep.transforms import Nodes, RerootedTree, SpanPathEdges, resolve
from tests.kit.strategies import example_lists, examples
from tests.kit.trees import SlowTree


@given(examples())
def test_words_and_governors(data):
    nodes, slow = Nodes(data), SlowTree(data)
    assert nodes.first.tolist() == slow.first
    assert nodes.has_pieces == (slow.first != list(range(slow.size)))
    assert nodes.in_tree.nonzero().view(-1).tolist() == sorted(slow.tree)
    for node, parent in enumerate(nodes.parent.tolist()):
        governors = list(slow.tree.predecessors(node)) if node in slow.tree else []
        assert [parent] == (governors or [-1])


@given(example_lists())
def test_batch(datas):
    nodes = Nodes(Batch.from_data_list(datas))
    starts = nodes.ptr[:-1]
    for k, data in enumerate(datas):
        inside = nodes.example == k
        assert nodes.local[inside].tolist() == list(range(data.num_nodes))
        assert torch.equal(nodes.first[inside] - starts[k], Nodes(data).first)
    same = nodes.block[:, None] == nodes.block
    utterance = nodes["utterance"]
    assert torch.equal(same, (nodes.example[:, None] == nodes.example) & (utterance[:, None] == utterance))


def test_pieces_need_not_stand_together():
    word = torch.tensor([1, 0, -1, 1, 0, -1])
    zeros = torch.zeros_like(word)
    nodes = Nodes(Data(node_type=zeros, word=word, utterance=zeros))
    assert nodes.first.tolist() == [0, 1, 2, 0, 1, 5]
    source, target, pair = nodes.spread(torch.tensor([0, 2]), torch.tensor([1, 5]), "all")
    assert set(zip(source.tolist(), target.tolist(), pair.tolist())) == {
        *((s, t, 0) for s in (0, 3) for t in (1, 4)),
        (2, 5, 1),
    }


def test_words_in_any_order_without_pieces():
    word = torch.tensor([2, 0, 1])
    nodes = Nodes(Data(node_type=torch.zeros_like(word), word=word, utterance=torch.zeros_like(word)))
    assert nodes.first.tolist() == [0, 1, 2]
    assert not nodes.has_pieces


class Letters:
    """A piece for every letter of a word."""

    cls_id, sep_id, eou_id, fingerprint = 1, 2, 3, "letters"

    def encode(self, words):
        return [[ord(letter) % 50 for letter in word] for word in words]


def test_the_pieces_of_an_empty_node_are_linked():
    """Empty nodes have no number; two of them in one utterance are two all the same."""
    rows = [
        (f"1.{i}", form, *"______", arcs, "_") for i, form, arcs in ((1, "def", "1:conj"), (2, "gh", "2:dep"))
    ]
    deps = [[("0", "root")], [("1.1", "obj")]]
    sentence = Sentence(["ab", "c"], [0, 1], ["root", "obj"], deps=deps, empty=rows)
    relations = RelationVocab()
    text = EncodedUtterance.of(sentence, Letters(), relations, arcs="enhanced")
    data = text_data(text, tokens=Letters(), max_length=20)
    assert data.word.tolist() == [-1, 0, 0, 1, -1, -1, -1, -1, -1, -1]
    first = [0, 1, 1, 3, 4, 4, 4, 7, 7, 9]
    batch = Batch.from_data_list([data, data])
    assert Nodes(batch).first.tolist() == [*first, *(10 + node for node in first)]
    assert Nodes(resolve("dam")(data)).first.tolist() == [*first, 10, 11, 12]
    for pieces, wanted in (
        ("all", {(1, 10), (2, 10), (4, 10), (5, 10), (6, 10)}),
        ("first", {(1, 10), (4, 10)}),
    ):
        out = resolve("dam", pieces=pieces, overview=())(data)
        assert out.arc_index.T.tolist() == [[4, 3], [1, 4], [3, 7]]
        linked = {*zip(*out.edge_index.tolist())} - {(node, node) for node in range(13)}
        arc = out.arc_node_index[1]  # from the first word to the first empty node
        assert {pair for pair in linked if pair[1] == arc} == {(a, int(arc)) for a, _ in wanted}


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        # As a column of words would be, one place off where there is a ROOT.
        (torch.tensor([1, 0, 2]), r"'mark' must be of shape \[4\] \(got \[3\]\)"),
        (torch.zeros(4, 1, dtype=torch.long), r"'mark' must be of shape \[4\] \(got \[4, 1\]\)"),
        # All bits of -1 are set: it would be a mark of every span.
        (torch.tensor([0, -1, 0, 0]), r"'mark' must be whole numbers from 0 on \(got -1\)"),
        (torch.ones(4), r"'mark' must be whole numbers from 0 on"),
    ],
)
def test_marks_that_do_not_fit(mark, message):
    data = to_data([Sentence.chain(["a", "b", "c"])])
    with pytest.raises(ValueError, match=r"the data has no 'mark': call graphdep.data.node_table\("):
        _ = Nodes(data).mark
    data.mark = mark
    for read in (SpanPathEdges(), RerootedTree(), lambda data: SpanReadout()(data, torch.ones(4, 1))):
        with pytest.raises(ValueError, match=message):
            read(data)
