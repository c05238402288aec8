"""A user's own words and trees reach the model unchanged, from all interfaces and formats."""

from __future__ import annotations

import json
from typing import Any

import conllu
import numpy as np
import pytest
from stanza.utils.conll import CoNLL

from graphdep import Sentence, SequenceClassifier, SpanClassifier, WordLabeller
from graphdep.datasets import CSVTexts
from graphdep.datasets.base.rows import as_value
from graphdep.datasets.spans.texts import ParsedSpans, parse_examples
from graphdep.parsing.inputs import read_examples, read_inputs
from graphdep.parsing.parser import ChainParser, WordLimit
from graphdep.sentence import Intake, join_sentences
from graphdep.training import TrainConfig
from graphdep.training.checkpoint import load_task
from graphdep.training.estimator import Predictor
from graphdep.training.family import load_splits
from tests.kit.runs import SIZES
from tests.tasks.test_answers import checkpoint, new, rankings, responses, vectors

__all__ = ["checkpoint", "new"]  # fixtures

ONE = Sentence(["ann", "saw", "dan"], [3, 1, 0], ["nsubj", "obj", "root"], upos=["NOUN", "VERB", "NOUN"])
TWO = Sentence(["eve", "saw"], [0, 1], ["root", "obl"])
TEXT = [ONE.to_conllu(), ONE.to_conllu() + "\n" + TWO.to_conllu() + "\n"]


def as_dict(sentence: Sentence) -> dict[str, Any]:
    return {"words": sentence.form, "head": sentence.head, "deprel": sentence.deprel}


def as_words(sentence: Sentence) -> list[dict[str, Any]]:
    columns = zip(sentence.form, sentence.head, sentence.deprel)
    return [{"text": form, "head": head, "deprel": deprel} for form, head, deprel in columns]


def as_spacy(*sentences: Sentence) -> Any:
    from spacy.tokens import Doc

    vocab = (doc := sentences[0].to_spacy()).vocab
    return Doc.from_docs([doc, *(sentence.to_spacy(vocab) for sentence in sentences[1:])])


FORMS = {
    "Sentence": lambda: (ONE, [ONE, TWO]),
    "dict": lambda: (as_dict(ONE), [as_dict(ONE), as_dict(TWO)]),
    "dicts of words": lambda: (as_words(ONE), [as_words(ONE), as_words(TWO)]),
    "TokenList": lambda: (conllu.parse(TEXT[0])[0], [*conllu.parse(TEXT[1])]),
    "stanza": lambda: (
        CoNLL.conll2doc(input_str=TEXT[0]).sentences[0],
        CoNLL.conll2doc(input_str=TEXT[1]),
    ),
    "mixed": lambda: (CoNLL.conll2doc(input_str=TEXT[0]), [as_dict(ONE), TWO]),
    "spacy": lambda: (next(as_spacy(ONE).sents), as_spacy(ONE, TWO)),
}
forms = pytest.mark.parametrize(
    "form", [pytest.param(form, marks=[pytest.mark.spacy] * (form == "spacy")) for form in FORMS]
)
OWN = ("dan", "dan", "saw", "ann")
SMALL = {**SIZES, "hidden_channels": 16, "ff_channels": 16, "lr": 0.03, "min_freq": 1, "dropout": 0.0}
OPTIONS: dict[str, Any] = {**SMALL, "parser": "chain", "device": "cpu", "progress": False, "max_epochs": 1}
TREES = [
    Sentence(words, [2, 0, 2], ["nsubj", "root", "obj"]) for words in map(list, ("abc", "dbe", "dba", "ebc"))
]


def arcs(trees: Any) -> list[tuple[Any, ...]]:
    return [(tuple(tree.form), tuple(tree.head), tuple(tree.deprel)) for tree in trees]


@pytest.fixture(scope="module")
def fitted():
    return {
        "pairs": SequenceClassifier("transformer", "dt", **OPTIONS).fit(
            [(TREES[0], TREES[1]), ("a", "b")] * 4, [0, 1] * 4
        ),
        "words": WordLabeller(None, "dt", **OPTIONS).fit(TREES, [["x", "y", "x"]] * 4),
        "spans": SpanClassifier(None, "dt", **OPTIONS).fit(TREES, ["x", "y"] * 2, [[(0, 1)]] * 4),
    }


def asked(name: str, fitted: Any, new: Any, inputs: list[Any]) -> tuple[Any, list[Any]]:
    """The method to call, and its arguments for some inputs."""
    if name == "pairs":
        return fitted[name].predict_proba, [[(one, "a text") for one in inputs]]
    if name == "words":
        return fitted[name].predict_proba, [inputs]
    if name == "spans":
        return fitted[name].predict_proba, [inputs, [[(0, 2)]] * len(inputs)]
    if name == "vectors":
        return new(vectors).encode, [inputs]
    if name == "responses":
        return (lambda contexts: [h.score for [h] in new(responses).hypotheses(contexts)]), [
            [[one] for one in inputs]
        ]
    return (lambda *pool: new(rankings).rank(*pool).scores), [["a text"], inputs]


ESTIMATORS = ("pairs", "words", "spans", "vectors", "responses", "rankings")


@pytest.mark.parametrize("name", ESTIMATORS)
@forms
def test_the_same_trees_reach_every_model(fitted, new, monkeypatch, name, form):
    roots = "all" if name in ("responses", "rankings", "spans") else "first"
    seen: list[list[Sentence]] = []
    trees = Predictor.trees

    def kept(self: Predictor, *args: Any, **options: Any) -> list[Sentence]:
        seen.append(trees(self, *args, **options))
        return seen[-1]

    def of_spans(*args: Any) -> ParsedSpans:
        parsed = parse_examples(*args)
        seen.append([marked.tree for marked in parsed.marked])
        return parsed

    monkeypatch.setattr(Predictor, "trees", kept)
    monkeypatch.setattr("graphdep.tasks.spans.predict.parse_examples", of_spans)
    monkeypatch.setattr(ChainParser, "fingerprint", "own")
    expected = [ONE, join_sentences([ONE, TWO], roots=roots), Sentence.chain(OWN)]
    ask, given = asked(name, fitted, new, [*FORMS[form](), list(OWN)])
    if name in ("vectors", "responses", "rankings"):
        monkeypatch.setattr("tests.tasks.test_answers.Stub.parse_sentences", ChainParser.parse_sentences)
    answers = ask(*given)
    assert [tree for tree in arcs(seen[0]) if tree[0] not in (("a", "text"),)] == arcs(expected)
    same = asked(name, fitted, new, [expected[0], expected[1], Sentence.chain(OWN)])
    for answer, other in zip(answers, same[0](*same[1])):
        np.testing.assert_allclose(answer, other, atol=1e-6)


def test_own_trees_are_counted(fitted, new):
    pairs, words = fitted["pairs"], fitted["words"]
    assert all(model.result_["data"]["own_trees"]["train"] > 0 for model in fitted.values())
    pairs.predict([(ONE, "a"), (["a", "b"], as_dict(TWO))])
    assert pairs.own_trees.tolist() == [[True, False], [False, True]]
    words.predict([["a"], ONE])
    assert words.own_trees.tolist() == [False, True]
    fitted["spans"].predict([["a"], ONE, "<e1>a</e1>"], [[(0, 1)], [(0, 1)], None])
    assert fitted["spans"].own_trees.tolist() == [False, True, False]
    encoder = new(vectors)
    encoder.encode(["", ONE, "a b"])
    assert encoder.own_trees.tolist() == [False, True, False]
    selector = new(rankings)
    selector.rank(["a", ONE], [TWO, "b", TWO])
    assert selector.own_trees == 3


def test_a_label_that_hangs_from_the_tree():
    words = [[a, b, c] for a in "pqr" for b in "stu" for c in "vw"]
    x = [Sentence(row, head, ["dep"] * 3) for row in words for head in ([0, 1, 2], [2, 3, 0])]
    y = ["down", "up"] * len(words)
    options = {**OPTIONS, "max_epochs": 15, "validation_fraction": 0.2}
    model = SequenceClassifier("transformer", "dt", **options).fit(x, y)
    assert model.score(x, y) == 1
    assert model.predict([row for row in words if row]).tolist() == ["down"] * len(words)  # of chains


def test_predictions_for_files_are_those_for_their_values(fitted, run, tmp_path):
    model, one, two = fitted["pairs"], as_dict(ONE), as_dict(TWO)
    pairs = [(one, "a text"), (["own", "words"], two), ([one, two], "a")]
    model.save(tmp_path / "model.ckpt")
    lines = [{"first": first, "second": second} for first, second in pairs]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = ("--input", tmp_path / "in.jsonl", "--output", tmp_path / "out.jsonl")
    done = run("predict", "--checkpoint", tmp_path / "model.ckpt", "--parser", "chain", *files, "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["own_trees"] == 3
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    shares = [[row["probabilities"][str(label)] for label in model.classes_] for row in found]
    np.testing.assert_allclose(shares, model.predict_proba(pairs), atol=1e-6)


@pytest.mark.parametrize("name", ["rows.jsonl", "trees.conllu"])
def test_bad_trees_of_predictions_are_told(fitted, run, tmp_path, name):
    fitted["words"].save(tmp_path / "model.ckpt")
    rows = [as_dict(ONE), {**as_dict(TWO), "head": [0, 0]}]
    bad = TWO.to_conllu().replace("\t1\tobl", "\t0\tobl")
    text = "".join(json.dumps(row) + "\n" for row in rows) if name == "rows.jsonl" else TEXT[0] + "\n" + bad
    (tmp_path / name).write_text(text)
    files = ("--input", tmp_path / name, "--output", tmp_path / f"out{tmp_path.joinpath(name).suffix}")
    ask = (
        "predict",
        "--checkpoint",
        tmp_path / "model.ckpt",
        "--parser",
        "chain",
        *files,
        "--json",
        "--overwrite",
    )
    done = run(*ask)
    assert done.exit_code == 2
    assert "more than one root; --bad-trees attach" in " ".join(done.stderr.split())
    for policy in ("attach", "parse"):
        done = run(*ask, "--bad-trees", policy)
        summary = json.loads(done.stdout)
        assert (summary["trees"], summary["bad_trees"]) == (2, {"several roots": 1})
        assert " ".join(done.stderr.split()).count("1 of 2 trees is bad: several roots (1)") == 1
        assert name == "trees.conllu" or summary["parsed"] == (policy == "parse")


def test_files_and_fits_have_the_same_trees(tmp_path):
    deps = [[("2", "nsubj"), ("1.1", "x")], [("0", "root")]]
    empty = [("1.1", "c", "_", "_", "_", "_", "_", "_", "2:x", "_")]
    more: dict[str, Any] = {"xpos": ["X", "Y"], "deps": deps, "empty": empty, "constituents": [("S", 0, 2)]}
    full = Sentence(["a", "b"], [2, 0], ["nsubj", "root"], **more)
    inputs = ["a text", ("own", "words"), full, TREES[0]]
    x, y = [(list(one) if isinstance(one, tuple) else one, "b") for one in inputs] * 3, [0, 1, 2] * 4
    model = SequenceClassifier("transformer", "dt", **OPTIONS).fit(x, y)
    rows = [{"first": as_value(one), "second": "b", "label": label} for (one, _), label in zip(x, y)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = {"text_columns": "first,second", "label_column": "label"}
    config = TrainConfig.of(
        "dt", task="csv", train=str(tmp_path / "rows.jsonl"), parser="chain", **SMALL, **columns
    )
    assert load_splits(config).digest() == model.result_["data"]["digest"]
    dataset = CSVTexts(
        tmp_path,
        train=tmp_path / "rows.jsonl",
        parser="chain",
        text_columns=["first", "second"],
        label_column="label",
    )
    assert dataset.describe()["own_trees"] > 0


def test_one_scheme_for_fit_and_predictions(tmp_path):
    labels = ["nsubj", "root", "prep", "pobj"]  # labels of CLEAR
    both = {"words": ["She", "looked", "at", "him"], "head": [2, 0, 2, 3], "deprel": labels}
    few = {"words": ["She", "saw"], "head": [2, 0], "deprel": ["nsubj", "root"]}
    model = SequenceClassifier("transformer", "dt", **OPTIONS).fit([both, few] * 4, [0, 1] * 4)
    assert model._predictor.config.tree_scheme == "clear"
    assert "converted from CLEAR" in model.result_["data"]["notes"][-1]
    assert model._predictor.intake().decide(["nsubj"]) == "clear"
    kept = SequenceClassifier("transformer", "dt", **OPTIONS).fit([as_dict(ONE), few] * 4, [0, 1] * 4)
    assert kept._predictor.config.tree_scheme == kept._predictor.intake().decide(labels) == "as-is"
    stored = SequenceClassifier("transformer", "dt", **OPTIONS, folder=tmp_path).fit(
        [both, few] * 4, [0, 1] * 4
    )
    assert load_task(stored.result_["checkpoint"])[1].config.tree_scheme == "clear"
    [one, other] = read_inputs([("x", both), ("y", few)], Intake())
    assert (one.deprel, other.deprel) == (["nsubj", "root", "case", "obl"], few["deprel"])


def test_a_sentence_is_converted_by_no_setting():
    foreign = Sentence(["She", "saw", "him"], [2, 0, 2], ["SBJ", "root", "dobj"])
    options = {**OPTIONS, "tree_scheme": "clear"}
    model = SequenceClassifier("transformer", "dt", **options).fit([foreign, as_dict(ONE)] * 4, [0, 1] * 4)
    assert "dobj" in model._predictor.state.relations
    assert model._predictor.config.tree_scheme == "clear"
    assert model.result_["data"]["tree_scheme"] == {"train": "as-is", "val": "as-is"}


def test_bad_trees_of_a_fit():
    bad = {"words": ["a", "b"], "head": [0, 0], "deprel": ["root", "root"]}
    for policy, message in (
        ("error", r"^X\[1\]: words .*bad_trees='attach' or 'parse'"),
        ("skip", "must be error, attach or parse"),
    ):
        with pytest.raises(ValueError, match=message):
            SequenceClassifier("transformer", "dt", **OPTIONS, bad_trees=policy).fit(["a", bad], [0, 1])
    for policy in ("attach", "parse"):
        model = SequenceClassifier("transformer", "dt", **OPTIONS, bad_trees=policy).fit(
            ["a", bad] * 4, [0, 1] * 4
        )
        assert "4 of 4 trees are bad: several roots" in model.result_["data"]["notes"][-1]
        assert model.predict([bad, as_dict(ONE), "a", ["b"]]).shape == (4,)
        assert model.own_trees.tolist() == [policy == "attach", True, False, False]
        assert model.tree_counts == {"trees": 2, "bad_trees": {"several roots": 1}, "converted": {}}


def test_pairs_are_tuples():
    [[words], [first, second]] = read_examples("X", [["She", "sings"], ("She sings.", ["own", "words"])])
    assert (words, first, second) == (("She", "sings"), "She sings.", ("own", "words"))
    assert read_examples("X", np.array([["a", "b"]])) == [("a", "b")]
    for words in (["New York", "sleeps"], ["New York", "is", "big"], ["a b"], ["a", "b\u00a0c"]):
        with pytest.raises(ValueError, match=r"^'X\[0\]\[\d\]' has white space.* a pair as tuple"):
            read_examples("X", [words])


@pytest.mark.parametrize(("one", "cut"), [("a b c", "a b"), (("a", "b", "c"), ("a", "b")), (TREES[0], None)])
def test_limits_hold_for_all(one, cut):
    with pytest.raises(ValueError, match="^X has more than max_words=2 words"):
        WordLimit(2).input(one, "X")
    read = WordLimit(2, truncate=True).input(one, "X")
    assert read == cut or read.form == ["a", "b"]
