from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, selection_data, text_data
from graphdep.sentence.sentence import truncate
from graphdep.testing import assert_same_data
from graphdep.vocab import PhraseVocab, VocabTokens
from tests.kit.strategies import sentences

RELATIONS = RelationVocab()
utterances = st.none() | sentences(max_words=8)


def encoded(tokens, sentence):
    return EncodedUtterance.of(sentence, tokens, RELATIONS)


@given(utterances)
def test_one_text(tokens, empty_rows, text):
    rows = empty_rows()
    rows.add(2, NodeType.CLS, 0, 0)
    rows.add_words(text, 0, 0)
    rows.add(3, NodeType.SEP, 0, 0)
    data = text_data(encoded(tokens, text), tokens=tokens, max_length=50)
    data.validate()
    rows.check(data)
    assert data.cut_words.tolist() == [[0, 0]]


def pair_rows(rows, first, second):
    rows.add(2, NodeType.CLS, 0, 0)
    for number, text in enumerate([first, second]):
        rows.add_words(text, number, number)
        rows.add(3, NodeType.SEP, number, number)
    return rows


@given(sentences(max_words=8), sentences(max_words=8), st.integers(9, 50))
def test_a_pair_in_little_room(tokens, empty_rows, first, second, max_length):
    data = text_data(encoded(tokens, first), encoded(tokens, second), tokens=tokens, max_length=max_length)
    cut = data.cut_words[0].tolist()
    kept = [truncate(text, len(text) - lost) for text, lost in zip((first, second), cut)]
    pair_rows(empty_rows(), *kept).check(data)
    assert data.num_nodes <= max_length
    sizes = [encoded(tokens, text).num_pieces for text in (first, second)]
    if sum(sizes) + 3 <= max_length:
        assert cut == [0, 0]
    # A text is cut only where it is longer than half of the room.
    half = (max_length - 3) // 2
    assert all(not lost or size > half for size, lost in zip(sizes, cut))
    if all(cut):  # nothing more would have fitted but a word of three pieces, in each half
        assert data.num_nodes >= max_length - 4


def test_the_longer_text_has_the_room_that_the_shorter_leaves(tokens):
    first, second = (encoded(tokens, Sentence.chain(["a"] * words)) for words in (2, 9))
    data = text_data(first, second, tokens=tokens, max_length=10)
    assert data.cut_words.tolist() == [[0, 4]]
    assert data.segment.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    data = text_data(second, first, tokens=tokens, max_length=10)
    assert data.cut_words.tolist() == [[4, 0]]


def test_of_two_long_texts_the_first_has_the_odd_piece(tokens):
    text = encoded(tokens, Sentence.chain(["a"] * 9))
    assert text_data(text, text, tokens=tokens, max_length=10).cut_words.tolist() == [[5, 6]]
    assert text_data(text, text, tokens=tokens, max_length=11).cut_words.tolist() == [[5, 5]]


def test_something_is_left_of_each_text(tokens):
    word = encoded(tokens, Sentence.chain(["c", "a"]))
    data = text_data(word, word, tokens=tokens, max_length=5)
    assert data.input_ids.tolist() == [2, 990, 3, 990, 3]
    assert data.cut_words.tolist() == [[2, 2]]
    assert text_data(word, tokens=tokens, max_length=3).input_ids.tolist() == [2, 990, 3]


def test_errors(tokens):
    text = encoded(tokens, Sentence.chain(["a"]))
    with pytest.raises(ValueError, match=r"'max_length' must be at least 3 \(got 2\)"):
        text_data(text, tokens=tokens, max_length=2)
    with pytest.raises(ValueError, match=r"'max_length' must be at least 5 \(got 4\)"):
        text_data(text, text, tokens=tokens, max_length=4)


# -- enhanced graphs ---------------------------------------------------------------------------------------

WORDS = VocabTokens(Vocab(list("abcdefgh")))


def enhanced(tokens, sentence):
    return EncodedUtterance.of(sentence, tokens, RELATIONS, arcs="enhanced")


@given(st.data())
def test_enhanced_arcs_are_those_of_to_data(enhanced_sentences, data):
    first, second = data.draw(enhanced_sentences()), data.draw(enhanced_sentences() | sentences())
    out = text_data(enhanced(WORDS, first), enhanced(WORDS, second), tokens=WORDS, max_length=100)
    out.validate()
    options = {"root": False, "arcs": "enhanced", "vocab": WORDS.vocab, "relations": RELATIONS}
    table = to_data([first, second], segment=[0, 1], **options)
    own = out.node_type == NodeType.WORD
    node = own.nonzero().view(-1)
    for key in ("input_ids", "node_type", "deprel", "depth", "utterance", "word", "segment"):
        assert out[key][own].equal(table[key]), key
    assert out.governor_index[own].equal(node[table.governor_index])
    assert out.arc_index.equal(node[table.arc_index])
    assert out.arc_type.equal(table.arc_type)
    assert not out.cut_words.any()


@given(st.data())
def test_enhanced_arcs_run_between_first_pieces(tokens, enhanced_sentences, data):
    sentence = data.draw(enhanced_sentences())
    utterance = enhanced(tokens, sentence)
    out = text_data(utterance, tokens=tokens, max_length=100)
    first = 1 + utterance.counts.cumsum() - utterance.counts
    assert out.arc_index.tolist() == first[utterance.arcs[:2]].tolist()
    assert out.arc_type.tolist() == utterance.arcs[2].tolist()
    assert out.num_nodes == utterance.num_pieces + 2


@given(st.data(), st.integers(5, 40))
def test_a_batch_of_enhanced_graphs_gives_the_examples_back(tokens, enhanced_sentences, data, max_length):
    texts = [enhanced(tokens, data.draw(enhanced_sentences())) for _ in range(3)]
    examples = [
        text_data(texts[0], texts[1], tokens=tokens, max_length=max_length),
        text_data(texts[2], tokens=tokens, max_length=max_length),
    ]
    batch = Batch.from_data_list(examples)
    for example, alone in zip(examples, batch.to_data_list()):
        example.validate()
        assert example.num_nodes <= max_length
        assert_same_data(alone, example)
    assert batch.batch[batch.arc_index[0]].equal(batch.batch[batch.arc_index[1]])


@given(st.data(), st.integers(5, 40))
def test_cut_enhanced_graphs(tokens, enhanced_sentences, data, max_length):
    first, second = (enhanced(tokens, data.draw(enhanced_sentences())) for _ in range(2))
    out = text_data(first, second, tokens=tokens, max_length=max_length)
    words = [len(set(out.word[(out.utterance == part) & (out.word >= 0)].tolist())) for part in (0, 1)]
    for text, kept, cut in zip((first, second), words, out.cut_words[0].tolist()):
        assert kept >= 1
        assert cut in (text.num_words - kept, text.num_words - kept + 1)  # of the first word a part is left
    assert bool((out.node_type[out.arc_index] == NodeType.WORD).all())


def test_the_first_word_is_left_where_its_empty_nodes_do_not_fit(tokens):
    row = ("1.1", "c", "_", "_", "_", "_", "_", "_", "1:conj:and", "_")
    sentence = Sentence(["a", "b"], [0, 1], ["root", "obj"], deps=[[("0", "root")], []], empty=[row])
    out = text_data(enhanced(tokens, sentence), tokens=tokens, max_length=5)
    assert out.input_ids.tolist() == [2, 970, 3]
    assert out.arc_index.shape == (2, 0)
    assert out.cut_words.tolist() == [[1, 0]]


@given(st.data())
def test_selection_data_has_enhanced_arcs_too(enhanced_sentences, data):
    turns = [data.draw(enhanced_sentences()), data.draw(sentences()), data.draw(enhanced_sentences())]
    encoded = [enhanced(WORDS, turn) for turn in turns]
    out = selection_data(encoded[:2], encoded[2], WORDS, max_length=200)
    table = to_data(turns, root=False, arcs="enhanced", relations=RELATIONS)
    node = (out.node_type == NodeType.WORD).nonzero().view(-1)
    assert out.arc_index.equal(node[table.arc_index])
    assert torch.equal(out.arc_type, table.arc_type)


PHRASES = [("S", 0, 4), ("NP", 0, 2), ("VP", 2, 4), ("NP", 3, 4)]


@pytest.mark.parametrize("max_length", [20, 5, 4, 3])
def test_constituents_lose_the_words_that_are_cut(max_length):
    from graphdep.sentence.tree import cut_constituents

    sentence = Sentence([*"abcd"], [2, 0, 2, 3], ["x", "root", "x", "x"], constituents=PHRASES)
    tokens = VocabTokens(Vocab([*"abcd"]))
    text = EncodedUtterance.of(sentence, tokens, RelationVocab(), phrases=True)
    data = text_data(text, tokens=tokens, max_length=max_length)
    kept = min(4, max_length - 2)
    expected = cut_constituents(PHRASES, 0, kept)
    assert data.phrase_index.tolist() == [
        [1 + start for _, start, _ in expected],
        [end for _, _, end in expected],
    ]
    labels = PhraseVocab()
    assert data.phrase_type.tolist() == [labels[label] for label, *_ in expected]
    pair = text_data(text, text, tokens=tokens, max_length=20)
    assert pair.phrase_index.tolist() == [[1, 1, 3, 4, 6, 6, 8, 9], [4, 2, 4, 4, 9, 7, 9, 9]]


def test_no_constituents_are_no_key_and_none_that_are_known_an_error():
    tokens = VocabTokens(Vocab(["a"]))
    bare = Sentence.chain(["a"])
    assert "phrase_index" not in text_data(
        EncodedUtterance.of(bare, tokens, RelationVocab()), tokens=tokens, max_length=9
    )
    with pytest.raises(ValueError, match="the sentence 'a' has no constituents"):
        EncodedUtterance.of(bare, tokens, RelationVocab(), phrases=True)
    nothing = EncodedUtterance.of(None, tokens, RelationVocab(), phrases=True)
    assert text_data(nothing, tokens=tokens, max_length=9).phrase_index.shape == (2, 0)
