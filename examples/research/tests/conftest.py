"""Campaigns are scripts as well, and import what lies beside them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# At the end: no name here may stand before one of another package.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def what_is_logged() -> Iterator[None]:
    """Scripts hush the package; the tests after them must hear it."""
    logger = logging.getLogger("graphdep")
    level = logger.level
    yield
    logger.setLevel(level)
