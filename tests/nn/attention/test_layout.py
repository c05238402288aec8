from __future__ import annotations

import copy
import pickle
import random
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.attention import AttentionLayout, attach_layout
from graphdep.nn.attention import layout as layout_module
from graphdep.nn.attention.layout import JOINED, PADDING, SHARE, Runs, join_blocks
from graphdep.nn.attention.tiles import build_tiles
from graphdep.nn.conv import AttentionConv, DRAConv, GatedRelationConv
from graphdep.nn.prepared import own_layout
from graphdep.testing import assert_same_data
from graphdep.transforms import ChainTree, RelationNodes, resolve
from tests.kit.trees import random_sentence


@st.composite
def layouts(draw: st.DrawFn) -> AttentionLayout:
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    num_nodes = sum(sizes)
    node = st.integers(0, max(0, num_nodes - 1))
    pairs = draw(st.lists(st.tuples(node, node), max_size=10 if num_nodes else 0))
    edge_index = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t()
    clique = draw(st.none() | st.lists(st.integers(-1, 2), min_size=num_nodes, max_size=num_nodes))
    clique = None if clique is None else torch.tensor(clique, dtype=torch.long)
    return AttentionLayout(edge_index, num_nodes, clique=clique, ptr=torch.tensor([0, *sizes]).cumsum(0))


def may_attend(layout: AttentionLayout) -> torch.Tensor:
    """``[target, source]``, pair by pair."""
    allowed = torch.zeros(layout.num_nodes, layout.num_nodes, dtype=torch.bool)
    for source, target in layout.edge_index.t().tolist():
        allowed[target, source] = True
    example = torch.bucketize(torch.arange(layout.num_nodes), layout.ptr[1:], right=True)
    for i in range(layout.num_nodes if layout.clique is not None else 0):
        for j in range(layout.num_nodes):
            if layout.clique[i] == layout.clique[j] >= 0 and example[i] == example[j]:
                allowed[i, j] = True
    return allowed


@given(layouts())
def test_pairs(layout: AttentionLayout) -> None:
    source, target = layout.pairs
    assert torch.equal(layout.pairs[:, : layout.num_edges], layout.edge_index)
    found = torch.zeros(layout.num_nodes, layout.num_nodes, dtype=torch.long)
    found.index_put_((target, source), torch.tensor(1), accumulate=True)
    assert torch.equal(found > 0, may_attend(layout))
    assert int(found.clamp(min=1).sum()) - found.numel() == layout.num_edges - len(
        {tuple(pair) for pair in layout.edge_index.t().tolist()}
    )
    assert layout.has_repeated_edges == (
        len(set(map(tuple, layout.edge_index.t().tolist()))) < layout.num_edges
    )


@given(layouts())
def test_by_target(layout: AttentionLayout) -> None:
    order, rowptr = layout.by_target
    for node in range(layout.num_nodes):
        run = order[rowptr[node] : rowptr[node + 1]]
        assert run.tolist() == (layout.pairs[1] == node).nonzero().view(-1).tolist()


@given(layouts())
def test_no_pair_leaves_its_block_and_none_could_be_smaller(layout: AttentionLayout) -> None:
    node = range(layout.num_nodes)
    may = may_attend(layout) | may_attend(layout).mT
    number, expected = 0, []
    for i in node:
        if i and not may[:i, i:].any():  # nothing reaches over the border before i
            number += 1
        expected.append(number)
    assert layout.block.tolist() == expected


@given(layouts())
def test_blocks_hold_every_pair_once(layout: AttentionLayout) -> None:
    if layout.num_nodes == 0:  # never asked for
        return
    padded = layout.padded
    assert torch.equal(padded.node_of[padded.slot], torch.arange(layout.num_nodes))
    found = torch.zeros(layout.num_nodes, layout.num_nodes, dtype=torch.bool)
    used = torch.zeros(len(padded.node_of), dtype=torch.bool).index_fill(0, padded.slot, True)
    area, alive = 0, torch.ones(len(used)).bool()
    alive[[] if padded.dead is None else padded.dead] = False
    for bucket in padded.buckets:
        runs, nodes = bucket.shape
        assert bucket.area == area
        area += runs * nodes * nodes
        part = slice(bucket.start, bucket.start + runs * nodes)
        node, real = padded.node_of[part].view(runs, nodes), used[part].view(runs, nodes)
        mask = torch.zeros(runs, 1, nodes, nodes) if bucket.mask is None else bucket.mask
        assert set(mask.unique().tolist()) <= {0.0, -torch.inf}
        allowed = (mask[:, 0] == 0) & alive[part].view(runs, nodes)[:, :, None]
        assert not allowed[~real].any(), "a slot that is left over attends"
        assert not allowed.mT[~real].any(), "a slot that is left over is attended to"
        assert (mask[:, 0] == 0).any(dim=2).all(), "no score is left for a softmax"
        run, target, source = allowed.nonzero().t()
        found[node[run, target], node[run, source]] = True
    assert area == layout.area
    assert torch.equal(found, may_attend(layout))
    empty = [] if padded.empty is None else padded.empty.tolist()
    assert empty == (~found.any(dim=1)).nonzero().view(-1).tolist()


@given(layouts())
def test_materialize(layout: AttentionLayout) -> None:
    explicit = layout.materialize()
    assert explicit.group is None
    assert torch.equal(explicit.pairs, layout.pairs)


def test_repr() -> None:
    assert (
        str(AttentionLayout(torch.tensor([[0], [1]]), 3)) == "AttentionLayout(3 nodes, 1 edges, clique=False)"
    )


# -- padded ----------------------------------------------------------------------------------------------


sizes = st.lists(st.integers(1, 70), max_size=60)


def runs_of(sizes: list[int]) -> Runs:
    return join_blocks(torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes, dtype=torch.long)))


@given(sizes)
def test_runs_are_of_whole_blocks_and_joined_ones_are_short(sizes: list[int]) -> None:
    ends = torch.tensor([0, *sizes]).cumsum(0).tolist()
    bounds = torch.cat([torch.zeros(1).long(), runs_of(sizes).size.cumsum(0)]).tolist()
    assert set(bounds) <= set(ends)
    for start, stop in pairwise(bounds):
        assert stop - start <= JOINED or ends.index(stop) == ends.index(start) + 1


@given(sizes)
def test_buckets_hold_all_runs_with_little_padding(sizes: list[int]) -> None:
    runs, done = runs_of(sizes), 0
    for count, width in runs.shapes:
        inside = runs.size[runs.order[done : done + count]]
        assert (inside <= width).all()
        most = max(PADDING, SHARE * sum(sizes))
        assert count * int(inside.max()) - int(inside.sum()) <= most
        done += count
    assert done == len(runs.order)
    assert sorted(runs.order.tolist()) == list(range(done))
    assert runs.area == sum(count * width**2 for count, width in runs.shapes)


@pytest.mark.parametrize("heads", [1, 3])
@given(sizes=sizes.filter(bool))
def test_rows_lead_to_slots_and_back(heads: int, sizes: list[int]) -> None:
    clique = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    layout = AttentionLayout(torch.empty(2, 0, dtype=torch.long), len(clique), clique=clique)
    into, back, dead = layout.padded.rows(heads)
    row = torch.arange(len(clique) * heads)
    assert torch.equal(row[into][back], row)
    unused = torch.ones(len(into)).bool().index_fill(0, back.long(), False).nonzero().view(-1)
    assert sorted([] if dead is None else dead.tolist()) == unused.tolist()
    for bucket in layout.padded.buckets:  # in a run of one head all nodes have that head
        head = bucket.nodes_of((row % heads)[into].view(-1, 1), heads).view(bucket.shape[0], heads, -1)
        assert torch.equal(head, torch.arange(heads)[:, None].expand_as(head))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_softmax_may_write_over_what_it_reads(dtype: torch.dtype) -> None:
    """The dense backend rests on it, forward and backward, and PyTorch does not promise it."""
    for width in (*range(1, 70), 144, 512):
        score = torch.randn(3, width, width).to(dtype)
        score[score > 1.5] = -torch.inf
        score[:, :, 0] = 0.0
        weight, grad = score.softmax(-1), torch.randn(3, width, width).to(dtype)
        expected = torch._softmax_backward_data(grad, weight, -1, dtype)
        assert torch.equal(torch.softmax(score, -1, out=score), weight)
        torch._softmax_backward_data(grad, weight, -1, dtype, grad_input=grad)
        assert torch.equal(grad, expected)


# -- data ------------------------------------------------------------------------------------------------


VOCAB = Vocab("abcdefgh")


def example(seed: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(2)], vocab=VOCAB)


def batch_of(edges: str, implicit: bool = True) -> Batch:
    batch = Batch.from_data_list([example(seed) for seed in range(3)])
    return resolve(edges, implicit=implicit)(batch)


def without_ptr(batch: Batch) -> Data:
    """As the data looks where only the example of each node is kept."""
    return Data(**{key: value for key, value in batch if key != "ptr"})


@pytest.mark.parametrize("edges", ["transformer", "dt", "dra"])
@pytest.mark.parametrize("implicit", [True, False])
def test_examples_are_told_apart_without_ptr(edges, implicit):
    batch = batch_of(edges, implicit)
    layout, again = AttentionLayout.of(batch), AttentionLayout.of(without_ptr(batch))
    assert torch.equal(layout.pairs, again.pairs)
    source, target = again.pairs
    assert torch.equal(batch.batch[source], batch.batch[target])
    assert (layout.edge_type is None) == (edges != "dt")
    assert layout.edge_type is None or torch.equal(layout.edge_type, again.edge_type)
    assert torch.equal(layout.ptr, again.ptr)


def test_one_example_has_neither():
    data = resolve("transformer")(example(1))
    assert AttentionLayout.of(data).pairs.size(1) == data.num_nodes**2


def test_edges_that_join_examples_are_refused():
    for implicit in (True, False):
        batch, key = batch_of("dt", implicit), "edge_index_explicit" if implicit else "edge_index"
        batch[key] = batch[key].clone()
        batch[key][:, 2] = torch.tensor([0, batch.num_nodes - 1])
        with pytest.raises(ValueError, match=f"different examples \\(edge 2: \\[0, {batch.num_nodes - 1}\\]"):
            AttentionLayout.of(batch)


def test_data_without_edges_or_with_two_kinds_is_refused():
    with pytest.raises(ValueError, match="the data has no 'edge_index': apply an edge constructor"):
        AttentionLayout.of(example(1))
    data = resolve("transformer", implicit=True)(example(1))
    data.edge_index = torch.tensor([[0], [1]])
    with pytest.raises(ValueError, match="an 'edge_index' beside the 'clique' of implicit edges: which are"):
        AttentionLayout.of(data)


def test_data_of_others_needs_no_node_table():
    edge_index = torch.tensor([[0, 1], [1, 2]])
    layout = AttentionLayout.of(Data(x=torch.zeros(4, 3), edge_index=edge_index))
    assert layout.num_nodes == 4
    assert torch.equal(layout.pairs, edge_index)


@pytest.mark.parametrize("implicit", [True, False])
def test_layers_may_have_edges_of_their_own(implicit):
    batch = batch_of("dt", implicit)
    kept = batch.clone()
    layout = own_layout(batch, resolve("dra"), AttentionConv.reads)
    assert torch.equal(layout.pairs, batch_of("dra").edge_index)
    assert layout.edge_type is None
    assert_same_data(batch, kept)
    with pytest.raises(ValueError, match="'edges' must keep the nodes of the data"):
        own_layout(batch, RelationNodes(), AttentionConv.reads)
    with pytest.raises(ValueError, match="no 'edge_index': apply an edge constructor"):
        own_layout(batch, ChainTree(), AttentionConv.reads)


def test_written_out_layouts_keep_types_and_marks():
    for name in ("dt", "lisa-complete"):
        layout = AttentionLayout.of(batch_of(name)).materialize()
        expected = AttentionLayout.of(batch_of(name, implicit=False))
        order = (layout.pairs[1] * layout.num_nodes + layout.pairs[0]).argsort()
        assert torch.equal(layout.pairs[:, order], expected.pairs)
        assert torch.equal(layout.ptr, expected.ptr)
        for got, wanted in zip(
            (layout.edge_type, layout.edge_mark), (expected.edge_type, expected.edge_mark)
        ):
            assert got is wanted is None or torch.equal(got[order], wanted)


# -- attached --------------------------------------------------------------------------------------------


def sentences() -> list[Data]:
    return [to_data([Sentence.chain(["w"] * words)]) for words in (3, 20, 5)]


def batch_of_attached(edges: str = "dra") -> Batch:
    return attach_layout(resolve(edges, implicit=True)(Batch.from_data_list(sentences())))


def is_taken(batch: Batch) -> bool:
    return AttentionLayout.of(batch) is batch.edge_layout


@pytest.mark.parametrize("edges", ["dra", "transformer", "dt", "lisa"])
def test_it_is_taken_and_gives_the_same(edges: str) -> None:
    bare = resolve(edges, implicit=True)(Batch.from_data_list(sentences()))
    batch = attach_layout(bare)
    assert "edge_layout" not in bare  # which is left as it is
    assert is_taken(batch)
    assert torch.equal(AttentionLayout.of(batch).pairs, AttentionLayout.of(bare).pairs)
    if edges == "dra":
        conv = DRAConv(4, 4)
        x = torch.randn(batch.num_nodes, 4)
        assert torch.equal(conv(x, AttentionLayout.of(batch)), conv(x, AttentionLayout.of(bare)))


def test_it_goes_where_the_batch_goes() -> None:
    batch = batch_of_attached()
    for moved in (batch.to("cpu"), copy.copy(batch), copy.deepcopy(batch), batch.clone(), batch.cpu()):
        assert is_taken(moved)
    assert is_taken(batch)
    assert is_taken(pickle.loads(pickle.dumps(batch)))  # as the workers of a loader send it
    batch.edge_index.clamp_(min=0)
    assert not is_taken(pickle.loads(pickle.dumps(batch)))


@pytest.mark.parametrize("implicit", [True, False])
def test_a_move_copies_what_batch_and_layout_share_once(implicit: bool) -> None:
    batch = attach_layout(resolve("dt", implicit=implicit)(Batch.from_data_list(sentences())))
    moved = batch.clone()
    assert is_taken(moved)
    layout, key = moved.edge_layout, "edge_index_explicit" if implicit else "edge_index"
    assert layout.edge_index is moved[key]
    assert layout.edge_type is moved.edge_type
    assert layout.clique is moved.get("clique")
    assert torch.equal(layout.block, batch.edge_layout.block)
    assert not is_taken(batch.clone().apply(lambda x: x.flip(0), "edge_type"))


def test_a_move_takes_all_that_was_computed() -> None:
    batch = batch_of_attached()
    moved = batch.clone().edge_layout
    assert moved is not batch.edge_layout
    assert {"area", "padded", "full_block", "has_repeated_edges"} <= vars(moved).keys()
    assert torch.equal(moved.padded.slot, batch.edge_layout.padded.slot)
    assert moved.padded.slot is not batch.edge_layout.padded.slot
    assert moved._host is batch.edge_layout


@pytest.mark.parametrize("edges", ["dra", "transformer", "dt"])
def test_on_its_way_to_a_gpu_it_gets_the_tiles(edges: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_module, "missing", lambda device: None)
    bare = resolve(edges, implicit=True)(Batch.from_data_list(sentences()))
    layout = attach_layout(bare, "cuda").edge_layout
    assert layout.ready_tiles is layout.tiles
    assert "padded" not in vars(layout)  # the kernels serve
    expected = build_tiles(layout.edge_index, layout.block, layout.group)
    assert all(map(torch.equal, layout.tiles.tensors, expected.tensors))
    assert {x.dtype for x in expected.tensors} <= {torch.int32, torch.uint8}
    moved = layout.clone()
    assert moved.ready_tiles is not layout.tiles
    assert all(map(torch.equal, moved.tiles.tensors, layout.tiles.tensors))
    for rows in (16, 64):  # as the caller says, whatever the longest block is
        fixed = attach_layout(bare, "cuda", rows=rows).edge_layout.tiles
        assert (fixed.block, fixed.edge.numel()) == (rows, layout.num_edges)
    with pytest.raises(ValueError, match=r"'rows' must be one of 16, 32, 64 \(got 48\)"):
        attach_layout(bare, "cuda", rows=48)


def test_what_the_kernels_refuse_gets_padded_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_module, "missing", lambda device: None)
    twice = torch.tensor([[0, 0], [1, 1]])
    layout = AttentionLayout(twice, 20, clique=torch.zeros(20, dtype=torch.long)).prepare("cuda")
    assert "repeated edges" in layout.tiles.refusal(numbered=False)
    assert "padded" in vars(layout)


def test_without_triton_there_are_no_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_module, "missing", lambda device: "needs triton")
    batch = resolve("dra")(Batch.from_data_list(sentences()))
    assert {"tiles", "padded"} & vars(attach_layout(batch, "cuda").edge_layout).keys() == {"padded"}


def shift(batch: Batch) -> None:
    batch.edge_index[0, 0] = 1


def replace(batch: Batch) -> None:
    batch.edge_index = batch.edge_index.clone()


def reverse(batch: Batch) -> None:
    batch.edge_index = batch.edge_index.flip(0)


def retype(batch: Batch) -> None:
    batch.edge_type = torch.zeros(batch.num_edges, dtype=torch.long)


def drop(batch: Batch) -> None:
    batch.edge_index = batch.edge_index[:, 1:]


def apply_to_all(batch: Batch) -> None:
    batch.apply(lambda x: x * 1)


def apply_to_edges(batch: Batch) -> None:
    batch.apply(lambda x: x.flip(0), "edge_index")


@pytest.mark.parametrize("change", [shift, replace, reverse, retype, drop, apply_to_all, apply_to_edges])
def test_changed_edges_never_have_the_old_layout(change) -> None:
    for steps in ((change, "move"), ("move", change), (change, "move", change)):
        batch = batch_of_attached()
        for step in steps:
            batch = batch.clone() if step == "move" else (step(batch), batch)[1]
        assert not is_taken(batch)
        assert torch.equal(AttentionLayout.of(batch).edge_index, batch.edge_index)


def test_a_transform_after_it_is_seen() -> None:
    batch = batch_of_attached("dra")
    bare = Batch.from_data_list(sentences())
    bare.edge_layout = batch.edge_layout
    other = resolve("sia")(bare)
    assert torch.equal(AttentionLayout.of(other).edge_index, other.edge_index)


def test_examples_of_a_batch_have_none() -> None:
    batch = batch_of_attached()
    for data in (batch[1], *batch.to_data_list()):
        assert "edge_layout" not in data
        assert AttentionLayout.of(data).num_nodes == data.num_nodes


def test_a_loader_joins_examples_that_have_one() -> None:
    examples = [attach_layout(resolve("dra")(data)) for data in sentences()]
    (batch,) = DataLoader(examples, batch_size=3)
    assert torch.equal(AttentionLayout.of(batch).edge_index, batch.edge_index)
    again = attach_layout(batch)
    assert is_taken(again)


def test_edges_are_needed() -> None:
    with pytest.raises(ValueError, match="the data has no 'edge_index'"):
        attach_layout(Batch.from_data_list(sentences()))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("edges", ["dra", "transformer", "dt"])
@pytest.mark.parametrize("backend", ["auto", "dense"])
def test_nothing_waits_for_the_device(edges: str, backend: str) -> None:
    options = {"num_relations": 900} if edges == "dt" else {}
    kind = GatedRelationConv if edges == "dt" else DRAConv
    conv = kind(32, 16, heads=2, backend=backend, **options).cuda()
    for _ in range(2):  # the first may compile and allocate
        batch = batch_of_attached(edges).pin_memory()
        x = torch.randn(batch.num_nodes, 32).pin_memory()
        mode = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            batch, x = batch.to("cuda", non_blocking=True), x.to("cuda", non_blocking=True).requires_grad_()
            assert is_taken(batch)
            conv(x, AttentionLayout.of(batch)).sum().backward()
        finally:
            torch.cuda.set_sync_debug_mode(mode)


def test_a_layout_of_inference_mode_is_made_anew():
    """Nobody can say whether such a tensor was written into."""
    with torch.inference_mode():
        data = attach_layout(Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3))
        data.edge_index.copy_(torch.tensor([[2, 1], [1, 0]]))
        assert AttentionLayout.of(data).edge_index.tolist() == [[2, 1], [1, 0]]
        assert AttentionLayout.of(data) is not data.edge_layout
