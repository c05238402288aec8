"""Checkpoints: content and errors."""

from __future__ import annotations

import dataclasses
import errno
import io
import pickle
import zipfile
from pathlib import Path

import pytest
import torch

from graphdep.training import TrainConfig, load_task, read_checkpoint, train
from graphdep.training.checkpoint import AtomicCheckpointIO
from tests.kit.runs import SIZES


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, corpus) -> Path:
    folder = tmp_path_factory.mktemp("run")
    train(TrainConfig.of("dt", **corpus, **SIZES, max_epochs=1, accelerator="cpu"), folder)
    return folder / "best.ckpt"


def test_holds_plain_values_and_all_that_is_needed(checkpoint):
    content = torch.load(checkpoint, weights_only=True)
    state = content["graphdep"]
    assert state["config"]["model"] == "dt"
    assert "ann" in state["vocab"]["words"]
    assert state["relations"]["fixed"] > 100
    assert 0 <= state["scores"]["val_accuracy"] <= 1
    task, run = load_task(checkpoint)
    assert not task.training
    assert run.config.heads == 2


@pytest.mark.parametrize("keep", [0, 1, 100, 2000, -1])
def test_a_truncated_file_is_refused(tmp_path, checkpoint, keep):
    path = tmp_path / "cut.ckpt"
    path.write_bytes(checkpoint.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"cut.ckpt: not a checkpoint, or damaged"):
        read_checkpoint(path)


@pytest.mark.parametrize("legacy", [False, True])
def test_code_in_a_file_is_not_run(tmp_path, legacy):
    path, touched = tmp_path / "evil.ckpt", tmp_path / "touched"
    content = {"graphdep": Evil(touched), "state_dict": {}}
    if legacy:
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path)
    with pytest.raises(ValueError, match=r"evil.ckpt: not a checkpoint, or damaged"):
        read_checkpoint(path)
    assert not touched.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"state_dict": {}}, "not a checkpoint of graphdep"),
        ([1, 2], "not a checkpoint of graphdep"),
        ({"graphdep": {"format": "graphdep checkpoint 99"}, "state_dict": {}}, "another version"),
        ({"graphdep": {"format": "graphdep checkpoint 2", "config": 3}, "state_dict": {}}, "'config' is int"),
    ],
)
def test_foreign_files_are_refused(tmp_path, content, message):
    torch.save(content, tmp_path / "foreign.ckpt")
    with pytest.raises(ValueError, match=f"foreign.ckpt: .*{message}"):
        read_checkpoint(tmp_path / "foreign.ckpt")


def altered(checkpoint: Path, path: Path, key: str, value: object) -> Path:
    content = torch.load(checkpoint, weights_only=True)
    content["graphdep"][key] = value
    torch.save(content, path)
    return path


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("config", {"nonsense": 1}, "no setting 'nonsense'"),
        ("vocab", {}, "words"),
        ("vocab", {"words": ["a"], "lower": True}, "size mismatch"),
        ("relations", {"fixed": 3, "learned": []}, "3 fixed relations"),
    ],
)
def test_parts_that_do_not_fit_are_refused(tmp_path, checkpoint, key, value, message):
    with pytest.raises(ValueError, match=f"bad.ckpt: damaged checkpoint .*{message}"):
        load_task(altered(checkpoint, tmp_path / "bad.ckpt", key, value))


def test_each_part_must_be_there_and_of_its_kind(tmp_path, checkpoint):
    """Including parts that may be None."""
    content, path = torch.load(checkpoint, weights_only=True), tmp_path / "bad.ckpt"
    written = {*load_task(checkpoint)[1].state_dict()}
    assert len(written) > 8
    for key in written:
        parts = {name: value for name, value in content["graphdep"].items() if name != key}
        for given in (parts, parts | {key: 0.5}):
            torch.save({**content, "graphdep": given}, path)
            for read in (read_checkpoint, load_task):
                with pytest.raises(ValueError, match=f"bad.ckpt: .*({key}|version)"):
                    read(path)


LABELS = [
    (["x", "x"], r"'labels\[1\]' repeats 'labels\[0\]' \(got str 'x'\)"),
    ([1, "1"], r"'labels\[1\]' must be a text, .* as 'labels\[0\]', int 1 \(got str '1'\)"),
    ([None, "x"], r"'labels\[0\]' must be a text, .* \(got NoneType None\)"),
    ([0.5, float("nan")], r"'labels\[1\]' must be finite \(got nan\)"),
    (["x", "x\0"], r"'labels\[1\]' has a control character or half a character \(got str 'x.x00'\)"),
    (["x", "\ud800"], r"'labels\[1\]' has a control character or half"),
]


@pytest.mark.parametrize(("labels", "message"), LABELS)
def test_labels_that_are_no_names_of_classes_are_refused(tmp_path, checkpoint, labels, message):
    path = altered(checkpoint, tmp_path / "bad.ckpt", "labels", labels)
    for read in (read_checkpoint, load_task):
        with pytest.raises(ValueError, match=f"bad.ckpt: damaged checkpoint: {message}"):
            read(path)
    state = load_task(checkpoint)[1]
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(state, labels=labels)


@pytest.mark.parametrize("size", [0, -1, 10**9])
def test_word_vectors_of_a_size_that_none_have_are_refused(tmp_path, checkpoint, size):
    path = altered(checkpoint, tmp_path / "bad.ckpt", "vector_dim", size)
    with pytest.raises(ValueError, match="'vector_dim' must be from 1 to 16384"):
        load_task(path)


@pytest.mark.parametrize("labels", [["y", "x", "z ä"], [3, 1, 2], [0.5, 1.5, -2.0]])
def test_labels_of_one_kind_are_kept(tmp_path, checkpoint, labels):
    assert load_task(altered(checkpoint, tmp_path / "good.ckpt", "labels", labels))[1].labels == labels


def test_a_changed_byte_is_found(tmp_path, checkpoint):
    with zipfile.ZipFile(checkpoint) as archive:
        record = max(archive.infolist(), key=lambda info: info.file_size)
        assert record.compress_type == zipfile.ZIP_STORED
    content = bytearray(checkpoint.read_bytes())
    content[record.header_offset + 400] ^= 1
    path = tmp_path / "flipped.ckpt"
    path.write_bytes(bytes(content))
    with pytest.raises(
        ValueError, match=r"flipped.ckpt: damaged checkpoint: .* has changed since it was written"
    ):
        read_checkpoint(path)


@pytest.mark.parametrize(("key", "value"), [("num_layers", 1000), ("hidden_channels", 2**14)])
def test_settings_that_the_weights_cannot_have_are_refused_before_anything_is_built(
    tmp_path, checkpoint, key, value
):
    content = torch.load(checkpoint, weights_only=True)
    content["graphdep"]["config"][key] = value
    torch.save(content, tmp_path / "huge.ckpt")
    with pytest.raises(ValueError, match=f"huge.ckpt: damaged checkpoint .'{key}' is {value}"):
        load_task(tmp_path / "huge.ckpt")


def test_a_folder_without_a_checkpoint(tmp_path):
    with pytest.raises(FileNotFoundError, match="is a folder without a best.ckpt"):
        read_checkpoint(tmp_path)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no checkpoint at .*nothing.ckpt"):
        read_checkpoint(tmp_path / "nothing.ckpt")


def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "last.ckpt"
    AtomicCheckpointIO().save_checkpoint({"epoch": 1}, path)
    before = path.read_bytes()
    with pytest.raises(AttributeError):
        AtomicCheckpointIO().save_checkpoint({"epoch": 2, "bad": lambda: None}, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["last.ckpt"]


def test_a_format_of_endless_lists_is_refused_at_once(tmp_path):
    nested: list = []
    for _ in range(40):  # a small file whose text would exceed any memory
        nested = [nested, nested]
    torch.save({"graphdep": {"format": nested}, "state_dict": {}}, tmp_path / "nested.ckpt")
    with pytest.raises(ValueError, match=r"a checkpoint of another version \(list"):
        read_checkpoint(tmp_path / "nested.ckpt")


@pytest.mark.parametrize("room", [0, 3_000, 60_000])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, monkeypatch, room):
    """The error of torch is about an "unexpected pos"."""
    whole = io.FileIO.write

    class Full(io.FileIO):
        def write(self, data):
            if self.tell() + len(data) > room:
                raise OSError(errno.ENOSPC, "No space left on device")
            return whole(self, data)

    opened = open
    monkeypatch.setattr(
        "builtins.open",
        lambda path, mode="r", **given: (
            Full(path, "w") if mode == "wb" and ".last.ckpt." in str(path) else opened(path, mode, **given)
        ),
    )
    target = tmp_path / "last.ckpt"
    with pytest.raises(OSError, match="No space left") as found:
        AtomicCheckpointIO().save_checkpoint({"x": [torch.zeros(10_000), torch.zeros(10_000)]}, target)
    assert (found.value.errno, found.value.filename) == (errno.ENOSPC, str(target))
    assert [*tmp_path.iterdir()] == []


def test_an_interruption_while_an_archive_is_written_stays_one(tmp_path, monkeypatch):
    """Torch would raise an error about a position, which a table would count as a failed run."""

    class Interrupted(io.FileIO):
        def write(self, data):
            if self.tell() > 1000:
                raise KeyboardInterrupt
            return super().write(data)

    opened = open
    monkeypatch.setattr(
        "builtins.open",
        lambda path, mode="r", **given: (
            Interrupted(path, "w") if mode == "wb" else opened(path, mode, **given)
        ),
    )
    with pytest.raises(KeyboardInterrupt):
        AtomicCheckpointIO().save_checkpoint({"x": [torch.zeros(10_000)] * 2}, tmp_path / "last.ckpt")
    assert [*tmp_path.iterdir()] == []
