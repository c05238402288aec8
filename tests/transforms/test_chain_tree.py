from __future__ import annotations

import torch

from graphdep import Sentence, to_data
from graphdep.transforms import ChainTree


def test_is_the_chain(example):
    data = ChainTree()(to_data([example, example]))
    again = to_data([Sentence.chain(example.form)] * 2)
    for key in ("governor_index", "depth", "arc_index"):
        assert torch.equal(data[key], again[key])


def test_100_000_words():
    star = Sentence(["x"] * 100_000, [0] + [1] * 99_999, ["dep"] * 100_000)
    assert int(ChainTree()(to_data([star])).depth.max()) == 100_000
