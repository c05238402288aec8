"""The constituency parser: scores of spans, and the best binary tree."""

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

_LEAST = 8  # a shorter sentence counts as 8 words, so that a batch has no hundreds of sentences


def length_batches(lengths: Sequence[int], max_words: int) -> Iterator[list[int]]:
    """Batches of sentence numbers, by length, of at most :obj:`max_words` words with padding; a longer
    sentence is a batch of its own.
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
    r"""Offsets of the spans of width :math:`w = 1 \ldots n` in a list of all spans of :obj:`words` words,
    sorted by width and then from left to right; at the end the length of the list.
    """
    return [0, *np.cumsum(np.arange(words, 0, -1)).tolist()]


def best_spans(scores: Tensor, lengths: Tensor) -> list[list[Span]]:
    r"""The spans of the best binary tree of each sentence, including single words, by the CKY algorithm,
    vectorized over all spans of one width.

    .. math::
        s(i, j) = c_{ij} + \max_{i < k < j} s(i, k) + s(k, j)

    Time grows with :math:`n^3`, memory with :math:`n^2`.

    Args:
        scores: Score of each span, :math:`c`.
        lengths: Words of each sentence, on the CPU.

    Shapes:
        - ``scores``: :math:`(\text{sentences}, n (n + 1) / 2)`, in the order of :func:`span_starts`, where
          :math:`n` is the number of words of the longest sentence; scores beyond a shorter one are not read
        - ``lengths``: :math:`(\text{sentences})`, long
    """
    words, size = int(lengths.max()), len(scores)
    begin = span_starts(words)
    # Sums by start and width, and by end and descending width, so that the parts of a span are slices.
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
    return [_tree_spans(cut[row], length) for row, length in enumerate(lengths.tolist())]


def _tree_spans(cut: np.ndarray, length: int) -> list[Span]:
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
    """Inputs of the network for some sentences.

    Args:
        words, tags: Ids, ``[sentences, longest]``.
        forms: Row of each word in :obj:`characters`, ``[sentences, longest]``.
        characters: Ids of the characters of each distinct form, ``[forms, 22]``.
        lengths: Number of words of each sentence, ``[sentences]``.
    """

    words: Tensor
    tags: Tensor
    forms: Tensor
    characters: Tensor
    lengths: Tensor


class SpanInputs:
    """Maps lower-cased words, tags and characters to ids; 0 is padding, 1 is unknown.

    Of a word of more than 20 characters, the first and the last ten are read.

    Args:
        words, characters, tags: The vocabularies, in the order of their ids.
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
        # The same width for each batch: the convolution reads the padding, and a tree must not depend on it.
        spelling = np.zeros((len(forms), _MAX_CHARACTERS + 2), dtype=np.int64)
        for row, form in enumerate(forms):
            if len(form) > _MAX_CHARACTERS:
                form = form[: _MAX_CHARACTERS // 2] + form[-_MAX_CHARACTERS // 2 :]
            spelling[row, : len(form)] = [self.characters.get(character, UNKNOWN) for character in form]
        return spelling


class SpanScorer(nn.Module):
    r"""Scores each label, and "no constituent", for each span of words: a BiLSTM over words, tags and
    spelling, as in `"A Minimal Span-Based Neural Constituency Parser" <https://arxiv.org/abs/1705.03919>`_.

    The input of a word is the concatenation of a learned vector, a frozen one, the maximum of a convolution
    over its characters, and the vector of its tag. With :math:`\mathbf{p}_i` for the gap before word
    :math:`i`, the forward state before it and the backward state after it,

    .. math::
        \mathbf{s}_{ij} = \mathbf{W}\, \mathrm{relu}\left(\mathrm{norm}(\mathbf{A} \mathbf{p}_i
        + \mathbf{B} \mathbf{p}_j)\right) + \mathbf{b}

    It is for prediction only: there is no dropout and no loss.

    Args:
        config: Sizes: ``word``, ``glove``, ``char``, ``char_out``, ``tag``, ``layers``, ``hidden`` per
            direction, ``span``. Other keys are not read.
        words: Number of words with a learned vector, a frozen one, or both.
        known: How many of them, the first ones, have a learned vector.
        characters, tags: Numbers of known characters and tags.
        labels: Number of labels.

    Shapes:
        - **input:** a :class:`SpanBatch`
        - **output:** :math:`(\text{sentences}, n (n + 1) / 2, 1 + \text{labels})`, with the spans in the
          order of :func:`~graphdep.parsing.constituency.span_starts` and "no constituent" first
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
        self.ends = nn.Parameter(torch.zeros(2, size))  # before the first word and after the last word
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
        """Vectors of the words, between the vectors of both ends: ``[sentences, longest + 2, size]``."""
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
_CHAIN = "+"  # S+VP: an S over the same words as a VP


class SpanParser:
    r"""Parses constituents: finds the binary tree with the best sum of span scores and keeps its labelled
    spans.

    .. math::
        \hat{T} = \operatorname{argmax}_T \sum_{(i, j) \in T} \max_l s_{ijl}

    where :math:`l` may be "no constituent", except for the whole sentence. A label such as ``S+VP`` is a
    chain of constituents over the same words. The network is a :class:`SpanScorer`; it runs on the CPU, in
    float32, and needs only PyTorch. A tree does not depend on the other sentences of a call.

    Args:
        scorer: The network.
        inputs: Ids of words, tags and characters.
        labels: The labels, without "no constituent".

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
        """The parser in a file of weights and plain values."""
        if Path(path).is_file():
            check_checksums([Path(path)])
        try:
            return cls._of(torch.load(path, map_location="cpu", weights_only=True))
        except pickle.UnpicklingError:  # torch's message advises to load the file nevertheless
            why = "it is damaged, or holds more than weights and plain values, which could run code"
        except Exception as error:  # a damaged file makes torch raise anything
            why = f"{type(error).__name__}: {str(error)[:200]}"
        raise ParserUnavailableError(f"the constituency model {path} does not load ({why})")

    @classmethod
    def _of(cls, saved: Any) -> SpanParser:
        if not isinstance(saved, Mapping) or saved.keys() != _KEYS:
            raise ValueError("not a constituency model")
        with torch.device("meta"):  # no random initialization: the weights come from the file
            scorer = SpanScorer(
                saved["config"],
                words=len(saved["words"]),
                known=saved["known"],
                characters=len(saved["chars"]),
                tags=len(saved["tags"]),
                labels=len(saved["labels"]),
            )
        scorer.load_state_dict({key: value.float() for key, value in saved["state"].items()}, assign=True)
        return cls(scorer, SpanInputs(saved["words"], saved["chars"], saved["tags"]), saved["labels"])

    @torch.inference_mode()
    def parse(self, sentences: Sequence[Tagged], *, batch_words: int = 1500) -> list[list[Constituent]]:
        """The constituents of sentences, in preorder.

        Time grows with the cube of the number of words of a sentence, memory with the square: on one CPU core
        a hundred words take 0.05 s, 400 words 0.5 s.

        Args:
            sentences: Each a list of words with their tags (Penn Treebank tags for the bundled model); an
                unknown tag counts as no tag.
            batch_words: The largest number of words of a batch, with padding. (default: :obj:`1500`)
        """
        for number, sentence in enumerate(sentences):
            if not sentence or not all(word for word, _ in sentence):
                raise ValueError(f"'sentences[{number}]' is empty, or has an empty word")
        found: list[list[Constituent]] = [[] for _ in sentences]
        for batch in length_batches([len(sentence) for sentence in sentences], batch_words):
            for number, constituents in zip(batch, self._parse_batch([sentences[i] for i in batch])):
                found[number] = constituents
        return found

    def _parse_batch(self, sentences: Sequence[Tagged]) -> list[list[Constituent]]:
        batch = self.inputs(sentences)
        scores = self.scorer(batch)
        begin = span_starts(int(batch.lengths.max()))
        for row, length in enumerate(batch.lengths.tolist()):
            scores[row, begin[length - 1], 0] = _NEVER  # the whole sentence must be a constituent
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
    """The sentences with constituents, based on their tags (:attr:`Sentence.xpos`); sentences of more than
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
                reason = f"sentence of {len(sentence)} words, the limit of the parser is {max_words}"
                mine.append(flat_sentence(sentence, reason))
                failure = failure or reason
        start += len(text.sentences)
        done.append(dataclasses.replace(text, sentences=mine, failure=failure))
    return done


def _tagged(sentence: Sentence) -> list[tuple[str, str]]:
    return [*zip(sentence.form, sentence.xpos or ["_"] * len(sentence))]
