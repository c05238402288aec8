"""What a metric of generated text is: a number over all hypotheses of a split and their references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Texts = list[list[str]]
ComputeText = Callable[[Texts, Texts], float]


@dataclass(frozen=True)
class TextMetric:
    """A number about generated texts, computed once over a whole split.

    Args:
        name: Its key in results, after the split: ``test_<name>``.
        compute: Takes hypotheses and references, lists of lower-cased words.
        signature: What exactly is computed, and by what: goes under every table.
        maximize: Whether more is better. (default: :obj:`True`)

    Example:
        >>> from graphdep.metrics import TextMetric
        >>> length = TextMetric("length", lambda texts, _: sum(map(len, texts)) / len(texts), "mean of words")
        >>> length([["She", "sings"], ["Yes"]], references=[["She", "does"], ["No"]])
        1.5
    """

    name: str
    compute: ComputeText
    signature: str
    maximize: bool = True

    def __call__(self, hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
        """The metric of hypotheses, each a list of words, with one reference each.

        Words are lower-cased first, in all metrics alike. A hypothesis may be empty.

        Raises:
            ValueError: If there are none, their numbers differ, or one is a string, no list of words.
        """
        if not hypotheses or len(hypotheses) != len(references):
            raise ValueError(
                f"{self.name}: 'hypotheses' and 'references' must be lists of one length > 0 "
                f"(got {len(hypotheses)} and {len(references)})"
            )
        return float(
            self.compute(self._lower("hypotheses", hypotheses), self._lower("references", references))
        )

    def _lower(self, name: str, texts: Sequence[Sequence[str]]) -> Texts:
        for i, text in enumerate(texts):
            if isinstance(text, str):  # its characters would pass for words
                raise ValueError(f"{self.name}: '{name}[{i}]' must be a list of words (got {text!r})")
        return [[word.lower() for word in text] for text in texts]
