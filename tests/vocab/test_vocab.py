from __future__ import annotations

import json
import pickle
import unicodedata
import zlib
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Vocab
from graphdep.vocab import CLS_ID, EOU_ID, ROOT_ID, SEP_ID, UNK_ID, PhraseVocab, RelationVocab, VocabTokens
from graphdep.vocab.pieces import PieceVocab
from graphdep.vocab.vocab import detokenize

SPECIALS = ["[UNK]", "[ROOT]", "[CLS]", "[SEP]", "[EOU]"]
LEARNED = ["prep_in", "nmod:weird"]


def test_vocab_ids_are_fixed():
    vocab = Vocab(["b", "a"])
    assert [vocab[word] for word in [*SPECIALS, "b", "a"]] == list(range(7))
    assert [vocab[word] for word in SPECIALS] == [UNK_ID, ROOT_ID, CLS_ID, SEP_ID, EOU_ID]
    assert len(vocab) == 7
    assert vocab["never seen"] == 0
    assert "a" in vocab
    assert "c" not in vocab
    assert str(vocab) == "Vocab(7 words, lower=False)"


def test_build_counts_then_sorts():
    corpus = [["b", "a", "c"], ["a", "b", "d"], ["B"]]
    assert Vocab.build(corpus).words[5:] == ["a", "b", "B", "c", "d"]
    assert Vocab.build(corpus, min_freq=2).words[5:] == ["a", "b"]
    assert Vocab.build(corpus, lower=True).words[5:] == ["b", "a", "c", "d"]
    assert Vocab.build([]).words == SPECIALS
    with pytest.raises(ValueError, match="'min_freq' must be at least 1 .*got 0"):
        Vocab.build(corpus, min_freq=0)


@given(st.lists(st.lists(st.text(min_size=1, max_size=2))), st.integers(1, 3), st.booleans(), st.randoms())
def test_build_does_not_depend_on_the_order(corpus, min_freq, lower, random):
    vocab = Vocab.build(corpus, min_freq=min_freq, lower=lower)
    counts = Counter(word.lower() if lower else word for words in corpus for word in words)
    assert set(vocab.words[5:]) == {word for word, count in counts.items() if count >= min_freq}
    random.shuffle(corpus)
    assert Vocab.build(corpus, min_freq=min_freq, lower=lower) == vocab


def test_lower_looks_words_up_in_lower_case():
    vocab = Vocab(["room"], lower=True)
    assert vocab["ROOM"] == vocab["room"] == 5
    assert "Room" in vocab
    assert vocab["[ROOT]"] == 1
    assert Vocab(["room"])["Room"] == 0


def test_words_twice():
    for words, message in [(["a", "b", "a"], "'a'.* .2 times"), (["[UNK]"], r"'\[UNK\]'.* .2 times")]:
        with pytest.raises(ValueError, match=f"'words' repeats {message}"):
            Vocab(words)


def test_fixed_block_never_changes():
    # Saved models depend on these numbers: a new relation is appended as a learned one, never inserted.
    relations = RelationVocab()
    assert (relations.NONE, relations.SELF, relations.UNK) == (0, 1, 2)
    known = {"acl": 3, "nsubj": 55, "root": 71, "xcomp": 75, "acl:adv": 77, "nsubj:pass": 569}
    known |= {"obl:tmod": 691, "xcomp:vcomp": 755}
    assert {label: relations[label] for label in known} == known
    assert [relations.path(*p) for p in [(0, 0), (0, 1), (1, 0), (1, 1), (8, 0)]] == [1, 757, 758, 760, 800]
    assert len(relations) == 801
    assert RelationVocab(LEARNED)["prep_in"] == 801
    assert not relations.fallbacks
    labels = "\n".join(map(relations.label, range(len(relations))))
    assert zlib.crc32(labels.encode()) == 3645113885


def test_labels_and_ids_are_one_to_one():
    relations = RelationVocab(LEARNED)
    labels = [relations.label(i) for i in range(len(relations))]
    assert len(set(labels)) == len(relations)
    assert labels[:5] == ["[NONE]", "[SELF]", "[UNK]", "acl", "acl^-1"]
    assert labels[757:759] == ["path(0,1)", "path(1,0)"]
    assert labels[-4:] == ["prep_in", "prep_in^-1", "nmod:weird", "nmod:weird^-1"]
    plain = [label for label in labels if label[0] != "[" and "^" not in label and "path(" not in label]
    assert all(relations.label(relations[label]) == label for label in plain)
    assert all(label in relations for label in plain)
    assert not relations.fallbacks


def test_a_label_outside():
    for number in [-1, 801]:
        with pytest.raises(ValueError, match=rf"'relation' must be between 0 and 800 .*got {number}"):
            RelationVocab().label(number)


def test_inverse_is_an_involution():
    relations = RelationVocab(LEARNED)
    ids = torch.arange(len(relations))
    inverse = RelationVocab.inverse(ids)
    assert RelationVocab.inverse(inverse).equal(ids)
    assert inverse[:3].tolist() == [0, 1, 2]
    for number in range(3, len(relations)):
        label = relations.label(number)
        if label.startswith("path("):
            a, b = map(int, label[5:-1].split(","))
            assert inverse[number] == RelationVocab.path(b, a)
        else:
            assert relations.label(int(inverse[number])) == (label[:-3] if "^" in label else label + "^-1")
    assert RelationVocab.inverse(ids.view(1, -1)).shape == (1, len(relations))
    assert RelationVocab.inverse(torch.empty(0, dtype=torch.long)).shape == (0,)


def test_a_path_outside():
    for a, b in [(-1, 0), (0, -1), (9, 0), (4, 5)]:
        with pytest.raises(ValueError, match=rf"path \({a}, {b}\) is outside 0 <= a \+ b <= 8"):
            RelationVocab.path(a, b)


def test_fallback_to_the_base_then_to_dep_is_counted():
    relations = RelationVocab(LEARNED)
    assert relations["nmod:in_front_of"] == relations["nmod"]
    assert relations["nmod:in_front_of"] == relations["nmod"]
    assert relations["nmod:a:b"] == relations["nmod"]
    assert relations["strange"] == relations["strange:x"] == relations["_"] == relations["dep"]
    assert relations["prep_in:x"] == relations["prep_in"]
    assert relations["NSUBJ"] == relations["dep"]
    assert relations.fallbacks == {
        "nmod:in_front_of": 2, "nmod:a:b": 1, "strange": 1, "strange:x": 1, "_": 1, "prep_in:x": 1, "NSUBJ": 1
    }  # fmt: skip
    assert "nmod:in_front_of" not in relations


def test_fallback_goes_to_the_nearest_base():
    relations = RelationVocab(["obl:agent:by"])
    assert relations["obl:agent:by:x"] == relations["obl:agent:by"]
    assert relations["obl:agent:with"] == relations["obl:agent"] != relations["obl"]
    assert relations["nsubj:pass:xsubj"] == relations["nsubj:pass"]
    assert relations.fallbacks == {"obl:agent:by:x": 1, "obl:agent:with": 1, "nsubj:pass:xsubj": 1}


def test_learned_labels_are_those_seen_often_enough():
    labels = ["conj:or"] * 5 + ["obl:in"] * 6 + ["conj:and"] * 6 + ["nmod:per"] * 4 + ["nsubj"] * 9
    relations = RelationVocab.learn(iter(labels))
    assert relations.learned == ["conj:and", "obl:in", "conj:or"]
    assert [relations[label] for label in relations.learned] == [801, 803, 805]
    assert not relations.fallbacks
    assert relations["nmod:per"] == relations["nmod"] == RelationVocab()["nmod"]
    assert relations["strange:in"] == relations["dep"]
    assert relations.fallbacks == {"nmod:per": 1, "strange:in": 1}
    assert RelationVocab.learn(labels, min_count=4).learned == ["conj:and", "obl:in", "conj:or", "nmod:per"]
    assert RelationVocab.learn([]) == RelationVocab()
    with pytest.raises(ValueError, match=r"'min_count' must be at least 1 \(got 0\)"):
        RelationVocab.learn(labels, min_count=0)


def test_relations_of_arcs():
    ud, other = {"nsubj": 50, "nmod:in_front_of": 45}, {"SBJ": 3, "nsubj": 2, "obj": 1, "OBJ": 1}
    for labels, how, learned, used in [
        (ud | {"SBJ": 5}, "auto", [], None),  # 95%
        (ud | {"SBJ": 6}, "auto", ["nmod:in_front_of", "SBJ"], ["nsubj"]),
        (ud, "learned", ["nmod:in_front_of"], ["nsubj"]),
        (other, "auto", ["SBJ"], ["nsubj"]),
        (other, "ud", [], None),
        ({}, "auto", [], None),
    ]:
        relations = RelationVocab.of_arcs(Counter(labels).elements(), how)
        assert relations == RelationVocab.of_arcs(Counter(labels), how)
        assert (relations.learned, relations.used) == (learned, used), (labels, how)
    for count, how, learned, used in [
        (5, "auto", ["nmod:in_front_of", "ARG0"], None),  # 95% and the rest
        (40, "auto", ["nmod:in_front_of", "ARG0"], ["nsubj"]),
        (40, "ud", [], None),
    ]:
        graphs = RelationVocab.of_arcs(Counter(ud | {"obl:at": 4, "ARG0": count}), how, graph_min_freq=5)
        assert (graphs.learned, graphs.used) == (learned, used)
    with pytest.raises(ValueError, match="'relations' must be one of auto, ud, learned"):
        RelationVocab.of_arcs([], "own")


def test_labels_of_the_fixed_block_that_training_does_not_have(tmp_path):
    relations = RelationVocab(["SBJ", "comp:obj"], ["nsubj", "nmod"])
    plain = RelationVocab()
    assert [relations[label] for label in ("nsubj", "nmod")] == [plain["nsubj"], plain["nmod"]]
    assert [relations[label] for label in ("SBJ", "comp:obj")] == [801, 803]
    assert relations["obj"] == relations["comp:x"] == relations["dep"] == RelationVocab()["dep"]
    assert relations["nmod:tmod"] == relations["nmod"]
    assert relations["nsubj:pass"] == relations["nsubj"]
    assert relations.fallbacks == {"obj": 1, "comp:x": 1, "nmod:tmod": 1, "nsubj:pass": 1}
    labels = {"SBJ": 2, "obj": 3, "nmod:tmod": 1, "dep": 4, "nsubj": 1}
    assert relations.unknown(labels) == {"obj": 3}
    said = (
        "4 of 11 arcs (36%) have unknown labels, read as 'dep' or the part before ':': obj (3), nmod:tmod (1)"
    )
    assert relations.note(labels) == said
    assert relations.note({"SBJ": 2}) == ""
    assert relations.copy() == relations != RelationVocab(relations.learned)
    relations.save(tmp_path / "relations.json")
    assert RelationVocab.load(tmp_path / "relations.json") == relations
    for wrong in (["SBJ"], ["nsubj", "nsubj"]):
        with pytest.raises(ValueError, match="'used'"):
            RelationVocab(["SBJ"], wrong)


@pytest.mark.parametrize(
    ("labels", "least", "types", "said"),
    [
        ({"nsubj": 3, "nmod:x": 1}, None, 2, "1 label of Universal Dependencies, 100% of the arcs"),
        (
            {"nsubj": 9, "nmod:x": 5, "nmod:y": 4},
            5,
            3,
            "1 label of Universal Dependencies, 100% of the arcs, and 1 learned from training: "
            "3 relation types",
        ),
        (
            {"SBJ": 3, "nsubj": 2},
            None,
            2,
            "2 labels learned from the training trees; 40% of the arcs are in Universal Dependencies' table",
        ),
    ],
)
def test_what_is_said_of_relations(labels, least, types, said):
    relations = RelationVocab.of_arcs(Counter(labels), graph_min_freq=least)
    assert relations.about(Counter(labels)) == said
    assert relations.types(Counter(labels)) == types
    assert types == len({relations[label] for label in labels})


BAD_LABELS = ["", ":", " ", "obl:a\tb", "obl:a\n", "obl:\x00", "obl:\x85", "obl:\u2028", "obl:\ud83d"]


def test_labels_that_no_vocabulary_may_have_are_not_learned(tmp_path):
    for label in BAD_LABELS:
        relations = RelationVocab.learn([label, "obl:by", label, "obl:by", "obl:به\u200cجز"], min_count=1)
        assert relations.learned == ["obl:by", "obl:به\u200cجز"]
        relations.save(tmp_path / "relations.json", overwrite=True)
        assert RelationVocab.load(tmp_path / "relations.json") == relations
        assert relations[label] == relations["obl" if label.startswith("obl") else "dep"]
        assert relations.fallbacks == {label: 1}
        with pytest.raises(
            ValueError, match=r"'learned' has a label without a name or with a forbidden character"
        ):
            RelationVocab(["obl:by", label])


@given(
    st.lists(st.sampled_from(["conj:and", "obl:in", "obl:at", "nsubj", "ref"])),
    st.integers(1, 6),
    st.randoms(),
)
def test_learning_does_not_depend_on_the_order(labels, min_count, random):
    relations = RelationVocab.learn(labels, min_count)
    counts = Counter(label for label in labels if label not in RelationVocab())
    assert set(relations.learned) == {label for label, count in counts.items() if count >= min_count}
    random.shuffle(labels)
    assert RelationVocab.learn(labels, min_count) == relations
    assert RelationVocab.from_state_dict(relations.state_dict()).learned == relations.learned
    for label in relations.learned:
        inverse = int(RelationVocab.inverse(torch.tensor(relations[label])))
        assert relations.label(inverse) == label + "^-1"


def test_learned_labels_must_be_new():
    for learned in [["x", "x"], ["nsubj"]]:
        with pytest.raises(ValueError, match=f"'learned' repeats '{learned[0]}'"):
            RelationVocab(learned)


def test_save_and_load(tmp_path):
    for vocab in [Vocab(["b", "走", '"'], lower=True), RelationVocab(LEARNED), Vocab(), RelationVocab()]:
        path = tmp_path / "new" / "vocab.json"
        vocab.save(path, overwrite=True)
        loaded = type(vocab).load(path)
        assert loaded == vocab
        assert str(loaded) == str(vocab)
        assert type(vocab).from_state_dict(vocab.state_dict()) == vocab
        assert json.loads(path.read_text(encoding="utf-8")) == vocab.state_dict()


def test_equality():
    assert Vocab(["a"]) != Vocab(["b"])
    assert Vocab(["a"]) != Vocab(["a"], lower=True)
    assert RelationVocab(["x"]) != RelationVocab()
    assert Vocab() != RelationVocab()


def test_a_damaged_file(tmp_path):
    for cls, raw, message in [
        (Vocab, b"", "Expecting value"),
        (Vocab, b'{"words": ["a"', "Expecting"),
        (Vocab, b"\xff\xfe", "codec can't decode"),
        (Vocab, b"[" * 100_000, "not a vocabulary file"),
        (Vocab, b"[]", "no list under 'words'"),
        (Vocab, b'{"words": ["a"]}', "no bool under 'lower'"),
        (Vocab, b'{"words": {"a": 1}, "lower": false}', "no list under 'words'"),
        (Vocab, b'{"words": ["a", 3], "lower": false}', "'words' must be a list of strings"),
        (Vocab, b'{"words": [["a"]], "lower": false}', "'words' must be a list of strings"),
        (Vocab, b'{"words": ["a", "a"], "lower": false}', "'words' repeats 'a'"),
        (RelationVocab, b'{"words": ["a"], "lower": false}', "no int under 'fixed'"),
        (
            RelationVocab,
            b'{"fixed": 700, "learned": []}',
            "saved with 700 fixed relations, this version has 801",
        ),
        (RelationVocab, b'{"fixed": 801, "learned": [1]}', "'learned' must be a list of strings"),
    ]:
        path = tmp_path / "vocab.json"
        path.write_bytes(raw)
        with pytest.raises(ValueError, match=rf"{path}: not a vocabulary file .*{message}|{path}: {message}"):
            cls.load(path)


def test_a_state_that_is_none():
    for state, message in [
        ({"words": "abc", "lower": False}, "no list under 'words'"),
        ({"words": ["a", 1], "lower": False}, r"'words' must be a list of strings .* \(got 1\)"),
        ({"words": ["a", "b\ud83d"], "lower": False}, r"half a character \(got 'b\\ud83d'\)"),
        ({"words": ["a"], "lower": "no"}, "no bool under 'lower'"),
    ]:
        with pytest.raises(ValueError, match=message):
            Vocab.from_state_dict(state)


def test_a_state_of_relations_that_is_none():
    for learned in ["abc", ["a", 1], None]:
        state = {**RelationVocab().state_dict(), "learned": learned}
        with pytest.raises(ValueError, match="no list under 'learned'|'learned' must be a list of strings"):
            RelationVocab.from_state_dict(state)


def test_words_of_a_text_are_never_special():
    vocab = Vocab(["a"])
    assert [vocab.id_of(word) for word in [*SPECIALS, "a", "b"]] == [0, 0, 0, 0, 0, 5, 0]
    assert [vocab[word] for word in SPECIALS] == [0, 1, 2, 3, 4]
    lower = Vocab.build([["[EOU]", "a"]], lower=True)
    assert lower.words[5:] == ["[eou]", "a"]
    assert [lower.id_of(word) for word in ("[EOU]", "[eou]", "A", "[ROOT]")] == [5, 5, 6, 0]


def test_phrases_have_the_same_ids_for_all():
    phrases = PhraseVocab()
    assert (phrases["X"], phrases["ADJP"], phrases["S"], phrases["NP"]) == (1, 2, 20, 13)
    assert len(phrases) == 39
    assert len(phrases) < len(RelationVocab())  # phrase nodes take the table of relation nodes
    assert [phrases.label(phrases[label]) for label in ("NP", "WHPP", "ROOT")] == ["NP", "WHPP", "ROOT"]
    assert phrases.label(0) == "[NONE]"


def test_labels_fall_back_and_are_counted():
    phrases = PhraseVocab(["NP-SBJ"])
    assert phrases.label(phrases["NP-SBJ"]) == "NP-SBJ"
    assert [phrases.label(phrases[label]) for label in ("@NP", "NP=1", "VP|x", "S+VP")] == [
        "NP",
        "NP",
        "VP",
        "S",
    ]
    assert not phrases.fallbacks
    assert phrases["[NONE]"] == phrases["1"] == phrases[""] == PhraseVocab.UNK
    assert phrases.fallbacks == {"[NONE]": 1, "1": 1, "": 1}
    assert "NP" in phrases
    assert "@NP" not in phrases
    assert repr(phrases) == "PhraseVocab(40 labels, 1 further)"


def test_wrong_phrases():
    with pytest.raises(ValueError, match="'further' repeats 'NP'"):
        PhraseVocab(["NP"])
    with pytest.raises(ValueError, match=r"'phrase' must be between 0 and 38 \(got 39\)"):
        PhraseVocab().label(39)


TEXTS = {
    "do n't you think it 's ( really ) good ?": "don't you think it's (really) good?",
    "Mr. Smith 's dog , ca n't he ?": "Mr. Smith's dog, can't he?",
    '" hello , " she said . " No ! "': '"hello," she said. "No!"',
    "`` hello , '' she said .": '"hello," she said.',
    "I 'm gon na go , I 'll wait ; you ca n't": "I'm gonna go, I'll wait; you can't",
    "$ 5 for 10 % of it : -LRB- yes -RRB- !": "$5 for 10% of it: (yes)!",
    "I don ’ t know . It ’ s ok": "I don’t know. It’s ok",
    "you ' re right , the students ' books are": "you're right, the students' books are",
    "at five o'clock ...": "at five o'clock...",
    "": "",
}


def test_detokenize():
    for words, text in TEXTS.items():
        assert detokenize(words.split(), truecase=False) == text


def test_detokenize_gives_words_their_case():
    for words, text in [
        ("i 'm here . are you ?", "I'm here. Are you?"),
        ("well , i do n't know , i think", "Well, I don't know, I think"),
        ('" hi ! " i said', '"Hi!" I said'),
        ("yes ! ( no . )", "Yes! (No.)"),
        ("[UNK] is here . he is", "[UNK] is here. He is"),
        ("did it ? so it is , i.e. done", "Did it? So it is, i.e. done"),
        ("This has case . i do not", "This has case. i do not"),
        ("5 o'clock", "5 o'clock"),
        ("你 好 。", "你 好 。"),
    ]:
        assert detokenize(words.split()) == text


@given(st.lists(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1), max_size=8))
def test_detokenize_loses_no_letter(words):
    def letters(text: str) -> list[str]:
        return [character for character in text if character.isalnum()]

    plain = [word for word in words if "LB-" not in word and "RB-" not in word]
    assert letters(detokenize(plain, truecase=False)) == letters("".join(plain))


@given(st.lists(st.text(), max_size=6))
def test_only_what_can_be_shown_comes_out(words):
    text = detokenize(words)
    assert not any(unicodedata.category(character) == "Cc" for character in text)


def test_white_space_in_a_word_is_one_space():
    assert detokenize(["a" + " " * 50_000 + "b", " ", "", "\u2003."], truecase=False) == "a b."


ODD_WORDS = ["low", "[SEP]", "[EOU]", "LOW", "[CLS]", "[ROOT]", "newer"]


def test_one_id_a_word():
    tokens = VocabTokens(Vocab(["low", "new"], lower=True))
    assert (tokens.cls_id, tokens.sep_id, tokens.eou_id) == (2, 3, 4)
    assert tokens.encode(ODD_WORDS) == [[5], [0], [0], [5], [0], [0], [0]]
    assert tokens.encode([]) == []
    assert repr(tokens) == "VocabTokens(Vocab(7 words, lower=True))"


def test_tokens_of_pieces():
    pytest.importorskip("tokenizers")
    vocab = PieceVocab.train([["low", "new"]] * 3, 300)
    ids = VocabTokens(vocab).encode(ODD_WORDS)
    assert ids == [vocab.encode(word) for word in ODD_WORDS]
    assert all(word_ids and min(word_ids) > 4 for word_ids in ids)


def test_the_fingerprint_is_that_of_the_vocabulary():
    prints = [VocabTokens(v).fingerprint for v in (Vocab(["a"]), Vocab(["b"]), Vocab(["a"], lower=True))]
    assert len(set(prints)) == 3
    assert VocabTokens(Vocab(["a"])).fingerprint == prints[0]
    assert pickle.loads(pickle.dumps(VocabTokens(Vocab(["a"])))).fingerprint == prints[0]
