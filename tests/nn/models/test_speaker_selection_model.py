from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, selection_data
from graphdep.nn.conv import AttentionConv
from graphdep.nn.models import SIA, GraphTransformer, SelectionModel, SpeakerSelectionModel
from graphdep.transforms import resolve
from graphdep.vocab import VocabTokens

WORDS = [f"w{number}" for number in range(6)]
TOKENS = VocabTokens(Vocab(WORDS))
TURNS = [EncodedUtterance.of(Sentence.chain([word]), TOKENS, RelationVocab()) for word in WORDS]


def encoder(segments=2):
    return GraphTransformer(
        len(WORDS) + 10,
        lambda number: AttentionConv(8, 4, heads=2),
        hidden_channels=8,
        num_layers=2,
        ff_channels=8,
        dropout=0.0,
        segments=segments,
    )


def batch():
    data = [selection_data(TURNS[:n], TURNS[5], TOKENS, y=1.0) for n in (1, 3)]
    return resolve("transformer")(Batch.from_data_list(data))


@pytest.mark.parametrize("sia", [False, True])
def test_a_speaker_has_a_vector_of_its_own(sia):
    torch.manual_seed(0)
    plain = encoder()
    made = SpeakerSelectionModel(SIA(plain, dropout=0.0) if sia else plain, dropout=0.0).eval()
    one = batch()
    one.mark = torch.ones_like(one.input_ids)
    first = made(one)
    one.mark = torch.full_like(one.input_ids, 2)
    assert not torch.allclose(made(one), first)
    with torch.no_grad():
        plain.embedding.mark.weight.zero_()
    scored = SelectionModel(made.encoder, dropout=0.0).eval()
    scored.mlp.load_state_dict(made.mlp.state_dict())
    assert torch.equal(made(one), scored(one))  # nothing else is added


def test_segments_may_be_the_speakers():
    plain = encoder()
    made = SpeakerSelectionModel(plain, speakers="segments", dropout=0.0).eval()
    assert plain.embedding.mark is None
    assert made(batch()).shape == (2,)
    with pytest.raises(ValueError, match="speakers='segments' needs two segments: the encoder has 0"):
        SpeakerSelectionModel(encoder(segments=0), speakers="segments")
    refusing = encoder()
    with pytest.raises(ValueError, match="'readout' must be one of"):
        SpeakerSelectionModel(refusing, readout="last")
    assert refusing.embedding.mark is None
    with pytest.raises(ValueError, match="'speakers' must be one of added, segments"):
        SpeakerSelectionModel(encoder(), speakers="both")
