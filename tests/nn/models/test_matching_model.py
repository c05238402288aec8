"""Laws of all models that match each utterance with the response."""

from __future__ import annotations

import copy
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphdep import NodeType
from graphdep.nn.models import DUA, IOI, SMN, DeepAttentionMatching, MatchingModel
from graphdep.nn.models.baselines.matching import turn_pairs
from tests.kit.word_dialogues import VOCAB, random_dialogue, word_dialogue

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
@settings(max_examples=10)
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


def test_the_last_words_of_long_texts_are_read(model: MatchingModel) -> None:
    long = word_dialogue(["j j a b c d e f"], "j b c d e f a")
    torch.testing.assert_close(model(long), model(word_dialogue(["a b c d e f"], "b c d e f a")))


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


def test_order_of_turns_and_who_speaks_last_matter(model: MatchingModel) -> None:
    first, second = model(word_dialogue(["a b", "c d"], "e")), model(word_dialogue(["c d", "a b"], "e"))
    assert abs((first - second).item()) > 1e-6


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
    with pytest.raises(ValueError, match=r"an example has one response \(got 0 in 1\)"):
        model(Batch.from_data_list([longer, data]))
    data.segment[:] = 1
    with pytest.raises(ValueError, match=r"an example has one response \(got 2 in 0\)"):
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


def test_errors() -> None:
    for name in MODELS:
        kind = type(MODELS[name]())
        with pytest.raises(ValueError, match=r"'max_turns' must be a whole number of at least 1 \(got 0\)"):
            kind(9, max_turns=0)
        with pytest.raises(ValueError, match=r"'hidden_channels' must be a whole number .* \(got 2.5\)"):
            kind(9, hidden_channels=2.5)
        for wrong in ("8", 8.5, True):
            with pytest.raises(ValueError, match=rf"'max_words' must be a whole number .* \(got {wrong!r}\)"):
                kind(9, max_words=wrong)
    with pytest.raises(ValueError, match=r"'max_words' must be at least 5 \(got 4\)"):
        SMN(9, max_words=4)
    with pytest.raises(ValueError, match=r"'max_words' must be a whole number of at least 1 \(got 0\)"):
        SMN(9, max_words=0)
    with pytest.raises(
        ValueError, match=r"'accumulation' must be one of dynamic, static, last \(got 'mean'\)"
    ):
        SMN(9, accumulation="mean")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *((kind, {"max_words": 7}) for kind in (SMN, DUA, IOI, DeepAttentionMatching)),
        *((kind, {"max_turns": 3}) for kind in (SMN, DUA, IOI, DeepAttentionMatching)),
        (SMN, {"accumulation": "last"}),
        *((kind, {"form": "code"}) for kind in (DUA, IOI, DeepAttentionMatching)),
        (IOI, {"objective": "global"}),
    ],
)
def test_the_options_are_in_its_name(kind: type[MatchingModel], options: dict) -> None:
    """Max_words and max_turns, too, where no layer has their size."""
    model = kind(9, hidden_channels=4, **options)
    ((name, value),) = options.items()
    assert f"{name}={value!r}" in str(model).splitlines()[1]
    assert str(model) != str(kind(9, hidden_channels=4))


def test_a_single_example_is_no_batch(model: MatchingModel) -> None:
    data = word_dialogue(["a"], "b")
    assert isinstance(data, Data)
    assert "batch" not in data
    assert model(data).shape == (1,)
