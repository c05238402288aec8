from __future__ import annotations

import errno

import pytest
from safetensors import SafetensorError

from graphdep.io.files import disk_errors


def test_an_error_of_the_disk_names_the_file():
    with pytest.raises(OSError, match="a.safetensors") as found, disk_errors("a.safetensors"):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
    assert found.value.errno == errno.ENOSPC


def test_other_errors_stay():
    with pytest.raises(SafetensorError, match="header"), disk_errors("a.safetensors"):
        raise SafetensorError("header too large")
