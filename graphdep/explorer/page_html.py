"""The page as one file: drawings, data, style and script, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from html import escape
from importlib.resources import files

from graphdep.drawing import Row, row_scenes
from graphdep.explorer.page_data import PageData

# What HTML or JavaScript could take for markup or for the end of a line inside a script.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_OPEN = 260  # words that are shown unfolded


def page_html(page: PageData, rows: Sequence[Sequence[Row]]) -> str:
    """The page.

    Args:
        page: What it holds.
        rows: The rows of each side, and of the difference between two.
    """
    script, style = _asset("explorer.js"), _asset("explorer.css")
    policy = f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
    policy += "img-src data:; base-uri 'none'; form-action 'none'"
    data = json.dumps(asdict(page), ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)
    parts = {
        "POLICY": policy,
        "TITLE": escape(_clean(page.title)),
        "ABOUT": escape(_clean(page.about)),
        "DIRECTION": "rtl" if page.rtl else "ltr",
        "STYLE": style,
        "DRAWINGS": "".join(_drawings(number, some) for number, some in enumerate(rows)),
        "DATA": _clean(data),
        "SCRIPT": script,
    }
    # One pass over the template: what stands in a title is not looked at again.
    pieces = _asset("explorer.html").split("%%")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _drawings(side: int, rows: Sequence[Row]) -> str:
    """The rows of one side; of several utterances each can be folded."""
    shown, blocks = 0, []
    for number, row in enumerate(rows):
        tree, *lanes = row_scenes(row)
        parts = [f'<div class="tree">{tree.svg()}</div>']
        parts += [
            f'<div class="lane" data-lane="{place}" data-colour="{own.colour % 6}" '
            f'data-name="{escape(_clean(own.name))}">{lane.svg()}</div>'
            for place, (own, lane) in enumerate(zip(row.lanes, lanes))
        ]
        body = f'<div class="scroll" tabindex="-1">{"".join(parts)}</div>'
        if len(rows) > 1:
            start = " open" if shown < _OPEN else ""
            words = [word for place, word in enumerate(row.words) if place not in row.special]
            text = escape(_clean(" ".join(words)))
            head = f'<summary><b>{number + 1}</b> <span dir="auto">{text}</span></summary>'
            body = f'<details class="turn" data-turn="{number}"{start}>{head}{body}</details>'
        shown += row.num_words
        blocks.append(body)
    hidden = "" if side == 0 else " hidden"
    return f'<div class="drawing" data-side="{side}"{hidden}>{"".join(blocks)}</div>'


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return files("graphdep.explorer").joinpath("page", name).read_text(encoding="utf-8")


def _clean(text: str) -> str:
    # Half a character of UTF-16 is none of UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8")
