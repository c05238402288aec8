"""A figure that notebooks show, with words of any script."""

from __future__ import annotations

import io
import logging
import warnings
from functools import cache
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.text import Text

logger = logging.getLogger("graphdep.visualization")

# Fonts that have what Matplotlib's own lacks, the first of a script that is installed.
_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei"),
    *("WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "SimHei", "Yu Gothic"),
    *("Malgun Gothic", "Droid Sans Fallback", "Arial Unicode MS", "Noto Sans Arabic", "Noto Sans Hebrew"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Segoe UI Symbol"),
)


class Picture(Figure):
    """A figure of Matplotlib's that is shown as the last line of a notebook's cell, without pyplot.

    Words are drawn with the fonts of this machine that have their characters. In ``.svg`` they stay texts,
    for which the viewer, such as a browser, finds fonts.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.visualization import plot_tree
        >>> picture = plot_tree(Sentence(["It", "rains"], [2, 0], ["expl", "root"]))
        >>> picture._repr_png_()[1:4], "rains</text>" in picture._repr_svg_()
        (b'PNG', True)
    """

    def draw(self, renderer: Any) -> None:
        """Draws it, with fonts for all scripts."""
        for text in self.findobj(Text):
            text.set_fontfamily(_families())
        super().draw(renderer)

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """Saves it; characters that no font has are told of once, not one by one."""
        with warnings.catch_warnings(record=True) as caught, matplotlib.rc_context({"svg.fonttype": "none"}):
            warnings.simplefilter("always")
            super().savefig(fname, **kwargs)
        missing = [warning for warning in caught if str(warning.message).startswith("Glyph ")]
        for warning in caught:
            if warning not in missing:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        kind = str(kwargs.get("format") or fname).rpartition(".")[2].lower()
        if missing and kind != "svg":
            logger.warning(
                "no font of this machine has some characters of the picture, which are boxes: an .svg file "
                "is shown with the fonts of its viewer"
            )

    def _repr_png_(self) -> bytes:
        return self._saved("png")

    def _repr_svg_(self) -> str:
        return self._saved("svg").decode()

    def _saved(self, kind: str) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format=kind, dpi=100)
        return file.getvalue()


@cache
def _families() -> list[str]:
    """Matplotlib's own font, and what is installed for the scripts that it lacks."""
    known = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _FONTS if name in known)]
