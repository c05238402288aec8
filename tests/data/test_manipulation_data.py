from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance
from graphdep.data.encoded import deletion_data, insertion_data, most_turns, search_data
from graphdep.vocab import VocabTokens

WORDS = [f"w{number}" for number in range(20)]
TOKENS = VocabTokens(Vocab(WORDS))
RELATIONS = RelationVocab()
SYMBOLS = {1: "[INS]", 2: "[DEL]", 3: "[SRCH]"}
SPECIAL = {NodeType.CLS: "[CLS]", NodeType.SEP: "[SEP]", NodeType.EOU: "[EOU]"}

dialogues = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=2, max_size=6)


def encoded(dialogue):
    trees = [Sentence.chain(turn) for turn in dialogue]
    return [EncodedUtterance.of(tree, TOKENS, RELATIONS) for tree in trees]


def read(data):
    """The nodes as people write them, and the number of the symbol that is the answer."""
    word_of = {TOKENS.encode([word])[0][0]: word for word in WORDS}
    names = [
        SYMBOLS[mark] if mark else SPECIAL.get(NodeType(kind)) or word_of[piece]
        for piece, kind, mark in zip(*(data[key].tolist() for key in ("input_ids", "node_type", "mark")))
    ]
    symbols = [target for target, mark in zip(data.mark_target.tolist(), data.mark.tolist()) if mark]
    assert data.mark_target.sum() == 1
    return names, symbols.index(1.0)


@given(dialogues, st.data())
def test_insertion_as_it_is_written_down(dialogue, data):
    target = data.draw(st.integers(0, len(dialogue) - 1))
    found = insertion_data(encoded(dialogue), target, TOKENS)
    found.validate()
    expected = ["[CLS]", "[INS]"]
    for turn in dialogue[:target] + dialogue[target + 1 :]:
        expected += [*turn, "[EOU]", "[INS]"]
    assert read(found) == ([*expected, "[SEP]", *dialogue[target], "[SEP]"], target)
    second = len(dialogue[target]) + 1
    assert found.segment.tolist() == [0] * (found.num_nodes - second) + [1] * second
    assert int(found.utterance.max()) == len(dialogue) - 1


@given(dialogues, st.data())
def test_deletion_as_it_is_written_down(dialogue, data):
    place = data.draw(st.integers(0, len(dialogue)))
    foreign = data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
    found = deletion_data(encoded(dialogue), encoded([foreign])[0], place, TOKENS)
    found.validate()
    expected = ["[CLS]"]
    for turn in [*dialogue[:place], foreign, *dialogue[place:]]:
        expected += ["[DEL]", *turn, "[EOU]"]
    assert read(found) == ([*expected, "[SEP]"], place)
    assert not found.segment.any()


@given(dialogues, st.data())
def test_search_as_it_is_written_down(dialogue, data):
    order = data.draw(st.permutations(range(len(dialogue) - 1)))
    found = search_data(encoded(dialogue), order, TOKENS)
    found.validate()
    expected = ["[CLS]"]
    for number in order:
        expected += ["[SRCH]", *dialogue[number], "[EOU]"]
    before = order.index(len(dialogue) - 2)
    assert read(found) == ([*expected, "[SEP]", *dialogue[-1], "[SEP]"], before)


@given(dialogues, st.integers(11, 60))
def test_no_utterance_is_lost_and_none_too_long(dialogue, max_length):
    turns = encoded(dialogue[: most_turns(max_length)])
    if len(turns) < 2:
        return
    made = [
        insertion_data(turns, 0, TOKENS, max_length=max_length),
        deletion_data(turns, turns[0], 1, TOKENS, max_length=max_length),
        search_data(turns, [*range(len(turns) - 1)], TOKENS, max_length=max_length),
    ]
    for data, count in zip(made, (len(turns), len(turns) + 1, len(turns))):
        assert data.num_nodes <= max_length
        assert data.utterance.unique().tolist() == [*range(count)]
        words = {(u, w) for u, w in zip(data.utterance.tolist(), data.word.tolist()) if w >= 0}
        of = [*turns, *([turns[0]] if count > len(turns) else [])]
        assert len(words) + int(data.cut_words.sum()) == sum(turn.num_words for turn in of)
        _, answer = read(data)
        assert 0 <= answer < count


def test_an_utterance_has_a_quarter_of_the_nodes():
    turns = encoded([WORDS, WORDS[:1]])
    data = search_data(turns, [0], TOKENS, max_length=40)
    assert int((data.utterance == 0).sum()) == 1 + 1 + 10 + 1 + 1  # [CLS] [SRCH] ... [EOU] [SEP]
    assert data.cut_words.tolist() == [[10, 0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda turns: insertion_data(turns[:1], 0, TOKENS), "'turns' must be at least 2 with words"),
        (lambda turns: insertion_data(turns, 2, TOKENS), "'place' must be between 0 and 1 .got 2"),
        (lambda turns: deletion_data(turns, turns[0], 3, TOKENS), "'place' must be between 0 and 2 .got 3"),
        (lambda turns: search_data(turns, [1], TOKENS), "'order' must have each number below 1 once"),
        (lambda turns: search_data(turns, [0], TOKENS, max_length=6), "'max_length' must be at least 7"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make(encoded([["w1"], ["w2"]]))
