from __future__ import annotations

import math
import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_dense_adj

from graphdep import RelationVocab, Sentence, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv, ConstituentConv, DAMConv, DRAConv, GATEConv, LISAConv, SIAConv
from graphdep.transforms import DependencyEdges, SelfLoops, resolve
from tests.kit.slow import assert_same_gradients, heads_of
from tests.kit.trees import SlowTree, random_sentence

# [CLS] I want it, with the relations nsubj(want, I) and obj(want, it) as nodes 4 and 5.
CLS = 0
WORDS = (1, 2, 3)
RELATIONS = (4, 5)
LINKS = {(1, 4), (2, 4), (2, 5), (3, 5)}  # (word, relation) of the tree with relation nodes, E'


def allowed(both: bool) -> torch.Tensor:
    """Eq. 1, row by row; its third row lets words read relations, not the other way round."""
    mask = torch.zeros(6, 6, dtype=torch.bool)
    for i in range(6):
        for j in range(6):
            cls = i == CLS or j == CLS
            words = i in WORDS and j in WORDS
            link = (i, j) in LINKS or (both and (j, i) in LINKS)
            itself = i in RELATIONS and i == j
            mask[i, j] = cls or words or link or itself
    return mask


@pytest.mark.parametrize("both", [True, False], ids=["both ways", "Eq. 1"])
def test_equals_the_formula(both: bool) -> None:
    clique = torch.tensor([0, 0, 0, 0, -1, -1])
    read = [(r, w) for w, r in LINKS]  # source relation, target word
    read += [(w, r) for w, r in LINKS] if both else []
    read += [(r, r) for r in RELATIONS] + [(r, CLS) for r in RELATIONS] + [(CLS, r) for r in RELATIONS]
    edge_index = torch.tensor(read).t()
    torch.manual_seed(0)
    conv = DAMConv(8, 4, heads=2).double()
    x = torch.randn(6, 8, dtype=torch.float64)
    layout = AttentionLayout(edge_index, 6, clique=clique)
    out, (pairs, alpha) = conv(x, layout, return_attention_weights=True)
    query, key, value = (
        lin(x).view(6, 2, 4).transpose(0, 1) for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
    )
    mask = allowed(both)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(out, expected.transpose(0, 1).reshape(6, 8), rtol=0, atol=1e-12)
    assert {(i, j) for j, i in pairs.t().tolist()} == {tuple(pair) for pair in mask.nonzero().tolist()}
    assert alpha.shape == (int(mask.sum()), 2)
    # Two sentences in a batch: equal clique numbers, told apart by ptr.
    both_edges, ptr = torch.cat([edge_index, edge_index + 6], dim=1), torch.tensor([0, 6, 12])
    twice = conv(torch.cat([x, x]), AttentionLayout(both_edges, 12, clique=clique.repeat(2), ptr=ptr))
    torch.testing.assert_close(twice, torch.cat([out, out]), rtol=0, atol=1e-12)


# -- dra -------------------------------------------------------------------------------------------------


def literal(conv: DRAConv, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Eq. 3-5 with a mask of 0 and -inf."""
    heads = []
    for query, key, value in heads_of(conv, x):
        score = query @ key.T / conv.out_channels**0.5 + mask
        heads.append(score.softmax(dim=-1) @ value)
    return torch.cat(heads, dim=1)


@pytest.fixture
def relation_mask(example: Sentence) -> torch.Tensor:
    """Eq. 2, entry by entry, of the paper's example: 0 is ROOT."""
    mask = torch.full((10, 10), -torch.inf, dtype=torch.float64)
    pairs = {(head, word) for word, head in enumerate(example.head, start=1)}
    for u in range(10):
        for v in range(10):
            if u == 0 or u == v or (u, v) in pairs:
                mask[u, v] = 0
    return mask


def test_the_papers_example(example: Sentence, relation_mask: torch.Tensor) -> None:
    data = resolve("dra")(to_data([example]))
    assert torch.equal(to_dense_adj(data.edge_index)[0].T.bool(), relation_mask == 0)
    x = torch.randn(10, 8, dtype=torch.float64)
    conv = DRAConv(8, 4, heads=2).double()
    torch.testing.assert_close(conv(x, data.edge_index), literal(conv, x, relation_mask), rtol=0, atol=1e-12)


def test_eq_5_read_literally(example: Sentence, relation_mask: torch.Tensor) -> None:
    edge_index = resolve("dra")(to_data([example])).edge_index
    x = torch.randn(10, 8, dtype=torch.float64)
    conv = DRAConv(8, 4, heads=2, residual=True).double()
    out, (_, alpha) = conv(x, edge_index, return_attention_weights=True)
    torch.testing.assert_close(out, x + literal(conv, x, relation_mask), rtol=0, atol=1e-12)
    assert torch.equal(out, conv(x, edge_index))
    assert alpha.shape == (edge_index.size(1), 2)


def test_residual_needs_equal_sizes() -> None:
    with pytest.raises(
        ValueError, match="'residual' needs equal sizes of input and output \\(got 8 and 12\\)"
    ):
        DRAConv(8, 4, heads=3, residual=True)
    with pytest.raises(ValueError, match="got 8 and 4"):
        DRAConv(8, 4, heads=2, concat=False, residual=True)
    DRAConv(8, 8, heads=2, concat=False, residual=True)


# -- sia -------------------------------------------------------------------------------------------------


EDGES = torch.tensor([[0, 1, 2, 0, 0, 3, 4, 5, 6, 3], [0, 1, 2, 1, 2, 3, 4, 5, 6, 5]])
PTR = torch.tensor([0, 3, 7])


def literal_sia(conv: SIAConv, x: torch.Tensor, edge_index: torch.Tensor, ptr: torch.Tensor) -> torch.Tensor:
    """Eq. 5 for one example at a time, its mask of 0 and 1."""
    outs = []
    for start, end in zip(ptr[:-1].tolist(), ptr[1:].tolist()):
        own = x[start:end]
        mask = torch.zeros(end - start, end - start, dtype=x.dtype)
        for j, i in edge_index.t().tolist():
            if start <= i < end:
                mask[i - start, j - start] = 1
        heads = []
        for query, key, value in heads_of(conv, own):
            score = query @ key.T / conv.out_channels**0.5
            score = score.masked_fill(mask == 0, -torch.inf) if conv.mask == "additive" else mask * score
            heads.append(score.softmax(dim=-1) @ value)
        outs.append(torch.cat(heads, dim=1))
    return torch.cat(outs)


@pytest.mark.parametrize("mask", ["additive", "multiplicative"])
def test_equals_the_formula_of_sia(mask: str) -> None:
    torch.manual_seed(0)
    conv = SIAConv(6, 3, heads=2, mask=mask).double()
    x = torch.randn(7, 6, dtype=torch.float64, requires_grad=True)
    out, expected = conv(x, AttentionLayout(EDGES, 7, ptr=PTR)), literal_sia(conv, x, EDGES, PTR)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    assert_same_gradients(out, expected, [x, *conv.parameters()], atol=1e-12)


def test_the_multiplied_mask_leaks() -> None:
    """Nearly all weight goes to pairs that the mask means to forbid; the additive mask gives them none."""
    torch.manual_seed(0)
    edge_index = torch.randint(0, 64, (2, 64 * 6)).unique(dim=1)
    x = torch.randn(64, 8)
    layout = AttentionLayout(edge_index, 64)
    _, (pairs, alpha) = SIAConv(8, 8, mask="multiplicative")(x, layout, return_attention_weights=True)
    assert pairs.size(1) == 64 * 64
    inside = torch.isin(pairs[1] * 64 + pairs[0], edge_index[1] * 64 + edge_index[0])
    leaked = torch.zeros(64).index_add(0, pairs[1][~inside], alpha[~inside, 0])
    assert leaked.mean() > 0.7
    _, (pairs, _) = SIAConv(8, 8)(x, edge_index, return_attention_weights=True)
    assert torch.equal(pairs, edge_index)


def test_examples_do_not_leak_into_each_other() -> None:
    conv = SIAConv(6, 3, heads=2, mask="multiplicative")
    x = torch.randn(7, 6)
    out = conv(x, AttentionLayout(EDGES, 7, ptr=PTR))
    torch.testing.assert_close(conv(x[:3], AttentionLayout(EDGES[:, :5], 3)), out[:3])
    torch.testing.assert_close(conv(x[3:], AttentionLayout(EDGES[:, 5:] - 3, 4)), out[3:])
    repeated = torch.cat([EDGES, EDGES[:, :4]], dim=1)  # a mask has no repeated entries
    torch.testing.assert_close(conv(x, AttentionLayout(repeated, 7, ptr=PTR)), out)


def test_errors() -> None:
    with pytest.raises(ValueError, match="'mask' must be one of additive, multiplicative \\(got 'mul'\\)"):
        SIAConv(6, 3, mask="mul")
    conv, x = SIAConv(6, 3, mask="multiplicative"), torch.zeros(7, 6)
    with pytest.raises(ValueError, match="does not tell examples apart: pass AttentionLayout.of\\(data\\)"):
        conv(x, EDGES)
    with pytest.raises(ValueError, match="needs all pairs: build the edges without implicit=True"):
        conv(x, AttentionLayout(EDGES, 7, clique=torch.zeros(7, dtype=torch.long)))
    with pytest.raises(ValueError, match="needs edges within examples"):
        conv(x, AttentionLayout(torch.tensor([[0], [3]]), 7, ptr=PTR))
    conv.register_message_forward_hook(lambda *args: None)
    with pytest.raises(ValueError, match="attends to all pairs: its edges cannot be explained"):
        conv(x, AttentionLayout(EDGES, 7, ptr=PTR))


# -- lisa ------------------------------------------------------------------------------------------------


SIZE = 8
HEADS = 4


def make(syntactic_heads: int = 1, **kwargs) -> LISAConv:
    torch.manual_seed(0)
    return LISAConv(SIZE, 3, HEADS, syntactic_heads=syntactic_heads, **kwargs).double()


def dialogue(seed: int, *lengths: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, length) for length in lengths])


def states(data: Data) -> Tensor:
    return torch.randn(data.num_nodes, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def literal_lisa(conv: LISAConv, x: Tensor, governor: Tensor) -> Tensor:
    """One example, node by node and head by head; the last heads read the governor."""
    heads = []
    for h, (query, key, value) in enumerate(heads_of(conv, x)):
        if h < conv.heads - conv.syntactic_heads:
            heads.append((query @ key.T / conv.out_channels**0.5).softmax(dim=-1) @ value)
        else:
            heads.append(torch.stack([value[int(g)] for g in governor]))
    return torch.cat(heads, dim=1) if conv.concat else torch.stack(heads).mean(dim=0)


@pytest.mark.parametrize("syntactic_heads", [1, 3])
@pytest.mark.parametrize("concat", [True, False])
@pytest.mark.parametrize("implicit", [True, False])
def test_the_last_heads_read_the_governor(syntactic_heads: int, concat: bool, implicit: bool) -> None:
    for backend in ("reference", "dense"):
        check_heads(make(syntactic_heads, concat=concat, backend=backend), implicit)


def check_heads(conv: LISAConv, implicit: bool) -> None:
    examples = [dialogue(1, 5, 2), dialogue(2, 1), dialogue(3, 4, 1, 3)]
    edges = resolve("lisa-complete", implicit=implicit)
    batch = edges(Batch.from_data_list(examples))
    x = states(batch)
    out = conv(x, AttentionLayout.of(batch))
    if not implicit:
        torch.testing.assert_close(conv(x, batch.edge_index, batch.edge_mark), out)
    start = 0
    for example in examples:
        part = slice(start, start + example.num_nodes)
        expected = literal_lisa(conv, x[part], example.governor_index)
        torch.testing.assert_close(out[part], expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(conv(x[part], AttentionLayout.of(edges(example))), out[part])
        start = part.stop


@pytest.mark.parametrize("implicit", [True, False])
def test_weights(implicit: bool) -> None:
    conv, data = make(), resolve("lisa-complete", implicit=implicit)(dialogue(1, 5, 2))
    x, layout = states(data), AttentionLayout.of(data)
    out, (pairs, alpha) = conv(x, layout, return_attention_weights=True)
    torch.testing.assert_close(out, conv(x, layout))
    assert pairs.size(1) == data.num_nodes**2
    weight = torch.zeros(data.num_nodes, data.num_nodes, HEADS, dtype=torch.float64)
    weight[pairs[1], pairs[0]] = alpha
    torch.testing.assert_close(weight.sum(dim=1), torch.ones(data.num_nodes, HEADS, dtype=torch.float64))
    assert bool((weight[..., 0] > 0).all())
    governors = weight[..., -1].nonzero()[:, 1]
    assert torch.equal(governors, data.governor_index)


def test_edges_beside_cliques_are_marked_ones() -> None:
    """As those of ``resolve("dt", implicit=True)``, whatever wrote them."""
    conv, data = make(), resolve("lisa-complete", implicit=True)(dialogue(1, 5, 2))
    x, bare = states(data), data.clone()
    del bare.edge_mark
    assert torch.equal(conv(x, AttentionLayout.of(bare)), conv(x, AttentionLayout.of(data)))


def test_without_marks_no_edge_is_the_syntactic_heads() -> None:
    conv, data = make(), resolve("lisa")(dialogue(1, 5, 2))
    for edges in (data.edge_index, AttentionLayout.of(data)):
        with pytest.raises(ValueError, match="'edge_mark' is missing: .*resolve\\('lisa-complete'\\)"):
            conv(states(data), edges)


@pytest.mark.parametrize("implicit", [True, False])
def test_gradients(implicit: bool) -> None:
    conv, data = make(), resolve("lisa-complete", implicit=implicit)(dialogue(1, 5, 2))
    x = states(data).requires_grad_()
    leaves = [x, *conv.parameters()]
    out = conv(x, AttentionLayout.of(data))
    expected = literal_lisa(conv, x, data.governor_index)
    assert_same_gradients(out, expected, leaves, atol=1e-12)


def test_errors_of_lisa() -> None:
    for number in (0, HEADS):
        with pytest.raises(ValueError, match=f"'syntactic_heads' must be between 1 and 3 \\(got {number}\\)"):
            make(number)
    conv, data = make(), resolve("lisa-complete")(dialogue(1, 3))
    for mark in (data.edge_mark[1:], data.edge_mark.long()):
        with pytest.raises(ValueError, match="'edge_mark' must be torch.bool of shape \\[16\\] \\(got torch"):
            conv(states(data), data.edge_index, mark)


# -- gate ------------------------------------------------------------------------------------------------


def make_gate(max_distance=1, **kwargs) -> GATEConv:
    torch.manual_seed(0)
    return GATEConv(SIZE, 3, HEADS, max_distance=max_distance, **kwargs).double()


def dialogue_gate(seed: int, *lengths: int) -> Data:
    rng = random.Random(seed)
    relations = RelationVocab(["strange"])
    return to_data([random_sentence(rng, length) for length in lengths], relations=relations)


def literal_gate(conv: GATEConv, x: Tensor, data: Data, limits: list[int]) -> Tensor:
    """As the formula has it: mask, softmax, divide by the distance, normalise again."""
    slow = SlowTree(data)
    distance = torch.full((x.size(0), x.size(0)), torch.inf, dtype=torch.float64)
    for i in range(x.size(0)):
        for j in range(x.size(0)):
            if (path := slow.path(i, j)) is not None:
                distance[i, j] = max(sum(path), 1)
    heads = []
    for limit, (query, key, value) in zip(limits, heads_of(conv, x)):
        score = (query @ key.T / conv.out_channels**0.5).masked_fill(distance > limit, -torch.inf)
        weight = score.softmax(dim=-1) / distance
        heads.append(weight / weight.sum(dim=-1, keepdim=True) @ value)
    return torch.cat(heads, dim=1)


@pytest.mark.parametrize("max_distance", [1, 2, 4, [1, 2, 3, 8]])
def test_equals_the_formula_of_gate(max_distance) -> None:
    conv = make_gate(max_distance)
    limits = [max_distance] * HEADS if isinstance(max_distance, int) else max_distance
    examples = [dialogue_gate(1, 6, 2), dialogue_gate(2, 1), dialogue_gate(3, 9, 1, 3)]
    edges = resolve("gate", max_distance=max(limits))
    batch = edges(Batch.from_data_list(examples))
    x = states(batch)
    out = conv(x, batch.edge_index, batch.edge_type)
    start = 0
    for example in examples:
        part = slice(start, start + example.num_nodes)
        expected = literal_gate(conv, x[part], example, limits)
        torch.testing.assert_close(out[part], expected, rtol=0, atol=1e-6)  # distances in single precision
        alone = edges(example)
        torch.testing.assert_close(conv(x[part], alone.edge_index, alone.edge_type), out[part])
        start = part.stop


def test_distance_1_is_plain_attention_over_arcs_and_loops() -> None:
    conv, plain = make_gate(), AttentionConv(SIZE, 3, HEADS).double()
    plain.load_state_dict(conv.state_dict())
    data = dialogue_gate(1, 6, 2)
    near, arcs = resolve("gate")(data), (DependencyEdges("both") | SelfLoops())(data)
    assert torch.equal(near.edge_index, arcs.edge_index)
    x = states(data)
    out = conv(x, near.edge_index, near.edge_type)
    torch.testing.assert_close(out, plain(x, arcs.edge_index), rtol=0, atol=1e-12)


def test_too_far_pairs_have_no_weight() -> None:
    conv = make_gate([1, 2, 1, 2])
    kinds = [RelationVocab.SELF, RelationVocab()["nsubj"], RelationVocab.path(1, 1), RelationVocab.NONE]
    edge_index = torch.stack([torch.arange(4), torch.zeros(4, dtype=torch.long)])
    x = torch.randn(4, SIZE, dtype=torch.float64)
    _, (_, alpha) = conv(x, edge_index, torch.tensor(kinds), return_attention_weights=True)
    assert torch.equal(alpha > 0, torch.tensor([[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]]) > 0)
    nothing, _ = conv(x, edge_index, torch.zeros(4, dtype=torch.long), return_attention_weights=True)
    assert nothing.isfinite().all()


def test_distances_of_relations() -> None:
    conv, relations = make_gate(), RelationVocab(["strange", "odd"])
    ids = torch.arange(len(relations))
    bias = conv._bias(ids)[:, 0]
    expected = []
    for name in map(relations.label, ids.tolist()):
        a, b = map(int, name[5:-1].split(",")) if name.startswith("path") else (0, 1)
        expected.append(a + b <= 1 and name != "[NONE]")
    assert (bias == 0).tolist() == expected


def test_half_precision() -> None:
    data = resolve("gate", max_distance=2)(dialogue_gate(1, 6, 2))
    conv, x = make_gate([1, 2, 1, 2]).float(), states(data).float()
    expected = conv(x, data.edge_index, data.edge_type)
    out = conv.bfloat16()(x.bfloat16(), data.edge_index, data.edge_type)
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.05)


def test_errors_of_gate() -> None:
    message = "'max_distance' must be at least 1, for all or each of 4 heads \\(got {}\\)"
    for wrong, shown in (
        (0, "0"),
        ([1, 2], "\\[1, 2\\]"),
        ([1, 0, 1, 1], "\\[1, 0, 1, 1\\]"),
        ([], "\\[\\]"),
    ):
        with pytest.raises(ValueError, match=message.format(shown)):
            make_gate(wrong)
    conv, data = make_gate(), resolve("gate")(dialogue_gate(1, 3))
    x = states(data)
    for missing in ((), (None,)):
        with pytest.raises(ValueError, match="'edge_type' must hold one relation id per edge .*got None"):
            conv(x, data.edge_index, *missing)
    with pytest.raises(ValueError, match="'edge_type' must hold one relation id per edge"):
        conv(x, data.edge_index, data.edge_type[:-1])
    with pytest.raises(ValueError, match="the pairs of a clique have no distance"):
        conv(x, AttentionLayout.of(resolve("g2g", implicit=True)(data)))
    with pytest.raises(ValueError, match=f"'edge_type' holds relation -{int(data.edge_type.max())}, but"):
        conv(x, data.edge_index, -data.edge_type)


# -- constituent -----------------------------------------------------------------------------------------


CONSTITUENT_HEADS = 2
CONSTITUENT_PTR = torch.tensor([0, 5, 6, 9])


def make_constituent(**kwargs) -> ConstituentConv:
    torch.manual_seed(0)
    conv = ConstituentConv(SIZE, 3, CONSTITUENT_HEADS, **kwargs).double()
    for parameter in conv.parameters():
        nn.init.normal_(parameter, std=0.7)
    return conv


def states_constituent() -> Tensor:
    return torch.randn(9, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def slow_links(conv: ConstituentConv, x: Tensor, below: list[Tensor]) -> list[Tensor]:
    """One example, link by link."""
    x = conv.norm_link(x)
    query, key, n = conv.lin_link_query(x), conv.lin_link_key(x), x.size(0)

    def share(i: int, j: int) -> Tensor:
        """What i gives to its neighbour j."""
        weight = {k: (query[i] @ key[k] / (SIZE / 2)).exp() for k in (i - 1, i + 1) if 0 <= k < n}
        return weight[j] / sum(weight.values())

    fresh = [(share(i, i + 1) * share(i + 1, i)).sqrt() for i in range(n - 1)]
    return [b + (1 - b) * a for a, b in zip(fresh, below)] if below else fresh


def slow_attention(conv: ConstituentConv, x: Tensor, link: list[Tensor]) -> tuple[Tensor, Tensor]:
    n = x.size(0)
    prior = torch.eye(n, dtype=torch.float64)
    for i in range(n):
        for j in range(n):
            prior[i, j] = math.prod(link[min(i, j) : max(i, j)])
    heads, weights = [], []
    for query, key, value in heads_of(conv, x):
        weight = prior * (query @ key.T / conv.out_channels**0.5).softmax(dim=-1)
        if conv.renormalize:
            weight = weight / weight.sum(dim=-1, keepdim=True)
        heads.append(weight @ value)
        weights.append(weight)
    return torch.cat(heads, dim=1), torch.stack(weights)


@pytest.mark.parametrize("renormalize", [False, True])
def test_two_layers_equal_the_formulas(renormalize: bool) -> None:
    convs, x = [make_constituent(renormalize=renormalize) for _ in range(2)], states_constituent()
    for parameter in convs[1].parameters():
        nn.init.normal_(parameter, std=0.7)
    below = convs[0].links(x, CONSTITUENT_PTR)
    link = convs[1].links(2 * x, CONSTITUENT_PTR, below)
    out, (pairs, alpha) = convs[1](x, link, CONSTITUENT_PTR, return_attention_weights=True)
    torch.testing.assert_close(convs[1](x, link, CONSTITUENT_PTR), out)
    assert pairs.size(1) == alpha.size(0) == 25 + 1 + 9
    for start, stop in zip(CONSTITUENT_PTR[:-1].tolist(), CONSTITUENT_PTR[1:].tolist()):
        part = x[start:stop]
        first = slow_links(convs[0], part, [])
        second = slow_links(convs[1], 2 * part, first)
        for got, expected in ((below, first), (link, second)):
            end = torch.zeros(1, dtype=torch.float64)
            expected = torch.cat([torch.stack(expected), end]) if expected else end
            torch.testing.assert_close(got[start:stop], expected, rtol=0, atol=1e-12)
        expected, weights = slow_attention(convs[1], part, second)
        torch.testing.assert_close(
            out[start:stop], expected, rtol=1e-5, atol=1e-6
        )  # links in single precision
        inside = (pairs[1] >= start) & (pairs[1] < stop)
        source, target = pairs[:, inside] - start
        torch.testing.assert_close(alpha[inside], weights[:, target, source].T, rtol=0, atol=1e-6)


def test_a_broken_link_separates() -> None:
    conv, x = make_constituent(), states_constituent()
    link = torch.ones(9, dtype=torch.float64).index_fill(0, torch.tensor([1]), 0.0)  # between 1 and 2
    _, (pairs, alpha) = conv(x, link, CONSTITUENT_PTR, return_attention_weights=True)
    apart = (pairs[0] < 5) & (pairs[1] < 5) & ((pairs[0] < 2) != (pairs[1] < 2))
    assert alpha[apart].max() < 1e-8 < alpha[~apart].min()


def test_links_only_grow() -> None:
    conv, x = make_constituent(), states_constituent()
    below = conv.links(x, CONSTITUENT_PTR)
    above = conv.links(x.flip(0), CONSTITUENT_PTR, below)
    assert bool((above >= below).all())
    assert bool((above <= 1).all())
    assert not above[CONSTITUENT_PTR[1:] - 1].any()


def test_extreme_scores_give_no_nan() -> None:
    conv, x = make_constituent(), (states_constituent() * 1e4).requires_grad_()
    link = conv.links(x, CONSTITUENT_PTR)
    out = conv(x, link, CONSTITUENT_PTR)
    out.sum().backward()
    assert out.isfinite().all()
    assert x.grad.isfinite().all()


def test_dropout_in_training_only_of_constituent() -> None:
    conv, x = make_constituent(dropout=0.5), states_constituent()
    link = conv.links(x, CONSTITUENT_PTR)
    assert not torch.equal(conv(x, link, CONSTITUENT_PTR), conv(x, link, CONSTITUENT_PTR))
    conv.eval()
    assert torch.equal(conv(x, link, CONSTITUENT_PTR), make_constituent()(x, link, CONSTITUENT_PTR))


def test_examples_without_nodes() -> None:
    conv, x = make_constituent(), states_constituent()
    link = conv.links(x, CONSTITUENT_PTR)
    expected, (expected_pairs, expected_alpha) = conv(x, link, CONSTITUENT_PTR, return_attention_weights=True)
    for ptr in ([0, 5, 6, 9, 9], [0, 0, 5, 5, 5, 6, 9]):  # the last one, the first ones, those in between
        ptr = torch.tensor(ptr)
        torch.testing.assert_close(conv.links(x, ptr), link)
        out, (pairs, alpha) = conv(x, link, ptr, return_attention_weights=True)
        torch.testing.assert_close(out, expected)
        assert torch.equal(pairs, expected_pairs)
        torch.testing.assert_close(alpha, expected_alpha)


@pytest.mark.parametrize("ptr", [[0], [0, 0, 0]])
def test_an_empty_graph(ptr: list[int]) -> None:
    conv, bounds = make_constituent(renormalize=True), torch.tensor(ptr)
    x = torch.zeros(0, SIZE, dtype=torch.float64, requires_grad=True)
    link = conv.links(x, bounds, conv.links(x, bounds))
    assert link.shape == (0,)
    out, (pairs, alpha) = conv(x, link, bounds, return_attention_weights=True)
    assert out.shape == conv(x, link, bounds).shape == (0, CONSTITUENT_HEADS * 3)
    assert pairs.shape == (2, 0)
    assert alpha.shape == (0, CONSTITUENT_HEADS)
    (out.sum() + link.sum()).backward()


@pytest.mark.parametrize("sizes", [(0, 4, 1), (4, 0, 1), (4, 4, 0)])
def test_errors_of_constituent(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="must be a whole number of at least 1 \\(got 0\\)"):
        ConstituentConv(*sizes)
    for dropout in (-0.1, 1.5):
        with pytest.raises(ValueError, match=f"'dropout' must be between 0 and 1 \\(got {dropout}\\)"):
            make_constituent(dropout=dropout)


def test_repr() -> None:
    assert str(make_constituent()) == "ConstituentConv(8, 3, heads=2)"
    assert str(make_constituent(dropout=0.5, renormalize=True)) == (
        "ConstituentConv(8, 3, heads=2, dropout=0.5, renormalize=True)"
    )
