from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.metrics import (
    GENERATION_METRICS,
    TextMetric,
    generation_floors,
    generation_metrics,
    resolve_bleu,
    resolve_distinct,
)

REFERENCES = [["yes", ",", "i", "do"], ["no"], ["where", "is", "it", "?"], ["it", "is", "here", "."]]
OUTPUTS = [["yes", "."], [], ["where", "is", "he", "?"], ["it", "is", "."]]


def test_every_metric_by_its_name():
    found = generation_metrics(OUTPUTS, REFERENCES)
    assert list(found) == ["bleu2_method7", "bleu2_method1", "sacrebleu", "dist1", "dist2", "mean_length"]
    assert found["bleu2_method7"] == resolve_bleu("bleu2_method7")(OUTPUTS, REFERENCES)
    assert found["dist2"] == resolve_distinct("dist2")(OUTPUTS, REFERENCES)
    assert found["mean_length"] == 9 / 4


def test_other_metrics_can_be_asked_for():
    metric = resolve_distinct("dist2_intra")
    assert generation_metrics(OUTPUTS, REFERENCES, [metric]) == {"dist2_intra": metric(OUTPUTS, REFERENCES)}


def test_references_and_shuffled_replies():
    floors = generation_floors(REFERENCES, seed=1)
    assert floors["reference"] == generation_metrics(REFERENCES, REFERENCES)
    assert floors["reference"]["sacrebleu"] == pytest.approx(1)
    # The same replies in another order: as diverse and as long, but no longer answers.
    for name in ("dist1", "dist2", "mean_length"):
        assert floors["shuffled"][name] == floors["reference"][name]
    assert floors["shuffled"]["bleu2_method1"] < 0.5


def test_a_constant_reply():
    constant = ["it", "is", "."]
    floors = generation_floors(REFERENCES, constant=constant)
    assert list(floors) == ["reference", "shuffled", "constant"]
    assert floors["constant"] == generation_metrics([constant] * 4, REFERENCES)
    assert floors["constant"]["mean_length"] == 3
    assert floors["constant"]["dist1"] == 3 / 12
    assert floors["constant"]["bleu2_method1"] > 0
    assert "constant" not in generation_floors(REFERENCES)


@given(size=st.integers(2, 30), seed=st.integers(0, 1000))
def test_no_reply_stays_in_its_place(size, seed):
    seen = []
    stays = TextMetric("stays", lambda a, b: seen.append(a) or sum(x == y for x, y in zip(a, b)), "")
    references = [[str(i)] for i in range(size)]
    assert generation_floors(references, seed, [stays])["shuffled"]["stays"] == 0
    assert sorted(seen[1]) == sorted(references)


def test_the_seed_decides():
    references = [[str(i % 7), str(i % 5)] for i in range(40)]
    floors = [generation_floors(references, seed)["shuffled"] for seed in (0, 0, 1)]
    assert floors[0] == floors[1]
    assert floors[0]["bleu2_method1"] != floors[2]["bleu2_method1"]


def test_one_reference_cannot_be_shuffled():
    with pytest.raises(ValueError, match=r"'references' must be at least 2 \(got 1\)"):
        generation_floors([["a"]])


def test_names_are_unique():
    assert len({metric.name for metric in GENERATION_METRICS}) == len(GENERATION_METRICS)
