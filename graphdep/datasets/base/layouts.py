"""The layout of a corpus that is published in several."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

Find = Callable[[Path], list[str]]


def choose_layout(
    layout: str | None,
    known: Sequence[str],
    raw_from: str | os.PathLike[str] | None,
    root: str | os.PathLike[str],
    *,
    to_copy: Find,
    copied: Find,
) -> str:
    """The layout to load: the given one, else that of the files to copy, else that of those that are there.

    Args:
        layout: The layout that was asked for.
        known: The corpus' layouts; the first is taken where there are no files at all.
        raw_from: Folder to copy from.
        root: Folder of the corpus.
        to_copy: Finds the layouts in a folder to copy from; of several the last counts.
        copied: Finds the layouts in the folder of raw files.

    Raises:
        ValueError: If :obj:`layout` is unknown or not in :obj:`raw_from`, or there are several below
            :obj:`root` and none is asked for.
    """
    if layout not in (*known, None):
        raise ValueError(f"'layout' must be one of {', '.join(known)} (got {layout!r})")
    source = None if raw_from is None else Path(raw_from).expanduser()
    found = [] if source is None else to_copy(source)
    if layout and found and layout not in found:
        raise ValueError(
            f"'layout' is {layout!r}, but the files in raw_from={str(source)!r} are {found[0]!r}"
        )
    if layout or found:
        return layout or found[-1]
    raw = Path(root, "raw").expanduser()
    here = copied(raw)
    if len(here) > 1:
        many = "both" if len(here) == 2 else "several"
        raise ValueError(
            f"{raw} has {many} layouts: say which with 'layout' (one of {', '.join(known)}), "
            "or keep the files of one"
        )
    return here[0] if here else known[0]
