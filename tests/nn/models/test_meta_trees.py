"""DC-TreeLSTM and TagHyperTreeLSTM, and their recursive forms."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.models import DCTreeLSTM, TagHyperTreeLSTM
from graphdep.vocab import PhraseVocab
from graphdep.vocab.vocab import UPOS, tag_id
from tests.kit.trees import Pair, bracketed_sentence, nested

VOCAB = Vocab("abcdefgh")
TAGS = 1 + len(UPOS) + len(PhraseVocab())
KINDS = [DCTreeLSTM, TagHyperTreeLSTM]
each_kind = pytest.mark.parametrize("kind", KINDS)
each_cell = pytest.mark.parametrize("cell", ["lstm", "rnn"])


def make(kind: type, **options):
    torch.manual_seed(0)
    model = kind(len(VOCAB), **({"hidden_channels": 4, "meta_channels": 3} | options)).double()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter)
    return model


def literal(model, sentence: Sentence) -> list[Tensor]:
    """The formulas by recursion: the whole, then the words."""
    size, small, lstm = model.hidden_channels, model.meta_channels, model.cell == "lstm"
    vectors = model.embedding.word.weight[to_data([sentence], vocab=VOCAB).input_ids[1:]]
    labels = PhraseVocab()
    zero, none, no_word = vectors.new_zeros(size), vectors.new_zeros(small), vectors.new_zeros(size)

    def cell(gates: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        if not lstm:
            return gates.tanh(), torch.zeros_like(left)
        i, o, u, lf, rf = gates.split(len(left))
        c = i.sigmoid() * u.tanh() + lf.sigmoid() * left + rf.sigmoid() * right
        return o.sigmoid() * c.tanh(), c

    def gates_of(x: Tensor, z: Tensor) -> Tensor:
        if isinstance(model, DCTreeLSTM):
            weight = model.lin_p.weight @ torch.diag(z) @ model.lin_q.weight
            return weight @ x + model.lin_b.weight @ z
        scale = model.lin_scale.weight @ z + model.lin_scale.bias
        bias = model.lin_bias.weight @ z + model.lin_bias.bias
        return torch.diag(scale) @ model.lin.weight @ x + bias

    def state(node: Pair | int) -> tuple[Tensor, ...]:
        if isinstance(node, int):
            left = right = (zero, zero, none, none)
            word, tag = vectors[node], tag_id(sentence.upos[node])
        else:
            left, right = state(node.left), state(node.right)
            word, tag = no_word, 1 + len(UPOS) + labels[node.label]
        x = torch.cat([word, left[0], right[0]])
        read = x if isinstance(model, DCTreeLSTM) else model.tag.weight[tag]
        m, memory = cell(model.lin_meta(torch.cat([read, left[2], right[2]])), left[3], right[3])
        h, c = cell(gates_of(x, model.lin_z(m)), left[1], right[1])
        return h, c, m, memory

    return [state(nested(sentence, model.binarized))[0], *(state(w)[0] for w in range(len(sentence)))]


@each_kind
@each_cell
@pytest.mark.parametrize("binarized", ["left", "head"])
def test_equals_the_formulas(kind: type, cell: str, binarized: str) -> None:
    model, rng = make(kind, cell=cell, binarized=binarized), random.Random(1)
    for words in (1, 2, 5, 9):
        sentence = bracketed_sentence(rng, words)
        out = model(to_data([sentence], vocab=VOCAB, phrases="tagged"))
        expected = torch.stack(literal(model, sentence))
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
        parameters = [*model.parameters()]
        left = torch.autograd.grad(out.sin().sum(), parameters, materialize_grads=True)
        right = torch.autograd.grad(expected.sin().sum(), parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_tags_make_the_composition() -> None:
    """The same words and constituents, other tags."""
    model, rest = make(TagHyperTreeLSTM), {"constituents": [("NP", 0, 2)]}
    tree = list("ab"), [2, 0], ["dep", "root"]
    outs = []
    for tags, label in ((["NOUN", "NOUN"], "NP"), (["VERB", "NOUN"], "NP"), (["NOUN", "NOUN"], "VP")):
        sentence = Sentence(*tree, upos=tags, constituents=[(label, 0, 2)])
        outs.append(model(to_data([sentence], vocab=VOCAB, phrases="tagged"))[0])
    for number, one in enumerate(outs):
        assert not any(torch.allclose(one, other) for other in outs[number + 1 :])
    unknown = [Sentence(*tree, upos=tags, **rest) for tags in (None, ["X", "X"], ["?", "X"])]
    a, b, c = (model(to_data([one], vocab=VOCAB, phrases="tagged")) for one in unknown)
    torch.testing.assert_close(a, b)
    torch.testing.assert_close(a, c)


def test_sizes() -> None:
    """Of vectors of 300, 300 channels and 50 of the other network."""
    x, gates = 300 + 600, 5 * 300
    for kind, own in (
        (DCTreeLSTM, 50 * x + 2 * 50 * gates + 5 * 50 * (x + 100)),
        (
            TagHyperTreeLSTM,
            gates * x + 2 * 51 * gates + 5 * 50 * 150 + 50 * TAGS,
        ),
    ):
        model = kind(20, vectors=torch.randn(20, 300))
        found = sum(p.numel() for n, p in model.named_parameters() if "embedding" not in n)
        assert found == own + 5 * 50 + 50 * 50 + 50


@each_kind
def test_composition_begins_nearly_the_same_everywhere(kind: type) -> None:
    model = kind(5)
    start = model.lin_z.bias if kind is DCTreeLSTM else model.lin_scale.bias
    assert start.unique().tolist() == [1]
    torch.nn.init.zeros_(start)
    model.reset_parameters()
    assert start.unique().tolist() == [1]


@each_kind
def test_errors(kind: type) -> None:
    assert "cell='lstm', binarized='left'" in str(make(kind))
    with pytest.raises(ValueError, match="'cell' must be one of lstm, rnn \\(got 'gru'\\)"):
        make(kind, cell="gru")
    with pytest.raises(ValueError, match="'meta_channels' must be a whole number of at least 1 \\(got 0\\)"):
        make(kind, meta_channels=0)


def test_without_tags() -> None:
    data = to_data([bracketed_sentence(random.Random(0), 3)], vocab=VOCAB, phrases="spans")
    with pytest.raises(ValueError, match="the data has no 'tag': make it with phrases='tagged'"):
        make(TagHyperTreeLSTM)(data)


def test_ids_of_tags() -> None:
    assert [tag_id(tag) for tag in ("ADJ", "X", "strange")] == [1, 17, 17]
    data = to_data([Sentence(["a"], [0], ["root"], upos=["ADV"], constituents=[])] * 2, phrases="tagged")
    assert data.tag.tolist() == [0, 3, 0, 3]
    with pytest.raises(
        ValueError, match="'phrases' must be one of False, True, spans, tagged \\(got 'tags'\\)"
    ):
        to_data([Sentence.chain(["a"])], phrases="tags")
