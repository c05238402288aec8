"""Licences of the corpora, for the cards of models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

_NONE = "none is stated"
LICENCES: Mapping[str, str] = {
    "agreement": _NONE,
    "cogs": "MIT",
    "sick": "CC BY-NC-SA 3.0",
    "sst": _NONE,
    "mrpc": "non-commercial",
    "glue": "that of each corpus of GLUE",
    "dailydialog": "CC BY-NC-SA 4.0",
    "empatheticdialogues": "CC BY-NC 4.0",
    "ubuntu": _NONE,
    "ubuntu-irc": "CC BY 4.0",
    "douban": _NONE,
    "ecommerce": _NONE,
    "conll04": _NONE,
    "semeval2014-aspects": "on request",
    "semeval2010": "CC BY 3.0",
    "propbank-ewt": "CC BY-SA 4.0",
    "universal-propbank": "that of each language",
    "ud": "that of each treebank",
}
"""By the folder of a corpus. It is that of the corpus, as its card says."""


def licence_of(root: str) -> str | None:
    """The licence of the corpus that a task has in that folder; :obj:`None` where it is not known here, such
    as that of files of one's own.

    Example:
        >>> licence_of("datasets/sick")
        'CC BY-NC-SA 3.0'
    """
    return LICENCES.get(PurePosixPath(root).name)
