from __future__ import annotations

import pytest

from graphdep.transforms import SameConstituentEdges


def test_implicit_is_true_or_false():
    with pytest.raises(ValueError, match=r"'implicit' must be True or False \(got 'no'\)"):
        SameConstituentEdges(implicit="no")
