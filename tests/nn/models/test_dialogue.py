from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import cumsum

from graphdep import Vocab, to_data
from graphdep.decoding import DecodeConfig
from graphdep.nn.models import (
    ContextEncoder,
    DependencyTransformer,
    DialogueModel,
    HRANDecoder,
    HREDDecoder,
    NodeEmbedding,
    ResponseDecoder,
    TransformerDecoder,
    WordOutput,
)
from graphdep.nn.models.dialogue import previous_ids
from graphdep.nn.models.transformer import Memory, example_bounds
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence


def test_words_are_scored_by_their_vectors() -> None:
    embedding = NodeEmbedding(7, 4, max_positions=0, max_levels=0, vectors=torch.randn(7, 5))
    output, x = WordOutput(embedding, 6), torch.randn(2, 3, 6)
    torch.nn.init.normal_(output.bias)
    state = output.lin(x)
    for word in range(7):
        expected = state @ embedding.word.weight[word] + output.bias[word]
        assert torch.allclose(output(x, embedding)[..., word], expected, atol=1e-5)
    assert [name for name, _ in output.named_parameters()] == ["bias", "lin.weight", "lin.bias"]


# The vectors are as long as GloVe's.
@pytest.mark.parametrize(("vectors", "most"), [(None, 1.0), (0.4 * torch.randn(2000, 300), 0.5)])
def test_at_first_all_words_are_about_equally_likely(vectors: torch.Tensor | None, most: float) -> None:
    embedding = NodeEmbedding(2000, 128, max_positions=0, max_levels=0, vectors=vectors)
    states = torch.nn.functional.layer_norm(torch.randn(50, 128), (128,))
    assert 0.05 < WordOutput(embedding, 128)(states, embedding).std() < most


def test_untied() -> None:
    embedding = NodeEmbedding(7, 4, max_positions=0, max_levels=0)
    output, x = WordOutput(embedding, 6, tie=False), torch.randn(3, 6)
    assert torch.equal(output(x, embedding), output.lin(x))
    assert output(x, embedding).shape == (3, 7)
    assert "tie=False" in repr(output)
    assert "tie=True" in repr(WordOutput(embedding, 6))


# -- decoder ---------------------------------------------------------------------------------------------


WORDS = 11
CHANNELS = 8
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
def test_examples_in_another_order(make: Make) -> None:
    """Permuted or repeated, also where they stay as many: each goes on as it would have."""
    for example in ([3, 1, 0, 2], [2, 2, 0, 0], [0, 0, 1, 1, 3, 3], [2, 0]):
        check_order(build(make), torch.tensor(example))


def check_order(decoder: ResponseDecoder, order: Tensor) -> None:
    rows = memory(*CONTEXTS)
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
def test_every_parameter_learns(make: Make) -> None:
    for tie in (False, True):
        decoder = build(make, dim=5, tie=tie).train()
        decoder(memory(*CONTEXTS), *targets(*SIZES)).square().sum().backward()
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
def test_a_new_decoder_draws_its_parameters(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    embedding, calls = NodeEmbedding(WORDS, CHANNELS, max_positions=0, max_levels=0), []
    monkeypatch.setattr(type(make(embedding)), "reset_parameters", lambda decoder: calls.append(decoder))
    assert calls == [make(embedding)]


def test_previous_ids() -> None:
    ids = torch.tensor([7, 4, 8, 9, 4, 4])
    assert previous_ids(ids, torch.tensor([0, 2, 2, 5, 6])).tolist() == [1, 7, 1, 8, 9, 1]
    assert ids.tolist() == [7, 4, 8, 9, 4, 4]


# -- transformer -----------------------------------------------------------------------------------------


TRANSFORMER_WORDS = 9


def make(norm_first: bool = False, **options: int) -> TransformerDecoder:
    torch.manual_seed(0)
    embedding = NodeEmbedding(TRANSFORMER_WORDS, CHANNELS, max_positions=0, max_levels=0)
    sizes = {"num_layers": 2, "heads": 2, "ff_channels": 12} | options
    return TransformerDecoder(embedding, CHANNELS, norm_first=norm_first, **sizes).double().eval()


def torch_layer(block: nn.Module, norm_first: bool) -> nn.TransformerDecoderLayer:
    """PyTorch's own block with the same weights."""
    layer = nn.TransformerDecoderLayer(CHANNELS, 2, 12, 0.0, batch_first=True, norm_first=norm_first).double()
    names = {"self_attn": block.own, "multihead_attn": block.cross}
    with torch.no_grad():
        for name, attention in names.items():
            other = getattr(layer, name)
            lins = (attention.lin_query, attention.lin_key, attention.lin_value)
            other.in_proj_weight.copy_(torch.cat([lin.weight for lin in lins]))
            other.in_proj_bias.copy_(torch.cat([lin.bias for lin in lins]))
            other.out_proj.load_state_dict(attention.lin_out.state_dict())
    layer.linear1.load_state_dict(block.feed_forward[0].state_dict())
    layer.linear2.load_state_dict(block.feed_forward[-1].state_dict())
    for number, norm in enumerate((block.norm_own, block.norm_cross, block.norm_feed_forward), start=1):
        getattr(layer, f"norm{number}").load_state_dict(norm.state_dict())
    return layer.eval()


@pytest.mark.parametrize("norm_first", [False, True])
def test_equals_pytorchs_decoder(norm_first: bool) -> None:
    decoder = make(norm_first)
    for parameter in decoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    rows, ids = [torch.randn(n, CHANNELS).double() for n in (4, 2, 7)], [[5, 6, 4], [4], [7, 7, 8, 5, 4]]
    memory = Memory(torch.cat(rows), cumsum(torch.tensor([4, 2, 7])))
    logits = decoder(
        memory, torch.tensor([token for response in ids for token in response]), torch.tensor([0, 3, 4, 9])
    )
    expected = []
    for context, response in zip(rows, ids):
        x = decoder.embedding.word(torch.tensor([1, *response[:-1]]))
        x = (x + decoder.position.weight[: len(response)])[None]
        mask = nn.Transformer.generate_square_subsequent_mask(len(response), dtype=torch.float64)
        for block in decoder.layers:
            x = torch_layer(block, norm_first)(x, context[None], tgt_mask=mask)
        x = decoder.output.lin(decoder.norm(x[0]))
        expected.append(x @ decoder.embedding.word.weight.T + decoder.output.bias)
    assert torch.allclose(logits, torch.cat(expected), atol=1e-10)


@pytest.mark.parametrize("norm_first", [False, True])
def test_what_a_response_looks_at_is_what_pytorchs_attention_says(norm_first: bool) -> None:
    decoder = make(norm_first)
    for parameter in decoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    context, ids = torch.randn(4, CHANNELS).double(), torch.tensor([5, 6, 4])
    memory = Memory(context, torch.tensor([0, 4]))
    x = (decoder.embedding.word(torch.tensor([1, 5, 6])) + decoder.position.weight[:3])[None]
    mask = nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
    found = decoder.attention(memory, ids)
    assert len(found) == 2
    for block, weights in zip(decoder.layers, found):
        layer, asked = torch_layer(block, norm_first), []
        layer.multihead_attn.register_forward_pre_hook(lambda _, given, asked=asked: asked.append(given[0]))
        x = layer(x, context[None], tgt_mask=mask)
        wanted = layer.multihead_attn(asked[0], context[None], context[None], average_attn_weights=False)[1]
        assert torch.allclose(weights, wanted[0], atol=1e-10)
    before = decoder(memory, ids, torch.tensor([0, 3]))
    assert not decoder.layers[0].cross._forward_pre_hooks
    assert torch.equal(before, decoder(memory, ids, torch.tensor([0, 3])))
    with pytest.raises(ValueError, match=r"one example \(got 2\)"):
        decoder.attention(Memory(context, torch.tensor([0, 2, 4])), ids)


def test_positions_beyond_the_last_share_it() -> None:
    decoder = make(max_positions=2)
    memory = Memory(torch.randn(3, CHANNELS).double(), torch.tensor([0, 3]))
    logits = decoder(memory, torch.full((6,), 5), torch.tensor([0, 6]))
    assert logits.isfinite().all()
    with torch.no_grad():
        decoder.position.weight[1] += 1
    changed = decoder(memory, torch.full((6,), 5), torch.tensor([0, 6]))
    assert torch.equal(changed[0], logits[0])
    assert not torch.isclose(changed[1:], logits[1:]).all(dim=1).any()


def test_bfloat16_training() -> None:
    decoder = make().float().train()
    memory = Memory(torch.randn(5, CHANNELS), torch.tensor([0, 2, 5]))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = decoder(memory, torch.tensor([5, 4, 6, 4]), torch.tensor([0, 2, 4]))
    assert logits.dtype == torch.bfloat16
    logits.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in decoder.parameters())


# -- dialogue --------------------------------------------------------------------------------------------


VOCAB = Vocab("abcdefgh")


class Encoder(ContextEncoder):
    """The nodes of a Transformer over the data's edges, and an objective beside the response."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer = DependencyTransformer(
            len(VOCAB),
            1,
            hidden_channels=8,
            num_layers=1,
            heads=2,
            ff_channels=8,
            dropout=0.2,
            relation_attention=False,
            level_embedding=False,
            position_embedding=False,
        )
        self.embedding, self.hidden_channels = self.transformer.embedding, 8

    def forward(self, data: Data) -> Memory:
        return Memory(self.transformer(data), example_bounds(data), data.utterance)

    def auxiliary(self, data: Data, memory: Memory) -> dict[str, Tensor]:
        return {"size": memory.x.square().mean()}


DIALOGUE_DECODERS = {
    "transformer": lambda e: TransformerDecoder(e, 8, num_layers=1, heads=2, ff_channels=8),
    "hred": lambda e: HREDDecoder(e, 8),
    "hran": lambda e: HRANDecoder(e, 8),
}
each_decoder_dialogue = pytest.mark.parametrize("decoder", DIALOGUE_DECODERS)


def make_dialogue(decoder: str = "transformer") -> DialogueModel:
    torch.manual_seed(1)
    encoder = Encoder()
    model = DialogueModel(encoder, DIALOGUE_DECODERS[decoder](encoder.embedding))
    for parameter in model.parameters():  # or the responses of all contexts are alike
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.8)
    return model.eval()


def dialogue(seed: int) -> Data:
    rng = random.Random(seed)
    data = to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(rng.randint(1, 3))], vocab=VOCAB)
    data.target_ids = torch.tensor([rng.randrange(5, len(VOCAB)) for _ in range(rng.randint(0, 5))] + [4])
    return resolve("dra")(data)


DIALOGUES = [dialogue(seed) for seed in range(5)]


def batch() -> Batch:
    return next(iter(DataLoader(DIALOGUES, batch_size=5, follow_batch=["target_ids"])))


@each_decoder_dialogue
def test_a_batch_is_its_dialogues(decoder: str) -> None:
    model, data = make_dialogue(decoder), batch()
    logits, losses = model(data), model.token_losses(data)
    assert logits.shape == (data.target_ids.numel(), len(VOCAB))
    for i, alone in enumerate(DIALOGUES):
        own = slice(*data.target_ids_ptr[i : i + 2])
        assert torch.allclose(model(alone), logits[own], atol=1e-4)
        assert torch.allclose(model.token_losses(alone), losses[own], atol=1e-4)
    expected = [-row.log_softmax(0)[target] for row, target in zip(logits, data.target_ids)]
    assert torch.allclose(losses, torch.stack(expected), atol=1e-5)


def test_losses() -> None:
    model, data = make_dialogue(), batch()
    assert [*model.losses(data)] == ["response"]
    response = model.losses(data)["response"]
    assert torch.allclose(response, model.token_losses(data).mean())
    assert torch.allclose(response, F.cross_entropy(model(data), data.target_ids))
    model.train()
    losses = model.losses(data)
    assert [*losses] == ["response", "size"]
    assert not torch.allclose(losses["response"], response)  # dropout
    sum(losses.values()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@each_decoder_dialogue
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strategy": "beam", "beams": 3, "num_return": 2},
        {"strategy": "sample", "num_return": 3, "top_k": 5},
    ],
    ids=["greedy", "beam", "sample"],
)
def test_responses_of_a_batch_are_those_of_its_dialogues(decoder: str, options: dict) -> None:
    model, config = make_dialogue(decoder), DecodeConfig(max_length=4, **options)
    together = model.generate(batch(), config)
    assert len({results[0].ids for results in together}) > 1
    for alone, results in zip(DIALOGUES, together):
        [expected] = model.generate(alone, config)
        assert [(h.ids, h.finished) for h in results] == [(h.ids, h.finished) for h in expected]
        assert [h.score for h in results] == pytest.approx([h.score for h in expected], abs=1e-3)


def test_generation_is_without_dropout_and_leaves_the_mode() -> None:
    model, config = make_dialogue(), DecodeConfig(max_length=6)
    expected = model.generate(batch(), config)
    model.train()
    assert model.generate(batch(), config) == expected
    assert model.training
    assert model.encoder.training


def test_scores_are_the_models_losses() -> None:
    model, config = make_dialogue(), DecodeConfig(max_length=6)
    data = DIALOGUES[0].clone()
    [[response]] = model.generate(data, config)
    data.target_ids = torch.tensor([*response.ids, 4] if response.finished else [*response.ids])
    mean = model.token_losses(data).mean().item()
    assert response.score == pytest.approx(-mean, abs=1e-4)


def test_word_vectors_are_shared_and_drawn_once() -> None:
    model = make_dialogue()
    assert model.decoder.embedding is model.encoder.embedding
    for parameter in model.parameters():
        torch.nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(p.isfinite().all() for p in model.parameters())


def test_data_that_cannot_serve() -> None:
    model = make_dialogue()
    with pytest.raises(ValueError, match="no 'target_ids_ptr': make it with DataLoader"):
        model(Batch.from_data_list(DIALOGUES))
    data = DIALOGUES[0].clone()
    del data.target_ids
    with pytest.raises(ValueError, match="no 'target_ids'"):
        model(data)
    assert len(model.generate(data, DecodeConfig(max_length=3))) == 1


@each_decoder_dialogue
def test_a_decoder_that_does_not_fit(decoder: str) -> None:
    encoder, other = Encoder(), Encoder()
    with pytest.raises(ValueError, match="'decoder' must share the embedding of 'encoder'"):
        DialogueModel(encoder, DIALOGUE_DECODERS[decoder](other.embedding))


@pytest.mark.parametrize("training", [True, False])
def test_generation_leaves_every_module_in_its_mode(training: bool) -> None:
    model, config = make_dialogue().train(training), DecodeConfig(max_length=3)
    model.encoder.train(not training)  # e.g. frozen
    modes = {name: module.training for name, module in model.named_modules()}
    model.generate(batch(), config)
    assert {name: module.training for name, module in model.named_modules()} == modes
    with pytest.raises(AttributeError):
        model.generate(batch(), None)
    assert {name: module.training for name, module in model.named_modules()} == modes
