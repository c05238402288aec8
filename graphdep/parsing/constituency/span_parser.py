"""Constituents of tagged words."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from graphdep.parsing.checksums import check_checksums
from graphdep.parsing.constituency.chart import Span, best_spans, span_starts
from graphdep.parsing.constituency.like_lengths import like_lengths
from graphdep.parsing.constituency.span_inputs import SpanInputs, Tagged
from graphdep.parsing.constituency.span_scorer import SpanScorer
from graphdep.parsing.errors import ParserUnavailableError
from graphdep.sentence import Constituent

_KEYS = {"config", "words", "known", "chars", "tags", "labels", "state"}
_NEVER = -1e6
_CHAIN = "+"  # S+VP: a VP is all that an S has


class SpanParser:
    r"""Parses constituents: the binary tree of the best sum of its spans' scores, of which those with a label
    are constituents.

    .. math::
        \hat{T} = \operatorname{argmax}_T \sum_{(i, j) \in T} \max_l s_{ijl}

    where the score of no constituent is one of :math:`s_{ij}`, but for the whole sentence. A label such as
    ``S+VP`` is a chain of constituents over the same words. The network is a :class:`SpanScorer`; it runs on
    the CPU, in float32, and needs nothing but PyTorch. A tree does not depend on the others of a call.

    Args:
        scorer: The network.
        inputs: Ids of words, tags and characters.
        labels: The labels, without that of no constituent.

    Example:
        >>> from graphdep.parsing.bundled_parser import BUNDLED
        >>> from graphdep.parsing.constituency import SpanParser
        >>> parser = SpanParser.load(BUNDLED / "en_ewt_constituency.pt")
        >>> parser.parse([[("She", "PRP"), ("sings", "VBZ"), ("old", "JJ"), ("songs", "NNS")]])
        [[('S', 0, 4), ('NP', 0, 1), ('VP', 1, 4), ('NP', 2, 4)]]
    """

    def __init__(self, scorer: SpanScorer, inputs: SpanInputs, labels: Sequence[str]) -> None:
        self.scorer, self.inputs, self.labels = scorer.eval(), inputs, [*labels]

    @classmethod
    def load(cls, path: str | Path) -> SpanParser:
        """The parser of a file, which holds weights and plain values.

        Raises:
            ParserUnavailableError: If it is missing, damaged, changed since ``SHA256SUMS`` beside it was
                written, or another kind of file, or holds anything else.
        """
        if Path(path).is_file():
            check_checksums([Path(path)])
        try:
            saved = torch.load(path, map_location="cpu", weights_only=True)
            return cls._of(saved)
        except pickle.UnpicklingError:  # torch's own message advises to read the file all the same
            why = (
                "it is damaged, or holds more than weights and plain values, which could run code of its own"
            )
        except Exception as error:  # a damaged file makes torch raise anything
            why = f"{type(error).__name__}: {str(error)[:200]}"
        raise ParserUnavailableError(f"the model of constituents {path} does not load ({why})")

    @classmethod
    def _of(cls, saved: Any) -> SpanParser:
        if not isinstance(saved, Mapping) or saved.keys() != _KEYS:
            raise ValueError("no model of spans")
        names = {key: saved[key] for key in ("words", "chars", "tags", "labels")}
        sizes = {name: len(each) for name, each in names.items()}
        with torch.device("meta"):  # no weights are drawn before those of the file are there
            scorer = SpanScorer(
                saved["config"],
                words=sizes["words"],
                known=saved["known"],
                characters=sizes["chars"],
                tags=sizes["tags"],
                labels=sizes["labels"],
            )
        scorer.load_state_dict({key: value.float() for key, value in saved["state"].items()}, assign=True)
        inputs = SpanInputs(names["words"], names["chars"], names["tags"])
        return cls(scorer, inputs, names["labels"])

    @torch.inference_mode()
    def parse(self, sentences: Sequence[Tagged], *, batch_words: int = 1500) -> list[list[Constituent]]:
        """The constituents of sentences, in preorder.

        Time grows with the cube of the words of a sentence and memory with their square: on one CPU core a
        hundred words take 0.05 s, 400 words 0.5 s.

        Args:
            sentences: Each a list of words with their tags, of the Penn Treebank for the bundled model; a tag
                that is not known counts as none.
            batch_words: The most words, with padding, that are read at once. (default: :obj:`1500`)

        Raises:
            ValueError: If a sentence or a word is empty.
        """
        for number, sentence in enumerate(sentences):
            if not sentence or not all(word for word, _ in sentence):
                raise ValueError(f"'sentences[{number}]' is empty, or has an empty word")
        found: list[list[Constituent]] = [[] for _ in sentences]
        for batch in like_lengths([len(sentence) for sentence in sentences], batch_words):
            for number, constituents in zip(batch, self._parse_batch([sentences[i] for i in batch])):
                found[number] = constituents
        return found

    def _parse_batch(self, sentences: Sequence[Tagged]) -> list[list[Constituent]]:
        batch = self.inputs(sentences)
        scores = self.scorer(batch)
        begin = span_starts(int(batch.lengths.max()))
        for row, length in enumerate(batch.lengths.tolist()):
            scores[row, begin[length - 1], 0] = _NEVER  # the whole sentence is a constituent
        best, label = scores.max(-1)
        labels = label.numpy()
        found = []
        for row, spans in enumerate(best_spans(best, batch.lengths)):
            numbers = {span: int(labels[row, begin[span[1] - span[0] - 1] + span[0]]) for span in spans}
            found.append(self._constituents(numbers))
        return found

    def _constituents(self, numbers: Mapping[Span, int]) -> list[Constituent]:
        spans = sorted((span for span, number in numbers.items() if number), key=lambda s: (s[0], -s[1]))
        return [(label, *span) for span in spans for label in self.labels[numbers[span] - 1].split(_CHAIN)]
