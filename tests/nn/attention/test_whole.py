from __future__ import annotations

import importlib

import pytest
import torch

from graphdep.nn.attention import AttentionLayout, edge_attention

NONE = torch.empty(2, 0, dtype=torch.long)


def complete(blocks: int, nodes: int) -> torch.Tensor:
    """All pairs within each block, written out."""
    start, i, j = torch.meshgrid(*map(torch.arange, (blocks, nodes, nodes)), indexing="ij")
    return torch.stack([(start * nodes + j).flatten(), (start * nodes + i).flatten()])


@pytest.mark.parametrize("implicit", [True, False])
@pytest.mark.parametrize(("blocks", "nodes"), [(1, 1), (3, 5), (2, 40)])
def test_complete_graphs_of_equal_size_are_views(
    monkeypatch: pytest.MonkeyPatch, implicit: bool, blocks: int, nodes: int
) -> None:
    clique = torch.arange(blocks).repeat_interleave(nodes) if implicit else None
    edges = NONE if implicit else complete(blocks, nodes)
    layout = AttentionLayout(edges, blocks * nodes, clique=clique)
    assert layout.whole_block == nodes
    states = [torch.randn(blocks * nodes, 2, 3, dtype=torch.double).requires_grad_() for _ in range(3)]
    expected = edge_attention(*states, edges, layout=layout, backend="reference")
    module = importlib.import_module("graphdep.nn.attention.edge_attention")
    monkeypatch.delattr(module, "dense_attention")  # it is not asked
    out = edge_attention(*states, edges, layout=layout, backend="dense")
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    for a, b in zip(*(torch.autograd.grad(x.sin().sum(), states) for x in (out, expected))):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "layout",
    [
        AttentionLayout(NONE, 0, clique=torch.empty(0, dtype=torch.long)),
        AttentionLayout(NONE, 4, clique=torch.tensor([0, 0, 0, 1])),  # of two sizes
        AttentionLayout(NONE, 2, clique=torch.tensor([0, -1])),  # a node that sees nothing
        AttentionLayout(NONE, 4, clique=torch.tensor([0, 1, 0, 1])),  # two cliques in one block
        AttentionLayout(torch.tensor([[0, 1], [1, 0]]), 2),  # nobody sees itself
        AttentionLayout(torch.tensor([[0, 1, 0, 0], [1, 0, 0, 0]]), 2),  # an edge twice
    ],
)
def test_others_are_not(layout: AttentionLayout) -> None:
    assert layout.whole_block is None


def test_dropout_on_a_cpu_is_that_of_padded_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("graphdep.nn.attention.edge_attention")
    monkeypatch.delattr(module, "whole_attention")
    states = [torch.randn(4, 1, 2) for _ in range(3)]
    clique = torch.tensor([0, 0, 1, 1])
    assert edge_attention(*states, NONE, clique=clique, dropout_p=0.5, backend="dense").shape == (4, 1, 2)
