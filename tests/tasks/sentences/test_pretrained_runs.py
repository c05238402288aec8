from __future__ import annotations

import dataclasses

import pytest
import torch

pytest.importorskip("transformers")

from graphdep.data import NodeType
from graphdep.nn.attention import AttentionLayout
from graphdep.tasks.sentences.settings import MODELS
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.ablation import ablate
from graphdep.training.build import Parts, load_pretrained
from graphdep.training.family import build_task
from graphdep.training.splits import Splits
from graphdep.training.table import markdown
from tests.kit.runs import build_edges, evaluate_own
from tests.kit.tiny_corpora import write_tiny_glue
from tests.kit.tiny_encoder import write_tiny_encoder

# Over constituents: tests/tasks/test_constituents.py.
BERTS = [n for n in MODELS if n.startswith("bert") and n not in ("bert-frozen", "bert-constituents")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_tiny_encoder(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def short(folder: str) -> dict[str, object]:
    own = {"encoder": folder, "arcs": "basic", "max_length": 40}
    return {**own, "batch_size": 8, "max_epochs": 1, "lr": 0.01, "accelerator": "cpu"}


@pytest.fixture(scope="module")
def pairs(folder: str, corpus: dict[str, str]) -> Splits:
    """Made once: the presets differ in their edges and in what they add to the encoder."""
    own = {"encoder": folder, "max_length": 40, "batch_size": 8, "accelerator": "cpu"}
    return load_splits(TrainConfig.of("bert", **{**corpus, **own, "task": "sick-e"}), ("train",))


@pytest.mark.parametrize("model", BERTS)
def test_every_model_learns_from_pairs(model, short, corpus, pairs):
    config = TrainConfig.of(model, **{**corpus, **short, "task": "sick-e"})
    sizes = len(pairs.vocab), len(pairs.relations)
    task = build_task(config, Parts(*sizes, pretrained=load_pretrained(config))).train()
    batch = task.edges(next(iter(pairs.loader("train", config))))
    optimizer = task.configure_optimizers()
    losses = []
    for _ in range(12):
        torch.manual_seed(0)  # the same dropout
        optimizer.zero_grad()
        loss = task.loss(batch)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    added = task.model.encoder.added_parameters()
    assert bool(added) == (config.relation_attention or config.edges == "dam")
    assert all(parameter.grad is not None for parameter in task.parameters())


@pytest.mark.parametrize("model", ["bert", "bert-dt", "bert-dam-linked"])
def test_a_run_on_pairs_is_scored_again_from_its_checkpoint(model, short, corpus, tmp_path):
    config = TrainConfig.of(model, **{**corpus, **short, "task": "sick-e"})
    result = train(config, tmp_path)
    assert evaluate_own(tmp_path / "best.ckpt")["metrics"] == {
        name: value for name, value in result["metrics"].items() if name.startswith("test")
    }


@pytest.mark.parametrize("model", ["bert", "bert-dt", "bert-g2g", "bert-dam"])
def test_single_sentences_too(model, short, opinions, tmp_path):
    settings = {**opinions, **short, "max_epochs": 12, "lr": 0.02, "dropout": 0.0}
    result = train(TrainConfig.of(model, **settings), tmp_path)
    assert result["metrics"]["test_accuracy"] > result["floor"]["test_accuracy"]


@pytest.mark.parametrize("model", ["bert-dt", "bert-dt-lr", "bert-g2g", "bert-g2g-code"])
def test_new_terms_leave_the_pretrained_function_as_it_is(model, short, corpus):
    config = TrainConfig.of(model, **{**corpus, **short, "task": "sick-e"})
    splits = load_splits(config)
    batch = next(iter(splits.loader("val", config)))
    sizes = len(splits.vocab), len(splits.relations)
    torch.manual_seed(0)
    with_terms = build_task(config, Parts(*sizes, pretrained=load_pretrained(config))).eval()
    torch.manual_seed(0)
    plain = TrainConfig.of("bert", **{**corpus, **short, "task": "sick-e"})
    alone = build_task(plain, Parts(*sizes, pretrained=load_pretrained(plain))).eval()
    one, two = (
        task.model(build_edges(c)(batch.clone())) for task, c in ((with_terms, config), (alone, plain))
    )
    assert torch.allclose(one, two, atol=1e-6)
    assert config.relation_attention


def test_relation_nodes_of_both_sentences_are_read(short, corpus):
    config = TrainConfig.of("bert-dam", **{**corpus, **short, "task": "sick-e"})
    splits = load_splits(config)
    batch = build_edges(config)(next(iter(splits.loader("val", config))))
    relation = batch.node_type == NodeType.RELATION
    arcs = 2 + 2  # nsubj and obj of each sentence
    assert torch.equal(torch.bincount(batch.batch[relation]), torch.full((8,), arcs))
    assert set(batch.utterance[relation].tolist()) == {0, 1}


def test_cls_sees_every_word_over_any_edges(short, corpus):
    for model in BERTS:
        config = TrainConfig.of(model, **{**corpus, **short, "task": "sick-e"})
        data = build_edges(config)(load_splits(config)["val"][0])
        cls = int((data.node_type == NodeType.CLS).nonzero())
        source, target = AttentionLayout.of(data).pairs
        seen = set(source[target == cls].tolist())
        assert seen >= set((data.node_type == NodeType.WORD).nonzero().view(-1).tolist()), model


def test_graphs_by_rules_of_graphdep_need_no_pybart(short, corpus, tmp_path, no_pybart):
    settings = {**corpus, **short, "task": "sick-e", "arcs": "enhanced++"}
    result = train(TrainConfig.of("bert-dam-ud", **settings), tmp_path)
    again = evaluate_own(tmp_path / "best.ckpt")
    assert again["metrics"]["test_loss"] == pytest.approx(result["metrics"]["test_loss"], rel=1e-6)


def test_learned_relations_are_in_the_checkpoint(short, corpus, tmp_path, monkeypatch):
    def enhanced(sentences, level, engine):
        return [
            dataclasses.replace(
                s, deps=[[("2", "nsubj:of_old")], [("0", "root")], [("2", f"obj:x{number}"), ("1", "xy")]]
            )
            for number, s in enumerate(sentences)
        ]

    monkeypatch.setattr("graphdep.datasets.base.parsed.enhance", enhanced)
    settings = {**corpus, **short, "task": "sick-e", "arcs": "enhanced++"}
    result = train(TrainConfig.of("bert-dam", **settings), tmp_path)
    state = load_task(tmp_path / "best.ckpt")[1]
    assert state.relations.learned == ["nsubj:of_old", "xy"]
    # The label of the third word is another one in each sentence.
    assert result["data"]["unknown_relations"] == {
        split: 2 * count for split, count in result["data"]["examples"].items()
    }
    again = evaluate_own(tmp_path / "best.ckpt")
    assert again["metrics"]["test_loss"] == pytest.approx(result["metrics"]["test_loss"], rel=1e-6)
    options = {**corpus, **short, "arcs": "enhanced++"}
    summary = ablate("sick-e", ["bert-dam"], [0], tmp_path / "table", settings=options)
    counts = ", ".join(f"{count} of {split}" for split, count in result["data"]["unknown_relations"].items())
    assert f"- labels without an id of their own, read as what they are a kind of: {counts}\n" in markdown(
        summary
    )


def test_rows_of_other_data_are_compared(short, corpus, tmp_path):
    settings = {**corpus, **short, "max_length": 32}
    del settings["arcs"]
    summary = ablate("sick-e", ["bert", "bert-dam-basic"], [0, 1], tmp_path, settings=settings)
    assert summary["rows"][1]["against"]["row"] == "bert"
    assert summary["rows"][1]["label"] == "bert-dam-basic"  # the encoder is every row's
    assert summary["encoders"] == [settings["encoder"]]


def test_learning_rates_of_what_is_new(short, corpus):
    settings = {**corpus, **short, "task": "sick-e", "head_lr": 0.5, "layer_decay": 0.5, "freeze_layers": 1}
    config = TrainConfig.of("bert-dt", **settings)
    task = build_task(config, Parts(5, 900, pretrained=load_pretrained(config)))
    rates = {
        id(parameter): group["lr"]
        for group in task.configure_optimizers().param_groups
        for parameter in group["params"]
    }
    trained = {name: p for name, p in task.named_parameters() if p.requires_grad}
    assert len(rates) == len(trained)
    old = [name for name in trained if name.startswith("model.encoder.model.")]
    assert {rates[id(trained[name])] for name in old} == {0.01}  # the second layer alone
    assert {rates[id(trained[name])] for name in trained.keys() - set(old)} == {0.5}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level_embedding": True}, "'level_embedding' is for encoder='transformer'"),
        (
            {"model": "dt", "encoder": "g2g"},
            "'relation_attention' is for encoder='transformer', and 'g2g' has",
        ),
        ({"vectors": "x.txt"}, "'vectors' is for an encoder that is trained from scratch"),
        ({"encoder": "transformer"}, "model 'bert' stands on a pretrained encoder"),
        ({"links": "none"}, "'links' is for edges='dam' or 'constituents'"),
        ({"arcs": "enhanced"}, "'arcs' is for edges='dam' on the parser's trees"),
        ({"scaling": "code"}, "'scaling' is for relation_terms='key-value'"),
        (
            {"model": "bert-g2g", "gate": "tanh"},
            "'gate' is for relation_attention with relation_terms='score'",
        ),
        ({"model": "bert-dt-lr", "gate_state": "key"}, "'gate_state' is for a gate of relation scores"),
        ({"model": "bert-g2g", "max_distance": 4}, "'max_distance' is for edges dt, dt-related, gate"),
        ({"labels": False}, "'labels' is for models that read"),
        (
            {"position_embedding": False},
            "'position_embedding' is for an encoder that is trained from scratch",
        ),
        ({"start": "torch"}, "'start' is for an encoder that is trained from scratch"),
        ({"engine": "pybart"}, "'engine' is for arcs of an enhanced graph"),
        ({"arcs": "more"}, "'arcs' must be one of basic, enhanced"),
        ({"max_length": 4}, "'max_length' must be at least 5"),
    ],
)
def test_settings_that_cannot_be(settings, message, short):
    with pytest.raises(ValueError, match=message):
        TrainConfig.of(settings.pop("model", "bert"), **{**short, "task": "sst", **settings})


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"freeze_layers": 1}, "'freeze_layers' is for a pretrained encoder"),
        (
            {"relation_terms": "key-value"},
            "'relation_terms' is for relation_attention in a pretrained encoder",
        ),
        ({"head_lr": 0.1}, "'head_lr' is for a pretrained encoder"),
        ({"arcs": "enhanced++"}, "'arcs' is for edges='dam' on the parser's trees"),
        ({"max_length": 64}, "'max_length' is for a pretrained encoder"),
        ({"encoder": "gru"}, "'encoder' must be one of transformer.*begin with 'bert'"),
    ],
)
def test_settings_that_need_a_pretrained_encoder(setting, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig.of("dt", task="sst", **setting)


@pytest.mark.parametrize("model", ["bert", "bert-dam"])
def test_sentence_vectors_are_the_states_that_are_classified(model, short, opinions, tmp_path):
    from graphdep import SentenceEncoder

    train(TrainConfig.of(model, **{**opinions, **short}), tmp_path)
    encoder = SentenceEncoder(tmp_path / "best.ckpt", parser=opinions["parser"])
    task = load_task(tmp_path / "best.ckpt")[0]
    splits = load_splits(TrainConfig.of(model, **{**opinions, **short}))
    texts = ["bob likes ann", "ann hates bob"]
    seen = {}
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


def test_glue_may_be_trained_on_all_of_train(short, tmp_path):
    glue = {"task": "cola", **write_tiny_glue(tmp_path / "glue")}
    sizes = {}
    for source in ("train", "dev"):
        config = TrainConfig.of("bert", **{**glue, **short, "val_from": source})
        result = train(config, tmp_path / source)
        sizes[source] = result["data"]["examples"]
        assert any(name.startswith("test") for name in result["metrics"]) == (source == "train")
    assert sizes == {"train": {"train": 22, "val": 2, "test": 10}, "dev": {"train": 24, "val": 10}}
    with pytest.raises(ValueError, match="its settings have no split 'test'"):
        evaluate_own(tmp_path / "dev" / "best.ckpt")


def test_other_corpora_have_one_way_to_split(short, opinions):
    with pytest.raises(ValueError, match="'val_from' is not for task 'sst'"):
        TrainConfig.of("bert", **{**opinions, **short, "val_from": "dev"})


def test_the_paper_stands_beside_the_rows_that_it_has():
    from graphdep.tasks.sentences.settings import PAPER

    assert PAPER["cola"].rows.keys() <= MODELS.keys()
    for task, (whole, dev) in {"cola": (8551, 1043), "glue-sst2": (67349, 872)}.items():
        val = whole // 10  # as GLUE takes it from the training file
        assert PAPER[task].examples == {"train": whole - val, "val": val, "test": dev}


def test_other_weights_in_the_same_folder_are_another_run(short, corpus, tmp_path):
    settings = {**corpus, **short, "task": "sick-e", "encoder": write_tiny_encoder(tmp_path / "bert")}
    config = TrainConfig.of("bert", **settings)
    before = load_splits(config).digest()
    elsewhere = config.replace(encoder=write_tiny_encoder(tmp_path / "copy"))
    assert load_splits(elsewhere).digest() == before
    assert elsewhere.digest(before) == config.digest(before)
    encoder = load_pretrained(config)
    with torch.no_grad():
        encoder.model.embeddings.word_embeddings.weight[7] += 1
    encoder.save_pretrained(tmp_path / "bert")
    assert load_splits(config).digest() != before


def test_edges_that_a_checkpoint_has_no_parts_for(short, opinions, tmp_path):
    train(TrainConfig.of("bert", **{**opinions, **short}), tmp_path)
    with pytest.raises(ValueError, match="'edges' cannot be 'dam': the model was trained without relation"):
        evaluate_own(tmp_path / "best.ckpt", settings={"edges": "dam"})


def test_names_of_classes_are_part_of_a_run(short, tmp_path):
    digests = set()
    for labels in (("bad", "good"), ("awful", "great")):
        rows = "".join(f"ann saw bob {n},{labels[n % 2]}\n" for n in range(20))
        (tmp_path / "own.csv").write_text(f"text,label\n{rows}")
        own = {"train": str(tmp_path / "own.csv"), "text_columns": "text", "label_column": "label"}
        config = TrainConfig.of(
            "bert", **{**short, **own, "task": "csv", "parser": "chain", "root": str(tmp_path / "csv")}
        )
        digests.add(load_splits(config).digest())
    assert len(digests) == 2


def test_long_examples_make_smaller_batches(short, corpus):
    config = TrainConfig.of("bert", **{**corpus, **short, "task": "sick-e", "batch_size": 4})
    splits = load_splits(config, ("train",))
    usual = [batch.num_graphs for batch in splits.loader("train", config)]
    assert set(usual[:-1]) == {4}  # as ever, where they are short
    cut = config.replace(batch_pieces=60)
    batches = list(splits.loader("train", cut, shuffle=True))
    assert sum(batch.num_graphs for batch in batches) == sum(usual)
    assert all(batch.num_nodes <= 60 or batch.num_graphs == 1 for batch in batches)
    assert max(batch.num_graphs for batch in batches) <= 4
    assert config.digest() == config.replace(batch_pieces=4096).digest()
    with pytest.raises(ValueError, match="'batch_pieces' is for a pretrained encoder"):
        TrainConfig.of("dt", task="sick-e", batch_pieces=60)
