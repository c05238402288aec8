from __future__ import annotations

import pytest
from torch_geometric.nn.conv import MessagePassing

from graphdep.nn.conv import DRAConv, SIAConv
from graphdep.nn.conv.attention_conv import MessageSender
from graphdep.nn.pretrained.anatomy import EdgeSender


class Own(DRAConv):
    """Of a user."""


@pytest.mark.parametrize(
    "make", [lambda: DRAConv(4, 2), lambda: SIAConv(4, 2), lambda: Own(4, 2), EdgeSender]
)
def test_pyg_puts_no_propagate_in_place_of_its_own(make):
    """Its template's would ask no explainer; and it tries in vain, for 20 ms, at every layer."""
    sender = make()
    assert isinstance(sender, MessageSender)
    assert type(sender).propagate is MessagePassing.propagate
    assert not hasattr(type(sender), "_jinja_propagate")
