from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import Compose

from graphdep import NodeType, RelationVocab
from graphdep.data import EncodedUtterance, selection_data
from graphdep.nn.conv import AttentionConv, SIAConv
from graphdep.nn.models import SIA, GraphTransformer, SelectionModel
from graphdep.nn.prepared import own_layout
from graphdep.transforms import CompleteEdges, RandomTree, SelfLoops, resolve
from tests.kit.slow import assert_same_gradients, heads_of
from tests.kit.trees import random_sentence

RELATIONS = RelationVocab()
SPECIAL = (NodeType.CLS, NodeType.SEP, NodeType.EOU)
COMPLETE = resolve("transformer")


class Pieces:
    """Words of one to three pieces."""

    cls_id, sep_id, eou_id, fingerprint = 2, 3, 4, "pieces"

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        return [[5 + ord(word[0]) % 8] * (1 + ord(word[0]) % 3) for word in words]


def utterance(rng: random.Random, words: int) -> EncodedUtterance:
    sentence = random_sentence(rng, words) if words else None
    return EncodedUtterance.of(sentence, Pieces(), RELATIONS)


def example(seed: int, sizes: Sequence[int] = (4, 0, 1, 5)) -> Data:
    """A context and, last, its response."""
    rng = random.Random(seed)
    *context, response = [utterance(rng, size) for size in sizes]
    return COMPLETE(selection_data(context, response, Pieces()))


def backbone(num_layers: int = 3, dropout: float = 0.0) -> GraphTransformer:
    return GraphTransformer(
        13,
        lambda number: AttentionConv(12, 4, 3, dropout=dropout),
        hidden_channels=12,
        num_layers=num_layers,
        ff_channels=10,
        dropout=dropout,
        segments=2,
    )


def make(seed: int = 0, encoder: nn.Module | None = None, **options) -> SIA:
    torch.manual_seed(seed)
    model = SIA(encoder or backbone(), **{"dropout": 0.0, **options}).double()
    for parameter in model.parameters():  # nothing at zero or one, or its place would not show
        nn.init.normal_(parameter, std=0.4)
    return model


def word_of(data: Data, node: int) -> tuple[int, int]:
    return int(data.utterance[node]), int(data.word[node])


def ancestors(data: Data, node: int) -> set[tuple[int, int]]:
    """Words above a node, by walking from governor to governor."""
    above = set()
    while word_of(data, governor := int(data.governor_index[node])) != word_of(data, node):
        above.add(word_of(data, node := governor))
    return above


def mask_of(data: Data, name: str, max_sum: int) -> Tensor:
    """M^SIA (Eq. 3 and 4) and the special nodes, row: who looks; column: at whom."""
    n = data.num_nodes
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(n):
            special = data.node_type[i] in SPECIAL or data.node_type[j] in SPECIAL
            own = word_of(data, i) == word_of(data, j)
            intra = word_of(data, j) in ancestors(data, i)
            inter = not special and int(data.depth[i] + data.depth[j]) <= max_sum
            mask[i, j] = special or own or (intra and name != "sia-inter") or (inter and name != "sia-intra")
    return mask if name != "transformer" else torch.ones_like(mask)


def literal(model: SIA, data: Data, name: str, max_sum: int) -> Tensor:
    """Eq. 3-6 on one example."""
    h, layers = model.encoder(data, return_layers=True)
    x, mask = layers[model.layer], mask_of(data, name, max_sum)
    for layer in model.layers:
        conv = getattr(layer, "conv", layer)
        heads = []
        for query, key, value in heads_of(conv, x):
            score = query @ key.T / 2
            if conv.mask == "multiplicative":
                score = mask * score
            else:
                score = score.masked_fill(~mask, -torch.inf)
            heads.append(score.softmax(dim=-1) @ value)
        out = torch.cat(heads, dim=1)
        x = out if layer is conv else layer.norm(x + layer.lin_out(out))
    return h + x


@pytest.mark.parametrize(
    ("mask", "max_sum"), [("additive", 0), ("additive", 3), ("additive", 6), ("multiplicative", 3)]
)
def test_equals_the_formula(mask: str, max_sum: int) -> None:
    model = make(mask=mask, max_sum=max_sum)
    examples = [example(0), example(1, (0, 0)), example(3, (2, 1, 0))]
    expected = torch.cat([literal(model, data, "sia", max_sum) for data in examples])
    out = model(Batch.from_data_list(examples))
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-10)
    alone = torch.cat([model(data) for data in examples])
    torch.testing.assert_close(out, alone, rtol=0, atol=1e-10)
    assert_same_gradients(out, expected, [*model.parameters()], atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"block": "bert"},
        {"layer": 0},
        {"layer": 3, "sia_layers": 1},
        {"sia_layers": 3},
        {"mask": "multiplicative"},
    ],
)
def test_options(options: dict) -> None:
    check_edges("sia", **options)


@pytest.mark.parametrize("edges", ["sia-intra", "sia-inter", "transformer"])
def test_rows_of_table_2(edges: str) -> None:
    check_edges(edges)
    check_edges(edges, mask="multiplicative")


def check_edges(edges: str, **options) -> None:
    own = {"max_sum": 3} if edges in ("sia", "sia-inter") else {}
    model, data = make(edges=edges, **own, **options), example(0)
    torch.testing.assert_close(model(data), literal(model, data, edges, 3), rtol=0, atol=1e-10)


@settings(max_examples=3)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(0, 6))
def test_any_dialogue(seed: int, sizes: list[int], max_sum: int) -> None:
    model, data = make(max_sum=max_sum), example(seed, sizes)
    torch.testing.assert_close(model(data), literal(model, data, "sia", max_sum), rtol=0, atol=1e-10)


def test_edges_are_its_own() -> None:
    """Neither do the encoder's edges reach the new layers, nor theirs the encoder, nor the data."""
    bare = example(0)
    del bare["edge_index"], bare["clique"]
    for edges in (SelfLoops(), CompleteEdges("utterance"), COMPLETE):
        model, data = make(max_sum=3), edges(bare)
        before = copy.copy(data)
        out, layers = model(data, return_layers=True)
        assert data.keys() == before.keys()
        assert all(data[key] is before[key] for key in sorted(data.keys()))
        assert len(layers) == 4
        assert layers[-1] is out
        for state, expected in zip(layers[:-1], model.encoder(data, return_layers=True)[1]):
            assert torch.equal(state, expected)
        torch.testing.assert_close(out, literal(model, data, "sia", 3), rtol=0, atol=1e-10)


@pytest.mark.parametrize("selection", [False, True])
def test_tensors_are_made_where_the_data_is(selection: bool) -> None:
    model, data = make(), Batch.from_data_list([example(0), example(1)])
    model = SelectionModel(model).double().eval() if selection else model
    expected = model(data)
    with torch.device("meta"):  # where tensors are made that are not told otherwise
        out = model(data)
    assert torch.equal(out, expected)


def test_a_control_takes_the_trees_away() -> None:
    model = make(edges=Compose([RandomTree(1), resolve("sia", max_sum=3)]))
    bare = example(0)
    del bare["edge_index"], bare["clique"]
    random_tree = COMPLETE(RandomTree(1)(bare))
    expected = literal(model, random_tree, "sia", 3)
    torch.testing.assert_close(model(example(0)), expected, rtol=0, atol=1e-10)
    assert not torch.allclose(model(example(0)), literal(model, example(0), "sia", 3))


def test_it_is_an_encoder() -> None:
    model = make()
    assert (model.hidden_channels, model.num_layers, model.heads, model.layer) == (12, 3, 3, 1)
    assert SIA(backbone(), sia_layers=5).num_layers == 3
    assert "DepthEdges(max_sum=4" in str(SIA(backbone(), edges="sia-inter"))
    twice, data = make(encoder=model, layer=2), example(1)
    torch.testing.assert_close(twice(data), literal(twice, data, "sia", 4), rtol=0, atol=1e-10)
    for depth, middle in ((1, 1), (2, 1), (6, 3), (12, 6)):
        assert SIA(backbone(depth)).layer == middle


def test_around_a_pretrained_encoder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from graphdep.nn.pretrained import PretrainedEncoder

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcd", *(f"##{letter}" for letter in "efgh")]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))
    sizes = {"hidden_size": 12, "num_hidden_layers": 4, "num_attention_heads": 3, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=len(words), **sizes, max_position_embeddings=32)
    encoder = PretrainedEncoder(transformers.BertModel(config), tokenizer)
    model = make(encoder=encoder, max_sum=3).eval()
    assert (model.layer, model.heads) == (2, 3)
    rng = random.Random(0)
    trees = [random_sentence(rng, size) for size in (4, 3, 5)]
    examples = []
    for number in range(2):
        parts = [EncodedUtterance.of(tree, encoder.tokens, RELATIONS) for tree in trees[number:]]
        examples.append(COMPLETE(selection_data(parts[:-1], parts[-1], encoder.tokens)))
    expected = torch.cat([literal(model, data, "sia", 3) for data in examples])
    torch.testing.assert_close(model(Batch.from_data_list(examples)), expected, rtol=0, atol=1e-9)


def test_attention() -> None:
    """Weights of the new layers, whose rows sum to 1; [CLS] looks at everything, a word at what it may."""
    model = make(max_sum=2, dropout=0.5)
    model.encoder.embedding.dropout.p = 0.5
    examples = [example(0), example(1, (3, 2))]
    found = model.attention(Batch.from_data_list(examples))
    assert model.training
    assert model.layers[0].training
    assert len(found) == 2
    shift = 0
    for data in examples:
        n = data.num_nodes
        mask = mask_of(data, "sia", 2)
        assert mask[0].all()
        for pairs, alpha in found:
            inside = (pairs[1] >= shift) & (pairs[1] < shift + n)
            source, target = pairs[:, inside] - shift
            assert torch.equal(
                torch.zeros(n, n, dtype=torch.bool).index_put((target, source), torch.tensor(True)), mask
            )
            total = torch.zeros(n, 3, dtype=alpha.dtype).index_add(0, target, alpha[inside])
            torch.testing.assert_close(total, torch.ones_like(total))
        shift += n
    bert = make(block="bert")
    assert [pairs.size(1) for pairs, _ in bert.attention(example(0))] == [
        int(mask_of(example(0), "sia", 4).sum())
    ] * 2


@pytest.mark.parametrize("block", ["attention", "bert"])
def test_autocast(block: str) -> None:
    model, data = make(block=block).float(), Batch.from_data_list([example(0), example(1)])
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.2)
    expected = model(data)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(data)
    torch.testing.assert_close(out.float(), expected, rtol=0.1, atol=0.1)
    out.float().sum().backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.layers.parameters())


@pytest.mark.parametrize("block", ["attention", "bert"])
def test_start_dropout_and_copy(block: str) -> None:
    model, data = make(block=block, dropout=0.5), example(0)
    assert not torch.equal(model(data), model(data))
    model.eval()
    assert torch.equal(copy.deepcopy(model)(data), model(data))
    encoder = backbone()
    kept = copy.deepcopy(encoder.state_dict())
    fresh = SIA(encoder, block=block)
    assert all(torch.equal(kept[name], value) for name, value in encoder.state_dict().items())
    lin = next(module for module in fresh.layers.modules() if isinstance(module, nn.Linear))
    assert 0.01 < float(lin.weight.detach().std()) < 0.03
    assert not lin.bias.any()


def test_dropout_covers_what_a_block_adds() -> None:
    model, data = make(block="bert", dropout=1.0), example(0)
    layout = own_layout(data, model.edges, SIAConv.reads)
    (state, *_), block = model.encoder(data, return_layers=True)[1], model.layers[0]
    torch.testing.assert_close(block(state, layout), block.norm(state))


def test_print() -> None:
    text = str(SIA(backbone(), max_sum=5, mask="multiplicative"))
    assert "layer=1" in text
    assert "DepthEdges(max_sum=5" in text
    assert "SIAConv(12, 4, heads=3, dropout=0.1, mask='multiplicative')" in text


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"'edges' must keep the nodes of the data \(it makes \d+ of \d+\)"):
        make(edges="dam")(example(0))
    with pytest.raises(ValueError, match="build the edges without implicit=True"):
        make(edges=CompleteEdges(implicit=True), mask="multiplicative")(example(0))
