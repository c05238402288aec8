from __future__ import annotations

from graphdep.nn.conv.sia_conv import MASKS
from graphdep.nn.models.selection import BLOCKS, READOUTS
from graphdep.tasks.selection.settings import SelectionConfig


def test_choices_are_those_of_the_layer():
    """Settings do not import it."""
    assert SelectionConfig.choices["sia_block"] == BLOCKS
    assert SelectionConfig.choices["sia_mask"] == MASKS
    assert SelectionConfig.choices["readout"] == READOUTS
