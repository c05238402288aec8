from __future__ import annotations

import zipfile

import pytest
import torch

from graphdep.io.archive import check_archive, check_checkpoint


def content_of(path):
    torch.save({"weight": torch.arange(100.0)}, path)
    check_archive(path)
    return bytearray(path.read_bytes())


def test_a_changed_byte(tmp_path):
    path = tmp_path / "a.pt"
    content = content_of(path)
    content[content.index(torch.arange(100.0).numpy().tobytes()) + 50] ^= 1
    path.write_bytes(content)
    torch.load(path, weights_only=True)  # which sees nothing
    with pytest.raises(ValueError, match=r"a\.pt: damaged checkpoint: .*data/0 is not what was written"):
        check_archive(path)


@pytest.mark.parametrize("size", [0, 4, 500])
def test_a_cut_file(tmp_path, size):
    path = tmp_path / "a.pt"
    path.write_bytes(content_of(path)[:size])
    assert not zipfile.is_zipfile(path)
    with pytest.raises(ValueError, match=r"a\.pt: not a checkpoint, or damaged \("):
        check_archive(str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no checkpoint at .*none\.ckpt"):
        check_checkpoint(tmp_path / "none.ckpt")
    with pytest.raises(FileNotFoundError, match=r"is a folder: name its best\.ckpt"):
        check_checkpoint(tmp_path)
