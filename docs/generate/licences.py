"""Writes into docs/licences.md the licences of what ``[all]`` installs, by the metadata of these packages.

    make licences

The tests do not ask for the same table, since other versions of a package may name their licence otherwise.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from . import markdown

# As metadata name a licence that have no SPDX expression.
SPDX = {
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "BSD",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
}
PAGE = Path(__file__).parents[1] / "licences.md"
CUDA = re.compile("nvidia-|cuda-|triton$")  # of builds of torch for a GPU


def page() -> str:
    """A row for each licence, copyleft ones last, in Markdown."""
    found = defaultdict(set)
    for package in _needed("graphdep", {"all"}, set()):
        found[_licence(package)].add(canonicalize_name(package.name))
    rows = sorted(found.items(), key=lambda row: ("GPL" in row[0], "MPL" in row[0], -len(row[1]), row[0]))
    return markdown.table(
        ("licence", "number", "packages"),
        ((licence, str(len(names)), markdown.code(*sorted(names))) for licence, names in rows),
    )


def _needed(name: str, extras: set[str], seen: set[tuple[str, str]]) -> Iterator[Distribution]:
    """The packages that a package needs, directly or not."""
    for text in distribution(name).requires or ():
        needed = Requirement(text)
        name = canonicalize_name(needed.name)
        wanted = [
            extra for extra in ("", *extras) if not needed.marker or needed.marker.evaluate({"extra": extra})
        ]
        new = {(name, extra) for extra in ("", *needed.extras)} - seen
        if wanted and new and not CUDA.match(name):
            seen |= new
            if name != "graphdep":
                yield distribution(name)
            yield from _needed(name, needed.extras, seen)


def _licence(package: Distribution) -> str:
    told = package.metadata
    if expression := told["License-Expression"]:
        return expression
    short = (told["License"] or "").strip()
    classified = [
        one.split(" :: ")[-1] for one in told.get_all("Classifier", []) if one.startswith("License ::")
    ]
    name = short if short and len(short) < 40 else classified[0]
    return SPDX.get(name.lower(), name)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        re.sub(r"^\| licence .*?\n(?!\|)", lambda _: page(), text, flags=re.M | re.S), encoding="utf-8"
    )
