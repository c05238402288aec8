from __future__ import annotations

from graphdep.nn.conv.sia_conv import MASKS
from graphdep.nn.models.selection import BLOCKS, READOUTS
from graphdep.tasks.selection.settings import SelectionConfig


def test_choices_are_those_of_the_layer():
    """Settings do not import it."""
    assert SelectionConfig.marks["sia_block"]["choices"] == BLOCKS
    assert SelectionConfig.marks["sia_mask"]["choices"] == MASKS
    assert SelectionConfig.marks["readout"]["choices"] == READOUTS
