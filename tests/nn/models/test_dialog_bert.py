from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import Vocab, to_data
from graphdep.nn.conv import AttentionConv, DRAConv
from graphdep.nn.models import DialogBERT, GraphTransformer, WordAverage
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")
SIZE = 8


def make(encoder_options: dict | None = None, conv=AttentionConv, **options) -> DialogBERT:
    torch.manual_seed(0)
    sizes = {"hidden_channels": SIZE, "num_layers": 1, "ff_channels": 6, "dropout": 0.0}
    sizes |= encoder_options or {}
    encoder = GraphTransformer(len(VOCAB), lambda number: conv(SIZE, 4, 2), **sizes)
    sizes = {"num_layers": 2, "heads": 2, "ff_channels": 6, "dropout": 0.0}
    model = DialogBERT(encoder, **(sizes | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def context(seed: int, utterances: int, preset: str = "transformer-utterance") -> Data:
    rng = random.Random(seed)
    sentences = [random_sentence(rng, rng.randint(4, 7)) for _ in range(utterances)]
    return resolve(preset)(to_data(sentences, vocab=VOCAB, positions="example"))


def batch(*utterances: int) -> Batch:
    return Batch.from_data_list([context(i, number) for i, number in enumerate(utterances)])


def slow_block(layer: nn.Module, x: Tensor) -> Tensor:
    query, key, value = (
        lin(x).view(-1, 2, SIZE // 2).transpose(0, 1)
        for lin in (layer.conv.lin_query, layer.conv.lin_key, layer.conv.lin_value)
    )
    heads = (query @ key.mT / (SIZE // 2) ** 0.5).softmax(dim=-1) @ value
    x = layer.norm_attention(x + layer.lin_out(heads.transpose(0, 1).flatten(1)))
    return layer.norm_feed_forward(x + layer.feed_forward(x))


def slow_context(model: DialogBERT, utterances: Tensor) -> Tensor:
    """The utterance vectors of one example through the context encoder."""
    x = utterances
    if model.context.turn is not None:
        x = x + model.context.turn.weight[torch.arange(len(x)).clamp(max=len(model.context.turn.weight) - 1)]
    for layer in model.context.layers:
        x = slow_block(layer, x)
    return x


@pytest.mark.parametrize("options", [{}, {"turn_embedding": False}, {"max_turns": 2}])
def test_words_within_utterances_then_utterances(options: dict) -> None:
    model, examples = make(**options), [context(i, number) for i, number in enumerate((3, 1, 4))]
    expected = []
    for data in examples:
        roots = []
        for number in range(int(data.utterance.max()) + 1):
            nodes = (data.utterance == number).nonzero().view(-1)
            x = model.embedding.word.weight[data.input_ids[nodes]]
            x = x + model.embedding.position.weight[torch.arange(len(nodes))]  # counted from ROOT
            roots.append(slow_block(model.encoder.layers[0], x)[0])
        expected.append(slow_context(model, torch.stack(roots)))
    memory = model(Batch.from_data_list(examples))
    torch.testing.assert_close(memory.x, torch.cat(expected), rtol=0, atol=1e-10)
    assert memory.ptr.tolist() == [0, 3, 4, 8]
    assert memory.group is None


def test_edges_of_the_data_say_what_words_see() -> None:
    # In one layer ROOT sees its utterance either way.
    model = make({"position_embedding": False, "num_layers": 2}, DRAConv)
    data = context(1, 2, "dra")
    out = model(data).x
    assert not torch.allclose(model(resolve("transformer-utterance")(data)).x, out)


def watched(model: DialogBERT, data: Data, objective: str, head: str) -> dict[str, Tensor]:
    """One pass of an objective: its loss, and what its context encoder and its head read."""
    seen: dict[str, Tensor] = {}
    memory = model(data)
    handles = [
        model.context.register_forward_hook(lambda _, args, out: seen.update(read=args[0], states=out)),
        getattr(model, head).register_forward_hook(lambda _, args, out: seen.update(given=args[0])),
    ]
    seen |= {"loss": model.auxiliary(data, memory)[objective], "x": memory.utterances}
    for handle in handles:
        handle.remove()
    return seen


def row_of(row: Tensor, rows: Tensor) -> int:
    found = (rows == row).all(dim=1).nonzero().view(-1).tolist()
    assert len(found) == 1
    return found[0]


def test_mur_equals_the_formula() -> None:
    model, data = make(objectives=("mur",)), batch(3, 2, 4, 1, 5)
    fates = Counter()
    for seed in range(30):
        torch.manual_seed(seed)
        seen = watched(model, data, "mur", "lin_mur")
        x, read = seen["x"], seen["read"]
        bounds = [0, 3, 5, 9, 10, 15]
        chosen = [row_of(state, seen["states"]) for state in seen["given"]]
        assert [sum(m >= b for b in bounds) - 1 for m in chosen] == [0, 2, 4]  # one in each of three and more
        untouched = [row for row in range(15) if row not in chosen]
        assert torch.equal(read[untouched], x[untouched])
        errors = []
        for m in chosen:
            start = max(b for b in bounds if b <= m)
            stop = min(b for b in bounds if b > m)
            state = slow_context(model, read[start:stop])[m - start]
            errors.append((model.lin_mur(state) - x[m]).square().mean())
            if torch.equal(read[m], model.mask):
                fates["mask"] += 1
            else:
                fates["kept" if row_of(read[m], x) == m else "other"] += 1
        torch.testing.assert_close(seen["loss"], torch.stack(errors).mean(), rtol=0, atol=1e-10)
    assert 60 <= fates["mask"] <= 82  # of 90
    assert min(fates["kept"], fates["other"]) >= 3


def test_mur_draws_every_utterance() -> None:
    model, data, drawn = make(objectives=("mur",)), batch(4), set()
    for _ in range(30):
        seen = watched(model, data, "mur", "lin_mur")
        drawn.add(row_of(seen["given"][0], seen["states"]))
    assert drawn == {0, 1, 2, 3}


def test_mur_recovers_the_whole_utterance() -> None:
    """Its target changes with the last word of an utterance, however long."""
    model, data = make(objectives=("mur",), min_utterances=1), context(3, 1)
    before = model(data).utterances
    data.input_ids[-1] = 0
    assert not torch.allclose(model(data).utterances, before)


@pytest.mark.parametrize("detach_target", [True, False])
def test_gradients_of_the_target(detach_target: bool) -> None:
    model, data = make(objectives=("mur",), detach_target=detach_target), batch(3)
    for parameter in model.context.parameters():  # nothing gets through but the target
        nn.init.zeros_(parameter)
    model.auxiliary(data, model(data))["mur"].backward()
    learns = model.embedding.word.weight.grad
    assert (learns is not None and bool(learns.any())) != detach_target


def test_duor_equals_the_formula() -> None:
    model, data = make(objectives=("duor",)), batch(3, 2, 1, 4)
    orders = set()
    for seed in range(20):
        torch.manual_seed(seed)
        seen = watched(model, data, "duor", "lin_duor")
        order = [row_of(row, seen["x"]) for row in seen["read"]]
        orders.add(tuple(order))
        divergences = []
        for start, stop in ((0, 3), (3, 5), (6, 10)):
            size = stop - start
            assert sorted(order[start:stop]) == list(range(start, stop))
            h = slow_context(model, seen["x"][order[start:stop]])  # turn embeddings of the new order
            s = torch.stack(
                [sum(h[k] @ model.lin_duor(h[j]) for k in range(size)) / size for j in range(size)]
            )
            true = torch.tensor([1 - (row - start) / (size - 1) for row in order[start:stop]]).double()
            p, q = true.softmax(dim=0), s.softmax(dim=0)
            divergences.append((p * (p.log() - q.log())).sum())
        torch.testing.assert_close(seen["loss"], sum(divergences) / 3, rtol=0, atol=1e-6)
        assert seen["loss"] > 0
    assert len(orders) > 10


def test_the_response_loss_sees_contexts_in_their_order() -> None:
    """Shuffling and masking are passes of their own: the memory is that of evaluation."""
    model, data = make(), batch(3, 4)
    memory = model.train()(data)
    model.auxiliary(data, memory)
    assert torch.equal(memory.x, model.eval()(data).x)


def test_objectives_can_be_switched() -> None:
    data = batch(3, 4)
    for objectives in ((), ("mur",), ("duor",), ("mur", "duor")):
        model = make(objectives=objectives)
        losses = model.auxiliary(data, model(data))
        assert tuple(losses) == objectives
        own = {name.partition(".")[0] for name, _ in model.named_parameters()} - {"encoder", "context"}
        heads = {"mur": {"mask", "lin_mur"}, "duor": {"lin_duor"}}
        assert own == set().union(*(heads[objective] for objective in objectives))
        assert model.eval().auxiliary(data, model(data)) == {}


@pytest.mark.parametrize("utterances", [(1,), (1, 1), (2, 1)])
def test_nothing_to_act_on_gives_0(utterances: tuple[int, ...]) -> None:
    model, data = make(), batch(*utterances)
    losses = model.auxiliary(data, model(data))
    sum(losses.values()).backward()
    assert torch.equal(losses["mur"], torch.zeros_like(losses["mur"]))
    assert bool(losses["duor"] == 0) == (max(utterances) == 1)
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters())


def test_a_single_context_has_losses_too() -> None:
    model, data = make(), context(1, 4)
    assert all(bool(loss > 0) for loss in model.auxiliary(data, model(data)).values())


def test_chance_follows_the_seed() -> None:
    model, data = make(), batch(3, 4)
    memory = model(data)
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(model.auxiliary(data, memory))
    assert torch.equal(losses[0]["mur"], losses[1]["mur"])
    assert torch.equal(losses[0]["duor"], losses[1]["duor"])
    assert not torch.equal(losses[0]["mur"], losses[2]["mur"])


def test_any_text_encoder_will_do() -> None:
    torch.manual_seed(0)
    model = DialogBERT(WordAverage(len(VOCAB), hidden_channels=SIZE), num_layers=1, heads=2, ff_channels=6)
    assert model(batch(3, 1)).x.shape == (4, SIZE)


def test_the_options_are_in_its_name() -> None:
    name = "DialogBERT(\n  objectives=('mur', 'duor'), min_utterances=3, detach_target=True\n"
    assert str(make()).startswith(name)
    others = [
        {"min_utterances": 2},
        {"detach_target": False},
        {"objectives": ("duor", "mur")},
        {"max_turns": 9},
    ]
    assert len({str(make(**options)) for options in [{}, *others]}) == 5


def test_errors() -> None:
    with pytest.raises(ValueError, match="'objectives' must be one of mur, duor \\(got 'nug'\\)"):
        make(objectives=("mur", "nug"))
    with pytest.raises(ValueError, match="'heads' \\(3\\) must divide 'hidden_channels' \\(8\\)"):
        make(heads=3)
    for name in ("max_turns", "num_layers", "min_utterances", "ff_channels"):
        for value in (-5, 0, 2.5, True):
            with pytest.raises(ValueError, match=f"'{name}' must be a whole number .* 1 \\(got {value}\\)"):
                make(**{name: value})
    model, data = make(), batch(3)
    memory = model(data)
    assert repr(memory) == "_UtteranceMemory(x=[3, 8], ptr=[2], group=None, utterances=[3, 8])"
