from __future__ import annotations

import pytest

from graphdep.tasks import family_of, resolve_task
from graphdep.tasks.labels.presets import LABEL_MODELS
from graphdep.training import TrainConfig


def of(model: str | None = None, **settings: object) -> TrainConfig:
    return TrainConfig.of(model, task="ud-tags", **settings)


def test_every_row_stands_on_the_trees_of_the_treebank():
    assert {of(model).trees for model in LABEL_MODELS} == {"gold"}
    assert set(family_of("ud-tags").default_models) <= {*LABEL_MODELS, "dt@random"}
    assert of().model == "dt"


def test_rows_share_their_data_unless_a_parser_is_asked_for():
    shared = of("bilstm").data_settings()
    for model in ("dt", "dra", "dt@random", "dra@chain", "dt@reversed", "dt@unlabelled"):
        assert of(model, parser="stanza").data_settings() == shared
    parsed = of("dt@parser", parser="stanza")
    assert parsed.data_settings() != shared
    assert parsed.dataset_options("train")["parser"] == "stanza"
    assert of(key="xpos").data_settings() != shared
    assert of(absent="none").data_settings() != shared


def test_a_parser_is_named_where_it_is_read():
    assert of(parser="conllu:trees").named() == {}
    assert of("dt@parser", parser="conllu:trees").named() == {"parser": "conllu:trees"}


def test_what_it_is_called():
    assert of("dra", key="feats:Case").label == "dra, key feats:Case"
    assert of("dra@random").digest() != of("dra").digest() != of("dra", key="xpos").digest()


def test_the_labels_of_arcs_are_no_riddle_where_they_are_read():
    told = "models that read the labels of the treebank's arcs read the answer"
    assert all(told in text for text in of(key="deprel").signatures().values())
    for other in (of(), of("dt@parser", key="deprel"), of("dt@random", key="deprel")):
        assert not any(told in text for text in other.signatures().values())
    assert [*of().signatures()] == [metric.name for metric in resolve_task("ud-tags").metrics]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"key": "form"}, r"'key' must be one of upos, .* \(got 'form'\)"),
        ({"key": "misc"}, "'key' must be"),
        ({"absent": ""}, "'absent' must be a label"),
        ({"encoder": "bert-base-uncased"}, "a pretrained encoder cannot label words yet .*bert-base"),
        ({"edges": None}, "'edges' are for encoder='transformer'"),
        ({"heads": 3}, "'heads'"),
        ({"gate": "relu"}, "'gate' must be one of"),
        ({"model": "dt@nothing"}, "no control 'nothing'"),
        ({"model": "bert"}, "no model 'bert'"),
        ({"model": "bilstm@unlabelled"}, "'labels' is for models that read the labels of arcs"),
        ({"keys": "upos"}, r"unknown setting 'keys' \(did you mean 'key'\?\)"),
    ],
)
def test_wrong_settings(settings, message):
    model = settings.pop("model", None)
    with pytest.raises(ValueError, match=message):
        of(model, **settings)
