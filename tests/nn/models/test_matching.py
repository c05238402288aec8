"""Laws of all models that match each utterance with the response."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch

import graphdep.nn.models as M
from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, selection_data
from graphdep.nn.models import DUA, IOI, SMN, DeepAttentionMatching, MatchingModel
from graphdep.nn.models.baselines.matching import turn_pairs
from graphdep.vocab import VocabTokens
from tests.kit.slow import assert_same_gradients
from tests.kit.word_dialogues import (
    VOCAB,
    attend,
    gru_by_hand,
    matched_by_hand,
    random_dialogue,
    vectors_of,
    word_dialogue,
)

SMALL = {"hidden_channels": 6, "max_words": 6}
MODELS = {
    "smn": lambda: SMN(len(VOCAB), match_channels=5, **SMALL),
    "smn-static": lambda: SMN(len(VOCAB), match_channels=5, accumulation="static", max_turns=2, **SMALL),
    "smn-last": lambda: SMN(len(VOCAB), match_channels=5, accumulation="last", **SMALL),
    "dua": lambda: DUA(len(VOCAB), match_channels=5, **SMALL),
    "ioi": lambda: IOI(len(VOCAB), num_layers=2, dropout=0.0, **SMALL),
    "dam-2018": lambda: DeepAttentionMatching(len(VOCAB), num_layers=1, max_turns=4, **SMALL),
}


def make(name: str) -> MatchingModel:
    torch.manual_seed(3)
    model = MODELS[name]().double().eval()
    for parameter in model.parameters():  # biases, too, so that what is added to nothing is seen
        torch.nn.init.normal_(parameter, std=0.4)
    return model


@pytest.fixture(params=MODELS, scope="module")
def model(request) -> MatchingModel:
    return make(request.param)


@given(seed=st.integers(0, 2**16))
@settings(max_examples=5)
def test_a_batch_is_its_examples(model: MatchingModel, seed: int) -> None:
    rng = random.Random(seed)
    examples = [word_dialogue(*random_dialogue(rng, rng.randint(1, 4), 8)) for _ in range(3)]
    found = model(Batch.from_data_list(examples))
    assert found.shape == (3,)
    torch.testing.assert_close(found, torch.cat([model(one) for one in examples]), rtol=0, atol=1e-10)


def test_others_of_the_batch_change_no_gradient(model: MatchingModel) -> None:
    """Neither longer texts nor more turns of another example."""
    one, other = word_dialogue(["a"], "b"), word_dialogue(["c d e f a b", "d", "e f"], "c a b d e f")
    parameters = [*model.parameters()]
    alone = torch.autograd.grad(model(one).sum(), parameters, materialize_grads=True)
    beside = torch.autograd.grad(
        model(Batch.from_data_list([other, one]))[1], parameters, materialize_grads=True
    )
    for left, right in zip(alone, beside):
        torch.testing.assert_close(left, right, rtol=0, atol=1e-10)


def test_only_words_are_read(model: MatchingModel) -> None:
    data = word_dialogue(["a b", "c"], "d e")
    expected = model(data)
    special = data.node_type != NodeType.WORD
    assert int(special.sum()) == 5
    data.input_ids[special] = 1
    torch.testing.assert_close(model(data), expected, rtol=0, atol=0)


def test_the_last_turns_of_long_contexts_are_read(model: MatchingModel) -> None:
    """Whatever the other examples of the batch have, and without a gradient of what is not read."""
    rng, most = random.Random(2), model.max_turns
    context, response = random_dialogue(rng, most + 2, 6)
    long, short = word_dialogue(context, response), word_dialogue(context[2:], response)
    expected = model(short)
    batch = Batch.from_data_list([word_dialogue(["a"], "b"), long, short])
    torch.testing.assert_close(model(batch)[1:], expected.expand(2), rtol=0, atol=1e-10)
    table = model.encoder.word.weight
    unread = word_dialogue(["j j", *["a"] * most], "b")
    row = torch.autograd.grad(model(unread).sum(), table)[0][VOCAB.id_of("j")]
    assert not row.any()
    one_less = word_dialogue(context[3:], response)
    assert abs((model(one_less) - expected).item()) > 1e-9


def test_defaults_read_ten_turns_and_nine() -> None:
    found = [type(MODELS[name]())(len(VOCAB), max_words=6).max_turns for name in ("smn", "dua", "ioi")]
    assert found == [10, 10, 10]
    assert DeepAttentionMatching(len(VOCAB), max_words=6).max_turns == 9


def test_unknown_words_do_not_match_each_other() -> None:
    """Their vector starts as zeros, again after resetting, unless vectors are given."""
    model = SMN(len(VOCAB), match_channels=5, **SMALL)
    data = word_dialogue(["unheard"], "unseen")
    for _ in range(2):
        pairs = turn_pairs(data, model.encoder(data), 6)
        assert not pairs.images(pairs.x, pairs.x).any()
        known = model.encoder.word.weight[VOCAB.id_of("a")]
        assert known.any()
        model.reset_parameters()
    given = torch.randn(len(VOCAB), 6)
    assert torch.equal(SMN(len(VOCAB), vectors=given, **SMALL).encoder.word.weight, given)


def test_a_context_without_words_has_a_score(model: MatchingModel) -> None:
    bare = Batch.from_data_list([word_dialogue([], "a b"), word_dialogue([], "c")])
    assert model(bare).isfinite().all()
    mixed = model(Batch.from_data_list([word_dialogue([], "a b"), word_dialogue(["a"], "b")]))
    torch.testing.assert_close(mixed[0], model(bare)[0])
    mixed.sum().backward()
    model.zero_grad()


def test_a_response_without_words_is_a_word_of_zeros(model: MatchingModel) -> None:
    """As UbuntuIRC has them: messages of blanks."""
    given = [word_dialogue([], ""), word_dialogue(["a b", "c"], ""), word_dialogue(["a"], "b c")]
    found = model(Batch.from_data_list(given))
    torch.testing.assert_close(found, torch.cat([model(one) for one in given]), rtol=0, atol=1e-10)
    zeros = copy.deepcopy(model)
    with torch.no_grad():
        zeros.encoder.word.weight[VOCAB.id_of("j")] = 0
    torch.testing.assert_close(zeros(word_dialogue(["a b", "c"], "j")), found[1:2])
    found.sum().backward()
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters())
    model.zero_grad()


def test_an_example_must_have_one_response(model: MatchingModel) -> None:
    data = word_dialogue(["a b"], "c")
    data.segment[:] = 0
    longer = word_dialogue(["a", "b", "c"], "b")
    with pytest.raises(ValueError, match=r"an example has one response \(got 0 in example 1\)"):
        model(Batch.from_data_list([longer, data]))
    data.segment[:] = 1
    with pytest.raises(ValueError, match=r"an example has one response \(got 2 in example 0\)"):
        model(data)


def test_it_learns_on(model: MatchingModel) -> None:
    """Every parameter has a gradient, and resetting draws them anew."""
    fresh = make(next(name for name in MODELS if type(MODELS[name]()) is type(model)))
    batch = Batch.from_data_list([word_dialogue(["a b", "c"], "a b d"), word_dialogue(["d"], "e")])
    fresh(batch).sum().backward()
    assert all(parameter.grad is not None for parameter in fresh.parameters())
    before = [parameter.clone() for parameter in fresh.parameters()]
    fresh.reset_parameters()
    assert all(bool(p.isfinite().all()) for p in fresh.parameters())
    assert not any(torch.equal(old, new) for old, new in zip(before, fresh.parameters()))


def test_mixed_precision(model: MatchingModel) -> None:
    model = make(next(name for name in MODELS if type(MODELS[name]()) is type(model))).float()
    batch = Batch.from_data_list([word_dialogue(["a b", "c"], "a b d"), word_dialogue(["d"], "e")])
    expected = model(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(batch)
        model.loss(batch, torch.tensor([1.0, 0.0])).backward()
    assert found.dtype == torch.float
    torch.testing.assert_close(found.float(), expected, rtol=0.1, atol=0.3)


def test_logits_are_not_rounded_under_autocast(model: MatchingModel) -> None:
    """16 bits would leave some hundred different ones."""
    model = make(next(name for name in MODELS if type(MODELS[name]()) is type(model))).float()
    rng = random.Random(0)
    context, _ = random_dialogue(rng, 2, 6)
    batch = Batch.from_data_list([word_dialogue(context, random_dialogue(rng, 1, 6)[1]) for _ in range(20)])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(batch)
    assert (found.bfloat16().float() != found).any()


NAMED = [
    *((kind, {"max_words": 7}) for kind in (SMN, DUA, IOI, DeepAttentionMatching)),
    *((kind, {"max_turns": 3}) for kind in (SMN, DUA, IOI, DeepAttentionMatching)),
    (SMN, {"accumulation": "last"}),
    *((kind, {"form": "code"}) for kind in (DUA, IOI, DeepAttentionMatching)),
    (SMN, {"form": "paper"}),
    (IOI, {"objective": "global"}),
]


def test_the_options_are_in_its_name() -> None:
    """Max_words and max_turns, too, where no layer has their size."""
    for kind, options in NAMED:
        model = kind(9, hidden_channels=4, **options)
        ((name, value),) = options.items()
        assert f"{name}={value!r}" in str(model).splitlines()[1]
        assert str(model) != str(kind(9, hidden_channels=4))


# -- smn -------------------------------------------------------------------------------------------------


def make_smn(**options) -> SMN:
    torch.manual_seed(0)
    model = SMN(len(VOCAB), **{"hidden_channels": 4, "match_channels": 3, "max_words": 8, **options})
    return model.double().eval()


def literal(model: SMN, context: list[str], response: str) -> Tensor:
    """The formulas, utterance by utterance."""
    turns, words = model.turns, []
    r = vectors_of(model, response)
    hr, vectors = gru_by_hand(model.gru, r), []
    for text in context[-model.max_turns :]:
        u = vectors_of(model, text)
        hu = gru_by_hand(model.gru, u)
        vectors.append(matched_by_hand(model.images, u, r, hu, hr))
        words.append(hu[-1])
    states = gru_by_hand(turns.gru, torch.stack(vectors))
    if turns.accumulation == "last":
        whole = states[-1]
    elif turns.accumulation == "static":
        weights = turns.weight.flip(0)
        last = len(weights) - 1
        whole = sum(weights[min(n, last)] * state for n, state in enumerate(states.flip(0)))
    else:
        scores = torch.stack(
            [
                turns.lin_weight(torch.tanh(turns.lin_word(word) + turns.lin_turn(state)))[0]
                for word, state in zip(words, states)
            ]
        )
        weights = scores.exp() / scores.exp().sum()
        whole = sum(weight * state for weight, state in zip(weights, states))
    return model.lin(whole)[0]


@pytest.mark.parametrize(
    ("accumulation", "form"),
    [("dynamic", "code"), ("static", "code"), ("last", "code"), ("dynamic", "paper")],
)
def test_equals_the_formulas(accumulation: str, form: str) -> None:
    model, rng = make_smn(accumulation=accumulation, form=form, max_turns=2), random.Random(1)
    if accumulation == "static":
        torch.nn.init.normal_(model.turns.weight)
    for turns, words in ((1, 1), (3, 11)):
        dialogue = random_dialogue(rng, turns, words)
        found, expected = model(word_dialogue(*dialogue))[0], literal(model, *dialogue)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
        assert_same_gradients(found, expected, model)


def test_published_sizes() -> None:
    """The layer behind the pooling reads 2,048 numbers, as in the code."""
    model = SMN(20)
    assert tuple(model.images.lin.weight.shape) == (50, 2048)
    own = sum(p.numel() for n, p in model.named_parameters() if "encoder" not in n)
    gru = 3 * (200 * 200 + 200 * 200 + 2 * 200)
    images = 200 * 200 + 2 * 8 * 9 + 8 + 2048 * 50 + 50
    turns = 3 * (50 * 50 + 50 * 50 + 2 * 50) + 200 * 50 + 50 + 50 * 50 + 50
    assert own == gru + images + turns + 51


def test_vectors_keep_their_size() -> None:
    model = SMN(len(VOCAB), hidden_channels=4, max_words=8, vectors=torch.randn(len(VOCAB), 7))
    assert (model.gru.input_size, model.gru.hidden_size, model.images.form.shape) == (7, 4, (4, 4))
    assert model(word_dialogue(["a b"], "c")).shape == (1,)


# -- dua -------------------------------------------------------------------------------------------------


def make_dua(**options) -> DUA:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 4, "match_channels": 3, "max_words": 6}
    return DUA(len(VOCAB), **{**sizes, **options}).double().eval()


def aggregated(model: DUA, own: Tensor, last: Tensor) -> Tensor:
    """The states of a text's words, from those of the first GRU of it and of the last utterance."""
    size = own.size(1)
    rows = []
    for back in range(len(own), 0, -1):
        beside = last[-back] if back <= len(last) else own.new_zeros(size)
        rows.append(torch.cat([own[-back], beside]))
    seen = []
    for row in rows:
        weights = [
            model.lin_weight(torch.tanh(model.lin_other(other) + model.lin_own(row)))[0].exp()
            for other in rows
        ]
        total = sum(weights) if model.form == "paper" else 1
        seen.append(sum(weight * other for weight, other in zip(weights, rows)) / total)
    return gru_by_hand(model.gru_seen, torch.cat([torch.stack(rows), torch.stack(seen)], dim=1))


def literal_dua(model: DUA, context: list[str], response: str) -> Tensor:
    """The formulas, utterance by utterance and word by word."""
    turns = model.turns
    texts = [vectors_of(model, text) for text in (*context, response)]
    first = [gru_by_hand(model.gru, x) for x in texts]
    states = [aggregated(model, own, first[-2]) for own in first]
    pairs = zip(texts[:-1], states[:-1])
    vectors = [matched_by_hand(model.images, u, texts[-1], pu, states[-1]) for u, pu in pairs]
    contexts = gru_by_hand(turns.gru, torch.stack(vectors))
    weights = torch.stack(
        [
            turns.lin_weight(torch.tanh(turns.lin_word(own[-1]) + turns.lin_turn(state)))[0].exp()
            for own, state in zip(states, contexts)
        ]
    )
    return model.lin(sum(weight * state for weight, state in zip(weights / weights.sum(), contexts)))[0]


@pytest.mark.parametrize("form", ["paper", "code"])
def test_equals_the_formulas_of_dua(form: str) -> None:
    model, rng = make_dua(form=form), random.Random(1)
    for turns, words in ((1, 1), (3, 9)):
        dialogue = random_dialogue(rng, turns, words)
        found, expected = model(word_dialogue(*dialogue))[0], literal_dua(model, *dialogue)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
        assert_same_gradients(found, expected, model)


def test_published_sizes_of_dua() -> None:
    model = DUA(20)
    own = sum(p.numel() for n, p in model.named_parameters() if "encoder" not in n)
    first = 3 * (200 * 200 + 200 * 200 + 2 * 200)
    second = 3 * (800 * 200 + 200 * 200 + 2 * 200)
    attention = 2 * 400 * 400 + 400
    images = 200 * 200 + 2 * 8 * 9 + 8 + 2048 * 50 + 50
    turns = 3 * (50 * 50 + 50 * 50 + 2 * 50) + 200 * 50 + 50 + 50 * 50 + 50
    assert own == first + second + attention + images + turns + 51


# -- dam -------------------------------------------------------------------------------------------------


def make_dam(**options) -> DeepAttentionMatching:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 4, "num_layers": 2, "max_words": 4, "max_turns": 3}
    return DeepAttentionMatching(len(VOCAB), **{**sizes, **options}).double().eval()


def convolved(conv: torch.nn.Conv3d, cube: Tensor) -> Tensor:
    """The convolution place by place, zeros around the cube, and ELU."""
    out = cube.new_zeros(conv.out_channels, *cube.shape[1:])
    for t, i, j in torch.cartesian_prod(*(torch.arange(size) for size in cube.shape[1:])).tolist():
        total = conv.bias
        for a, b, c in torch.cartesian_prod(*[torch.arange(3)] * 3).tolist():
            place = (t + a - 1, i + b - 1, j + c - 1)
            if all(0 <= at < size for at, size in zip(place, cube.shape[1:])):
                total = total + conv.weight[:, :, a, b, c] @ cube[:, place[0], place[1], place[2]]
        out[:, t, i, j] = F.elu(total)
    return out


def pooled(cube: Tensor) -> Tensor:
    """The largest of each window of three; the last windows may be smaller."""
    sizes = [math.ceil(size / 3) for size in cube.shape[1:]]
    out = cube.new_zeros(cube.size(0), *sizes)
    for t, i, j in torch.cartesian_prod(*(torch.arange(size) for size in sizes)).tolist():
        window = cube[:, 3 * t : 3 * t + 3, 3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
        out[:, t, i, j] = window.flatten(1).amax(dim=1)
    return out


def literal_dam(model: DeepAttentionMatching, context: list[str], response: str) -> Tensor:
    """The formulas, utterance by utterance and word by word."""
    layers, side = len(model.own), model.max_words
    cube = torch.zeros(2 * (layers + 1), model.max_turns, side, side).double()
    for turn, text in enumerate(context[-model.max_turns :]):
        u, r = vectors_of(model, text), vectors_of(model, response)
        for layer in range(layers + 1):
            crossed_u = attend(model.turn_at_response[layer], u, r)
            crossed_r = attend(model.response_at_turn[layer], r, u)
            for channel, (left, right) in ((layer, (u, r)), (layers + 1 + layer, (crossed_u, crossed_r))):
                for i in range(len(u)):
                    for j in range(len(r)):
                        product = left[i] @ right[j]
                        cube[channel, turn, i, j] = product / 2 if model.form == "code" else product
            if layer < layers:
                u, r = attend(model.own[layer], u, u), attend(model.own[layer], r, r)
    features = pooled(convolved(model.conv2, pooled(convolved(model.conv1, cube))))
    return model.lin(features.flatten())[0]


@pytest.mark.parametrize("form", ["paper", "code"])
def test_equals_the_formulas_of_dam(form: str) -> None:
    model, rng = make_dam(form=form), random.Random(1)
    for turns, words in ((1, 1), (6, 4)):
        dialogue = random_dialogue(rng, turns, words)
        found, expected = model(word_dialogue(*dialogue))[0], literal_dam(model, *dialogue)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
        assert_same_gradients(found, expected, model, atol=1e-8)


def test_published_sizes_of_dam() -> None:
    model = DeepAttentionMatching(20)
    module = 2 * (200 * 200 + 200) + 4 * 200
    convolutions = 27 * (12 * 32 + 32 * 16) + 32 + 16
    own = sum(p.numel() for n, p in model.named_parameters() if "encoder" not in n)
    assert own == (5 + 2 * 6) * module + convolutions + 16 * 6 * 6 + 1


def test_without_layers_and_without_the_former_turns() -> None:
    model = make_dam(num_layers=0, max_turns=2)
    torch.testing.assert_close(
        model(word_dialogue(["c", "a b", "d"], "e")), model(word_dialogue(["a b", "d"], "e"))
    )


# -- ioi -------------------------------------------------------------------------------------------------


def make_ioi(**options) -> IOI:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 4, "num_layers": 3, "max_words": 5, "dropout": 0.0}
    return IOI(len(VOCAB), **{**sizes, **options}).double().eval()


def convolved_ioi(conv: torch.nn.Conv2d, image: Tensor) -> Tensor:
    """The convolution place by place, zeros around the image, ReLU, and the largest of each window of three;
    the last windows may be smaller.
    """
    high, wide = image.shape[1:]
    out = image.new_zeros(conv.out_channels, high, wide)
    for i, j in itertools.product(range(high), range(wide)):
        total = conv.bias
        for a, b in itertools.product(range(3), range(3)):
            if 0 <= i + a - 1 < high and 0 <= j + b - 1 < wide:
                total = total + conv.weight[:, :, a, b] @ image[:, i + a - 1, j + b - 1]
        out[:, i, j] = total.clamp(min=0)
    pooled = out.new_zeros(conv.out_channels, math.ceil(high / 3), math.ceil(wide / 3))
    for i, j in itertools.product(range(pooled.size(1)), range(pooled.size(2))):
        pooled[:, i, j] = out[:, 3 * i : 3 * i + 3, 3 * j : 3 * j + 3].flatten(1).amax(dim=1)
    return pooled


def literal_ioi(model: IOI, context: list[str], response: str) -> list[Tensor]:
    """The logits of all blocks by the formulas, utterance by utterance and word by word."""
    logits, channels = [], 4
    vectors: list[list[Tensor]] = [[] for _ in model.blocks]
    for text in context:
        start = texts = [vectors_of(model, text), vectors_of(model, response)]
        for number, block in enumerate(model.blocks):
            own = [attend(block.own[side], texts[side], texts[side]) for side in range(2)]
            crossed = [attend(block.crossed[side], texts[side], texts[1 - side]) for side in range(2)]
            image = torch.zeros(3, model.max_words, model.max_words).double()
            for channel, (u, r) in enumerate((texts, own, crossed)):
                for i, j in itertools.product(range(len(u)), range(len(r))):
                    image[channel, i, j] = u[i] @ r[j] / channels**0.5
            features = convolved_ioi(block.conv2, convolved_ioi(block.conv1, image))
            vectors[number].append(torch.tanh(block.lin_match(features.flatten())))
            following = []
            for side, x in enumerate(texts if block is not model.blocks[-1] else []):
                found = torch.cat([x, own[side], crossed[side], x * crossed[side]], dim=1)
                total = x + block.compress[side](found).clamp(min=0)
                total = total + start[side] if number > 0 else total
                following.append(block.norm[side](total))
            texts = following
    for block, found in zip(model.blocks, vectors):
        logits.append(block.lin(gru_by_hand(block.turns.gru, torch.stack(found))[-1])[0])
    return logits


@pytest.mark.parametrize("form", ["paper", "code"])
def test_equals_the_formulas_of_ioi(form: str) -> None:
    model, rng = make_ioi(form=form), random.Random(1)
    for turns, words in ((1, 1), (2, 7)):
        dialogue = random_dialogue(rng, turns, words)
        found, expected = (
            model.trained(word_dialogue(*dialogue))[0],
            torch.stack(literal_ioi(model, *dialogue)),
        )
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
        assert_same_gradients(found, expected, model, atol=1e-8)


def test_ranks_by_the_mean_of_all_blocks_and_each_learns() -> None:
    model, data = make_ioi(), word_dialogue(["a b", "c"], "d")
    logits = model.trained(data)
    torch.testing.assert_close(model(data).sigmoid(), logits.sigmoid().mean(dim=-1))
    y = torch.ones(1).double()
    losses = [F.binary_cross_entropy_with_logits(logits[:, k], y) for k in range(3)]
    torch.testing.assert_close(model.loss(data, y), sum(losses).float())


def test_blocks_are_combined_in_32_bits() -> None:
    """The difference of two sums that are nearly one would have no digit left in 16."""
    model, batch = make_ioi(num_layers=7).bfloat16(), []
    for response in "abcdefghij":
        batch.append(word_dialogue(["a b", "c"], response))
    data = Batch.from_data_list(batch)
    mean = model.trained(data).double().sigmoid().mean(dim=-1)
    torch.testing.assert_close(model(data).double(), mean.logit(), rtol=0, atol=1e-5)


def test_the_global_objective_is_of_the_sum() -> None:
    model, data = make_ioi(objective="global"), word_dialogue(["a b", "c"], "d")
    expected = torch.stack(literal_ioi(model, ["a b", "c"], "d")).sum()
    torch.testing.assert_close(model(data)[0], expected)
    y = torch.zeros(1).double()
    torch.testing.assert_close(
        model.loss(data, y), F.binary_cross_entropy_with_logits(expected[None], y).float()
    )


def test_published_sizes_of_ioi() -> None:
    block = IOI(20).blocks[0]
    module = 2 * (200 * 200 + 200) + 4 * 200
    images = 9 * (3 * 32 + 32 * 16) + 32 + 16 + 576 * 200 + 200
    rest = 2 * (800 * 200 + 200 + 2 * 200) + 3 * (2 * 200 * 200 + 2 * 200) + 201
    assert sum(p.numel() for p in block.parameters()) == 4 * module + images + rest


def test_dropout_is_for_training() -> None:
    model, data = make_ioi(dropout=0.5), word_dialogue(["a b", "c"], "d")
    assert torch.equal(model(data), model(data))
    model.train()
    assert not torch.equal(model(data), model(data))


# -- empty -----------------------------------------------------------------------------------------------


EMPTY_VOCAB = Vocab("abcdf")
TOKENS = VocabTokens(EMPTY_VOCAB)
TREE = {"form": [*"abc"], "head": [0, 1, 1], "deprel": ["root", "obj", "obl"]}
DEPS = [[("0", "root")], [("1", "obj")], [("1", "obl"), ("2.1", "x")]]
PLAIN = Sentence(**TREE)
WITH_EMPTY = Sentence(**TREE, deps=DEPS, empty=[["2.1", "f", *"______", "1:conj", "_"]])
SIZES = {"hidden_channels": 12}

MATCHING: dict[str, Callable[[], nn.Module]] = {
    "smn": lambda: M.SMN(len(EMPTY_VOCAB), **SIZES, max_words=8),
    "dua": lambda: M.DUA(len(EMPTY_VOCAB), **SIZES, max_words=8),
    "dam-2018": lambda: M.DeepAttentionMatching(len(EMPTY_VOCAB), **SIZES, max_words=8),
    "ioi": lambda: M.IOI(len(EMPTY_VOCAB), **SIZES, max_words=8),
    "mean": lambda: M.SelectionModel(
        M.NodeEmbedding(len(EMPTY_VOCAB), 12, max_positions=0, max_levels=0), readout="mean"
    ),
}


def evaluated(model: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.double().eval()


def test_a_context_has_the_state_that_it_has_without():
    model = evaluated(M.HREDEncoder(len(EMPTY_VOCAB), **SIZES))
    both = [to_data([PLAIN, one], vocab=EMPTY_VOCAB, arcs="enhanced") for one in (PLAIN, WITH_EMPTY)]
    with torch.no_grad():
        assert torch.equal(*(model(data).x for data in both))


@pytest.mark.parametrize("name", MATCHING)
def test_a_response_fits_as_it_does_without(name):
    model = evaluated(MATCHING[name]())
    logits = []
    for one in (PLAIN, WITH_EMPTY):
        plain, other = (
            EncodedUtterance.of(tree, TOKENS, RelationVocab(), "enhanced") for tree in (PLAIN, one)
        )
        pairs = [selection_data([plain, other], plain, TOKENS), selection_data([plain], other, TOKENS)]
        with torch.no_grad():
            logits.append(model(Batch.from_data_list(pairs)))
    assert torch.equal(*logits)
