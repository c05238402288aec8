from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import sys
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError

from graphdep.io import atomic_path
from graphdep.io.files import (
    check_archive,
    disk_errors,
    file_mode,
    find_checkpoint,
    guard,
    has_half_character,
    long_fields,
    remove_leftovers,
    temporary_folder,
    unguard,
    unique_keys,
)


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


def test_a_link_that_nobody_typed_is_replaced(tmp_path):
    (tmp_path / "precious").write_text("mine")
    os.chmod(tmp_path / "precious", 0o600)
    for target in ("precious", "gone"):
        (tmp_path / "a.txt").unlink(missing_ok=True)
        (tmp_path / "a.txt").symlink_to(target)
        with atomic_path(tmp_path / "a.txt") as temporary:
            temporary.write_text("new")
        assert not (tmp_path / "a.txt").is_symlink()
        assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == file_mode(tmp_path / "none")
    assert (tmp_path / "precious").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "precious"]


def test_a_link_that_was_typed_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "file").write_text("old")
    for name, target in (("link.txt", "far/file"), ("dangling.txt", "far/new")):
        (tmp_path / name).symlink_to(target)
        with atomic_path(tmp_path / name, typed=True) as temporary:
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
        with pytest.raises(ValueError, match=f"'{path}' is not a regular file"), atomic_path(path):
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


def test_who_may_read_a_file_may_read_its_successor(tmp_path):
    target = tmp_path / "private.txt"
    target.write_text("old")
    target.chmod(0o600)
    with atomic_path(target) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


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
    with pytest.raises(
        ValueError, match=r"a\.pt: damaged checkpoint: .*data/0 has changed since it was written"
    ):
        check_archive(path)


def test_a_cut_file(tmp_path):
    for size in [0, 4, 500]:
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


def test_long_fields_are_read_inside_only():
    limit, text = csv.field_size_limit(), "x" * 200_000
    with long_fields():
        assert list(csv.reader([text])) == [[text]]
    assert csv.field_size_limit() == limit
    with pytest.raises(csv.Error, match="field larger than field limit"):
        list(csv.reader([text]))


def test_the_limit_comes_back_after_an_error():
    limit = csv.field_size_limit()
    with pytest.raises(KeyError), long_fields():
        raise KeyError
    assert csv.field_size_limit() == limit


def test_threads_do_not_take_the_limit_from_one_another():
    limit, text = csv.field_size_limit(), "x" * 200_000

    def read(number):
        with long_fields():
            return len(list(csv.reader([text] * (1 + number % 7))))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, range(60))) == [1 + number % 7 for number in range(60)]
    assert csv.field_size_limit() == limit


@given(cell=st.text(st.sampled_from("=+-@＝＋－＠'a \"\n;\t,\u200b\ufeff\u2066"), max_size=8))
def test_guarding_loses_nothing(cell):
    assert unguard(guard(cell)) == cell
    assert not re.search(r"(^|[;\t])[\s\u200b\ufeff\u2066]*[=+\-@＝＋－＠]", guard(cell))


def test_what_is_guarded():
    for cell, guarded in [
        (" =1", "' =1"),
        ("\u200b=1", "'\u200b=1"),
        ("\u202e\ufeff @a", "'\u202e\ufeff @a"),
        ("＝1", "'＝1"),
        ("a;=1", "a;'=1"),
        ("a\t+1;＠b", "a\t'+1;'＠b"),
        ("'=1", "''=1"),
        ("'tis", "'tis"),
        ("a = b; c - d", "a = b; c - d"),
        ("", ""),
    ]:
        assert guard(cell) == guarded
        assert unguard(guarded) == cell


@given(st.text(st.characters(exclude_categories=[])))
def test_what_has_half_a_character_cannot_be_written(text):
    if has_half_character(text):
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
            text.encode("utf-8")
    else:
        text.encode("utf-8")


def test_a_key_that_is_there_twice_is_no_object():
    assert json.loads('{"a": {"b": 1}}', object_pairs_hook=unique_keys) == {"a": {"b": 1}}
    with pytest.raises(ValueError, match="the key 'b' occurs 2 times"):
        json.loads('{"a": {"b": 1, "c": 2, "b": 1}}', object_pairs_hook=unique_keys)


def test_an_error_of_the_disk_names_the_file():
    with pytest.raises(OSError, match="a.safetensors") as found, disk_errors("a.safetensors"):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
    assert found.value.errno == errno.ENOSPC


def test_other_errors_stay():
    with pytest.raises(SafetensorError, match="header"), disk_errors("a.safetensors"):
        raise SafetensorError("header too large")
