"""The attention of models, the masks of edges, and the page of both."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch
from matplotlib.figure import Figure
from torch import nn
from torch_geometric.data import Batch
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

import graphdep
from graphdep import NodeType, RelationVocab, Sentence, Vocab, attention_map, explore, to_data
from graphdep.nn import models as M
from graphdep.nn.conv import AttentionConv
from graphdep.nn.explain import ExplainableModel
from graphdep.training import TrainConfig, train
from graphdep.training.build import BuildInputs, load_pretrained
from graphdep.training.checkpoint import RunState, load_task, save_task
from graphdep.training.family import build_task
from graphdep.training.splits import NO_WORDS
from graphdep.transforms import resolve
from graphdep.visualization import AttentionMap
from graphdep.visualization.attention import edge_masks
from tests.kit import tiny_corpora
from tests.kit.tiny_corpora import write_tiny_propbank, write_tiny_semeval2010
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
    "pair dt": ("dt", "sick-e", {**SENTENCE, "head_channels": 4}, PAIR, TWO),
    "labels dt": ("dt", "ud-tags", SENTENCE, ONE, TWO),
    "dialogue dra": ("transformer-dra", "dailydialog", DIALOGUE, TURNS, TWO),
    "dialogue dialogbert": ("dialogbert", "dailydialog", DIALOGUE, TURNS, TWO),
    "dialogue lisa": ("lisa", "dailydialog", DIALOGUE, TURNS, TWO),
    "dialogue gate": ("gate", "dailydialog", DIALOGUE, TURNS, TWO),
    "dialogue constituent": ("constituent-transformer", "dailydialog", DIALOGUE, TURNS, TWO),
    "selection sia": ("bert-sia", "ubuntu", {**TINY, "encoder": "transformer"}, TURNS, SIA),
    "selection vanilla": ("bert-vanilla", "ubuntu", {**TINY, "encoder": "transformer"}, TURNS, SIA),
}
LENGTH = {"max_length": 48}
PRETRAINED = {
    "pretrained pair": ("bert", "mrpc", LENGTH, PAIR, TWO),
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
    """Saves an untrained model."""
    torch.manual_seed(0)
    config = TrainConfig.of(model, task=task, **settings)
    words = sorted({word for text in TURNS for word in text.split()})
    pretrained = load_pretrained(config) if config.pretrained else None
    vocab, known = (Vocab(words[1:]), None) if pretrained is None else (NO_WORDS, encoder_state(pretrained))
    relations, labels = RelationVocab(), ["NOUN", "VERB"] if task == "ud-tags" else None
    classes = len(labels or []) or None
    learning = build_task(config, BuildInputs(len(vocab), len(relations), None, pretrained, classes, labels))
    for parameter in learning.parameters():  # with small weights, attention would be uniform
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


@pytest.mark.parametrize(
    "made", ["pair dt", pytest.param("pretrained labels", marks=NEEDS), "dialogue gate"], indirect=True
)
def test_gates_of_relations_are_maps_of_a_page(made, request):
    path, texts, _, layers = made
    maps = [one for one in explore(path, texts, parser="chain").data.sides[0].maps if one.kind == "gate"]
    if request.node.callspec.params["made"] == "dialogue gate":  # the dialogue model "gate" has no gate
        assert not maps
        with pytest.raises(ValueError, match="'gate' has no gate of relation scores"):
            attention_map(path, texts, parser="chain", return_gate=True)
        return
    of_layer = ("gate", "relation score", "self-attention score")
    assert [one.name for one in maps] == [f"{what} of {layer}" for layer in layers for what in of_layer]
    shown = attention_map(path, texts, parser="chain", return_gate=True)
    for name in ("gate", "relation_score", "self_score"):
        values = shown.gates[name][0].nan_to_num()
        packed = maps[["gate", "relation_score", "self_score"].index(name)].words
        assert packed.low == pytest.approx(min(0.0, float(values.min())))
        assert packed.low + packed.scale == pytest.approx(max(0.0, float(values.max())))


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
    left = left[..., ~torch.tensor(shown.special)] > 1e-6  # LISA's root word sees only ROOT
    torch.testing.assert_close(alone.alpha.sum(dim=-1), left.float())
    assert left.float().mean() > 0.9
    assert len(shown.plot().axes) > len(layers)
    assert len(shown.plot(-1, title="x").axes) == 3  # two heads and the colour bar
    assert len(shown.plot(-1, 1).axes) == 2
    axes = Figure().subplots()
    assert shown.plot(0, 1, ax=axes) is axes.figure
    assert axes.images[0].get_array().tolist() == shown.alpha[0, 1].tolist()
    with pytest.raises(ValueError, match="maps for 'ax'"):
        shown.plot(0, ax=axes)
    with pytest.raises(ValueError, match="'head' must be between -2 and 1"):
        shown.plot(0, 2)
    with pytest.raises(ValueError, match="'head' needs 'layer'"):
        shown.plot(head=0)
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
        ("tree-transformer", "sst", SENTENCE, "'tree-transformer' attends within families of the tree"),
        ("recosa", "dailydialog", DIALOGUE, "'recosa' has no attention between words"),
        ("hran", "dailydialog", DIALOGUE, "'hran' has no attention between words"),
    ],
)
def test_models_without_attention_are_refused(tmp_path, model, task, settings, match):
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
    with pytest.raises(ValueError, match="too long for the model by 6 words"):
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
    assert repr(AttentionMap.of(["w"], [False], word, layers[:1])) == "AttentionMap(1 word, 1 layer, 2 heads)"


def test_attention_map_is_exported():
    assert graphdep.attention_map is attention_map


SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "max_epochs": 1}


def trained(model, task, corpus, folder, **settings):
    config = TrainConfig.of(model, task=task, accelerator="cpu", **{**SIZES, **corpus, **settings})
    return train(config, folder / "run")["checkpoint"]


def test_a_regression_gives_a_number(tmp_path):
    corpus = tiny_corpora.write_tiny_sick(tmp_path)
    checkpoint = trained("dt", "sick-r", corpus, tmp_path)
    page = explore(checkpoint, ["ann likes bob", "bob likes ann"], parser="chain")
    [answer] = page.sides[0].answers
    assert answer.kind == "number"
    assert 1 <= answer.rows[0][1] <= 5
    assert page.data.utterances == 2


def test_words_have_labels_and_some_can_be_asked_for(tmp_path):
    checkpoint = trained("transformer", "propbank-ewt", write_tiny_propbank(tmp_path), tmp_path)
    page = explore(checkpoint, "ann likes bob", parser="chain")
    [answer] = page.sides[0].answers
    assert [row[0].partition("\t")[0] for row in answer.rows] == ["ann", "likes", "bob"]
    asked = explore(checkpoint, "ann likes bob", parser="chain", asked=["bob"], explain=["gradient"])
    assert float(asked.sides[0].masks[0][2].max()) > 0
    assert asked.sides[0].answers[0].rows == answer.rows[2:]


def test_marked_spans_have_a_label_and_are_explained(tmp_path):
    checkpoint = trained("dt", "semeval2010", write_tiny_semeval2010(tmp_path), tmp_path)
    text = "The <e1>dog</e1> likes the <e2>big cat</e2>."
    page = explore(checkpoint, text, parser="chain", explain=["gradient"])
    assert [node.text for node in page.data.nodes[1:]] == ["The", "dog", "likes", "the", "big", "cat", "."]
    spans = [(2, 2, "e1"), (5, 6, "e2")]
    assert [*page.data.sides[0].brackets] == spans
    assert [page.svg().count(f">{span}</text>") for span in ("e1", "e2")] == [1, 1]
    assert [*explore(checkpoint, text, parser="chain", against="random").data.sides[1].brackets] == spans
    [answer] = page.sides[0].answers
    assert answer.kind == "classes"
    assert sum(share for _, share in answer.rows) <= 1 + 1e-9
    assert [name for name, *_ in page.sides[0].masks] == ["gradient"]
    other = explore(checkpoint, "The <e1>dog</e1> likes the big <e2>cat</e2>.", parser="chain")
    assert other.sides[0].answers[0].rows != answer.rows
    with pytest.raises(ValueError, match="e1"):
        explore(checkpoint, "The dog likes the cat.", parser="chain")


def test_responses_and_rankings(tmp_path):
    corpus = tiny_corpora.write_tiny_dialogues(tmp_path / "dialogues")
    settings = {"min_freq": 1, "limit_generate": 0, "decoder_layers": 1}
    checkpoint = trained("transformer-dra", "dailydialog", corpus, tmp_path / "a", **settings)
    page = explore(checkpoint, ["hello there", "how are you"], parser="chain")
    said, looked = page.sides[0].answers
    assert said.kind == "texts"
    assert looked.title.startswith("each word attends most to (decoder")
    names = {"[ROOT] (turn 1)", "[ROOT] (turn 2)", "hello", "there", "how", "are", "you"}
    for row, _ in looked.rows:
        parts = [part.rpartition(" ") for part in row.partition("\t")[2].split(", ")]
        assert {name for name, _, _ in parts} <= names
        assert [float(share) for *_, share in parts] == sorted((float(s) for *_, s in parts), reverse=True)
    with pytest.raises(ValueError, match="which models of 'dailydialog' do not give"):
        explore(checkpoint, "hello there", parser="chain", explain=["gradient"])
    corpus = tiny_corpora.write_tiny_selection(tmp_path / "selection")
    checkpoint = trained("bert-sia", "ubuntu", {**corpus, "encoder": "transformer"}, tmp_path / "b")
    texts = ["hello there", "how are you"]
    options = {"candidates": ["no", "fine"], "explain": ["gradient"], "parser": "chain"}
    page = explore(checkpoint, texts, **options)
    assert float(page.sides[0].masks[0][2].max()) > 0
    [answer] = page.sides[0].answers
    assert {text for text, _ in answer.rows} == {"how are you", "no", "fine"}
    assert [share for _, share in answer.rows] == sorted((s for _, s in answer.rows), reverse=True)
    shown = [one.name for one in page.data.sides[0].maps]
    assert {"SIA 1", "SIA 2", "rollout to layer 1"} < {*shown}
    assert "rollout to SIA 1" not in shown  # it also reads a block of the encoder
    assert page.data.sides[0].measures["rollout"][-1] == [0.0] * 2


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opinions")
    return trained("dt", "sst", tiny_corpora.write_tiny_sst(folder), folder)


def test_a_mask_of_an_explainer_is_a_layer(checkpoint):
    plain = explore(checkpoint, "ann likes bob", parser="chain")
    mask = torch.rand(plain.sides[0].edges["dt"].edge_index.size(1))
    page = explore(checkpoint, "ann likes bob", parser="chain", masks={"mine": mask})
    assert page.data.sides[0].maps[-1].name == "mine"
    with pytest.raises(ValueError, match="must be of shape .16."):
        explore(checkpoint, "ann likes bob", parser="chain", masks={"mine": mask[:3]})


def test_edges_of_the_same_name_leave_the_models_own(tmp_path):
    checkpoint = trained("dt", "sst", tiny_corpora.write_tiny_sst(tmp_path), tmp_path, max_distance=1)
    plain = explore(checkpoint, "ann likes bob", parser="chain")
    asked = explore(checkpoint, "ann likes bob", parser="chain", edges="dt", explain=["gradient"])
    own, other = asked.sides[0].edges.values()
    assert [*asked.sides[0].edges] == ["dt", "dt, as asked for"]
    assert own.edge_index.equal(plain.sides[0].edges["dt"].edge_index)
    assert other.data.edge_type.tolist() != own.data.edge_type.tolist()


def test_a_name_for_each_side(checkpoint):
    for names in (["mine"], ["mine", "yours", "theirs"]):
        with pytest.raises(ValueError, match=f"'names' has {len(names)} entries for 2 sides"):
            explore(checkpoint, "ann likes bob", parser="chain", against="random", names=names)


WORDS = ["I", "saw", "big", "dogs"]
VOCAB, RELATIONS = Vocab(WORDS), RelationVocab()
DOGS = Sentence(WORDS, [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
GRAPH_SIZES = {"hidden_channels": 8, "num_layers": 2, "ff_channels": 8}


def example(edges: str, texts: int = 1):
    data = to_data([DOGS] * texts, vocab=VOCAB, relations=RELATIONS)
    return resolve(edges)(Batch.from_data_list([data]))


def sentence_model():
    encoder = M.GraphTransformer(len(VOCAB), lambda layer: AttentionConv(8, 4, 2), **GRAPH_SIZES)
    return M.SentenceModel(encoder, M.ClassificationHead(8, 3)), example("dra")


def typed_model():
    encoder = M.DependencyTransformer(len(VOCAB), len(RELATIONS), heads=2, relation_dim=4, **GRAPH_SIZES)
    return M.SentenceModel(encoder, M.ClassificationHead(8, 3)), example("dt")


@pytest.mark.parametrize("make", [sentence_model, typed_model])
def test_the_gradient_is_what_a_little_less_of_an_edge_changes(make) -> None:
    """Compared with differences of the answer's log-odds for factors 1 +- h on one edge."""
    torch.manual_seed(0)
    model, data = make()
    model.eval()
    mask = edge_masks(model, data, ["gradient"])["gradient"]
    assert all(parameter.requires_grad for parameter in model.parameters())
    explained, step, slow = ExplainableModel(model, data), 0.02, []
    with torch.no_grad():
        best = int(explained(explained.x, data.edge_index).argmax())
        for edge in range(data.num_edges):
            values = []
            for factor in (1 + step, 1 - step):
                factors = torch.ones(data.num_edges)
                factors[edge] = factor
                set_masks(explained, nn.Parameter(factors), data.edge_index, apply_sigmoid=False)
                share = explained(explained.x, data.edge_index).double().softmax(dim=-1)[0, best]
                values.append(float(torch.log(share / (1 - share))))
                clear_masks(explained)
            slow.append(abs(values[0] - values[1]) / (2 * step))
    assert torch.allclose(mask, torch.tensor(slow), atol=2e-4)
    assert float(mask.max()) > 0


def test_given_words_are_explained() -> None:
    torch.manual_seed(0)
    encoder = M.GraphTransformer(
        len(VOCAB), lambda layer: AttentionConv(8, 4, 2), **GRAPH_SIZES | {"num_layers": 1}
    )
    model, data = M.TokenModel(encoder, 3).eval(), example("dra")
    found = [edge_masks(model, data, ["gradient"], torch.tensor([node]))["gradient"] for node in (1, 2)]
    for mask, node in zip(found, (1, 2)):  # one layer: only edges to the word
        assert set(data.edge_index[1, mask > 0].tolist()) == {node}


def test_pygs_explainer_gives_the_same_each_time() -> None:
    torch.manual_seed(0)
    model, data = sentence_model()
    torch.manual_seed(1)
    first = edge_masks(model.eval(), data, ["gnnexplainer"])
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(after, torch.rand(1))  # the caller's random state is unchanged
    second = edge_masks(model, data, ["gnnexplainer", "gradient"])
    assert [*second] == ["gnnexplainer", "gradient"]
    assert torch.equal(first["gnnexplainer"], second["gnnexplainer"])
    assert bool(((first["gnnexplainer"] >= 0) & (first["gnnexplainer"] <= 1)).all())
    with pytest.raises(ValueError, match="'explain' must be one of gradient, gnnexplainer"):
        edge_masks(model, data, ["captum"])
