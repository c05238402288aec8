from __future__ import annotations

import math
import random

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch

from graphdep import RelationVocab, Sentence
from graphdep.data import EncodedUtterance, selection_data
from graphdep.metrics import RANKING
from graphdep.nn.models import SMN
from graphdep.tasks import SelectionTask
from graphdep.tasks.selection.model import example_keys
from graphdep.training.learning_task import join_outputs
from graphdep.vocab import VocabTokens
from tests.kit.word_dialogues import LETTERS, VOCAB, random_dialogue, word_dialogue


class Fixed(nn.Module):
    """Gives every example the logit that it carries."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, data):
        return data.logit * self.scale


def batches(logits, labels, groups, size=3, responses=None):
    """Each candidate says something else, unless ``responses`` are given."""
    texts = LETTERS if responses is None else responses
    examples = [word_dialogue(["a"], text) for text, _ in zip(texts, logits)]
    for data, x, y, g in zip(examples, logits, labels, groups):
        data.logit, data.y, data.group = torch.tensor([float(x)]), torch.tensor([float(y)]), torch.tensor([g])
    return [Batch.from_data_list(examples[i : i + size]) for i in range(0, len(examples), size)]


def task(**options):
    return SelectionTask(Fixed(), lambda batch: batch, **options)


def outputs(logits, labels, groups, **options):
    with torch.no_grad():
        found = [task().predict_step(batch, 0) for batch in batches(logits, labels, groups, **options)]
    return join_outputs(found)


LOGITS = [2.0, 1.0, 0.0, 0.5, 3.0, -1.0, 1.0, 1.0]
LABELS = [1, 0, 0, 0, 1, 0, 1, 0]
GROUPS = [0, 0, 0, 0, 1, 1, 1, 1]


def test_loss_is_the_mean_binary_cross_entropy():
    (batch,) = batches([2.0, -1.0], [1, 0], [0, 0])
    expected = (math.log1p(math.exp(-2.0)) + math.log1p(math.exp(-1.0))) / 2
    assert task().loss(batch).item() == pytest.approx(expected, rel=1e-6)


def test_scores_are_of_pools_whatever_the_batches():
    scores = task().score(outputs(LOGITS, LABELS, GROUPS), "val")
    # pool 0: rank 1; pool 1: positives at ranks 1 and 2 or 3, tied
    assert scores["val_R4@1"] == pytest.approx((1 + 0.5) / 2)
    assert scores["val_P@1"] == pytest.approx(1.0)
    assert scores["val_MAP"] == pytest.approx((1 + (1 + (1 + 2 / 3) / 2) / 2) / 2)
    assert "val_loss" in scores


def test_pools_of_different_sizes_have_keys_without_a_number():
    scores = task().score(outputs(LOGITS[:7], LABELS[:7], GROUPS[:7]), "test")
    assert "test_R@1" in scores
    assert not any(name.startswith("test_R4") for name in scores)


def test_options_reach_the_metrics():
    tied = outputs([1.0, 1.0], [1, 0], [0, 0])
    found = {
        ties: task(ties=ties).score(tied, "test")["test_P@1"] for ties in ("mid", "pessimistic", "optimistic")
    }
    assert found == {"mid": 0.5, "pessimistic": 0.0, "optimistic": 1.0}
    some = outputs([1.0, 0.0, 1.0, 0.0], [1, 0, 0, 0], [0, 0, 1, 1])
    assert task(filter="both").score(some, "test")["test_P@1"] == 1.0
    assert task(filter="none").score(some, "test")["test_P@1"] == 0.5


def test_floor_is_what_equal_scores_get():
    found = outputs(LOGITS, LABELS, GROUPS)
    equal = outputs([0.0] * len(LOGITS), LABELS, GROUPS)
    floor = task().floor(None, "test", found)
    scores = task().score(equal, "test")
    assert floor == pytest.approx({name: scores[name] for name in floor})
    assert floor["test_P@1"] == pytest.approx((1 / 4 + 2 / 4) / 2)


def test_compared_are_pools():
    chance, found = task().compared(outputs(LOGITS, LABELS, GROUPS))
    assert chance.tolist() == [0.25, 0.5]
    assert found.tolist() == [1.0, 1.0]
    metric = RANKING["P@1"]
    assert metric(found, chance) == 1.0
    assert metric.floor(chance, chance) == pytest.approx(0.375)


def test_equal_candidates_have_one_score_whatever_the_model_says_of_them():
    """Right and wrong ones of a pool that say the same, of which two batches have other last digits."""
    logits, labels, groups = [0.1, 0.1 + 1e-8, 0.1 - 1e-8, 2.0], [0, 1, 0, 1], [0, 0, 0, 1]
    logits, labels, groups = [*logits, 1.0, 1.0 + 1e-7], [*labels, 0, 0], [*groups, 1, 1]
    found = outputs(logits, labels, groups, size=2, responses="aaaabb")
    scores = task().score(found, "test")
    assert scores["test_P@1"] == pytest.approx((1 / 3 + 1) / 2)
    assert scores["test_MRR"] == pytest.approx(((1 + 1 / 2 + 1 / 3) / 3 + 1) / 2)
    assert task().compared(found)[1].tolist() == pytest.approx([1 / 3, 1.0])


def test_a_tree_of_its_own_is_another_candidate():
    tokens, first, last = VocabTokens(VOCAB), ([0, 1], ["root", "dep"]), ([2, 0], ["dep", "root"])
    one, other = (
        EncodedUtterance.of(Sentence(["a", "b"], *tree), tokens, RelationVocab()) for tree in (first, last)
    )
    examples = [selection_data([one], response, tokens) for response in (one, one, other)]
    keys = example_keys(Batch.from_data_list(examples))
    assert keys[0] == keys[1] != keys[2]
    assert torch.equal(example_keys(Batch.from_data_list(examples[1:])), keys[1:])


@pytest.mark.parametrize("size", [32, 10, 400])
def test_a_model_ranks_pools_of_one_text_as_chance_does(size):
    torch.manual_seed(0)
    model, rng = SMN(len(VOCAB), hidden_channels=50).eval(), random.Random(5)
    examples = []
    for pool in range(40):
        dialogue = random_dialogue(rng, rng.randint(1, 6), 15)
        for place in range(10):
            data = word_dialogue(*dialogue)
            data.y, data.group = torch.tensor([float(place == 0)]), torch.tensor([pool])
            examples.append(data)
    own = SelectionTask(model, lambda batch: batch)
    parts = [Batch.from_data_list(examples[i : i + size]) for i in range(0, len(examples), size)]
    with torch.no_grad():
        found = own.score(join_outputs([own.predict_step(batch, 0) for batch in parts]), "test")
    assert found["test_P@1"] == pytest.approx(0.1)


def test_nan_is_no_perfect_score():
    with pytest.raises(ValueError, match="finite"):
        task().score(outputs([math.nan, 0.0], [1, 0], [0, 0]), "val")
