from __future__ import annotations

import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from graphdep import RelationVocab, Sentence, to_data
from graphdep.nn.models import SyntacticScaffold
from graphdep.nn.models.heads import word_nodes
from tests.kit.trees import random_sentence

RELATIONS = RelationVocab()


def literal(scaffold: SyntacticScaffold, trees: list[Sentence], states: torch.Tensor) -> float:
    """The formula, word by word."""
    total, row = 0.0, 0
    for tree in trees:
        for word, (head, deprel) in enumerate(zip(tree.head, tree.deprel), start=1):
            offset = 0 if head == 0 else min(scaffold.max_offset, max(-scaffold.max_offset, head - word))
            for part, target in (
                (scaffold.relation, RELATIONS[deprel]),
                (scaffold.offset, offset + scaffold.max_offset),
            ):
                scores = (part.lin.weight @ states[row] + part.lin.bias).tolist()
                total += math.log(sum(map(math.exp, scores))) - scores[target]
            row += 1
    return total / row


@pytest.mark.parametrize("root", [True, False])
@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_the_loss_is_that_of_the_formula(root: bool, sizes: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    trees = [random_sentence(random.Random(seed + size), size) for size in sizes]
    scaffold = SyntacticScaffold(4, len(RELATIONS), max_offset=2, dropout=0.0).double()
    batch = Batch.from_data_list([to_data(tree, root=root) for tree in trees])
    nodes = word_nodes(batch)
    states = torch.randn(nodes.numel(), 4, dtype=torch.double)
    assert scaffold(batch, states, nodes).item() == pytest.approx(literal(scaffold, trees, states))
