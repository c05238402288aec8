from __future__ import annotations

import ast
import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from urllib.parse import parse_qs, urlparse

import pytest

from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing import CoreNLPParser, ParserUnavailableError, enhance, resolve_parser


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
        *arcs(("ROOT", 0, 1), ("obl:over", 1, 2), ("conj:and", 1, 1), ("obl:under", 1, 3)),
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
    with pytest.raises(ParserUnavailableError, match=r"gives no enhanced\+\+ graphs"):
        parser.parse(["basic alone"])


def test_a_server_that_breaks_off(endpoint):
    with pytest.raises(ParserUnavailableError, match="no CoreNLP server answers at http"):
        CoreNLPParser(endpoint).parse(["break off"])


def test_what_the_server_fails_on_gets_a_chain(endpoint, caplog):
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


def test_by_its_name_it_gives_the_graphs_that_are_asked_for(endpoint, monkeypatch, no_pybart):
    monkeypatch.setenv("CORENLP_ENDPOINT", endpoint)
    assert resolve_parser("corenlp").representation == "basic"
    parser = resolve_parser("corenlp", arcs="enhanced++")
    good, bad = (enhance(sentences)[0] for sentences in parser.parse(["Dogs bark loudly .", "too much"]))
    assert ("3", "nsubj:xsubj") in good.deps[0]
    assert bad.deps == [[("0", "root")], [("1", "dep")]]  # a chain tree has nothing to enhance
    with pytest.raises(ImportError, match="needs pybart"):  # the server has no graphs of that level
        resolve_parser("corenlp", arcs="enhanced", engine="pybart")
