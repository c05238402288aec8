from __future__ import annotations

import random
from importlib.util import find_spec

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch
from torch_geometric.explain import AttentionExplainer, Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from graphdep import RelationVocab, Vocab, to_data
from graphdep.data import EncodedUtterance, selection_data
from graphdep.nn import models as M
from graphdep.nn.attention import GatedRelationScore, RelationKeyValue
from graphdep.nn.conv import AttentionConv
from graphdep.nn.conv.attention_conv import _places
from graphdep.nn.explain import ExplainableModel
from graphdep.transforms import resolve
from graphdep.vocab import VocabTokens
from tests.kit.tiny_encoder import write_tiny_encoder
from tests.kit.trees import random_sentence

RELATIONS = RelationVocab()
VOCAB = Vocab([f"w{number}" for number in range(9)])
SIZES = {"hidden_channels": 8, "num_layers": 2, "ff_channels": 8}
needs_transformers = pytest.mark.skipif(find_spec("transformers") is None, reason="needs transformers")


def sentence(seed: int, words: int = 4):
    return random_sentence(random.Random(seed), words)


def examples(texts: int = 1, edges: str = "dra", **options):
    """Two examples with edges."""
    data = [to_data([sentence(3 * n + k) for k in range(texts)], vocab=VOCAB) for n in range(2)]
    return resolve(edges, **options)(Batch.from_data_list(data))


def conv(number: int) -> AttentionConv:
    return AttentionConv(8, 4, 2)


def scratch(**options) -> M.GraphTransformer:
    return M.GraphTransformer(len(VOCAB), conv, **SIZES, **options)


def sentence_model(edges="dra"):
    return M.SentenceModel(scratch(), M.ClassificationHead(8, 3)), examples(edges=edges)


def pair_model():
    encoder = M.DependencyTransformer(len(VOCAB), len(RELATIONS), heads=2, relation_dim=4, **SIZES)
    return M.SentencePairModel(encoder, M.RelatednessHead(8, 5, 4)), examples(2, "dt")


def pairs_of(tokens, max_length=64):
    parts = [[EncodedUtterance.of(sentence(n + k), tokens, RELATIONS) for k in range(3)] for n in range(2)]
    made = [selection_data(part[:2], part[2], tokens, max_length=max_length) for part in parts]
    return resolve("transformer")(Batch.from_data_list(made))


def selection_model(sia=None):
    encoder = scratch(segments=2)
    if sia is not None:
        encoder = M.SIA(encoder, layer=1, edges=sia)
    return M.SelectionModel(encoder), pairs_of(VocabTokens(VOCAB))


def token_model():
    return M.TokenModel(scratch(), 3), examples()


@pytest.fixture(scope="module")
def tiny_encoder(tmp_path_factory):
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder"), positions=64)


def pretrained(folder, terms=None, edges="dt", kind="bert"):
    from graphdep.nn.pretrained import load_encoder

    encoder = load_encoder(folder if kind == "bert" else write_tiny_encoder(f"{folder}-{kind}", 64, kind))
    if terms is not None:
        encoder.add_terms(terms)
    data = encoder.to_data(["it is so", "we do not"], parser="chain", edges=resolve(edges))
    if edges == "dam":
        encoder.add_relations(M.RelationEmbedding(len(RELATIONS), encoder.embedding_channels))
    return M.SentenceModel(encoder, M.ClassificationHead(8, 3)), data


def pretrained_selection(folder, sia):
    from graphdep.nn.pretrained import load_encoder

    encoder = load_encoder(folder)
    return M.SelectionModel(M.SIA(encoder, edges=sia)), pairs_of(encoder.tokens)


SCRATCH = {
    "sentence": sentence_model,
    "pair": pair_model,
    "selection": selection_model,
    "sia": lambda: selection_model("sia"),
    "sia-over-cliques": lambda: selection_model("transformer"),
    "token": token_model,
}
PRETRAINED = {
    "bert": lambda folder: pretrained(folder, edges="transformer"),
    "bert-dt": lambda folder: pretrained(folder, lambda: GatedRelationScore(8, 2, len(RELATIONS), 4)),
    "bert-g2g": lambda folder: pretrained(folder, lambda: RelationKeyValue(len(RELATIONS), 2, 4)),
    "bert-dam": lambda folder: pretrained(folder, edges="dam"),
    "mpnet-dt": lambda folder: pretrained(
        folder, lambda: GatedRelationScore(8, 2, len(RELATIONS), 4), kind="mpnet"
    ),
    "deberta-dam": lambda folder: pretrained(folder, edges="dam", kind="deberta-v2"),
    "bert-sia": lambda folder: pretrained_selection(folder, "sia"),
}
KINDS = [*SCRATCH, *(pytest.param(kind, marks=needs_transformers) for kind in PRETRAINED)]


@pytest.fixture
def made(request, tiny_encoder):
    torch.manual_seed(0)
    kind = request.param
    model, data = SCRATCH[kind]() if kind in SCRATCH else PRETRAINED[kind](tiny_encoder)
    for parameter in model.parameters():  # where all is near 0, nothing shows
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval(), data


def outputs(model, data):
    out = model(data)
    return out[0] if isinstance(out, tuple) else out


def masked(model, mask):
    """The output with edges masked."""
    set_masks(model, mask, model.data.edge_index, apply_sigmoid=False)
    try:
        return model(model.x, model.data.edge_index).detach()
    finally:
        clear_masks(model)


@pytest.mark.parametrize("made", KINDS, indirect=True)
def test_unmasked_it_is_the_model(made):
    model, data = made
    explainable = ExplainableModel(model, data)
    expected = outputs(model, data).detach()
    ones = torch.ones(data.num_edges)
    for out in (explainable(explainable.x, data.edge_index), masked(explainable, ones)):
        if isinstance(model, M.TokenModel):
            nodes = model(data)[1]
            rest = torch.ones(data.num_nodes, dtype=torch.bool).index_fill(0, nodes, False)
            assert out.shape == (data.num_nodes, 3)
            assert not out[rest].any()
            out = out[nodes]
        torch.testing.assert_close(out, expected)
    torch.testing.assert_close(outputs(model, data), expected)  # as it was before


@pytest.mark.parametrize("made", KINDS, indirect=True)
def test_edges_of_one_example_do_not_change_another(made):
    model, data = made
    explainable = ExplainableModel(model, data)
    second = data.batch[data.edge_index[0]] == 1
    before, after = (masked(explainable, mask) for mask in (torch.ones(data.num_edges), (~second).float()))
    rows = data.batch if isinstance(model, M.TokenModel) else torch.arange(2)
    torch.testing.assert_close(after[rows == 0], before[rows == 0])
    assert (after[rows == 1] - before[rows == 1]).abs().max() > 1e-3


@pytest.mark.parametrize("made", KINDS, indirect=True)
def test_gnn_explainer(made):
    model, data = made
    explainable = ExplainableModel(model, data)
    task = {"task_level": "graph", "mode": "multiclass_classification"}
    if isinstance(model, M.SelectionModel):
        task["mode"] = "binary_classification"
    if isinstance(model, M.TokenModel):
        task["task_level"] = "node"
    explainer = Explainer(
        explainable,
        algorithm=GNNExplainer(epochs=3),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={**task, "return_type": "raw"},
    )
    node = int(model(data)[1][0]) if isinstance(model, M.TokenModel) else None
    explanation = explainer(explainable.x, data.edge_index, index=node)
    assert explanation.edge_mask.shape == (data.num_edges,)
    assert explanation.edge_mask.isfinite().all()
    assert explanation.node_mask.shape == explainable.x.shape
    if node is not None:  # two layers reach no further than two edges
        assert not explanation.edge_mask[data.batch[data.edge_index[0]] == 1].any()
    assert explanation.edge_mask.max() > 0
    assert explanation.validate()


def of_attention(explainable: ExplainableModel) -> Explainer:
    return Explainer(
        explainable,
        algorithm=AttentionExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "regression", "task_level": "graph", "return_type": "raw"},
    )


@pytest.mark.parametrize(
    "made",
    ["sentence", *(pytest.param(kind, marks=needs_transformers) for kind in ("bert", "bert-dt"))],
    indirect=True,
)
def test_attention_explainer_shows_the_weights(made):
    from graphdep.visualization import attention_weights

    model, data = made
    explainable = ExplainableModel(model, data)
    mask = of_attention(explainable)(explainable.x, data.edge_index).edge_mask
    encoder = model.encoder
    weights = encoder.attention(data) if hasattr(encoder, "attention") else attention_weights(model, data)
    torch.testing.assert_close(mask, torch.stack([alpha.amax(1) for _, alpha in weights]).amax(0))


@pytest.mark.parametrize("made", ["sia"], indirect=True)
def test_own_edges_of_a_layer_have_the_masks_of_the_same_pairs(made):
    """Edges of the encoder have no say where it has no layer above the one that SIA reads."""
    model, data = made
    explainable = ExplainableModel(model, data)
    conv = model.encoder.layers[0]
    layouts = []
    handle = conv.register_forward_pre_hook(lambda conv, args: layouts.append(args[1]))
    ones = torch.ones(data.num_edges)
    before = masked(explainable, ones)
    handle.remove()
    own = {tuple(pair) for pair in layouts[0].edge_index.t().tolist()}
    inside = torch.tensor([tuple(pair) in own for pair in data.edge_index.t().tolist()])
    assert inside.sum() == len(own) < data.num_edges
    for layer in model.encoder.encoder.layers:
        layer.conv.explain = False
    torch.testing.assert_close(masked(explainable, inside.float()), before)
    assert not torch.allclose(masked(explainable, (~inside).float()), before)
    with pytest.raises(ValueError, match="this layer has edges of its own"):
        of_attention(explainable)(explainable.x, data.edge_index)


def test_places_are_those_of_a_loop():
    torch.manual_seed(1)
    for _ in range(20):
        mine, among = (torch.randint(0, 4, (2, 7)).unique(dim=1)[:, torch.randperm(3)] for _ in range(2))
        other = among.t().tolist()
        expected = [other.index(pair) if pair in other else len(other) for pair in mine.t().tolist()]
        assert _places(mine, among, 4).tolist() == expected
    assert _places(mine, mine[:, :0], 4).tolist() == [0] * 3


@pytest.mark.parametrize("apply_sigmoid", [True, False])
def test_a_mask_in_another_order_of_the_edges_masks_the_same(apply_sigmoid):
    conv, x = AttentionConv(4, 4).eval(), torch.randn(4, 4)
    edge_index = torch.tensor([[0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 2, 1]])
    mask, order, found = nn.Parameter(torch.randn(6)), torch.randperm(6), []
    for given, explained in ((mask, None), (nn.Parameter(mask[order]), edge_index[:, order])):
        set_masks(conv, given, edge_index, apply_sigmoid=apply_sigmoid)
        conv.explained = explained
        found.append(conv(x, edge_index))
    torch.testing.assert_close(*found)


def test_layers_over_turns_are_left_out():
    model = M.DialogBERT(scratch(), num_layers=1, heads=2, ff_channels=8, objectives=()).eval()
    data = examples(2)

    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, data):
            return self.model(data).x

    explainable = ExplainableModel(Rows(), data)
    assert [layer.conv.explain for layer in model.context.layers] == [False]
    changed = masked(explainable, torch.zeros(data.num_edges))
    assert not torch.allclose(changed, model(data).x)


def test_what_has_no_edges_to_explain_is_refused():
    model, data = sentence_model()
    with pytest.raises(ValueError, match="implicit edges"):
        ExplainableModel(model, examples(edges="transformer", implicit=True))
    with pytest.raises(ValueError, match="no 'edge_index': apply an edge constructor"):
        ExplainableModel(model, to_data([sentence(0)], vocab=VOCAB))
    for encoder in (M.LSTMEncoder(len(VOCAB)), M.TreeTransformer(len(VOCAB), hidden_channels=12)):
        lstm = M.SentenceModel(encoder, M.ClassificationHead(encoder.hidden_channels, 2))
        with pytest.raises(ValueError, match="sends nothing along the edges of the data"):
            ExplainableModel(lstm, data)
    explainable = ExplainableModel(model, data)
    with pytest.raises(ValueError, match="'edge_index' must be of shape"):
        explainable(explainable.x, data.edge_index[:, :2])
    with pytest.raises(ValueError, match="'x' must be of shape"):
        explainable(explainable.x[:, :2], data.edge_index)


def test_the_example_of_the_docstring(example):
    scope = {
        **{name: globals()[name] for name in ("resolve", "to_data", "ExplainableModel", "Explainer")},
        "GNNExplainer": lambda epochs: GNNExplainer(epochs=2),
        "SentenceModel": M.SentenceModel,
        "vocab": VOCAB,
        "sentence": example,
        "encoder": scratch(),
        "head": M.ClassificationHead(8, 3),
    }
    lines = [line.strip() for line in ExplainableModel.__doc__.split("Example:")[1].splitlines()]
    code = "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ")))
    *_, last = code.splitlines()
    exec(code.removesuffix(last), scope)
    assert eval(last, scope) is True
