"""CoNLL-U files with the labels that a trained model gives their words."""

from __future__ import annotations

from typing import cast

import torch
from torch_geometric.data import Batch

from graphdep.data import to_data
from graphdep.datasets.labels.column import Column
from graphdep.io import format_conllu, read_conllu
from graphdep.parsing import resolve_parser
from graphdep.sentence import Sentence
from graphdep.tasks.labels.config import LabelConfig
from graphdep.tasks.labels.learning_task import LabelTask
from graphdep.training.family.file_prediction import FilePrediction, FileRequest
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.predictor import (
    batches_by_size,
    check_batch_size,
    check_weights,
    parser_to_use,
    resolve_device,
)


def predict_conllu(task: LabelTask, request: FileRequest) -> FilePrediction:
    """A CoNLL-U file whose words have the labels that a model gives them, in the column that it has learned;
    all else stays as it is. The model reads trees as it was trained: the file's own, or a parser's.

    Raises:
        ValueError: If it is no CoNLL-U file, an option is for texts, or the model has diverged.
        OSError: If the file cannot be read.
    """
    check_batch_size(request.batch_size)
    state = cast(RunState, request.state)
    config = cast(LabelConfig, state.config)
    if request.source.suffix.lower() != ".conllu":
        raise ValueError(
            f"{request.checkpoint}: trained on the task {config.task!r}, which labels the words of a .conllu "
            f"file (got {str(request.source)!r})"
        )
    for name, given in (("text_columns", request.text_columns), ("truncate", request.limit.truncate)):
        if given:
            raise ValueError(f"{name!r} is for files of texts (got {given!r})")
    check_weights(task.model, request.checkpoint)
    sentences = read_conllu(request.source, max_words=request.limit.max_words)
    trees, failures = _trees(sentences, request, config)
    column, labels = Column(config.key, config.absent), [str(label) for label in state.labels or ()]
    predicted = _numbers(task, trees, state, request.batch_size)
    named = [
        column.write(sentence, [labels[number] for number in own])
        for sentence, own in zip(sentences, predicted)
    ]
    words = sum(map(len, sentences))
    return FilePrediction(
        "".join(format_conllu(sentence) + "\n" for sentence in named),
        {"sentences": len(sentences), "words": words, "key": config.key, "parser_failures": failures},
        [
            f"{config.key} of {words} words in {len(sentences)} sentences, {failures} of them with a chain "
            "tree"
        ],
    )


def _trees(
    sentences: list[Sentence], request: FileRequest, config: LabelConfig
) -> tuple[list[Sentence], int]:
    if config.trees != "parser":
        return sentences, 0
    parser = resolve_parser(parser_to_use(request.checkpoint, config.parser, request.parser))
    before = parser.failures
    return parser.parse_words([sentence.form for sentence in sentences]), parser.failures - before


@torch.inference_mode()
def _numbers(task: LabelTask, trees: list[Sentence], state: RunState, batch_size: int) -> list[list[int]]:
    """The number of the label of each word, sentence by sentence."""
    device = resolve_device(None)
    task = task.to(device).eval()
    found: list[list[int]] = [[] for _ in trees]
    for numbers in batches_by_size([len(tree) for tree in trees], batch_size):
        data = [to_data([trees[number]], vocab=state.vocab, relations=state.relations) for number in numbers]
        batch = Batch.from_data_list(data).to(device)
        logits = task(task.edges(batch))
        if not logits.isfinite().all():
            raise ValueError("the model gives outputs that are not finite: it has diverged in training")
        best = logits.argmax(dim=-1).cpu().split([len(trees[number]) for number in numbers])
        for number, labels in zip(numbers, best):
            found[number] = labels.tolist()
    return found
