"""Long work says how far it is where somebody has asked for it."""

from __future__ import annotations

from graphdep.io import progress
from graphdep.io.progress import showing_progress, with_progress


def test_a_line_after_two_seconds_and_every_ten_then(monkeypatch):
    now, lines = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def work(seconds: float, parts: int) -> list[str]:
        lines.clear()
        for _ in with_progress(range(parts), "reading"):
            now[0] += seconds
        return lines

    assert work(10, 8) == []
    with showing_progress(lines.append):
        assert work(0.2, 10) == []
        assert work(1, 20) == ["reading: 15%", "reading: 70%"]
        assert [*with_progress("ab", "reading")] == ["a", "b"]
    assert work(10, 8) == []
