from __future__ import annotations

import math

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, NodeType, selection_data
from graphdep.datasets.selection.objectives import as_kind
from graphdep.nn.conv import AttentionConv
from graphdep.nn.models import SIA, GraphTransformer, StructuralDialogueModel
from graphdep.transforms import ChainTree, resolve
from graphdep.vocab import VocabTokens

WORDS = [f"w{number}" for number in range(9)]


class Pieces(VocabTokens):
    """Two pieces a word, so that the first one counts."""

    def encode(self, words):
        return [[*ids, *ids] for ids in super().encode(words)]


TOKENS = Pieces(Vocab(WORDS))
TREES = [
    Sentence(["w0", "w1", "w2"], [2, 0, 2], ["nsubj", "root", "obj"]),
    Sentence(["w3", "w4"], [2, 0], ["nsubj:pass", "root"]),  # no object
    # two subjects (a word and a clause), two objects, and a verb below the verb
    Sentence(
        ["w5", "w1", "w6", "w7", "w8", "w2"],
        [2, 0, 2, 2, 2, 5],
        ["csubj", "root", "iobj", "obj", "xcomp", "obj"],
    ),
    Sentence(["w1", "w2"], [0, 1], ["root", "obj"]),  # no subject
    # an expletive, a subject and an object with subtypes
    Sentence(["w0", "w1", "w2", "w3"], [2, 0, 2, 2], ["expl", "root", "nsubj:pass", "obj:agent"]),
]
TURNS = [EncodedUtterance.of(tree, TOKENS, RelationVocab()) for tree in TREES]


def model(sia=False, **options):
    torch.manual_seed(0)
    encoder = GraphTransformer(
        len(WORDS) + 10,
        lambda number: AttentionConv(8, 4, heads=2),
        hidden_channels=8,
        num_layers=2,
        ff_channels=8,
        dropout=0.0,
        segments=2,
    )
    return StructuralDialogueModel(
        SIA(encoder, dropout=0.0) if sia else encoder, dropout=0.0, **options
    ).eval()


def example(turns, kind, asked=None):
    *context, response = turns
    data = selection_data([TURNS[n] for n in context], TURNS[response], TOKENS, y=1.0)
    data.group = torch.tensor([0])
    data.order_target = torch.full_like(data.input_ids, -100)
    if asked is not None:
        data.order_target[data.node_type == NodeType.EOU] = torch.tensor(asked)
    return as_kind(data, kind)


def examples():
    return [
        example([0, 1, 2], 0),
        example([2, 0, 1, 3], 1, asked=[1, 2, 0]),
        example([1, 3], 0),
        example([0, 3, 1], 1, asked=[-100, 0]),
    ]


def batch(some):
    return resolve("transformer")(Batch.from_data_list(some))


def slow(made):
    """Example by example, utterance by utterance and word by word."""
    order, backbone = [], []
    for data in examples():
        x = made.encoder(batch([data]))
        for node, target in enumerate(data.order_target.tolist()):
            if target >= 0:
                order.append(-float(made.order(x[node]).log_softmax(-1)[target]))
        if int(data.kind):
            continue
        for subject, verb, other in slow_triples(data):
            left, right = (x[subject] + x[verb]).tolist(), x[other].tolist()
            dot = sum(a * b for a, b in zip(left, right))
            length = math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))
            backbone.append(1 - dot / length)
    return sum(order) / len(order), sum(backbone) / len(backbone)


def slow_triples(data):
    labels = RelationVocab()
    arcs = [
        (*arc, labels.label(kind)) for *arc, kind in zip(*data.arc_index.tolist(), data.arc_type.tolist())
    ]
    return {
        (subject, verb, other)
        for verb, subject, first in arcs
        for other_verb, other, second in arcs
        if verb == other_verb
        and first.split(":")[0] in ("nsubj", "csubj", "expl")
        and second.split(":")[0] in ("obj", "iobj")
    }


@pytest.mark.parametrize("sia", [False, True])
@torch.no_grad()
def test_losses_equal_a_slow_reference(sia):
    made = model(sia)
    logits, losses = made.training_losses(batch(examples()))
    order, backbone = slow(made)
    assert float(losses["order"][0]) == pytest.approx(order, rel=1e-4)
    assert float(losses["backbone"][0]) == pytest.approx(backbone, rel=1e-4)
    whole = batch(examples())
    assert losses["order"][1] == int((whole.order_target >= 0).sum())
    assert losses["backbone"][1] == made.triples(whole).size(1)
    pairs = [data for data in examples() if not int(data.kind)]
    assert torch.allclose(logits, torch.cat([made(batch([data])) for data in pairs]), atol=1e-5)


def test_triples_are_those_of_the_tree():
    data = example([0, 1, 2], 0)
    found = model().triples(batch([data])).T.tolist()
    assert sorted(map(tuple, found)) == sorted(slow_triples(data))
    assert len(found) == 1 + 2  # of the first utterance; of the third with each of its objects
    words = {tuple(TOKENS_OF[int(data.input_ids[node])] for node in triple) for triple in found}
    assert words == {("w0", "w1", "w2"), ("w5", "w1", "w6"), ("w5", "w1", "w7")}


TOKENS_OF = {TOKENS.encode([word])[0][0]: word for word in WORDS}


def test_subtypes_and_expletives_are_subjects_and_objects():
    data = example([0, 4], 0)
    found = model().triples(batch([data])).T.tolist()
    assert sorted(map(tuple, found)) == sorted(slow_triples(data))
    words = {tuple(TOKENS_OF[int(data.input_ids[node])] for node in triple) for triple in found}
    assert words == {("w0", "w1", "w2"), ("w0", "w1", "w3"), ("w2", "w1", "w3")}


def test_a_control_has_its_own_triples():
    one = Batch.from_data_list([example([0, 1, 2], 0)])
    assert model().triples(ChainTree()(one)).shape == (3, 0)


def test_a_batch_without_either_trains_all_the_same():
    made = model()
    logits, losses = made.training_losses(batch([example([1, 3], 0)]))
    assert [(loss.item(), count) for loss, count in losses.values()] == [(0.0, 0), (0.0, 0)]
    (logits.sum() + sum(loss for loss, _ in losses.values())).backward()
    assert not [name for name, parameter in made.named_parameters() if parameter.grad is None]


def test_both_are_learnt():
    made, one = model(), batch(examples())
    optimizer = torch.optim.Adam(made.parameters(), lr=0.03)
    for _ in range(80):
        optimizer.zero_grad()
        losses = made.training_losses(one)[1]
        sum(loss for loss, _ in losses.values()).backward()
        optimizer.step()
    assert losses["order"][0].item() < 0.1
    assert losses["backbone"][0].item() < 0.1


def test_everything_is_drawn_anew():
    made = model()
    before = made.order.weight.clone()
    made.reset_parameters()
    assert not torch.equal(made.order.weight, before)
    assert model(places=5).order.out_features == 5
    for value in (1, 2.5):
        with pytest.raises(
            ValueError, match=rf"'places' must be a whole number of at least 2 \(got {value}\)"
        ):
            model(places=value)
