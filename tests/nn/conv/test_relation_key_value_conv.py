from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.explain import Explainer, GNNExplainer

from graphdep import RelationVocab, Sentence, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv, RelationKeyValueConv
from graphdep.transforms import resolve

SIZE, HEADS, RELATIONS = 8, 2, len(RelationVocab())
ONE = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
TWO = Sentence(["Go", "away"], [0, 1], ["root", "advmod"])


def make(**options) -> RelationKeyValueConv:
    torch.manual_seed(0)
    conv = RelationKeyValueConv(SIZE, 4, HEADS, num_relations=RELATIONS, **options).double()
    for table in (conv.relation.key, conv.relation.value):
        nn.init.normal_(table.weight)
    return conv


def states(count: int) -> Tensor:
    return torch.randn(count, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def literal(conv: RelationKeyValueConv, x: Tensor, pairs: dict[tuple[int, int], int]) -> Tensor:
    """The formula, head by head and pair by pair; ``pairs`` has the relation of (i, j)."""
    d, rows = conv.out_channels, []
    for i in range(len(x)):
        heads = []
        for h in range(conv.heads):
            part = slice(h * d, (h + 1) * d)
            q, k, v = (
                F.linear(x, lin.weight[part], lin.bias[part])
                for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
            )
            seen = [(j, kind) for (target, j), kind in pairs.items() if target == i]
            key = [conv.relation.key.weight[kind] * (kind != 0) for _, kind in seen]
            value = [conv.relation.value.weight[kind] * (kind != 0) for _, kind in seen]
            own = torch.stack([q[i] @ k[j] for j, _ in seen]) / d**0.5
            of_arc = torch.stack([q[i] @ r for r in key])
            of_arc = of_arc / d**0.5 if conv.scaling == "paper" else of_arc
            alpha = (own + of_arc).softmax(0)
            heads.append(sum(a * (v[j] + r) for a, (j, _), r in zip(alpha, seen, value)))
        rows.append(torch.cat(heads))
    return torch.stack(rows)


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("scaling", ["paper", "code"])
def test_equals_the_formula(scaling: str, implicit: bool) -> None:
    conv, written = make(scaling=scaling), resolve("g2g")(to_data([ONE]))
    x = states(written.num_nodes).requires_grad_()
    pairs = {(i, j): kind for j, i, kind in zip(*written.edge_index.tolist(), written.edge_type.tolist())}
    out = conv(x, AttentionLayout.of(resolve("g2g", implicit=implicit)(to_data([ONE]))))
    expected = literal(conv, x, pairs)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    leaves = {"x": x, **dict(conv.named_parameters())}
    grads = [torch.autograd.grad(y.sin().sum(), [*leaves.values()]) for y in (out, expected)]
    for name, a, b in zip(leaves, *grads):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12, msg=lambda m, name=name: f"{name}: {m}")


def test_a_batch_equals_each_sentence_alone() -> None:
    conv, edges = make(), resolve("g2g")
    alone = [edges(to_data([one])) for one in (ONE, TWO)]
    both = Batch.from_data_list(alone)
    x = states(both.num_nodes)
    parts = x.split([one.num_nodes for one in alone])
    expected = torch.cat([conv(part, one.edge_index, one.edge_type) for part, one in zip(parts, alone)])
    torch.testing.assert_close(conv(x, both.edge_index, both.edge_type), expected, rtol=0, atol=1e-12)


def test_that_starts_at_zero_is_plain_attention() -> None:
    conv = RelationKeyValueConv(SIZE, 4, HEADS, num_relations=RELATIONS, start="zero").double()
    plain = AttentionConv(SIZE, 4, HEADS).double()
    plain.load_state_dict({k: v for k, v in conv.state_dict().items() if not k.startswith("relation.")})
    data = resolve("g2g")(to_data([ONE]))
    x = states(data.num_nodes)
    torch.testing.assert_close(
        conv(x, data.edge_index, data.edge_type), plain(x, data.edge_index), rtol=0, atol=1e-12
    )


def test_messages_are_the_same_edge_by_edge() -> None:
    conv, data = make(), resolve("g2g")(to_data([ONE]))
    x = states(data.num_nodes)
    expected, (_, alpha) = conv(x, data.edge_index, data.edge_type, return_attention_weights=True)
    seen: list[Tensor] = []
    hook = conv.register_message_forward_hook(lambda _, __, out: seen.append(out))
    out = conv(x, data.edge_index, data.edge_type)
    hook.remove()
    torch.testing.assert_close(out, expected)
    assert seen[0].shape == (*alpha.shape, 4)


def test_an_explainer_has_a_mask_for_each_edge() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = make().float()

        def forward(self, x, edge_index, edge_type):
            return self.conv(x, edge_index, edge_type).sum(-1, keepdim=True)

    data = resolve("g2g")(to_data([ONE]))
    config = {"mode": "regression", "task_level": "node", "return_type": "raw"}
    explainer = Explainer(Model(), GNNExplainer(epochs=3), "model", config, edge_mask_type="object")
    found = explainer(states(data.num_nodes).float(), data.edge_index, edge_type=data.edge_type)
    assert found.edge_mask.shape == (data.num_edges,)


def test_reset_and_repr() -> None:
    conv = make(scaling="code", start="zero")
    shown = f"RelationKeyValueConv(8, 4, heads=2, num_relations={RELATIONS}, scaling='code', start='zero')"
    assert repr(conv) == shown
    conv.reset_parameters()
    assert not conv.relation.key.weight.any()
    fresh = RelationKeyValueConv(SIZE, 4, HEADS, num_relations=RELATIONS)
    assert 0.015 < fresh.relation.value.weight.std().item() < 0.025


def test_errors() -> None:
    conv, data = make(), resolve("g2g")(to_data([ONE]))
    x = states(data.num_nodes)
    with pytest.raises(ValueError, match="'edge_type' must hold one relation id"):
        conv(x, data.edge_index)
    with pytest.raises(ValueError, match=f"'edge_type' holds relation {RELATIONS}"):
        conv(x, data.edge_index, torch.full_like(data.edge_type, RELATIONS))
    with pytest.raises(ValueError, match="'scaling' must be one of paper, code"):
        make(scaling="both")
