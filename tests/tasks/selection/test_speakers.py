from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from graphdep import NodeType, RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, selection_data
from graphdep.tasks.selection.model import Speakers
from graphdep.vocab import VocabTokens

WORDS = [f"w{number}" for number in range(6)]
TOKENS = VocabTokens(Vocab(WORDS))


def example(sizes):
    trees = [Sentence.chain(WORDS[:size]) for size in sizes]
    *context, response = [EncodedUtterance.of(tree, TOKENS, RelationVocab()) for tree in trees]
    return selection_data(context, response, TOKENS)


def slow(data, place):
    """Utterance by utterance, from the response back."""
    found = []
    rows = [data[key].tolist() for key in ("node_type", "utterance")]
    of_response = max(rows[1])
    for kind, utterance in zip(*rows):
        back, second = of_response, True
        while back != utterance:
            back, second = back - 1, not second
        if place == "segments":
            found.append(0 if kind == NodeType.CLS else int(second))
        else:
            found.append(0 if kind in (NodeType.CLS, NodeType.SEP) else 1 + int(second))
    return found


@pytest.mark.parametrize(("place", "key"), [("added", "mark"), ("segments", "segment")])
@given(st.lists(st.lists(st.integers(1, 3), min_size=2, max_size=5), min_size=1, max_size=3))
def test_speakers_take_turns_and_the_last_word_is_the_seconds(place, key, dialogues):
    examples = [example(sizes) for sizes in dialogues]
    expected = [row for data in examples for row in slow(data, place)]
    assert Speakers(place)(Batch.from_data_list(examples))[key].tolist() == expected
    alone = [row for data in examples for row in Speakers(place)(data.clone())[key].tolist()]
    assert alone == expected


def test_its_name_tells_the_place():
    assert repr(Speakers("added")) == "Speakers('added')"


def test_an_unknown_place_is_named():
    with pytest.raises(ValueError, match=r"'place' must be one of added, segments \(got 'bogus'\)"):
        Speakers("bogus")
