"""What models of each family say on a page."""

from __future__ import annotations

import pytest
import torch

from graphdep import explore
from graphdep.training import TrainConfig, train
from tests.kit import tiny_corpora
from tests.kit.tiny_corpora import write_tiny_propbank, write_tiny_semeval2010

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
    assert looked.title.startswith("each word of it looks most at (decoder")
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
    assert "rollout to SIA 1" not in shown  # it reads a block of the encoder, beside what follows
    assert page.data.sides[0].measures["rollout"][-1] == [0.0] * 2


def test_a_mask_of_an_explainer_is_a_layer(tmp_path):
    checkpoint = trained("dt", "sst", tiny_corpora.write_tiny_sst(tmp_path), tmp_path)
    plain = explore(checkpoint, "ann likes bob", parser="chain")
    mask = torch.rand(plain.sides[0].edges["dt"].edge_index.size(1))
    page = explore(checkpoint, "ann likes bob", parser="chain", masks={"mine": mask})
    assert page.data.sides[0].maps[-1].name == "mine"
    with pytest.raises(ValueError, match="for 16 edges"):
        explore(checkpoint, "ann likes bob", parser="chain", masks={"mine": mask[:3]})


def test_edges_of_the_same_name_leave_the_models_own(tmp_path):
    checkpoint = trained("dt", "sst", tiny_corpora.write_tiny_sst(tmp_path), tmp_path, max_distance=1)
    plain = explore(checkpoint, "ann likes bob", parser="chain")
    asked = explore(checkpoint, "ann likes bob", parser="chain", edges="dt", explain=["gradient"])
    own, other = asked.sides[0].edges.values()
    assert [*asked.sides[0].edges] == ["dt", "dt, as asked for"]
    assert own.edge_index.equal(plain.sides[0].edges["dt"].edge_index)
    assert other.data.edge_type.tolist() != own.data.edge_type.tolist()


def test_a_name_for_each_side(tmp_path):
    checkpoint = trained("dt", "sst", tiny_corpora.write_tiny_sst(tmp_path), tmp_path)
    for names in (["mine"], ["mine", "yours", "theirs"]):
        with pytest.raises(ValueError, match=f"'names' has {len(names)} entries for 2 sides"):
            explore(checkpoint, "ann likes bob", parser="chain", against="random", names=names)
