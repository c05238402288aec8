"""Ids without a tokenizer, and examples built row by row from the layout that the paper gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import strategies as st

from graphdep import NodeType, RelationVocab, Sentence
from tests.kit import strategies

RELATIONS = RelationVocab()


class LetterTokens:
    """One to three pieces a word, as many as its letter says: ``a`` 1, ``b`` 2, ``c`` 3, ``d`` 1, ..."""

    cls_id, sep_id, eou_id, fingerprint = 2, 3, 4, "letters"

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        return [[10 * ord(word) + place for place in range((ord(word) - 97) % 3 + 1)] for word in words]


class Rows:
    """The node table, row by row: what the layouts are tested against."""

    def __init__(self) -> None:
        self.rows: list[dict[str, int]] = []
        self.arcs: list[tuple[int, int, int]] = []
        self.owner: list[tuple[int, int] | None] = []  # utterance and word, of a special node None

    def add(self, token: int, node_type: NodeType, utterance: int, segment: int) -> None:
        node = len(self.rows)
        row = {"input_ids": token, "node_type": node_type, "governor_index": node, "deprel": RELATIONS.SELF}
        row |= {"depth": -1, "word": -1, "utterance": utterance, "segment": segment, "position": node}
        self.rows.append(row)
        self.owner.append(None)

    def add_words(self, sentence: Sentence | None, utterance: int, segment: int) -> None:
        if sentence is None:
            return
        pieces = LetterTokens().encode(sentence.form)
        first = [len(self.rows) + sum(map(len, pieces[:word])) for word in range(len(sentence))]
        for word, (head, label) in enumerate(zip(sentence.head, sentence.deprel)):
            governor = first[head - 1] if head else first[word]
            if head:
                self.arcs.append((governor, first[word], RELATIONS[label]))
            for token in pieces[word]:
                self.add(token, NodeType.WORD, utterance, segment)
                self.rows[-1] |= {"governor_index": governor, "deprel": RELATIONS[label]}
                self.rows[-1] |= {"depth": sentence.depth[word], "word": word}
                self.owner[-1] = (utterance, word)

    def check(self, data) -> None:
        assert data.num_nodes == len(self.rows)
        for key in self.rows[0]:
            assert data[key].tolist() == [int(row[key]) for row in self.rows], key
        arcs = list(zip(*data.arc_index.tolist(), data.arc_type.tolist()))
        assert arcs == self.arcs


def _selection_rows(context: Sequence[Sentence | None], response: Sentence | None) -> Rows:
    rows = Rows()
    rows.add(2, NodeType.CLS, 0, 0)
    for number, sentence in enumerate(context):
        rows.add_words(sentence, number, 0)
        rows.add(4, NodeType.EOU, number, 0)
    rows.add(3, NodeType.SEP, max(len(context) - 1, 0), 0)
    rows.add_words(response, len(context), 1)
    rows.add(3, NodeType.SEP, len(context), 1)
    return rows


@pytest.fixture(scope="session")
def tokens() -> LetterTokens:
    return LetterTokens()


@pytest.fixture(scope="session")
def selection_rows() -> Callable[..., Rows]:
    """``selection_rows(context, response)``, where ``None`` is an utterance without words."""
    return _selection_rows


@pytest.fixture(scope="session")
def empty_rows() -> type[Rows]:
    """``empty_rows()`` is a table to fill."""
    return Rows


@pytest.fixture(scope="session")
def enhanced_sentences() -> Callable[[], st.SearchStrategy[Sentence]]:
    """``enhanced_sentences()``: sentences with enhanced graphs of random shape."""
    return strategies.enhanced_sentences
