from __future__ import annotations

import os

from graphdep.parsing.stanza import files_digest


def test_the_digest_depends_on_the_content_alone(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"1")
    second.write_bytes(b"1")
    assert files_digest([first]) == files_digest([second])
    assert len(files_digest([first])) == 12
    before = files_digest([first])
    first.write_bytes(b"2")
    os.utime(first, (1, 1))
    assert files_digest([first]) != before
