from __future__ import annotations

import pytest
import torch

from graphdep.nn.attention.dispatch import CSR, FLASH, TILE, auto_backend, kernel_of_blocks


@pytest.mark.parametrize(
    ("nodes", "edges", "clique", "repeated", "kernel"),
    [
        (1, 0, False, False, TILE),
        (64, 0, False, False, TILE),  # a gather would save less than a launch costs
        (64, 64, True, False, TILE),
        (65, 0, False, False, CSR),
        (65, 0, True, False, FLASH),
        (112, 112 * 4, False, False, FLASH),  # 112 = 28 * 4
        (113, 113 * 4, False, False, CSR),
        (5000, 0, True, False, FLASH),
        (600, 600 * 600, False, False, FLASH),
        (10, 30, False, True, CSR),
        (300, 300 * 300, False, True, CSR),
        (10, 30, True, True, TILE),  # what tiles then refuse
    ],
)
def test_a_block_goes_to_the_kernel_that_is_cheapest(nodes, edges, clique, repeated, kernel):
    facts = (torch.tensor([x]) for x in (nodes, edges, clique, repeated))
    assert kernel_of_blocks(*facts).tolist() == [kernel]


@pytest.mark.parametrize(
    ("facts", "backend"),
    [
        ({"area": 480, "pairs": 10}, "dense"),
        ({"area": 481, "pairs": 10}, "reference"),
        ({"area": 480, "pairs": 10, "repeated": True}, "reference"),
        ({"area": 481, "pairs": 10, "scatter": True}, "reference"),
        ({"area": 481, "pairs": 10, "scatter": True, "on_cuda": True}, "scatter"),
        ({"area": 480, "pairs": 10, "scatter": True, "on_cuda": True}, "dense"),
        ({"area": 0, "pairs": 0}, "dense"),
    ],
)
def test_the_backend_without_kernels_goes_by_density(facts, backend):
    assert auto_backend(**{"repeated": False, "on_cuda": False, "scatter": False, **facts}) == backend
