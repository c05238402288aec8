from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Vocab, to_data
from graphdep.nn.conv import AttentionConv, DRAConv
from graphdep.nn.models import (
    DialogBERT,
    GraphTransformer,
    HRANDecoder,
    HRANEncoder,
    HREDDecoder,
    HREDEncoder,
    NodeEmbedding,
    ReCoSa,
    WordAverage,
)
from graphdep.nn.models.transformer import Memory
from graphdep.transforms import resolve
from tests.kit.slow import slow_block, slow_rnn
from tests.kit.trees import random_data, random_sentence

VOCAB = Vocab("abcdefgh")


def make(**options) -> HREDEncoder:
    torch.manual_seed(0)
    model = HREDEncoder(len(VOCAB), **({"hidden_channels": 6, "dropout": 0.0} | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def context(seed: int, utterances: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(utterances)], vocab=VOCAB)


def literal(model: HREDEncoder, data: Data) -> Tensor:
    utterances = []
    for number in range(int(data.utterance.max()) + 1):
        words = model.embedding.word.weight[data.input_ids[data.utterance == number]]  # ROOT is the first
        utterances.append(slow_rnn(model.words.rnn, words)[1])
    return slow_rnn(model.context, utterances)[1]


@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True}, {"num_layers": 2}, {"bidirectional": True, "num_layers": 2}]
)
def test_equals_the_equations(options: dict) -> None:
    model, examples = make(**options), [context(i, number) for i, number in enumerate((3, 1, 4))]
    memory = model(Batch.from_data_list(examples))
    expected = torch.stack([literal(model, data) for data in examples])
    torch.testing.assert_close(memory.x, expected, rtol=0, atol=1e-10)
    assert memory.ptr.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("layers", [1, 2])
def test_dropout_in_training_only(layers: int) -> None:
    model, data = make(dropout=0.5, num_layers=layers), context(1, 3)
    assert not torch.equal(model(data).x, model(data).x)
    model.eval()
    assert torch.equal(model(data).x, model(data).x)


# -- hred decoder ----------------------------------------------------------------------------------------


WORDS = 9
CHANNELS = 6


def test_the_context_starts_the_decoder_and_is_read_at_every_step() -> None:
    torch.manual_seed(0)
    embedding = NodeEmbedding(WORDS, CHANNELS, max_positions=0, max_levels=0)
    decoder = HREDDecoder(embedding, CHANNELS).eval()
    x = torch.randn(3, CHANNELS)
    ids, ptr = torch.tensor([5, 6, 4, 7, 4]), torch.tensor([0, 3, 5])
    logits = decoder(Memory(x, torch.tensor([0, 2, 3])), ids, ptr)  # the first example has two rows
    cell = nn.GRUCell(2 * CHANNELS, CHANNELS)
    cell.load_state_dict(
        {name.removesuffix("_l0"): value for name, value in decoder.gru.state_dict().items()}
    )
    expected = []
    for context, response in ((x[1], [1, 5, 6]), (x[2], [1, 7])):
        state = decoder.lin_start(context).tanh()
        for word in response:
            state = cell(torch.cat([embedding.word.weight[word], context]), state)
            expected.append(embedding.word.weight @ decoder.output.lin(state) + decoder.output.bias)
    assert torch.allclose(logits, torch.stack(expected), atol=1e-5)


# -- hran ------------------------------------------------------------------------------------------------


def make_hran(num_words: int = len(VOCAB), **options) -> HRANEncoder:
    torch.manual_seed(0)
    model = HRANEncoder(num_words, **({"hidden_channels": 6, "dropout": 0.0} | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


@pytest.mark.parametrize("layers", [1, 2])
def test_each_utterance_is_read_alone_in_both_directions(layers: int) -> None:
    model, examples = make_hran(num_layers=layers), [context(i, number) for i, number in enumerate((3, 1, 4))]
    expected = []
    for data in examples:
        for number in range(int(data.utterance.max()) + 1):
            words = model.embedding.word.weight[data.input_ids[data.utterance == number]]
            expected.append(model.words.rnn(words)[0])
    batch = Batch.from_data_list(examples)
    memory = model(batch)
    torch.testing.assert_close(memory.x, torch.cat(expected), rtol=0, atol=1e-10)
    assert torch.equal(memory.ptr, batch.ptr)
    assert torch.equal(memory.group, batch.utterance)


def test_special_nodes_are_not_read() -> None:
    rng = random.Random(0)
    data = random_data(rng, [random_sentence(rng, 3), random_sentence(rng, 2)], special=True)
    memory = make_hran(50)(Batch.from_data_list([data, data]))
    read = (data.node_type == NodeType.WORD) | (data.node_type == NodeType.ROOT)
    assert memory.ptr.tolist() == [0, 7, 14]
    assert torch.equal(memory.group, data.utterance[read].repeat(2))


# -- hran decoder ----------------------------------------------------------------------------------------


def literal_hran_decoder(decoder: HRANDecoder, utterances: list[Tensor], inputs: list[int]) -> list[Tensor]:
    """The formulas, one word and one utterance after the other."""
    state, logits = torch.zeros(CHANNELS), []
    w_s, w_l = decoder.word_query.weight.split(CHANNELS, dim=1)
    for previous in inputs:
        level, levels = torch.zeros(CHANNELS), []
        for words in reversed(utterances):
            scores = [
                decoder.word_score.weight[0] @ (w_s @ state + w_l @ level + decoder.word_key(h)).tanh()
                for h in words
            ]
            summary = sum(weight * h for weight, h in zip(torch.stack(scores).softmax(0), words))
            level = decoder.utterance_gru(summary, level)
            levels.append(level)
        scores = [
            decoder.utterance_score.weight[0]
            @ (decoder.utterance_query.weight @ state + decoder.utterance_key(level)).tanh()
            for level in levels
        ]
        context = sum(weight * level for weight, level in zip(torch.stack(scores).softmax(0), levels))
        state = decoder.gru(torch.cat([decoder.embedding.word.weight[previous], context]), state)
        logits.append(decoder.embedding.word.weight @ decoder.output.lin(state) + decoder.output.bias)
    return logits


def make_hran_decoder() -> HRANDecoder:
    torch.manual_seed(0)
    embedding = NodeEmbedding(WORDS, CHANNELS, max_positions=0, max_levels=0)
    return HRANDecoder(embedding, CHANNELS).eval()


def test_formulas() -> None:
    decoder = make_hran_decoder()
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    contexts = [[torch.randn(n, CHANNELS) for n in sizes] for sizes in ((2, 4, 1), (3,), (1, 2))]
    flat = [words for context in contexts for words in context]
    group = torch.tensor([0, 0, 1, 1, 1, 1, 2, 0, 0, 0, 1, 3, 3])  # utterances without rows are passed over
    memory = Memory(torch.cat(flat), torch.tensor([0, 7, 10, 13]), group)
    ids, ptr = torch.tensor([4, 5, 6, 7, 4, 8, 4]), torch.tensor([0, 1, 5, 7])
    expected = [
        logits
        for context, inputs in zip(contexts, ([1], [1, 5, 6, 7], [1, 8]))
        for logits in literal_hran_decoder(decoder, context, inputs)
    ]
    assert torch.allclose(decoder(memory, ids, ptr), torch.stack(expected), atol=1e-4)


def test_words_must_have_utterances() -> None:
    memory = Memory(torch.randn(3, CHANNELS), torch.tensor([0, 3]))
    with pytest.raises(ValueError, match="no 'group'"):
        make_hran_decoder()(memory, torch.tensor([4]), torch.tensor([0, 1]))


# -- recosa ----------------------------------------------------------------------------------------------


SIZE = 8


def make_recosa(**options) -> ReCoSa:
    torch.manual_seed(0)
    sizes = {"hidden_channels": SIZE, "num_layers": 2, "heads": 2, "ff_channels": 6, "dropout": 0.0}
    model = ReCoSa(len(VOCAB), **(sizes | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def literal_recosa(model: ReCoSa, data: Data) -> Tensor:
    utterances = []
    for number in range(int(data.utterance.max()) + 1):
        words = model.embedding.word.weight[data.input_ids[data.utterance == number]]  # ROOT is the first
        utterances.append(slow_rnn(model.words.rnn, words)[1])
    x = torch.stack(utterances)
    if model.context.turn is not None:
        x = x + model.context.turn.weight[: len(x)]
    for layer in model.context.layers:
        x = slow_block(layer, x)
    return x


@pytest.mark.parametrize(
    "options", [{}, {"cell": "gru"}, {"word_layers": 2}, {"turn_embedding": False, "cell": "gru"}]
)
def test_equals_the_equations_of_recosa(options: dict) -> None:
    model, examples = make_recosa(**options), [context(i, number) for i, number in enumerate((3, 1, 4))]
    memory = model(Batch.from_data_list(examples))
    expected = torch.cat([literal_recosa(model, data) for data in examples])
    torch.testing.assert_close(memory.x, expected, rtol=0, atol=1e-10)
    assert memory.ptr.tolist() == [0, 3, 4, 8]


# -- dialog bert -----------------------------------------------------------------------------------------


def make_dialog_bert(encoder_options: dict | None = None, conv=AttentionConv, **options) -> DialogBERT:
    torch.manual_seed(0)
    sizes = {"hidden_channels": SIZE, "num_layers": 1, "ff_channels": 6, "dropout": 0.0}
    sizes |= encoder_options or {}
    encoder = GraphTransformer(len(VOCAB), lambda number: conv(SIZE, 4, 2), **sizes)
    sizes = {"num_layers": 2, "heads": 2, "ff_channels": 6, "dropout": 0.0}
    model = DialogBERT(encoder, **(sizes | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def context_dialog_bert(seed: int, utterances: int, preset: str = "transformer-utterance") -> Data:
    rng = random.Random(seed)
    sentences = [random_sentence(rng, rng.randint(4, 7)) for _ in range(utterances)]
    return resolve(preset)(to_data(sentences, vocab=VOCAB, positions="example"))


def batch(*utterances: int) -> Batch:
    return Batch.from_data_list([context_dialog_bert(i, number) for i, number in enumerate(utterances)])


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
    model, examples = (
        make_dialog_bert(**options),
        [context_dialog_bert(i, number) for i, number in enumerate((3, 1, 4))],
    )
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
    model = make_dialog_bert({"position_embedding": False, "num_layers": 2}, DRAConv)
    data = context_dialog_bert(1, 2, "dra")
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
    model, data = make_dialog_bert(objectives=("mur",)), batch(3, 2, 4, 1, 5)
    fates = Counter()
    for seed in range(20):
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
    assert 40 <= fates["mask"] <= 56  # of 60
    assert min(fates["kept"], fates["other"]) >= 2


def test_mur_draws_every_utterance() -> None:
    model, data, drawn = make_dialog_bert(objectives=("mur",)), batch(4), set()
    for _ in range(30):
        seen = watched(model, data, "mur", "lin_mur")
        drawn.add(row_of(seen["given"][0], seen["states"]))
    assert drawn == {0, 1, 2, 3}


def test_mur_recovers_the_whole_utterance() -> None:
    """Its target changes with the last word of an utterance, however long."""
    model, data = make_dialog_bert(objectives=("mur",), min_utterances=1), context_dialog_bert(3, 1)
    before = model(data).utterances
    data.input_ids[-1] = 0
    assert not torch.allclose(model(data).utterances, before)


@pytest.mark.parametrize("detach_target", [True, False])
def test_gradients_of_the_target(detach_target: bool) -> None:
    model, data = make_dialog_bert(objectives=("mur",), detach_target=detach_target), batch(3)
    for parameter in model.context.parameters():  # nothing gets through but the target
        nn.init.zeros_(parameter)
    model.auxiliary(data, model(data))["mur"].backward()
    learns = model.embedding.word.weight.grad
    assert (learns is not None and bool(learns.any())) != detach_target


def test_duor_equals_the_formula() -> None:
    model, data = make_dialog_bert(objectives=("duor",)), batch(3, 2, 1, 4)
    orders = set()
    for seed in range(12):
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
    assert len(orders) > 6


def test_the_response_loss_sees_contexts_in_their_order() -> None:
    """Shuffling and masking are passes of their own: the memory is that of evaluation."""
    model, data = make_dialog_bert(), batch(3, 4)
    memory = model.train()(data)
    model.auxiliary(data, memory)
    assert torch.equal(memory.x, model.eval()(data).x)


def test_objectives_can_be_switched() -> None:
    data = batch(3, 4)
    for objectives in ((), ("mur",), ("duor",), ("mur", "duor")):
        model = make_dialog_bert(objectives=objectives)
        losses = model.auxiliary(data, model(data))
        assert tuple(losses) == objectives
        own = {name.partition(".")[0] for name, _ in model.named_parameters()} - {"encoder", "context"}
        heads = {"mur": {"mask", "lin_mur"}, "duor": {"lin_duor"}}
        assert own == set().union(*(heads[objective] for objective in objectives))
        assert model.eval().auxiliary(data, model(data)) == {}


@pytest.mark.parametrize("utterances", [(1,), (1, 1), (2, 1)])
def test_nothing_to_act_on_gives_0(utterances: tuple[int, ...]) -> None:
    model, data = make_dialog_bert(), batch(*utterances)
    losses = model.auxiliary(data, model(data))
    sum(losses.values()).backward()
    assert torch.equal(losses["mur"], torch.zeros_like(losses["mur"]))
    assert bool(losses["duor"] == 0) == (max(utterances) == 1)
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters())


def test_a_single_context_has_losses_too() -> None:
    model, data = make_dialog_bert(), context_dialog_bert(1, 4)
    assert all(bool(loss > 0) for loss in model.auxiliary(data, model(data)).values())


def test_chance_follows_the_seed() -> None:
    model, data = make_dialog_bert(), batch(3, 4)
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
    assert str(make_dialog_bert()).startswith(name)
    others = [
        {"min_utterances": 2},
        {"detach_target": False},
        {"objectives": ("duor", "mur")},
        {"max_turns": 9},
    ]
    assert len({str(make_dialog_bert(**options)) for options in [{}, *others]}) == 5


def test_its_memory_shows_the_utterances() -> None:
    model, data = make_dialog_bert(), batch(3)
    memory = model(data)
    assert repr(memory) == "_UtteranceMemory(x=[3, 8], ptr=[2], group=None, utterances=[3, 8])"
