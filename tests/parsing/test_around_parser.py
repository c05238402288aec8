from __future__ import annotations

import pytest

from graphdep.parsing import BundledParser, CachedParser, ClusterParser, ParallelParser
from graphdep.parsing.parser import AroundParser


def test_it_is_what_the_other_parser_is():
    one = BundledParser(constituents=True, progress=False)
    made = AroundParser(one)
    for name in ("fingerprint", "language", "gives_graphs", "gives_constituents", "progress"):
        assert getattr(made, name) == getattr(one, name)


@pytest.mark.parametrize("kind", [CachedParser, ClusterParser, ParallelParser])
def test_the_three_are_such(kind):
    assert issubclass(kind, AroundParser)
