"""What stands beside the tests of whole campaigns (test_campaign.py): rows by themselves."""

from __future__ import annotations

import math

import pytest
from evidence.verdicts import HEADER, over_seeds, read_claims, scores_digest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

scores = st.floats(0, 1, width=16)


@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=12))
def test_over_seeds_is_the_paired_t_test(pairs):
    a, b = zip(*pairs)
    found = over_seeds(a, b)
    assert found["df"] == len(pairs) - 1
    assert found["difference"] == pytest.approx(found["score_a"] - found["score_b"], abs=1e-12)
    differences = [one - other for one, other in pairs]
    assert found["standard_error"] == pytest.approx(float(stats.sem(differences)), abs=1e-12)


def test_one_seed_shows_nothing():
    assert over_seeds([0.5], [0.1])["standard_error"] == math.inf


def test_the_digest_is_of_scores_by_seed():
    a, b = {0: 0.1, 1: 0.2}, {0: 0.3, 1: 0.4}
    same = scores_digest(a, b)
    assert scores_digest({1: 0.2, 0: 0.1}, b) == same
    assert scores_digest(a, {**b, 2: 0.5}) == same  # a seed that has no partner is not compared
    assert len({same, scores_digest(b, a), scores_digest(a, {0: 0.3, 1: 0.5})}) == 3


def test_claims_that_are_there(tmp_path):
    path = tmp_path / "claims.csv"
    assert read_claims(path) == []
    line = ",".join(f"{number}" for number in range(len(HEADER)))
    path.write_text(",".join(HEADER) + f"\n{line}\n", encoding="utf-8")
    assert read_claims(path) == [{name: str(number) for number, name in enumerate(HEADER)}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("claim,", "name,", 1), "claims.csv:1: the header must be claim,design"),
        (lambda text: text[:-1], "the file is cut"),
        (lambda text: text[: text.rindex(",")] + "\n", "the file is cut"),
    ],
)
def test_a_file_that_is_cut_or_another_is_refused(tmp_path, change, message):
    path = tmp_path / "claims.csv"
    line = ",".join(f"{number}" for number in range(len(HEADER)))
    path.write_text(change(",".join(HEADER) + f"\n{line}\n"), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_claims(path)
