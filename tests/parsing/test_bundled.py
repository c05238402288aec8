from __future__ import annotations

import gzip
import logging
import pickle
import re
import shutil
import socket
import threading
import traceback
from types import SimpleNamespace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing import BundledParser, ParserUnavailableError
from graphdep.parsing.bundled import BUNDLED, _pipeline


@pytest.fixture(scope="module")
def parser():
    return BundledParser(use_gpu=False)


def test_parsers_share_the_models_while_the_files_are_the_same(tmp_path):
    for file in BUNDLED.glob("*.pt"):
        shutil.copy(file, tmp_path)
    parser, path = BundledParser(tmp_path), tmp_path / "en_ewt_parser.pt"
    pipeline = parser._engine.pipeline
    assert BundledParser(tmp_path, max_words=7)._engine.pipeline is pipeline
    weights = path.read_bytes()
    path.write_bytes(weights[:1000])
    with pytest.raises(ParserUnavailableError, match=r"en_ewt_parser\.pt is not a model file"):
        BundledParser(tmp_path).parse(["It rains."])
    path.write_bytes(bytes(len(weights)))  # of the same size
    with pytest.raises(ParserUnavailableError, match=r"en_ewt_parser\.pt is not a model file"):
        BundledParser(tmp_path).parse(["It rains."])
    path.write_bytes(weights)
    assert BundledParser(tmp_path).parse(["It rains."]) == parser.parse(["It rains."])
    (lemmatizer,) = tmp_path.glob("*_lemmatizer.pt")
    with open(lemmatizer, "ab") as file:
        file.write(b"x")
    assert BundledParser(tmp_path)._engine.pipeline is not pipeline
    (tmp_path / "SHA256SUMS").write_text("0" * 64 + f"  {path.name}\n")
    with pytest.raises(ParserUnavailableError, match=r"en_ewt_.*\.pt"):
        BundledParser(tmp_path).parse(["It rains."])


def test_the_files_are_small():
    assert sum(file.stat().st_size for file in BUNDLED.iterdir()) <= 28_000_000


def test_it_needs_no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "socket", refuse)
    _pipeline.cache_clear()
    (sentence,) = BundledParser(use_gpu=False).parse(["I want a room."])[0]
    assert sentence.form == ["I", "want", "a", "room", "."]
    assert sentence.head == [2, 0, 4, 2, 2]
    assert sentence.deprel == ["nsubj", "root", "det", "obj", "punct"]


def test_all_columns_are_kept(parser):
    text = "He didn't  see the dogs.\nWhy not?"
    first, second = parser.parse([text])[0]
    assert first.form == ["He", "did", "n't", "see", "the", "dogs", "."]
    assert first.lemma == ["he", "do", "not", "see", "the", "dog", "."]
    assert first.upos == ["PRON", "AUX", "PART", "VERB", "DET", "NOUN", "PUNCT"]
    assert first.xpos is not None
    assert first.xpos[5] == "NNS"
    assert first.feats is not None
    assert "Number=Plur" in first.feats[5]
    assert [(row[0], row[1]) for row in first.multiword] == [("2-3", "didn't")]
    assert first.misc == ["_", "_", "_", "_", "_", "SpaceAfter=No", "_"]
    assert first.comments == ["# text = He didn't see the dogs."]
    assert second.text == "Why not?"
    assert parse_conllu(format_conllu(first)) == [first]


def test_space_after_on_multiword_tokens_and_at_sentence_ends(parser):
    sentences = parser.parse(["I can't.Yes, you can."])[0]
    rows = "\n".join(map(format_conllu, sentences))
    assert re.search(r"2-3\tcan't\t.*SpaceAfter=No", rows)
    assert " ".join(sentences[0].text.split()).startswith("I can't.")


def test_tokenize_returns_the_words_of_the_parse(parser):
    texts = ["He didn't see the dogs. Why not?", "", "We'll go!"]
    assert parser.tokenize(texts) == [[s.form for s in sentences] for sentences in parser.parse(texts)]


def test_given_words_are_unchanged(parser):
    words = [
        ["can't", "a b", " ", "\t", "ok\nso"],
        ["\u200b"],
        ["\ud800", "😀", "我"],
        ["x" * 5000, "is", "long"],
    ]
    sentences = parser.parse_words(words)
    assert [sentence.form for sentence in sentences] == words
    assert all(sentence.multiword == [] for sentence in sentences)
    assert sentences[3].lemma is not None
    assert sentences[3].lemma[0] == "x" * 5000
    assert parser.failures == 0


def test_odd_texts_do_not_raise(parser):
    texts = ["", " \t\n", "\u200b", "\ud800 hi", "\x00", "a\x1cb\u2028c", "." * 300, "<UNK>", "\ufeff"]
    result = parser.parse(texts)
    assert result[:2] == [[], []]
    assert all(sentences for sentences in result[2:])


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(max_size=40), max_size=4))
def test_any_text_parses(parser, texts):
    result = parser.parse(texts)
    assert len(result) == len(texts)
    for text, sentences in zip(texts, result):
        assert bool(sentences) == bool(text.strip())
        for sentence in sentences:
            assert all(form.strip() for form in sentence.form)


def test_longer_sentences_get_a_chain():
    parser = BundledParser(max_words=3, use_gpu=False)
    long, short = parser.parse_words([["a", "dog", "barks", "."], ["a", "dog", "barks"]])
    assert long.head == [0, 1, 2, 3]
    assert long.comments == ["# chain_tree = sentence of 4 words, the limit of the parser is 3"]
    assert short.head == [2, 3, 0]
    assert parser.failures == 1
    mixed = parser.parse(["A dog barks loudly. It barks."])[0]
    assert [sentence.head for sentence in mixed] == [[0, 1, 2, 3, 4], [2, 0, 2]]
    assert mixed[0].misc == ["_", "_", "_", "SpaceAfter=No", "_"]
    assert parser.failures == 2


def test_a_sentence_of_100_000_words_and_huge_words(parser):
    before = parser.failures
    (sentence,) = parser.parse_words([["dog"] * 100_000])
    assert len(sentence) == 100_000
    (sentence,) = parser.parse_words([["d" * 1_000_000, "barks"]])
    assert len(sentence.form[0]) == 1_000_000
    assert parser.failures == before + 1


def test_a_long_token_keeps_its_characters(parser):
    word = "我" * 6000
    forms = [form for sentence in parser.parse([f"see {word} now"])[0] for form in sentence.form]
    assert "".join(forms) == f"see{word}now"


def test_the_fingerprint_names_what_changes_the_output(parser, tmp_path):
    assert re.fullmatch(r"bundled/stanza-[\d.]+/[0-9a-f]{12}/max_words=200/whole-words", parser.fingerprint)
    assert BundledParser(max_words=50).fingerprint != parser.fingerprint
    assert BundledParser(use_gpu=False, progress=False).fingerprint == parser.fingerprint
    for file in BUNDLED.glob("*.pt"):
        shutil.copy(file, tmp_path)
    assert BundledParser(tmp_path).fingerprint == parser.fingerprint
    with open(tmp_path / "en_ewt_mwt.pt", "ab") as file:
        file.write(b"x")
    assert BundledParser(tmp_path).fingerprint != parser.fingerprint
    assert repr(BundledParser(max_words=50)) != repr(parser)
    parser.parse(["A dog barks."])  # copies carry no models
    other = pickle.loads(pickle.dumps(parser))
    assert "pipeline" in vars(parser._engine)
    assert "pipeline" not in vars(other._engine)


def test_missing_and_broken_models_are_named(tmp_path):
    with pytest.raises(ParserUnavailableError, match=r"has no model files \(\*_tokenizer\.pt, \*_mwt\.pt"):
        BundledParser(tmp_path)
    (tmp_path / "de_gsd_parser.pt").write_bytes(b"no model")
    with pytest.raises(ParserUnavailableError, match=r"missing: .*de_gsd_tokenizer\.pt, .*de_gsd_tagger\.pt"):
        BundledParser(tmp_path)
    (tmp_path / "de_gsd_parser.pt").unlink()
    for file in BUNDLED.glob("*.pt"):
        (tmp_path / file.name).write_bytes(b"no model")
    with pytest.raises(ParserUnavailableError, match="do not load"):
        BundledParser(tmp_path).parse(["hello"])


class Hostile:
    def __reduce__(self):
        return print, ("has run",)


@pytest.mark.parametrize("kind", ["tokenizer", "parser"])
def test_a_hostile_model_is_refused_without_advice_to_load_it(tmp_path, capfd, caplog, kind):
    for file in BUNDLED.glob("*.pt"):
        shutil.copy(file, tmp_path)
    torch.save({"model": Hostile()}, tmp_path / f"en_ewt_{kind}.pt")
    with pytest.raises(ParserUnavailableError) as caught:
        BundledParser(tmp_path, use_gpu=False).parse(["hello"])
    assert str(caught.value) == (
        f"the models in {tmp_path} do not load: en_ewt_{kind}.pt is not a model file, or holds more than "
        "weights and plain values, which could run code"
    )
    shown = "".join(traceback.format_exception(caught.value))
    assert "weights_only" not in shown
    assert "ERROR" not in caplog.text
    assert capfd.readouterr() == ("", "")
    assert not logging.getLogger("stanza").filters


def altered(folder, kind, change):
    """A folder with the package's own files, one of them changed."""
    folder.mkdir()
    for file in BUNDLED.glob("*.pt"):
        if kind in file.name:
            state = torch.load(file, weights_only=True)
            change(state)
            torch.save(state, folder / file.name)
        else:
            (folder / file.name).symlink_to(file)
    return BundledParser(folder, use_gpu=False)


def named(key):
    return lambda state: state["config"].update({key: "somebody/evil"})


def test_a_file_that_needs_another_model_is_refused(tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")

    def fail(*args, **kwargs):
        raise AssertionError("something was loaded by its name")

    for auto in ("AutoModel", "AutoTokenizer", "AutoConfig"):
        monkeypatch.setattr(getattr(transformers, auto), "from_pretrained", fail)
    monkeypatch.setattr("stanza.Pipeline", fail)
    evil = {"bert_model": "somebody/evil"}
    for number, (kind, change, message) in enumerate(
        [
            ("tokenizer", named("bert_model"), "\\('bert_model': 'somebody/evil'"),
            ("mwt", named("use_peft"), "\\('use_peft': 'somebody/evil'"),
            ("tagger", named("charlm_forward_file"), "\\('charlm_forward_file': 'somebody/evil'"),
            ("lemmatizer", named("bert_model"), "\\('bert_model': 'somebody/evil'"),
            ("parser", named("wordvec_pretrain_file"), "\\('wordvec_pretrain_file': 'somebody/evil'"),
            ("lemmatizer", lambda state: state.update(contextual=[{"args": evil}]), ""),
            ("tagger", lambda state: state.update(bert_lora={"a": 1}), ""),
            ("parser", lambda state: state["model"].update(args=[evil]), ""),
        ]
    ):
        parser = altered(tmp_path / str(number), kind, change)
        with pytest.raises(
            ParserUnavailableError, match=f"en_ewt_{kind}.pt needs another file or model {message}"
        ):
            parser.parse(["A dog barks."])


def test_a_pickled_dictionary_is_refused(tmp_path):
    """Stanza below 1.15 unpickles it, whatever it is, behind ``weights_only=True``."""
    mark = tmp_path / "mark"

    class Payload:
        def __reduce__(self):
            return mark.mkdir, ()

    pickled = gzip.compress(pickle.dumps(Payload()))
    parser = altered(tmp_path / "x", "lemmatizer", lambda state: state.update(dicts_version=2, dicts=pickled))
    with pytest.raises(ParserUnavailableError, match="en_ewt_lemmatizer.pt has 'dicts_version' 2"):
        parser.parse(["A dog barks."])
    assert not mark.exists()


def test_a_file_starts_no_processes(tmp_path, monkeypatch):
    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", lambda process: pytest.fail("started"))
    parser = altered(tmp_path / "x", "tokenizer", lambda state: state["config"].update(num_workers=2))
    assert parser.parse(["A dog barks."])[0][0].form == ["A", "dog", "barks", "."]


def test_another_folder_has_its_own_names_and_language(parser, tmp_path):
    for file in BUNDLED.glob("*.pt"):
        shutil.copy(file, tmp_path / file.name.replace("en_ewt", "zh-hans_x_y"))
    other = BundledParser(tmp_path, use_gpu=False)
    assert (parser.language, other.language) == ("en", "zh-hans")
    assert other.parse(["He didn't go."]) == parser.parse(["He didn't go."])
    # Of words that the models cut, those of English alone are joined.
    assert not other._engine.join_cut_words
    assert "whole-words" not in other.fingerprint
    assert other.tokenize(["we sat in a café"]) == [[["we", "sat", "in", "a", "caf", "é"]]]
    (tmp_path / "zh-hans_x_y_mwt.pt").unlink()  # the tokenizer gives multi-word tokens
    with pytest.raises(ParserUnavailableError, match=r"missing: .*zh-hans_x_y_mwt\.pt"):
        BundledParser(tmp_path, use_gpu=False).parse(["He didn't go."])
    (tmp_path / "en_ewt_tagger.pt").write_bytes(b"no model")
    with pytest.raises(ParserUnavailableError, match="of several parsers: en_ewt, zh-hans_x_y"):
        BundledParser(tmp_path)


def test_a_language_without_multiword_tokens(monkeypatch, tmp_path):
    seen = {}

    def pipeline(language, **options):
        seen.update(options, language=language)
        trainer = SimpleNamespace(args={"use_mwt": False})
        return SimpleNamespace(processors={"tokenize": SimpleNamespace(trainer=trainer)})

    monkeypatch.setattr("stanza.Pipeline", pipeline)
    for kind in ("tokenizer", "tagger", "lemmatizer", "parser"):
        torch.save({"config": {}}, tmp_path / f"zh_x_{kind}.pt")
    assert BundledParser(tmp_path)._engine.pipeline
    assert (seen["language"], seen["processors"]) == ("zh", "tokenize,pos,lemma,depparse")
    assert "mwt_model_path" not in seen


def test_options_are_checked():
    with pytest.raises(ValueError, match=r"'max_words' must be at least 1 \(got 0\)"):
        BundledParser(max_words=0)


def test_threads_that_parse_at_once_leave_the_number_of_threads(parser):
    texts = [f"The dog {i} ran." for i in range(4)]
    expected = parser.parse(texts)
    found, seen = [], []
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        threads = [threading.Thread(target=lambda: found.append(parser.parse(texts))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        last = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        last.start()
        last.join()
        assert (seen, torch.get_num_threads()) == ([2], 2)
    finally:
        torch.set_num_threads(before)
    assert found == [expected] * 4
