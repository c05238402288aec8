from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, text_data
from graphdep.nn.models import ClassificationHead, DependencyTransformer, SentenceModel, TextEncoder
from graphdep.nn.models.selection import cls_nodes
from graphdep.parsing.parser import ChainParser as Chains
from graphdep.transforms import resolve
from graphdep.vocab import VocabTokens
from tests.kit.trees import random_sentence

VOCAB, RELATIONS = Vocab("abcdefgh"), RelationVocab()


def make() -> SentenceModel:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 12, "num_layers": 1, "heads": 3, "relation_dim": 5, "ff_channels": 10}
    encoder = DependencyTransformer(len(VOCAB), len(RELATIONS), **sizes)
    return SentenceModel(encoder, ClassificationHead(12, 3)).double()


def example(seed: int, sentences: int = 1, **options: bool) -> Data:
    rng = random.Random(seed)
    parsed = [random_sentence(rng, rng.randint(1, 5)) for _ in range(sentences)]
    return resolve("dt")(to_data(parsed, vocab=VOCAB, **options))


def test_classifies_the_sentence_of_each_example() -> None:
    model = make()
    data = Batch.from_data_list([example(seed) for seed in range(4)])
    out = model(data)
    assert out.shape == (4, 3)
    vectors = model.encoder(data)[data.ptr[:-1]]  # ROOT comes first
    torch.testing.assert_close(out, model.head(vectors), rtol=0, atol=1e-12)
    for b in range(4):
        torch.testing.assert_close(model(example(b)), out[b : b + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", [[2], [1, 2], [2, 1], [1, 3, 1]])
def test_every_example_is_a_sentence(sizes: list[int]) -> None:
    data = Batch.from_data_list([example(seed, size) for seed, size in enumerate(sizes)])
    place = next(i for i, size in enumerate(sizes) if size != 1)
    with pytest.raises(ValueError, match=f"has one sentence \\(got {sizes[place]} in example {place}\\)"):
        make()(data)


def test_a_sentence_without_root() -> None:
    data = Batch.from_data_list([example(1), example(2, root=False)])
    with pytest.raises(ValueError, match="has one sentence \\(got 0 in example 1\\)"):
        make()(data)
    with pytest.raises(ValueError, match="no ROOT nodes"):
        make()(example(2, root=False))


def test_reset_parameters() -> None:
    model = make()
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


@pytest.mark.parametrize("texts", [["a text .", "one"], [("a text .", "one"), ("b", "c d")]])
def test_the_state_of_cls_alone_where_an_encoder_reads_it_out(tmp_path, texts) -> None:
    pytest.importorskip("transformers")
    from graphdep.nn.pretrained import load_encoder
    from tests.kit.tiny_encoder import write_tiny_encoder

    encoder = load_encoder(write_tiny_encoder(tmp_path))
    torch.manual_seed(0)
    model = SentenceModel(encoder, ClassificationHead(8, 3, dropout=0.1, std=0.02)).eval()
    data = encoder.to_data(texts, parser=Chains(), edges="sia")
    out = model(data)
    expected = encoder(data)[data.ptr[:-1]] @ model.head.lin.weight.T
    torch.testing.assert_close(out, expected)
    alone = [model(encoder.to_data([text], parser=Chains(), edges="sia")) for text in texts]
    torch.testing.assert_close(torch.cat(alone), out)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    model.reset_parameters()  # of the head alone
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())


def test_relation_nodes_do_not_enter_the_head() -> None:
    class States(TextEncoder):
        hidden_channels = 4

        def __init__(self) -> None:
            super().__init__()
            self.x = None

        def forward(self, data: Data) -> torch.Tensor:
            return self.x

        def readout(self, data: Data, x: torch.Tensor) -> torch.Tensor:
            return x[cls_nodes(data)]

    tokens = VocabTokens(VOCAB)
    encoded = [EncodedUtterance.of(Sentence.chain(words), tokens, RELATIONS) for words in ("abc", "d", "ef")]
    examples = [text_data(encoded[0], encoded[1], tokens=tokens, max_length=20)]
    examples.append(text_data(encoded[2], tokens=tokens, max_length=20))
    data = resolve("dam")(Batch.from_data_list(examples))
    relation = data.node_type == NodeType.RELATION
    assert int(relation.sum()) == 3
    torch.manual_seed(0)
    model = SentenceModel(States(), ClassificationHead(4, 2, std=0.02)).eval()
    model.encoder.x = torch.randn(data.num_nodes, 4)
    out = model(data)
    model.encoder.x = model.encoder.x.masked_fill(relation[:, None], torch.nan)
    torch.testing.assert_close(model(data), out)
    model.encoder.x = model.encoder.x + 1
    assert not torch.equal(model(data), out)
