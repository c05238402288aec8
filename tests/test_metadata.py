"""What an installer reads of the package: the metadata of a wheel, built from this tree."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Not below these: older ones run code of a file (stanza), were not the developers' own (lightning), or write
# where an archive says (nltk). Of torch-scatter the one version that the tests were run with.
FLOORS = {
    "stanza": '>=1.15; extra == "parse"',
    "lightning": '>=2.6.6; extra == "train"',
    "nltk": '>=3.9.3; extra == "dialogue"',
    "torch-scatter": '==2.1.2; extra == "scatter"',
}


@pytest.fixture(scope="module")
def metadata(tmp_path_factory) -> Message:
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "graphdep", folder / "graphdep", ignore=shutil.ignore_patterns("*.pt", "*.pyc"))
    code = "from setuptools.build_meta import prepare_metadata_for_build_wheel as made; made('out')"
    (folder / "out").mkdir()
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
    (path,) = folder.glob("out/*.dist-info/METADATA")
    return Parser().parsestr(path.read_text(encoding="utf-8"))


def test_versions_with_known_holes_are_not_admitted(metadata):
    requirements = metadata.get_all("Requires-Dist")
    found = [re.fullmatch(r"([\w.-]+?)([=<>!~].*)?", requirement) for requirement in requirements]
    floors = {match[1]: match[2] for match in found if match and match[1] in FLOORS}
    assert floors == FLOORS


def test_the_enhancer_of_another_package_is_for_the_pythons_that_the_page_says(metadata):
    (needed,) = (one for one in metadata.get_all("Requires-Dist") if "pybart" in one and "enhanced" in one)
    assert re.search(r"python_version < .3\.12.", needed)
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert "| `enhanced` | enhanced graphs by pybart, Python 3.11 alone;" in page
    assert not re.search(r"Requires-Dist: .*pybart(?!.*extra ==)", str(metadata))  # the own rules need none


def test_the_description_leads_to_the_repository_and_is_the_readme_otherwise(metadata):
    """An index shows it without the files beside it, and the pictures too."""
    text = metadata.get_payload()
    links = re.findall(r"\]\(([^)\s]+)", text)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert len(links) >= 30
    assert [link for link in links if not link.startswith("https://")] == []
    source = "https://github.com/graphdep/graphdep"
    assert f"Source, {source}" in metadata.get_all("Project-URL")
    back = re.sub(rf"{source}/(raw|blob)/v[\d.]+/", "", text).replace('"graphdep[all]"', '".[all]"')
    assert back.strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    assert all(one.endswith(".png") == ("/raw/" in one) for one in links if one.startswith(source))


def test_the_addresses_agree_with_the_readme(metadata):
    urls = dict(one.split(", ") for one in metadata.get_all("Project-URL"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("Documentation", "Changelog", "Issues"):
        assert f"[{name}]({urls[name].rpartition('/blob/main/')[2]})" in readme
    assert f"git clone {urls['Source']}\n" in readme


def test_every_requirement_has_a_lowest_version(metadata):
    """Without one an installer may take the first version there was."""
    others = [one for one in metadata.get_all("Requires-Dist") if not one.startswith("graphdep[")]
    without = [one for one in others if not re.search(">=|==", one.split(";")[0])]
    assert without == []


def test_the_page_of_licences_has_all_that_is_required(metadata):
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    extras = "parse|train|dialogue|pretrained|bpe|parquet|networkx"
    wanted = [one for one in metadata.get_all("Requires-Dist") if re.search(f"^[^;]*$|== .({extras}).$", one)]
    names = {re.match(r"[\w-]+", one)[0] for one in wanted}
    assert len(names) >= 20
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_the_licence_is_that_of_all_that_a_wheel_carries(metadata):
    card = (ROOT / "graphdep/parsing/bundled/MODEL_CARD.md").read_text(encoding="utf-8")
    assert "CC BY-SA 4.0" in card
    assert "PDDL 1.0" in card
    assert metadata["License-Expression"] == "MIT AND CC-BY-SA-4.0 AND PDDL-1.0"
    files = metadata.get_all("License-File")
    assert {Path(file).name for file in files} == {"LICENSE", "MODEL_CARD.md", "CC-BY-SA-4.0.txt"}
