from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, text_data
from graphdep.nn.models import (
    ClassificationHead,
    DependencyTransformer,
    MaskedWordHead,
    RelatednessHead,
    SentenceModel,
    SentencePairModel,
    TextEncoder,
)
from graphdep.nn.models.selection import cls_nodes
from graphdep.parsing.parser import ChainParser as Chains
from graphdep.transforms import resolve
from graphdep.vocab import VocabTokens
from tests.kit.trees import random_sentence


def test_equals_the_formula() -> None:
    torch.manual_seed(0)
    head, x = ClassificationHead(6, 3).double(), torch.randn(5, 6, dtype=torch.float64)
    expected = x @ head.lin.weight.T + head.lin.bias
    torch.testing.assert_close(head(x), expected, rtol=0, atol=1e-12)
    shapes = {name: [*parameter.shape] for name, parameter in head.named_parameters()}
    assert shapes == {"lin.weight": [3, 6], "lin.bias": [3]}


def test_dropout_in_training_only() -> None:
    torch.manual_seed(0)
    head, x = ClassificationHead(40, 3, dropout=0.5), torch.randn(5, 40)
    assert not torch.equal(head(x), head(x))
    head.eval()
    assert torch.equal(head(x), head.lin(x))


def test_as_bert_draws_it() -> None:
    torch.manual_seed(0)
    head = ClassificationHead(400, 30, std=0.02)
    assert not head.lin.bias.any()
    assert abs(float(head.lin.weight.detach().std()) - 0.02) < 1e-3
    nn.init.ones_(head.lin.bias)
    head.reset_parameters()
    assert not head.lin.bias.any()


# -- relatedness -----------------------------------------------------------------------------------------


def test_equals_the_formula_of_relatedness() -> None:
    torch.manual_seed(0)
    head = RelatednessHead(6, 3, hidden_channels=4).double()
    left, right = torch.randn(2, 5, 6, dtype=torch.float64)
    out = head(left, right)
    for b in range(5):
        angle = head.lin_angle.weight @ (left[b] * right[b])
        distance = head.lin_distance.weight @ (left[b] - right[b]).abs()
        hidden = torch.sigmoid(angle + distance + head.lin_angle.bias)
        torch.testing.assert_close(
            out[b], head.lin_out.weight @ hidden + head.lin_out.bias, rtol=0, atol=1e-12
        )
    torch.testing.assert_close(head(right, left), out)  # neither angle nor distance has a direction


def test_sizes() -> None:
    """Published: 50 hidden units; one bias in the hidden layer, b^h, and one in the output."""
    shapes = {name: [*parameter.shape] for name, parameter in RelatednessHead(300, 5).named_parameters()}
    assert shapes == {
        "lin_angle.weight": [50, 300],
        "lin_angle.bias": [50],
        "lin_distance.weight": [50, 300],
        "lin_out.weight": [5, 50],
        "lin_out.bias": [5],
    }


# -- masked ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [None, 4])
def test_equals_its_formula(dim):
    head = MaskedWordHead(6, 9, dim)
    with torch.no_grad():
        head.bias.normal_()
        head.norm.weight.normal_()
    x, weight = torch.randn(5, 6), torch.randn(9, dim or 6)
    h = F.gelu(x @ head.lin.weight.T + head.lin.bias)
    h = (h - h.mean(-1, keepdim=True)) / (h.var(-1, unbiased=False, keepdim=True) + 1e-12).sqrt()
    expected = (h * head.norm.weight + head.norm.bias) @ weight.T + head.bias
    assert torch.allclose(head(x, weight), expected, atol=1e-5)
    assert head(x[:0], weight).shape == (0, 9)


# -- sentence --------------------------------------------------------------------------------------------


VOCAB = Vocab("abcdefgh")
RELATIONS = RelationVocab()


def make(kind: type = SentenceModel) -> SentenceModel | SentencePairModel:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 12, "num_layers": 1, "heads": 3, "relation_dim": 5, "ff_channels": 10}
    encoder = DependencyTransformer(len(VOCAB), len(RELATIONS), **sizes)
    head = ClassificationHead(12, 3) if kind is SentenceModel else RelatednessHead(12, 3)
    return kind(encoder, head).double()


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


# -- pair ------------------------------------------------------------------------------------------------


def test_compares_the_two_sentences_of_each_example() -> None:
    model = make(SentencePairModel)
    data = Batch.from_data_list([example(seed, 2) for seed in range(4)])
    out = model(data)
    assert out.shape == (4, 3)
    vectors = model.encoder.readout(data, model.encoder(data))
    for b in range(4):
        expected = model.head(vectors[2 * b], vectors[2 * b + 1])
        torch.testing.assert_close(out[b], expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(model(example(b, 2)), out[b : b + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", [[1], [3], [2, 1], [2, 3], [1, 3], [3, 1], [2, 1, 3]])
def test_every_example_is_a_pair(sizes: list[int]) -> None:
    data = Batch.from_data_list([example(seed, size) for seed, size in enumerate(sizes)])
    wrong = next(size for size in sizes if size != 2)
    with pytest.raises(ValueError, match=f"pairs have two sentences each \\(got {wrong}"):
        make(SentencePairModel)(data)
