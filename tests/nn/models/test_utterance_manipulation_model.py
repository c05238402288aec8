from __future__ import annotations

import math

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, selection_data
from graphdep.data.encoded import deletion_data, insertion_data, search_data
from graphdep.datasets.selection.objectives import as_kind
from graphdep.nn.conv import AttentionConv
from graphdep.nn.models import SIA, GraphTransformer, SelectionModel, UtteranceManipulationModel
from graphdep.transforms import resolve
from graphdep.vocab import VocabTokens

WORDS = [f"w{number}" for number in range(9)]
TOKENS = VocabTokens(Vocab(WORDS))
TURNS = [
    EncodedUtterance.of(Sentence.chain(WORDS[n : n + 1 + n % 3]), TOKENS, RelationVocab()) for n in range(6)
]


def encoder():
    return GraphTransformer(
        len(WORDS) + 10,
        lambda number: AttentionConv(8, 4, heads=2),
        hidden_channels=8,
        num_layers=2,
        ff_channels=8,
        dropout=0.0,
        segments=2,
    )


def model(sia=False, **options):
    torch.manual_seed(0)
    made = encoder()
    return UtteranceManipulationModel(SIA(made, dropout=0.0) if sia else made, dropout=0.0, **options).eval()


def pair(y):
    data = selection_data(TURNS[:2], TURNS[2], TOKENS, y=y)
    data.group = torch.tensor([0])
    data.mark, data.mark_target = torch.zeros_like(data.input_ids), torch.zeros(data.num_nodes)
    return as_kind(data, 0)


def examples():
    return [
        pair(1.0),
        as_kind(insertion_data(TURNS[:4], 1, TOKENS), 1),
        as_kind(deletion_data(TURNS[:3], TURNS[4], 0, TOKENS), 2),
        as_kind(search_data(TURNS[:5], [2, 3, 0, 1], TOKENS), 3),
        pair(0.0),
        pair(1.0),
        as_kind(insertion_data(TURNS[:2], 0, TOKENS), 1),
        as_kind(search_data(TURNS[1:3], [0], TOKENS), 3),
    ]


def batch(some):
    return resolve("transformer")(Batch.from_data_list(some))


def slow(made, kind, loss):
    """Example by example and symbol by symbol."""
    name = ("insertion", "deletion", "search")[kind - 1]
    losses = []
    for data in (data for data in examples() if int(data.kind) == kind):
        alone = batch([data])
        x = made.encoder(alone)
        places = [node for node, mark in enumerate(data.mark.tolist()) if mark == kind]
        logits = [float(made.manipulations[name](x[node])) for node in places]
        answers = [float(data.mark_target[node]) for node in places]
        if loss == "softmax":
            right = logits[answers.index(1.0)]
            losses.append(math.log(sum(math.exp(z) for z in logits)) - right)
        else:
            each = [math.log1p(math.exp(-z if y else z)) for z, y in zip(logits, answers)]
            losses.append(sum(each) / len(each))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("loss", ["sigmoid", "softmax"])
@pytest.mark.parametrize("sia", [False, True])
@torch.no_grad()
def test_losses_equal_a_slow_reference(loss, sia):
    made = model(sia, loss=loss)
    logits, losses = made.training_losses(batch(examples()))
    for kind, name in enumerate(("insertion", "deletion", "search"), start=1):
        assert float(losses[name][0]) == pytest.approx(slow(made, kind, loss), rel=1e-4)
        assert losses[name][1] == sum(int(data.kind) == kind for data in examples())
    pairs = [data for data in examples() if int(data.kind) == 0]
    assert torch.allclose(logits, torch.cat([made(batch([data])) for data in pairs]), atol=1e-5)


def test_a_batch_without_examples_trains_all_the_same():
    made = model()
    logits, losses = made.training_losses(batch([pair(1.0), pair(0.0)]))
    assert [(loss.item(), count) for loss, count in losses.values()] == [(0.0, 0)] * 3
    (logits.sum() + sum(loss for loss, _ in losses.values())).backward()
    # DDP needs a gradient of every parameter.
    assert not [name for name, parameter in made.named_parameters() if parameter.grad is None]


def test_an_answer_is_learnt():
    made = model()
    one = batch(examples())
    optimizer = torch.optim.Adam(made.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        loss = sum(value for value, _ in made.training_losses(one)[1].values())
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.1


def test_without_marks_it_scores_as_a_selection_model_does():
    made = model()
    plain = SelectionModel(made.encoder, dropout=0.0).eval()
    plain.mlp.load_state_dict(made.mlp.state_dict())
    one = batch([pair(1.0), pair(0.0)])
    assert torch.equal(made(one), plain(one))


def test_the_vocabulary_does_not_grow():
    before = encoder()
    size = before.embedding.word.weight.shape
    assert UtteranceManipulationModel(before).encoder.embedding.word.weight.shape == size
    assert before.embedding.mark.num_embeddings == 4


def test_everything_is_drawn_anew():
    made = model()
    before = {name: value.clone() for name, value in made.state_dict().items()}
    made.reset_parameters()
    changed = {name for name, value in made.state_dict().items() if not torch.equal(value, before[name])}
    assert {"manipulations.search.1.weight", "encoder.embedding.mark.weight", "mlp.1.weight"} <= changed


def test_an_unknown_loss_is_named():
    with pytest.raises(ValueError, match="'loss' must be one of sigmoid, softmax"):
        model(loss="hinge")


@pytest.mark.parametrize("options", [{"readout": "first"}, {"mlp_layers": 0}, {"dropout": 2.0}])
def test_a_wrong_option_leaves_the_encoder_as_it_was(options):
    made = encoder()
    with pytest.raises(ValueError, match=next(iter(options))):
        UtteranceManipulationModel(made, **options)
    assert made.embedding.mark is None
    UtteranceManipulationModel(made)  # it was given no marks
