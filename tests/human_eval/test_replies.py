from __future__ import annotations

import pytest

from graphdep.human_eval.replies import read_replies


def line(context='["a"]', response='"b"'):
    return f'{{"context": {context}, "response": {response}}}'


def test_what_else_a_line_has_is_not_looked_at(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('﻿{"context": ["a", ""], "response": "", "responses": [1]}\r\n', encoding="utf-8")
    ((context, response),) = read_replies({"A": path})["A"]
    assert (context, response) == (["a", ""], "")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        (
            '{"context": ["a"], "response": "b", "response": "c"}',
            r"no JSON: the key 'response' is there 2 times",
        ),
        ('{"context": ["a"], "response": "b", "x": {"y": 1, "y": 1}}', r"no JSON: the key 'y' is there 2"),
        ("[]", r"no object with 'context' and 'response' \(got \[\]\)"),
        ('{"context": ["a"]}', "no object with 'context' and 'response'"),
        (line(context='"a"'), r"'context' must be a list of at least one string \(got 'a'\)"),
        (line(context="[]"), r"'context' must be a list of at least one string \(got \[\]\)"),
        (line(context='["a", 1]'), "'context' must be a list of at least one string"),
        (line(response="null"), r"'response' must be a string"),
        (line(response='"\\ud83d"'), "half a character"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, bad, message):
    path = tmp_path / "a.jsonl"
    path.write_text(f"{line()}\n{bad}\n{line()}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"a\.jsonl:2: {message}"):
        read_replies({"A": path})


def test_files_that_hold_nothing_or_bytes(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    with pytest.raises(ValueError, match=r"a\.jsonl:1: the file is empty"):
        read_replies({"A": tmp_path / "a.jsonl"})
    (tmp_path / "a.jsonl").write_bytes(line().encode() + b"\n\xff")
    with pytest.raises(ValueError, match=r"a\.jsonl:2: not UTF-8 at byte 0"):
        read_replies({"A": tmp_path / "a.jsonl"})


def test_contexts_must_be_the_same_in_the_same_order(tmp_path):
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    other = line(context='["c"]')
    a.write_text(f"{line()}\n{other}\n", encoding="utf-8")
    b.write_text(f"{line()}\n{line()}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"b\.jsonl:2: another context than in .*a\.jsonl \(got \['a'\]\)"):
        read_replies({"A": a, "B": b})
    b.write_text(f"{line()}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"b\.jsonl:2: 1 responses, but .*a\.jsonl has 2"):
        read_replies({"A": a, "B": b})
    with pytest.raises(ValueError, match=r"a\.jsonl:2: 2 responses, but .*b\.jsonl has 1"):
        read_replies({"B": b, "A": a})


@pytest.mark.parametrize("systems", [{}, {" ": "a.jsonl"}])
def test_systems_must_have_names(systems):
    with pytest.raises(ValueError, match="'systems' must be files by the names of their systems"):
        read_replies(systems)
