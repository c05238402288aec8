"""What a trained model says of texts or pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep import parsing
from graphdep.data import trees_data
from graphdep.io.limits import check_list, check_text
from graphdep.parsing import Parser
from graphdep.parsing.parser import WordLimit, parse_joined
from graphdep.sentence import Sentence
from graphdep.tasks.sentences.config import SentenceConfig
from graphdep.tasks.sentences.learning_task import SentenceTask
from graphdep.tasks.sentences.task import Sentences
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
from graphdep.training.task import resolve_task
from graphdep.vocab import Tokens

# Examples that are in memory at a time.
_CHUNK = 4096


class Predictor:
    """The outputs of a model of a task on sentences, for raw texts.

    Texts are parsed on the way, each different one once, and become the examples that training saw.
    :attr:`parser_failures` counts the texts of the last call that have a chain for a tree, :attr:`cut_words`
    its words that are not read since an example would be longer than the model takes, and
    :attr:`cut_examples` the examples that they are of.

    Args:
        task, state: As :func:`graphdep.training.load_task` gives them.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser.
        name: What the model is called in messages, such as its file.
        batch_size: Examples a batch at most; fewer where they are long. (default: :obj:`64`)
        device: Where the model runs; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for it if there is some work to do. (default:
            :obj:`None`)
        limit: Words of a text at most, and whether a longer one is cut. (default: 10,000 words, an error)

    Raises:
        ValueError: If the model is of another kind of task, its weights are not finite, or there is no such
            device.
        ImportError: If the model reads enhanced graphs, which the parser does not give, without pybart.
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
        limit: WordLimit = WordLimit(),  # noqa: B008  # cannot be changed
    ) -> None:
        check_batch_size(batch_size)
        config = state.config
        check_family(name, config, "sentence", "predictions for single texts or pairs")
        check_weights(task.model, name)
        self.config, self.state, self.name = cast(SentenceConfig, config), state, name
        self.parser = parsing.resolve_parser(
            parser, arcs=self.config.arcs, constituents=self.config.reads_constituents
        )
        self.batch_size, self.progress, self.limit = batch_size, progress, limit
        self.device = resolve_device(device)
        self.task = cast(SentenceTask, task).to(self.device).eval()
        self.tokens: Tokens | None = backbone_of(task.model).tokens if config.pretrained else None
        self.parser_failures = self.cut_words = self.cut_examples = 0

    @property
    def labels(self) -> list[Any] | None:
        """The names of the classes, or numbers where the checkpoint has no names; :obj:`None` where the model
        gives numbers.
        """
        if not self.task.goal.classifies:
            return None
        task = resolve_task(self.config.task)
        assert isinstance(task, Sentences)
        return self.state.labels or list(range(task.num_classes))

    def outputs(
        self, examples: Sequence[tuple[str, ...]], place: Callable[[int, int], str] | None = None
    ) -> Tensor:
        """The model's outputs, ``[num_examples, C]``, on the CPU: logits of classes, or what a goal's
        ``predict`` makes numbers of.

        Args:
            examples: One or two texts each, as many as the model was trained on, none of them blank.
            place: What a text is called in messages, by the numbers of its example and in it.
                (default: ``'examples[3]'``, of pairs ``'examples[3][0]'``)

        Raises:
            ValueError: If a text is longer than :obj:`limit`, before any is parsed; or an output is not
                finite.
        """
        width = len(examples[0])
        place = place or (lambda number, column: repr(place_in("examples", number, column, width)))
        place_of: dict[str, str] = {}
        cut: list[tuple[str, ...]] = []
        for number, example in enumerate(examples):
            places = [place(number, column) for column in range(len(example))]
            cut.append(tuple(map(self.limit.text, example, places)))
            for text, where in zip(cut[-1], places):
                place_of.setdefault(text, where)
        texts = list(place_of)
        trees, self.parser_failures = parse_joined(self.parser, texts)
        trees = [self.limit.tree(tree, place_of[text]) for text, tree in zip(texts, trees)]
        if self.config.arcs != "basic":
            trees = parsing.enhance(trees, level=self.config.arcs)
        tree_of = dict(zip(texts, trees))
        self.cut_words = self.cut_examples = 0
        starts = range(0, len(cut), _CHUNK)
        parts = []
        for start in tracked(starts, "predicting", self.progress, much=len(starts) > 1):
            some = cut[start : start + _CHUNK]
            parts.append(self._outputs([[tree_of[text] for text in example] for example in some]))
        return torch.cat(parts)

    @torch.inference_mode()
    def _outputs(self, examples: list[list[Sentence]]) -> Tensor:
        made = [self._example(trees) for trees in examples]
        outputs: dict[int, Tensor] = {}
        for numbers in batches_by_size([data.num_nodes for data in made], self.batch_size):
            batch = Batch.from_data_list([made[number] for number in numbers]).to(self.device)
            outputs |= zip(numbers, self.task(self.task.edges(batch)).float().cpu())
        rows = torch.stack([outputs[number] for number in range(len(made))])
        if not rows.isfinite().all():
            raise ValueError(f"{self.name}: gives outputs that are not finite: it has diverged in training")
        return rows

    def _example(self, trees: list[Sentence]) -> Data:
        data = trees_data(
            trees,
            self.state.relations,
            vocab=self.state.vocab,
            tokens=self.tokens,
            max_length=self.config.max_length,
            arcs=self.config.arcs,
            phrases=self.config.phrases_read,
            segment=list(range(len(trees))),
        )
        cut = 0 if self.tokens is None else int(data.cut_words.sum())
        self.cut_words += cut
        self.cut_examples += cut > 0
        return data


def check_examples(name: str, examples: Any, num_texts: int | None = None) -> list[tuple[str, ...]]:
    """Texts or pairs of texts as tuples.

    Args:
        name: What they are called in messages.
        examples: A list, array or Series of texts, or a list of pairs, array or data frame of two columns.
        num_texts: How many texts each must have; :obj:`None` for as many as the first. (default: :obj:`None`)

    Raises:
        TypeError: If it is no such thing, or an entry is no text; the message has its place.
        ValueError: If the shape is another one, there is no example, or a text is blank.
    """
    rows = _rows(name, examples)
    if not rows:
        raise ValueError(f"{name!r} is empty: there must be at least one text")
    wanted = num_texts or len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != wanted:
            what = {1: "a single text", 2: "a pair of texts"}
            other = " as the first is" if num_texts is None else ", as the model was trained on"
            raise ValueError(f"'{name}[{number}]' must be {what[wanted]}{other} (got {what[len(row)]})")
        for place, text in enumerate(row):
            check_text(place_in(name, number, place, wanted), text, "text")
    return rows


def place_in(name: str, number: int, column: int, width: int) -> str:
    """What a text of an example is called, of pairs with its place in the pair."""
    return f"{name}[{number}]" if width == 1 else f"{name}[{number}][{column}]"


def _rows(name: str, examples: Any) -> list[tuple[Any, ...]]:
    """A tuple an example, of one or two entries."""
    # Data frames have no tolist().
    values = examples.to_numpy() if hasattr(examples, "to_numpy") else examples
    shape = getattr(values, "shape", None)
    if shape is not None and (len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] != 2)):
        raise ValueError(f"{name!r} must be texts, [n], or pairs of texts, [n, 2] (got shape {tuple(shape)})")
    values = values.tolist() if hasattr(values, "tolist") else values
    check_list(name, values)
    rows = [tuple(value) if isinstance(value, (list, tuple)) else (value,) for value in values]
    for number, row in enumerate(rows):
        if len(row) not in (1, 2):
            raise ValueError(f"'{name}[{number}]' must be a text or a pair of texts (got {len(row)} of them)")
    return rows
