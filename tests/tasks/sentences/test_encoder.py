from __future__ import annotations

import copy
import dataclasses
import logging
import os
import pickle
import subprocess
import sys
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
from graphdep import Sentence, SentenceEncoder, Vocab, to_data
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed, chain_sentence
from graphdep.tasks.sentences import predict as sentence_encoder
from graphdep.training import TrainConfig, load_task, train
from graphdep.training import estimator as predictor
from graphdep.transforms import resolve
from tests.kit.tiny_corpora import write_tiny_sick

TEXTS = ["ann saw bob", "dan saw eve . bob saw ann .", "Rain", "ann", "bob saw ann"]
ODD = ["", " \n\t", "Rain", "我 喜欢 茶", "😀", "word " * 2000, "\u200b", "\x00 \ud800"]


class Stub(Parser):
    """A sentence for every full stop, a flat tree; long sentences fail. Counts its calls."""

    def __init__(self, max_words: int = 200) -> None:
        super().__init__()
        self.max_words, self.seen = max_words, []

    @property
    def fingerprint(self) -> str:
        return f"stub/{self.max_words}"

    def parse_texts(self, texts):
        self.seen += texts
        return [self._parse(text) for text in texts]

    def parse_sentences(self, sentences):
        raise NotImplementedError

    def _parse(self, text):
        parts = [part.split() for part in text.split(".") if part.split()]
        if any(len(words) > self.max_words for words in parts):
            return Parsed([chain_sentence(words, "too long") for words in parts], "too long")
        trees = [Sentence(w, [0] + [1] * (len(w) - 1), ["root"] + ["strange"] * (len(w) - 1)) for w in parts]
        return Parsed(trees)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("run")
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 2, "heads": 2, "relation_dim": 4}
    settings = {**sizes, "max_epochs": 1, "accelerator": "cpu", **write_tiny_sick(folder / "corpus")}
    return train(TrainConfig.of("dt", **settings), folder)["checkpoint"]


@pytest.fixture
def encoder(checkpoint) -> SentenceEncoder:
    return SentenceEncoder(checkpoint, parser=Stub(), device="cpu")


def test_equals_the_states_of_each_text_alone(encoder, checkpoint):
    task, state = load_task(checkpoint)
    trees = Stub().parse(TEXTS)
    joined = Sentence(
        ["dan", "saw", "eve", "bob", "saw", "ann"],
        [0, 1, 1, 1, 4, 4],
        ["root", "strange", "strange", "parataxis", "strange", "strange"],
    )
    trees[1] = [joined]
    expected = []
    for (tree,) in trees:
        data = to_data([tree], vocab=state.vocab, relations=state.relations)
        batch = task.edges(Batch.from_data_list([data]))
        with torch.no_grad():
            expected.append(task.model.encoder(batch)[0])  # ROOT is the first node
    vectors = encoder.encode(TEXTS)
    assert (vectors.dtype, vectors.device.type) == (torch.float32, "cpu")
    assert not vectors.is_inference()
    torch.testing.assert_close(vectors, torch.stack(expected), atol=1e-5, rtol=0)
    assert not torch.allclose(vectors[0], vectors[4], atol=1e-3)


@pytest.mark.parametrize("batch_size", [1, 2, 64])
@pytest.mark.parametrize("pairs", [1, 100, 2**22])
def test_company_changes_nothing(encoder, monkeypatch, batch_size, pairs):
    monkeypatch.setattr(predictor, "BATCH_PAIRS", pairs)
    alone = torch.cat([encoder.encode([text]) for text in [*TEXTS, ""]])
    encoder.set_params(batch_size=batch_size)
    torch.testing.assert_close(encoder.encode([*TEXTS, ""]), alone, atol=1e-5, rtol=0)


def test_batches_hold_texts_of_like_length_and_are_bounded(monkeypatch):
    monkeypatch.setattr(predictor, "BATCH_PAIRS", 60)
    assert predictor.batches_by_size([2, 10, 5, 3, 2, 2, 2], 3) == [[1], [2, 3, 0], [4, 5, 6]]
    assert predictor.batches_by_size([], 3) == []


@given(st.lists(st.integers(1, 40), max_size=20), st.integers(1, 5))
def test_batches_have_every_example_once_and_no_more_pairs_than_allowed(sizes, batch_size):
    with mock.patch.object(predictor, "BATCH_PAIRS", 500):
        batches = predictor.batches_by_size(sizes, batch_size)
    assert sorted(number for batch in batches for number in batch) == list(range(len(sizes)))
    for batch in batches:
        assert len(batch) <= batch_size
        assert len(batch) == 1 or sum(sizes[number] ** 2 for number in batch) <= 500


def test_a_longer_text_is_refused_before_anything_is_parsed_or_cut(encoder):
    texts = ["ann saw bob", "", "bob saw ann . dan saw eve . ann"]
    encoder.set_params(max_words=8)
    with pytest.raises(ValueError, match=r"'texts\[2\]' has more than max_words=8 words"):
        encoder.encode(texts)
    assert encoder.parser.seen == []
    encoder.set_params(truncate=True)
    cut = encoder.encode(texts)
    assert encoder.parser.seen == ["ann saw bob", "", "bob saw ann . dan saw eve ."]
    encoder.set_params(max_words=10_000, truncate=False)
    torch.testing.assert_close(cut, encoder.encode([*texts[:2], "bob saw ann . dan saw eve ."]))
    with pytest.raises(ValueError, match=r"'texts\[0\]' has more than max_words=10000 words"):
        encoder.transform(["word " * 10_001])


def test_a_text_that_has_more_words_for_the_parser_is_refused_or_cut(checkpoint):
    class Letters(Stub):
        def _parse(self, text):
            return Parsed([Sentence.chain(list(text))])

    encoder = SentenceEncoder(checkpoint, parser=Letters(), device="cpu", max_words=4)
    with pytest.raises(ValueError, match=r"'texts\[1\]' has more than max_words=4 words"):
        encoder.encode(["abcd", "abcde"])
    encoder.set_params(truncate=True)
    first, second = encoder.encode(["abcd", "abcde"])
    torch.testing.assert_close(first, second)


def test_equal_texts_are_parsed_and_encoded_once(encoder, monkeypatch):
    sizes = []
    original = sentence_encoder._Parts.encode
    spy = lambda parts, trees: sizes.append(len(trees)) or original(parts, trees)  # noqa: E731
    monkeypatch.setattr(sentence_encoder._Parts, "encode", spy)
    vectors = encoder.encode(["ann saw bob", "ann", "ann saw bob"])
    assert (encoder.parser.seen, sizes) == (["ann saw bob", "ann"], [2])
    assert torch.equal(vectors[0], vectors[2])
    assert not torch.equal(vectors[0], vectors[1])


def test_no_text_is_refused(encoder, caplog):
    with caplog.at_level(logging.WARNING, "graphdep"):
        vectors = encoder.encode(ODD)
    assert vectors.shape == (len(ODD), 8)
    assert vectors.isfinite().all()
    assert not vectors[:2].any()
    assert vectors[2:].any(dim=1).all()
    assert encoder.parser_failures == 1
    assert "1 of 8 texts got a chain tree" in caplog.text
    assert encoder.encode(["", ""]).tolist() == [[0.0] * 8] * 2
    assert encoder.parser_failures == 0
    assert encoder.encode([]).shape == (0, 8)


@pytest.mark.parametrize(
    "texts",
    [tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object), pd.Series(TEXTS, index=range(9, 4, -1))],
)
def test_kinds_of_sequences(encoder, texts):
    assert np.array_equal(encoder.transform(texts), encoder.transform(TEXTS))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", r"'texts' must be a list .*\(got str 'one text'\)"),
        (b"bytes", "got bytes b'bytes'"),
        ({"a set"}, "got set {'a set'}"),
        (None, "got NoneType None"),
        (np.array([["a"], ["b"]]), "got ndarray"),
        (pd.DataFrame({"text": ["a"]}), "got DataFrame"),
        (["a", 3], r"'texts\[1\]' must be a string \(got int 3\)"),
        (["a", b"b"], r"'texts\[1\]' must be a string \(got bytes b'b'\)"),
        (["a", "b", ["c"]], r"'texts\[2\]' must be a string \(got list \['c'\]\)"),
        (pd.Series(["a", None]), r"'texts\[1\]' must be a string \(got "),
        (np.array([1.5]), r"'texts\[0\]' must be a string \(got float 1.5\)"),
    ],
)
def test_what_is_no_list_of_texts(encoder, texts, message):
    for method in (encoder.encode, encoder.fit, encoder.transform):
        with pytest.raises(TypeError, match=message):
            method(texts)


def test_wrong_settings(checkpoint, tmp_path):
    for size in (0, 2.5, float("nan"), True, "8"):
        message = rf"'batch_size' must be a whole number of at least 1 \(got {size!r}\)"
        with pytest.raises(ValueError, match=message):
            SentenceEncoder(checkpoint, batch_size=size).encode(["a"])
    with pytest.raises(FileNotFoundError, match="no checkpoint at"):
        SentenceEncoder(tmp_path / "none.ckpt").encode(["a"])
    with pytest.raises(ValueError, match="unknown parser 'none'"):
        SentenceEncoder(checkpoint, parser="none").encode(["a"])


def test_arguments_are_kept_as_given_and_nothing_is_loaded_before_it_is_needed():
    options = {
        "parser": "stanza:xx",
        "edges": "dra",
        "batch_size": -1,
        "device": "cpu",
        "progress": True,
        "cache": "c.sqlite",
        "max_words": 7,
        "truncate": True,
    }
    encoder = SentenceEncoder("missing.ckpt", **options)
    assert encoder.get_params() == {"checkpoint": "missing.ckpt", **options}
    assert clone(encoder).get_params() == encoder.get_params()
    assert encoder.fit(["a"]) is encoder


@pytest.fixture
def changed(checkpoint, tmp_path):
    """Writes a checkpoint with another parser or other weights, the same file each time."""

    def write(parser=None, weights=None):
        content = torch.load(checkpoint, weights_only=True)
        if parser is not None:
            content["graphdep"]["config"]["parser"] = parser
        if weights is not None:
            content["state_dict"] = weights
        torch.save(content, tmp_path / "changed.ckpt")
        return tmp_path / "changed.ckpt"

    return write


def test_only_the_bundled_parser_is_taken_from_a_checkpoint(checkpoint, changed, tmp_path):
    assert SentenceEncoder(changed("bundled"), device="cpu").encode(["Ann saw Bob."]).any()
    for name in (f"conllu:{tmp_path / 'x'}", "stanza:../../etc", "spacy:model", "corenlp"):
        with pytest.raises(ValueError, match=f"trained with the parser '{name}'; only 'bundled' is taken"):
            SentenceEncoder(changed(name)).encode(["a"])
    given = load_task(checkpoint)[1].config.parser
    with pytest.raises(ValueError, match="has the text 'not in the file'"):
        SentenceEncoder(checkpoint, parser=given).encode(["not in the file"])


def test_a_model_that_has_diverged(checkpoint, changed):
    weights = torch.load(checkpoint, weights_only=True)["state_dict"]
    path = changed(weights={name: torch.full_like(value, torch.nan) for name, value in weights.items()})
    encoder = SentenceEncoder(path, parser=Stub(), device="cpu")
    with pytest.raises(ValueError, match=r"changed.ckpt: has diverged .* 'texts\[1\]' is not finite"):
        encoder.encode(["", "ann saw bob"])


def test_a_file_that_is_written_anew_is_loaded_anew(checkpoint, changed):
    encoder = SentenceEncoder(changed(), parser=Stub(), device="cpu")
    before = encoder.encode(["ann saw bob"])
    loaded = encoder._loaded
    assert torch.equal(encoder.encode(["ann saw bob"]), before)
    assert encoder._loaded is loaded
    task, _ = load_task(checkpoint)
    task.model.reset_parameters()
    os.utime(changed(weights=task.state_dict()), ns=(1, 1))
    assert not torch.allclose(encoder.encode(["ann saw bob"]), before)


def test_new_parameters_load_anew(encoder, checkpoint, tmp_path):
    before = encoder.encode(["ann saw bob"])
    task, _ = load_task(checkpoint)
    content = torch.load(checkpoint, weights_only=True)
    task.model.reset_parameters()
    torch.save({**content, "state_dict": task.state_dict()}, tmp_path / "other.ckpt")
    encoder.set_params(checkpoint=tmp_path / "other.ckpt")
    assert not torch.allclose(encoder.encode(["ann saw bob"]), before)


@pytest.mark.parametrize("copied", [clone, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_do_not_hold_the_model_and_give_the_same(encoder, copied):
    expected = encoder.encode(TEXTS)
    other = copied(encoder)
    assert encoder._loaded is not None
    assert other._loaded is None
    assert torch.equal(other.encode(TEXTS), expected)


def test_in_a_pipeline(encoder):
    texts = [
        f"{name} saw {other}" for name in ("ann", "bob") for other in ("cid", "dan", "eve", "ann", "bob")
    ] * 2
    labels = [text.startswith("ann") for text in texts]
    pipeline = Pipeline([("encode", encoder), ("classify", LogisticRegression(C=1e4))])
    scores = cross_val_score(pipeline, texts, labels, cv=2)
    assert scores.shape == (2,)
    assert pipeline.fit(texts, labels).score(texts, labels) == 1
    assert make_pipeline(encoder).transform(texts).shape == (20, 8)  # fitted or not
    assert pipeline[:-1].get_feature_names_out()[-1] == "sentenceencoder7"


def test_output_as_a_data_frame(encoder):
    series = pd.Series(TEXTS, index=list("abcde"))
    frame = encoder.set_output(transform="pandas").fit_transform(series)
    assert list(frame.index) == list("abcde")
    assert frame.columns[0] == "sentenceencoder0"
    assert np.array_equal(frame.to_numpy(), encoder.encode(TEXTS).numpy())


def test_parses_are_kept_in_a_file(checkpoint, tmp_path):
    first, second = Stub(), Stub()
    for parser in (first, second):
        SentenceEncoder(checkpoint, parser=parser, cache=tmp_path / "parses.sqlite").encode(TEXTS)
    assert (len(first.seen), second.seen) == (len(TEXTS), [])


@pytest.mark.parametrize("progress", [True, False])
def test_progress_goes_to_stderr_when_asked(checkpoint, capfd, progress):
    encoder = SentenceEncoder(checkpoint, parser=Stub(), progress=progress)
    encoder.encode(TEXTS)
    out, err = capfd.readouterr()
    assert out == ""
    assert ("encoding" in err) == progress


def test_a_model_in_memory(checkpoint, encoder):
    task, state = load_task(checkpoint)
    task.model.train()
    for model in (task.model, task.model.encoder):
        made = SentenceEncoder.from_model(
            model, state.vocab, state.relations, task.edges, parser=Stub(), batch_size=3
        )
        expected = encoder.encode(TEXTS)
        torch.testing.assert_close(made.encode(TEXTS), expected, atol=1e-5, rtol=0)
        assert model.training
        torch.testing.assert_close(clone(made).encode(TEXTS), expected, atol=1e-5, rtol=0)
    with torch.no_grad():
        for parameter in task.model.parameters():
            parameter.mul_(1.5)
    assert not torch.allclose(made.encode(TEXTS), expected)  # it is the model, not a copy


def test_arcs_of_a_model_in_memory(monkeypatch):
    from graphdep.nn.models import DependencyTransformer

    def enhanced(trees, level, engine):
        asked.append(level)
        deps = [[("0", "root")], [("1", "obj")], [("1", "obj"), ("2", "ref")]]
        return [dataclasses.replace(tree, deps=deps) for tree in trees]

    asked: list[str] = []
    monkeypatch.setattr("graphdep.tasks.sentences.predict.enhance", enhanced)
    model = DependencyTransformer(
        6, 3, hidden_channels=8, num_layers=1, heads=2, ff_channels=8, relation_attention=False
    )
    seen = []
    edges = Compose([lambda data: seen.append(data.arc_index.size(1)) or data, resolve("transformer")])
    parts = model, Vocab(["ann"]), graphdep.RelationVocab(), edges, Stub()
    for arcs in ("basic", "enhanced"):
        SentenceEncoder.from_model(*parts, arcs=arcs).encode(["ann saw bob"])
    assert asked == ["enhanced"]
    assert seen == [3, 4]  # that from ROOT among them
    with pytest.raises(ValueError, match=r"'arcs' must be one of basic, .*\(got 'more'\)"):
        SentenceEncoder.from_model(*parts, arcs="more")
    with pytest.raises(ValueError, match=r"'max_length' is for a pretrained encoder \(got 9\)"):
        SentenceEncoder.from_model(*parts, max_length=9)


def test_length_of_a_pretrained_model_in_memory(tmp_path):
    pytest.importorskip("transformers")
    from graphdep.nn.pretrained import load_encoder
    from tests.kit.tiny_encoder import write_tiny_encoder

    model = load_encoder(write_tiny_encoder(tmp_path))
    parts = model, Vocab(), graphdep.RelationVocab(), resolve("transformer"), Stub()
    texts = ["ann saw bob", "ann saw eve"]
    for max_length in (None, 48, 10):
        vectors = SentenceEncoder.from_model(*parts, max_length=max_length).encode(texts)
        assert torch.equal(vectors[0], vectors[1]) == (max_length == 10)  # the third word is cut
    with pytest.raises(ValueError, match=r"'max_length' must be at most 48 \(got 49\)"):
        SentenceEncoder.from_model(*parts, max_length=49)


@pytest.mark.parametrize("edges", ["transformer", "transformer-utterance", "dra", "sia"])
def test_any_edges(edges):
    from graphdep.nn.models import DependencyTransformer

    model = DependencyTransformer(
        6, 3, hidden_channels=8, num_layers=1, heads=2, ff_channels=8, relation_attention=False
    )
    encoder = SentenceEncoder.from_model(
        model, Vocab(["ann"]), graphdep.RelationVocab(), resolve(edges), parser=Stub()
    )
    alone = torch.cat([encoder.encode([text]) for text in TEXTS])
    torch.testing.assert_close(encoder.encode(TEXTS), alone, atol=1e-5, rtol=0)


def test_the_package_is_imported_without_scikit_learn():
    code = (
        "import sys, graphdep; assert 'sklearn' not in sys.modules; graphdep.SentenceEncoder; import sklearn"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="module 'graphdep' has no attribute 'Nothing'"):
        _ = graphdep.Nothing
