"""What a trained model says of the words of sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep import parsing
from graphdep.data import mark_words, trees_data
from graphdep.parsing import Parser
from graphdep.sentence import Sentence
from graphdep.tasks.labels.config import LabelConfig
from graphdep.tasks.labels.learning_task import LabelTask
from graphdep.training.build import backbone_of
from graphdep.training.checkpoint import RunState
from graphdep.training.estimator import (
    batches_by_size,
    check_batch_size,
    check_family,
    check_weights,
    resolve_device,
    tracked,
)
from graphdep.vocab import Tokens

# Sentences that are in memory at a time.
_CHUNK = 4096


class WordAnswer(NamedTuple):
    """What is said of a sentence.

    Args:
        labels: The label of each word; :obj:`None` for words that a pretrained encoder had no room for.
        probabilities: ``[words, classes]``, float64, of each word by itself, whatever chain has chosen the
            labels; zeros for words that were cut.
    """

    labels: list[str | None]
    probabilities: Tensor

    def padded(self, words: int) -> WordAnswer:
        """The answer for so many words, of which nothing is said of the last."""
        cut = words - len(self.labels)
        rest = self.probabilities.new_zeros(cut, self.probabilities.size(1))
        return WordAnswer([*self.labels, *[None] * cut], torch.cat([self.probabilities, rest]))


class WordPredictor:
    """The labels that a model of the family gives words, as it was trained: by its chain, with marks.

    :attr:`parsed` counts the sentences of the last call that had no tree, :attr:`parser_failures` those of
    them that have a chain for a tree, :attr:`cut_words` the words without a label.

    Args:
        task, state: As :func:`graphdep.training.load_task` gives them.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser.
        name: What the model is called in messages, such as its file.
        batch_size: Sentences a batch at most; fewer where they are long. (default: :obj:`64`)
        device: Where the model runs; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for it if there is some work to do. (default:
            :obj:`None`)

    Raises:
        ValueError: If the model is of another kind of task, its weights are not finite, or there is no such
            device.
    """

    def __init__(
        self,
        task: Any,
        state: RunState,
        parser: str | Parser,
        name: str,
        *,
        batch_size: int = 64,
        device: str | torch.device | None = None,
        progress: bool | None = None,
    ) -> None:
        check_batch_size(batch_size)
        check_family(name, state.config, "labels", "labels of words")
        check_weights(task, name)
        self.config, self.state, self.name = cast(LabelConfig, state.config), state, name
        self.batch_size, self.progress, self._given = batch_size, progress, parser
        self.device = resolve_device(device)
        self.task = cast(LabelTask, task).to(self.device).eval()
        self.tokens: Tokens | None = backbone_of(task.model).tokens if self.config.pretrained else None
        self.parsed = self.parser_failures = self.cut_words = 0

    @property
    def takes_marks(self) -> bool:
        """Whether the model has learned from marks."""
        return takes_marks(self.state)

    @property
    def needs_marks(self) -> bool:
        """Whether all sentences that it has learned from had a mark."""
        return needs_marks(self.state)

    @cached_property
    def parser(self) -> Parser:
        """The parser, once some sentence needs it."""
        return parsing.resolve_parser(
            self._given, arcs=self.config.arcs, constituents=self.config.reads_constituents
        )

    @property
    def labels(self) -> list[str]:
        """The classes by their numbers."""
        return [str(label) for label in self.state.labels or ()]

    def trees(self, sentences: Sequence[Sequence[str] | Sentence]) -> list[Sentence]:
        """The tree of each sentence: its own, or that of the parser for a list of words."""
        words = [sentence for sentence in sentences if not isinstance(sentence, Sentence)]
        self.parsed, self.parser_failures = len(words), 0
        parsed = iter(self._parse(words) if words else [])
        return [one if isinstance(one, Sentence) else next(parsed) for one in sentences]

    def answers(self, trees: Sequence[Sentence], marks: Sequence[int | None]) -> list[WordAnswer]:
        """What the model says of the words of each tree, as the marked word, from 0, sees them.

        Raises:
            ValueError: If an output is not finite.
        """
        self.cut_words = 0
        found: list[WordAnswer] = []
        starts = range(0, len(trees), _CHUNK)
        for start in tracked(starts, "predicting", self.progress, much=len(starts) > 1):
            found += self._chunk(trees[start : start + _CHUNK], marks[start : start + _CHUNK])
        self.cut_words = sum(label is None for answer in found for label in answer.labels)
        return found

    def _parse(self, words: Sequence[Sequence[str]]) -> list[Sentence]:
        before = self.parser.failures
        trees = self.parser.parse_words(words)
        self.parser_failures = self.parser.failures - before
        return trees

    @torch.inference_mode()
    def _chunk(self, trees: Sequence[Sentence], marks: Sequence[int | None]) -> list[WordAnswer]:
        arcs = self.config.arcs
        graphs = trees if arcs == "basic" else parsing.enhance(trees, level=arcs)
        made = [self._data(*pair) for pair in zip(graphs, marks)]
        found: dict[int, WordAnswer] = {}
        for numbers in batches_by_size([int(data.num_nodes or 0) for data in made], self.batch_size):
            batch = Batch.from_data_list([made[number] for number in numbers]).to(self.device)
            left = [int(made[number].word.max()) + 1 for number in numbers]
            answers = self._batch(batch, left)
            found |= {number: answer.padded(len(trees[number])) for number, answer in zip(numbers, answers)}
        return [found[number] for number in range(len(trees))]

    def _data(self, tree: Sentence, mark: int | None) -> Data:
        data = trees_data(
            [tree],
            self.state.relations,
            vocab=self.state.vocab,
            tokens=self.tokens,
            max_length=self.config.max_length,
            arcs=self.config.arcs,
            phrases=self.config.reads_constituents,
            segment=[0],
        )
        if self.config.marked:
            mark_words(data, [int(word == mark) for word in range(len(tree))])
        return data

    def _batch(self, batch: Batch, left: list[int]) -> Iterator[WordAnswer]:
        batch = self.task.edges(batch)
        logits = self.task(batch).float()
        if not logits.isfinite().all():
            raise ValueError(f"{self.name}: gives outputs that are not finite: it has diverged in training")
        best = self.task.predict(batch, logits).cpu().split(left)
        shares = logits.double().softmax(dim=-1).cpu().split(left)
        for numbers, share in zip(best, shares):
            yield WordAnswer([self.labels[number] for number in numbers.tolist()], share)


def takes_marks(state: RunState) -> bool:
    """Whether a model has learned from marks: where training had none, their vector is a random one."""
    return cast(LabelConfig, state.config).marked and state.data["marked"]["train"] > 0


def needs_marks(state: RunState) -> bool:
    """Whether all sentences had a marked word that a model has learned from: of others it knows nothing."""
    config = cast(LabelConfig, state.config)
    if config.word_task.needs_mark or not config.marked:
        return config.word_task.needs_mark
    return 0 < state.data["examples"]["train"] <= state.data["marked"]["train"]
