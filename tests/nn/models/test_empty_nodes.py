"""Models that read words in their order leave out the empty nodes of enhanced graphs, which are no words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

import graphdep.nn.models as M
from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, selection_data
from graphdep.vocab import VocabTokens

VOCAB = Vocab("abcdf")
TOKENS = VocabTokens(VOCAB)
TREE = {"form": [*"abc"], "head": [0, 1, 1], "deprel": ["root", "obj", "obl"]}
DEPS = [[("0", "root")], [("1", "obj")], [("1", "obl"), ("2.1", "x")]]
PLAIN = Sentence(**TREE)
WITH_EMPTY = Sentence(**TREE, deps=DEPS, empty=[["2.1", "f", *"______", "1:conj", "_"]])
SIZES = {"hidden_channels": 12}

ENCODERS: dict[str, Callable[[], nn.Module]] = {
    "lstm": lambda: M.LSTMEncoder(len(VOCAB), **SIZES),
    "bigru": lambda: M.GRUEncoder(len(VOCAB), bidirectional=True, **SIZES),
    "word-average": lambda: M.WordAverage(len(VOCAB), **SIZES),
    "use": lambda: M.UniversalEncoder(len(VOCAB), heads=2, **SIZES),
    "dt-rnn": lambda: M.DependencyTreeRNN(len(VOCAB), **SIZES),
}
MATCHING: dict[str, Callable[[], nn.Module]] = {
    "smn": lambda: M.SMN(len(VOCAB), **SIZES, max_words=8),
    "dua": lambda: M.DUA(len(VOCAB), **SIZES, max_words=8),
    "dam-2018": lambda: M.DeepAttentionMatching(len(VOCAB), **SIZES, max_words=8),
    "ioi": lambda: M.IOI(len(VOCAB), **SIZES, max_words=8),
    "mean": lambda: M.SelectionModel(
        M.NodeEmbedding(len(VOCAB), 12, max_positions=0, max_levels=0), readout="mean"
    ),
}


def evaluated(model: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.double().eval()


@pytest.mark.parametrize("name", ENCODERS)
def test_words_and_root_have_the_states_that_they_have_without(name):
    model = evaluated(ENCODERS[name]())
    options = {"vocab": VOCAB, "arcs": "enhanced"}
    both = [to_data([PLAIN, one, PLAIN], **options) for one in (PLAIN, WITH_EMPTY)]
    assert both[1].num_nodes == both[0].num_nodes + 1
    with torch.no_grad():
        states = [model(data)[kept(data)] for data in both]
    assert torch.equal(states[0], states[1])


def kept(data: Data) -> torch.Tensor:
    return (data.node_type == NodeType.ROOT) | ((data.node_type == NodeType.WORD) & (data.word >= 0))


def test_a_context_has_the_state_that_it_has_without():
    model = evaluated(M.HREDEncoder(len(VOCAB), **SIZES))
    both = [to_data([PLAIN, one], vocab=VOCAB, arcs="enhanced") for one in (PLAIN, WITH_EMPTY)]
    with torch.no_grad():
        assert torch.equal(*(model(data).x for data in both))


@pytest.mark.parametrize("name", MATCHING)
def test_a_response_fits_as_it_does_without(name):
    model = evaluated(MATCHING[name]())
    logits = []
    for one in (PLAIN, WITH_EMPTY):
        plain, other = (
            EncodedUtterance.of(tree, TOKENS, RelationVocab(), "enhanced") for tree in (PLAIN, one)
        )
        pairs = [selection_data([plain, other], plain, TOKENS), selection_data([plain], other, TOKENS)]
        with torch.no_grad():
            logits.append(model(Batch.from_data_list(pairs)))
    assert torch.equal(*logits)
