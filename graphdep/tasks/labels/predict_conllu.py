"""CoNLL-U files with the labels that a trained model gives their words."""

from __future__ import annotations

from typing import cast

from graphdep.datasets.labels.column import Column
from graphdep.io import format_conllu, read_conllu
from graphdep.tasks.labels.config import LabelConfig
from graphdep.tasks.labels.learning_task import LabelTask
from graphdep.tasks.labels.word_predictor import WordPredictor
from graphdep.training.family.file_prediction import FilePrediction, FileRequest
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.predictor import parser_to_use

_KEY = "misc:Label"
"""Where the labels of a model go that has not learned them from a column."""


def predict_conllu(task: LabelTask, request: FileRequest) -> FilePrediction:
    """A CoNLL-U file whose words have the labels that a model gives them, in the column that it has learned,
    else in MISC as ``Label``; all else stays as it is. The model reads trees as it was trained: the file's
    own, or a parser's. Words that a pretrained encoder has no room for have none.

    Raises:
        ValueError: If it is no CoNLL-U file, an option is for texts, the model needs marks, or it has
            diverged.
        OSError: If the file cannot be read.
    """
    state = cast(RunState, request.state)
    config = cast(LabelConfig, state.config)
    if config.word_task.needs_mark:
        raise ValueError(
            f"{request.checkpoint}: trained on the task {config.task!r}, which labels words as a marked one "
            f"sees them: a .jsonl file can have the mark (got {str(request.source)!r})"
        )
    for name, given in (("text_columns", request.text_columns), ("truncate", request.limit.truncate)):
        if given:
            raise ValueError(f"{name!r} is for files of texts (got {given!r})")
    own = config.reads_own_trees
    parser = "bundled" if own else parser_to_use(request.checkpoint, config.parser, request.parser)
    predictor = WordPredictor(task, state, parser, request.checkpoint, batch_size=request.batch_size)
    sentences = read_conllu(request.source, max_words=request.limit.max_words)
    trees = predictor.trees(sentences if own else [sentence.form for sentence in sentences])
    answers = predictor.answers(trees, [None] * len(trees))
    column = Column(config.key, config.absent) if config.has_key else Column(_KEY)
    named = [column.write(sentence, answer.labels) for sentence, answer in zip(sentences, answers)]
    words, failures, cut = sum(map(len, sentences)), predictor.parser_failures, predictor.cut_words
    counts = {"key": column.key, "parser_failures": failures, "cut_words": cut}
    return FilePrediction(
        "".join(format_conllu(sentence) + "\n" for sentence in named),
        {"sentences": len(sentences), "words": words, **counts},
        [
            *([f"{cut} words have no label: the encoder has no room for them"] if cut else []),
            f"{column.key} of {words} words in {len(sentences)} sentences, {failures} of them with a chain "
            "tree",
        ],
    )
