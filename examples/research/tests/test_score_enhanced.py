"""The scores of enhanced graphs, on a treebank of two sentences made here."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "score_enhanced.py"
TREEBANK = """\
1\tdogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t2:nsubj|4:nsubj\t_
2\tsit\tsit\tVERB\tVBP\t_\t0\troot\t0:root\t_
3\tor\tor\tCCONJ\tCC\t_\t4\tcc\t4:cc\t_
4\trun\trun\tVERB\tVBP\t_\t2\tconj\t0:root|2:conj:or\t_

1\tcats\tcat\tNOUN\tNNS\t_\t2\tnsubj\t2:nsubj|2.1:nsubj\t_
2\teat\teat\tVERB\tVBP\t_\t0\troot\t0:root\t_
2.1\teat\teat\tVERB\tVBP\t_\t_\t_\t2:conj\tCopyOf=2

"""


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[list[str]]]:
    """Runs the script and gives the cells of the table that it prints."""

    def call(folder: Path, *options: str) -> list[list[str]]:
        monkeypatch.setattr(sys, "argv", ["score_enhanced.py", "--raw-from", str(folder), *options])
        runpy.run_path(str(SCRIPT), run_name="__main__")
        lines = capsys.readouterr().out.splitlines()
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    return call


def test_the_table(run, tmp_path):
    (tmp_path / "xx-ud-test.conllu").write_text(TREEBANK, encoding="utf-8")
    rows = run(tmp_path, "--split", "test", "--parser", "none")
    assert rows[0] == ["split", "trees", "graphs", "precision", "recall", "F1"]
    # Ten arcs in DEPS; of the six in HEAD all but `conj` are among them, and the rules find two more.
    assert rows[2] == ["test", "gold", "basic arcs", "83.33", "50.00", "62.50"]
    names = ["rules, enhanced", "rules, enhanced++"]
    if importlib.util.find_spec("pybart") is not None:
        names += ["pybart, enhanced", "pybart, enhanced++"]
    assert rows[3:] == [["test", "gold", name, "100.00", "70.00", "82.35"] for name in names]


def test_what_cannot_be_scored(run, tmp_path):
    with pytest.raises(SystemExit, match="no .-ud-dev.conllu in"):
        run(tmp_path)
    (tmp_path / "xx-ud-dev.conllu").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="xx-ud-dev.conllu has no column DEPS"):
        run(tmp_path)
