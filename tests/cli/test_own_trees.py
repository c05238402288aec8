"""Files of trees as TEXT_OR_FILE: the same words, governors and labels by each command, or a refusal."""

from __future__ import annotations

import csv
import io
import json
import re
import sys

import pytest

from graphdep.cli.common import own_trees, stream_texts
from graphdep.cli.use import _trees
from graphdep.io import parse_conllu, read_conllu, write_conllu
from graphdep.training import TrainConfig, train
from tests.kit.forms import ANN, FORMS
from tests.kit.runs import SIZES
from tests.kit.tiny_corpora import tiny_span_rows, write_tiny_sst

CONLLU = FORMS["CoNLL-U"][1]
WORDS = re.sub(r"\t\d\t\S+\t_\t_$", "\t_" * 4, CONLLU, flags=re.M)
TREES = [(sentence.form, sentence.head, sentence.deprel) for sentence in ANN]


def trees(text):
    return [(sentence.form, sentence.head, sentence.deprel) for sentence in parse_conllu(text)]


def page_of(path):
    html = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


def arcs(page):
    return sorted((arc[0], arc[1], arc[2]) for arc in page["sides"][0]["arcs"])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A model that reads trees of texts."""
    corpus = write_tiny_sst(tmp_path_factory.mktemp("sst"))
    config = TrainConfig.of("dt", task="sst", max_epochs=1, accelerator="cpu", **corpus, **SIZES)
    return train(config, tmp_path_factory.mktemp("run"))["checkpoint"]


@pytest.mark.parametrize("name", FORMS)
def test_every_format_with_every_command(run, checkpoint, tmp_path, name):
    (tmp_path / "given.txt").write_text(FORMS[name][1], encoding="utf-8")
    done = run("parse", "given.txt")
    assert done.exit_code == 0, done.stderr
    assert trees(done.stdout) == TREES
    assert "given.txt: 2 sentences, with their own trees" in done.stderr
    write_conllu(ANN, tmp_path / "same.conllu")
    shown = ("--edges", "dt", "--output")
    for source, output in (("given.txt", "a.html"), ("same.conllu", "b.html")):
        done = run("draw", source, *shown, output)
        assert done.exit_code == 0, done.stderr
    one, other = page_of(tmp_path / "a.html"), page_of(tmp_path / "b.html")
    assert [node["text"] for node in one["nodes"]] == [node["text"] for node in other["nodes"]]
    assert arcs(one) == arcs(other)
    assert len(arcs(one)) == 7
    (tmp_path / "texts.txt").write_text("Ann sees Bob .\nIt rains .\n")
    model = ("predict", "--checkpoint", checkpoint)
    by_texts = run(*model, "--input", "texts.txt", "--parser", "conllu:same.conllu")
    by_trees = run(*model, "--input", "given.txt", "--parser", "chain")
    assert by_trees.exit_code == 0, by_trees.stderr
    assert by_trees.stdout == by_texts.stdout


@pytest.mark.parametrize("name", ["trees.txt", "trees.tsv"])
def test_predictions_depend_on_the_trees(run, checkpoint, tmp_path, name):
    write_conllu(ANN, tmp_path / name)
    (tmp_path / "texts.txt").write_text("Ann sees Bob .\nIt rains .\n")
    model = ("predict", "--checkpoint", checkpoint, "--parser", "chain", "--input")
    done = run(*model, name)
    assert f"{name}: 2 sentences, with their own trees" in done.stderr
    assert done.stdout != run(*model, "texts.txt").stdout


def test_explore_shows_the_tree_of_the_file(run, checkpoint, tmp_path):
    write_conllu(ANN[:1], tmp_path / "one.txt")
    done = run("explore", "--checkpoint", checkpoint, "--input", "one.txt", "--parser", "chain")
    assert done.exit_code == 0, done.stderr
    page = page_of(tmp_path / "page.html")
    assert [node["text"] for node in page["nodes"]] == ["[ROOT]", "Ann", "sees", "Bob", "."]
    assert {(governor, dependent) for governor, dependent, _ in arcs(page)} >= {(2, 1), (2, 3), (2, 4)}


def test_explore_shows_a_row_of_spans(run, checkpoint, tmp_path):
    first, second, *_ = rows = tiny_span_rows(trees=True)
    (tmp_path / "train.json").write_text(json.dumps(rows))
    config = TrainConfig.of("dt", task="spans", train=str(tmp_path / "train.json"), max_epochs=1, **SIZES)
    spans = train(config, tmp_path / "run")["checkpoint"]
    ends = dict(zip(("subj_start", "subj_end", "obj_start", "obj_end"), (0, 0, 2, 3)))
    theirs = {"token": first["words"], "head": first["head"], "deprel": first["deprel"], **ends}

    def explored(*given, more=()):
        (tmp_path / "x.json").write_text(json.dumps(given))
        models = [part for model in (spans, *more) for part in ("--checkpoint", model)]
        done = run("explore", *models, "--input", "x.json", "--parser", "chain", "--overwrite")
        return page_of(tmp_path / "page.html") if done.exit_code == 0 else " ".join(done.stderr.split())

    ours = explored(first)
    assert {(governor, dependent) for governor, dependent, _ in arcs(ours)} >= {(2, 1), (2, 4), (4, 3)}
    assert explored(theirs)["sides"][0]["answers"] == ours["sides"][0]["answers"]
    assert "must have one example (got 2)" in explored(first, second)
    assert "which models of 'sst' do not read" in explored(first, more=(checkpoint,))
    assert "1 marked span, but the model was trained on 2" in explored({**first, "spans": [[0, 1]]})


def test_the_format_of_stdin_is_recognised(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(CONLLU))
    given = stream_texts("-")
    made = own_trees(given, "-", "auto", "error", lambda: None)
    assert [(one.form, one.head, one.deprel) for one in made.sentences] == TREES


LISTS = '["Ann", "sees", "Bob", "."]\n["It", "rains", "."]\n'
ROWS = '{"tokens": ["Ann", "sees", "Bob", "."]}\n{"words": ["It", "rains", "."], "deprel": null}\n'
BRACKETS = "(ROOT (S (NP (PRP She)) (VP (VBZ sings))))\n"
TWO_ROOTS = CONLLU.replace("2\tnsubj", "0\tnsubj")
REFUSED = {
    "without heads": ("a.txt", WORDS, [], "a.txt:1: HEAD must be a word id or 0; graphdep parse --words"),
    "several roots": ("a.txt", TWO_ROOTS, [], r"a.txt:1: .*--bad-trees attach, parse or skip"),
    "none is left": (
        "a.txt",
        TWO_ROOTS.split("\n\n")[0],
        ["--bad-trees", "skip"],
        "a.txt: no sentences are left",
    ),
    "no such policy": ("a.txt", CONLLU, ["--bad-trees", "drop"], "'bad_trees' must be one of error, attach"),
    "no such scheme": (
        "a.txt",
        CONLLU,
        ["--tree-scheme", "ud3"],
        "'scheme' must be one of auto, as-is, clear",
    ),
    "columns": ("a.txt", "1\ta\t_\t_\t_\t_\t_\n", [], "a.txt:1: a treebank of 7 columns, .*own-parse.md"),
    "CoNLL-2003": ("a.conll", "She PRP O\n", [], "a.conll:1: no tree in any known format.*own-parse.md"),
    "four columns": ("a.txt", "1\ta\t0\troot\n2\tb\t1\tdep\n", [], "a.txt:1: a treebank of 4 columns"),
    "words and tags": ("a.txt", "-DOCSTART- O\n\nShe O\n", [], "a.txt:1: words in columns without trees"),
    "damaged": ("a.conllu", "1\tShe\n", [], "a.conllu:1: 2 tab-separated columns instead of 10"),
    "other JSON": ("a.txt", '{"text": "She sings."}\n', [], "a.txt: no 'form' among the keys .*own-parse.md"),
    "other XML": (
        "a.txt",
        "<?xml version='1.0'?><a/>\n",
        [],
        "a.txt:1: XML without sentences .*own-parse.md",
    ),
    "withheld": (
        "a.txt",
        "1\t_\t_\tX\t_\t_\t0\troot\t_\t_\n\n" * 9,
        [],
        "9 of 9 words are _ or .WORD.: .* withheld",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(run, checkpoint, tmp_path, case):
    name, text, options, message = REFUSED[case]
    (tmp_path / name).write_text(text, encoding="utf-8")
    model = ("--checkpoint", checkpoint, "--parser", "chain", "--input", name)
    for command in (("parse", name), ("draw", name), ("explore", *model), ("predict", *model)):
        done = run(*command, *options)
        assert done.exit_code == 2, command
        assert re.search(message, done.stderr.replace("\n", " ")), (command, done.stderr)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.csv", "a.csv:1: a table, which only graphdep predict reads"),
        ("a.spacy", "a.spacy:1: a DocBin of spaCy"),
    ],
)
def test_tables_are_not_texts(run, checkpoint, tmp_path, name, message):
    (tmp_path / name).write_text("text,label\nShe sings.,1\n")
    model = ("explore", "--checkpoint", checkpoint, "--input", name)
    for command in (("parse", name), ("draw", name), model):
        assert message in run(*command).stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        ({"words": ["head"]}, None),
        ({"words": ["spans"], "head": [0], "deprel": ["root"]}, "json"),
        ({"words": ["a"], "head": [0], "deprel": ["root"], "spans": [[0, 1]]}, None),
        ([{"text": "words", "head": 0, "deprel": "root", "ner": "O"}], "json"),
    ],
)
def test_rows_of_json_are_recognised_by_keys(tmp_path, first, kind):
    (tmp_path / "a.json").write_text(json.dumps([first]))
    trees = _trees(str(tmp_path / "a.json"))
    assert (trees and trees.format) == kind


def test_changes_of_invalid_trees_are_reported(run, tmp_path):
    (tmp_path / "two.txt").write_text(TWO_ROOTS, encoding="utf-8")
    done = run("parse", "two.txt", "--bad-trees", "attach")
    assert trees(done.stdout)[0][1:] == ([0, 1, 2, 2], ["nsubj", "root", "obj", "punct"])
    assert "two.txt: 2 sentences, with their own trees; 1 of 2 trees is bad: several roots (1); attached" in (
        done.stderr
    )
    assert trees(run("parse", "two.txt", "--bad-trees", "skip").stdout) == TREES[1:]
    done = run("parse", "two.txt", "--bad-trees", "parse", "--parser", "chain")
    assert trees(done.stdout)[0][1] == [0, 1, 2, 3]
    looked_up = ("parse", "Ann sees Bob .", "--parser", "conllu:two.txt")
    assert trees(run(*looked_up, "--bad-trees", "attach").stdout)[0][1] == [0, 1, 2, 2]
    assert "more than one root" in run(*looked_up).stderr


def test_the_scheme_of_the_labels(run, tmp_path):
    (tmp_path / "clear.txt").write_text(CONLLU.replace("\tobj\t", "\tdobj\t"), encoding="utf-8")
    kept = run("parse", "clear.txt")
    assert [deprel[2] for _, _, deprel in trees(kept.stdout)] == ["dobj", "punct"]
    converted = run("parse", "clear.txt", "--tree-scheme", "clear")
    assert [deprel[2] for _, _, deprel in trees(converted.stdout)] == ["obj", "punct"]
    assert "converted from CLEAR" in converted.stderr


@pytest.mark.parametrize("text", [WORDS, CONLLU, "Ann sees Bob .\nIt rains .\n", LISTS, ROWS])
def test_given_words_are_parsed(run, tmp_path, text):
    (tmp_path / "words.txt").write_text(text, encoding="utf-8")
    done = run("parse", "words.txt", "--words", "--parser", "chain", "--output", "trees.conllu")
    assert done.exit_code == 0, done.stderr
    made = read_conllu(tmp_path / "trees.conllu")
    assert [(sentence.form, sentence.head) for sentence in made] == [
        (["Ann", "sees", "Bob", "."], [0, 1, 2, 3]),
        (["It", "rains", "."], [0, 1, 2]),
    ]


def test_brackets_get_dependency_trees(run, tmp_path):
    (tmp_path / "brackets.txt").write_text(BRACKETS)
    done = run("parse", "brackets.txt", "--parser", "chain")
    [sentence] = parse_conllu(done.stdout)
    assert (sentence.form, sentence.head) == (["She", "sings"], [0, 1])
    assert sentence.constituents == [("S", 0, 2), ("NP", 0, 1), ("VP", 1, 2)]
    assert "1 sentence, their words parsed" in done.stderr


def test_constituents_for_own_trees(run, tmp_path):
    (tmp_path / "trees.txt").write_text(CONLLU)
    done = run("parse", "trees.txt", "--constituents")
    made = parse_conllu(done.stdout)
    assert [(sentence.form, sentence.head, sentence.deprel) for sentence in made] == TREES
    assert all(sentence.constituents for sentence in made)


def test_text_commands_refuse_trees(run, checkpoint, tmp_path):
    (tmp_path / "trees.txt").write_text(CONLLU)
    done = run("embed", "--checkpoint", checkpoint, "--input", "trees.txt")
    assert "trees.txt: expected one text per line, but this is conllu: see docs/how-to/own-parse.md" in (
        done.stderr.replace("\n", " ")
    )


def test_predictions_are_written_to_a_table(run, checkpoint, tmp_path):
    (tmp_path / "trees.conllu").write_text(CONLLU)
    model = ("predict", "--checkpoint", checkpoint, "--input", "trees.conllu")
    done = run(*model, "--output", "out.csv")
    assert done.exit_code == 0, done.stderr
    with (tmp_path / "out.csv").open(newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == ["Ann sees Bob .", "It rains ."]
    assert "'output' must end in .csv, .tsv or .jsonl" in run(*model, "--output", "out.conllu").stderr
