"""The law of transforms: a batch of examples is transformed as each of them alone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

__all__ = ["assert_batch_law"]


def assert_same_data(left: Data, right: Data) -> None:
    """Asserts that two examples have the same keys, types, shapes and values."""
    assert set(left.keys()) == set(right.keys()), f"{sorted(left.keys())} != {sorted(right.keys())}"
    for key in sorted(left.keys()):
        a, b = left[key], right[key]
        if isinstance(a, Tensor):
            assert a.dtype == b.dtype, f"{key}: {a.dtype} != {b.dtype}"
            assert torch.equal(a, b), f"{key}: {a} != {b}"
        else:
            assert a == b, f"{key}: {a} != {b}"


def assert_batch_law(transform: Callable[[Data], Data], examples: Sequence[Data]) -> Batch:
    """Asserts ``T(Batch.from_data_list(xs)).to_data_list() == [T(x) for x in xs]``, key by key.

    Also that the transformed batch equals the batch of transformed examples, with its bookkeeping, and
    that neither the batch nor the examples have changed.

    Args:
        transform: A transform or an edge constructor.
        examples: Examples of different sizes.

    Returns:
        The transformed batch.

    Raises:
        AssertionError: If a value differs; names its key.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.testing import assert_batch_law
        >>> from graphdep.transforms import SelfLoops
        >>> examples = [to_data([Sentence.chain(["x"] * words)]) for words in (1, 3)]
        >>> assert_batch_law(SelfLoops(), examples).num_graphs
        2
    """
    batch = Batch.from_data_list(list(examples))
    before, slices = copy.deepcopy(batch), copy.deepcopy(batch._slice_dict)
    got = transform(batch)
    assert_same_data(batch, before)
    assert batch._slice_dict.keys() == slices.keys(), "the transform changed its input's bookkeeping"
    single = []
    for example in examples:
        kept = copy.deepcopy(example)
        single.append(transform(example))
        assert_same_data(example, kept)
    for left, right in zip(got.to_data_list(), single, strict=True):
        assert_same_data(left, right)
    assert_same_batch(got, Batch.from_data_list(single))
    return got


def assert_same_batch(left: Batch, right: Batch) -> None:
    """Asserts that two batches are alike, down to what ``to_data_list()`` reads."""
    assert_same_data(left, right)
    assert left.num_graphs == right.num_graphs
    assert left.num_nodes == right.num_nodes
    assert left._slice_dict.keys() == right._slice_dict.keys()
    for key in left._slice_dict:
        assert torch.equal(left._slice_dict[key], right._slice_dict[key]), f"slices of {key}"
        a, b = left._inc_dict[key], right._inc_dict[key]
        assert a is b is None or torch.equal(a, b), f"increments of {key}"
