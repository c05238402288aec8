from __future__ import annotations

import builtins
import json

import pytest
from typer.testing import CliRunner

from graphdep import Responder, Sentence
from graphdep.cli import app
from graphdep.parsing import Parser, ParserUnavailableError
from graphdep.parsing.parser import Parsed
from tests.kit.tiny_corpora import write_tiny_dialogues

CONTEXTS = [["ann saw bob"], ["ann saw bob", "bob met cid"], ["dan saw ann"]]
SIZES = {"hidden_channels": 16, "ff_channels": 16, "heads": 2, "num_layers": 1, "decoder_layers": 1}


class Chains(Parser):
    """Gives every text a chain tree."""

    @property
    def fingerprint(self) -> str:
        return "chains"

    def parse_texts(self, texts):
        return [Parsed([Sentence.chain(text.split())]) for text in texts]

    def parse_sentences(self, sentences):
        raise NotImplementedError


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory) -> dict[str, str]:
    return write_tiny_dialogues(tmp_path_factory.mktemp("dialogues"))


@pytest.fixture(scope="module")
def checkpoint(dialogues, tmp_path_factory) -> str:
    """A model trained on trees from a file, so that its parser must be given."""
    from graphdep.training import TrainConfig, train

    settings = {"task": "dailydialog", **dialogues, **SIZES, "min_freq": 1, "max_epochs": 4, "lr": 0.03}
    settings |= {"batch_size": 8, "warmup_steps": 2, "dropout": 0.0, "limit_generate": 0, "max_length": 8}
    config = TrainConfig.of("transformer-dra", **settings, accelerator="cpu")
    return train(config, tmp_path_factory.mktemp("run"))["checkpoint"]


@pytest.fixture(scope="module")
def model(checkpoint, dialogues) -> list[str]:
    """Options that load the model."""
    return ["--checkpoint", checkpoint, "--parser", dialogues["parser"]]


@pytest.fixture
def contexts(tmp_path):
    path = tmp_path / "contexts.jsonl"
    rows = [{"id": number, "context": context} for number, context in enumerate(CONTEXTS)]
    rows[1] |= {"reference": "Cid saw Dän 😀.", "nested": {"a": [1.5, None]}}
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_keeps_its_keys_and_gets_a_response(run, model, checkpoint, dialogues, contexts, tmp_path):
    done = run("generate", *model, "--input", contexts, "--output", "new/responses.jsonl")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert "3 contexts -> new/responses.jsonl" in done.stderr
    written = (tmp_path / "new" / "responses.jsonl").read_text(encoding="utf-8")
    assert "Dän 😀" in written
    expected = Responder(checkpoint, parser=dialogues["parser"]).respond(CONTEXTS)
    rows = objects(contexts.read_text(encoding="utf-8"))
    assert objects(written) == [{**row, "response": text} for row, (text,) in zip(rows, expected)]


def test_stdin_to_stdout_with_the_best_responses(model, checkpoint, dialogues, contexts):
    decoding = ["--strategy", "beam", "--beams", "3", "--num-return", "2", "--max-length", "4"]
    decoding += ["--length-penalty", "0.5", "--no-repeat-ngram", "2", "--batch-size", "1"]
    text = b"\xef\xbb\xbf" + contexts.read_bytes().replace(b"\n", b"\r\n")
    done = CliRunner().invoke(app, ["generate", *model, "--input", "-", *decoding], input=text)
    assert done.exit_code == 0, done.stderr
    options = {"strategy": "beam", "beams": 3, "num_return": 2, "max_length": 4}
    options |= {"length_penalty": 0.5, "no_repeat_ngram": 2}
    expected = Responder(checkpoint, parser=dialogues["parser"], **options).respond(CONTEXTS)
    rows = objects(done.stdout)
    assert [row["responses"] for row in rows] == expected
    assert [row["response"] for row in rows] == [texts[0] for texts in expected]
    assert all(len(set(texts)) == 2 for texts in expected)


def test_sampling_and_json(run, model, contexts, tmp_path):
    options = [
        "--strategy",
        "sample",
        "--top-k",
        "5",
        "--top-p",
        "0.9",
        "--temperature",
        "0.8",
        "--seed",
        "3",
    ]
    done = run("generate", *model, "--input", contexts, "--output", "a.jsonl", "--json", *options)
    assert done.exit_code == 0, done.stderr
    (summary,) = objects(done.stdout)
    assert (summary["contexts"], summary["parser_failures"], summary["output"]) == (3, 0, "a.jsonl")
    chosen = {"strategy": "sample", "top_k": 5, "top_p": 0.9, "temperature": 0.8, "seed": 3, "max_length": 8}
    assert summary["decoding"].items() >= chosen.items()
    run("generate", *model, "--input", contexts, "--output", "b.jsonl", *options)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_output_can_be_input_again(run, model, tmp_path):
    row = {"context": ["ann saw bob"], "response": "old", "responses": ["old", "older"], "reference": "r"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    (result,) = objects(run("generate", *model, "--input", "a.jsonl").stdout)
    assert result.keys() == {"context", "response", "reference"}
    assert result["response"] != "old"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b"", "a blank line, where an object must be"),
        (b'{"context": ["a"]', "no JSON"),
        (b'["a"]', "must be an object with a non-empty list 'context' (got '[\"a\"]')"),
        (b'{"context": "a"}', "'context' must be a list (got str 'a')"),
        (b'{"context": ["a", 1]}', "'context[1]' must be a string (got int 1)"),
        (b'{"context": []}', "must be an object with a non-empty list 'context'"),
        (b'{"context": ["a", " \\n"]}', "'context[1]' is blank: a turn has at least one word"),
        (b'{"context": ["a"], "context": ["b"]}', "no JSON: the key 'context' occurs 2 times"),
        (b'{"context": ["a"], "x": NaN}', "no JSON: Out of range float values"),
        (b'{"context": ["a"], "x": "\\ud83d"}', "half a character, which no file can hold"),
        (b'{"context": ["caf\xe9"]}', "not UTF-8 at byte 17"),
    ],
)
def test_an_invalid_line_is_named_and_nothing_is_written(run, model, tmp_path, bad, message):
    good = b'{"context": ["ann saw bob"]}'
    (tmp_path / "in.jsonl").write_bytes(b"\n".join([good, bad, good, b""]))
    for output in ([], ["--output", "out.jsonl"]):
        done = run("generate", *model, "--input", "in.jsonl", *output)
        assert done.exit_code == 2
        assert f"in.jsonl:2: {message}" in done.stderr
        assert len(done.stderr) < 400
        assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "o.jsonl"], "--output needs --input; without it, a chat starts"),
        (["--num-return", "2"], "--num-return needs --input"),
        (["--input", "in.jsonl", "--json"], "--json needs --output"),
        (["--input", "missing.jsonl"], "no file missing.jsonl"),
        (["--input", "in.jsonl", "--output", "/dev/null"], "'/dev/null' is not a regular file"),
        (["--input", "in.jsonl", "--strategy", "best"], "'strategy' must be one of greedy, beam, sample"),
        (["--input", "in.jsonl", "--temperature", "0"], "'temperature' must be at least 1e-06"),
        (["--input", "in.jsonl", "--checkpoint", "cut.ckpt"], "cut.ckpt: not a checkpoint, or damaged"),
    ],
)
def test_errors(run, model, checkpoint, tmp_path, arguments, message):
    (tmp_path / "in.jsonl").write_text('{"context": ["ann saw bob"]}\n')
    (tmp_path / "empty.jsonl").write_text("")
    with open(checkpoint, "rb") as file:
        (tmp_path / "cut.ckpt").write_bytes(file.read(3000))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = run("generate", *model, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.fixture
def chat(checkpoint, monkeypatch):
    """Sends lines to the chat, with a parser for any text."""
    monkeypatch.setattr("graphdep.training.estimator.resolve_parser", lambda *_, **__: Chains())
    arguments = ["generate", "--checkpoint", checkpoint, "--parser", "bundled"]
    return lambda text: CliRunner().invoke(app, arguments, input=text)


def test_a_chat_remembers_until_reset(chat, monkeypatch):
    asked, respond = [], Responder.respond

    def noted(self, contexts):
        asked.extend(map(list, contexts))
        return respond(self, contexts)

    monkeypatch.setattr(Responder, "respond", noted)
    done = chat("ann saw bob\n  \n dan met ann\n/reset\nann\n/quit\nann saw bob\n")
    assert done.exit_code == 0, done.stderr
    first, _, _ = done.stdout.splitlines()
    assert asked == [["ann saw bob"], ["ann saw bob", first, "dan met ann"], ["ann"]]


def test_a_chat_ends_at_the_end_of_input(chat):
    assert chat("").exit_code == chat("/quit").exit_code == 0
    done = chat("我 喜欢 茶 😀\nann saw bob")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 2


def test_an_empty_response_is_no_turn(chat, monkeypatch):
    contexts = []
    monkeypatch.setattr(Responder, "respond", lambda self, c: contexts.extend(map(list, c)) or [[""]])
    done = chat("a\nb\n")
    assert done.stdout == "\n\n"
    assert contexts == [["a"], ["a", "b"]]


def test_ctrl_c_ends_a_chat(chat, monkeypatch):
    def interrupted(prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr(builtins, "input", interrupted)
    done = chat("")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "\n")


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, ParserUnavailableError])
def test_an_invalid_line_in_a_chat_is_no_turn(chat, monkeypatch, kind):
    asked, respond = [], Responder.respond

    def failing(self, contexts):
        asked.extend(map(list, contexts))
        if "fail" in contexts[0]:
            raise kind("no tree\nfor 'fail'")
        return respond(self, contexts)

    monkeypatch.setattr(Responder, "respond", failing)
    done = chat(b"caf\xe9\nann saw bob\nfail\ndan met ann\n")
    assert done.exit_code == 0, done.stderr
    first, _ = done.stdout.splitlines()
    assert asked == [["ann saw bob"], ["ann saw bob", first, "fail"], ["ann saw bob", first, "dan met ann"]]
    bad_bytes, no_tree = (line for line in done.stderr.splitlines() if "graphdep: error:" in line)
    assert bad_bytes == "graphdep: error: stdin: not UTF-8"
    assert "no tree for 'fail'" in no_tree


def test_a_long_text_is_an_error_with_its_line_or_cut(run, model, tmp_path):
    row = {"context": ["ann saw bob", "bob met cid and ann"]}
    (tmp_path / "in.jsonl").write_text(
        json.dumps({"context": ["ann saw bob"]}) + "\n" + json.dumps(row) + "\n"
    )
    done = run("generate", *model, "--input", "in.jsonl", "--max-words", 3)
    assert done.exit_code == 2
    assert "in.jsonl:2: 'context[1]' has more than max_words=3 words" in done.stderr
    done = run("generate", *model, "--input", "in.jsonl", "--max-words", 3, "--truncate")
    assert objects(done.stdout)[1]["context"] == row["context"]
