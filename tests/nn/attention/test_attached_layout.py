from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphdep import Sentence, to_data
from graphdep.nn.attention import AttentionLayout, attach_layout
from graphdep.nn.attention import layout as layout_module
from graphdep.nn.attention.tiles import build_tiles
from graphdep.nn.conv import DRAConv, GatedRelationConv
from graphdep.transforms import resolve


def sentences() -> list[Data]:
    return [to_data([Sentence.chain(["w"] * words)]) for words in (3, 20, 5)]


def batch_of(edges: str = "dra") -> Batch:
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
    batch = batch_of()
    for moved in (batch.to("cpu"), copy.copy(batch), copy.deepcopy(batch), batch.clone(), batch.cpu()):
        assert is_taken(moved)
    assert is_taken(batch)
    assert is_taken(pickle.loads(pickle.dumps(batch)))  # as the workers of a loader send it
    batch.edge_index.clamp_(min=0)
    assert not is_taken(pickle.loads(pickle.dumps(batch)))


def test_a_move_takes_all_that_was_computed() -> None:
    batch = batch_of()
    moved = batch.clone().edge_layout
    assert moved is not batch.edge_layout
    assert {"area", "padded", "whole_block", "has_repeated_edges"} <= vars(moved).keys()
    assert torch.equal(moved.padded.slot, batch.edge_layout.padded.slot)
    assert moved.padded.slot is not batch.edge_layout.padded.slot
    assert moved._host is batch.edge_layout


@pytest.mark.parametrize("edges", ["dra", "transformer", "dt"])
def test_on_its_way_to_a_gpu_it_gets_the_tiles(edges: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_module, "missing", lambda device: None)
    bare = resolve(edges, implicit=True)(Batch.from_data_list(sentences()))
    layout = attach_layout(bare, "cuda").edge_layout
    assert layout.ready_tiles(numbered=True) is layout.tiles_with_terms
    assert "padded" not in vars(layout)  # the kernels serve
    expected = build_tiles(layout.edge_index, layout.block, layout.group, number_all=True)
    assert all(map(torch.equal, layout.tiles_with_terms.tensors, expected.tensors))
    assert {x.dtype for x in expected.tensors} <= {torch.int32, torch.uint8}
    moved = layout.clone()
    assert moved.ready_tiles(numbered=False) is moved.ready_tiles(numbered=True)  # moved once, not twice
    assert moved.tiles is not layout.tiles


def test_what_the_kernels_refuse_gets_padded_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_module, "missing", lambda device: None)
    twice = torch.tensor([[0, 0], [1, 1]])
    layout = AttentionLayout(twice, 20, clique=torch.zeros(20, dtype=torch.long)).prepare("cuda")
    assert "repeated edges" in layout.tiles.refusal
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
@pytest.mark.parametrize("when", ["before a move", "after a move", "both"])
def test_changed_edges_never_have_the_old_layout(change, when: str) -> None:
    batch = batch_of()
    for step in {"before a move": (change, "move"), "after a move": ("move", change)}.get(
        when, (change, "move", change)
    ):
        batch = batch.clone() if step == "move" else (step(batch), batch)[1]
    assert not is_taken(batch)
    pairs = AttentionLayout.of(batch).edge_index
    assert torch.equal(pairs, batch.edge_index)


def test_a_transform_after_it_is_seen() -> None:
    batch = batch_of("dra")
    bare = Batch.from_data_list(sentences())
    bare.edge_layout = batch.edge_layout
    other = resolve("sia")(bare)
    assert torch.equal(AttentionLayout.of(other).edge_index, other.edge_index)


def test_examples_of_a_batch_have_none() -> None:
    batch = batch_of()
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
        batch = batch_of(edges).pin_memory()
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
