"""What holds for every encoder over constituents."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import pytest
import torch
from torch_geometric.data import Batch, Data

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.models import (
    RNTN,
    BinaryTreeLSTM,
    BiTreeLSTM,
    ClassificationHead,
    ConstituencyTreeTransformer,
    ConstituentEncoder,
    DCTreeLSTM,
    SentenceModel,
    TagHyperTreeLSTM,
)
from tests.kit.trees import bracketed_sentence

VOCAB = Vocab("abcdefgh")
MAKERS: dict[str, Callable[..., ConstituentEncoder]] = {
    "tree-lstm-ct": BinaryTreeLSTM,
    "rntn": RNTN,
    "bitree-lstm-ct": BiTreeLSTM,
    "dc-treelstm": functools.partial(DCTreeLSTM, meta_channels=3),
    "dc-recnn": functools.partial(DCTreeLSTM, meta_channels=3, cell="rnn"),
    "taghypertreelstm": functools.partial(TagHyperTreeLSTM, meta_channels=3, tag_channels=4),
    "tghrecnn": functools.partial(TagHyperTreeLSTM, meta_channels=3, tag_channels=4, cell="rnn"),
    "tree-transformer-ct": functools.partial(ConstituencyTreeTransformer, heads=2, ff_channels=8),
}
WITHOUT_RULE = ("tree-transformer-ct",)
each = pytest.mark.parametrize("name", MAKERS)


def make(name: str, **options) -> ConstituentEncoder:
    torch.manual_seed(0)
    return MAKERS[name](len(VOCAB), **({"hidden_channels": 6} | options)).double()


def table(*sentences: Sentence) -> Data:
    return to_data(sentences, vocab=VOCAB, phrases="tagged")


def example(seed: int, utterances: int = 2) -> Data:
    rng = random.Random(seed)
    return table(*(bracketed_sentence(rng, rng.randint(1, 8)) for _ in range(utterances)))


def batch(*seeds: int) -> Batch:
    return Batch.from_data_list([example(seed, 1 + seed % 3) for seed in seeds])


@each
def test_a_sentence_of_one_word(name: str) -> None:
    model = make(name)
    out = [model(table(Sentence(["a"], [0], ["root"], constituents=c))) for c in ([], [("NP", 0, 1)])]
    torch.testing.assert_close(*out, rtol=0, atol=0)
    assert out[0][0].any()


@each
def test_the_root_has_the_state_of_the_whole(name: str) -> None:
    data, model = example(4, 1), make(name)
    x, phrases = model.states(data)
    first, last = data.phrase_index
    whole = (first == 1) & (last == data.num_nodes - 1)
    for row in phrases[whole]:
        torch.testing.assert_close(row, x[0], rtol=0, atol=0)


@each
def test_constituents_count(name: str) -> None:
    model, words = make(name), (list("abcd"), [2, 0, 2, 2], ["dep", "root", "dep", "dep"])
    shapes = [[("S", 0, 4), ("NP", 0, 2)], [("S", 0, 4), ("VP", 1, 4)]]
    one, other = (model(table(Sentence(*words, constituents=c)))[0] for c in shapes)
    assert not torch.allclose(one, other)


@each
def test_the_head_rule_reads_the_dependency_tree(name: str) -> None:
    if name in WITHOUT_RULE:
        pytest.skip("takes constituents of any number of parts")
    model = make(name, binarized="head")
    assert "binarized='head'" in str(model)
    trees = [([2, 0, 2], ["dep", "root", "dep"]), ([0, 1, 1], ["root", "dep", "dep"])]
    one, other = (model(table(Sentence(list("abc"), *tree, constituents=[("S", 0, 3)])))[0] for tree in trees)
    assert not torch.allclose(one, other)


@each
def test_a_long_deep_sentence(name: str) -> None:
    words = 80
    nested = [("S", start, words) for start in range(words - 1)]
    chain = Sentence.chain(["a"] * words)
    sentence = Sentence(chain.form, chain.head, chain.deprel, constituents=nested)
    model = make(name)
    out = model(table(sentence))
    assert out.shape == (words + 1, model.hidden_channels)
    out.sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


@each
def test_utterances_without_words_have_zeros(name: str) -> None:
    data = table(Sentence(["a"], [0], ["root"], constituents=[]))
    for key in ("node_type", "word", "depth", "utterance", "input_ids", "governor_index", "position"):
        data[key] = data[key][:1]
    model = make(name)
    x, phrases = model.states(data)
    assert x.shape == (1, 6)
    assert not x.any()
    assert phrases.shape == (0, 6)


@each
def test_labelled_nodes(name: str) -> None:
    """The head sees words and constituents that have a label, and those alone."""
    data = example(7, 1)
    data.word_y = torch.full((data.num_nodes,), -1)
    data.word_y[1:3] = torch.tensor([1, 0])[: data.num_nodes - 1]
    data.phrase_y = torch.arange(data.phrase_type.numel()) % 3 - 1
    model = SentenceModel(make(name), ClassificationHead(6, 2)).double()
    logits, y = model.node_logits(data)
    x, phrases = model.encoder.states(data)
    expected = torch.cat([x[data.word_y >= 0], phrases[data.phrase_y >= 0]])
    torch.testing.assert_close(logits, model.head(expected), rtol=0, atol=1e-12)
    assert y.tolist() == [v for v in [*data.word_y.tolist(), *data.phrase_y.tolist()] if v >= 0]
    del data.phrase_y
    with pytest.raises(ValueError, match="the data has no 'phrase_y': SST"):
        model.node_logits(data)


@each
def test_errors(name: str) -> None:
    sentence = bracketed_sentence(random.Random(0), 3)
    if name not in WITHOUT_RULE:
        with pytest.raises(ValueError, match="'binarized' must be one of left, head \\(got 'right'\\)"):
            make(name, binarized="right")
    with pytest.raises(ValueError, match="'hidden_channels' must be a whole number of at least 1"):
        make(name, hidden_channels=2.5)
    with pytest.raises(ValueError, match="the data has no 'phrase_index'"):
        make(name)(to_data([sentence], vocab=VOCAB))
    with pytest.raises(ValueError, match="no ROOT nodes: call to_data\\(..., root=True\\)"):
        make(name)(to_data([sentence], vocab=VOCAB, root=False, phrases="tagged"))
    with pytest.raises(ValueError, match="no 'input_ids'"):
        make(name)(to_data([sentence], phrases="tagged"))
