"""What the corpora of dialogues share: a context and the response to it, one example a response."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data import join_utterances, utterance_data
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.text_dataset import TextDataset
from graphdep.datasets.dialogues.dialogue_options import DialogueOptions
from graphdep.parsing import Parser
from graphdep.sentence import Sentence
from graphdep.sentence.sentence import check_roots, truncate
from graphdep.vocab import EOU_ID, UNK_ID, Vocab
from graphdep.vocab.pieces import PieceVocab

logger = logging.getLogger("graphdep.datasets")

# Between the words of a turn where they are stored; raw files have no such character.
_BETWEEN = "\x1f"


class Dialogue(NamedTuple):
    """One dialogue of a raw file: its turns, and what is odd about it."""

    turns: list[str]
    warning: str | None = None


@dataclass(frozen=True)
class Turns:
    """The turns of a dialogue up to the last that is needed, as they are in the raw file and as trees."""

    texts: list[str]
    trees: list[Sentence]


@dataclass(frozen=True, kw_only=True)
class Response(Example):
    """One example: the trees of a context, and the place of the response in its dialogue."""

    dialogue: Turns
    turn: int


class DialogueDataset(TextDataset):
    r"""Base of the corpora of dialogues: every turn but the first is the response to the turns before it.

    A turn is one tree, cut after :obj:`max_words` words (:func:`~graphdep.sentence.sentence.truncate`). The
    vocabulary is that of the training split, each of its turns counted once.

    A dialogue of one turn gives no example; :meth:`describe` counts them.

    For val and test, :attr:`train_overlap` says how many of the examples that were looked at occur in the
    training split: ``pairs`` of last turn and response, and ``responses`` alone, with their shares. Case and
    white space do not count. It is :obj:`None` for train, and where there is no training file.

    Args:
        root, split, parser: As in :class:`TextDataset`.
        max_turns, max_words, min_freq, roots, overlap, pieces, vocab, options: See :class:`DialogueOptions`.

    Shapes:
        - the node table of :func:`graphdep.to_data` with ROOT nodes; ``position`` counts through the example
        - ``target_ids``: :math:`(T)`, long, the words or pieces of the response and ``[EOU]``
        - ``dialogue``, ``turn``: :math:`(1)`, long, the number of the dialogue among those that are loaded,
          and of the response in it
    """

    shared_options = DialogueOptions
    train_overlap: dict[str, Any] | None
    warnings: list[str]
    one_turn_dialogues: int
    truncated_turns: int

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        max_turns: int = 4,
        max_words: int = 50,
        min_freq: int = 3,
        roots: str = "all",
        overlap: str = "keep",
        pieces: int | None = None,
        vocab: Vocab | None = None,
        **options: Any,
    ) -> None:
        if max_turns < 1:
            raise ValueError(f"'max_turns' must be at least 1 (got {max_turns})")
        if max_words < 1:
            raise ValueError(f"'max_words' must be at least 1 (got {max_words})")
        if overlap not in ("keep", "drop"):
            raise ValueError(f"'overlap' must be 'keep' or 'drop' (got {overlap!r})")
        if overlap == "drop" and split == "train":
            raise ValueError("overlap='drop' is for val and test: they overlap with the split 'train'")
        if pieces is not None and vocab is not None and not isinstance(vocab, PieceVocab):
            raise ValueError(f"'pieces' is {pieces}, but 'vocab' has words (got {vocab!r})")
        check_roots(roots)
        self.max_turns, self.max_words, self.roots = max_turns, max_words, roots
        self.overlap, self.pieces = overlap, pieces
        if overlap == "drop":
            self.train_is_for = "overlap='drop' compares with it"
        super().__init__(root, split, parser, min_freq=min_freq, vocab=vocab, **options)

    @abstractmethod
    def read(self, folder: Path, split: str) -> list[Dialogue]:
        """The dialogues of the raw files of a split, checked but not parsed."""

    def options(self) -> dict[str, Any]:
        return super().options() | {
            "max_turns": self.max_turns,
            "max_words": self.max_words,
            "overlap": self.overlap,
            "pieces": self.pieces,
            **({} if self.roots == "first" else {"roots": self.roots}),  # as files were named before
        }

    def context(self, number: int) -> list[list[str]]:
        """The words of each turn of an example's context, as they are in the nodes but with their case."""
        dialogue, turn = self._place(number)
        return [words.split(_BETWEEN) for words in self._words[dialogue][self._start(turn) : turn]]

    def response(self, number: int) -> list[str]:
        """The words of an example's response, as in ``target_ids`` but with their case."""
        dialogue, turn = self._place(number)
        return self._words[dialogue][turn].split(_BETWEEN)

    def raw_context(self, number: int) -> list[str]:
        """The turns of an example's context as they are in the raw file."""
        dialogue, turn = self._place(number)
        return self._texts[dialogue][self._start(turn) : turn]

    def raw_response(self, number: int) -> str:
        """An example's response as it is in the raw file."""
        dialogue, turn = self._place(number)
        return self._texts[dialogue][turn]

    def describe(self) -> dict[str, Any]:
        """As :meth:`ParsedDataset.describe`, and what is special to dialogues.

        ``unknown_words`` is the share of ``[UNK]`` among the words or pieces of the responses, ``[EOU]``
        aside, since perplexity depends on it; an ``[EOU]`` a response is in ``target_tokens``.
        """
        if self._indices is not None:
            return self.copy().describe()
        return super().describe() | {
            "dialogues": int(self._data.dialogue.unique().numel()),
            "target_tokens": self._data.target_ids.numel(),
        }

    def _unknown_words(self) -> float:
        ids = self._data.target_ids
        return int((ids == UNK_ID).sum()) / (ids.numel() - self.len())

    def _describe_loading(self) -> dict[str, Any]:
        shares = self.train_overlap or {}
        return super()._describe_loading() | {
            "truncated_turns": self.truncated_turns,
            "one_turn_dialogues": self.one_turn_dialogues,
            "label_mismatches": len(self.warnings),
            "overlap_pairs": shares.get("pair_share"),
            "overlap_responses": shares.get("response_share"),
        }

    def examples(self, split: str, limit: int | None) -> list[Example]:
        drop = self.overlap == "drop" and split != "train"
        dialogues = self.read(Path(self.raw_dir), split)
        chosen = _Chosen(dialogues, limit, self._train_turns(split), drop)
        texts = [text for texts, _ in chosen.dialogues for text in texts]
        trees = iter(self.trees_of_texts(texts, self.roots))
        if split == self.split:
            self.train_overlap = chosen.overlap()
            self.warnings, self.one_turn_dialogues = chosen.warnings, chosen.one_turn
        examples: list[Example] = []
        for texts, responses in chosen.dialogues:
            dialogue = Turns(texts, [next(trees) for _ in texts])
            examples += [
                Response(dialogue.trees[self._start(turn) : turn], dialogue=dialogue, turn=turn)
                for turn in responses
            ]
        return examples

    def make_vocab(self, examples: list[Example]) -> Vocab:
        turns = (self._cut(tree).form for dialogue in _dialogues(examples) for tree in dialogue.trees)
        if self.pieces is None:
            return Vocab.build(turns, min_freq=self.min_freq, lower=self.lower)
        return PieceVocab.train(turns, self.pieces, min_freq=self.min_freq, lower=self.lower)

    def make_data(self, examples: list[Example], vocab: Vocab) -> Iterator[Data]:
        for number, (dialogue, responses) in enumerate(_by_dialogue(examples)):
            # Turns are in several contexts: each is made once.
            trees = [self._cut(tree) for tree in dialogue.trees]
            utterances = [
                utterance_data(tree, vocab, self.relations, **self.to_data_options) for tree in trees
            ]
            targets = [_target(tree.form, vocab) for tree in trees]
            for response in responses:
                data = join_utterances(utterances[self._start(response.turn) : response.turn])
                data.target_ids = targets[response.turn]
                data.dialogue = torch.tensor([number])
                data.turn = torch.tensor([response.turn])
                yield data

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        dialogues = _dialogues(examples)
        return {
            "texts": [dialogue.texts for dialogue in dialogues],
            "words": [[_BETWEEN.join(self._cut(tree).form) for tree in d.trees] for d in dialogues],
            "truncated_turns": sum(len(tree) > self.max_words for d in dialogues for tree in d.trees),
            "one_turn_dialogues": self.one_turn_dialogues,
            "warnings": self.warnings,
            "overlap": self.train_overlap,
        }

    def restore(self, notes: dict[str, Any]) -> None:
        self._texts: list[list[str]] = notes["texts"]
        self._words: list[list[str]] = notes["words"]
        self.truncated_turns = notes["truncated_turns"]
        self.one_turn_dialogues = notes["one_turn_dialogues"]
        self.warnings = notes["warnings"]
        self.train_overlap = notes["overlap"]
        for warning in self.warnings:
            logger.warning("%s (%s): %s", self.corpus, self.split, warning)

    def _needed(self) -> list[str]:
        # The training split is read for the overlap: where it must be, and where it can be.
        train = self.overlap == "drop" or self.raw_files(Path(self.raw_dir), "train")
        return sorted({*super()._needed(), *(["train"] if train else [])})

    def _train_turns(self, split: str) -> list[list[str]] | None:
        folder = Path(self.raw_dir)
        if split == "train" or not self.raw_files(folder, "train"):
            return None
        return [dialogue.turns for dialogue in self.read(folder, "train")]

    def _place(self, number: int) -> tuple[int, int]:
        """The dialogue and the turn of an example, also of a slice."""
        index = self.indices()[number]
        return int(self._data.dialogue[index]), int(self._data.turn[index])

    def _start(self, turn: int) -> int:
        return max(0, turn - self.max_turns)

    def _cut(self, tree: Sentence) -> Sentence:
        return truncate(tree, self.max_words)


class _Chosen:
    """The responses to make examples of: of all dialogues, or of the first ones until there are enough.

    ``dialogues`` has the turns of each, up to the last that is needed, and the numbers of its responses.
    """

    def __init__(
        self, dialogues: list[Dialogue], limit: int | None, train: list[list[str]] | None, drop: bool
    ) -> None:
        self.dialogues: list[tuple[list[str], list[int]]] = []
        self.warnings: list[str] = []
        self.one_turn = self.seen = self.known_pairs = self.known_responses = 0
        self.known = None if train is None else _Known(train)
        left = sum(len(dialogue.turns) for dialogue in dialogues) if limit is None else limit
        for turns, warning in dialogues:
            if left == 0:
                break
            self.one_turn += len(turns) == 1
            self.warnings += [warning] if warning else []
            responses = []
            for turn in range(1, len(turns)):
                if left and not (self._is_known(turns[turn - 1 : turn + 1]) and drop):
                    responses.append(turn)
                    left -= 1
            if responses:
                self.dialogues.append((turns[: responses[-1] + 1], responses))

    def _is_known(self, pair: list[str]) -> bool:
        """Whether the training split has the pair; counts what was asked."""
        self.seen += 1
        if self.known is None:
            return False
        pair = [_normalised(text) for text in pair]
        self.known_responses += pair[1] in self.known.responses
        known = tuple(pair) in self.known.pairs
        self.known_pairs += known
        return known

    def overlap(self) -> dict[str, Any] | None:
        if self.known is None:
            return None
        seen = max(1, self.seen)  # an empty split is refused later
        return {
            "examples": self.seen,
            "pairs": self.known_pairs,
            "pair_share": self.known_pairs / seen,
            "responses": self.known_responses,
            "response_share": self.known_responses / seen,
        }


class _Known:
    """What the training split has: responses, and pairs of a turn and its response."""

    def __init__(self, dialogues: list[list[str]]) -> None:
        self.responses: set[str] = set()
        self.pairs: set[tuple[str, ...]] = set()
        for turns in dialogues:
            texts = [_normalised(text) for text in turns]
            self.responses.update(texts[1:])
            self.pairs.update(pairwise(texts))


def _normalised(text: str) -> str:
    """A text without case and white space, which differ between copies of one dialogue."""
    return "".join(text.casefold().split())


def _by_dialogue(examples: list[Example]) -> Iterator[tuple[Turns, list[Response]]]:
    """The examples of each dialogue, which follow one another."""
    for _, group in groupby(cast(list[Response], examples), key=lambda response: id(response.dialogue)):
        responses = list(group)
        yield responses[0].dialogue, responses


def _dialogues(examples: list[Example]) -> list[Turns]:
    return [dialogue for dialogue, _ in _by_dialogue(examples)]


def _target(words: Sequence[str], vocab: Vocab) -> Tensor:
    """The ids of a response and its end."""
    if isinstance(vocab, PieceVocab):
        ids = [piece for word in words for piece in vocab.encode(word)]
    else:
        ids = [vocab.id_of(word) for word in words]
    return torch.tensor([*ids, EOU_ID])
