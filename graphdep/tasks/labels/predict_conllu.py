"""CoNLL-U files with the labels that a trained model gives their words."""

from __future__ import annotations

from typing import cast

from graphdep.datasets.labels.words import Column, marked_word, sentence_places
from graphdep.io import format_conllu, read_conllu
from graphdep.io.limits import plural
from graphdep.sentence import Sentence
from graphdep.tasks.labels.config import LabelConfig
from graphdep.tasks.labels.learning_task import LabelTask
from graphdep.tasks.labels.word_predictor import WordPredictor, needs_marks
from graphdep.training.checkpoint import RunState
from graphdep.training.estimator import parser_to_use
from graphdep.training.family import FilePrediction, FileRequest

_KEY = "misc:Label"
"""Where the labels of a model go that has not learned them from a column."""


def predict_conllu(task: LabelTask, request: FileRequest) -> FilePrediction:
    """A CoNLL-U file whose words have the labels that a model gives them, in the column that it has learned,
    else in MISC as ``Label``; all else stays as it is. The model reads trees as it was trained: the file's
    own, or a parser's; and marks where it had a ``mark_key``. Words that a pretrained encoder has no room for
    have none.

    Raises:
        ValueError: If it is no CoNLL-U file, an option is for texts, the model needs marks, or it has
            diverged.
        OSError: If the file cannot be read.
    """
    state = cast(RunState, request.state)
    config = cast(LabelConfig, state.config)
    mark_key = getattr(config, "mark_key", None)
    if needs_marks(state) and mark_key is None:
        raise ValueError(
            f"{request.checkpoint}: trained on the task {config.task!r}, which labels words as a marked one "
            f"sees them: a .jsonl file can have the mark, or a .conllu file where training had a 'mark_key' "
            f"(got {str(request.source)!r})"
        )
    for name, given in (("text_columns", request.text_columns), ("truncate", request.limit.truncate)):
        if given:
            raise ValueError(f"{name!r} is for files of texts (got {given!r})")
    own = config.reads_own_trees
    parser = "bundled" if own else parser_to_use(request.checkpoint, config.parser, request.parser)
    predictor = WordPredictor(task, state, parser, request.checkpoint, batch_size=request.batch_size)
    sentences = read_conllu(request.source, max_words=request.limit.max_words)
    trees = predictor.trees(sentences if own else [sentence.form for sentence in sentences])
    marks = _marks(request, sentences, mark_key, needs_marks(state))
    answers = predictor.answers(trees, marks)
    column = Column(config.key, config.absent) if config.has_key else Column(_KEY)
    named = [column.write(sentence, answer.labels) for sentence, answer in zip(sentences, answers)]
    words, failures, cut = sum(map(len, sentences)), predictor.parser_failures, predictor.cut_words
    counts = {"key": column.key, "parser_failures": failures, "cut_words": cut}
    return FilePrediction(
        "".join(format_conllu(sentence) + "\n" for sentence in named),
        {"sentences": len(sentences), "words": words, **counts},
        [
            *([f"{plural(cut, 'word')} without a label: the encoder has no room for more"] if cut else []),
            f"{column.key} of {plural(words, 'word')} in {plural(len(sentences), 'sentence')}, {failures} of "
            "them with a chain tree",
        ],
    )


def _marks(request: FileRequest, sentences: list[Sentence], key: str | None, needs: bool) -> list[int | None]:
    """The marked word of each sentence."""
    if key is None:
        return [None] * len(sentences)
    column, marks = Column(key), []
    for place, sentence in zip(sentence_places(request.source), sentences):
        mark = marked_word(sentence, column, place)
        if mark is None and needs:
            raise ValueError(
                f"{place}: no word has {key!r}, the mark: the model labels words as a marked one sees them"
            )
        marks.append(mark)
    return marks
