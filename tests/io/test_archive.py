from __future__ import annotations

import zipfile

import pytest
import torch

from graphdep.io.files import check_archive, find_checkpoint


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


def test_what_is_compressed_is_not_unpacked(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "bomb.ckpt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.pkl", bytes(10_000_000))
    monkeypatch.setattr(zipfile.ZipFile, "testzip", None)
    with pytest.raises(ValueError, match=r"bomb\.ckpt: not a checkpoint, or damaged \(its entries are comp"):
        check_archive(tmp_path / "bomb.ckpt")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no checkpoint at .*none\.ckpt"):
        find_checkpoint(tmp_path / "none.ckpt")


def test_a_run_s_folder_stands_for_its_checkpoint(tmp_path):
    for name in ("b", "a"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match=r"runs is a folder without a best\.ckpt$"):
        find_checkpoint(tmp_path / "runs")
    for name in ("b", "a"):
        content_of(tmp_path / "runs" / name / "best.ckpt")
    with pytest.raises(FileNotFoundError, match=r"without a best\.ckpt: name one of the runs .*/a, .*/b$"):
        find_checkpoint(tmp_path / "runs")
    file = tmp_path / "runs" / "a" / "best.ckpt"
    assert find_checkpoint(str(file)) == find_checkpoint(file.parent) == file
