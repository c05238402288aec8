from __future__ import annotations

import hashlib
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep import RelationVocab, Vocab
from graphdep.datasets import SICK
from graphdep.datasets.storage import _MAGIC, load_examples


class Shift(BaseTransform):
    """Prints alike whatever its argument, as many transforms do."""

    def __init__(self, amount: int) -> None:
        self.amount = amount

    def forward(self, data: Data) -> Data:
        data.position = data.position + self.amount
        return data

    def __repr__(self) -> str:
        return "Shift()"


class Keep:
    def __init__(self, pair: int) -> None:
        self.pair = pair

    def __call__(self, data: Data) -> bool:
        return bool(data.pair == self.pair)


class AddObject(BaseTransform):
    def forward(self, data: Data) -> Data:
        data.place = Path("here")
        return data


def processed(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "processed").glob("*"))


def equal(first: SICK, second: SICK) -> bool:
    return len(first) == len(second) and all(
        a.to_dict().keys() == b.to_dict().keys()
        and all(torch.equal(torch.as_tensor(a[key]), torch.as_tensor(b[key])) for key in a.to_dict())
        for a, b in zip(first, second)
    )


def test_same_options_load_without_parsing(tmp_path, parser, write_sick, monkeypatch):
    first = SICK(tmp_path / "sick", parser=parser, raw_from=write_sick())
    monkeypatch.setattr(SICK, "examples", None)
    second = SICK(tmp_path / "sick", parser=parser)
    assert equal(first, second)
    assert second.vocab == first.vocab
    assert second.describe() == first.describe()
    assert len(processed(tmp_path / "sick")) == 1  # and not PyG's pickled pre_transform.pt either


@pytest.mark.parametrize(
    "options",
    [
        {"split": "test"},
        {"task": "entailment"},
        {"limit": 2},
        {"min_freq": 2},
        {"lower": False},
        {"root_node": False},
        {"vocab": Vocab(["dog"])},
        {"relations": RelationVocab(["nsubj:chain"])},
        {"pre_transform": Shift(1)},
        {"pre_filter": Keep(1)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_other_options_have_another_file(tmp_path, parser, write_sick, options):
    SICK(tmp_path / "sick", parser=parser, raw_from=write_sick())
    SICK(tmp_path / "sick", parser=parser, **options)
    assert len(processed(tmp_path / "sick")) == 2


def test_another_parser_has_another_file(tmp_path, new_parser, write_sick):
    SICK(tmp_path / "sick", parser=new_parser("1"), raw_from=write_sick())
    second = new_parser("2")
    assert SICK(tmp_path / "sick", parser=second).describe()["parser"] == "chain/2"
    assert second.texts
    assert len(processed(tmp_path / "sick")) == 2


def test_a_changed_raw_file_has_another_file(tmp_path, parser, write_sick):
    raw = write_sick()
    SICK(tmp_path / "sick", "test", parser=parser, raw_from=raw)
    path = tmp_path / "sick" / "raw" / "SICK_train.txt"  # the vocabulary depends on it
    path.write_text(path.read_text().replace("bird", "fish"))
    assert "fish" in SICK(tmp_path / "sick", "test", parser=parser).vocab


def test_pre_transform_is_known_by_its_arguments(tmp_path, parser, write_sick):
    raw = write_sick()
    for amount in (5, 20):
        dataset = SICK(tmp_path / "sick", parser=parser, raw_from=raw, pre_transform=Shift(amount))
        assert dataset[0].position[0] == amount
    with pytest.raises(ValueError, match="use a transform object"):
        SICK(tmp_path / "sick", parser=parser, pre_transform=lambda data: data)


def test_pre_transform_writes_plain_values(tmp_path, parser, write_sick):
    with pytest.raises(ValueError, match="tensors and plain values only"):
        SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(), pre_transform=AddObject())
    assert processed(tmp_path / "sick") == []


def test_pre_filter(tmp_path, parser, write_sick):
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(), pre_filter=Keep(2))
    assert [data.pair.item() for data in dataset] == [2]
    with pytest.raises(ValueError, match="'pre_filter' leaves none of 3 examples"):
        SICK(tmp_path / "sick", parser=parser, pre_filter=Keep(7))


def test_a_damaged_processed_file_is_made_again(tmp_path, new_parser, write_sick, caplog):
    first = SICK(tmp_path / "sick", parser=new_parser(), raw_from=write_sick())
    path = Path(first.processed_paths[0])
    content = path.read_bytes()
    lengths = [0, 1, 20, 52, 53, 1000, len(content) // 2, len(content) - 200, len(content) - 1]
    flipped = content[:-300] + bytes([content[-300] ^ 1]) + content[-299:]
    for damaged in [*(content[:length] for length in lengths), flipped, content + b"\0"]:
        path.write_bytes(damaged)
        caplog.clear()
        assert equal(SICK(tmp_path / "sick", parser=new_parser()), first)
        assert f"is damaged ({len(damaged)} bytes)" in caplog.text
        assert path.read_bytes()[:52] == content[:52]


def test_a_processed_file_with_an_object_is_made_again(tmp_path, new_parser, write_sick, caplog):
    first = SICK(tmp_path / "sick", parser=new_parser(), raw_from=write_sick())
    path = Path(first.processed_paths[0])
    saved = io.BytesIO()
    torch.save({"data": Path("here")}, saved)
    for content in (saved.getvalue(), pickle.dumps(Path("here"), protocol=2)):
        path.write_bytes(_MAGIC + hashlib.sha256(content).digest() + content)
        caplog.clear()
        assert equal(SICK(tmp_path / "sick", parser=new_parser()), first)
        assert "holds more than tensors and plain values: it is made again" in caplog.text
        assert load_examples(path) is not None


def test_an_interrupted_write_leaves_nothing(tmp_path, parser, write_sick, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        raw = write_sick()
        with pytest.raises(KeyboardInterrupt):
            SICK(tmp_path / "sick", parser=parser, raw_from=raw)
    assert list((tmp_path / "sick" / "raw").iterdir()) == []
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=raw)
    Path(dataset.processed_paths[0]).unlink()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            SICK(tmp_path / "sick", parser=parser)
    assert processed(tmp_path / "sick") == []
    assert equal(SICK(tmp_path / "sick", parser=parser), dataset)


def test_two_processes_at_once(tmp_path, write_sick):
    script = (
        "import sys; from graphdep.datasets import UDTreebank; "
        "print(UDTreebank(sys.argv[1], 'train', raw_from=sys.argv[2], log=False).describe()['words'])"
    )
    raw = Path(__file__).parents[2] / "datasets" / "mini" / "ud" / "raw"
    command = [sys.executable, "-c", script, str(tmp_path / "ud"), str(raw)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert outputs[0] == outputs[1] != ""
    assert len(processed(tmp_path / "ud")) == 1


def test_raw_from_does_not_replace_other_files(tmp_path, parser, write_sick):
    SICK(tmp_path / "sick", parser=parser, raw_from=write_sick())
    other = write_sick([("7", "A cow", "A dog", "3", "NEUTRAL")], folder="other")
    with pytest.raises(
        ValueError, match="'raw_from' has .*other.*differs from .*: delete .*sick/raw/SICK_train"
    ):
        SICK(tmp_path / "sick", parser=parser, raw_from=other)
    assert len(SICK(tmp_path / "sick", parser=parser, raw_from=other, force_reload=True)) == 1


@pytest.mark.parametrize("name", ["SICK_train.txt", "SICK_test_annotated.txt"])
def test_raw_from_is_read_before_it_is_copied(tmp_path, parser, write_sick, name):
    raw = write_sick()
    right = (raw / name).read_text(encoding="utf-8")
    (raw / name).write_text(right.replace("NEUTRAL", "NEUTRA"), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"raw_files/{name}:\d: entailment_judgment must be one of"):
        SICK(tmp_path / "sick", parser=parser, raw_from=raw)
    assert not list((tmp_path / "sick").glob("raw/*"))
    (raw / name).write_text(right, encoding="utf-8")
    assert len(SICK(tmp_path / "sick", parser=parser, raw_from=raw)) == 3


def test_raw_from_is_read_once(tmp_path, parser, write_sick, monkeypatch):
    raw = write_sick()
    SICK(tmp_path / "sick", parser=parser, raw_from=raw)
    monkeypatch.setattr(SICK, "read", None)
    assert len(SICK(tmp_path / "sick", parser=parser, raw_from=raw)) == 3


def test_force_reload_makes_the_file_again(tmp_path, parser, write_sick):
    path = Path(SICK(tmp_path / "sick", parser=parser, raw_from=write_sick()).processed_paths[0])
    before = path.stat().st_ino
    os.link(path, tmp_path / "keeps-the-inode")
    SICK(tmp_path / "sick", parser=parser, force_reload=True)
    assert path.stat().st_ino != before


def test_parses_are_kept_between_settings(tmp_path, new_parser, write_sick):
    SICK(tmp_path / "sick", parser=new_parser(), raw_from=write_sick())
    again = new_parser()
    SICK(tmp_path / "sick", "test", "entailment", parser=again)
    assert again.texts == []


def test_dataset_travels_to_workers(tmp_path, parser, write_sick):
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=write_sick())
    assert equal(pickle.loads(pickle.dumps(dataset)), dataset)
