"""What a trained model says of marked spans of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep import parsing
from graphdep.data import trees_data
from graphdep.datasets.spans.base import mark_spans
from graphdep.datasets.spans.rows import SpanExample
from graphdep.parsing import Parser
from graphdep.parsing.parser import WordLimit
from graphdep.sentence import Sentence
from graphdep.sentence.sentence import truncate
from graphdep.tasks.spans.config import SpanConfig
from graphdep.tasks.spans.learning_task import SpanTask
from graphdep.training.build import backbone_of
from graphdep.training.checkpoint import RunState
from graphdep.training.estimator import (
    batches_by_size,
    check_batch_size,
    check_family,
    check_weights,
    parser_to_use,
    resolve_device,
    tracked,
)
from graphdep.vocab import Tokens

# Examples that are in memory at a time.
_CHUNK = 4096


class SpanAnswer(NamedTuple):
    """What is said of an example.

    Args:
        label: Its label; :obj:`None` if a span is not read, beyond the limit of words or where a pretrained
            encoder has no room for it.
        probabilities: ``[classes]``, float64; zeros without a label.
    """

    label: str | None
    probabilities: Tensor


class SpanPredictor:
    """The labels that a model of the family gives marked spans.

    :attr:`parsed` counts the examples of the last call that had no tree, :attr:`parser_failures` those of
    them that have a chain for a tree, :attr:`lost_spans` the examples without a label.

    Args:
        task, state: As :func:`graphdep.training.load_task` gives them.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; :obj:`None` for the one of the
            training if that is ``"bundled"``, which is asked for where an example has no tree.
        name: What the model is called in messages, such as its file.
        batch_size: Examples a batch at most; fewer where they are long. (default: :obj:`64`)
        device: Where the model runs; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for it if there is some work to do. (default:
            :obj:`None`)
        limit: Words of a sentence at most, of which the others are not read. (default: 10,000)

    Raises:
        ValueError: If the model is of another kind of task, its weights are not finite, or there is no such
            device.
    """

    def __init__(
        self,
        task: Any,
        state: RunState,
        parser: str | Parser | None,
        name: str,
        *,
        batch_size: int = 64,
        device: str | torch.device | None = None,
        progress: bool | None = None,
        limit: WordLimit = WordLimit(),  # noqa: B008  # cannot be changed
    ) -> None:
        check_batch_size(batch_size)
        check_family(name, state.config, "spans", "labels of marked spans")
        check_weights(task, name)
        self.config, self.state, self.name = cast(SpanConfig, state.config), state, name
        self.batch_size, self.progress, self.limit, self._given = batch_size, progress, limit, parser
        self.device = resolve_device(device)
        self.task = cast(SpanTask, task).to(self.device).eval()
        self.tokens: Tokens | None = backbone_of(task.model).tokens if self.config.pretrained else None
        self.parsed = self.parser_failures = self.lost_spans = 0

    @cached_property
    def parser(self) -> Parser:
        """The parser, once some sentence needs it."""
        named = parser_to_use(self.name, self.config.parser, self._given)
        return parsing.resolve_parser(
            named, arcs=self.config.arcs, constituents=self.config.reads_constituents
        )

    @property
    def labels(self) -> list[str]:
        """The classes by their numbers."""
        return [str(label) for label in self.state.labels or ()]

    @property
    def num_spans(self) -> int:
        """How many spans the examples of the training had."""
        return int(self.state.data["num_spans"]["train"])

    def answers(self, examples: Sequence[SpanExample]) -> list[SpanAnswer]:
        """What the model says of each example.

        Raises:
            ValueError: If the parser has to be given, or an output is not finite.
        """
        trees = self._trees([self._read(example) for example in examples])
        found: list[SpanAnswer] = []
        starts = range(0, len(examples), _CHUNK)
        for start in tracked(starts, "predicting", self.progress, much=len(starts) > 1):
            found += self._chunk(examples[start : start + _CHUNK], trees[start : start + _CHUNK])
        self.lost_spans = sum(answer.label is None for answer in found)
        return found

    def _read(self, example: SpanExample) -> list[str] | Sentence:
        """The words that are read, or the tree of them."""
        if example.tree is not None:
            return truncate(example.tree, self.limit.max_words)
        return list(example.words[: self.limit.max_words])

    def _trees(self, sentences: Sequence[list[str] | Sentence]) -> list[Sentence]:
        words = [sentence for sentence in sentences if not isinstance(sentence, Sentence)]
        self.parsed, self.parser_failures = len(words), 0
        parsed = iter(self._parse(words) if words else [])
        trees = [one if isinstance(one, Sentence) else next(parsed) for one in sentences]
        return trees if self.config.arcs == "basic" else parsing.enhance(trees, level=self.config.arcs)

    def _parse(self, words: list[list[str]]) -> list[Sentence]:
        before = self.parser.failures
        trees = self.parser.parse_words(words)
        self.parser_failures = self.parser.failures - before
        return trees

    @torch.inference_mode()
    def _chunk(self, examples: Sequence[SpanExample], trees: Sequence[Sentence]) -> list[SpanAnswer]:
        made = [self._data(*pair) for pair in zip(examples, trees)]
        found: dict[int, SpanAnswer] = {}
        for numbers in batches_by_size([int(data.num_nodes or 0) for data in made], self.batch_size):
            batch = Batch.from_data_list([made[number] for number in numbers]).to(self.device)
            for number, share in zip(numbers, self._probabilities(batch)):
                lost = int(made[number].lost) > 0
                label = None if lost else self.labels[int(share.argmax())]
                found[number] = SpanAnswer(label, share * 0 if lost else share)
        return [found[number] for number in range(len(made))]

    def _data(self, example: SpanExample, tree: Sentence) -> Data:
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
        return mark_spans(data, example.marks)

    def _probabilities(self, batch: Batch) -> Tensor:
        logits = self.task(self.task.edges(batch)).float().cpu()
        if not logits.isfinite().all():
            raise ValueError(f"{self.name}: gives outputs that are not finite: it has diverged in training")
        return logits.double().softmax(dim=-1)
