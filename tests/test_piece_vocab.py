from __future__ import annotations

import json
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence, Vocab, to_data
from graphdep.piece_vocab import PieceVocab, vocab_from_state

pytest.importorskip("tokenizers")

CORPUS = [["The", "lowest", "newest", "widest", "low", "new"]] * 5 + [["lower", "wider"]] * 3
SPECIALS = ["[UNK]", "[ROOT]", "[CLS]", "[SEP]", "[EOU]"]
VOCAB = PieceVocab.train(CORPUS, 300, min_freq=2, lower=True)

words = st.text(st.characters(exclude_categories=["Z", "Cc", "Cs"]), min_size=1).filter(
    lambda w: w.split() == [w]
)


def test_special_symbols_have_the_ids_of_words():
    assert (
        [VOCAB[symbol] for symbol in SPECIALS] == [Vocab()[symbol] for symbol in SPECIALS] == [0, 1, 2, 3, 4]
    )
    assert VOCAB.words[:5] == SPECIALS


def test_frequent_words_are_one_piece():
    assert len(VOCAB.encode("low")) == 1
    assert VOCAB.encode("LOW") == VOCAB.encode("low")
    assert len(VOCAB.encode("lowish")) > 1
    assert len(VOCAB) <= 300
    assert repr(VOCAB) == f"PieceVocab({len(VOCAB)} pieces, lower=True)"


@given(st.lists(words))
def test_words_come_back(sentence):
    vocab = PieceVocab.from_state_dict(VOCAB.state_dict() | {"lower": False})
    ids = [piece for word in sentence for piece in vocab.encode(word)]
    assert all(5 <= piece < len(vocab) for piece in ids)
    assert vocab.decode(ids) == " ".join(sentence)
    assert vocab.words_of([1, *ids, 4]) == sentence


def test_the_same_corpus_gives_the_same_pieces():
    again = PieceVocab.train(iter(CORPUS), 300, min_freq=2, lower=True)
    assert again == VOCAB
    assert again.words == VOCAB.words
    assert PieceVocab.train(CORPUS, 280, min_freq=2, lower=True) != VOCAB
    # No pair is seen 1000 times, so that the bytes are all there is.
    assert len(PieceVocab.train(CORPUS, 300, min_freq=1000)) == 261


def test_a_word_that_looks_special_is_none():
    assert 4 not in VOCAB.encode("[EOU]")
    assert VOCAB.decode(VOCAB.encode("[EOU]")) == "[eou]"


def test_save_and_load(tmp_path):
    state = json.loads(json.dumps(VOCAB.state_dict()))
    assert sorted(state) == ["bpe", "lower"]
    VOCAB.save(tmp_path / "pieces.json")
    for vocab in (
        vocab_from_state(state),
        PieceVocab.load(tmp_path / "pieces.json"),
        pickle.loads(pickle.dumps(VOCAB)),
    ):
        assert vocab == VOCAB
        assert vocab.encode("newer") == VOCAB.encode("newer")
    assert vocab_from_state(Vocab(["a"]).state_dict()) == Vocab(["a"])
    (tmp_path / "words.json").write_text('{"words": [], "lower": true}')
    with pytest.raises(ValueError, match=r"words\.json: not a vocabulary file \(no str under 'bpe'\)"):
        PieceVocab.load(tmp_path / "words.json")


def test_errors(monkeypatch):
    with pytest.raises(ValueError, match=r"'size' must be at least 261, .* \(got 260\)"):
        PieceVocab.train(CORPUS, 260)
    with pytest.raises(ValueError, match=r"'min_freq' must be at least 1 \(got 0\)"):
        PieceVocab.train(CORPUS, 300, min_freq=0)
    with pytest.raises(ValueError, match="'bpe' is not the JSON text of a tokenizer"):
        PieceVocab("{}")
    with pytest.raises(ValueError, match="'word' is empty"):
        VOCAB.encode("")
    with pytest.raises(ValueError, match=r"'low' is no special symbol .*: call encode\(\)"):
        to_data([Sentence.chain(["low"])], vocab=VOCAB)
    assert "low" in VOCAB
    assert "" not in VOCAB
    state = VOCAB.state_dict()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ValueError, match=r"need the package tokenizers .*pip install 'graphdep\[bpe\]'"):
        vocab_from_state(state)
