from __future__ import annotations

import pytest


def test_a_picture_a_sentence(run, tmp_path):
    done = run("draw", "it rains", "--parser", "chain", "--edges", "dra,transformer")
    assert done.exit_code == 0, done.stderr
    picture = (tmp_path / "tree.svg").read_text()
    assert "rains</text>" in picture
    assert "dra: " in picture
    assert "2 words -> tree.svg" in done.stderr
    (tmp_path / "texts.txt").write_text("it rains\nthe sun shines\n")
    run("draw", "texts.txt", "--parser", "chain", "--output", "new/a.png")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["a-1.png", "a-2.png"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["it rains", "--output", "a.gif"], "'output' must end in .svg, .png or .pdf (got 'a.gif')"),
        (["none.txt"], "no file 'none.txt'"),
        (["it rains", "--parser", "chain", "--edges", "drat"], "drat"),
    ],
)
def test_errors(run, arguments, message):
    done = run("draw", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
