from __future__ import annotations

import os
import stat
import sys

import pytest

from graphdep.io import atomic_path


def test_writes_into_a_new_folder(tmp_path):
    target = tmp_path / "a" / "b.txt"
    with atomic_path(target) as temporary:
        temporary.write_text("new")
        assert not target.exists()
        assert temporary.suffix == ".txt"
    assert target.read_text() == "new"
    assert os.listdir(target.parent) == ["b.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "b.txt"
    target.write_text("old")
    with pytest.raises(KeyError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise KeyError("x")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["b.txt"]


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_path(tmp_path / "b") as temporary:
            temporary.write_text("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o640


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere Python asks by setting it")
def test_the_umask_is_never_set(tmp_path, monkeypatch):
    def forbidden(mask):
        raise AssertionError(mask)

    monkeypatch.setattr(os, "umask", forbidden)
    with atomic_path(tmp_path / "b") as temporary:
        temporary.write_text("x")


def test_a_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "file").write_text("old")
    for name, target in (("link.txt", "far/file"), ("dangling.txt", "far/new")):
        (tmp_path / name).symlink_to(target)
        with atomic_path(tmp_path / name) as temporary:
            assert temporary.parent == tmp_path / "far"
            assert temporary.suffix == ".txt"
            temporary.write_text("new")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / target).read_text() == "new"
    assert sorted(os.listdir(tmp_path / "far")) == ["file", "new"]


def test_what_is_no_plain_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path, "/dev/null"):
        with pytest.raises(ValueError, match=f"'{path}' is no plain file"), atomic_path(path):
            raise AssertionError
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


def test_an_error_names_the_file_that_was_asked_for(tmp_path, monkeypatch):
    def refuse(path, *arguments):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("graphdep.io.files.os.open", refuse)
    with pytest.raises(PermissionError) as found, atomic_path(tmp_path / "x.jsonl"):
        pass
    assert found.value.filename == str(tmp_path / "x.jsonl")


def test_who_is_interrupted_while_the_file_is_made_leaves_nothing(tmp_path, monkeypatch):
    opened = os.open

    def interrupted(*arguments):
        os.close(opened(*arguments))
        assert os.listdir(tmp_path)
        raise KeyboardInterrupt

    monkeypatch.setattr("graphdep.io.files.os.open", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_path(tmp_path / "b.txt"):
        raise AssertionError
    assert os.listdir(tmp_path) == []


def test_who_may_read_a_file_may_read_its_successor(tmp_path):
    target = tmp_path / "private.txt"
    target.write_text("old")
    target.chmod(0o600)
    with atomic_path(target) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
