"""Settings of all tasks: names of runs, options of corpora, and errors."""

from __future__ import annotations

from functools import partial

import pytest

from graphdep.datasets.selection.objectives import FORMS
from graphdep.datasets.spans.rows import LABELS, OTHER, RELATIONS, UNDIRECTED
from graphdep.nn.conv.sia_conv import MASKS
from graphdep.nn.models.baselines.deep_matching import DAM_FORMS
from graphdep.nn.models.baselines.deep_matching import OBJECTIVES as BLOCK_OBJECTIVES
from graphdep.nn.models.baselines.matching import ACCUMULATIONS
from graphdep.nn.models.selection import BLOCKS, LOSSES, READOUTS, SPEAKERS
from graphdep.tasks import family_of, resolve_task
from graphdep.tasks.labels import settings as words
from graphdep.tasks.labels.settings import LABEL_MODELS, LabelScoring
from graphdep.tasks.selection.settings import (
    MATCHING_ENCODERS,
    OBJECTIVES,
    SelectionConfig,
)
from graphdep.tasks.sentences.settings import CONSTITUENT_ENCODERS, PAPER, TREE_ENCODERS
from graphdep.tasks.spans import settings as spans
from graphdep.training import TrainConfig, parse_settings
from graphdep.training.encoder_config import WORD_MODELS
from graphdep.training.task import config_of
from graphdep.vocab.relations import GRAPH_MIN_FREQ

SCORES = ["accuracy", "f1", "macro_f1", "exact"]
CSV = {"train": "a.csv", "text_columns": "text", "label_column": "label"}
POST = "post-train"
# Task, model, settings, and the error.
WRONG = [
    # Words.
    ("ud-tags", None, {"key": "form"}, r"'key' must be one of upos, .* \(got 'form'\)"),
    ("ud-tags", None, {"key": "tag"}, "upos, xpos, deprel, lemma, feats, feats:KEY, misc:KEY"),
    ("ud-tags", None, {"absent": ""}, "'absent' must be a label"),
    ("ud-tags", None, {"encoder": "bert-base-uncased"}, "'encoder' must be one of transformer, .*'bert"),
    ("ud-tags", "bert", {"encoder": "transformer"}, "model 'bert' needs a pretrained encoder"),
    ("ud-tags", None, {"word_state": "mean"}, r"'word_state' is for a pretrained encoder \(got 'mean'\)"),
    ("ud-tags", "bert", {"word_state": "last"}, "'word_state' must be one of first, mean"),
    ("ud-tags", None, {"max_length": 100}, r"'max_length' is for a pretrained encoder \(got 100\)"),
    ("ud-tags", None, {"freeze_layers": 1}, "'freeze_layers' is for a pretrained encoder"),
    ("propbank-ewt", None, {"crf": True, "monitor": "loss"}, "'monitor' cannot be 'loss' with 'crf'"),
    ("ud-tags", None, {"crf": True}, r"'crf' is for tasks with a negative label \(got True\)"),
    ("ud-tags", None, {"decode": "beam"}, "'decode' must be one of argmax, viterbi"),
    ("ud-tags", None, {"decode": "viterbi"}, r"'decode' is for labels of spans \(got 'viterbi'\)"),
    ("propbank-ewt", None, {"decode": "viterbi"}, "'decode' is for labels of spans"),
    ("propbank-ewt", None, {"key": "xpos"}, r"'key' is not for task 'propbank-ewt' \(got 'xpos'\)"),
    ("propbank-ewt", None, {"absent": "x"}, "'absent' is not for task 'propbank-ewt'"),
    ("agreement", None, {"form": "spans"}, "'form' is not for task 'agreement'"),
    ("ud-tags", None, {"name": "tense"}, "'name' is not for task 'ud-tags'"),
    ("ud-tags", None, {"verbs": "main"}, "'verbs' is not for task 'ud-tags'"),
    ("ud-tags", None, {"train_from": "test"}, "'train_from' is not for task 'ud-tags'"),
    ("ud-tags", None, {"ud_from": "folder"}, "'ud_from' is not for task 'ud-tags'"),
    ("ud-tags", None, {"data_seed": 3}, r"'data_seed' is not for task 'ud-tags' \(got 3\)"),
    ("ud-tags", None, {"edges": None}, "'edges' must be given for encoder='transformer'"),
    ("ud-tags", None, {"heads": 3}, "'heads'"),
    ("ud-tags", None, {"gate": "relu"}, "'gate' must be one of"),
    ("ud-tags", "dt@nothing", {}, "'control' must be .*got 'nothing'"),
    ("ud-tags", "berd", {}, "no model 'berd'"),
    ("ud-tags", "bilstm@unlabelled", {}, "'labels' is for models that read the labels of arcs"),
    ("ud-tags", None, {"keys": "upos"}, r"no setting 'keys' \(did you mean 'key'\?\)"),
    ("ud-tags", None, {"scheme": "bio"}, "no setting 'scheme'"),
    ("labels", None, {"train": None}, r"task 'labels' needs 'train' \(--train\)"),
    ("labels", None, {"raw_from": "x"}, r"'raw_from' is for corpora, not for task 'labels' \(got 'x'\)"),
    ("labels", None, {"data_seed": 3}, r"'data_seed' is for generated data"),
    ("labels", None, {"rules": "srl-eval"}, "'rules' is for labels of spans"),
    ("labels", None, {"form": "spans"}, r"'form' is not for task 'labels'"),
    ("labels", None, {"scheme": "iob"}, r"'scheme' must be one of words, bio"),
    ("labels", None, {"key": "xpos"}, r"'key' is for files of CoNLL-U and spaCy: .* \(got 'xpos'\)"),
    ("labels", None, {"absent": "none"}, "'absent' is for files of CoNLL-U and spaCy"),
    ("labels", None, {"mark_key": "misc:Mark"}, r"'mark_key' is for files of CoNLL-U: "),
    ("labels", None, {"train": "a.conllu", "mark_key": "Mark"}, r"'mark_key' must be feats:KEY or misc:KEY"),
    ("labels", None, {"val_fraction": 2.0}, "'val_fraction' must be at most 1"),
    ("labels", None, {"max_words": 0}, "'max_words' must be at least 1"),
    # Spans.
    ("semeval2010", None, {"domain": "laptops"}, r"'domain' is not for task 'semeval2010' \(got 'laptops'\)"),
    ("aspects", None, {"negatives": 1.0}, "'negatives' is not for task 'aspects'"),
    ("conll04", None, {"direction": True}, "'direction' is not for task 'conll04'"),
    ("aspects", None, {"path": True}, r"'path' is for tasks with two spans per example \(got True\)"),
    ("semeval2010", None, {"readout": "max"}, "'readout' must be one of mean, top"),
    ("semeval2010", None, {"trees": "gold"}, "'trees' cannot be 'gold': the corpus of 'semeval2010'"),
    ("semeval2010", None, {"outside": "Other"}, "'setting' must be one of .*got 'outside'"),
    ("spans", None, {"train": None}, r"task 'spans' needs 'train' \(--train\)"),
    ("spans", None, {"raw_from": "b"}, r"'raw_from' is for corpora, not for task 'spans'"),
    ("spans", None, {"direction": True}, "'direction' is not for task 'spans'"),
    # Sentences.
    ("csv", None, {"train": None}, r"task 'csv' needs 'train' \(--train\)"),
    ("csv", None, {"text_columns": None}, r"task 'csv' needs 'text_columns' \(--text-columns\)"),
    ("csv", None, {"label_column": None}, r"task 'csv' needs 'label_column' \(--label-column\)"),
    ("csv", None, {"raw_from": "x"}, r"'raw_from' is for corpora, not for task 'csv' \(got 'x'\)"),
    ("sst", None, {"text_columns": "text"}, "'setting' must be one of .*got 'text_columns'"),
    ("sst", "bert", {"level_embedding": True}, "'level_embedding' is for encoder='transformer'"),
    ("sst", "dt", {"encoder": "g2g"}, "'relation_attention' is for encoder='transformer', and 'g2g' has"),
    ("sst", "bert", {"vectors": "x.txt"}, "'vectors' is for an encoder that is trained from scratch"),
    ("sst", "bert", {"links": "none"}, "'links' is for edges='dam' or 'constituents'"),
    (
        "sst",
        "bert",
        {"arcs": "enhanced"},
        "'arcs' is for edges dam, own-arcs or of your own, without a control of trees",
    ),
    (
        "sst",
        "bert-dam-basic",
        {"relation_min_freq": 2},
        "'relation_min_freq' is for arcs of an enhanced graph",
    ),
    ("sst", "bert-dam", {"relations": "ud", "relation_min_freq": 2}, "'relation_min_freq' is for arcs of an"),
    ("sst", "bert", {"arcs": "more"}, "'arcs' must be one of basic, enhanced"),
    ("sst", "bert", {"scaling": "code"}, "'scaling' is for relation_terms='key-value'"),
    ("sst", "bert-g2g", {"gate": "tanh"}, "'gate' is for relation_attention with relation_terms='score'"),
    ("sst", "bert-dt-lr", {"gate_state": "key"}, "'gate_state' is for a gate of relation scores"),
    ("sst", "bert-g2g", {"max_distance": 4}, "'max_distance' is for edges dt, dt-related, gate"),
    ("sst", "bert", {"labels": False}, "'labels' is for models that read"),
    ("sst", "bert", {"position_embedding": False}, "'position_embedding' is for an encoder that is trained"),
    ("sst", "bert", {"start": "torch"}, "'start' is for an encoder that is trained from scratch"),
    ("sst", "bert", {"engine": "pybart"}, "'engine' is for arcs of an enhanced graph"),
    ("sst", "bert", {"max_length": 4}, "'max_length' must be at least 5"),
    ("sst", "bert", {"val_from": "dev"}, "'val_from' is not for task 'sst'"),
    ("sst", "dt", {"relation_terms": "key-value"}, "'relation_terms' is for relation_attention in a"),
    *(
        (
            "sst",
            model,
            {"directions": False},
            "'directions' is for models that read the labels of arcs from both",
        )
        for model in ("transformer", "tree-lstm", "lstm")
    ),
    ("sst", "dt", {"head_lr": 0.1}, "'head_lr' is for a pretrained encoder"),
    ("sst", "dt", {"encoder": "gru"}, "no encoder 'gru' .*begin with 'bert'"),
    ("sst", "tree-lstm", {"dependent_places": 3}, r"'dependent_places' is for encoder='dt-rnn' \(got 3\)"),
    ("sst", "tree-lstm", {"binarized": "head"}, r"'binarized' is for encoders tree-lstm-ct, .*\(got 'head'"),
    ("sst", "dt", {"leaf": "code"}, r"'leaf' is for encoders tree-lstm-ct, rntn \(got 'code'\)"),
    ("sst", "rntn", {"trees": "gold"}, "'trees' cannot be 'gold'|'trees' are dependency trees"),
    ("mrpc", "rntn", {"phrases": True}, "'phrases' is for task 'sst-trees', not for 'mrpc'"),
    ("mrpc", "rntn", {"node_labels": True}, r"'node_labels' is for SST of the layouts .*\(got True\)"),
    ("sst", "bilstm", {"node_labels": True}, r"'node_labels' is for encoders transformer, .*\(got True"),
    ("sst", "bert-dt", {"node_labels": True}, r"'node_labels' is for encoders transformer, .*\(got True"),
    (
        "sst-trees",
        "rntn",
        {"node_labels": True, "phrases": True},
        "'phrases' and 'node_labels' cannot both be True",
    ),
    ("sst", "rntn@random", {"node_labels": True}, r"'node_labels' are those of the treebank's .*\(got trees"),
    ("sick-e", "bert-frozen", {"edges": "dra"}, "'edges' must be 'transformer' for a frozen encoder"),
    ("sick-e", "bert-frozen", {"freeze_layers": 1}, "'freeze_layers' must be 0 for a frozen encoder"),
    ("sick-e", "bert-frozen", {"word_order": "shuffled"}, "'word_order' must be 'text' for a frozen encoder"),
    ("sick-e", "dt", {"frozen": True}, "'frozen' is for a pretrained encoder"),
    ("sick-e", "dt", {"batch_pieces": 60}, "'batch_pieces' is for a pretrained encoder"),
    ("sick-e", "bert-dt", {"constituents": True}, "'constituents' is for edges of your own"),
    ("sick-e", "bert", {"edges": "constituents", "relation_links": True}, "'relation_links' is for edges"),
    ("sick-e", "transformer", {"links": "to_word"}, "'links' is for edges='dam' or 'constituents'"),
    # Selection and post-training.
    ("ubuntu", "bert-sia", {"sia_edges": "siam"}, "no sia_edges 'siam'"),
    ("ubuntu", "bert-sia", {"layer_decay": 1.5}, "'layer_decay' must be at most 1"),
    ("ubuntu", "bert-sia", {"layer_decay": 0.0}, "'layer_decay' must be above 0"),
    ("ubuntu", "bert-sia", {"encoder": "transformer", "freeze_layers": 2}, "'freeze_layers' is for a"),
    ("ubuntu", "bert-sia", {"vectors": "glove.txt"}, "'vectors' is for encoder='transformer'"),
    ("ubuntu", "bert-sia", {"batch_tokens": 100}, "'batch_tokens' is not available"),
    ("ubuntu", "bert-sia", {"max_length": 3}, "'max_length' must be at least 4"),
    ("ubuntu", "bert-sia", {"filter": "all"}, "'filter' must be one of both, negative, none"),
    ("ubuntu", "bert-sia", {"encoder": "transformer", "heads": 3}, "must divide"),
    ("ubuntu", "bert-sia", {"manipulated_turns": 3}, "'manipulated_turns' is for objective='ums'"),
    ("ubuntu", None, {"overlap": "keep"}, "'overlap' is not for task 'ubuntu'"),
    ("ubuntu", None, {"negatives_from": "split"}, "'negatives_from' is not for task 'ubuntu'"),
    ("ubuntu", "smn", {"encoder": "bert-base-uncased"}, "model 'smn' reads words: 'encoder' must be"),
    ("ubuntu", "smn@random", {"encoder": "transformer"}, "'encoder' must be 'smn' .got 'transformer'"),
    ("ubuntu", "smn", {"objective": "ums"}, "'objective' must be None for encoder='smn'"),
    ("ubuntu", "smn", {"sia_edges": "sia"}, "'sia_edges' must be None for encoder='smn'"),
    ("ubuntu", "dua", {"readout": "mean"}, "must be 'cls' for encoder='dua' .got 'mean'"),
    ("ubuntu", "dua", {"accumulation": "last"}, "'accumulation' is for encoder smn .got 'last'"),
    ("ubuntu", "bert", {"image_words": 9}, "'image_words' is for encoder smn, dua, dam-2018, ioi .got 9"),
    ("ubuntu", "smn", {"image_words": 4}, "'image_words' must be at least 5"),
    ("ubuntu", "bert", {"matching_form": "code"}, "'matching_form' is for encoder smn, dua, dam-2018, ioi"),
    ("ubuntu", "ioi", {"block_objective": "all"}, "'block_objective' must be one of local, global"),
    ("ubuntu", "smn", {"edges": "sia"}, "'edges' must be given for encoder='transformer'"),
    (POST, None, {"edges": "sia"}, "edges='sia' need trees, which parser='chain' does not"),
    (POST, None, {"corpus": "sick-e"}, "'corpus' must be one of ubuntu"),
    (POST, None, {"vectors": "glove.txt"}, "'vectors'.* not for post-training|'vectors' is for"),
    # Dialogues.
    ("dailydialog", None, {"parse_errors": 1.5}, "'parse_errors' must be at most 1 .got 1.5"),
    ("dailydialog", None, {"top_p": 0.0}, "'top_p' must be above 0"),
    ("dailydialog", None, {"overlap": "none"}, "'overlap' must be one of keep, drop"),
    ("dailydialog", None, {"relation_dim": 3}, "no setting 'relation_dim'"),
    ("dailydialog", None, {"encoder": "hred"}, "'edges' must be given for encoder='transformer'"),
    ("dailydialog", None, {"pieces": 300, "vectors": "glove.txt"}, "'vectors' cannot be used with 'pieces'"),
    (
        "dailydialog",
        "dt",
        {},
        r"'model' must be .*got 'dt'. .edges have that name: --edges dt; a model of --task sick-r.",
    ),
    ("dailydialog", None, {"clip": 0.0}, "'clip' must be above 0"),
    ("dailydialog", None, {"pieces": 100}, "'pieces' must be at least 261"),
    ("dailydialog", "hred", {"trees": "chain"}, "encoder 'hred' does not read 'trees'"),
]
NEEDED = {"csv": CSV, "labels": {"train": "a.jsonl"}, "spans": {"train": "a.jsonl"}}


def of(task: str, model: str | None = None, **settings: object) -> TrainConfig:
    return TrainConfig.of(model, task=task, **{**NEEDED.get(task, {}), **settings})


def tags(model: str | None = None, **settings: object) -> TrainConfig:
    return of("ud-tags", model, **settings)


@pytest.mark.parametrize("task", dict.fromkeys(task for task, *_ in WRONG))
def test_wrong_settings_name_key_and_value(task, row_of):
    for of_task, model, settings, message in WRONG:
        if of_task == task:
            with row_of((model, settings)), pytest.raises(ValueError, match=message):
                of(task, model, **settings)


def test_choices_are_those_of_the_layers():
    """Settings repeat the choices, since they do not import layers."""
    known = {"sia_block": BLOCKS, "sia_mask": MASKS, "readout": READOUTS, "accumulation": ACCUMULATIONS}
    known |= {"matching_form": DAM_FORMS, "block_objective": BLOCK_OBJECTIVES, "order_form": FORMS}
    known |= {"manipulation_loss": LOSSES, "speakers": SPEAKERS}
    for name, choices in known.items():
        assert SelectionConfig.marks[name]["choices"] == choices
    assert {*SelectionConfig.objective_of.values()} <= {*OBJECTIVES}


@pytest.mark.parametrize("task", [*words.TASKS, *spans.TASKS])
def test_every_task_of_words_has_columns_of_its_scores(task):
    known = words if task in words.TASKS else spans
    main, *others = known.COLUMNS[task]
    assert sorted(of(task).signatures()) == sorted(SCORES)
    assert main == f"test_{known.TASKS[task].metrics[0].name}"
    assert {name.partition("_")[2] for name in others} <= set(SCORES)


@pytest.mark.parametrize(("task", "models"), [("ud-tags", LABEL_MODELS), ("semeval2010", WORD_MODELS)])
def test_rows_share_their_data_unless_a_parser_is_asked_for(task, models):
    shared = of(task, "bilstm").data_settings()
    for model in ("dt", "dra", "dt@random", "dra@chain", "dt@reversed", "dt@unlabelled"):
        assert of(task, model).data_settings() == shared
    assert set(family_of(task).default_models) <= {*models, "dt@random"}
    assert of("semeval2010", direction=False).data_settings() != of("semeval2010").data_settings()
    assert of("semeval2010", readout="top", path=True).data_settings() == of("semeval2010").data_settings()
    assert {tags(model).trees for model in LABEL_MODELS} == {"gold"}
    parsed = tags("dt@parser", parser="stanza")
    assert parsed.data_settings() != tags("dt", parser="stanza").data_settings() == tags().data_settings()
    assert parsed.dataset_options("train")["parser"] == "stanza"
    assert tags(key="xpos").data_settings() != tags().data_settings() != tags(absent="none").data_settings()


def test_rows_of_tables_have_their_edges_and_positions():
    """The models of SIA's Table 2 and DRA's Tables 1 and 3."""
    edges = {name: of("ubuntu", name).sia_edges for name in ("bert", "bert-vanilla", "bert-sia")}
    assert edges == {"bert": None, "bert-vanilla": "transformer", "bert-sia": "sia"}
    assert [of("ubuntu", f"bert-{part}").sia_edges for part in ("intra", "inter")] == [
        "sia-intra",
        "sia-inter",
    ]
    rows = {
        "transformer": ("transformer", True),
        "transformer-dra": ("dra", False),
        "transformer-dra-pe": ("dra", True),
        "transformer-dra-bpe": ("dra", False),
        "dialogbert": ("transformer-utterance", True),
        "dialogbert-dra": ("dra", False),
        "dialogbert-dra-pe": ("dra", True),
    }
    configs = {name: of("dailydialog", name) for name in rows}
    assert {name: (config.edges, config.position_embedding) for name, config in configs.items()} == rows


def test_what_runs_are_called():
    assert tags(parser="conllu:trees").named() == {}  # only models that use the parser have its name
    assert tags("dt@parser", parser="conllu:trees").named() == {"parser": "conllu:trees"}
    assert tags("dra", key="feats:Case").label == "dra, key feats:Case"
    assert of("labels").label == "dt"
    assert of("labels", root="r", parser="chain").named() == {
        "train": "a.jsonl",
        "root": "r",
        "parser": "chain",
    }
    for task in ("csv", "labels", "spans"):
        assert of(task).splits == ("train", "val")
        assert of(task, test="x.csv").splits == ("train", "val", "test") == of("sick-e").splits
        assert of(task, train="elsewhere.jsonl").differences(of(task)) == []
    kinds = {"labels": "own-labels", "csv": "csv", "dailydialog": "dialogue", "sick-e": "sentence"}
    assert {task: of(task).kind for task in kinds} == kinds
    families = {"labels": "labels", "csv": "sentence", "dailydialog": "dialogue", "spans": "spans"}
    assert {task: of(task).family for task in families} == families
    assert of("spans", trees="gold").data_settings()["parser"] == "gold"
    assert parse_settings(["val_fraction=0.2", "test=none"], "csv") == {"val_fraction": 0.2, "test": None}


@pytest.mark.parametrize(
    ("task", "others"),
    [
        ("ud-tags", [{"model": "dra"}, {"model": "dra@random"}, {"key": "xpos"}]),
        (
            "propbank-ewt",
            [{"form": "spans"}, {"crf": True}, {"form": "spans", "decode": "viterbi"}, {"keep": "last"}],
        ),
        (
            "labels",
            [{"scheme": "bio"}, {"train": "a.conllu", "mark_key": "misc:Mark"}],
        ),
        ("semeval2010", [{"readout": "top"}, {"path": True}, {"direction": False}, {"model": "dt@random"}]),
        ("spans", [{"outside": "none"}]),
        ("sick-e", [{"embedding_scale": True}]),
        ("ubuntu", [{"readout": "mean"}, {"objective": "ums"}, {"model": "bert-inter"}]),
        ("dailydialog", [{"embedding_scale": True}]),
    ],
)
def test_runs_of_other_settings_have_other_digests(task, others):
    named = {of(task, **settings).digest() for settings in ({}, *others)}
    assert len(named) == 1 + len(others)


def test_what_is_no_matter_of_the_run_is_not_in_its_digest():
    assert of("propbank-ewt", ud_from="elsewhere").digest() == of("propbank-ewt").digest()
    assert of("sick-e", "bert", batch_pieces=4096).digest() == of("sick-e", "bert").digest()
    for model in ("transformer", "bert"):  # only models that read constituents have the option
        assert "constituents" not in of("sick-e", model).dataset_options("train")
    before = {name: value for name, value in of("ubuntu", "bert").to_dict().items() if name != "readout"}
    assert TrainConfig.from_dict(before) == of("ubuntu", "bert")


def test_options_of_a_corpus_reach_it():
    config = of("propbank-ewt", form="spans", ud_from="trees")
    assert config.dataset_options("train") == {"form": "spans", "ud_from": "trees", "parser": "gold"}
    assert config.about_data == "form spans"  # without paths
    assert config.label == "dt, form spans"
    assert (config.label_scheme, config.outside_label) == ("bio", "O")
    config = of("agreement", name="question", train_from="test")
    assert config.dataset_options("test") == {"name": "question", "train_from": "test", "parser": "gold"}
    assert of("agreement").dataset_options("test") == {"parser": "gold"}
    assert (tags().label_scheme, tags().outside_label) == ("words", None)
    told = tags("bert", encoder="folder").dataset_options("val")
    assert told == {"key": "upos", "absent": None, "max_length": 256, "parser": "gold"}
    assert of("semeval2010").dataset_options("train") == {}
    given = of("semeval2010", direction=False, val_fraction=0.2, val_seed=3)
    assert given.dataset_options("train") == {"direction": False, "val_fraction": 0.2, "seed": 3}
    assert of("conll04", negatives=2.0).dataset_options("val") == {"negatives": 2.0}
    laptops = of("aspects", domain="laptops", polarities=3)
    assert laptops.dataset_options("test") == {"domain": "laptops", "polarities": 3}
    assert laptops.label == "dt, domain laptops, polarities 3"
    files = {
        "train": "a.jsonl",
        "val": None,
        "test": None,
        "text_column": "body",
        "val_fraction": 0.1,
        "seed": 0,
        "tree_scheme": "auto",
        "bad_trees": "error",
        "keep_trees": True,
        "span_end": "auto",
    }
    assert of("spans", text_columns="body").dataset_options("train") == files
    # Pools known from train are left out.
    assert of("dailydialog-selection").overlap == "drop"
    assert of("dailydialog-selection").dataset_options("test")["overlap"] == "drop"
    assert "overlap" not in of("dailydialog-selection").dataset_options("train")
    for task in ("sst", "sst-trees"):
        config = of(task, "rntn", node_labels=True)
        assert (config.dataset_options("val")["trees"], config.dataset_options("val")["layout"]) == (
            True,
            "trees",
        )
        assert config.about_data == "with labels of all nodes"


def test_what_is_computed_is_said():
    told = "models that read the labels of the treebank's arcs read the targets"
    assert all(told in text for text in tags(key="deprel").signatures().values())
    for other in (tags(), tags("dt@parser", key="deprel"), tags("dt@random", key="deprel")):
        assert not any(told in text for text in other.signatures().values())
    for settings, there in (({}, True), ({"trees": "gold"}, True), ({"trees": "random"}, False)):
        # Own trees are kept with any parser.
        config = of("labels", train="a.conllu", key="deprel", **settings)
        assert all((told in text) is there for text in config.signatures().values())
    assert "look-up: the most frequent label of each word form" in tags().signatures()["accuracy"]
    marked = of("propbank-ewt").signatures()
    assert all("tree path of up to two arcs from the marked word" in text for text in marked.values())
    assert "spans are right if" not in marked["f1"]
    found = of("propbank-ewt", form="spans").signatures()
    for said in ("spans are right if", "which srl-eval.pl of CoNLL-2005 joins"):
        assert [said in found[name] for name in SCORES] == [False, True, True, False]
    assert [name for name in SCORES if "all spans must be right" in found[name]] == ["exact"]
    found = of("propbank-ewt", form="spans", rules="srl-eval").signatures()
    assert ["like srl-eval.pl of CoNLL-2005" in found[name] for name in SCORES] == [
        *(False, True, True, False)
    ]
    for text in of("semeval2010").signatures().values():
        assert text.count("floor:") == 1
        assert "look-up: the most frequent label of each tree path of up to" in text
    assert "semeval2010_task8_scorer" in of("semeval2010").signatures()["macro_f1"]
    assert "labels have no direction" in of("semeval2010", direction=False).signatures()["macro_f1"]
    assert "of each form of a span's top word" in of("aspects").signatures()["f1"]
    assert "or with one span of each form" in of("spans").signatures()["f1"]


def test_codes_of_labels():
    task = resolve_task("semeval2010")
    directed, undirected = task.codes(LABELS, OTHER), task.codes(UNDIRECTED, OTHER)
    assert directed[LABELS.index(OTHER)] == undirected[UNDIRECTED.index(OTHER)] == 0
    assert sorted(directed) == [*range(19)]
    for name in RELATIONS:
        assert undirected[UNDIRECTED.index(name)] == directed[LABELS.index(f"{name}(e1,e2)")]
    own = resolve_task("spans")
    assert own.codes(("a", "b", "c"), "b") == (1, 0, 2)
    assert own.codes(("a", "b"), None) == (1, 2)
    with pytest.raises(
        ValueError, match=r"'outside' must be one of the labels of training, a, b \(got 'c'\)"
    ):
        own.codes(("a", "b"), "c")
    with pytest.raises(ValueError, match=r"'scheme' must be one of words, bio"):
        LabelScoring(("O", "A"), "O", "iob")
    with pytest.raises(ValueError, match="must be O, B-LABEL or I-LABEL .*'ARG0'"):
        LabelScoring(("O", "ARG0"), "O", "bio")
    with pytest.raises(ValueError, match="'rules' 'srl-eval' are for scheme='bio'"):
        LabelScoring(("O", "B-A"), "O", rules="srl-eval")


def test_what_evaluation_may_change():
    config = of("propbank-ewt", form="spans")
    assert config.for_evaluation({"decode": "viterbi"}).decode == "viterbi"
    for name, value in (("crf", True), ("form", "heads"), ("word_state", "mean")):
        with pytest.raises(ValueError, match=name):
            config.for_evaluation({name: value})


def test_defaults_are_those_of_the_papers():
    assert (of("cogs").min_freq, of("cogs", min_freq=3).min_freq, tags().min_freq) == (1, 3, 2)
    config = of("dailydialog")
    assert (config.hidden_channels, config.num_layers, config.heads) == (768, 3, 16)
    assert (config.batch_size, config.optimizer, config.weight_decay) == (40, "adamw", 0.01)
    assert (config.lr, config.warmup_steps, config.min_freq) == (5e-4, 3000, 3)
    assert (config.max_turns, config.max_words, config.position_embedding) == (4, 50, False)
    assert of("cola", "bert-dam").relation_min_freq == GRAPH_MIN_FREQ == 5
    assert of("ubuntu").encoder == "bert-base-uncased"
    assert (of("ecommerce").encoder, of("ecommerce").parser) == ("bert-base-chinese", "stanza:zh")
    assert of("ecommerce", encoder="transformer").encoder == "transformer"
    found = {name: of("ubuntu", name) for name in MATCHING_ENCODERS}
    assert {(config.hidden_channels, config.image_words) for config in found.values()} == {(200, 50)}
    turns = {name: config.image_turns for name, config in found.items()}
    assert turns == {"smn": 10, "dua": 10, "dam-2018": 9, "ioi": 10}
    assert [found[name].num_layers for name in ("dam-2018", "ioi")] == [5, 7]
    assert found["smn"].match_channels == 50
    assert (of("douban", "smn").encoder, of("douban", "smn").parser) == ("smn", "stanza:zh")
    assert of("ubuntu", "bert-ums").weights == {"insertion": 1.0, "deletion": 1.0, "search": 1.0}
    assert of("ubuntu", "bert").weights == {}
    for name in TREE_ENCODERS:
        for task in ("sick-r", "sst"):
            assert of(task, name).encoder == name
            assert of(task, name).reads_constituents == (name in CONSTITUENT_ENCODERS)


FAMILIES = [family_of(task) for task in ("sick-e", "dailydialog", "ubuntu")]


@pytest.mark.parametrize(
    ("task", "paper"),
    [(task, paper) for family in FAMILIES for task, papers in family.published.items() for paper in papers],
)
def test_a_paper_s_figures_are_of_models_and_splits_that_are_there(task, paper):
    own = TrainConfig.of_task(task)
    assert paper.rows.keys() <= own.models.keys()
    assert not paper.others.keys() & own.models.keys()
    for name in (*paper.rows, *paper.others):
        figures = paper.figures(name)
        assert figures.keys() <= {*paper.scores}
        assert all(0 <= value <= 1 or score.endswith("perplexity") for score, value in figures.items())
    model = "rntn" if "node_labels" in paper.settings else None
    config = of(task, model, **paper.settings)
    assert {*paper.examples} == {*config.splits} & {"train", "val", "test"}


def test_glue_s_sizes_are_those_of_val_from():
    for task, (whole, dev) in {"cola": (8551, 1043), "glue-sst2": (67349, 872)}.items():
        val = whole // 10  # drawn from the training file
        sizes = {"train": whole - val, "val": val, "test": dev}
        assert [paper.examples for paper in PAPER[task]] == [
            *[{"train": whole, "val": dev}] * 2,
            sizes,
        ]
        assert [paper.settings for paper in PAPER[task]] == [*[{"val_from": "dev"}] * 2, {}]


@pytest.mark.parametrize(
    ("task", "model", "figures"),
    [
        ("sick-r", "bilstm", {"test_mse": 0.2736}),
        ("dailydialog", "transformer", {"val_perplexity": 18.278, "val_bleu2_method7": 0.19519}),
        ("dailydialog", "dialogbert-dra-pe", {"val_dist2": 0.1577}),
        ("dailydialog", "hran", {"test_perplexity": 28.411, "test_dist2": 0.08073}),
        ("dailydialog", "lisa", {}),  # the paper's model learns to parse
        ("douban", "bert-sia", {"test_MAP": 0.597, "test_P@1": 0.465, "test_R10@5": 0.838}),
        ("ecommerce", "bert-inter", {"test_R10@2": 0.833}),
        ("ubuntu", "bert-ss-da", {}),  # the paper uses RoBERTa
        ("mnli", "bert-dam", {"test_accuracy": 0.848, "test-mismatched_accuracy": 0.835}),
        ("stsb", "bert", {"test_spearman": 0.858}),
        ("cola", "bert-g2g", {"val_mcc": 0.22, "test_mcc": 0.22}),
        ("sick-e", "use", {}),  # the paper uses pretrained weights
        ("sick-e", "tree-transformer", {}),  # ours is simplified
    ],
)
def test_figures_as_the_papers_print_them(task, model, figures):
    found: dict[str, float] = {}
    for paper in family_of(task).published[task]:
        found |= paper.figures(model)
    assert {score: found.get(score) for score in figures} == figures
    assert figures or not found


@pytest.mark.parametrize("task", ["labels", "spans"])
def test_a_negative_label_may_be_called_none(task):
    read = partial(config_of(task).read, "outside")
    assert [read(text) for text in ("none", "Null", "")] == ["none", "Null", None]
