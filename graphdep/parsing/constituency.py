"""The constituency parser: span scores and the best binary tree."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from graphdep.parsing.parser import Parsed, ParserUnavailableError, flat_sentence
from graphdep.parsing.stanza import check_checksums, one_thread
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Constituent

_LEAST = 8  # what a sentence counts for at least: so that there are not hundreds of short ones


def like_lengths(lengths: Sequence[int], max_words: int) -> Iterator[list[int]]:
    """Numbers of sentences from the shortest to the longest, so many together that the longest of them times
    their number is at most :obj:`max_words`; a longer one is alone.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * max(lengths[number], _LEAST) > max_words:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


Span = tuple[int, int]


def span_starts(words: int) -> list[int]:
    r"""Where the spans of width :math:`w = 1 \ldots n` begin in a row of all spans of :obj:`words` words, in
    which those of one width lie side by side from left to right; and the length of the row at the end.
    """
    return [0, *np.cumsum(np.arange(words, 0, -1)).tolist()]


def best_spans(scores: Tensor, lengths: Tensor) -> list[list[Span]]:
    r"""The spans of the best binary tree of each sentence, those of single words among them, by the algorithm
    of Cocke, Kasami and Younger, over all spans of one width at a time.

    .. math::
        s(i, j) = c_{ij} + \max_{i < k < j} s(i, k) + s(k, j)

    Time grows with :math:`n^3`, memory with :math:`n^2`.

    Args:
        scores: Score of each span, :math:`c`.
        lengths: Words of each sentence, on the CPU.

    Shapes:
        - ``scores``: :math:`(\text{sentences}, n (n + 1) / 2)`, in the order of :func:`span_starts`, for the
          longest sentence of :math:`n` words; what lies beyond a shorter one is not read
        - ``lengths``: :math:`(\text{sentences})`, long
    """
    words, size = int(lengths.max()), len(scores)
    begin = span_starts(words)
    # Sums by start and width, and by end and width from the widest on: both parts of a span are slices.
    left, right = (scores.new_zeros(size, words + 1, words) for _ in range(2))
    cut = np.zeros((size, words + 1, words + 1), dtype=np.int16)
    for width in range(1, words + 1):
        places = words - width + 1
        total = scores[:, begin[width - 1] : begin[width]]
        if width > 1:
            both = left[:, :places, : width - 1] + right[:, width:, places:]
            best, where = both.max(-1)
            total = total + best
            cut[:, :places, width] = where.numpy() + 1
        left[:, :places, width - 1] = total
        right[:, width:, words - width] = total
    return [_walk(cut[row], length) for row, length in enumerate(lengths.tolist())]


def _walk(cut: np.ndarray, length: int) -> list[Span]:
    found, todo = [], [(0, length)]
    while todo:
        start, end = todo.pop()
        found.append((start, end))
        if end - start > 1:
            middle = start + int(cut[start, end - start])
            todo += [(start, middle), (middle, end)]
    return found


def span_ends(words: int) -> tuple[Tensor, Tensor]:
    """Start and end of each span, in the order of :func:`span_starts`."""
    widths = range(1, words + 1)
    starts = torch.cat([torch.arange(words - width + 1) for width in widths])
    return starts, torch.cat([torch.arange(width, words + 1) for width in widths])


# Words with their tags.
Tagged = Sequence[tuple[str, str]]
PAD, UNKNOWN = 0, 1
_FIRST = 2
_MAX_CHARACTERS = 20


class SpanBatch(NamedTuple):
    """What the network reads of some sentences.

    Args:
        words, tags: Ids, ``[sentences, longest]``.
        forms: Row of each word in :obj:`characters`, ``[sentences, longest]``.
        characters: Ids of the characters of each different form, ``[forms, 22]``.
        lengths: Words of each sentence, ``[sentences]``.
    """

    words: Tensor
    tags: Tensor
    forms: Tensor
    characters: Tensor
    lengths: Tensor


class SpanInputs:
    """Ids of words, lower-cased, of tags and of characters; 0 is padding, 1 what is not known.

    Of a word of more than 20 characters the first and the last ten are read.

    Args:
        words, characters, tags: Those that are known, in the order of their ids.
    """

    def __init__(self, words: Sequence[str], characters: Sequence[str], tags: Sequence[str]) -> None:
        self.words, self.characters, self.tags = (
            {name: number for number, name in enumerate(names, start=_FIRST)}
            for names in (words, characters, tags)
        )

    def __call__(self, sentences: Sequence[Tagged]) -> SpanBatch:
        longest = max(map(len, sentences))
        words, tags, forms = (np.zeros((len(sentences), longest), dtype=np.int64) for _ in range(3))
        rows: dict[str, int] = {}
        for row, sentence in enumerate(sentences):
            for place, (word, tag) in enumerate(sentence):
                words[row, place] = self.words.get(word.lower(), UNKNOWN)
                tags[row, place] = self.tags.get(tag, UNKNOWN)
                forms[row, place] = rows.setdefault(word, len(rows))
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        return SpanBatch(
            words=torch.from_numpy(words),
            tags=torch.from_numpy(tags),
            forms=torch.from_numpy(forms),
            characters=torch.from_numpy(self._spelling([*rows])),
            lengths=lengths,
        )

    def _spelling(self, forms: Sequence[str]) -> np.ndarray:
        # As wide for each batch, for padding counts in the convolution: a tree must not depend on its batch.
        spelling = np.zeros((len(forms), _MAX_CHARACTERS + 2), dtype=np.int64)
        for row, form in enumerate(forms):
            if len(form) > _MAX_CHARACTERS:
                form = form[: _MAX_CHARACTERS // 2] + form[-_MAX_CHARACTERS // 2 :]
            spelling[row, : len(form)] = [self.characters.get(one, UNKNOWN) for one in form]
        return spelling


class SpanScorer(nn.Module):
    r"""Scores each label of each span of words, and that the span is no constituent: a BiLSTM over words,
    tags and spelling, as in `"A Minimal Span-Based Neural Constituency Parser"
    <https://arxiv.org/abs/1705.03919>`_.

    A word is its learned vector, a frozen one, the maximum of a convolution over its characters, and the
    vector of its tag. With :math:`\mathbf{p}_i` for the gap before word :math:`i`, made of the forward states
    before it and the backward states after it,

    .. math::
        \mathbf{s}_{ij} = \mathbf{W}\, \mathrm{relu}\left(\mathrm{norm}(\mathbf{A} \mathbf{p}_i
        + \mathbf{B} \mathbf{p}_j)\right) + \mathbf{b}

    Only its prediction is here: without dropout, and without a loss.

    Args:
        config: Sizes: ``word``, ``glove``, ``char``, ``char_out``, ``tag``, ``layers``, ``hidden`` of each
            direction, ``span``. Others are not read.
        words: Words that are known, with a learned vector, a frozen one, or both.
        known: How many of them, the first ones, have a learned vector.
        characters, tags: How many of them are known.
        labels: How many labels there are.

    Shapes:
        - **input:** a :class:`SpanBatch`
        - **output:** :math:`(\text{sentences}, n (n + 1) / 2, 1 + \text{labels})`, the spans in the order of
          :func:`~graphdep.parsing.constituency.span_starts`, no constituent first
    """

    def __init__(
        self, config: Mapping[str, int], *, words: int, known: int, characters: int, tags: int, labels: int
    ) -> None:
        super().__init__()
        self.known, self.hidden = known, config["hidden"]
        self.word = nn.Embedding(known + 2, config["word"], padding_idx=PAD)
        self.glove = nn.Embedding(words + 2, config["glove"], padding_idx=PAD)
        self.char = nn.Embedding(characters + 2, config["char"], padding_idx=PAD)
        self.conv = nn.Conv1d(config["char"], config["char_out"], 3, padding=1)
        self.tag = nn.Embedding(tags + 2, config["tag"], padding_idx=PAD)
        size = config["word"] + config["glove"] + config["char_out"] + config["tag"]
        self.ends = nn.Parameter(torch.zeros(2, size))  # before the first word and after the last one
        self.layers = nn.ModuleList()
        for _ in range(config["layers"]):
            self.layers.append(nn.LSTM(size, self.hidden, bidirectional=True, batch_first=True))
            size = 2 * self.hidden
        self.start, self.end = nn.Linear(size, config["span"]), nn.Linear(size, config["span"], bias=False)
        self.norm = nn.LayerNorm(config["span"])
        self.out = nn.Linear(config["span"], labels + 1)

    def forward(self, batch: SpanBatch) -> Tensor:
        states = self._words(batch)
        sizes = batch.lengths + 2
        for layer in self.layers:
            packed = nn.utils.rnn.pack_padded_sequence(states, sizes, batch_first=True, enforce_sorted=False)
            states, _ = nn.utils.rnn.pad_packed_sequence(layer(packed)[0], batch_first=True)
        gaps = torch.cat([states[:, :-1, : self.hidden], states[:, 1:, self.hidden :]], -1)
        starts, ends = span_ends(batch.words.size(1))
        return self.out(self.norm(self.start(gaps)[:, starts] + self.end(gaps)[:, ends]).relu())

    def _words(self, batch: SpanBatch) -> Tensor:
        """Vectors of the words between those of both ends: ``[sentences, longest + 2, size]``."""
        spelling = self.conv(self.char(batch.characters).transpose(1, 2)).amax(-1).relu()
        learned = torch.where(batch.words < self.known + 2, batch.words, UNKNOWN)
        parts = (self.word(learned), self.glove(batch.words), spelling[batch.forms], self.tag(batch.tags))
        words = torch.cat(parts, -1)
        states = words.new_zeros(words.size(0), words.size(1) + 2, words.size(2))
        states[:, 0] = self.ends[0]
        states[:, 1:-1] = words
        states[torch.arange(len(states)), batch.lengths + 1] = self.ends[1]
        return states


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
        >>> from graphdep.parsing.bundled import BUNDLED
        >>> from graphdep.parsing.constituency import SpanParser
        >>> parser = SpanParser.load(BUNDLED / "en_ewt_constituency.pt")
        >>> parser.parse([[("She", "PRP"), ("sings", "VBZ"), ("old", "JJ"), ("songs", "NNS")]])
        [[('S', 0, 4), ('NP', 0, 1), ('VP', 1, 4), ('NP', 2, 4)]]
    """

    def __init__(self, scorer: SpanScorer, inputs: SpanInputs, labels: Sequence[str]) -> None:
        self.scorer, self.inputs, self.labels = scorer.eval(), inputs, [*labels]

    @classmethod
    def load(cls, path: str | Path) -> SpanParser:
        """The parser of a file, which holds weights and plain values."""
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


def add_constituents(parsed: Sequence[Parsed], parser: SpanParser, max_words: int) -> list[Parsed]:
    """The same sentences with constituents, by their tags (:attr:`Sentence.xpos`); those of more than
    :obj:`max_words` words get a flat tree.
    """
    sentences = [*chain.from_iterable(text.sentences for text in parsed)]
    short = [number for number, sentence in enumerate(sentences) if len(sentence) <= max_words]
    with one_thread():
        found = dict(zip(short, parser.parse([_tagged(sentences[number]) for number in short])))
    done, start = [], 0
    for text in parsed:
        mine, failure = [], text.failure
        for number, sentence in enumerate(text.sentences, start=start):
            if number in found:
                mine.append(dataclasses.replace(sentence, constituents=found[number]))
            else:
                reason = f"{len(sentence)} words, more than max_words={max_words}"
                mine.append(flat_sentence(sentence, reason))
                failure = failure or reason
        start += len(text.sentences)
        done.append(dataclasses.replace(text, sentences=mine, failure=failure))
    return done


def _tagged(sentence: Sentence) -> list[tuple[str, str]]:
    return [*zip(sentence.form, sentence.xpos or ["_"] * len(sentence))]
