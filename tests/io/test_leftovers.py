"""Kills in the middle of a write leave temporary files: the next write of the same file removes them, and
never those that somebody is still writing.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from graphdep.io import atomic_path
from graphdep.io.files import remove_leftovers, temporary_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="nothing tells there who is still writing")


def killed_in(write) -> None:
    """Runs ``write`` in a child until it has begun, and kills it."""
    read, begun = os.pipe()
    child = os.fork()
    if not child:
        try:
            write(lambda: os.write(begun, b"."))
            signal.pause()
        finally:
            os._exit(1)
    os.close(begun)
    assert os.read(read, 1) == b"."
    os.close(read)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def kill_while_writing(target: Path) -> None:
    def write(begun):
        with atomic_path(target) as path:
            path.write_bytes(b"half")
            begun()
            signal.pause()

    killed_in(write)


def test_kills_leave_nothing_that_grows(tmp_path):
    target = tmp_path / "last.ckpt"
    for _ in range(3):
        kill_while_writing(target)
        assert len(os.listdir(tmp_path)) == 1  # that of the last one
    with atomic_path(target) as path:
        path.write_bytes(b"whole")
    assert os.listdir(tmp_path) == ["last.ckpt"]
    assert target.read_bytes() == b"whole"


def test_what_another_process_is_writing_stays(tmp_path):
    target = tmp_path / "a.csv"
    with atomic_path(target) as first:
        first.write_text("first")
        with atomic_path(target) as second:
            assert first.exists()
            second.write_text("second")
        remove_leftovers(tmp_path, "a.csv")
        assert first.exists()
    assert target.read_text() == "first"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_only_what_has_the_name_goes(tmp_path):
    kept = [
        *(".a.csv.abcdefg.csv", ".a.csv.abcdefghi.csv", ".a.csv.ABCDEFGH.csv", "a.csv.abcdefgh.csv"),
        *(".b.csv.abcdefgh.csv", ".a.csv.abcdefgh.tsv", ".axcsv.abcdefgh.csv", ".a.csv.abcdefgh"),
    ]
    for name in (*kept, ".a.csv.abcdefgh.csv"):
        (tmp_path / name).write_text("")
    remove_leftovers(tmp_path, "a.csv")
    assert sorted(os.listdir(tmp_path)) == sorted(kept)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("kept")
    (tmp_path / ".a.abcdefgh").symlink_to("precious")
    os.mkfifo(tmp_path / ".a.12345678")  # opening one waits for a writer
    remove_leftovers(tmp_path, "a")
    assert (tmp_path / "precious" / "file").read_text() == "kept"
    assert (tmp_path / ".a.abcdefgh").is_symlink()


def test_journals_of_a_database_go_with_it(tmp_path):
    target = tmp_path / "a.sqlite"

    def write(begun):
        with atomic_path(target) as path:
            database = sqlite3.connect(path, isolation_level=None)
            database.execute("CREATE TABLE t (x)")
            database.execute("BEGIN")
            database.execute("INSERT INTO t VALUES (1)")
            begun()
            signal.pause()

    killed_in(write)
    assert len(os.listdir(tmp_path)) == 2
    with atomic_path(target) as path, sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    assert os.listdir(tmp_path) == ["a.sqlite"]


def test_folders(tmp_path):
    def write(begun):
        with temporary_folder("fit", tmp_path) as folder:
            (folder / "big").write_text("x")
            begun()
            signal.pause()

    for _ in range(2):
        killed_in(write)
    with temporary_folder("fit", tmp_path) as one, temporary_folder("fit", tmp_path) as other:
        assert sorted(os.listdir(tmp_path)) == sorted([one.name, other.name])
        (one / "file").write_text("x")
    assert os.listdir(tmp_path) == []


def test_many_threads_and_kills_lose_nothing(tmp_path):
    """A leftover is never taken from a writer between its making and its lock."""
    target, errors = tmp_path / "a", []

    def write():
        try:
            for number in range(60):
                with atomic_path(target) as path:
                    path.write_text(str(number))
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert (os.listdir(tmp_path), target.read_text()) == (["a"], "59")


def test_an_encoder_s_folder(tmp_path):
    """Half of an encoder, of a process that was killed, is gone with the next one that is saved there."""
    pytest.importorskip("transformers")
    from graphdep.nn.pretrained import load_encoder
    from tests.kit.tiny_encoder import write_tiny_encoder

    write_tiny_encoder(tmp_path / "whole", positions=16)
    encoder = load_encoder(str(tmp_path / "whole"))
    encoder.save_pretrained(tmp_path / "encoder")
    names = sorted(os.listdir(tmp_path / "encoder"))
    shutil.copytree(tmp_path / "whole", tmp_path / "encoder" / ".saving.abcdefgh")
    encoder.save_pretrained(tmp_path / "encoder")
    assert sorted(os.listdir(tmp_path / "encoder")) == names


def test_who_is_interrupted_while_a_folder_is_made_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(handle, path):
        assert os.listdir(tmp_path)
        raise KeyboardInterrupt

    monkeypatch.setattr("graphdep.io.files.hold", interrupted)
    with pytest.raises(KeyboardInterrupt), temporary_folder("pages", tmp_path):
        raise AssertionError
    assert os.listdir(tmp_path) == []
