from __future__ import annotations

import warnings

import pytest

from graphdep import Sentence
from graphdep.visualization import plot_ablation, plot_tree


def test_notebooks_show_it():
    picture = plot_ablation({"dt": [0.5, 0.6]}, metric="accuracy")
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture._repr_svg_().lstrip().startswith("<?xml")


def test_words_of_a_script_without_a_font(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("graphdep.visualization.plots._families", lambda: ["DejaVu Sans"])
    picture = plot_tree(Sentence(["中国", "人民"], [2, 0], ["nmod", "root"]))
    picture.savefig(tmp_path / "tree.svg")
    assert "中国</text>" in (tmp_path / "tree.svg").read_text(encoding="utf-8")
    assert not caplog.text
    picture.savefig(tmp_path / "tree.png")
    assert caplog.text.count("no font of this machine has some characters") == 1


def test_other_warnings_come_through(tmp_path, monkeypatch):
    from graphdep.visualization import plots as picture

    def draw(self, *args, **kwargs):
        warnings.warn("something else", UserWarning, stacklevel=1)

    monkeypatch.setattr(picture.Figure, "savefig", draw)
    with pytest.warns(UserWarning, match="something else"):
        plot_ablation({"dt": [0.5]}, metric="accuracy").savefig(tmp_path / "a.png")
