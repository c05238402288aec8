from __future__ import annotations

import shutil
import subprocess

import pytest

from graphdep.parsing import BundledParser, ParserUnavailableError
from graphdep.parsing.bundled import BUNDLED
from graphdep.parsing.stanza import CHECKSUMS, check_checksums, write_checksums


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "a.pt", tmp_path / "b.pt"]
    for path in paths:
        path.write_bytes(path.name.encode())
    write_checksums(tmp_path, ["b.pt", "a.pt"])
    return paths


def test_the_list_is_that_of_sha256sum(files):
    check_checksums(files)
    done = subprocess.run(["sha256sum", "a.pt", "b.pt"], cwd=files[0].parent, capture_output=True, check=True)
    assert (files[0].parent / CHECKSUMS).read_bytes() == done.stdout


def test_a_changed_file_is_named(files):
    files[1].write_bytes(b"b.pT")
    with pytest.raises(ParserUnavailableError, match=r"b\.pt is not the file of which it .*SHA256SUMS"):
        check_checksums(files)


def test_a_file_that_is_not_in_the_list(files):
    write_checksums(files[0].parent, ["a.pt"])
    with pytest.raises(ParserUnavailableError, match=r"b\.pt has no line in it \(SHA256SUMS beside it\)"):
        check_checksums(files)


def test_a_line_that_is_none(files):
    (files[0].parent / CHECKSUMS).write_text("0" * 64 + "  a.pt\n<html>\n")
    with pytest.raises(ParserUnavailableError, match="SHA256SUMS:2: no digest and name of a file: '<html>'"):
        check_checksums(files)


def test_without_a_list_nothing_is_known(files):
    (files[0].parent / CHECKSUMS).unlink()
    files[1].write_bytes(b"other")
    check_checksums(files)


def test_the_files_of_the_package_are_listed(tmp_path):
    check_checksums(BUNDLED.glob("*.pt"))
    for path in [*BUNDLED.glob("*.pt"), BUNDLED / CHECKSUMS]:
        shutil.copy(path, tmp_path)
    with open(tmp_path / "en_ewt_parser.pt", "r+b") as file:
        file.seek(1_000_000)
        byte = file.read(1)
        file.seek(1_000_000)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ParserUnavailableError, match=r"en_ewt_parser\.pt is not the file"):
        BundledParser(tmp_path).parse(["She sings."])
