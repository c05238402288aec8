"""Models over constituents, in each family whose corpora are parsed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import Sentence
from graphdep.data import NodeType
from graphdep.datasets import PropBankEWT
from graphdep.io import read_conllu, write_conllu
from graphdep.tasks import Parts, family_of
from graphdep.training import TrainConfig, load_splits, train
from graphdep.training.build import load_pretrained
from graphdep.training.family import build_task
from graphdep.transforms import RandomBrackets, RightBrackets, SameConstituentEdges, register_edges, resolve
from tests.kit.runs import build_edges, evaluate_own
from tests.kit.tiny_corpora import write_tiny_semeval2010, write_tiny_sick
from tests.kit.tiny_encoder import write_tiny_encoder

UD = Path(__file__).parents[2] / "datasets" / "mini" / "ud" / "raw"
SHORT = {"max_epochs": 1, "batch_size": 8, "accelerator": "cpu"}
SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2}


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_tiny_encoder(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Pairs of sentences with brackets of our own, words and spans with those of the bundled parser."""
    sick = write_tiny_sick(tmp_path_factory.mktemp("sick"))
    path = Path(sick["root"]) / "trees.conllu"
    phrases = [("S", 0, 3), ("NP", 0, 1), ("VP", 1, 3), ("NP", 2, 3)]
    write_conllu([dataclasses.replace(s, constituents=phrases) for s in read_conllu(path)], path)
    words = {
        "root": str(tmp_path_factory.mktemp("ud")),
        "raw_from": str(UD),
        "trees": "parser",
        "min_freq": 1,
    }
    spans = write_tiny_semeval2010(tmp_path_factory.mktemp("spans"))
    return {
        "sick-e": sick,
        "ud-tags": words | {"parser": "bundled"},
        "semeval2010": spans | {"parser": "bundled"},
    }


def settings(corpora, bert, task, model, edges, **own):
    shared = {"encoder": bert, "max_length": 40} if model.startswith("bert") else SIZES
    return TrainConfig.of(model, **{"task": task, **corpora[task], **SHORT, **shared, "edges": edges, **own})


@pytest.mark.parametrize("task", ["sick-e", "ud-tags", "semeval2010"])
@pytest.mark.parametrize(
    ("model", "edges"),
    [
        ("transformer", "same-constituent"),
        ("transformer", "constituents"),
        ("transformer", "dam"),
        ("bert", "constituents"),
    ],
)
def test_a_run_and_its_checkpoint(tmp_path, corpora, bert, task, model, edges):
    config = settings(corpora, bert, task, model, edges)
    result = train(config, tmp_path)
    again = evaluate_own(tmp_path / "best.ckpt")["metrics"]
    assert again == {name: value for name, value in result["metrics"].items() if name.startswith("test")}


def test_phrase_nodes_reach_the_encoder(corpora, bert):
    config = settings(corpora, bert, "sick-e", "bert", "constituents")
    splits = load_splits(config, ("train",))
    sizes = len(splits.vocab), len(splits.relations)
    made = build_task(config, Parts(*sizes, pretrained=load_pretrained(config)))
    examples = list(splits["train"])[:3]
    batch = made.edges(Batch.from_data_list(examples))
    assert int((batch.node_type == NodeType.PHRASE).sum()) == 8 * 3
    made.double().eval()
    whole = made(batch)
    alone = torch.cat([made(made.edges(Batch.from_data_list([data]))) for data in examples])
    torch.testing.assert_close(whole, alone)
    made(batch).sum().backward()
    assert made.model.encoder.relations.relation.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("task", ["sick-e", "ud-tags", "semeval2010"])
@pytest.mark.parametrize("edges", ["constituents", "dam", "same-constituent"])
def test_rows_from_scratch(corpora, task, edges):
    """Nodes have vectors of their labels, what is read sees them, and a batch is each example alone."""
    config = settings(corpora, None, task, "transformer", edges, dropout=0.0)
    if task != "sick-e":
        assert TrainConfig.of(edges, task=task).edges == edges
    splits = load_splits(config)
    labels = {"labels": splits.labels()} if task != "sick-e" else {}
    made = build_task(config, Parts(len(splits.vocab), len(splits.relations), **labels)).double().eval()
    first = made.model.head.lin if hasattr(made.model.head, "lin") else None
    if first is not None:
        torch.nn.init.normal_(first.weight)
    examples = list(splits["train"])[:3]
    batch = made.edges(Batch.from_data_list(examples))
    related = (batch.node_type == NodeType.PHRASE) | (batch.node_type == NodeType.RELATION)
    assert (int(related.sum()) > 6) == (edges != "same-constituent")
    whole = made(batch)
    alone = torch.cat([made(made.edges(Batch.from_data_list([data]))) for data in examples])
    torch.testing.assert_close(whole, alone)
    whole.sin().sum().backward()
    embedding = made.model.encoder.embedding
    if embedding.relations is None:
        return
    used = embedding.relations.relation.weight.grad.abs().sum(dim=1).nonzero().view(-1)
    assert {*used.tolist()} <= {*batch.deprel[related].tolist()}
    assert used.numel()


def test_controls_are_those_of_constituents(corpora, bert):
    for trees, kind in (
        ("random", RandomBrackets),
        ("random-labels", RandomBrackets),
        ("chain", RightBrackets),
    ):
        config = settings(corpora, bert, "sick-e", f"bert@{trees}", "constituents")
        assert config.trees == trees
        edges = family_of("sick-e").task_class.make_edges(config)
        assert any(isinstance(part, kind) for part in edges.transforms), trees
    config = settings(corpora, bert, "sick-e", "bert@reversed", "constituents")
    with pytest.raises(ValueError, match="'trees' cannot be 'reversed' where edges read constituents"):
        family_of("sick-e").task_class.make_edges(config)
    config = settings(corpora, bert, "sick-e", "bert", "constituents", labels=False)
    assert "labels=False" in repr(family_of("sick-e").task_class.make_edges(config))


def test_a_parser_without_constituents_is_an_error_before_anything_is_parsed(corpora):
    config = settings(corpora, None, "sick-e", "transformer", "same-constituent", parser="chain")
    with pytest.raises(ValueError, match="the parser 'chain' gives no constituents"):
        load_splits(config, ("train",))


def test_what_nobody_reads_is_refused(corpora, bert):
    with pytest.raises(ValueError, match="'constituents' is for edges of your own"):
        settings(corpora, bert, "sick-e", "bert", "dt", constituents=True)
    with pytest.raises(ValueError, match="'relation_links' is for edges='dam'"):
        settings(corpora, bert, "sick-e", "bert", "constituents", relation_links=True)
    for model in ("dt", "tree-lstm"):  # relation scores of pairs with nodes; no edges at all
        with pytest.raises(ValueError, match="edges 'constituents' add nodes|'edges'"):
            build_edges(settings(corpora, bert, "sick-e", model, "constituents"))
    with pytest.raises(ValueError, match="'links' is for edges='dam' or 'constituents'"):
        settings(corpora, bert, "sick-e", "transformer", "transformer", links="to_word")


def test_edges_of_ones_own(tmp_path, corpora):
    register_edges("low", lambda: SameConstituentEdges(1) | resolve("dra"), replace=False)
    config = settings(corpora, None, "sick-e", "transformer", "low", constituents=True)
    assert 0 <= train(config, tmp_path)["metrics"]["test_accuracy"] <= 1


def test_settings_of_before_are_as_they_were():
    """What names a run and its parses does not know of constituents unless they are read."""
    for model in ("transformer", "bert"):
        config = TrainConfig.of(model, task="sick-e")
        assert "constituents" not in config.dataset_options("train")


def test_gold_brackets_of_propbank(tmp_path):
    sentence = Sentence(["Ann", "gave", "(", "up"], [2, 0, 2, 2], ["nsubj", "root", "punct", "compound:prt"])
    tags = ["NNP", "VBD", "-LRB-", "RP"]
    tree = dataclasses.replace(sentence, xpos=tags, comments=["# sent_id = weblog-d-0001"])
    pieces = ["(TOP(S(NP*)", "(VP*", "*", "(PRT*))))"]
    rows = [
        f"weblog/d.xml 0 {i} [WORD] {tag} {piece} - - *" for i, (tag, piece) in enumerate(zip(tags, pieces))
    ]
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
