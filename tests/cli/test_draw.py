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


def test_a_page_of_all_sentences_and_of_what_differs(run, tmp_path):
    (tmp_path / "texts.txt").write_text("it rains\nthe sun shines\n")
    done = run("draw", "texts.txt", "--parser", "chain", "--edges", "dra,dt", "--output", "page.html")
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert page.count('class="turn"') == 2
    assert "5 words -> page.html" in done.stderr
    done = run(
        *("draw", "the sun shines", "--parser", "chain", "--edges", "dra"),
        *("--against", "random", "--output", "difference.svg"),
    )
    assert done.exit_code == 0, done.stderr
    assert "both: dra" in (tmp_path / "difference.svg").read_text()


def test_edges_that_read_phrases_are_drawn_with_them(run, tmp_path):
    done = run("draw", "The old dog chased a cat.", "--edges", "constituents")
    assert done.exit_code == 0, done.stderr
    assert ">VP</text>" in (tmp_path / "tree.svg").read_text()
    run("draw", "The old dog chased a cat.", "--constituents", "--output", "plain.svg")
    assert ">VP</text>" in (tmp_path / "plain.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["it rains", "--output", "a.gif"], "'output' must end in .html, .svg, .png or .pdf (got 'a.gif')"),
        (["none.txt"], "no file 'none.txt'"),
        (["it rains", "--parser", "chain", "--edges", "drat"], "drat"),
        (["it rains", "--parser", "chain", "--constituents"], "constituents"),
        (["it rains", "--against", "random"], "'against' compares the edges of --edges"),
    ],
)
def test_errors(run, arguments, message):
    done = run("draw", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
