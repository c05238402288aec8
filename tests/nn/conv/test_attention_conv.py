"""What every conv has to do; what only one does is in its own file."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric import EdgeIndex
from torch_geometric.data import Data
from torch_geometric.explain import AttentionExplainer, Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import TransformerConv
from torch_geometric.nn.conv import MessagePassing
from torch_geometric.testing import assert_module, withPackage

from graphdep import RelationVocab
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import (
    AttentionConv,
    DAMConv,
    DRAConv,
    GATEConv,
    GatedRelationConv,
    LISAConv,
    RelationKeyValueConv,
    SIAConv,
)
from graphdep.nn.conv.attention_conv import MessageSender
from graphdep.nn.pretrained.anatomy import EdgeSender


def _of_one_example(**kwargs) -> SIAConv:
    """A conv that needs to be told what an example is is told that here it is all nodes."""
    conv = SIAConv(8, 4, heads=2, **kwargs)
    conv.register_forward_pre_hook(_as_layout, with_kwargs=True)
    return conv


def _as_layout(conv: SIAConv, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    names = dict(zip(("x", "edge_index"), args)) | kwargs
    if isinstance(names["x"], Tensor) and isinstance(names["edge_index"], Tensor):
        data = Data(edge_index=names["edge_index"], num_nodes=names["x"].size(-2))
        names["edge_index"] = AttentionLayout.of(data)
    return (), names


CONVS: dict[str, Callable[..., AttentionConv]] = {
    "AttentionConv": lambda **kwargs: AttentionConv(8, 4, heads=2, **kwargs),
    "DRAConv": lambda **kwargs: DRAConv(8, 4, heads=2, **kwargs),
    "DRAConv-residual": lambda **kwargs: DRAConv(8, 4, heads=2, residual=True, **kwargs),
    "SIAConv": lambda **kwargs: SIAConv(8, 4, heads=2, **kwargs),
    "SIAConv-multiplicative": lambda **kwargs: _of_one_example(mask="multiplicative", **kwargs),
    "DAMConv": lambda **kwargs: DAMConv(8, 4, heads=2, **kwargs),
    "GatedRelationConv": lambda **kwargs: GatedRelationConv(8, 4, heads=2, num_relations=6, **kwargs),
    "GatedRelationConv-no-gate": lambda **kwargs: GatedRelationConv(
        8, 4, heads=2, num_relations=6, gate=None, **kwargs
    ),
    "GatedRelationConv-all": lambda **kwargs: GatedRelationConv(
        8, 4, heads=2, num_relations=6, untyped="gate", **kwargs
    ),
    "RelationKeyValueConv": lambda **kwargs: RelationKeyValueConv(8, 4, heads=2, num_relations=6, **kwargs),
    "LISAConv": lambda **kwargs: LISAConv(8, 4, heads=2, **kwargs),
    "GATEConv-near": lambda **kwargs: GATEConv(8, 4, heads=2, max_distance=3, **kwargs),
}
each_conv = pytest.mark.parametrize("name", CONVS)
# Edges with a message of their own.
ONE_BY_ONE = [name for name in CONVS if name != "SIAConv-multiplicative"]
UNTYPED = ("AttentionConv", "DRAConv", "DRAConv-residual", "SIAConv", "DAMConv")
TYPED = tuple(name for name in CONVS if name.startswith(("GatedRelation", "GATEConv", "RelationKey")))
# In the others a clique is more than its pairs written out, or refused.
WITH_CLIQUES = [name for name in ONE_BY_ONE if name not in ("GATEConv-near", "LISAConv")]
NEAR = torch.tensor([RelationVocab.path(a, b) for a, b in ((0, 0), (1, 0), (1, 1), (0, 2), (2, 1), (0, 3))])


def make(name: str, **kwargs) -> AttentionConv:
    torch.manual_seed(0)
    conv = CONVS[name](**kwargs)
    for parameter in conv.parameters():  # no parameter at zero, or a path through it would not show
        nn.init.normal_(parameter, std=0.5)
    return conv


def graph(name: str, num_nodes: int = 6, num_edges: int = 12, dtype: torch.dtype = torch.float32) -> dict:
    """Distinct edges; node 0 has none, the last node a loop."""
    generator = torch.Generator().manual_seed(num_nodes)
    pair = torch.randperm(num_nodes * (num_nodes - 1), generator=generator)[:num_edges]
    edge_index = torch.stack([pair % num_nodes, pair // num_nodes + 1])
    edge_index = torch.cat([edge_index, torch.full((2, 1), num_nodes - 1)], dim=1).unique(dim=1)
    edge_index = edge_index[:, torch.randperm(edge_index.size(1), generator=generator)]
    inputs = {"x": torch.randn(num_nodes, 8, generator=generator, dtype=dtype), "edge_index": edge_index}
    if name in TYPED:
        inputs["edge_type"] = torch.randint(0, 6, (edge_index.size(1),), generator=generator)
        if name == "GATEConv-near":  # which gives no weight to the others
            inputs["edge_type"] = NEAR[inputs["edge_type"]]
    return inputs | needed(name, edge_index.size(1))


def needed(name: str, num_edges: int) -> dict[str, Tensor]:
    """Marks where a conv must have some: all heads then see all edges."""
    return {"edge_mark": torch.ones(num_edges, dtype=torch.bool)} if name == "LISAConv" else {}


def run(conv: nn.Module, inputs: dict, parameters: list[Tensor] | None = None, **kwargs) -> list[Tensor]:
    """Output and gradients of the input and of every parameter."""
    x = inputs["x"].detach().clone().requires_grad_()
    out = conv(**(inputs | {"x": x}), **kwargs)
    leaves = [x, *(conv.parameters() if parameters is None else parameters)]
    return [
        out,
        *torch.autograd.grad(out.float().sin().sum(), leaves, allow_unused=True, materialize_grads=True),
    ]


def assert_same(got: list[Tensor], expected: list[Tensor], atol: float = 1e-5) -> None:
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.float(), b.float(), rtol=1e-4, atol=atol)


@each_conv
def test_shapes(name: str) -> None:
    inputs = graph(name)
    conv = make(name)
    assert conv(**inputs).shape == (6, 8)
    out, (edge_index, alpha) = conv(**inputs, return_attention_weights=True)
    torch.testing.assert_close(out, conv(**inputs))
    assert alpha.shape == (edge_index.size(1), 2)
    if name != "SIAConv-multiplicative":  # which gives all pairs
        assert torch.equal(edge_index, inputs["edge_index"])
    sums = torch.zeros(6, 2).index_add(0, edge_index[1], alpha)
    assert torch.allclose(sums[1:], torch.ones(5, 2))
    if name == "DRAConv-residual":
        assert torch.equal(out[0], inputs["x"][0])
    else:
        assert make(name, concat=False)(**inputs).shape == (6, 4)
        if name != "SIAConv-multiplicative":  # where every pair has a score
            assert torch.equal(out[0], torch.zeros(8))  # a node without edges


@pytest.mark.parametrize("name", [name for name in CONVS if name != "RelationKeyValueConv"])
def test_repr(name: str) -> None:
    options = {"residual": "residual=True", "multiplicative": "mask='multiplicative'", "no-gate": "gate=None"}
    options |= {"near": "max_distance=3", "all": "untyped='gate'"}
    kind, _, option = name.partition("-")
    needed = ["num_relations=6"] if kind == "GatedRelationConv" else []
    shown = ", ".join(["8, 4, heads=2", *needed, *([options[option]] if option else [])])
    assert str(CONVS[name]()) == f"{kind}({shown})"
    assert str(CONVS[name](bias=False)) == f"{kind}({shown.replace('heads=2', 'heads=2, bias=False')})"
    assert str(DRAConv(64, 16, heads=4)) == "DRAConv(64, 16, heads=4)"
    assert (
        str(DRAConv(6, 3, concat=False, dropout=0.5)) == "DRAConv(6, 3, heads=1, concat=False, dropout=0.5)"
    )


@each_conv
def test_a_layout_is_its_edges(name: str) -> None:
    conv, inputs = make(name), graph(name)
    expected = run(conv, inputs)
    columns = {key: value for key, value in inputs.items() if key.startswith("edge_")}
    for layout in (
        AttentionLayout.of(Data(num_nodes=6, **columns)),
        AttentionLayout(columns.pop("edge_index"), 6, **columns),
    ):
        assert_same(run(conv, {"x": inputs["x"], "edge_index": layout}), expected, atol=0)
        assert_same(run(conv, inputs | {"edge_index": layout}), expected, atol=0)
    with pytest.raises(ValueError, match="'x' must be of shape \\[5, 8\\]"):
        conv(**(inputs | {"edge_index": AttentionLayout(inputs["edge_index"] % 5, 5, **columns)}))


@each_conv
def test_permutations(name: str) -> None:
    conv, inputs = make(name), graph(name)
    out = assert_module(conv, **inputs, expected_size=(6, 8), test_sparse_layouts=[], atol=1e-6)
    order = torch.randperm(6)
    number = order.argsort()
    permuted = inputs | {"x": inputs["x"][order], "edge_index": number[inputs["edge_index"]]}
    torch.testing.assert_close(conv(**permuted), out[order])


@each_conv
def test_every_backend_gives_the_same(name: str) -> None:
    # In training nothing is dropped; in evaluation nothing is dropped though dropout is set.
    results = [run(make(name, dropout=0.5).eval(), graph(name))]
    for backend in ("reference", "dense", "auto"):
        results.append(run(make(name, backend=backend), graph(name)))
    for result in results[1:]:
        assert_same(result, results[0])


@pytest.mark.scatter
@each_conv
def test_torch_scatter_gives_the_same(name: str) -> None:
    assert_same(
        run(make(name, backend="scatter"), graph(name)), run(make(name, backend="reference"), graph(name))
    )


@each_conv
def test_dropout_in_training_only(name: str) -> None:
    inputs = graph(name)
    conv = make(name, dropout=0.5)
    assert not torch.equal(conv(**inputs), conv(**inputs))
    conv.eval()
    assert torch.equal(conv(**inputs), make(name)(**inputs))
    everything = make(name, dropout=1.0)(**inputs)
    assert torch.equal(everything, inputs["x"] if name == "DRAConv-residual" else torch.zeros(6, 8))


@pytest.mark.parametrize("name", WITH_CLIQUES)
def test_cliques(name: str) -> None:
    """A clique is its pairs written out; a batch of two is each alone."""
    for loops in (0, 2):
        check_clique(name, loops)


def check_clique(name: str, loops: int) -> None:
    conv, inputs = make(name), graph(name, num_edges=0)
    inputs["edge_index"] = torch.tensor([[1, 4], [0, 4]])[:, :loops]
    types = {"edge_type": torch.tensor([3, 1])[:loops]} if name in TYPED else {}
    clique, ptr = torch.tensor([0, 0, -1, 0, 0, 0]), torch.tensor([0, 3, 6])
    layout = AttentionLayout(inputs["edge_index"], 6, clique=clique, ptr=ptr)
    out = conv(**(inputs | types | {"edge_index": layout}))
    explicit = inputs | {"edge_index": layout.pairs}
    if types:
        explicit["edge_type"] = torch.zeros(layout.pairs.size(1), dtype=torch.long)
        explicit["edge_type"][:loops] = types["edge_type"]
    torch.testing.assert_close(conv(**explicit), out)
    for part in (slice(0, 3), slice(3, 6)):
        inside = (inputs["edge_index"][0] >= part.start) & (inputs["edge_index"][0] < part.stop)
        alone = {name: value[inside] for name, value in types.items()}
        one = AttentionLayout(inputs["edge_index"][:, inside] - part.start, 3, clique=clique[part])
        torch.testing.assert_close(conv(inputs["x"][part], one, **alone), out[part])


@pytest.mark.parametrize("name", [name for name in UNTYPED if name != "DRAConv-residual"])
@pytest.mark.parametrize(("concat", "bias"), [(True, True), (False, False)])
def test_equals_transformer_conv(name: str, concat: bool, bias: bool) -> None:
    conv = make(name, concat=concat, bias=bias).double()
    peer = TransformerConv(8, 4, heads=2, concat=concat, root_weight=False, bias=bias).double()
    peer.load_state_dict(conv.state_dict(), strict=False)  # lin_skip is not used
    inputs = graph(name, 20, 80, torch.float64)
    own = [getattr(conv, f"lin_{part}").weight for part in ("query", "key", "value")]
    others = [getattr(peer, f"lin_{part}").weight for part in ("query", "key", "value")]
    for a, b in zip(run(conv, inputs, own), run(peer, inputs, others), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
    _, (_, alpha) = conv(**inputs, return_attention_weights=True)
    _, (_, expected) = peer(**inputs, return_attention_weights=True)
    torch.testing.assert_close(alpha, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_messages_give_what_the_fused_path_gives(name: str) -> None:
    conv, inputs = make(name), graph(name)
    expected = run(conv, inputs)
    _, (pairs, alpha) = conv(**inputs, return_attention_weights=True)
    seen = []
    handle = conv.register_message_forward_hook(lambda module, args, out: seen.append(args[0]["alpha"]))
    assert conv.sends_messages
    assert_same(run(conv, inputs), expected, atol=1e-6)
    assert len(seen) == 1
    torch.testing.assert_close(seen[0], alpha)
    _, (hooked_pairs, hooked_alpha) = conv(**inputs, return_attention_weights=True)
    assert torch.equal(hooked_pairs, pairs)
    torch.testing.assert_close(hooked_alpha, alpha)
    handle.remove()
    assert not conv.sends_messages
    conv(**inputs)
    assert len(seen) == 2


def test_hooks_are_called() -> None:
    conv, inputs, calls = make("DRAConv"), graph("DRAConv"), []
    for step in ("propagate", "message", "aggregate"):
        for when in ("forward_pre", "forward"):
            handle = getattr(conv, f"register_{step}_{when}_hook")(lambda *args, s=step: calls.append(s))
            conv(**inputs)
            handle.remove()
            conv(**inputs)
            assert [calls.pop()] == [step]
            assert not calls


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_messages_are_dropped_in_training_only(name: str) -> None:
    conv, inputs = make(name, dropout=1.0), graph(name)
    expected = [conv.train(training)(**inputs) for training in (True, False)]
    conv.register_message_forward_hook(lambda *args: None)
    found = [conv.train(training)(**inputs) for training in (True, False)]
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_edge_masks(name: str) -> None:
    conv, inputs = make(name), graph(name)
    expected = conv(**inputs)
    for value in (1.0, 0.0):
        mask = torch.full((inputs["edge_index"].size(1),), value)
        set_masks(conv, mask, inputs["edge_index"], apply_sigmoid=False)
        skip = inputs["x"] if name == "DRAConv-residual" else torch.zeros(6, 8)
        torch.testing.assert_close(conv(**inputs), expected if value else skip)
        clear_masks(conv)
    assert torch.equal(conv(**inputs), expected)


def explain(conv: nn.Module, inputs: dict, algorithm) -> Tensor:
    explainer = Explainer(
        model=conv,
        algorithm=algorithm,
        explanation_type="model",
        node_mask_type=None if isinstance(algorithm, AttentionExplainer) else "attributes",
        edge_mask_type="object",
        model_config={"mode": "regression", "task_level": "node", "return_type": "raw"},
    )
    explanation = explainer(**inputs, index=3)
    assert explanation.edge_mask.shape == (inputs["edge_index"].size(1),)
    assert explanation.edge_mask.isfinite().all()
    return explanation.edge_mask


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_gnn_explainer(name: str) -> None:
    conv, inputs = make(name), graph(name)
    expected = conv(**inputs)
    mask = explain(conv, inputs, GNNExplainer(epochs=3))
    assert mask[inputs["edge_index"][1] == 3].min() > 0  # the edges of the explained node were reached
    assert torch.equal(
        mask[inputs["edge_index"][1] != 3], torch.zeros(int((inputs["edge_index"][1] != 3).sum()))
    )
    assert torch.equal(conv(**inputs), expected)


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_attention_explainer(name: str) -> None:
    conv, inputs = make(name), graph(name)
    _, (_, alpha) = conv(**inputs, return_attention_weights=True)
    mask = explain(conv, inputs, AttentionExplainer())
    # Explainers keep the edges that reach the explained node.
    mine = inputs["edge_index"][1] == 3
    torch.testing.assert_close(mask[mine], alpha.detach().max(dim=1).values[mine])


@withPackage("captum")
def test_captum_explainer() -> None:
    from torch_geometric.explain import CaptumExplainer

    explain(make("DRAConv"), graph("DRAConv"), CaptumExplainer("IntegratedGradients"))


@pytest.mark.parametrize("name", ["AttentionConv", "LISAConv"])
def test_a_clique_cannot_be_explained(name: str) -> None:
    conv, inputs = make(name), graph(name)
    conv.register_message_forward_hook(lambda *args: None)
    layout = AttentionLayout(inputs["edge_index"], 6, clique=torch.zeros(6, dtype=torch.long))
    with pytest.raises(ValueError, match="no edges to explain: build the edges without implicit=True"):
        conv(**(inputs | {"edge_index": layout}))


@each_conv
def test_edge_index_objects(name: str) -> None:
    conv, inputs = make(name), graph(name)
    expected = conv(**inputs)
    typed = inputs | {"edge_index": EdgeIndex(inputs["edge_index"], sparse_size=(6, 6))}
    out = conv(**typed)
    assert type(out) is Tensor
    torch.testing.assert_close(out, expected)
    if name in ONE_BY_ONE:
        conv.register_message_forward_hook(lambda *args: None)
        torch.testing.assert_close(conv(**typed), expected)


class _SparseTensor:  # as torch-sparse's: no tensor
    pass


@each_conv
@pytest.mark.filterwarnings("ignore:Sparse CSC tensor support is in beta:UserWarning")
def test_errors(name: str) -> None:
    conv, inputs = make(name), graph(name)
    dense = torch.ones(6, 6)
    for matrix in (dense.to_sparse_coo(), dense.to_sparse_csc(), _SparseTensor()):
        with pytest.raises(ValueError, match="must be .* a dense tensor .* not a sparse matrix"):
            conv(**(inputs | {"edge_index": matrix}))
    data = Data(edge_index=inputs["edge_index"], num_nodes=6)
    with pytest.raises(ValueError, match="must be an AttentionLayout or a dense tensor .*\\(got Data\\)"):
        conv(**(inputs | {"edge_index": data}))
    with pytest.raises(ValueError, match="bipartite graphs are not supported"):
        conv(**(inputs | {"x": (inputs["x"], inputs["x"])}))
    for x in (torch.zeros(6, 7), torch.zeros(1, 6, 8)):
        with pytest.raises(ValueError, match="'x' must be of shape \\[num_nodes, 8\\]"):
            conv(**(inputs | {"x": x}))
    with pytest.raises(ValueError, match="'edge_index' names node 7"):
        conv(**(inputs | {"edge_index": inputs["edge_index"].clone().index_fill_(1, torch.tensor([0]), 7)}))
    with pytest.raises(ValueError, match="'dropout' must be between 0 and 1 \\(got 1.5\\)"):
        CONVS[name](dropout=1.5)
    with pytest.raises(ValueError, match="'backend' must be one of"):
        make(name, backend="flash")(**inputs)


def test_sizes_are_positive() -> None:
    for sizes in ((0, 4, 1), (-1, 4, 1), (4, 0, 1), (4, 4, 0)):
        with pytest.raises(ValueError, match="must be a whole number of at least 1 \\(got (0|-1)\\)"):
            AttentionConv(*sizes)


@each_conv
def test_empty_graphs(name: str) -> None:
    conv = make(name)
    types = {"edge_type": torch.zeros(0, dtype=torch.long)} if name in TYPED else {}
    edge_index = torch.zeros(2, 0, dtype=torch.long)
    assert conv(torch.zeros(0, 8), edge_index, **types, **needed(name, 0)).shape == (0, 8)
    for result in run(conv, {"x": torch.ones(3, 8), "edge_index": edge_index, **types, **needed(name, 0)}):
        assert result.isfinite().all()


@each_conv
def test_autocast(name: str) -> None:
    conv, inputs = make(name), graph(name)
    for parameter in conv.parameters():
        parameter.data *= 0.5  # scores of ordinary size
    expected = [x.detach() for x in run(conv, inputs)]
    for messages in (False, True) if name in ONE_BY_ONE else (False,):
        if messages:
            conv.register_message_forward_hook(lambda *args: None)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            result = run(conv, inputs)
        if name != "DRAConv-residual":
            assert result[0].dtype == torch.bfloat16
        assert all(grad.dtype == torch.float32 for grad in result[1:])
        for a, b in zip(result, expected):
            torch.testing.assert_close(a.float(), b, rtol=0, atol=4e-2 * max(1.0, float(b.abs().max())))


@each_conv
def test_copies_and_resetting(name: str) -> None:
    conv, inputs = make(name), graph(name)
    out = conv(**inputs)
    assert torch.equal(copy.deepcopy(conv)(**inputs), out)
    other = CONVS[name]()
    other.load_state_dict(conv.state_dict())
    assert torch.equal(other(**inputs), out)
    for parameter in conv.parameters():
        nn.init.constant_(parameter, torch.nan)
    conv.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in conv.parameters())


# Dynamo's own: it looks at `.grad` of whatever a graph break hands over, and only keeps that from printing.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.slow
def test_compile() -> None:
    """A layer that makes its layout inside."""
    torch._dynamo.reset()
    name = "LISAConv"
    conv = make(name)
    compiled = torch.compile(conv, backend="eager", dynamic=True)
    for num_nodes, num_edges in ((6, 12), (9, 30)):
        inputs = graph(name, num_nodes, num_edges)
        expected = run(conv, inputs)
        assert_same(run(compiled, inputs, [*conv.parameters()]), expected)


ONE_GRAPH = [name for name in ONE_BY_ONE if not name.endswith(("-residual", "-no-gate", "-all"))]


def with_layout(inputs: dict) -> dict:
    """The same edges as a layout, which has their types and marks."""
    columns = {key: value for key, value in inputs.items() if key != "x"}
    return {
        "x": inputs["x"],
        "edge_index": AttentionLayout.of(Data(num_nodes=inputs["x"].size(0), **columns)),
    }


@pytest.mark.parametrize("name", ONE_GRAPH)
def test_a_conv_with_its_layout_is_one_graph(name: str) -> None:
    if name == "RelationKeyValueConv" and torch.__version__ < "2.9":
        pytest.skip("torch 2.8 cannot trace a property of a named tuple")
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    conv = make(name)
    backend = "aot_eager" if name == "AttentionConv" else "eager"  # the former compiles the gradients, too
    compiled = torch.compile(conv, backend=backend, fullgraph=True, dynamic=True)
    for num_nodes, num_edges in ((6, 12), (9, 30)):
        inputs = with_layout(graph(name, num_nodes, num_edges))
        assert_same(run(compiled, inputs, [*conv.parameters()]), run(conv, inputs))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1  # of both sizes
    torch._dynamo.reset()


def test_what_breaks_the_graph_says_so() -> None:
    torch._dynamo.reset()
    inputs, conv = graph("AttentionConv"), make("AttentionConv")
    clique = AttentionLayout(inputs["edge_index"], 6, clique=torch.zeros(6, dtype=torch.long))
    compiled = torch.compile(conv, backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="layout.materialize\\(\\)"):
        compiled(inputs["x"], clique)
    torch.testing.assert_close(compiled(inputs["x"], clique.materialize()), conv(inputs["x"], clique))
    inputs, conv = with_layout(graph("SIAConv")), make("SIAConv-multiplicative")
    with pytest.raises(torch._dynamo.exc.Unsupported, match="mask='multiplicative'"):
        torch.compile(conv, backend="eager", fullgraph=True)(**inputs)
    torch._dynamo.reset()


def test_export() -> None:
    name = "GatedRelationConv"
    conv, inputs = make(name), graph(name)
    nodes, edges = torch.export.Dim("nodes"), torch.export.Dim("edges")
    shapes = {"x": {0: nodes}, "edge_index": {1: edges}, "edge_type": {0: edges}}
    shapes = {key: shapes[key] for key in inputs}
    program = torch.export.export(conv, (), inputs, dynamic_shapes=shapes).module()
    other = graph(name, 9, 30)
    torch.testing.assert_close(program(**other), conv(**other))


@pytest.mark.filterwarnings("ignore:`torch.jit.:DeprecationWarning")
def test_scripts_and_symbolic_traces_are_refused() -> None:
    conv, inputs = make("GatedRelationConv"), graph("GatedRelationConv")
    with pytest.raises(ValueError, match="TorchScript is not supported: .* Use torch.compile"):
        torch.jit.script(conv)
    with pytest.raises(ValueError, match="TorchScript is not supported"):
        torch.jit.trace(conv, example_kwarg_inputs=inputs)
    with pytest.raises(ValueError, match="must be one tensor: .*\\(got Proxy\\)"):
        torch.fx.symbolic_trace(conv)


# -- sender ----------------------------------------------------------------------------------------------


class Own(DRAConv):
    """Of a user."""


@pytest.mark.parametrize(
    "make", [lambda: DRAConv(4, 2), lambda: SIAConv(4, 2), lambda: Own(4, 2), EdgeSender]
)
def test_pyg_puts_no_propagate_in_place_of_its_own(make):
    """Its template's would ask no explainer; and it tries in vain, for 20 ms, at every layer."""
    sender = make()
    assert isinstance(sender, MessageSender)
    assert type(sender).propagate is MessagePassing.propagate
    assert not hasattr(type(sender), "_jinja_propagate")
