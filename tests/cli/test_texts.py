from __future__ import annotations

import io
import os
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.cli import common as module
from graphdep.cli.common import read_texts, stream_texts


def slow(content: str) -> list[str]:
    """What the whole file gives at once."""
    whole = content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return [line.strip() for line in whole.split("\n") if line.strip()]


@given(st.text("ab ä犬🐕\ufeff\r\n\x0b\x85", max_size=40), st.integers(1, 9))
def test_a_file_block_by_block_gives_what_the_whole_gives(tmp_path_factory, content, block):
    path = tmp_path_factory.getbasetemp() / "texts.txt"
    path.write_bytes(content.encode("utf-8"))
    before, module._BLOCK = module._BLOCK, block
    try:
        if slow(content):
            stream, total = stream_texts(str(path))
            assert list(stream) == slow(content)
            assert total == len(slow(content))
        else:
            with pytest.raises(ValueError, match="there is no text to parse"):
                stream_texts(str(path))
    finally:
        module._BLOCK = before


@given(st.binary(max_size=12), st.integers(1, 9))
def test_where_a_file_is_not_utf8(tmp_path_factory, content, block):
    path = tmp_path_factory.getbasetemp() / "texts.txt"
    path.write_bytes(content + b"a\xff")
    with pytest.raises(UnicodeDecodeError) as wanted:
        (content + b"a\xff").decode("utf-8")
    before, module._BLOCK = module._BLOCK, block
    try:
        with pytest.raises(ValueError, match=f"not UTF-8 at byte {wanted.value.start}$"):
            read_texts(str(path))
    finally:
        module._BLOCK = before


def test_a_large_file_is_not_held(tmp_path, monkeypatch):
    """As many blocks are read as are needed for the texts that were taken."""
    path = tmp_path / "texts.txt"
    path.write_text("a text\n" * 1_000, encoding="utf-8")
    monkeypatch.setattr(module, "_BLOCK", 70)
    stream, total = stream_texts(str(path))
    assert total == 1_000
    blocks = []
    decoded = module._decoded

    def counted(file, name):
        for piece in decoded(file, name):
            blocks.append(piece)
            yield piece

    monkeypatch.setattr(module, "_decoded", counted)
    stream = stream_texts(str(path))[0]
    blocks.clear()
    assert [next(stream) for _ in range(25)] == ["a text"] * 25
    assert len(blocks) == 3


def test_stdin_and_a_pipe_are_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n\n b \n"))
    stream, total = stream_texts("-")
    assert (list(stream), total) == (["a", "b"], None)
    monkeypatch.setattr(sys, "stdin", io.StringIO(" \n"))
    with pytest.raises(ValueError, match="there is no text to parse in '-'"):
        read_texts("-")
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("a dog\n",))
    writer.start()
    stream, total = stream_texts(str(tmp_path / "pipe"))
    assert (list(stream), total) == (["a dog"], None)
    writer.join()


def test_a_text_itself():
    stream, total = stream_texts(" a   dog\nbarks ")
    assert (list(stream), total) == (["a dog barks"], 1)
