"""The attention of a checkpoint of every family and kind."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

import graphdep
from graphdep import NodeType, RelationVocab, Vocab, attention_map
from graphdep.training import TrainConfig
from graphdep.training.build import Parts, load_pretrained
from graphdep.training.checkpoint import RunState, load_task, save_task
from graphdep.training.family import build_task
from graphdep.training.splits import NO_WORDS
from graphdep.visualization import AttentionMap
from tests.kit.tiny_encoder import write_tiny_encoder

TINY = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 2}
SENTENCE = {**TINY, "relation_dim": 4}
DIALOGUE = {**TINY, "context_layers": 1, "decoder_layers": 1}
ONE, PAIR = ["ann saw bob"], ["ann saw bob", "bob met cid too"]
TURNS = [*PAIR, "dan met ann"]
# Model, task, settings, texts, and names of the layers.
TWO = ["layer 1", "layer 2"]
SIA = [*TWO, "SIA 1", "SIA 2"]
SCRATCH = {
    "sentence dt": ("dt", "sst", SENTENCE, ONE, TWO),
    "sentence transformer": ("transformer", "sst", SENTENCE, ONE, TWO),
    "pair dt": ("dt", "sick-e", {**SENTENCE, "head_channels": 4}, PAIR, TWO),
    "labels dt": ("dt", "ud-tags", SENTENCE, ONE, TWO),
    "dialogue transformer": ("transformer", "dailydialog", DIALOGUE, TURNS, TWO),
    "dialogue dra": ("transformer-dra", "dailydialog", DIALOGUE, TURNS, TWO),
    "dialogue dialogbert": ("dialogbert", "dailydialog", DIALOGUE, TURNS, TWO),
    "dialogue lisa": ("lisa", "dailydialog", DIALOGUE, TURNS, TWO),
    "dialogue gate": ("gate", "dailydialog", DIALOGUE, TURNS, TWO),
    "dialogue constituent": ("constituent-transformer", "dailydialog", DIALOGUE, TURNS, TWO),
    "selection bert": ("bert", "ubuntu", {**TINY, "encoder": "transformer"}, TURNS, TWO),
    "selection sia": (
        "bert-sia",
        "ubuntu",
        {**TINY, "encoder": "transformer"},
        TURNS,
        SIA,
    ),
    "selection vanilla": (
        "bert-vanilla",
        "ubuntu",
        {**TINY, "encoder": "transformer"},
        TURNS,
        SIA,
    ),
}
LENGTH = {"max_length": 48}
PRETRAINED = {
    "pretrained pair": ("bert", "mrpc", LENGTH, PAIR, TWO),
    "pretrained sentence dt": ("bert-dt", "sst", LENGTH, ONE, TWO),
    "pretrained g2g": ("bert-g2g", "sst", LENGTH, ONE, TWO),
    "pretrained labels": ("bert-dt", "ud-tags", LENGTH, ONE, TWO),
    "pretrained dam": ("bert-dam-basic", "mrpc", LENGTH, PAIR, TWO),
    "pretrained selection": ("bert-sia", "ubuntu", LENGTH, TURNS, SIA),
    "post-training": ("bert-fp", "post-train", LENGTH, TURNS, TWO),
}
NEEDS = pytest.mark.skipif(find_spec("transformers") is None, reason="needs transformers")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder"), positions=64)


def write(path, model, task, settings):
    """The checkpoint of a model that is not trained."""
    torch.manual_seed(0)
    config = TrainConfig.of(model, task=task, **settings)
    words = sorted({word for text in TURNS for word in text.split()})
    pretrained = load_pretrained(config) if config.pretrained else None
    vocab, known = (Vocab(words[1:]), None) if pretrained is None else (NO_WORDS, encoder_state(pretrained))
    relations, labels = RelationVocab(), ["NOUN", "VERB"] if task == "ud-tags" else None
    classes = len(labels or []) or None
    learning = build_task(config, Parts(len(vocab), len(relations), None, pretrained, classes, labels))
    for parameter in learning.parameters():  # near 0 all weights would be alike
        torch.nn.init.normal_(parameter, std=0.3)
    save_task(path, learning, RunState(config, vocab, relations, {}, None, known, labels))
    return path


def encoder_state(pretrained):
    from graphdep.nn.pretrained import encoder_state

    return encoder_state(pretrained)


@pytest.fixture
def made(request, tmp_path, encoder):
    model, task, settings, texts, layers = (SCRATCH | PRETRAINED)[request.param]
    settings = {**settings, "encoder": encoder} if request.param in PRETRAINED else settings
    path = write(tmp_path / "best.ckpt", model, task, settings)
    return path, texts, attention_map(path, texts, parser="chain"), layers


KINDS = [*SCRATCH, *(pytest.param(kind, marks=NEEDS) for kind in PRETRAINED)]


@pytest.mark.parametrize("made", KINDS, indirect=True)
def test_every_family_shows_what_its_words_attend_to(made, request):
    _, texts, shown, layers = made
    words = [word for text in texts for word in text.split()]
    assert [word for word, special in zip(shown.words, shown.special) if not special] == words
    assert shown.layers == layers
    assert shown.alpha.shape == (len(layers), 2, len(shown.words), len(shown.words))
    total = shown.alpha.sum(dim=-1)
    if "constituent" in request.node.callspec.params["made"]:
        assert total.min() > 0
        assert total.max() < 1 + 1e-5
    else:
        torch.testing.assert_close(total, torch.ones_like(total))
    alone = shown.without_special()
    assert alone.words == words
    left = shown.alpha.sum(dim=-1) - shown.alpha[..., torch.tensor(shown.special)].sum(dim=-1)
    left = left[..., ~torch.tensor(shown.special)] > 1e-6  # LISA's root word sees ROOT alone
    torch.testing.assert_close(alone.alpha.sum(dim=-1), left.float())
    assert left.float().mean() > 0.9
    assert len(shown.plot().axes) > len(layers)
    assert len(shown.plot(-1, title="x").axes) == 3  # two heads and the colours
    with pytest.raises(ValueError, match=f"'layer' must be between -{len(layers)} and"):
        shown.plot(len(layers))


def special(shown):
    return [word for word, special in zip(shown.words, shown.special) if special]


@pytest.mark.parametrize("made", ["dialogue dra"], indirect=True)
def test_dra_attends_along_its_edges(made):
    shown = made[2]
    assert special(shown) == ["[ROOT]"] * 3
    # A chain: the second word depends on the first, and each sees its dependents and itself.
    seen = (shown.alpha > 0).all(dim=0).all(dim=0)
    assert seen[1].nonzero().view(-1).tolist() == [1, 2]


@NEEDS
@pytest.mark.parametrize("made", ["pretrained dam"], indirect=True)
def test_relation_nodes_are_named(made):
    labels = special(made[2])
    assert labels[:3] == ["[CLS]", "[SEP]", "[SEP]"]
    assert len(labels) > 3
    assert all(label.startswith("[") for label in labels)
    assert not {f"[{kind.name}]" for kind in NodeType} & set(labels[3:])


@NEEDS
@pytest.mark.parametrize("made", ["pretrained pair"], indirect=True)
def test_pieces_are_joined_as_a_loop_joins_them(made):
    path, texts, shown, _ = made
    task, _ = load_task(path)
    data = task.model.encoder.to_data([tuple(texts)], parser="chain")
    weights = task.model.encoder.attention(data)
    letters = [len(word) for word in shown.words]
    entry = [k for k, word in enumerate(shown.words) for _ in range(1 if shown.special[k] else letters[k])]
    assert len(entry) == data.num_nodes > len(shown.words)
    for layer, (pairs, alpha) in enumerate(weights):
        expected = torch.zeros_like(shown.alpha[layer])
        for (source, target), heads in zip(pairs.t().tolist(), alpha):
            expected[:, entry[target], entry[source]] += heads / entry.count(entry[target])
        torch.testing.assert_close(shown.alpha[layer], expected)


@pytest.mark.parametrize(
    ("model", "task", "settings", "match"),
    [
        ("lstm", "sst", SENTENCE, "'lstm' has no attention between words"),
        ("word-average", "sst", SENTENCE, "'word-average' has no attention between words"),
        ("tree-transformer", "sst", SENTENCE, "'tree-transformer' attends within families of a tree"),
        ("recosa", "dailydialog", DIALOGUE, "'recosa' has no attention between words"),
        ("hran", "dailydialog", DIALOGUE, "'hran' has no attention between words"),
    ],
)
def test_what_has_none_is_refused(tmp_path, model, task, settings, match):
    path = write(tmp_path / "best.ckpt", model, task, settings)
    with pytest.raises(ValueError, match=match):
        attention_map(path, ONE, parser="chain")


def test_texts_must_be_those_of_the_family(tmp_path):
    path = write(tmp_path / "dt.ckpt", "dt", "sst", SENTENCE)
    assert attention_map(path, ONE[0], parser="chain").words == ["[ROOT]", "ann", "saw", "bob"]
    with pytest.raises(ValueError, match=r"'texts' must be one text, .* \(got 2\)"):
        attention_map(path, PAIR, parser="chain")
    with pytest.raises(ValueError, match=r"'texts\[0\]' is blank"):
        attention_map(path, " ", parser="chain")
    path = write(
        tmp_path / "bert.ckpt", "bert", "ubuntu", {**TINY, "encoder": "transformer", "max_length": 8}
    )
    with pytest.raises(ValueError, match="at least two"):
        attention_map(path, ONE, parser="chain")
    with pytest.raises(ValueError, match="too long for the model, which would not read 6 of their words"):
        attention_map(path, TURNS, parser="chain")


def test_a_parser_from_elsewhere_has_to_be_given(tmp_path):
    path = write(tmp_path / "a.ckpt", "dt", "sst", {**SENTENCE, "parser": "conllu:x"})
    with pytest.raises(ValueError, match="trained with the parser 'conllu:x'"):
        attention_map(path, ONE)


def test_layers_of_other_sizes_are_no_map():
    pairs, word = torch.zeros(2, 1, dtype=torch.long), torch.zeros(1, dtype=torch.long)
    layers = [("a", pairs, torch.ones(1, 2)), ("b", pairs, torch.ones(1, 3))]
    with pytest.raises(ValueError, match=r"different numbers of heads: \[2, 3\]"):
        AttentionMap.of(["w"], [False], word, layers)
    assert (
        repr(AttentionMap.of(["w"], [False], word, layers[:1])) == "AttentionMap(1 words, 1 layers, 2 heads)"
    )


def test_it_is_at_the_front_door():
    assert graphdep.attention_map is attention_map
