from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import RelationVocab, Sentence, to_data
from graphdep.transforms import MergeTypes, SameConstituentEdges, resolve

RELATIONS = RelationVocab(["strange"])
labels = directions = st.booleans()


def slow_merge(name: str, labels: bool, directions: bool) -> str:
    """By the names of relations."""
    inverse = name.endswith("^-1")
    if name.startswith("path"):
        a, b = name[5:-1].split(",")
        return name if directions else f"path({min(a, b)},{max(a, b)})"
    if name.startswith("["):
        return name
    base = name.removesuffix("^-1") if labels else "dep"
    return base + "^-1" * (inverse and directions)


@given(labels, directions)
def test_every_relation_by_its_name(labels, directions):
    ids = torch.arange(len(RELATIONS))
    merged = RelationVocab.merge(ids, labels=labels, directions=directions)
    names = [slow_merge(RELATIONS.label(i), labels, directions) for i in ids.tolist()]
    assert [RELATIONS.label(i) for i in merged.tolist()] == names


def test_the_input_keeps_its_types():
    data = resolve("dt")(to_data([Sentence(["a", "b"], [0, 1], ["root", "obj"])]))
    before = data.edge_type.clone()
    merged = MergeTypes()(data)
    assert torch.equal(data.edge_type, before)
    assert not torch.equal(merged.edge_type, before)
    assert torch.equal(merged.edge_index, data.edge_index)


def test_presets_merge():
    data = to_data([Sentence(["a", "b", "c"], [0, 1, 1], ["root", "obj", "nsubj"])])
    full, unlabelled = resolve("dt")(data), resolve("dt", labels=False)(data)
    assert unlabelled.edge_type.unique().numel() < full.edge_type.unique().numel()
    both = resolve("dt-related", labels=False, directions=False)(data)
    names = {RELATIONS.label(i) for i in both.edge_type.tolist()}
    assert names == {"[SELF]", "dep", "path(0,2)", "path(1,1)"}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("labels", MergeTypes),
        ("directions", MergeTypes),
        ("implicit", SameConstituentEdges),
    ],
)
@pytest.mark.parametrize("value", [0, None, "false"])
def test_flags_are_bools(name, make, value):
    with pytest.raises(ValueError, match=rf"'{name}' must be True or False \(got {value!r}\)"):
        make(**{name: value})


def test_repr_and_missing_types():
    assert repr(MergeTypes(directions=False)) == "MergeTypes(labels=False, directions=False)"
    with pytest.raises(ValueError, match="put TreePathTypes"):
        MergeTypes()(to_data([Sentence.chain(["x"])]))
