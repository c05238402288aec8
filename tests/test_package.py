"""The source distribution and the wheel: what is in them, and that they work where the repository is not."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from functools import partial
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info")
BUILD = (
    "import sys, setuptools.build_meta as build; print(getattr(build, 'build_' + sys.argv[1])(sys.argv[2]))"
)
MEBIBYTE = 2**20


def built(kind: str, source: Path, target: Path) -> Path:
    command = [sys.executable, "-W", "ignore", "-c", BUILD, kind, str(target)]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True)
    return target / run.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    source = tmp_path_factory.mktemp("source")
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    tops = {name.partition("/")[0] for name in files.stdout.splitlines()}
    for name in tops - {"datasets", "docs", "examples"}:
        copy = partial(shutil.copytree, ignore=LEFT_OUT) if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    return built("sdist", source, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory) -> Path:
    """Built from the source distribution, as an installer does it."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    return built("wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A new environment with the wheel by pip; what it depends on is that of these tests, as nothing can be
    fetched here.
    """
    target = tmp_path_factory.mktemp("installed")
    venv.create(target, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(target / "bin" / "python"), "install"]
    subprocess.run([*pip, "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    (packages,) = target.glob("lib/python*/site-packages")
    # Paths alone: what these folders would import by themselves, such as this repository, they do not here.
    others = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")]
    (packages / "dependencies.pth").write_text("\n".join(dict.fromkeys(others)) + "\n")
    return target


def run(installed: Path, *command: str) -> str:
    """Runs a command of the environment where the only graphdep is the installed one."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program = str(installed / "bin" / command[0])
    done = subprocess.run(
        [program, *command[1:]],
        cwd=installed,
        env=env | {"PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = ROOT / "graphdep"
    files = [*package.rglob("*.py"), package / "py.typed"]
    for folder in ("parsing/bundled", "visualization/page"):
        files += [path for path in (package / folder).iterdir() if path.is_file()]
    assert names == {path.relative_to(ROOT).as_posix() for path in files}
    assert wheel.stat().st_size < 30 * MEBIBYTE


def test_the_source_distribution_has_what_the_wheel_needs_and_no_data(sdist):
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {"pyproject.toml", "setup.py", "LICENSE", "README.md", "graphdep/py.typed"} <= {*names}
    read = "CHANGELOG.md CITATION.cff LICENSE README.md SECURITY.md"
    tops = f"{read} MANIFEST.in PKG-INFO graphdep graphdep.egg-info pyproject.toml setup.cfg setup.py"
    assert {name.partition("/")[0] for name in names} == {"", *tops.split()}
    assert sdist.stat().st_size < 25 * MEBIBYTE


def test_the_metadata_say_where_it_runs_and_under_which_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        said = email.message_from_bytes(archive.read(name))
        licences = [name for name in archive.namelist() if ".dist-info/licenses/" in name]
    assert said["Requires-Python"] == ">=3.11"
    assert said["License-Expression"] == "MIT AND CC-BY-SA-4.0 AND PDDL-1.0"
    assert len(licences) == len(said.get_all("License-File")) == 3
    assert {url.partition(",")[0] for url in said.get_all("Project-URL")} >= {
        "Documentation",
        "Source",
        "Changelog",
    }
    pythons = [one.rpartition(" ")[2] for one in said.get_all("Classifier") if ":: 3." in one]
    assert pythons == ["3.11", "3.12", "3.13"]


def test_what_is_installed_parses_and_answers(installed):
    assert run(installed, "graphdep", "--version").strip()
    parse = (
        "import graphdep, graphdep.parsing as parsing; print(graphdep.__file__);"
        "print(parsing.resolve_parser('bundled').parse(['She sings.'])[0][0].deprel)"
    )
    where, deprel = run(installed, "python", "-c", parse).splitlines()[-2:]
    assert Path(where).is_relative_to(installed / "lib")
    assert "root" in deprel
