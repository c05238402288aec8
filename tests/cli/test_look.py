"""The commands parse, draw, attention and explore."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PIL import Image

from graphdep import attention_map
from graphdep.cli import common as texts
from graphdep.io import parse_conllu, read_conllu
from graphdep.training import TrainConfig, train
from tests.kit import tiny_corpora

needs_pybart = pytest.mark.skipif(importlib.util.find_spec("pybart") is None, reason="needs pybart-nlp")


@pytest.fixture
def parser(corpus):
    return ["--parser", corpus[3]]


def test_a_text_becomes_conllu_on_stdout(run, parser):
    done = run("parse", "ann saw  bob", *parser)
    assert done.exit_code == 0, done.stderr
    (sentence,) = parse_conllu(done.stdout)
    assert (sentence.form, sentence.head) == (["ann", "saw", "bob"], [2, 0, 2])
    assert "1 text, 1 sentence\n" in done.stderr


def test_a_word_that_is_no_file_is_a_text_with_a_warning(run, parser, caplog):
    assert run("parse", "and/or", "--parser", "chain").exit_code == 0
    assert "there is no file 'and/or': read as a text of one word" in caplog.text


def test_a_file_has_one_text_per_line(run, parser, tmp_path):
    (tmp_path / "texts.txt").write_text("ann saw bob\n\nbob saw ann\r\n", encoding="utf-8")
    done = run("parse", "texts.txt", *parser, "--output", "trees.conllu")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert [sentence.form[0] for sentence in read_conllu(tmp_path / "trees.conllu")] == ["ann", "bob"]
    assert "2 texts" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("missing.txt", "no file 'missing.txt'"),
        ("  ", "there is no text"),
        (".", "'.' is neither a file"),
        ("./texts", "no file './texts' (a text would have spaces)"),
    ],
)
def test_errors(run, parser, text, message):
    done = run("parse", text, *parser)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_file_that_is_not_utf8(run, parser, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    done = run("parse", "latin.txt", *parser)
    assert done.exit_code == 2
    assert "latin.txt: not UTF-8 at byte 3" in done.stderr


def test_a_failed_command_leaves_no_output(run, parser, tmp_path):
    done = run("parse", "a text that the file does not have", *parser, "--output", "trees.conllu")
    assert done.exit_code == 2
    assert not (tmp_path / "trees.conllu").exists()


@pytest.mark.parametrize("name", ["link.txt", "hard.txt"])
def test_the_output_is_not_the_input(run, parser, tmp_path, name):
    source = tmp_path / "texts.txt"
    source.write_text("ann saw bob\n", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(source)
    (tmp_path / "hard.txt").hardlink_to(source)
    done = run("parse", "texts.txt", *parser, "--output", name)
    assert done.exit_code == 2
    assert "'output' would overwrite the file of TEXT_OR_FILE" in done.stderr
    assert source.read_text(encoding="utf-8") == "ann saw bob\n"


def test_the_output_is_not_the_file_of_the_parser(run, parser):
    file = Path(parser[1].removeprefix("conllu:"))
    before = file.read_bytes()
    done = run("parse", "ann saw bob", *parser, "--output", str(file))
    assert done.exit_code == 2
    assert "'output' would overwrite the file of --parser" in done.stderr
    assert file.read_bytes() == before


@pytest.mark.parametrize("engine", [[], pytest.param(["--engine", "pybart"], marks=needs_pybart)])
def test_enhanced_graphs_are_written_to_deps(run, tmp_path, engine):
    rows = ("ann _ 2 nsubj", "sings _ 0 root", "and _ 4 cc", "hums VB 2 conj")
    columns = (row.split() for row in rows)
    lines = [f"{i}\t{w}\t_\t_\t{t}\t_\t{h}\t{d}\t_\t_" for i, (w, t, h, d) in enumerate(columns, 1)]
    own = "# text = own\n1\town\t_\t_\t_\t_\t0\troot\t0:mine\t_"
    text = "\n".join(["# text = ann sings and hums", *lines, "", own]) + "\n\n"
    (tmp_path / "trees.conllu").write_text(text, encoding="utf-8")
    (tmp_path / "texts.txt").write_text("ann sings and hums\nown\n", encoding="utf-8")
    done = run("parse", "texts.txt", "--parser", "conllu:trees.conllu", "--enhanced", "enhanced", *engine)
    assert done.exit_code == 0, done.stderr
    made, kept = parse_conllu(done.stdout)
    assert made.deps == [
        [("2", "nsubj"), ("4", "nsubj")], [("0", "root")], [("4", "cc")], [("2", "conj:and")]
    ]  # fmt: skip
    assert kept.deps == [[("0", "mine")]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--enhanced", "ud"], "'enhanced' must be one of enhanced, enhanced++ (got 'ud')"),
        (["--enhanced", "enhanced", "--engine", "ud"], "'engine' must be one of rules, pybart (got 'ud')"),
        (["--parser", "conllu:~nosuchuser/x"], "no user has the home folder of '~nosuchuser/x'"),
        (["--parser", "ptb:~nosuchuser/x"], "no user has the home folder of '~nosuchuser/x'"),
    ],
)
def test_an_unknown_level_engine_or_home(run, parser, options, message):
    done = run("parse", "ann saw bob", *parser, *options)
    assert done.exit_code == 2
    assert message in done.stderr


def test_corenlp_has_its_own_graphs(run, monkeypatch):
    asked = []

    def answer(name, **options):
        asked.append((name, options["arcs"]))
        raise ValueError("asked")

    monkeypatch.setattr("graphdep.parsing.resolver.resolve_parser", answer)
    for level in ("enhanced++", "enhanced"):
        assert "asked" in run("parse", "ann", "--parser", "corenlp", "--enhanced", level).stderr
    assert asked == [("corenlp", level) for level in ("enhanced++", "enhanced")]


def test_cache_and_processes(run, parser, monkeypatch):
    """If the cache has all texts, the parser is not called."""
    assert run("parse", "ann saw bob", *parser, "--cache", "parses.sqlite", "--workers", "2").exit_code == 0
    monkeypatch.setattr("graphdep.parsing.ConlluParser.parse_texts", None)
    done = run("parse", "ann saw bob", *parser, "--cache", "parses.sqlite")
    assert parse_conllu(done.stdout)[0].head == [2, 0, 2]
    assert "1 text, 1 sentence\n" in done.stderr
    done = run("parse", "ann saw bob", *parser, "--workers", "0")
    assert done.exit_code == 2
    assert "--workers" in done.stderr


def test_no_folder_is_made_in_the_root_directory(run):
    done = run("parse", "A text here.", "--output", "/nosuchfolder/x.conllu")
    assert done.exit_code == 2
    assert "'output' cannot be written: no folder '/nosuchfolder'" in done.stderr


def test_a_pipe_is_read_like_a_file(run, parser, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("A dog barks .\n",))
    writer.start()
    done = run("parse", "pipe", "--parser", "chain")
    writer.join()
    assert done.exit_code == 0, done.stderr
    assert [sentence.form for sentence in parse_conllu(done.stdout)] == [["A", "dog", "barks", "."]]
    assert "'/dev/null' is neither a file nor a pipe" in run("parse", "/dev/null").stderr


def test_brackets_are_written_to_ptb_files(run, tmp_path):
    (tmp_path / "in.ptb").write_text("(ROOT (S (NP (PRP She)) (VP (VBZ sings))))\n", encoding="utf-8")
    parse = ["parse", "She sings", "--parser", "ptb:in.ptb"]
    done = run(*parse, "--constituents", "--output", "out.mrg")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "out.mrg").read_bytes() == (tmp_path / "in.ptb").read_bytes()
    done = run(*parse, "--output", "new.ptb")
    assert done.exit_code == 2
    assert "'output' is for brackets: add --constituents (got 'new.ptb')" in done.stderr
    for name in ("out.doc", "out"):
        done = run(*parse, "--output", name)
        assert f"'output' must end in .conllu, .conll, .ptb, .mrg (got '{name}')" in done.stderr
    assert not [*tmp_path.glob("out"), *tmp_path.glob("*.doc"), *tmp_path.glob("new.ptb")]


def test_half_a_character_is_refused_before_parsing(run):
    done = run("parse", "A \udcff dog .", "--parser", "stanza:xx")
    assert done.exit_code == 2
    assert "text 1 has half a character: 'A \\udcff dog .'" in done.stderr


def test_stdout_is_utf8_in_any_locale(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "graphdep", "parse", "A dög.", "--parser", "chain"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert "dög" in done.stdout.decode("utf-8")


def test_the_output_is_never_an_input_or_the_cache(run, tmp_path):
    parse = ["parse", "She sings.", "--parser", "chain"]
    assert run(*parse, "--cache", "parses.sqlite", "--output", "a.conllu").exit_code == 0
    kept = (tmp_path / "parses.sqlite").read_bytes()
    done = run(*parse, "--cache", "parses.sqlite", "--output", "parses.sqlite")
    assert done.exit_code == 2
    assert "'output' would overwrite the file of --cache" in done.stderr
    assert (tmp_path / "parses.sqlite").read_bytes() == kept
    done = run(*parse, "--cache", "new", "--output", f"../{tmp_path.name}/new")
    assert "'output' would overwrite the file of --cache" in done.stderr
    assert not (tmp_path / "new").exists()

    (tmp_path / "in.txt").write_text("She sings.\n", encoding="utf-8")
    code = "from graphdep.cli import app; app(['parse', '-', '--parser', 'chain', '--output', 'in.txt'])"
    command = [sys.executable, "-c", code]
    with open(tmp_path / "in.txt", encoding="utf-8") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "'output' would overwrite the file that stdin reads" in done.stderr
    assert (tmp_path / "in.txt").read_text(encoding="utf-8") == "She sings.\n"


def test_closed_streams_are_named(monkeypatch):
    monkeypatch.setattr(texts.sys, "stdin", None)
    with pytest.raises(ValueError, match="stdin is closed: name a file"):
        texts.stream_texts("-")


def test_one_picture_per_sentence(run, tmp_path):
    done = run("draw", "it rains", "--parser", "chain", "--edges", "dra,transformer")
    assert done.exit_code == 0, done.stderr
    picture = (tmp_path / "tree.svg").read_text()
    assert "rains</text>" in picture
    assert "dra: " in picture
    assert "2 words -> tree.svg" in done.stderr
    (tmp_path / "texts.txt").write_text("it rains\nthe sun shines\n")
    run("draw", "texts.txt", "--parser", "chain", "--output", "new/a.png")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["a-1.png", "a-2.png"]


def test_a_picture_fits_into_a_column(run, tmp_path, caplog):
    for name in ("a.svg", "a.png"):
        done = run("draw", "it rains", "--parser", "chain", "--figsize", "3.3x9", "--output", name)
        assert done.exit_code == 0, done.stderr
    size = r'width="3.3in" height="([\d.]+)in" viewBox="0 0 (\S+) (\S+)"'
    height, wide, high = map(float, re.search(size, (tmp_path / "a.svg").read_text()).groups())
    assert height == pytest.approx(3.3 * high / wide, rel=1e-3)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size == pytest.approx((300 * 3.3, 300 * height), abs=1.5)
    assert not caplog.messages
    for name, size in (("c.svg", "3.3x9"), ("d.png", "3.3x9"), ("e.svg", "5.8x9"), ("f.png", "6.2x9")):
        run("draw", "it rains " * 9, "--parser", "chain", "--figsize", size, "--output", name)
    assert [re.sub(r"x\S+ inches", " wide", message) for message in caplog.messages] == [
        "c.svg: labels are 2.8 points high; 5.8 wide would make them 5",
        "d.png: labels are 2.7 points high; 6.2 wide would make them 5",
    ]


def test_pages_of_all_sentences_and_of_differences(run, tmp_path):
    (tmp_path / "texts.txt").write_text("it rains\nthe sun shines\n")
    done = run("draw", "texts.txt", "--parser", "chain", "--edges", "dra,dt", "--output", "page.html")
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert page.count('class="turn"') == 2
    assert "5 words -> page.html" in done.stderr
    done = run(
        *("draw", "the sun shines", "--parser", "chain", "--edges", "dra"),
        *("--against", "random", "--output", "difference.svg"),
    )
    assert done.exit_code == 0, done.stderr
    assert "both: dra" in (tmp_path / "difference.svg").read_text()


def test_edges_over_phrases_are_drawn_with_phrases(run, tmp_path):
    done = run("draw", "The old dog chased a cat.", "--edges", "constituents")
    assert done.exit_code == 0, done.stderr
    assert ">VP</text>" in (tmp_path / "tree.svg").read_text()
    run("draw", "The old dog chased a cat.", "--constituents", "--output", "plain.svg")
    assert ">VP</text>" in (tmp_path / "plain.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["it rains", "--output", "a.gif"], "'output' must end in .html, .svg, .png, .pdf (got 'a.gif')"),
        (["none.txt"], "no file 'none.txt'"),
        (["it rains", "--parser", "chain", "--edges", "drat"], "drat"),
        (["it rains", "--parser", "chain", "--constituents"], "constituents"),
        (["it rains", "--against", "random"], "--against needs --edges"),
        (["it rains", "--figsize", "wide"], "'figsize' must be WxH, inches from 1 to 100, such as 3.3x2.9"),
        (["it rains", "--figsize", "3x3", "--output", "a.html"], "--figsize is for pictures, not for .html"),
        (["the <e1>rain</e1>"], "draw has no marked spans: use graphdep explore"),
    ],
)
def test_errors_of_draw(run, arguments, message):
    done = run("draw", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    from graphdep.training import TrainConfig, train
    from tests.kit.tiny_corpora import write_tiny_sst

    corpus = write_tiny_sst(tmp_path_factory.mktemp("sst"))
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 2, "heads": 2, "relation_dim": 4}
    config = TrainConfig.of("dt", task="sst", max_epochs=1, accelerator="cpu", **corpus, **sizes)
    return train(config, tmp_path_factory.mktemp("run"))["checkpoint"]


def test_a_picture_and_the_weights(run, checkpoint, tmp_path):
    text = ["attention", "--checkpoint", checkpoint, "--parser", "chain", "ann likes bob"]
    done = run(*text, "--json", "--output", "new/maps.png")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "new" / "maps.png").read_bytes().startswith(b"\x89PNG")
    found, shown = json.loads(done.stdout), attention_map(checkpoint, "ann likes bob", parser="chain")
    assert found["words"] == ["[ROOT]", "ann", "likes", "bob"]
    assert found["layers"] == ["layer 1", "layer 2"]
    assert found["alpha"] == shown.alpha.tolist()
    assert "3 words, 2 layers, 2 heads -> new/maps.png" in done.stderr


def test_the_gate_instead_of_the_weights(run, checkpoint, tmp_path):
    text = ["attention", "--checkpoint", checkpoint, "--parser", "chain", "ann likes bob"]
    done = run(*text, "--gate", "--json", "--output", "gate.png")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    shown = attention_map(checkpoint, "ann likes bob", parser="chain", return_gate=True)
    for name, values in shown.gates.items():
        assert found[name] == [
            [[[None if value != value else value for value in row] for row in head] for head in layer]
            for layer in values.tolist()
        ]
    assert found["gate"][0][0][2][3] > 0
    assert found["gate"][0][0][1][3] is not None  # a path of two arcs


def test_one_head_is_as_wide_as_a_column(run, checkpoint, tmp_path):
    text = ["attention", "--checkpoint", checkpoint, "--parser", "chain", "ann likes bob"]
    for more, size in (((), (990, 870)), (("--figsize", "4x2.5"), (1200, 750))):
        done = run(*text, "--layer", 2, "--head", 1, *more, "--output", "head.png", "--overwrite")
        assert done.exit_code == 0, done.stderr
        with Image.open(tmp_path / "head.png") as picture:
            assert picture.size == size
    for wrong, message in (
        (("--head", 1), "--head needs --layer"),
        (("--layer", 2, "--head", 3), "'head' must be between 1 and 2"),
        (("--figsize", "wide"), "'figsize' must be WxH, inches from 1 to 100, such as 3.3x2.9 (got 'wide')"),
        (("--figsize", "0x3"), "'figsize' must be WxH"),
    ):
        done = run(*text, *wrong)
        assert done.exit_code == 2
        assert message in done.stderr


def test_one_layer_without_special_nodes(run, checkpoint, tmp_path):
    text = ["attention", "--checkpoint", checkpoint, "--parser", "chain", "ann likes bob"]
    done = run(*text, "--layer", 2, "--no-special", "--output", "map.svg")
    assert done.exit_code == 0, done.stderr
    assert "3 words" in done.stderr
    assert b"<svg" in (tmp_path / "map.svg").read_bytes()
    for wrong, message in (
        (("--layer", 3), "'layer' must be between 1 and 2"),
        (("--output", "map.txt"), "'output' must end in .png"),
        (("--output", checkpoint), "'output' would overwrite the file of --checkpoint"),
    ):
        done = run(*text, *wrong)
        assert done.exit_code != 0
        assert message in done.stderr
        assert done.stdout == ""


SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 2, "heads": 2}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """A run of ``dt`` and one of ``transformer``."""
    corpus = tiny_corpora.write_tiny_sst(tmp_path_factory.mktemp("sst"))
    found = []
    for model in ("dt", "transformer"):
        config = TrainConfig.of(model, task="sst", max_epochs=1, accelerator="cpu", **corpus, **SIZES)
        found.append(train(config, tmp_path_factory.mktemp("run"))["checkpoint"])
    return found


def page_of(path):
    html = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


def test_a_page_of_one_model(run, checkpoints, tmp_path):
    text = ("ann likes bob", "--parser", "chain", "--edges", "dra")
    done = run("explore", "--checkpoint", checkpoints[0], *text)
    assert done.exit_code == 0, done.stderr
    assert "3 words, 2 layers, 1 side -> page.html" in done.stderr
    page = page_of(tmp_path / "page.html")
    assert [node["text"] for node in page["nodes"]] == ["[ROOT]", "ann", "likes", "bob"]
    assert page["about"] == "dt, trained on sst"
    [side] = page["sides"]
    assert [edges["name"] for edges in side["edges"]] == ["dt", "dra"]
    [answer] = side["answers"]
    assert answer["kind"] == "classes"
    assert sum(share for _, share in answer["rows"]) == pytest.approx(1)


def test_two_models_and_the_parse_against_a_random_tree(run, checkpoints, tmp_path):
    (tmp_path / "text.txt").write_text("ann likes bob\n")
    two = ("--checkpoint", checkpoints[0], "--checkpoint", checkpoints[1])
    done = run("explore", *two, "--input", "text.txt", "--parser", "chain", "--output", "a.html")
    assert done.exit_code == 0, done.stderr
    assert [side["name"] for side in page_of(tmp_path / "a.html")["sides"]] == ["dt", "transformer"]
    one = ("--checkpoint", checkpoints[0], "--against", "random", "ann likes bob")
    done = run("explore", *one, "--parser", "chain", "--output", "b.html")
    assert done.exit_code == 0, done.stderr
    sides = page_of(tmp_path / "b.html")["sides"]
    assert [side["name"] for side in sides] == ["the parse", "a random tree"]
    assert sides[0]["governor"] == [-1, 0, 1, 2]


def test_masks_of_explainers(run, checkpoints, tmp_path):
    text = ("ann likes bob", "--parser", "chain", "--explain", "gradient")
    done = run("explore", "--checkpoint", checkpoints[0], *text)
    assert done.exit_code == 0, done.stderr
    maps = page_of(tmp_path / "page.html")["sides"][0]["maps"]
    assert [one["name"] for one in maps if one["kind"] == "mask"] == ["gradient"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "a.gif", "a"], "'output' must end in .html"),
        ([], "give either a TEXT or --input FILE"),
        (["a", "--input", "b"], "give either a TEXT or --input FILE"),
        (["a", "--against", "chain"], "'against' must be one of random"),
        (["a", "--parser", "chain", "--explain", "shap"], "'explain' must be one of gradient, gnn"),
        (
            ["a", "--parser", "chain", "--edges", "dra,constituents"],
            "'edges' 'constituents' need constituents, which the input of 'dt' lacks",
        ),
        (["a", "--candidate", "b", "--parser", "chain"], "'candidates' are for response selection"),
    ],
)
def test_errors_of_explore(run, checkpoints, arguments, message):
    done = run("explore", "--checkpoint", checkpoints[0], *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_sides_with_the_same_model_are_named_by_folder(checkpoints):
    from pathlib import Path

    from graphdep import explore

    page = explore(checkpoints[0], "ann likes bob", against=checkpoints[0], parser="chain")
    folder = Path(checkpoints[0]).parent.name
    assert [side.name for side in page.sides] == [f"dt ({folder})"] * 2
    named = explore(checkpoints[0], "ann likes bob", parser="chain", names=["mine"], masks={})
    assert named.sides[0].name == "mine"
