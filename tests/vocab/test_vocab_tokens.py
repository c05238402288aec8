from __future__ import annotations

import pickle

import pytest

from graphdep import Vocab
from graphdep.vocab import VocabTokens
from graphdep.vocab.pieces import PieceVocab

WORDS = ["low", "[SEP]", "[EOU]", "LOW", "[CLS]", "[ROOT]", "newer"]


def test_one_id_a_word():
    tokens = VocabTokens(Vocab(["low", "new"], lower=True))
    assert (tokens.cls_id, tokens.sep_id, tokens.eou_id) == (2, 3, 4)
    assert tokens.encode(WORDS) == [[5], [0], [0], [5], [0], [0], [0]]
    assert tokens.encode([]) == []
    assert repr(tokens) == "VocabTokens(Vocab(7 words, lower=True))"


def test_pieces():
    pytest.importorskip("tokenizers")
    vocab = PieceVocab.train([["low", "new"]] * 3, 300)
    ids = VocabTokens(vocab).encode(WORDS)
    assert ids == [vocab.encode(word) for word in WORDS]
    assert all(word_ids and min(word_ids) > 4 for word_ids in ids)


def test_the_fingerprint_is_that_of_the_vocabulary():
    prints = [VocabTokens(v).fingerprint for v in (Vocab(["a"]), Vocab(["b"]), Vocab(["a"], lower=True))]
    assert len(set(prints)) == 3
    assert VocabTokens(Vocab(["a"])).fingerprint == prints[0]
    assert pickle.loads(pickle.dumps(VocabTokens(Vocab(["a"])))).fingerprint == prints[0]
