"""Sentences and pairs: how their models are built, what they read, and runs."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import logging
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from graphdep import Sentence, SentenceEncoder, SequenceClassifier, Vocab, attention_map, to_data
from graphdep.data import NodeType
from graphdep.datasets import SST, PropBankEWT
from graphdep.io import read_conllu, write_conllu
from graphdep.nn import models as M
from graphdep.nn.attention import AttentionLayout, GatedRelationScore, RelationKeyValue
from graphdep.nn.conv import AttentionConv, DRAConv
from graphdep.nn.models import transformer as frozen_module
from graphdep.nn.pretrained import load_encoder
from graphdep.parsing import resolve_parser
from graphdep.parsing.parser import ChainParser
from graphdep.tasks import ENTAILMENT, SENTIMENT, SentenceTask, family_of
from graphdep.tasks.sentences.model import build_model, build_pretrained_model
from graphdep.tasks.sentences.settings import MODELS, TREE_ENCODERS
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.ablation import ablate
from graphdep.training.build import (
    BuildInputs,
    build_encoder,
    load_pretrained,
    make_optimizer,
    pretrained_edges,
)
from graphdep.training.family import build_task
from graphdep.training.table import markdown
from graphdep.transforms import (
    PRESETS,
    AncestorEdges,
    DependencyEdges,
    RandomBrackets,
    RightBrackets,
    SameConstituentEdges,
    register_edges,
    resolve,
)
from graphdep.transforms.carried import carried, unread
from graphdep.vocab import RelationVocab
from tests.kit.runs import build_edges, check_again, evaluate_own
from tests.kit.tiny_encoder import write_tiny_encoder

SMALL = {"hidden_channels": 8, "heads": 2, "ff_channels": 8}


@pytest.fixture(scope="module")
def pairs(config_of):
    return load_splits(config_of("sick-e", "dt"))


@pytest.fixture
def batch(pairs) -> Batch:
    return Batch.from_data_list(list(pairs["train"])[:5])


# ------------------------------------------------------------------------------------------ how it is built


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("dt@unlabelled", {"labels": False}),
        ("dt-undirected", {"directions": False}),
        ("dt-infill4", {"max_distance": 4}),
        ("dt-infill0", {"max_distance": 0}),
        ("dt-infill1", {"max_distance": 1}),
    ],
)
def test_ablations_of_the_relation_matrix(model, options, batch):
    ours, theirs = build_edges(TrainConfig.of(model))(batch), resolve("dt", implicit=True, **options)(batch)
    assert torch.equal(ours.edge_index_explicit, theirs.edge_index_explicit)
    assert torch.equal(ours.edge_type, theirs.edge_type)
    with_types_after = build_edges(TrainConfig.of(model, edges="transformer-utterance"))(batch)
    assert torch.equal(with_types_after.edge_type, theirs.edge_type)


@pytest.mark.parametrize("task", ["sick-e", "ud-tags", "semeval2010"])
def test_sizes_and_starts_of_rows(task):
    # dt-untyped has equations 2 and 3 exactly.
    literal, usual = (TrainConfig.of(model, task=task) for model in ("dt-untyped", "dt"))
    assert usual.replace(model="dt-untyped", untyped="gate") == literal
    assert {layer.conv.score.untyped for layer in build_encoder(literal, 50, 801).layers} == {"gate"}
    counts = {
        model: sum(p.numel() for p in build_encoder(TrainConfig.of(model, task=task), 2000, 801).parameters())
        for model in ("dt", "transformer-wide", "transformer")
    }
    assert counts["transformer-wide"] == pytest.approx(counts["dt"], rel=0.01)
    assert counts["transformer"] < 0.95 * counts["dt"]  # hence transformer-wide


def test_settings_reach_the_model():
    for start, expected in (("random", 30**-0.5), ("torch", 1.0)):
        torch.manual_seed(0)
        encoder = build_encoder(TrainConfig.of("dt", start=start), 50, 801)
        assert encoder.relation.weight.std().item() == pytest.approx(expected, rel=0.02)
        assert {layer.conv.score.start for layer in encoder.layers} == {start}
    for task in ("sick-e", "dailydialog"):
        config = TrainConfig.of(task=task, embedding_scale=True, **SMALL)
        assert build_task(config, BuildInputs(50, 801)).model.encoder.embedding.embedding_scale
    model = build_encoder(
        TrainConfig.of("dt-rnn", task="sst", dependent_places=3, places_from="left"), 50, 801
    )
    assert (model.dependent_places, model.places_from, model.place.size(0)) == (3, "left", 6)
    for name, read in TREE_ENCODERS.items():
        if "leaf" in read:
            config = TrainConfig.of(name, task="sst", leaf="code", binarized="head", **SMALL)
            encoder = build_model(config, 20, 5, num_classes=2).encoder
            assert (encoder.leaf, encoder.binarized) == ("code", "head")


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("tree-lstm-ct", M.BinaryTreeLSTM),
        ("rntn", M.RNTN),
        ("bitree-lstm-ct", M.BiTreeLSTM),
        ("dc-treelstm", M.DCTreeLSTM),
        ("taghypertreelstm", M.TagHyperTreeLSTM),
        ("use", M.UniversalEncoder),
        ("tree-transformer-ct", M.ConstituencyTreeTransformer),
        ("tree-transformer-dt", M.DependencyTreeTransformer),
    ],
)
def test_encoders_of_trees(name, made):
    assert name in TREE_ENCODERS
    model = build_model(TrainConfig.of(name, task="sst", **SMALL), 20, 5, torch.randn(20, 5), num_classes=2)
    assert type(model.encoder) is made
    assert model.encoder.hidden_channels == 8


def test_tree_controls_come_before_the_edges(batch, pairs, config_of):
    parsed, chain = (build_edges(TrainConfig.of(model))(batch) for model in ("dt", "dt@chain"))
    assert not torch.equal(parsed.governor_index, chain.governor_index)
    seeds = [build_edges(TrainConfig.of("dt@random", seed=seed))(batch).governor_index for seed in (0, 0, 1)]
    assert torch.equal(seeds[0], seeds[1])
    assert not torch.equal(seeds[0], seeds[2])
    # Baselines without edges read them, too.
    build = [
        build_task(config_of("sick-e", "tree-lstm", trees=tree), BuildInputs(len(pairs.vocab), 801))
        for tree in ("parser", "chain")
    ]
    build[1].load_state_dict(build[0].state_dict())
    assert not torch.equal(*(task(task.edges(batch)) for task in build))


def test_dialogues_take_the_edges_of_presets_of_pairs_alone():
    data = to_data([Sentence(["You", "do", "?"], [2, 0, 2], ["nsubj", "root", "punct"])])
    for edges in (name for name in PRESETS if not unread(carried(resolve(name)), AttentionConv.reads)):
        config = TrainConfig.of("transformer-dra", task="dailydialog", edges=edges)
        limits = {"max_distance", "max_sum"} & inspect.signature(PRESETS[edges]).parameters.keys()
        ours = build_edges(config)(data.clone()).to_dict()
        options = {limit: getattr(config, limit) for limit in limits}
        theirs = resolve(edges, implicit=True, **options)(data).to_dict()
        assert ours.keys() == theirs.keys(), edges
        assert all(torch.equal(ours[key], value) for key, value in theirs.items() if torch.is_tensor(value))


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "adamw", "sgd"])
def test_every_optimizer_is_fused(optimizer, config_of):
    config = config_of("sick-e", "transformer", optimizer=optimizer, clip=1.0, precision="bf16-mixed")
    task = build_task(config, BuildInputs(9, 9))
    assert task.clip == 1.0
    assert task.make_optimizer(task.parameters()).param_groups[0]["fused"] is True


def test_adagrad_is_fused_on_the_cpu_alone():
    """Also in a run that is resumed on another device."""
    make = make_optimizer(TrainConfig.of("dt", lr=0.1))
    here, there = (make([torch.nn.Parameter(torch.ones(2, device=device))]) for device in ("cpu", "meta"))
    assert (here.param_groups[0]["fused"], there.param_groups[0]["fused"]) == (True, None)
    there.load_state_dict({**here.state_dict(), "state": {}})
    assert there.param_groups[0]["fused"] is None
    plain = torch.optim.Adagrad([torch.nn.Parameter(torch.ones(2))], lr=0.1)

    def step(optimizer):
        for parameter in optimizer.param_groups[0]["params"]:
            parameter.grad = torch.tensor([1.0, -2.0])
        optimizer.step()

    for optimizer in (here, plain):
        step(optimizer)
    here.load_state_dict(copy.deepcopy(plain.state_dict()))
    assert here.param_groups[0]["fused"] is True
    for optimizer in (here, plain):
        step(optimizer)
    torch.testing.assert_close(*(one.param_groups[0]["params"] for one in (here, plain)))


# ---------------------------------------------------------------------------------------- what a task does


def test_edges_are_made_of_the_batch_and_not_stored(example):
    data = to_data([example, example])
    task = SentenceTask(torch.nn.Linear(1, 1), resolve("dra"), ENTAILMENT)
    assert task.on_before_batch_transfer(data, 0).edge_index.size(1) > 0
    assert "edge_index" not in data
    optimizer = task.configure_optimizers()  # as in the paper
    assert isinstance(optimizer, torch.optim.Adagrad)
    assert optimizer.defaults["lr"] == 1e-3


@pytest.mark.parametrize(
    ("edges", "reads"),
    [
        (resolve("dra"), True),
        (resolve("transformer"), True),
        (resolve("transformer", implicit=True), True),
        (AncestorEdges() - DependencyEdges("both"), False),  # ROOT has no ancestor
    ],
)
def test_a_model_that_sees_no_word_is_told_of_once(caplog, edges, reads):
    sizes = {"hidden_channels": 8, "num_layers": 1, "ff_channels": 8}
    encoder = M.GraphTransformer(9, lambda _: DRAConv(8, 4, heads=2), **sizes)
    task = SentenceTask(M.SentenceModel(encoder, M.ClassificationHead(8, 2)), edges=edges, goal=SENTIMENT)
    data = to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"]))
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            task.on_before_batch_transfer(data.clone(), 0)
    assert len([line for line in caplog.messages if "sees no word" in line]) == (0 if reads else 1)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        *((name, {}) for name in ("rntn", "dt", "dt@random", "transformer", "tree-lstm", "bitree-lstm")),
        *((name, {}) for name in ("tree-transformer", "tree-transformer-dt", "dt-rnn")),
        *(("transformer", {"edges": edges}) for edges in ("dam", "constituents")),
        ("transformer", {"encoder": "lisa", "edges": "lisa-complete"}),
    ],
)
def test_the_loss_sums_over_the_nodes_of_a_sentence(tmp_path, model, settings):
    raw = tmp_path / "raw"
    raw.mkdir()
    for name in ("train", "dev", "test"):
        text = "(3 (2 It) (4 (2 's) (4 lovely)))\n(1 (0 dull) (2 film))\n"
        (raw / f"{name}.txt").write_text(text, encoding="utf-8")
    dataset = SST(tmp_path / "sst", parser=resolve_parser("chain"), trees=True, raw_from=raw)
    batch = next(iter(DataLoader(dataset, batch_size=2)))
    config = TrainConfig.of(model, task="sst", node_labels=True, **SMALL, **settings)
    sizes = len(dataset.vocab), len(dataset.relations)
    task = SentenceTask(
        build_model(config, *sizes, num_classes=2).double(), SentenceTask.make_edges(config), SENTIMENT
    )
    encoder, batch = task.model.eval().encoder, task.edges(batch)
    expected = torch.zeros((), dtype=torch.double)
    for data in dataset:
        if config.over_constituents:
            x, phrases = encoder.states(data)
            found = (x, data.word_y), (phrases, data.phrase_y)
        else:  # ROOT and words are before nodes of relations
            found = ((encoder(task.edges(data.clone())), data.node_y),)
        for states, labels in found:
            for state, label in zip(states, labels.tolist()):
                if label >= 0:
                    expected -= task.model.head(state).log_softmax(dim=-1)[label]
    torch.testing.assert_close(task.loss(batch).double(), expected / 2, rtol=0, atol=1e-6)


# -------------------------------------------------------------------------------------- pretrained encoders


def built(folder, model, **settings):
    """An encoder changed by a method, and its states with and without the change."""
    config = TrainConfig.of(model, task="sst", encoder=folder, **settings)
    plain, encoder = load_encoder(folder), load_encoder(folder)
    torch.manual_seed(0)
    build_pretrained_model(config, 2, len(RelationVocab()), encoder)
    data = encoder.to_data(["a b c d", ("e f g", "h i")], ChainParser(), pretrained_edges(config))
    return encoder, encoder(data), plain(data)


@pytest.mark.parametrize("model", ["bert-dt", "bert-dt-lr", "bert-g2g", "bert-g2g-code"])
def test_new_terms_leave_the_pretrained_function_as_it_is(encoder, model):
    _, out, expected = built(encoder, model)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-6)
    made, out, expected = built(encoder, model, relation_start="random")
    assert not torch.equal(out, expected)
    for terms in made.terms.values():
        assert terms.start == "random"
        assert not isinstance(terms, RelationKeyValue) or terms.key.weight.any()


def test_layers_share_the_relation_vectors_of_the_first(encoder):
    made = built(encoder, "bert-dt")[0]
    first, second = made.terms.values()
    assert isinstance(first, GatedRelationScore)
    assert first.relation is second.relation
    own = [name for name in made.state_dict() if "own_relation" in name]
    assert own == ["terms.0.own_relation.weight"]
    # With untyped="gate", pairs without a relation are gated.
    keep, gate = (built(encoder, "bert-dt", untyped=u, relation_start="random")[1] for u in ("keep", "gate"))
    assert not torch.equal(keep, gate)


def test_relation_nodes_of_both_sentences_are_read(config_of):
    config = config_of("sick-e", "bert-dam")
    splits = load_splits(config, ("train", "val"))
    batch = build_edges(config)(next(iter(splits.loader("val", config))))
    relation = batch.node_type == NodeType.RELATION
    # Nodes of nsubj and obj of each sentence.
    assert torch.equal(torch.bincount(batch.batch[relation]), torch.full((8,), 2 + 2))
    assert set(batch.utterance[relation].tolist()) == {0, 1}
    for model in (name for name in MODELS if name.startswith("bert") and name != "bert-frozen"):
        config = config_of("sick-e", model)
        if not config.reads_constituents:
            data = build_edges(config)(splits["val"][0].clone())
            cls = int((data.node_type == NodeType.CLS).nonzero())
            source, target = AttentionLayout.of(data).pairs
            words = (data.node_type == NodeType.WORD).nonzero().view(-1).tolist()
            assert {*source[target == cls].tolist()} >= {*words}, model  # [CLS] sees every word


def test_learning_rates_of_what_is_new(config_of):
    settings = {"head_lr": 0.5, "layer_decay": 0.5, "freeze_layers": 1}
    config = config_of("sick-e", "bert-dt", **settings)
    task = build_task(config, BuildInputs(5, 900, pretrained=load_pretrained(config)))
    groups = task.configure_optimizers().param_groups
    rates = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    trained = {name: p for name, p in task.named_parameters() if p.requires_grad}
    assert len(rates) == len(trained)
    old = [name for name in trained if name.startswith("model.encoder.model.")]
    assert {rates[id(trained[name])] for name in old} == {0.01}  # only the second layer
    assert {rates[id(trained[name])] for name in trained.keys() - set(old)} == {0.5}


def test_graphs_by_rules_of_graphdep_need_no_pybart(config_of, tmp_path, no_pybart):
    result = train(config_of("sick-e", "bert-dam-ud", arcs="enhanced++"), tmp_path)
    again = evaluate_own(tmp_path / "best.ckpt")
    assert again["metrics"]["test_loss"] == pytest.approx(result["metrics"]["test_loss"], rel=1e-6)


def test_learned_relations_are_in_the_checkpoint_and_the_table(settings_of, tmp_path, monkeypatch):
    def enhanced(sentences, level, engine):
        return [
            dataclasses.replace(
                s, deps=[[("2", "nsubj:of_old")], [("0", "root")], [("2", f"obj:x{number}"), ("1", "xy")]]
            )
            for number, s in enumerate(sentences)
        ]

    monkeypatch.setattr("graphdep.datasets.base.parsed.enhance", enhanced)
    settings = {**settings_of("sick-e", True), "arcs": "enhanced++"}
    del settings["task"]
    summary = ablate("sick-e", ["bert-dam"], [0], tmp_path, settings=settings)
    (checkpoint,) = summary["rows"][0]["checkpoints"]
    assert load_task(checkpoint)[1].relations.learned == ["nsubj:of_old", "xy"]
    # The label of the third word differs between sentences.
    for split, n in (("train", 24), ("val", 10), ("test", 12)):
        assert f"- {split}: {2 * n} of {8 * n} arcs (25%) have unknown labels, read as" in markdown(summary)
    metrics = summary["rows"][0]["metrics"]["test_loss"]["values"]
    assert evaluate_own(checkpoint)["metrics"]["test_loss"] == pytest.approx(metrics[0], rel=1e-6)


def test_rows_of_other_data_are_compared(settings_of, tmp_path):
    settings = {**settings_of("sick-e", True), "max_length": 32}
    for name in ("task", "arcs"):
        del settings[name]
    summary = ablate("sick-e", ["bert", "bert-dam-basic", "bert-frozen"], [0], tmp_path, settings=settings)
    first, second, frozen = summary["rows"]
    assert second["against"]["row"] == "bert"
    assert second["label"] == "bert-dam-basic"  # all rows have the same encoder
    assert summary["encoders"] == [settings["encoder"]]
    assert frozen["parameters"] < first["parameters"] / 2


def test_sentence_vectors_are_the_states_that_are_classified(config_of, trained, opinions):
    folder, _ = trained("sst", "bert-dam")
    encoder = SentenceEncoder(folder / "best.ckpt", parser=opinions["parser"])
    task = load_task(folder / "best.ckpt")[0]
    splits, texts, seen = load_splits(config_of("sst", "bert-dam")), ["bob likes ann", "ann hates bob"], {}
    for split in ("train", "val", "test"):
        for data in splits[split]:
            words = "".join(task.model.encoder.tokenizer.convert_ids_to_tokens(data.input_ids.tolist()))
            seen[words.replace("##", "")] = data
    vectors = encoder.encode([*texts, ""])
    for text, vector in zip(texts, vectors):
        data = seen[f"[CLS]{text.replace(' ', '')}[SEP]"]
        states = task.model.encoder(task.edges(data.clone()))
        assert torch.allclose(vector, states[0], atol=1e-6)
    assert not vectors[2].any()
    with pytest.raises(
        ValueError, match="'edges' cannot be 'dam': the model was trained without nodes of relations"
    ):
        evaluate_own(trained("sst", "bert")[0] / "best.ckpt", settings={"edges": "dam"})
    with pytest.raises(ValueError, match="the model was trained with nodes of relations"):
        evaluate_own(trained("sst", "bert-dam-basic")[0] / "best.ckpt", settings={"edges": "constituents"})


def test_glue_may_be_trained_on_all_of_train(config_of, tmp_path):
    sizes = {}
    for source in ("train", "dev"):
        result = train(config_of("cola", "word-average", val_from=source), tmp_path / source)
        sizes[source] = result["data"]["examples"]
        assert any(name.startswith("test") for name in result["metrics"]) == (source == "train")
    assert sizes == {"train": {"train": 22, "val": 2, "test": 10}, "dev": {"train": 24, "val": 10}}
    with pytest.raises(ValueError, match="its settings have no split 'test'"):
        evaluate_own(tmp_path / "dev" / "best.ckpt")


def test_other_weights_in_the_same_folder_are_another_run(config_of, tmp_path):
    config = config_of("sick-e", "bert", encoder=write_tiny_encoder(tmp_path / "bert"))
    before = load_splits(config).digest()
    elsewhere = config.replace(encoder=write_tiny_encoder(tmp_path / "copy"))
    assert load_splits(elsewhere).digest() == before
    assert elsewhere.digest(before) == config.digest(before)
    encoder = load_pretrained(config)
    with torch.no_grad():
        encoder.model.embeddings.word_embeddings.weight[7] += 1
    encoder.save_pretrained(tmp_path / "bert", overwrite=True)
    assert load_splits(config).digest() != before


def test_long_examples_make_smaller_batches(config_of):
    config = config_of("sick-e", "bert", batch_size=4)
    splits = load_splits(config, ("train",))
    usual = [batch.num_graphs for batch in splits.loader("train", config)]
    assert set(usual[:-1]) == {4}  # short examples
    batches = list(splits.loader("train", config.replace(batch_pieces=60), shuffle=True))
    assert sum(batch.num_graphs for batch in batches) == sum(usual)
    assert all(batch.num_nodes <= 60 or batch.num_graphs == 1 for batch in batches)
    assert max(batch.num_graphs for batch in batches) <= 4


# ---------------------------------------------------------------------------------- encoders that are frozen


@pytest.mark.parametrize("task", ["sick-e", "sick-r"])
def test_a_frozen_encoder_reads_each_text_once_and_stays_as_it_is(
    config_of, encoder, tmp_path, monkeypatch, task
):
    read, real = [], frozen_module._read
    monkeypatch.setattr(frozen_module, "_read", lambda model, texts: read.extend(texts) or real(model, texts))
    config = config_of(task, "bert-frozen", max_epochs=3, head_channels=4, floor_frozen=False)
    splits = load_splits(config)
    result = train(config, tmp_path, splits=splits)
    classes = {"sick-e": 3, "sick-r": 5}[task]
    assert result["parameters"] == 2 * 4 * 8 + 4 + (4 + 1) * classes  # only of the head
    # Texts of train and val are read once, not in every epoch.
    texts = {t for split in ("train", "val") for data in splits[split] for t in frozen_module.texts_of(data)}
    assert sorted(read[: len(texts)]) == sorted(texts)
    check_again(tmp_path, result)
    made, start = load_task(tmp_path / "best.ckpt")[0], load_encoder(encoder)
    assert type(made.model.head).__name__ == "RelatednessHead"
    for name, weight in start.model.state_dict().items():
        assert torch.equal(made.model.encoder.encoder.model.state_dict()[name], weight), name


def test_a_frozen_encoder_learns_from_single_sentences_and_predicts(config_of, tmp_path):
    result = train(config_of("sst", "bert-frozen", max_epochs=12, lr=0.1, floor_frozen=False), tmp_path)
    assert result["metrics"]["test_accuracy"] > result["floor"]["test_accuracy"]
    task, _ = load_task(tmp_path / "best.ckpt")
    texts = [("a fine film",), ("so dull",), ("a fine film",)]
    out = SequenceClassifier.load(tmp_path / "best.ckpt", parser="chain")._outputs(texts, "{}{}".format)
    assert torch.equal(out[0], out[2])
    vectors = SentenceEncoder(tmp_path / "best.ckpt", parser="chain").encode([text for (text,) in texts])
    torch.testing.assert_close(task.model.head(vectors), out)
    with pytest.raises(ValueError, match="'bert-frozen' has no trained attention"):
        attention_map(tmp_path / "best.ckpt", "a fine film", parser="chain")


# --------------------------------------------------------------------------------------------- constituents


@pytest.fixture(scope="module")
def bracketed(config_of, tmp_path_factory, corpus):
    """Settings of pairs whose trees have four constituents."""
    path = tmp_path_factory.mktemp("brackets") / "trees.conllu"
    phrases = [("S", 0, 3), ("NP", 0, 1), ("VP", 1, 3), ("NP", 2, 3)]
    trees = read_conllu(Path(corpus["root"], "trees.conllu"))
    write_conllu([dataclasses.replace(s, constituents=phrases) for s in trees], path)
    own = {"parser": f"conllu:{path}", "dropout": 0.0}
    return lambda model, edges, **more: config_of("sick-e", model, edges=edges, **{**own, **more})


@pytest.mark.parametrize("model", ["transformer", "bert"])
@pytest.mark.parametrize("edges", ["constituents", "dam", "same-constituent"])
def test_nodes_of_constituents_and_relations_are_read(bracketed, model, edges):
    """Nodes have vectors of their labels, and affect the output."""
    if (model, edges) == ("bert", "same-constituent"):
        return
    config = bracketed(model, edges)
    splits = load_splits(config, ("train",))
    pretrained = load_pretrained(config) if config.pretrained else None
    made = build_task(
        config, BuildInputs(len(splits.vocab), len(splits.relations), pretrained=pretrained)
    ).eval()
    batch = made.edges(Batch.from_data_list(list(splits["train"])[:3]))
    phrases, relations = ((batch.node_type == kind) for kind in (NodeType.PHRASE, NodeType.RELATION))
    assert int(phrases.sum()) == (8 * 3 if edges == "constituents" else 0)
    assert bool(relations.any()) == (edges == "dam")
    made(batch).sin().sum().backward()
    encoder = made.model.encoder
    table = encoder.relations if config.pretrained else encoder.embedding.relations
    if table is not None:
        used = table.relation.weight.grad.abs().sum(dim=1).nonzero().view(-1)
        assert used.numel()
        assert {*used.tolist()} <= {*batch.deprel[phrases | relations].tolist()}


def test_controls_are_those_of_constituents(bracketed):
    make_edges = family_of("sick-e").task_class.make_edges
    kinds = {"random": RandomBrackets, "random-labels": RandomBrackets, "chain": RightBrackets}
    for trees, kind in kinds.items():
        config = bracketed(f"bert@{trees}", "constituents")
        assert config.trees == trees
        assert any(isinstance(part, kind) for part in make_edges(config).transforms), trees
    with pytest.raises(ValueError, match="'trees' cannot be 'reversed' for edges that read constituents"):
        make_edges(bracketed("bert@reversed", "constituents"))
    assert "labels=False" in repr(make_edges(bracketed("bert", "constituents", labels=False)))
    with pytest.raises(ValueError, match="^'edges' must be given for"):
        build_edges(bracketed("tree-lstm", "constituents"))
    # Raised before anything is parsed.
    with pytest.raises(ValueError, match="parser 'chain' has no constituents"):
        load_splits(bracketed("transformer", "same-constituent", parser="chain"), ("train",))


@pytest.mark.usefixtures("no_own_edges")
def test_edges_of_ones_own_over_constituents(bracketed, tmp_path):
    register_edges("low", lambda: SameConstituentEdges(1) | resolve("dra"), replace=False)
    result = train(bracketed("transformer", "low", constituents=True), tmp_path)
    assert 0 <= result["metrics"]["test_accuracy"] <= 1


@pytest.mark.parametrize("name", ["tree-lstm-ct", "taghypertreelstm"])
def test_constituents_and_tags_come_from_the_bundled_parser(config_of, name):
    """The loaded data have the constituents and tags that the model needs."""
    splits = load_splits(config_of("sst", name, parser="bundled", limit_train=4), ("train",))
    [batch] = DataLoader(splits["train"], batch_size=4)
    assert ("tag" in batch) == (name == "taghypertreelstm")


def test_gold_brackets_of_propbank(tmp_path):
    sentence = Sentence(["Ann", "gave", "(", "up"], [2, 0, 2, 2], ["nsubj", "root", "punct", "compound:prt"])
    tags = ["NNP", "VBD", "-LRB-", "RP"]
    tree = dataclasses.replace(sentence, xpos=tags, comments=["# sent_id = weblog-d-0001"])
    pieces = ["(TOP(S(NP*)", "(VP*", "*", "(PRT*))))"]
    rows = [f"weblog/d.xml 0 {i} [WORD] {t} {p} - - *" for i, (t, p) in enumerate(zip(tags, pieces))]
    rows[1] = rows[1].replace("- - *", "give give.01 (V*)")
    rows[0] = rows[0].replace("- - *", "- - (ARG0*)")
    raw = tmp_path / "raw"
    raw.mkdir()
    for split in ("train", "dev", "test"):
        write_conllu([tree], raw / f"en_ewt-ud-{split}.conllu")
    (raw / "d.xml.gold_skel").write_text("\n".join(rows) + "\n")
    corpus = PropBankEWT(tmp_path / "root", raw_from=raw, constituents=True, min_freq=1)
    assert corpus[0].phrase_index.tolist() == [[1, 1, 2, 4], [4, 1, 4, 4]]
    assert "phrase_index" not in PropBankEWT(tmp_path / "root", raw_from=raw, min_freq=1)[0]
