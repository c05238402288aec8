from __future__ import annotations

import hashlib

import pytest
import torch

from graphdep.datasets.base.parsed import FORMAT, load_examples, save_examples


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 500], ids=["empty", "short", "other"])
def test_a_digest_that_is_right_over_no_archive(tmp_path, caplog, content):
    """As who forges a file writes it: torch raises another error for each."""
    path = tmp_path / "train.pt"
    path.write_bytes(f"{FORMAT}\n".encode() + hashlib.sha256(content).digest() + content)
    assert load_examples(path) is None
    assert "it is made again" in caplog.text


def test_what_was_written_is_read(tmp_path):
    save_examples({"x": torch.arange(3)}, tmp_path / "train.pt")
    assert load_examples(tmp_path / "train.pt")["x"].tolist() == [0, 1, 2]
    assert load_examples(tmp_path / "none.pt") is None
