"""Files of marked spans with the labels that a trained model gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep.data import trees_data
from graphdep.datasets.base.raw import row_error
from graphdep.datasets.base.text_rows import TextRow, read_text_rows, rows_of_lines
from graphdep.datasets.spans.mark_spans import mark_spans
from graphdep.datasets.spans.span_example import SpanExample
from graphdep.datasets.spans.span_rows import column_of, span_row
from graphdep.io.plural import plural
from graphdep.parsing import enhance, resolve_parser
from graphdep.parsing.word_limit import WordLimit
from graphdep.sentence import Sentence
from graphdep.sentence.truncation import truncate
from graphdep.tasks.spans.config import SpanConfig
from graphdep.tasks.spans.learning_task import SpanTask
from graphdep.training.family.file_prediction import FilePrediction, FileRequest
from graphdep.training.family.predicted_rows import PredictedRow, write_rows
from graphdep.training.family.pretrained import backbone_of
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.predictor import (
    batches_by_size,
    check_batch_size,
    check_weights,
    parser_to_use,
    resolve_device,
)

# Examples that are in memory at a time.
_CHUNK = 4096


class _Trees(NamedTuple):
    """The trees of the sentences that are read, how many had none, and of how many there is a chain."""

    trees: list[Sentence]
    parsed: int
    failures: int


def predict_rows(task: SpanTask, request: FileRequest) -> FilePrediction:
    """A file in one of the layouts of :class:`~graphdep.datasets.OwnSpans`, with or without labels, and what
    a model predicts for each row. ``head`` and ``deprel`` are the tree of a sentence; one without them is
    parsed. A row of which a span is not read, beyond the limit of words or where a pretrained encoder has no
    room for it, has no prediction.

    Raises:
        ValueError: If a row is wrong, or has another number of spans than the model was trained on, with
            file, line and value; or the model has diverged.
        OSError: If the file cannot be read.
    """
    state, source = cast(RunState, request.state), request.source
    config = cast(SpanConfig, state.config)
    check_batch_size(request.batch_size)
    check_weights(task.model, request.checkpoint)
    column = request.text_columns or getattr(config, "text_columns", None) or "text"
    if request.lines is None:
        rows = read_text_rows(source, [column_of(source, column)])
    else:
        rows = rows_of_lines(source, request.lines, [column])
    examples = [_example(row, column, request.limit, _num_spans(state)) for row in rows]
    trees, parsed, failures = _trees([_cut(example, request.limit) for example in examples], request, config)
    predicted: list[PredictedRow] = []
    for start in range(0, len(rows), _CHUNK):
        some = zip(examples[start : start + _CHUNK], trees[start : start + _CHUNK])
        predicted += _predicted(task, [_data(*pair, task, state) for pair in some], state, request)
    text, replaced = write_rows(request.kind, [row.values for row in rows], predicted, _names(state))
    lost = sum(row.prediction is None for row in predicted)
    counts = {"rows": len(rows), "parsed": parsed, "parser_failures": failures, "lost_spans": lost}
    notes = [f"the input had columns of these names, which are replaced: {', '.join(replaced)}"]
    unread = [f"{plural(lost, 'row')} without a prediction: a span is not read"]
    return FilePrediction(
        text,
        {**counts, "replaced": replaced},
        [
            *(notes if replaced else []),
            *(unread if lost else []),
            f"{plural(len(rows), 'row')}, {parsed} of them parsed, {failures} with a chain tree",
        ],
    )


def _names(state: RunState) -> list[str]:
    return [str(label) for label in state.labels or ()]


def _num_spans(state: RunState) -> int | None:
    known = state.data.get("num_spans")
    return known.get("train") if isinstance(known, dict) else None


def _example(row: TextRow, column: str, limit: WordLimit, num_spans: int | None) -> SpanExample:
    example = span_row(row, column, max_words=None if limit.truncate else limit.max_words)
    if num_spans not in (None, len(example.spans)):
        message = f"the model was trained on {num_spans} spans an example"
        raise row_error(row.path, row.line, message, str(len(example.spans)))
    return example


def _cut(example: SpanExample, limit: WordLimit) -> list[str] | Sentence:
    """The words that are read, or the tree of them."""
    if example.tree is not None:
        return truncate(example.tree, limit.max_words)
    return list(example.words[: limit.max_words])


def _trees(sentences: list[list[str] | Sentence], request: FileRequest, config: SpanConfig) -> _Trees:
    words = [sentence for sentence in sentences if not isinstance(sentence, Sentence)]
    given = [sentence for sentence in sentences if isinstance(sentence, Sentence)]
    failures = 0
    found: list[Sentence] = []
    if words:
        named = parser_to_use(request.checkpoint, config.parser, request.parser)
        parser = resolve_parser(named, arcs=config.arcs)
        before = parser.failures
        found = parser.parse_words(words)
        failures = parser.failures - before
    parsed, own = iter(found), iter(given)
    trees = [next(own if isinstance(sentence, Sentence) else parsed) for sentence in sentences]
    return _Trees(
        trees if config.arcs == "basic" else enhance(trees, level=config.arcs), len(words), failures
    )


def _data(example: SpanExample, tree: Sentence, task: SpanTask, state: RunState) -> Data:
    config = cast(SpanConfig, state.config)
    data = trees_data(
        [tree],
        state.relations,
        vocab=state.vocab,
        tokens=backbone_of(task.model).tokens if config.pretrained else None,
        max_length=config.max_length,
        arcs=config.arcs,
        segment=[0],
    )
    return mark_spans(data, example.marks)


@torch.inference_mode()
def _predicted(
    task: SpanTask, made: Sequence[Data], state: RunState, request: FileRequest
) -> list[PredictedRow]:
    task = task.to(resolve_device(None)).eval()
    names, labels = _names(state), list(state.labels or ())
    found: dict[int, PredictedRow] = {}
    for numbers in batches_by_size([int(data.num_nodes or 0) for data in made], request.batch_size):
        shares = _probabilities(task, [made[number] for number in numbers], request.checkpoint)
        for number, share in zip(numbers, shares):
            best = labels[int(share.argmax())]
            found[number] = PredictedRow(best, dict(zip(names, share.tolist())))
            if int(made[number].lost):
                found[number] = PredictedRow(None, None)
    return [found[number] for number in range(len(made))]


def _probabilities(task: SpanTask, examples: list[Data], checkpoint: str) -> Tensor:
    logits = task(task.edges(Batch.from_data_list(examples).to(task.device))).float().cpu()
    if not logits.isfinite().all():
        raise ValueError(f"{checkpoint}: gives outputs that are not finite: it has diverged in training")
    return logits.double().softmax(dim=-1)
