"""What holds for every decoder of dialogues."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.utils import cumsum

from graphdep.nn.models import HRANDecoder, HREDDecoder, NodeEmbedding, ResponseDecoder, TransformerDecoder
from graphdep.nn.models.dialogue import previous_ids
from graphdep.nn.models.transformer import Memory

WORDS, CHANNELS = 11, 8
Make = Callable[..., ResponseDecoder]
DECODERS: dict[str, Make] = {
    "transformer": lambda e, **o: TransformerDecoder(
        e, CHANNELS, num_layers=2, heads=2, ff_channels=10, max_positions=4, **o
    ),
    "transformer norm_first": lambda e, **o: TransformerDecoder(
        e, CHANNELS, num_layers=2, heads=2, ff_channels=10, norm_first=True, **o
    ),
    "hred": lambda e, **o: HREDDecoder(e, CHANNELS, **o),
    "hran": lambda e, **o: HRANDecoder(e, CHANNELS, **o),
}
each_decoder = pytest.mark.parametrize("make", DECODERS.values(), ids=DECODERS)


def build(make: Make, dim: int = CHANNELS, **options: object) -> ResponseDecoder:
    torch.manual_seed(0)
    vectors = torch.randn(WORDS, dim)
    embedding = NodeEmbedding(WORDS, CHANNELS, max_positions=0, max_levels=0, vectors=vectors)
    decoder = make(embedding, **options).double()
    for parameter in decoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    return decoder.eval()


def memory(*groups: list[int], seed: int = 0) -> Memory:
    """Contexts: the words of each utterance of each example."""
    group = torch.tensor([i for sizes in groups for i, size in enumerate(sizes) for _ in range(size)])
    ptr = cumsum(torch.tensor([sum(sizes) for sizes in groups]))
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(int(ptr[-1]), CHANNELS, dtype=torch.float64, generator=generator)
    return Memory(x, ptr, group.long())


def targets(*sizes: int) -> tuple[Tensor, Tensor]:
    ids = torch.randint(WORDS, (sum(sizes),), generator=torch.Generator().manual_seed(1))
    return ids, cumsum(torch.tensor(sizes))


CONTEXTS = ([2, 3], [1], [4, 0, 2, 1], [0, 2])  # words of the utterances; two of them are empty
SIZES = (5, 1, 7, 3)


@each_decoder
def test_steps_equal_the_full_pass(make: Make) -> None:
    decoder, rows, (ids, ptr) = build(make), memory(*CONTEXTS), targets(*SIZES)
    expected = decoder(rows, ids, ptr)
    before = previous_ids(ids, ptr)
    state, active = decoder.start(rows), torch.arange(len(SIZES))
    for place in range(max(SIZES)):
        going = ptr.diff()[active] > place
        if place:
            kept = going.nonzero().view(-1)
            state, active = decoder.select(state, kept, torch.zeros_like(kept)[:, None]), active[going]
        at = ptr[active] + place
        logits, state = decoder.step(state, before[at][:, None])
        assert logits.shape == (active.numel(), 1, WORDS)
        assert torch.allclose(logits[:, 0], expected[at], atol=1e-10)


@each_decoder
def test_hypotheses_are_as_if_alone(make: Make) -> None:
    """Several hypotheses of each example, reordered and doubled on the way, each equal its own full pass."""
    decoder, rows = build(make), memory([3, 1], [2])
    chosen = [torch.tensor([[5], [6]]), torch.tensor([[5, 7, 8], [9, 9, 10]]), torch.tensor([[3, 2], [1, 0]])]
    beams = [None, torch.tensor([[0, 0, 0], [0, 0, 0]]), torch.tensor([[2, 0], [1, 1]])]
    state, history = decoder.start(rows), torch.empty(2, 1, 0, dtype=torch.long)
    for tokens, beam in zip(chosen, beams):
        if beam is not None:
            state = decoder.select(state, torch.arange(2), beam)
            history = history[torch.arange(2)[:, None], beam]
        logits, state = decoder.step(state, tokens)
        history = torch.cat([history, tokens.unsqueeze(-1)], dim=-1)
    for example in range(2):
        own = slice(*rows.ptr[example : example + 2])
        alone = Memory(rows.x[own], torch.tensor([0, own.stop - own.start]), rows.group[own])
        for beam in range(2):
            ids = history[example, beam]
            state = decoder.start(alone)
            for token in ids:
                expected, state = decoder.step(state, token.view(1, 1))
            assert torch.allclose(logits[example, beam], expected[0, 0], atol=1e-10)


@each_decoder
@pytest.mark.parametrize("example", [[3, 1, 0, 2], [1, 0, 3, 2], [2, 2, 0, 0], [0, 0, 1, 1, 3, 3], [2, 0]])
def test_examples_in_another_order(make: Make, example: list[int]) -> None:
    """Permuted or repeated, also where they stay as many: each goes on as it would have."""
    decoder, rows, order = build(make), memory(*CONTEXTS), torch.tensor(example)
    first, second = (
        torch.tensor([[5, 6], [7, 8], [9, 10], [3, 2]]),
        torch.tensor([[4, 9], [1, 5], [6, 2], [8, 7]]),
    )
    _, state = decoder.step(decoder.start(rows), first[:, :1])
    state = decoder.select(state, torch.arange(4), torch.zeros(4, 2, dtype=torch.long))
    _, state = decoder.step(state, first)
    expected, _ = decoder.step(state, second)
    beam = torch.tensor([1, 0]).expand(order.numel(), 2)
    got, _ = decoder.step(decoder.select(state, order, beam), second[order].flip(1))
    assert torch.allclose(got, expected[order].flip(1), atol=1e-10)


@each_decoder
def test_an_example_is_as_if_alone(make: Make) -> None:
    decoder, rows, (ids, ptr) = build(make), memory(*CONTEXTS), targets(*SIZES)
    logits = decoder(rows, ids, ptr)
    for i in range(len(SIZES)):
        own, mine = slice(*rows.ptr[i : i + 2]), slice(*ptr[i : i + 2])
        alone = Memory(rows.x[own], torch.tensor([0, own.stop - own.start]), rows.group[own])
        assert torch.allclose(
            decoder(alone, ids[mine], torch.tensor([0, SIZES[i]])), logits[mine], atol=1e-10
        )


@each_decoder
def test_a_token_depends_on_what_came_before_and_on_its_context(make: Make) -> None:
    decoder, rows, (ids, ptr) = build(make), memory(*CONTEXTS), targets(*SIZES)
    logits = decoder(rows, ids, ptr)
    changed = ids.clone()
    changed[2] = (changed[2] + 1) % WORDS  # third token of the first example
    differs = (decoder(rows, changed, ptr) - logits).abs().amax(dim=1) > 1e-9
    assert differs.nonzero().view(-1).tolist() == [3, 4]
    x = rows.x.clone()
    x[rows.ptr[2] - 1] += 1.0  # the last word of the second context
    differs = (decoder(replace(rows, x=x), ids, ptr) - logits).abs().amax(dim=1) > 1e-9
    assert differs.nonzero().view(-1).tolist() == [5]


@each_decoder
def test_an_empty_context(make: Make) -> None:
    decoder, rows, (ids, ptr) = build(make), memory([2], []), targets(3, 2)
    logits = decoder(rows, ids, ptr)
    assert logits.isfinite().all()
    state = decoder.start(rows)
    first, state = decoder.step(state, torch.tensor([[1], [1]]))
    assert torch.allclose(first[:, 0], logits[ptr[:-1]])
    nothing = memory([])
    expected, _ = decoder.step(decoder.start(nothing), torch.tensor([[1]]))
    assert torch.allclose(first[1], expected[0])


@each_decoder
@pytest.mark.parametrize("tie", [False, True])
def test_every_parameter_learns(make: Make, tie: bool) -> None:
    decoder = build(make, dim=5, tie=tie).train()
    rows = memory(*CONTEXTS)
    decoder(rows, *targets(*SIZES)).square().sum().backward()
    assert not [name for name, p in decoder.named_parameters() if p.grad is None or not p.grad.any()]


@each_decoder
def test_dropout_is_of_training_alone(make: Make) -> None:
    decoder, rows, target = build(make), memory(*CONTEXTS), targets(*SIZES)
    assert torch.equal(decoder(rows, *target), decoder(rows, *target))
    decoder.train()
    assert not torch.allclose(decoder(rows, *target), decoder(rows, *target))


@each_decoder
def test_reset_parameters(make: Make) -> None:
    """Everything but the word vectors, which are the encoder's."""
    decoder = build(make)
    for parameter in decoder.parameters():
        nn.init.constant_(parameter, torch.nan)
    decoder.reset_parameters()
    bad = [name for name, p in decoder.named_parameters() if not p.isfinite().all()]
    assert [name.split(".")[0] for name in bad] == ["embedding"]


@each_decoder
def test_a_new_decoder_leaves_the_embedding_alone_and_is_reset(make: Make) -> None:
    embedding = NodeEmbedding(WORDS, CHANNELS, max_positions=0, max_levels=0, vectors=torch.randn(WORDS, 5))
    before = {name: value.clone() for name, value in embedding.state_dict().items()}
    torch.manual_seed(0)
    decoder = make(embedding)
    assert decoder.hidden_channels == CHANNELS
    made = {name: value.clone() for name, value in decoder.state_dict().items()}
    assert all(torch.equal(value, before[name]) for name, value in embedding.state_dict().items())
    decoder.reset_parameters()
    assert all(torch.equal(value, before[name]) for name, value in embedding.state_dict().items())
    assert not all(torch.equal(value, made[name]) for name, value in decoder.state_dict().items())


@each_decoder
def test_a_new_decoder_draws_its_parameters(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    embedding, calls = NodeEmbedding(WORDS, CHANNELS, max_positions=0, max_levels=0), []
    monkeypatch.setattr(type(make(embedding)), "reset_parameters", lambda decoder: calls.append(decoder))
    assert calls == [make(embedding)]


def test_previous_ids() -> None:
    ids = torch.tensor([7, 4, 8, 9, 4, 4])
    assert previous_ids(ids, torch.tensor([0, 2, 2, 5, 6])).tolist() == [1, 7, 1, 8, 9, 1]
    assert ids.tolist() == [7, 4, 8, 9, 4, 4]
