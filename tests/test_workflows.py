"""The workflows of the code host: they may do what they must, and call what is in this repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import graphdep

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps(text: str) -> list[dict]:
    return [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_rights_are_few_and_actions_have_a_version(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    rights = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    pages = {"pages": "write", "id-token": "write"}
    assert rights in ({}, {"release": {"contents": "write"}, "publish": pages})
    assert all(job["timeout-minutes"] for job in workflow["jobs"].values())
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in steps(text) if "uses" in step)


def test_a_tag_of_this_version_has_notes_and_no_other(tmp_path) -> None:
    (tmp_path / "graphdep").mkdir()
    for name in ("CHANGELOG.md", "graphdep/version.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    same, notes = [step["run"] for step in steps(release) if "name" in step]
    for tag, passes in ((f"v{graphdep.__version__}", True), ("v9.9.9", False)):
        for command in (same, notes):
            env = os.environ | {"GITHUB_REF_NAME": tag}
            done = subprocess.run(["bash", "-ec", command], cwd=tmp_path, env=env, check=False)
            assert (done.returncode == 0) == passes
        assert ("### Installation" in (tmp_path / "notes.md").read_text(encoding="utf-8")) == passes


def test_they_call_what_is_here() -> None:
    said = {
        file.stem: [step.get("run") for step in steps(file.read_text(encoding="utf-8"))] for file in FILES
    }
    assert ".ci/run" in said["test"]
    assert "make docs" in said["release"]
    assert "python -m twine check --strict dist/*" in said["release"]
    assert 'make -C examples/research campaigns SEED="$(date +%y%m%d)"' in said["campaigns"]
    assert (ROOT / ".ci" / "run").is_file()
    assert re.search(r"^docs:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
