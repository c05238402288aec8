"""All that a campaign needs, in one folder that can be carried to another machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from evidence.campaign import FILES, Campaign
from evidence.ledger import RunKey
from evidence.prepared_files import LIST, write_list
from graphdep.io import atomic_path
from graphdep.training.family import load_splits

_COPIED = ("encoder", "train", "val", "test")


def prepare(campaign: Campaign, *, say: Callable[[str], None] = print) -> int:
    """Parses and processes the corpora of a campaign's designs below its ``root``, one folder per task, and
    copies the other files that they name to ``root/files``: of word vectors the words of these corpora, a
    pretrained encoder and a user's own files whole. Last comes a list of the files, by which a campaign
    without ``raw_from`` knows that the folder is whole.

    Args:
        campaign: A campaign with ``raw_from`` and ``root``.
        say: Is told of each corpus. (default: :func:`print`)

    Returns:
        The size of the folder in bytes.

    Raises:
        ValueError: If the campaign has not both.
        OSError: If a file is not there.
    """
    if campaign.raw_from is None or campaign.root is None:
        raise ValueError("a campaign is prepared from 'raw_from' to 'root': give it both")
    root, seen = Path(campaign.root), set()
    words: dict[str, set[str]] = {}
    (root / LIST).unlink(missing_ok=True)  # until it is whole again
    for design in campaign.designs:
        for table in design.tables:
            for row in table.rows:
                config = campaign.config(design, table, RunKey(table.digest, row, "", 0), chosen=False)
                data = repr(sorted(config.data_settings().items()))
                if data not in seen:
                    seen.add(data)
                    say(" ".join(filter(None, [design.name, table.name, row])))
                    splits = load_splits(config)
                    if "vectors" in table.files:
                        words.setdefault(table.files["vectors"], set()).update(splits.vocab.words)
            for place in (table.files[name] for name in _COPIED if name in table.files):
                _copy(Path(campaign.raw_from, place), root / FILES / place)
    for name, known in words.items():
        _copy_vectors(Path(campaign.raw_from, name), root / FILES / name, known)
    return write_list(root)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _copy_vectors(source: Path, target: Path, words: set[str]) -> None:
    """The lines of a file in GloVe's format that are of these words, in any case of letters."""
    known = words | {word.lower() for word in words}
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        open(source, encoding="utf-8") as lines,
        atomic_path(target) as temporary,
        open(temporary, "w", encoding="utf-8", newline="") as file,
    ):
        file.writelines(line for line in lines if line.partition(" ")[0] in known)
