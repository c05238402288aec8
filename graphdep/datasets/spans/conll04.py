"""CoNLL04: relations between the entities of news sentences."""

from __future__ import annotations

import json
import logging
import math
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.draw import Draw
from graphdep.datasets.base.drawn_val import DrawnVal
from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.spans.label_names import NONE
from graphdep.datasets.spans.span_dataset import SpanDataset
from graphdep.datasets.spans.span_example import SpanExample, wrong_spans
from graphdep.io.files import has_half_character, unique_keys
from graphdep.io.limits import MAX_WORDS, shown
from graphdep.parsing import Parser

logger = logging.getLogger("graphdep.datasets")

MAX_ENTITIES = 256
"""Of a sentence; each of them makes a pair with each other one."""
FILES = {"train": "conll04_train.json", "val": "conll04_dev.json", "test": "conll04_test.json"}


class CoNLL04(SpanDataset):
    r"""Pairs of entities and their relation, from `"A Linear Programming Formulation for Global Inference in
    Natural Language Tasks" <https://aclanthology.org/W04-2401/>`_ in the layout of JSON in which it is passed
    on today, or any corpus in that layout.

    A file is a list of objects ``{"tokens": [...], "entities": [{"type", "start", "end"}, ...], "relations":
    [{"type", "head", "tail"}, ...]}``; the end of an entity is not included, and a relation leads from entity
    number ``head`` to entity number ``tail``, from 0. An example is an ordered pair of entities of a
    sentence, the first one marked 1; the label is its relation, or ``"none"``, of which there are many more.

    Args:
        root: Folder of the corpus. (default: ``"datasets/conll04"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        negatives: How many pairs without relation the training split has for each pair with one, at most;
            they are drawn. :obj:`None` for all. The other splits have all of them. (default: :obj:`None`)
        val_fraction: The share of the training sentences that is drawn for validation where there is no
            ``conll04_dev.json``. (default: :obj:`0.1`)
        seed: Of the draws. (default: :obj:`0`)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.spans.span_dataset.SpanDataset`, with two spans

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong or a file is damaged: an entity outside of the sentence, a relation
            of an entity that is none, or of one with itself; the message has file, sentence and value.

    Example:
        >>> from graphdep.datasets import CoNLL04
        >>> dataset = CoNLL04("datasets/conll04", negatives=1, parser="chain")
        >>> dataset.labels, dataset[0].mark
        (('Kill', 'Live_In', 'none'), tensor([0, 1, 0, 2, 0]))
    """

    corpus = "CoNLL04"
    published = "https://github.com/lavis-nlp/spert (its script fetches conll04_train.json and others)"
    own_trees = False

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/conll04",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        negatives: float | None = None,
        val_fraction: float = 0.1,
        seed: int = 0,
        **options: Unpack[WordOptions],
    ) -> None:
        if negatives is not None and not (negatives >= 0 and math.isfinite(negatives)):
            raise ValueError(f"'negatives' must be a number of at least 0 (got {negatives})")
        self.negatives, self.drawn_val = negatives, DrawnVal(val_fraction, seed)
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        names = (FILES[split], FILES["train"]) if split == "val" else (FILES[split],)
        return [folder / name for name in names if (folder / name).is_file()][:1]

    def raw_file_pattern(self, split: str) -> str:
        return FILES[split]

    def options(self) -> dict[str, Any]:
        # Where the dev file is, no sentence is drawn, but pairs may be.
        return super().options() | {"negatives": self.negatives, "val": self.drawn_val}

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        path = self.raw_files(folder, split)[0]
        pairs, notes = read_conll04(path)
        if split != "test" and not (folder / FILES["val"]).is_file() and pairs:
            pairs, drawn = self.drawn_val.part(pairs, split)
            notes.append(drawn)
        if split == "train" and self.negatives is not None:
            pairs, drawn = self._draw_negatives(pairs, self.negatives)
            notes.append(drawn)
        self.said[split] = "; ".join(notes)
        return pairs

    def classes(self, train: Sequence[SpanExample]) -> tuple[str, ...]:
        # Other splits have pairs without relation also where none is drawn to train on.
        return tuple(sorted({NONE, *super().classes(train)}))

    def _draw_negatives(self, pairs: list[SpanExample], share: float) -> tuple[list[SpanExample], str]:
        without = [number for number, pair in enumerate(pairs) if pair.label == NONE]
        most = int(min((len(pairs) - len(without)) * share, len(without)))
        drawn = set(Draw(random.Random(self.drawn_val.seed)).shuffled(without)[:most])
        kept = [pair for number, pair in enumerate(pairs) if pair.label != NONE or number in drawn]
        return (
            kept,
            f"{len(drawn)} of {len(without)} pairs without relation, drawn with seed {self.drawn_val.seed}",
        )


def read_conll04(path: Path) -> tuple[list[SpanExample], list[str]]:
    """The ordered pairs of entities of a file, and what there is to say of it.

    Of several relations between the same two entities in the same direction the first is the label; the
    others are counted.

    Raises:
        ValueError: If the file is none of that layout, with file, sentence and value.
    """
    pairs: list[SpanExample] = []
    without = further = 0
    for place, sentence in _sentences(path):
        tokens = _tokens(place, sentence)
        entities = [
            _entity(place, number, one, len(tokens))
            for number, one in enumerate(_listed_entities(place, sentence))
        ]
        relations, more = _relations(place, sentence, len(entities))
        further += more
        without += len(entities) < 2
        for head, first in enumerate(entities):
            for tail, second in enumerate(entities):
                if head != tail:
                    label = relations.get((head, tail), NONE)
                    pairs.append(SpanExample(tokens, [first, second], label, place=place))
    if further:
        logger.warning("%s: %d further relations of the same entities are left out", path, further)
    notes = [
        *([f"{without} sentences with fewer than two entities have no example"] if without else []),
        *([f"{further} further relations of the same entities are left out"] if further else []),
    ]
    return pairs, notes


def _sentences(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of the list, each with its place."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON in UTF-8: {error}") from None
    if not isinstance(content, list) or not content:
        raise ValueError(f"{path}: no list of sentences (got {shown(content)})")
    for number, sentence in enumerate(content, 1):
        place = f"{path}: sentence {number}"
        if not isinstance(sentence, dict):
            raise ValueError(f"{place}: no object (got {shown(sentence)})")
        yield place, sentence


def _tokens(place: str, sentence: dict[str, Any]) -> list[str]:
    tokens = _list(place, sentence, "tokens")
    if len(tokens) > MAX_WORDS:
        raise ValueError(f"{place}: more than {MAX_WORDS} words (got {len(tokens)})")
    for token in tokens:
        if not isinstance(token, str) or not token.strip() or has_half_character(token):
            raise ValueError(f"{place}: 'tokens' has what is no word (got {shown(token)})")
    return tokens


def _list(place: str, sentence: dict[str, Any], key: str) -> list[Any]:
    found = sentence.get(key)
    if not isinstance(found, list):
        raise ValueError(f"{place}: {key!r} must be a list (got {shown(found)})")
    return found


def _listed_entities(place: str, sentence: dict[str, Any]) -> list[Any]:
    entities = _list(place, sentence, "entities")
    if len(entities) > MAX_ENTITIES:
        raise ValueError(f"{place}: more than {MAX_ENTITIES} entities (got {len(entities)})")
    return entities


def _entity(place: str, number: int, entity: Any, size: int) -> tuple[int, int]:
    ends = [_field(f"{place}: entity {number}", entity, key, int) for key in ("start", "end")]
    if wrong := wrong_spans([ends], size, "words"):
        raise ValueError(f"{place}: entity {number}: {wrong}")
    return ends[0], ends[1]


def _relations(place: str, sentence: dict[str, Any], size: int) -> tuple[dict[tuple[int, int], str], int]:
    """The relation of each ordered pair, and how many there are beyond one."""
    found: dict[tuple[int, int], str] = {}
    listed = _list(place, sentence, "relations")
    for number, relation in enumerate(listed):
        own = f"{place}: relation {number}"
        kind, head, tail = (
            _field(own, relation, key, of) for key, of in (("type", str), ("head", int), ("tail", int))
        )
        for end in (head, tail):
            if not 0 <= end < size:
                raise ValueError(f"{own}: there is no entity {end}, only {size}")
        if head == tail:
            raise ValueError(f"{own}: entity {head} with itself")
        if not kind.strip() or kind == NONE:
            raise ValueError(f"{own}: no name of a relation (got {kind!r})")
        found.setdefault((head, tail), kind)
    return found, len(listed) - len(found)


def _field(place: str, item: Any, key: str, kind: type) -> Any:
    value = item.get(key) if isinstance(item, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        what = "whole number" if kind is int else "text"
        raise ValueError(f"{place}: {key!r} must be a {what} (got {shown(value)})")
    return value
