from __future__ import annotations

import json
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence, Vocab, to_data
from graphdep.vocab.pieces import MAX_PIECES, PieceVocab, vocab_from_state

pytest.importorskip("tokenizers")

CORPUS = [["The", "lowest", "newest", "widest", "low", "new"]] * 5 + [["lower", "wider"]] * 3
SPECIALS = ["[UNK]", "[ROOT]", "[CLS]", "[SEP]", "[EOU]"]
VOCAB = PieceVocab.train(CORPUS, 300, min_freq=2, lower=True)

# Of 49 bytes at most, so that none has more pieces than are kept.
words = st.text(st.characters(exclude_categories=["Z", "Cc", "Cs"]), min_size=1, max_size=12).filter(
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
    with pytest.raises(ValueError, match=r"'size' must be at least 261 \(got 260\)"):
        PieceVocab.train(CORPUS, 260)
    with pytest.raises(ValueError, match=r"'min_freq' must be at least 1 \(got 0\)"):
        PieceVocab.train(CORPUS, 300, min_freq=0)
    with pytest.raises(ValueError, match="'bpe' is not the JSON text of a tokenizer"):
        PieceVocab("{}")
    with pytest.raises(ValueError, match="'word' is empty"):
        VOCAB.encode("")
    with pytest.raises(ValueError, match=r"'low' may have several pieces: call encode\(\)"):
        to_data([Sentence.chain(["low"])], vocab=VOCAB)
    assert "low" in VOCAB
    assert "" not in VOCAB
    state = VOCAB.state_dict()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ValueError, match=r"need the package tokenizers .*pip install 'graphdep\[bpe\]'"):
        vocab_from_state(state)


def test_a_long_word_has_its_first_pieces():
    ids = VOCAB.encode("low" * 20_000)
    assert len(ids) == MAX_PIECES == 50
    assert ("low" * 20_000).startswith(VOCAB.decode(ids))
    assert VOCAB.encode("x" * 49) == VOCAB.encode("x" * 60)
    assert len(VOCAB.encode("x" * 48)) == 49


def test_pieces_of_a_word_are_no_single_id():
    with pytest.raises(ValueError, match=r"'\[EOU\]' may have several pieces: call encode\(\)"):
        VOCAB.id_of("[EOU]")


def test_what_training_writes_is_what_is_read():
    tokenizers = pytest.importorskip("tokenizers")
    bpe = VOCAB.state_dict()["bpe"]
    assert PieceVocab(bpe).state_dict()["bpe"] == bpe
    package = tokenizers.Tokenizer.from_str(bpe)
    for word in ("lowest", "wider", "é", "走x", "[EOU]"):
        assert PieceVocab(bpe).encode(word) == [5 + piece for piece in package.encode(word).ids]


def changed(change) -> str:
    tokenizer = json.loads(VOCAB.state_dict()["bpe"])
    change(tokenizer, tokenizer["model"])
    return json.dumps(tokenizer)


PADDING = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": ""}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, m: t.update(padding=PADDING), "'padding' must be empty"),
        (lambda t, m: t.update(normalizer={"type": "Replace"}), "'normalizer' must be empty"),
        (lambda t, m: t.update(added_tokens=[{"id": 1}]), "'added_tokens' must be empty"),
        (lambda t, m: m.update(dropout=0.5), "'dropout' must be empty"),
        (lambda t, m: m.update(type="Unigram"), "no model of type 'BPE'"),
        (lambda t, m: m.update(vocab=[]), "no model of type 'BPE' with a dict 'vocab'"),
        (lambda t, m: m.pop("merges"), "no model of type 'BPE'"),
        (lambda t, m: m["vocab"].update(low=10**9), "the numbers of the .* pieces must be 0 to"),
        (lambda t, m: m["vocab"].update(low=0.0), "the numbers of the .* pieces must be 0 to"),
        (lambda t, m: m["vocab"].update({"a b": len(m["vocab"])}), r"stand for bytes \(got 'a b'\)"),
        (lambda t, m: m["vocab"].update({"": len(m["vocab"])}), r"stand for bytes \(got ''\)"),
        (lambda t, m: m.update(vocab={"a": 0}, merges=[]), "255 bytes have no piece"),
        (lambda t, m: m["merges"].append(["z", "q"]), "a merge must be of two pieces that are known"),
        (lambda t, m: m["merges"].append(["no", "q"]), "a merge must be of two pieces that are known"),
        (lambda t, m: m["merges"].append("l o"), "a merge must be of two pieces"),
        (lambda t, m: m["merges"].append(["l", 3]), "a merge must be of two pieces"),
    ],
)
def test_a_text_of_another_tokenizer(change, message):
    with pytest.raises(ValueError, match=f"'bpe' is not the JSON text of a tokenizer .*{message}"):
        vocab_from_state({"bpe": changed(change), "lower": False})


@pytest.mark.parametrize("text", ["", "[]", "null", "[" * 100_000, '{"model": NaN}'])
def test_no_json_text(text):
    with pytest.raises(ValueError, match="'bpe' is not the JSON text of a tokenizer"):
        PieceVocab(text)


def test_states_that_are_none():
    with pytest.raises(ValueError, match="no str under 'bpe'"):
        vocab_from_state({"bpe": b"{}", "lower": False})
    with pytest.raises(ValueError, match="no list under 'words'"):
        vocab_from_state(["bpe"])
    with pytest.raises(ValueError, match="no list under 'words'"):
        vocab_from_state({"words": "abc", "lower": False})
