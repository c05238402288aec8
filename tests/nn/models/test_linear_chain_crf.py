from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from graphdep.nn.models import LinearChainCRF


def all_scores(crf: LinearChainCRF, logits: Tensor) -> dict[tuple[int, ...], Tensor]:
    """The score of each allowed sequence of labels, by its definition."""
    scores = {}
    for labels in itertools.product(range(logits.size(1)), repeat=len(logits)):
        pairs = [*itertools.pairwise(labels)]
        if not crf.allowed_first[labels[0]] or not all(crf.allowed[pair] for pair in pairs):
            continue
        score = sum(logits[place, label] for place, label in enumerate(labels))
        if crf.learned:
            score = score + crf.first[labels[0]] + sum(crf.transition[pair] for pair in pairs)
        scores[labels] = score
    return scores


def literal(crf: LinearChainCRF, logits: Tensor, lengths: list[int], labels: Tensor) -> Tensor:
    losses = []
    for rows, gold in zip(logits.split(lengths), labels.split(lengths)):
        scores = all_scores(crf, rows)
        own = scores.get(tuple(gold.tolist()))
        total = torch.stack([*scores.values()]).logsumexp(dim=0)
        losses.append(total.new_tensor(torch.inf) if own is None else total - own)
    return torch.stack(losses)


def random_tables(size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Some label comes first, and each has one after it; some may have none before them."""
    make = torch.Generator().manual_seed(seed)
    allowed = torch.rand(size, size, generator=make) < 0.5
    allowed[torch.arange(size), torch.randint(size, (size,), generator=make)] = True
    first = torch.rand(size, generator=make) < 0.5
    first[torch.randint(size, (1,), generator=make)] = True
    return allowed, first


def draw_weights(crf: LinearChainCRF, seed: int) -> LinearChainCRF:
    make = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=make, dtype=torch.double))
    return crf


def random_crf(size: int, seed: int, *, tables: bool = True, learned: bool = True) -> LinearChainCRF:
    allowed, first = random_tables(size, seed) if tables else (None, None)
    return draw_weights(LinearChainCRF(allowed, first, num_labels=size, learned=learned).double(), seed)


def random_logits(rows: int, size: int, seed: int) -> Tensor:
    return torch.randn(rows, size, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


cases = given(
    size=st.integers(1, 4),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    seed=st.integers(0, 2**32),
    tables=st.booleans(),
    learned=st.booleans(),
)


@settings(max_examples=30)
@cases
def test_likelihood_and_best_labels_equal_those_of_all_sequences(size, lengths, seed, tables, learned):
    crf, logits = (
        random_crf(size, seed, tables=tables, learned=learned),
        random_logits(sum(lengths), size, seed),
    )
    labels = torch.randint(size, (len(logits),), generator=torch.Generator().manual_seed(seed))
    out = crf(logits, torch.tensor(lengths), labels)
    torch.testing.assert_close(out, literal(crf, logits, lengths, labels), rtol=1e-9, atol=1e-9)
    best = []
    for rows in logits.split(lengths):
        scores = all_scores(crf, rows)
        best += max(scores, key=scores.__getitem__)
    assert crf.decode(logits, torch.tensor(lengths)).tolist() == best


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_equally_good_sequences_are_told_apart_by_their_last_labels(seed, lengths):
    """Reading backwards, the lowest label from which the best score can be reached."""
    size = 3
    crf = random_crf(size, seed, learned=False)
    make = torch.Generator().manual_seed(seed)
    logits = torch.randint(0, 2, (sum(lengths), size), generator=make).double()
    found = crf.decode(logits, torch.tensor(lengths)).split(lengths)
    for rows, labels in zip(logits.split(lengths), found):
        scores = all_scores(crf, rows)
        top = max(scores.values())
        best = min((labels for labels in scores if scores[labels] == top), key=lambda row: row[::-1])
        assert tuple(labels.tolist()) == best


def test_gradients_equal_those_of_the_definition() -> None:
    crf, logits, lengths = random_crf(3, 1), random_logits(7, 3, 2).requires_grad_(), [4, 1, 2]
    labels = crf.decode(logits, torch.tensor(lengths))
    both = crf(logits, torch.tensor(lengths), labels), literal(crf, logits, lengths, labels)
    wanted = [logits, *crf.parameters()]
    for got, expected in zip(*(torch.autograd.grad(loss.sum(), wanted) for loss in both)):
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-12)
        assert got.any()


def test_labels_that_are_not_allowed() -> None:
    """B, I, O, where I follows B or I."""
    allowed = torch.tensor([[1, 1, 1], [1, 1, 1], [1, 0, 1]]).bool()
    crf = LinearChainCRF(allowed, torch.tensor([True, False, True]))
    logits = random_logits(7, 3, 0).float().requires_grad_()
    lengths = torch.tensor([2, 2, 3])
    loss = crf(logits, lengths, torch.tensor([1, 1, 2, 1, 2, 0, 1]))
    assert loss.isinf().tolist() == [True, True, False]
    assert float(loss[2].detach()) > 0
    loss.sum().backward()
    assert not logits.grad[:4].any()
    assert logits.grad[4:].any()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in crf.parameters())
    assert not crf.transition.grad[~allowed].any()


def test_a_label_that_nothing_leads_to() -> None:
    crf = LinearChainCRF(torch.tensor([[True, False], [True, False]]), torch.tensor([True, False]))
    logits = torch.tensor([[0.0, 100.0]]).repeat(500, 1).requires_grad_()
    lengths = torch.tensor([500])
    labels = crf.decode(logits, lengths)
    assert not labels.any()
    loss = crf(logits, lengths, labels)
    assert loss.tolist() == [0.0]
    loss.sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in (logits, *crf.parameters()))


def test_without_scores_it_is_the_cross_entropy_of_each_word() -> None:
    logits, labels, lengths = random_logits(6, 4, 5), torch.tensor([0, 3, 2, 1, 1, 0]), torch.tensor([1, 5])
    for crf in (LinearChainCRF(num_labels=4), LinearChainCRF(num_labels=4, learned=False)):
        words = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
        expected = torch.stack([part.sum() for part in words.split([1, 5])])
        torch.testing.assert_close(crf(logits, lengths, labels), expected)
        assert torch.equal(crf.decode(logits, lengths), logits.argmax(dim=1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_is_summed_in_float32(dtype) -> None:
    crf, lengths = random_crf(5, 6).float(), torch.tensor([100, 1, 20])
    logits = random_logits(121, 5, 7).to(dtype).requires_grad_()
    labels = crf.decode(logits, lengths)
    assert torch.equal(labels, crf.decode(logits.double(), lengths))
    loss = crf(logits, lengths, labels)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, crf(logits.double(), lengths, labels).float(), rtol=1e-4, atol=1e-4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(crf(logits, lengths, labels), loss)
    loss.sum().backward()
    assert logits.grad.dtype == dtype
    assert logits.grad.isfinite().all()


def test_no_sequences() -> None:
    crf, none = LinearChainCRF(num_labels=3), torch.zeros(0, dtype=torch.long)
    loss = crf(torch.zeros(0, 3), none, none)
    assert (loss.shape, loss.dtype) == ((0,), torch.float32)
    labels = crf.decode(torch.zeros(0, 3), none)
    assert (labels.shape, labels.dtype) == ((0,), torch.long)


def test_decoding_has_no_gradient() -> None:
    crf, logits = random_crf(3, 0), random_logits(2, 3, 0).requires_grad_()
    assert not crf.decode(logits, torch.tensor([2])).requires_grad


def test_state_dict_has_what_is_learned() -> None:
    crf = random_crf(3, 1)
    assert sorted(crf.state_dict()) == ["first", "transition"]
    again = LinearChainCRF(*random_tables(3, 1)).double()
    again.load_state_dict(crf.state_dict())
    logits, lengths, labels = random_logits(4, 3, 2), torch.tensor([4]), torch.tensor([0, 1, 2, 0])
    assert torch.equal(crf(logits, lengths, labels), again(logits, lengths, labels))
    assert not random_crf(3, 1, learned=False).state_dict()


@pytest.mark.cuda
def test_cuda() -> None:
    """Lengths may stay on the CPU."""
    crf, logits, lengths = random_crf(4, 1), random_logits(8, 4, 2), torch.tensor([5, 1, 2])
    labels = crf.decode(logits, lengths)
    expected = crf(logits, lengths, labels)
    crf, logits = crf.cuda(), logits.cuda()
    for where in (lengths, lengths.cuda()):
        assert torch.equal(crf.decode(logits, where).cpu(), labels)
        loss = crf(logits, where, labels.cuda())
        torch.testing.assert_close(loss.cpu(), expected, rtol=0, atol=1e-10)


def test_reset_and_print() -> None:
    crf = random_crf(3, 1)
    for parameter in crf.parameters():
        torch.nn.init.constant_(parameter, torch.nan)
    crf.reset_parameters()
    assert not any(parameter.any() for parameter in crf.parameters())
    assert repr(crf) == "LinearChainCRF(3, learned=True)"
    assert math.isclose(
        float(LinearChainCRF(num_labels=2)(torch.zeros(1, 2), torch.tensor([1]), torch.tensor([0])).detach()),
        math.log(2),
        rel_tol=1e-6,
    )


def test_tables_that_cannot_be() -> None:
    yes = torch.ones(3, 3, dtype=torch.bool)
    for tables, options in (((), {}), ((yes, yes[0, :2]), {}), ((yes,), {"num_labels": 4})):
        with pytest.raises(
            ValueError, match="one number of labels must be given, by tables or by 'num_labels'"
        ):
            LinearChainCRF(*tables, **options)
    for tables in ((yes[:, :2],), (yes, yes), (None, yes)):
        with pytest.raises(ValueError, match=r"'allowed(_first)?' must be of shape \[3"):
            LinearChainCRF(*tables)
    last = yes.clone()
    last[2] = False
    for tables in ((last,), (yes, ~yes[0])):
        with pytest.raises(ValueError, match="some label must be allowed first, and after each label"):
            LinearChainCRF(*tables)
    for number in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="'num_labels' must be a whole number of at least 1"):
            LinearChainCRF(num_labels=number)
    with pytest.raises(ValueError, match=r"by tables or by 'num_labels' \(got none\)"):
        LinearChainCRF()
    with pytest.raises(ValueError, match=r"by tables or by 'num_labels' \(got 3 and 4\)"):
        LinearChainCRF(yes, num_labels=4)


def test_input_that_does_not_fit() -> None:
    crf, logits, labels = LinearChainCRF(num_labels=3), torch.zeros(4, 3), torch.tensor([0, 1, 2, 0])
    for lengths in ([3], [4, 0], [5, -1], []):
        wrong = torch.tensor(lengths, dtype=torch.long)
        with pytest.raises(ValueError, match="'lengths' must be above 0 with sum 4 \\(got \\["):
            crf(logits, wrong, labels)
        with pytest.raises(ValueError, match="'lengths' must be above 0 with sum 4 \\(got \\["):
            crf.decode(logits, wrong)
    four = torch.tensor([4])
    for wrong in (logits[:, :1], torch.zeros(4, 4), logits[None]):
        for run in (
            lambda wrong=wrong: crf(wrong, four, labels),
            lambda wrong=wrong: crf.decode(wrong, four),
        ):
            with pytest.raises(ValueError, match=r"'logits' must be of shape \[N, 3\] \(got \["):
                run()
    with pytest.raises(ValueError, match=r"'labels' must be of shape \[4\] \(got \[3\]\)"):
        crf(logits, four, labels[:3])
    for label in (-1, 3, -100):
        with pytest.raises(
            ValueError, match=f"'labels' must be from 0 to 2 \\(got \\[{label}, 1, 2, 0\\]\\)"
        ):
            crf(logits, four, torch.tensor([label, 1, 2, 0]))
