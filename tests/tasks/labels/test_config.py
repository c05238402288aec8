from __future__ import annotations

import pytest

from graphdep.tasks import family_of
from graphdep.tasks.labels.settings import COLUMNS, LABEL_MODELS, TASKS
from graphdep.training import TrainConfig

SCRATCH = [name for name in LABEL_MODELS if not name.startswith("bert")]
SCORES = ["accuracy", "f1", "macro_f1", "exact"]


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
    own = {"task": "labels", "train": "a.conllu", "key": "deprel"}  # whose trees are kept whatever the parser
    for settings, there in (({}, True), ({"trees": "gold"}, True), ({"trees": "random"}, False)):
        config = TrainConfig.of("dt", **{**own, **settings})
        assert all((told in text) is there for text in config.signatures().values())
    assert not any(told in text for text in TrainConfig.of(**{**own, "key": "upos"}).signatures().values())
    assert [*of().signatures()] == SCORES


def test_words_that_training_has_once_are_words_of_cogs():
    assert TrainConfig.of("dt", task="cogs").min_freq == 1
    assert TrainConfig.of("dt", task="cogs", min_freq=3).min_freq == 3
    assert of().min_freq == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"key": "form"}, r"'key' must be one of upos, .* \(got 'form'\)"),
        ({"key": "misc"}, "'key' must be"),
        ({"absent": ""}, "'absent' must be a label"),
        ({"encoder": "bert-base-uncased"}, "'encoder' must be one of transformer, .*'bert-base-uncased'"),
        ({"model": "bert", "encoder": "transformer"}, "model 'bert' stands on a pretrained encoder"),
        ({"word_state": "mean"}, r"'word_state' is for a pretrained encoder \(got 'mean'\)"),
        ({"word_state": "last", "model": "bert"}, "'word_state' must be one of first, mean"),
        ({"max_length": 100}, r"'max_length' is for a pretrained encoder \(got 100\)"),
        ({"freeze_layers": 1}, "'freeze_layers' is for a pretrained encoder"),
        ({"crf": True, "monitor": "loss"}, "'monitor' cannot be 'loss' with 'crf'"),
        ({"crf": True}, "'crf' is for tasks with a label of no finding, not 'ud-tags'"),
        ({"decode": "beam"}, "'decode' must be one of argmax, viterbi"),
        ({"decode": "viterbi"}, r"'decode' is for labels of spans, .* \(got 'viterbi'\)"),
        ({"task": "propbank-ewt", "decode": "viterbi"}, "'decode' is for labels of spans"),
        ({"task": "propbank-ewt", "key": "xpos"}, r"'key' is not for task 'propbank-ewt' \(got 'xpos'\)"),
        ({"task": "propbank-ewt", "absent": "x"}, "'absent' is not for task 'propbank-ewt'"),
        ({"task": "propbank-ewt", "name": "tense"}, "'name' is not for task 'propbank-ewt'"),
        ({"task": "agreement", "form": "spans"}, "'form' is not for task 'agreement'"),
        ({"form": "spans"}, "'form' is not for task 'ud-tags'"),
        ({"name": "tense"}, "'name' is not for task 'ud-tags'"),
        ({"verbs": "main"}, "'verbs' is not for task 'ud-tags'"),
        ({"train_from": "test"}, "'train_from' is not for task 'ud-tags'"),
        ({"ud_from": "folder"}, "'ud_from' is not for task 'ud-tags'"),
        ({"data_seed": 3}, r"'data_seed' is not for task 'ud-tags' \(got 3\)"),
        ({"edges": None}, "'edges' are for encoder='transformer'"),
        ({"heads": 3}, "'heads'"),
        ({"gate": "relu"}, "'gate' must be one of"),
        ({"model": "dt@nothing"}, "no control 'nothing'"),
        ({"model": "berd"}, "no model 'berd'"),
        ({"model": "bilstm@unlabelled"}, "'labels' is for models that read the labels of arcs"),
        ({"keys": "upos"}, r"unknown setting 'keys' \(did you mean 'key'\?\)"),
    ],
)
def test_wrong_settings(settings, message):
    model = settings.pop("model", None)
    with pytest.raises(ValueError, match=message):
        TrainConfig.of(model, **{"task": "ud-tags", **settings})


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_columns_of_its_scores(task):
    main, *others = COLUMNS[task]
    config = TrainConfig.of(task=task, **({"train": "own.jsonl"} if task == "labels" else {}))
    assert [*config.signatures()] == SCORES
    assert main == f"test_{TASKS[task].metrics[0].name}"
    assert {name.partition("_")[2] for name in others} <= set(SCORES)


def test_what_a_look_up_reads_is_said():
    assert "look-up: the commonest label of each word form" in of().signatures()["accuracy"]
    marked = TrainConfig.of(task="propbank-ewt").signatures()
    assert all("way through the tree from the marked word" in text for text in marked.values())
    assert "labels are spans" not in marked["f1"]
    spans = TrainConfig.of(task="propbank-ewt", form="spans").signatures()
    assert ["labels are spans" in spans[name] for name in SCORES] == [False, True, True, False]
    assert ["which srl-eval.pl of CoNLL-2005 joins" in spans[name] for name in SCORES] == [
        *(False, True, True, False)
    ]


def test_options_of_a_corpus_reach_it():
    config = TrainConfig.of(task="propbank-ewt", form="spans", ud_from="trees")
    assert config.dataset_options("train") == {"form": "spans", "ud_from": "trees", "parser": "gold"}
    assert config.about_data == "form spans"  # and no place of a machine
    assert config.label == "dt, form spans"
    assert (config.label_scheme, config.outside_label) == ("bio", "O")
    config = TrainConfig.of(task="agreement", name="question", train_from="test")
    assert config.dataset_options("test") == {"name": "question", "train_from": "test", "parser": "gold"}
    assert TrainConfig.of(task="agreement").dataset_options("test") == {"parser": "gold"}
    assert (of().label_scheme, of().outside_label) == ("words", None)
    told = of("bert", encoder="folder").dataset_options("val")
    assert told == {"key": "upos", "absent": None, "max_length": 256, "parser": "gold"}


def test_runs_of_other_settings_have_other_digests():
    roles = TrainConfig.of(task="propbank-ewt")
    others = ({"form": "spans"}, {"crf": True}, {"form": "spans", "decode": "viterbi"}, {"keep": "last"})
    named = {TrainConfig.of(task="propbank-ewt", **settings).digest() for settings in others}
    assert len(named | {roles.digest()}) == 5
    assert TrainConfig.of(task="propbank-ewt", ud_from="elsewhere").digest() == roles.digest()


def test_how_labels_are_found_is_a_matter_of_the_evaluation():
    config = TrainConfig.of(task="propbank-ewt", form="spans")
    assert config.for_evaluation({"decode": "viterbi"}).decode == "viterbi"
    for name, value in (("crf", True), ("form", "heads"), ("word_state", "mean")):
        with pytest.raises(ValueError, match=name):
            config.for_evaluation({name: value})
