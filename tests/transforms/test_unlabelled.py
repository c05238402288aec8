from __future__ import annotations

import pytest
import torch
from hypothesis import given

from graphdep import RelationVocab, Sentence, to_data
from graphdep.testing import assert_same_data
from graphdep.transforms import RelationNodes, Unlabelled, resolve
from tests.kit.strategies import examples

DEP = RelationVocab()["dep"]


@given(examples())
def test_against_loop(data):
    before = data.clone()
    out = Unlabelled()(data)
    assert_same_data(data, before)
    kept = (RelationVocab.NONE, RelationVocab.SELF, RelationVocab.UNK)
    assert out.deprel.tolist() == [x if x in kept else DEP for x in data.deprel.tolist()]
    assert out.arc_type.tolist() == [DEP] * data.arc_index.size(1)
    assert torch.equal(out.arc_index, data.arc_index)


def test_arcs_without_a_label_and_learned_ones():
    relations = RelationVocab(["obl:in_front_of"])
    s = Sentence(["a", "b", "c"], [0, 1, 1], ["root", "obl:in_front_of", "nsubj"])
    data = to_data([s], relations=relations)
    data.arc_type[2] = RelationVocab.UNK
    assert Unlabelled()(data).arc_type.tolist() == [DEP, DEP, RelationVocab.UNK]
    assert data.arc_type.unique().numel() == 3


@given(examples())
def test_dt_then_is_dt_without_labels(data):
    first, second = resolve("dt")(Unlabelled()(data)), resolve("dt", labels=False)(data)
    assert torch.equal(first.edge_index, second.edge_index)
    assert torch.equal(first.edge_type, second.edge_type)


def test_relation_nodes_then_are_alike(example):
    data = RelationNodes()(Unlabelled()(to_data([example])))
    assert data.deprel[data.arc_node_index].tolist() == [DEP] * 9


def test_the_root_is_a_label_too():
    data = to_data([Sentence(["a", "b"], [0, 1], ["root", "nsubj"])], root=False)
    assert Unlabelled()(data).deprel.tolist() == [DEP, DEP]
    assert Unlabelled()(data).arc_type.tolist() == [DEP]


def test_data_without_labels(example):
    data = to_data([example])
    del data["deprel"]
    with pytest.raises(ValueError, match="the data has no 'deprel': Unlabelled merges labels"):
        Unlabelled()(data)


def test_stale_labels(example):
    for preset, key in (("dam", "arc_node_index"), ("dt", "edge_type")):
        with pytest.raises(ValueError, match=f"Unlabelled would leave '{key}' stale: put it before"):
            Unlabelled()(resolve(preset)(to_data([example])))
    assert repr(Unlabelled()) == "Unlabelled()"
