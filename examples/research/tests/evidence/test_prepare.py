from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from evidence import Campaign, Design
from evidence.prepare import prepare

MINI = Path(__file__).parents[4] / "datasets" / "mini"
DESIGN = {
    "title": "agreement",
    "task": "agreement",
    "metric": "test_accuracy",
    "rows": ["dt", "dt@parser"],
    "seeds": 1,
    "files": {"raw_from": "raw", "vectors": "vectors/small.txt"},
    "settings": {
        "hidden_channels": 8,
        "ff_channels": 8,
        "num_layers": 1,
        "heads": 2,
        "max_epochs": 1,
        "min_freq": 1,
    },
}


def test_a_prepared_folder_is_all_that_is_needed(tmp_path):
    raw, root = tmp_path / "corpora", tmp_path / "prepared"
    shutil.copytree(MINI / "agreement" / "raw", raw / "raw")
    (raw / "vectors").mkdir()
    (raw / "vectors" / "small.txt").write_text("the 1 2\nnobody-says-this 3 4\n")
    design, options = Design.of("d", DESIGN), {"say": lambda text: None, "settings": {"accelerator": "cpu"}}
    told: list[str] = []
    size = prepare(Campaign([design], "no", "no", raw_from=raw, root=root, **options), say=told.append)
    assert told == ["d dt", "d dt@parser"]
    assert size == sum(
        path.stat().st_size for path in root.rglob("*") if path.is_file() and path.name != "prepared.json"
    )
    assert (root / "files" / "vectors" / "small.txt").read_text() == "the 1 2\n"
    shutil.rmtree(raw)
    campaign = Campaign([design], tmp_path / "runs", tmp_path / "results", root=root, **options)
    campaign.run(minutes=5)
    (state,) = campaign.states()
    assert (state.done, state.failed, dict(state.errors)) == (2, 0, {})


def test_files_of_a_users_own_come_along(tmp_path):
    raw, root = tmp_path / "corpora", tmp_path / "prepared"
    (raw / "roles").mkdir(parents=True)
    row = (
        '{"words": ["Dogs", "bark"], "labels": ["ARG0", "O"], "head": [2, 0], "deprel": ["nsubj", "root"]}\n'
    )
    for name in ("train", "val", "test"):
        (raw / "roles" / f"{name}.jsonl").write_text(row * 4)
    files = {name: f"roles/{name}.jsonl" for name in ("train", "val")}
    tables = [{"name": "a", "files": {"test": "roles/test.jsonl"}}]
    values = {
        **DESIGN,
        "task": "labels",
        "metric": "test_f1",
        "rows": ["dt"],
        "files": files,
        "tables": tables,
    }
    options = {"say": lambda text: None, "settings": {"accelerator": "cpu"}}
    design = Design.of("d", values)
    prepare(Campaign([design], "no", "no", raw_from=raw, root=root, **options))
    shutil.rmtree(raw)
    campaign = Campaign([design], tmp_path / "runs", tmp_path / "results", root=root, **options)
    campaign.run(minutes=5)
    (state,) = campaign.states()
    assert (state.done, state.failed, dict(state.errors)) == (1, 0, {})


def test_errors(tmp_path):
    design = Design.of("d", DESIGN)
    with pytest.raises(ValueError, match="from 'raw_from' to 'root': give it both"):
        prepare(Campaign([design], "no", "no", raw_from=tmp_path))
    with pytest.raises(FileNotFoundError, match="design d: raw_from '.*' is not there"):
        prepare(Campaign([design], "no", "no", raw_from=tmp_path, root=tmp_path / "prepared"))


def test_a_copy_that_is_cut_is_not_run_on(tmp_path):
    raw, root = tmp_path / "corpora", tmp_path / "prepared"
    shutil.copytree(MINI / "agreement" / "raw", raw / "raw")
    values = {**DESIGN, "rows": ["dt"], "files": {"raw_from": "raw"}}
    design, options = Design.of("d", values), {"say": lambda text: None, "settings": {"accelerator": "cpu"}}
    prepare(Campaign([design], "no", "no", raw_from=raw, root=root, **options), say=lambda text: None)
    campaign = Campaign([design], tmp_path / "runs", tmp_path / "results", root=root, **options)
    file = max(root.rglob("*.pt"), key=lambda path: path.stat().st_size)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=f"{file.name} is missing or cut \\(1 of "):
        campaign.run(minutes=1)
    file.unlink()
    with pytest.raises(ValueError, match=f"{file.name} is missing or cut"):
        campaign.run(minutes=1)
    raw.rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError):  # it ends before its end
        prepare(Campaign([design], "no", "no", raw_from=raw, root=root, **options), say=lambda text: None)
    with pytest.raises(ValueError, match=r"has no prepared\.json"):
        campaign.run(minutes=1)
    (root / "prepared.json").write_text("[1]")
    with pytest.raises(ValueError, match=r"prepared\.json: damaged"):
        campaign.run(minutes=1)
