"""Long work says how far it is."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from graphdep.io import progress
from graphdep.io.progress import Progress, showing_progress, with_progress


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    time = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: time[0])
    return time


def test_a_line_after_two_seconds_and_every_ten_then(now, capsys):
    def work(seconds: float, parts: int, **options: bool) -> str:
        for _ in with_progress(range(parts), "reading", **options):
            now[0] += seconds
        return capsys.readouterr().err

    assert work(0.2, 10) == ""
    assert work(1, 20) == "reading: 15%\nreading: 70%\n"
    assert work(1, 20, shown=False) == ""
    assert [*with_progress("ab", "reading")] == ["a", "b"]
    with showing_progress(Console(stderr=True), "[dt]"):
        assert work(1, 5) == "[dt]  reading: 60%\n"
    with showing_progress(Console(quiet=True)):
        assert work(10, 8) == ""


def test_a_terminal_shows_one_bar_that_of_the_innermost_work(now):
    shown = io.StringIO()
    with (
        showing_progress(Console(file=shown, force_terminal=True, width=80), "dt"),
        Progress("all", 9) as whole,
    ):
        assert Progress._latest is None
        now[0] += 3
        whole.advance()
        assert Progress._latest is whole
        with Progress("part", 4, at_once=True) as part:
            part.advance(2)
            assert Progress._latest is part
        now[0] += 20
        whole.advance()
        assert Progress._latest is whole
    assert Progress._latest is None
    assert all(text in shown.getvalue() for text in ("dt all", "1/9", "dt part", "2/4"))
