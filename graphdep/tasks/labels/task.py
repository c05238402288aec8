"""A task on the words of sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from graphdep.metrics import Metric
from graphdep.metrics.scores import EXACT, WORD_ACCURACY, WORD_F1, WORD_MACRO_F1
from graphdep.training.task import Task

_MAIN: dict[str, tuple[Metric, ...]] = {
    "accuracy": (WORD_ACCURACY, WORD_MACRO_F1),
    "f1": (WORD_F1, WORD_MACRO_F1),
    "exact": (EXACT,),
}
_ALL = (WORD_ACCURACY, WORD_F1, WORD_MACRO_F1, EXACT)


@dataclass(frozen=True)
class WordLabels(Task):
    """A label for each word of a sentence, or for some of them, or for the words as a marked one sees them.

    Its dataset is a :class:`~graphdep.datasets.labels.base.LabelDataset`.

    Args:
        main: What the best epoch is chosen by, and systems are compared by: ``"accuracy"`` or ``"f1"``, each
            with macro F1, or ``"exact"``, over whole examples or groups of them. All are reported. (default:
            ``"accuracy"``)
        outside: The label that stands for no finding, which F1 leaves out. (default: :obj:`None`)
        marked: Whether each example has a marked word. (default: :obj:`False`)
        **others: As in :class:`Task`.
    """

    main: str = field(default="accuracy", kw_only=True)
    outside: str | None = field(default=None, kw_only=True)
    marked: bool = field(default=False, kw_only=True)

    kind: ClassVar[str] = "labels"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return _MAIN[self.main]

    @property
    def needs_mark(self) -> bool:
        """Whether nothing can be said of a sentence in which no word is marked."""
        return self.marked

    @property
    def looked_up(self) -> str:
        """What stands for a word where labels are counted, for people."""
        return "way through the tree from the marked word, of up to two arcs" if self.marked else "word form"

    @property
    def signatures(self) -> dict[str, str]:
        floors = "; floor: the most frequent label of training; look-up: the commonest label of each "
        floors += self.looked_up
        return {metric.name: metric.signature + floors for metric in _ALL}
