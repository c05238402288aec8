"""Laws of the predictors of sentence vectors, responses and rankings."""

from __future__ import annotations

import copy
import dataclasses
import logging
import os
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from torch_geometric.data import Batch
from torch_geometric.transforms import Compose

import graphdep
from graphdep import RelationVocab, Responder, ResponseSelector, Sentence, SentenceEncoder, Vocab, to_data
from graphdep.data import EncodedUtterance, selection_data
from graphdep.decoding import DecodeConfig
from graphdep.io.progress import Progress
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed, chain_sentence
from graphdep.sentence.sentence import truncate
from graphdep.training import TrainConfig, load_task
from graphdep.training import estimator as module
from graphdep.training.checkpoint import RunState
from graphdep.transforms import resolve
from graphdep.vocab import VocabTokens
from graphdep.vocab.pieces import PieceVocab
from graphdep.vocab.vocab import detokenize
from tests.kit.runs import SIZES

WORDS = "ann bob cid dan eve saw met the and you n't do , ?".split()
TEXTS = ["ann saw bob", "dan saw eve . bob saw ann .", "Rain", "ann", "bob saw ann"]
CONTEXTS = [
    ["ann saw bob"],
    ["ann saw bob", "bob met cid . you saw ann"],
    ["cid", "ann saw bob", "the and you", "do n't", "bob met cid . you saw ann"],
    ["the saw met the and you do n't , ? ."],
    ["ann saw bob", "ann saw bob"],
]
CONTEXT = ["ann saw bob", "bob met cid and you", "do you ?"]
CANDIDATES = ["the cid", "you saw ann and bob .", "do n't", "cid"]
POOLS = [
    {"context": CONTEXT, "candidates": CANDIDATES},
    {"context": ["you"], "candidates": ["ann saw bob"]},
    {"context": CONTEXT[:1], "candidates": CANDIDATES[::-1]},
]
ODD = ["😀", "我 喜欢 茶", "مرحبا بك", "\x00", "the " * 2000, "\u200b"]


class Stub(Parser):
    """Returns a flat tree per full stop; fails on long texts; records its texts."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    @property
    def fingerprint(self) -> str:
        return "stub"

    def parse_texts(self, texts):
        self.seen += texts
        return [self._parse(text) for text in texts]

    def parse_sentences(self, sentences):
        raise NotImplementedError

    def _parse(self, text):
        if len(text.split()) > 100:
            return Parsed([chain_sentence(text.split(), "too long")], "too long")
        return Parsed([flat(part.split()) for part in text.split(".") if part.strip("\u200b ")])


def flat(words):
    return Sentence(words, [0] + [1] * (len(words) - 1), ["root"] + ["obj"] * (len(words) - 1))


def joined(first, second, roots="first"):
    """Two flat trees, joined."""
    root, label = (0, "root") if roots == "all" else (1, "parataxis")
    heads = [0] + [1] * (len(first) - 1) + [root] + [len(first) + 1] * (len(second) - 1)
    deprel = [*first.deprel, label, *second.deprel[1:]]
    return Sentence(first.form + second.form, heads, deprel, multiroot=roots == "all")


SETTINGS: dict[str, dict[str, Any]] = {
    "sick-e": {**SIZES, "num_layers": 2},
    "dailydialog": {"hidden_channels": 16, "ff_channels": 8, "heads": 2, "num_layers": 1},
    "ubuntu": {"hidden_channels": 16, "ff_channels": 8, "heads": 2, "num_layers": 2, "max_length": 24},
}
SETTINGS["dailydialog"] |= {"context_layers": 1, "decoder_layers": 1}
SETTINGS["dailydialog"] |= {"max_turns": 3, "max_words": 6, "max_length": 6}
SETTINGS["ubuntu"] |= {"encoder": "transformer"}
MODELS = {"sick-e": "dt", "dailydialog": "transformer-dra", "ubuntu": "bert-sia"}


def save(folder, task, model=None, *, vocab=None, change=None, **settings):
    """A checkpoint of an untrained model, with weights large enough for different predictions."""
    model = model or MODELS[task]
    config = TrainConfig.of(model, task=task, accelerator="cpu", **{**SETTINGS[task], **settings})
    state = RunState(config, vocab or Vocab(WORDS, lower=True), RelationVocab(), {})
    torch.manual_seed(0)
    made = state.build_task()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3 if task != "sick-e" else 1)
        if change is not None:
            change(made.model)
    path = folder / f"{task}-{model}.ckpt"
    torch.save({"graphdep": state.state_dict(), "state_dict": made.state_dict()}, path)
    return path


class Kind(NamedTuple):
    make: Callable[..., Any]
    task: str
    questions: list[Any]
    ask: Callable[[Any, list[Any]], Any]
    """What is comparable of the answers, one for each question."""
    long: Any
    """A question with a text of more than eight words, and one that is cut after the eighth."""
    cut: Any
    place: str


KINDS = {
    "vectors": Kind(
        SentenceEncoder,
        "sick-e",
        TEXTS,
        lambda model, texts: model.encode(texts).tolist(),
        "bob saw ann . dan saw eve . ann",
        "bob saw ann . dan saw eve .",
        r"'texts\[1\]'",
    ),
    "responses": Kind(
        Responder,
        "dailydialog",
        CONTEXTS,
        lambda model, contexts: [[h.score for h in found] for found in model.hypotheses(contexts)],
        ["bob", "bob saw ann . dan saw eve . ann"],
        ["bob", "bob saw ann . dan saw eve ."],
        r"'contexts\[1\]\[1\]'",
    ),
    "rankings": Kind(
        ResponseSelector,
        "ubuntu",
        POOLS,
        lambda model, pools: [ranking.scores for ranking in model.rank_pools(pools)],
        {"context": ["bob"], "candidates": ["cid", "bob saw ann . dan saw eve . ann"]},
        {"context": ["bob"], "candidates": ["cid", "bob saw ann . dan saw eve ."]},
        r"'pools\[1\]\.candidates\[1\]'",
    ),
}
vectors, responses, rankings = KINDS.values()
each = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A checkpoint of each task, made once."""
    folder, made = tmp_path_factory.mktemp("run"), {}

    def checkpoint(kind):
        made[kind.task] = made.get(kind.task) or save(folder, kind.task)
        return made[kind.task]

    return checkpoint


@pytest.fixture
def new(checkpoint):
    def new(kind, path=None, **options):
        return kind.make(path or checkpoint(kind), **{"parser": Stub(), "device": "cpu", **options})

    return new


def same(answers, others, tolerance=1e-4):
    assert len(answers) == len(others)
    for one, other in zip(answers, others):
        assert one == pytest.approx(other, abs=tolerance)


@each
def test_answers_do_not_depend_on_the_batch(new, kind, monkeypatch):
    one = new(kind)
    alone = [answer for question in kind.questions for answer in kind.ask(one, [question])]
    assert len({str(answer) for answer in alone}) > 1
    for batch_size, pairs in ((2, 2**22), (64, 100), (64, 2**22)):
        monkeypatch.setattr(module, "BATCH_PAIRS", pairs)
        same(kind.ask(new(kind, batch_size=batch_size), kind.questions), alone, 1e-5)


@each
def test_texts_are_parsed_once_and_kept_in_a_file(new, kind, tmp_path):
    first, second = (new(kind, parser=Stub(), cache=tmp_path / "parses.sqlite") for _ in range(2))
    expected = kind.ask(first, [*kind.questions, kind.questions[0]])
    assert expected[-1] == expected[0]
    seen = getattr(first.parser, "seen", None) or first.parser.parser.seen
    assert len(seen) == len(set(seen)) > 0
    assert kind.ask(second, kind.questions) == expected[:-1]


@each
def test_a_longer_text_is_refused_before_anything_is_parsed_or_cut(new, kind):
    stub = Stub()
    model = new(kind, parser=stub, max_words=8)
    with pytest.raises(ValueError, match=f"{kind.place} has more than max_words=8 words"):
        kind.ask(model, [kind.questions[0] if kind is not rankings else POOLS[1], kind.long])
    assert stub.seen == []
    cut = kind.ask(new(kind, max_words=8, truncate=True), [kind.long])
    same(cut, kind.ask(new(kind), [kind.cut]), 1e-6)
    with pytest.raises(ValueError, match="has more than max_words=10000 words"):
        kind.ask(
            new(kind),
            [{"context": ["w " * 10_001], "candidates": ["a"]}]
            if kind is rankings
            else ["w " * 10_001]
            if kind is vectors
            else [["w " * 10_001]],
        )
    with pytest.raises(ValueError, match="'max_words' must be at most 1000000"):
        kind.ask(new(kind, max_words=10**20), kind.questions)


@each
def test_only_the_bundled_parser_is_taken_from_a_checkpoint(new, kind, tmp_path):
    for name in (f"conllu:{tmp_path / 'x'}", "stanza:../../etc", "spacy:model", "corenlp"):
        path = save(tmp_path, kind.task, parser=name)
        with pytest.raises(ValueError, match=f"trained with the parser '{name}', which is used only if you"):
            kind.ask(new(kind, path, parser=None), kind.questions)
        assert kind.ask(new(kind, path), kind.questions[:1])
    assert kind.ask(new(kind, save(tmp_path, kind.task, parser="bundled"), parser=None), kind.questions[:1])


@each
def test_each_kind_of_checkpoint_names_its_place(new, checkpoint, kind):
    for other in KINDS.values():
        if other is not kind:
            message = f"task '{kind.task}', which gives .*, not {other.make.answers}: see graphdep"
            with pytest.raises(ValueError, match=message):
                other.ask(new(other, checkpoint(kind)), other.questions)


@each
def test_files_that_are_no_checkpoint_and_models_that_have_diverged(new, checkpoint, kind, tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint at"):
        kind.ask(new(kind, tmp_path / "none.ckpt"), kind.questions)
    (tmp_path / "cut.ckpt").write_bytes(checkpoint(kind).read_bytes()[:5000])
    with pytest.raises(ValueError, match="cut.ckpt: not a checkpoint, or damaged"):
        kind.ask(new(kind, tmp_path / "cut.ckpt"), kind.questions)
    nan = save(tmp_path, kind.task, change=lambda model: next(model.parameters()).fill_(torch.nan))
    with pytest.raises(ValueError, match="has diverged in training: its weights are not finite"):
        kind.ask(new(kind, nan), kind.questions)


OPTION_ERRORS = [
    ({"batch_size": 0}, r"'batch_size' must be a whole number of at least 1 \(got 0\)"),
    ({"batch_size": True}, r"'batch_size' must be a whole number of at least 1 \(got True\)"),
    ({"batch_size": 2.5}, r"'batch_size' must be a whole number of at least 1 \(got 2.5\)"),
    ({"parser": "none"}, "'parser' must be one of .*got 'none'"),
    ({"device": "cpo"}, "'device' must be a device such as 'cpu' or 'cuda'"),
    ({"truncate": "no"}, "'truncate' must be one of True, False"),
]
DECODING_ERRORS = [
    ({"strategy": "best"}, "'strategy' must be one of greedy, beam, sample"),
    ({"beams": 3}, "strategy='greedy' gives one response: 'beams' must be 1 .got 3"),
    ({"num_return": 2}, "'num_return' must be 1 .got 2"),
    ({"strategy": "beam", "beams": 2, "num_return": 3}, "'num_return' must be at most 'beams'"),
    ({"beams": "3"}, "'beams' takes a whole number"),
    ({"top_p": 0.0}, "'top_p' must be above 0"),
    ({"hidden_channels": 8}, "unknown argument 'hidden_channels'; those of decoding are strategy, beams"),
]
T, V = TypeError, ValueError
QUESTION_ERRORS = {
    vectors.task: [
        ("one text", T, r"'texts' must be a list.* \(got str 'one text'\)"),
        (b"bytes", T, "got bytes b'bytes'"),
        ({"a set"}, T, "got set {'a set'}"),
        (None, T, "got NoneType None"),
        (np.array([["a"], ["b"]]), V, r"got shape \(2, 1\)"),
        (pd.DataFrame({"text": ["a"]}), V, r"got shape \(1, 1\)"),
        (["a", 3], T, r"'texts\[1\]' must be a text, .* \(got int 3\)"),
        (["a", b"b"], T, r"'texts\[1\]' must be a text, .* \(got bytes b'b'\)"),
        (pd.Series(["a", None]), T, r"'texts\[1\]' must be a text, .* \(got "),
        (np.array([1.5]), T, r"'texts\[0\]' must be a text, .* \(got float 1.5\)"),
        (["a", ("a", "b")], V, r"'texts\[1\]' must be a single text"),
        (flat(["a"]), T, "'texts' must be a list"),
    ],
    responses.task: [
        ("a text", T, r"'contexts' must be a list \(got str 'a text'\)"),
        (["a text"], T, r"'contexts\[0\]' must be a list \(got str 'a text'\)"),
        (None, T, "'contexts' must be a list"),
        ([["a"], None], T, r"'contexts\[1\]' must be a list \(got NoneType None\)"),
        ([["a"], ["a", 3]], T, r"'contexts\[1\]\[1\]' must be a text, .* \(got int 3\)"),
        ([["a"], []], V, r"'contexts\[1\]' is empty: there must be at least one turn"),
        ([["a"], [" \n\t", *"abcdef"]], V, r"'contexts\[1\]\[0\]' is blank: a text has at least"),
        ([["a \ud83d"]], V, r"'contexts\[0\]\[0\]' has half a character \(got str 'a \\ud83d'\)"),
    ],
    rankings.task: [
        ([{"context": ["a"]}], T, r"'pools\[0\]' must have 'context' and 'candidates'"),
        ([{"context": [], "candidates": ["a"]}], V, r"'pools\[0\].context' is empty"),
        ([{"context": ["a"], "candidates": []}], V, "there must be at least one candidate"),
        ([{"context": ["a", " "], "candidates": ["a"]}], V, r"'pools\[0\].context\[1\]' is blank"),
        ([{"context": "a", "candidates": ["a"]}], T, r"'pools\[0\].context' must be a list"),
        ([{"context": ["a"], "candidates": [3]}], T, r"candidates\[0\]' must be a text, .* \(got int 3"),
        ([{"context": ["a"], "candidates": ["\ud83d"]}], V, r"candidates\[0\]' has half a char"),
    ],
}


@each
def test_wrong_options_and_questions_are_named(new, kind, row_of):
    for options, message in [*OPTION_ERRORS, *(DECODING_ERRORS if kind is responses else [])]:
        with row_of(options), pytest.raises(ValueError, match=message):
            kind.ask(new(kind, **options), kind.questions)
    model = new(kind)
    for questions, error, message in QUESTION_ERRORS[kind.task]:
        for ask in (kind.ask, *([SentenceEncoder.fit] if kind is vectors else [])):
            with row_of(questions), pytest.raises(error, match=message):
                ask(model, questions)


def test_single_questions_and_none(new):
    with pytest.raises(ValueError, match=r"'candidates\[1\]' is blank"):
        new(rankings).rank(["a"], ["a", ""])
    assert new(rankings).rank_pools([]) == []
    assert new(responses).respond([]) == []
    assert new(vectors).encode([]).shape == (0, 8)


@each
@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_shown_when_asked(new, monkeypatch, kind, progress):
    shown = []
    monkeypatch.setattr(Progress, "advance", lambda self, count=1: self._shown and shown.append(self.what))
    kind.ask(new(kind, progress=progress), kind.questions)
    what = {"vectors": "encoding", "responses": "responding", "rankings": "ranking"}
    assert (what[next(name for name in KINDS if KINDS[name] is kind)] in shown) == progress


@each
def test_saved_for_the_hub_and_loaded(new, kind, tmp_path):
    model = new(kind)
    expected = kind.ask(model, kind.questions)
    model.save_pretrained(tmp_path / "saved")
    again = kind.make.from_pretrained(tmp_path / "saved", parser=Stub(), device="cpu")
    same(kind.ask(again, kind.questions), expected, 1e-6)


@each
def test_failures_of_the_parser_are_counted(new, kind, caplog):
    model = new(kind)
    texts = ["the " * 2000, "\u200b", "the"]
    asked = {"vectors": texts, "responses": [[text] for text in texts]}
    asked["rankings"] = [{"context": texts, "candidates": ["cid"]}]
    with caplog.at_level(logging.WARNING, "graphdep"):
        kind.ask(model, asked[next(name for name in KINDS if KINDS[name] is kind)])
    assert model.parser_failures == 2
    assert "texts got a chain tree" in caplog.text
    kind.ask(model, kind.questions)
    assert model.parser_failures == 0


# ----------------------------------------------------------------------------------------------- batches


def test_batches_hold_texts_of_like_length_and_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "BATCH_PAIRS", 60)
    assert module.batches_by_size([2, 10, 5, 3, 2, 2, 2], 3) == [[1], [2, 3, 0], [4, 5, 6]]
    assert module.batches_by_size([], 3) == []


@given(st.lists(st.integers(1, 40), max_size=20), st.integers(1, 5))
def test_batches_have_every_example_once_and_no_more_pairs_than_allowed(sizes, batch_size):
    with mock.patch.object(module, "BATCH_PAIRS", 500):
        batches = module.batches_by_size(sizes, batch_size)
    assert sorted(number for batch in batches for number in batch) == list(range(len(sizes)))
    for batch in batches:
        assert len(batch) <= batch_size
        assert len(batch) == 1 or sum(sizes[number] ** 2 for number in batch) <= 500


# ----------------------------------------------------------------------------------------------- vectors


@pytest.fixture
def encoder(new) -> SentenceEncoder:
    return new(vectors)


def test_vectors_are_the_states_of_each_text_alone(encoder, checkpoint):
    task, state = load_task(checkpoint(vectors))
    trees = [flat(text.split()) for text in TEXTS]
    trees[1] = joined(flat(["dan", "saw", "eve"]), flat(["bob", "saw", "ann"]))
    expected = []
    for tree in trees:
        data = to_data([tree], vocab=state.vocab, relations=state.relations)
        with torch.no_grad():
            # ROOT is the first node.
            expected.append(task.model.encoder(task.edges(Batch.from_data_list([data])))[0])
    found = encoder.encode(TEXTS)
    assert (found.dtype, found.device.type) == (torch.float32, "cpu")
    assert not found.is_inference()
    torch.testing.assert_close(found, torch.stack(expected), atol=1e-5, rtol=0)
    assert not torch.allclose(found[0], found[4], atol=1e-3)
    for texts in (tuple(TEXTS), np.array(TEXTS, dtype=object), pd.Series(TEXTS, index=range(9, 4, -1))):
        assert np.array_equal(encoder.transform(texts), found.numpy())


def test_no_text_is_refused(encoder):
    odd = ["", " \n\t", "Rain", *ODD, "\x00 \ud800"]
    found = encoder.encode(odd)
    assert found.shape == (len(odd), 8)
    assert found.isfinite().all()
    assert not found[:2].any()
    assert found[2:].any(dim=1).all()
    assert encoder.encode(["", ""]).tolist() == [[0.0] * 8] * 2


def test_a_text_that_has_more_words_for_the_parser_is_refused_or_cut(new):
    class Letters(Stub):
        def _parse(self, text):
            return Parsed([Sentence.chain(list(text))])

    encoder = new(vectors, parser=Letters(), max_words=4)
    with pytest.raises(ValueError, match=r"'texts\[1\]' has more than max_words=4 words"):
        encoder.encode(["abcd", "abcde"])
    encoder.set_params(truncate=True)
    torch.testing.assert_close(*encoder.encode(["abcd", "abcde"]))


def test_arguments_are_kept_as_given_and_nothing_is_loaded_before_it_is_needed():
    options = {"parser": "stanza:xx", "edges": "dra", "batch_size": -1, "device": "cpu", "progress": True}
    options |= {"cache": "c.sqlite", "max_words": 7, "truncate": True}
    encoder = SentenceEncoder("missing.ckpt", **options)
    assert encoder.get_params() == {"checkpoint": "missing.ckpt", **options}
    assert clone(encoder).get_params() == encoder.get_params()
    assert encoder.fit(["a"]) is encoder


def test_a_changed_checkpoint_is_loaded_again(new, tmp_path):
    encoder = new(vectors, save(tmp_path, "sick-e"))
    before = encoder.encode(TEXTS)
    loaded = encoder._loaded
    assert torch.equal(encoder.encode(TEXTS), before)
    assert encoder._loaded is loaded
    os.utime(
        save(tmp_path, "sick-e", change=lambda model: model.encoder.embedding.word.weight.neg_()), ns=(1, 1)
    )
    assert not torch.allclose(encoder.encode(TEXTS), before)  # another file
    (tmp_path / "other").mkdir()
    encoder.set_params(checkpoint=save(tmp_path / "other", "sick-e"))
    assert torch.allclose(encoder.encode(TEXTS), before)  # another parameter


@pytest.mark.parametrize("copied", [clone, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_do_not_hold_the_model_and_give_the_same(encoder, copied):
    expected = encoder.encode(TEXTS)
    other = copied(encoder)
    assert encoder._loaded is not None
    assert other._loaded is None
    assert torch.equal(other.encode(TEXTS), expected)


def test_in_a_pipeline_and_as_a_data_frame(encoder):
    texts = [f"{name} saw {other}" for name in ("ann", "bob") for other in ("cid", "dan", "eve")] * 2
    labels = [text.startswith("ann") for text in texts]
    pipeline = Pipeline([("encode", encoder), ("classify", LogisticRegression(C=1e4))])
    assert cross_val_score(pipeline, texts, labels, cv=2).shape == (2,)
    assert pipeline.fit(texts, labels).score(texts, labels) == 1
    assert make_pipeline(encoder).transform(texts).shape == (12, 8)  # without fitting
    assert pipeline[:-1].get_feature_names_out()[-1] == "sentenceencoder7"
    frame = encoder.set_output(transform="pandas").fit_transform(pd.Series(TEXTS, index=list("abcde")))
    assert list(frame.index) == list("abcde")
    assert frame.columns[0] == "sentenceencoder0"
    assert np.array_equal(frame.to_numpy(), encoder.encode(TEXTS).numpy())


def test_a_model_in_memory(checkpoint, encoder):
    task, state = load_task(checkpoint(vectors))
    task.model.train()
    expected = encoder.encode(TEXTS)
    for model in (task.model, task.model.encoder):
        made = SentenceEncoder.from_model(
            model, state.vocab, state.relations, task.edges, Stub(), batch_size=3
        )
        for one in (made, clone(made), pickle.loads(pickle.dumps(made))):
            torch.testing.assert_close(one.encode(TEXTS), expected, atol=1e-5, rtol=0)
        assert model.training
        assert model.encoder.training if model is task.model else True
    with torch.no_grad():
        for parameter in task.model.parameters():
            parameter.mul_(1.5)
    assert not torch.allclose(made.encode(TEXTS), expected)  # the model is not copied
    with pytest.raises(ValueError, match="a model in memory has no settings to save"):
        made.save_pretrained("anywhere")


@pytest.mark.parametrize("edges", ["transformer", "transformer-utterance", "dra", "sia"])
def test_arcs_and_edges_of_a_model_in_memory(monkeypatch, edges):
    from graphdep.nn.models import DependencyTransformer

    def enhanced(trees, level, engine):
        asked.append(level)
        deps = [[("0", "root")], [("1", "obj")], [("1", "obj"), ("2", "ref")]]
        return [dataclasses.replace(tree, deps=deps) for tree in trees]

    asked: list[str] = []
    monkeypatch.setattr("graphdep.training.learning_task.enhance", enhanced)
    sizes = {"hidden_channels": 8, "num_layers": 1, "heads": 2, "ff_channels": 8, "relation_attention": False}
    model, seen = DependencyTransformer(6, 3, **sizes), []
    watched = Compose([lambda data: seen.append(data.arc_index.size(1)) or data, resolve(edges)])
    parts = model, Vocab(["ann"]), RelationVocab(), watched, Stub()
    for arcs in ("basic", "enhanced"):
        SentenceEncoder.from_model(*parts, arcs=arcs).encode(["ann saw bob"])
    assert asked == ["enhanced"]
    assert seen == [3, 4]  # including the arc from ROOT
    with pytest.raises(ValueError, match=r"'arcs' must be one of basic, .*\(got 'more'\)"):
        SentenceEncoder.from_model(*parts, arcs="more")
    with pytest.raises(ValueError, match=r"'max_length' is for a pretrained encoder \(got 9\)"):
        SentenceEncoder.from_model(*parts, max_length=9)
    one = SentenceEncoder.from_model(*parts)
    alone = torch.cat([one.encode([text]) for text in TEXTS])
    torch.testing.assert_close(one.encode(TEXTS), alone, atol=1e-5, rtol=0)


def test_length_of_a_pretrained_model_in_memory(tmp_path):
    pytest.importorskip("transformers")
    from graphdep.nn.pretrained import load_encoder
    from tests.kit.tiny_encoder import write_tiny_encoder

    model = load_encoder(write_tiny_encoder(tmp_path))
    parts = model, Vocab(), RelationVocab(), resolve("transformer"), Stub()
    for max_length in (None, 48, 10):
        found = SentenceEncoder.from_model(*parts, max_length=max_length).encode(
            ["ann saw bob", "ann saw eve"]
        )
        assert torch.equal(found[0], found[1]) == (max_length == 10)  # the third word is cut
    with pytest.raises(ValueError, match=r"'max_length' must be at most 48 \(got 49\)"):
        SentenceEncoder.from_model(*parts, max_length=49)


def test_names_that_the_package_does_not_have():
    with pytest.raises(AttributeError, match="module 'graphdep' has no attribute 'Nothing'"):
        _ = graphdep.Nothing


# --------------------------------------------------------------------------------------------- responses


@pytest.mark.parametrize("roots", ["all", "first"])
def test_responses_are_those_of_the_model_on_each_context_alone(new, tmp_path, roots):
    path = save(tmp_path, "dailydialog", roots=roots)
    task, state = load_task(path)
    expected = []
    for context in CONTEXTS:
        parses = [Stub().parse([turn])[0] for turn in context[-3:]]
        trees = [truncate(parse[0] if len(parse) == 1 else joined(*parse, roots), 6) for parse in parses]
        data = to_data(trees, vocab=state.vocab, relations=state.relations, positions="example")
        ((best,),) = task.model.generate(task.edges(data), state.config.decoding())
        expected.append([detokenize(state.vocab.words_of(best.ids))])
    assert len({text for (text,) in expected}) >= 3
    stub = Stub()
    assert new(responses, path, parser=stub).respond(CONTEXTS) == expected
    assert {*stub.seen} == {turn for context in CONTEXTS for turn in context[-3:]}  # only the last turns


@pytest.mark.parametrize(
    ("model", "decoding"),
    [
        *(
            (model, {})
            for model in ("transformer", "dialogbert", "recosa", "hred", "hran", "transformer-dra@random")
        ),
        ("transformer-dra", {"strategy": "beam", "num_return": 3}),
        ("transformer-dra", {"strategy": "sample", "num_return": 2, "seed": 5}),
    ],
    ids=str,
)
def test_a_response_does_not_depend_on_the_others(new, tmp_path, model, decoding):
    path = save(tmp_path, "dailydialog", model)
    together = new(responses, path, batch_size=3, **decoding).hypotheses(CONTEXTS)
    one = new(responses, path, **decoding)
    alone = [hypotheses for context in CONTEXTS for hypotheses in one.hypotheses([context])]
    assert [[h.ids for h in found] for found in together] == [[h.ids for h in found] for found in alone]
    for a, b in zip(together, alone):
        assert [h.score for h in a] == pytest.approx([h.score for h in b], abs=1e-4)


def test_subwords_and_odd_texts_get_a_response(new, tmp_path):
    vocab = PieceVocab.train([WORDS], 270, lower=True)
    model = new(responses, save(tmp_path, "dailydialog", "transformer-dra-bpe", vocab=vocab, pieces=270))
    contexts = [*CONTEXTS, ["😀 我喜欢"]]
    assert model.respond(contexts) == [texts for context in contexts for texts in model.respond([context])]
    many = [f"ann saw {number}" for number in range(1000)]
    found = new(responses).respond([[turn] for turn in ODD] + [ODD, many])
    assert all(len(texts) == 1 for texts in found)
    assert found[-1] == new(responses).respond([many[-3:]])[0]


def test_the_best_are_different_and_in_order_and_draws_differ_by_seed_alone(new):
    model = new(responses, strategy="beam", beams=4, num_return=4)
    for texts, hypotheses in zip(model.respond(CONTEXTS), model.hypotheses(CONTEXTS)):
        assert len({h.ids for h in hypotheses}) == len(texts) == 4
        scores = [h.score for h in hypotheses]
        assert scores == sorted(scores, reverse=True)
    one, same_seed, other = (
        new(responses, strategy="sample", num_return=3, seed=seed).respond(CONTEXTS) for seed in (1, 1, 2)
    )
    assert one == same_seed != other


def test_decoding_is_the_checkpoint_s_unless_given(new, tmp_path):
    assert new(responses).decoding == DecodeConfig(max_length=6)
    beam = DecodeConfig(strategy="beam", beams=4, max_length=6, num_return=2)
    assert new(responses, strategy="beam", num_return=2).decoding == beam
    trained = save(tmp_path, "dailydialog", strategy="beam", beams=3, length_penalty=0.5, seed=7)
    own = DecodeConfig(strategy="beam", beams=3, length_penalty=0.5, max_length=6, seed=7)
    assert new(responses, trained).decoding == own
    changed = dataclasses.replace(own, beams=2, allow_unk=True)
    assert new(responses, trained, beams=2, allow_unk=True).decoding == changed
    changed = dataclasses.replace(own, strategy="greedy", beams=1)
    assert new(responses, trained, strategy="greedy").decoding == changed


def test_text_is_as_people_write_it_and_may_be_nothing(new, tmp_path):
    def say(number):
        return lambda model: model.decoder.output.bias[number].fill_(1e4)

    silent = save(tmp_path, "dailydialog", change=say(4))
    assert new(responses, silent).respond(CONTEXTS) == [[""]] * len(CONTEXTS)
    path = save(tmp_path, "dailydialog", change=say(5), max_length=2)
    assert new(responses, path).respond([["ann"]]) == [["Ann ann"]]
    path = save(tmp_path, "dailydialog", change=say(5), max_length=2, lower=False, vocab=Vocab(WORDS))
    assert new(responses, path).respond([["ann"]]) == [["ann ann"]]


# ---------------------------------------------------------------------------------------------- rankings


@pytest.mark.parametrize("model", ["bert-sia", "bert", "smn", "bert-sia@random"])
def test_scores_are_those_of_each_candidate_alone(new, tmp_path, model):
    own = {"encoder": "smn", "image_words": 8} if model == "smn" else {}
    path = save(tmp_path, "ubuntu", model, **own)
    found = new(rankings, path, batch_size=3).rank(CONTEXT, CANDIDATES)
    task, state = load_task(path)
    tokens, scores = VocabTokens(state.vocab), []

    def encode(text):
        return EncodedUtterance.of(flat(text.replace(" .", "").split()), tokens, state.relations)

    for candidate in CANDIDATES:
        turns = [encode(turn) for turn in CONTEXT]
        data = selection_data(turns, encode(candidate), tokens, max_length=state.config.max_length)
        with torch.no_grad():
            scores.append(task.model(task.edges(Batch.from_data_list([data]))).double().sigmoid().item())
    assert len({round(score, 3) for score in scores}) > 1
    if model != "bert-sia@random":  # its random trees depend on seed and words
        assert found.scores == pytest.approx(scores, abs=1e-5)
    assert found.ranking == sorted(range(4), key=lambda number: -found.scores[number])


def test_equal_candidates_have_equal_scores_and_keep_their_order(new):
    found = new(rankings, batch_size=1).rank(CONTEXT, ["cid", "ann", "cid", "cid"])
    assert found.scores[0] == found.scores[2] == found.scores[3]
    places = [found.ranking.index(number) for number in (0, 2, 3)]
    assert places == sorted(places)


def test_what_is_cut_is_counted_and_the_last_turns_are_read(new, tmp_path):
    selector = new(rankings)
    selector.rank([" ".join(["ann"] * 30)], ["cid", "bob " * 50])
    # 24 nodes: [CLS] .. [EOU] [SEP] cid [SEP] leaves room for 19 words; the second candidate fills them all.
    assert selector.cut_words == {"context": 11 + 30, "candidates": 50 - 21}
    selector.rank(["ann"], ["cid"])
    assert selector.cut_words == {"context": 0, "candidates": 0}
    stub = Stub()
    selector = new(rankings, save(tmp_path, "ubuntu", max_turns=1), parser=stub)
    found = selector.rank(CONTEXT, CANDIDATES)
    assert CONTEXT[0] not in stub.seen
    assert found == selector.rank(CONTEXT[-1:], CANDIDATES)


@each
def test_outputs_that_are_not_finite_are_no_answer(new, kind, tmp_path):
    if kind is responses:  # its scores are of words
        return

    def blow_up(model):
        for parameter in model.parameters():
            parameter.fill_(3e38)

    with pytest.raises(ValueError, match="outputs are not finite"):
        kind.ask(new(kind, save(tmp_path, kind.task, change=blow_up)), kind.questions)
