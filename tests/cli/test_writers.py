"""Existing files are kept: a law for all commands that write."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from typer.main import get_command

import graphdep
from graphdep.cli import app
from graphdep.io.files import check_replaced

MINE = "my own, the only copy\n"
CSV = "text,label\n" + "".join(
    f"A {'fine' if i % 2 else 'dull'} film {i} .,{'gb'[i % 2]}\n" for i in range(40)
)
SETTINGS = ["--text-columns", "text", "--label-column", "label", "--parser", "chain", "--root", "root"]
SETTINGS = ["--task", "csv", "--train", "r.csv", *SETTINGS, "--set", "hidden_channels=8", "--epochs", "1"]
SETTINGS += ["--set", "accelerator=cpu"]
TRAIN = ["train", *SETTINGS, "--model", "word-average", "--output"]
ABLATE = ["ablate", *SETTINGS, "--models", "word-average", "--seeds", "1", "--output"]
MODEL = ["--checkpoint", "run"]
CONTEXTS = '{"context": ["Hi !"], "response": "Hello .", "candidates": ["a", "b"]}\n'
# Of each command: what it is called with, the last part being the output; and the files there that it writes.
FILES = {
    "parse": ["parse", "A fine film.", "--parser", "chain", "--output", "out.conllu"],
    "draw": ["draw", "A fine film.", "--parser", "chain", "--output", "out.svg"],
    "attention": ["attention", *MODEL, "A fine film.", "--output", "out.png"],
    "explore": ["explore", *MODEL, "A fine film.", "--output", "out.html"],
    "predict": ["predict", *MODEL, "--input", "r.csv", "--output", "out.csv"],
    "embed": ["embed", *MODEL, "A fine film.", "--output", "out.npy"],
    "generate": ["generate", *MODEL, "--input", "c.jsonl", "--output", "out.jsonl"],
    "rank": ["rank", *MODEL, "--input", "c.jsonl", "--output", "out.jsonl"],
}
FOLDERS = {
    "ablate": (ABLATE, ["table.csv", "table.md", "table.tex", "summary.json", "plot.png", "plot.pdf"]),
    "needs-structure": (
        ["needs-structure", *SETTINGS[:-4], "--output"],
        ["plan.json", "needs-structure.png", "summary.json", "table.md", "table.csv"],
    ),
    "sheet": (
        ["human-eval", "sheet", "--system", "a=c.jsonl", "--system", "b=c.jsonl", "--n", "1", "--output"],
        ["key.json", "raters/rater1.csv", "raters/rate.html"],
    ),
    "submit": (["submit", "--checkpoint", "cola=run", "--output"], ["CoLA.tsv", "submission.zip"]),
    "export": (
        ["export", *MODEL, "--output"],
        ["README.md", "config.json", "vocab.json", "run.yaml", "model.safetensors"],
    ),
    "train-parser": (["train-parser", "--raw-from", "x", "--output"], ["en_ewt_parser.pt", "SHA256SUMS"]),
    "demo": (["demo", "--output"], ["tree.png", "explorer.html"]),
}
# It moves what is there to a folder of its own.
ASIDE = {"train": (TRAIN, ["run.yaml", "curves.png", "predictions.csv", "result.json", "metrics.csv"])}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with texts and a trained model."""
    from typer.testing import CliRunner

    folder, before = tmp_path_factory.mktemp("writers"), os.getcwd()
    (folder / "r.csv").write_text(CSV)
    (folder / "c.jsonl").write_text(CONTEXTS)
    os.chdir(folder)
    try:
        done = CliRunner().invoke(app, [*TRAIN, "run"])
    finally:
        os.chdir(before)
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def here(run, place, monkeypatch):
    monkeypatch.chdir(place)
    return run


def test_the_list_has_every_command_that_writes():
    commands = dict(get_command(app).commands)
    commands |= commands.pop("human-eval").commands
    writers = {
        name for name, command in commands.items() if any("--output" in p.opts for p in command.params)
    }
    assert writers == {*FILES, *FOLDERS, *ASIDE}
    page = Path(graphdep.__file__).parents[1] / "docs" / "architecture.md"
    if page.exists():  # an installed package has no pages
        table = page.read_text(encoding="utf-8").partition("| writes |")[2].partition("\n- ")[0]
        assert {name for name in writers if f"{name}`" not in table} == set()
    for name in writers:
        options = {option for param in commands[name].params for option in param.opts}
        assert ("--overwrite" in options) == (name not in ASIDE), name


@pytest.mark.parametrize("command", [*FILES, *FOLDERS, *ASIDE])
def test_tilde_is_the_home_folder(here, tmp_path, monkeypatch, command):
    given, name = (
        (FILES[command][:-1], FILES[command][-1])
        if command in FILES
        else ({**FOLDERS, **ASIDE}[command][0], "x")
    )
    done = here(*given, f"~nosuchuser/{name}")
    assert done.exit_code == 2, done.output
    assert f"no user has the home folder of '~nosuchuser/{name}'" in done.stderr
    assert not Path("~nosuchuser").exists()
    if "A fine film." in given:
        done = here(*("~nosuchuser/a.txt" if part == "A fine film." else part for part in given), name)
        assert "no user has the home folder of '~nosuchuser/a.txt'" in done.stderr


def test_tilde_in_paths_that_shells_do_not_expand(here, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert here(*FILES["draw"][:-1], "~/out.svg").exit_code == 0
    assert (tmp_path / "out.svg").is_file()
    (tmp_path / "texts.txt").write_text("A fine film.\n")
    done = here("embed", *MODEL, "--input=~/texts.txt", "--parser", "chain")
    assert done.exit_code == 0, done.output


READERS = [
    f"train {' '.join(SETTINGS).replace('r.csv', '{}')} --model word-average",
    f"train {' '.join(SETTINGS)} --model word-average --set vectors={{}}",
    f"train {' '.join(SETTINGS).replace('chain', 'conllu:{}')} --model word-average",
    *("train --config {}", "ablate --config {}", "parse {}", "draw {}", "parse a --parser ptb:{}"),
    *("predict --checkpoint {} a", "evaluate --checkpoint {}", "compare run {}"),
    *(f"{name} --checkpoint run --input {{}}" for name in ("predict", "embed", "explore", "rank")),
    "generate --checkpoint run --input {}",
    *("human-eval score --key {} r.csv", "human-eval sheet --system a={} --system b={} --output sheets"),
]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("command", READERS)
def test_no_pipe_is_waited_for_in_silence(here, tmp_path, monkeypatch, command):
    said, pipe = threading.Event(), tmp_path / "p"
    os.mkfifo(pipe)
    monkeypatch.setattr("graphdep.io.files._SECONDS_TO_WARN", 0.05)
    monkeypatch.setattr("graphdep.io.files.logger.warning", lambda text, name: said.set())

    def write() -> None:
        said.wait(20)
        with suppress(OSError):  # nobody reads
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))

    writer = threading.Thread(target=write)
    writer.start()
    done = here(*command.format(*[pipe] * 2).split())
    refused = f"{pipe}: must be a regular file, since it is read more than once" in done.stderr
    assert done.exit_code == 2, done.output
    assert refused != said.is_set(), done.output
    said.set()
    writer.join()
    done = here(*command.format(*["~nosuchuser/p"] * 2).split())
    assert done.exit_code == 2
    assert "error: no user has the home folder of '~nosuchuser/p'" in done.stderr


OF_STRUCTURE = ["needs-structure", *SETTINGS, "--test", "r.csv", "--set", "heads=2", "--output"]


@pytest.mark.parametrize("command", [TRAIN, ABLATE, OF_STRUCTURE])
def test_a_missing_gpu_is_reported_before_parsing(here, tmp_path, monkeypatch, command):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    swaps = {"accelerator=cpu": "accelerator=gpu", "root": str(tmp_path / "root")}
    given = [swaps.get(part, part) for part in command]
    done = here(*given, tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert "'accelerator' cannot be 'gpu': PyTorch finds none" in done.stderr
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("command", FILES)
def test_existing_files_are_kept(here, command):
    path = Path(FILES[command][-1])
    path.write_text(MINE)
    done = here(*FILES[command])
    path, text = path, path.read_text()
    path.unlink()
    assert done.exit_code == 2, done.output
    assert f"{path} exists and would be replaced: choose another place, or --overwrite" in done.stderr
    assert text == MINE


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html"])
def test_a_picture_is_replaced_by_the_same_command_unless_changed(here, tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    given = [*FILES["draw"][:-1], path]
    for more in ([], [], ["--overwrite"], []):
        done = here(*given, *more)
        assert done.exit_code == 0, done.output
    drawn = path.read_bytes()
    if suffix == ".png":
        from PIL import Image

        assert Image.open(path).text["Comment"].startswith("graphdep sha256 ")
    for other in ([*given, "--edges", "dra"], [*FILES["explore"][:-1], path], ["draw", "A.", *given[2:]]):
        done = here(*other)
        assert done.exit_code == 2, done.output
        assert f"{path} exists and would be replaced: choose another place, or --overwrite" in done.stderr
        assert path.read_bytes() == drawn
    for changed in (drawn.replace(b"e", b"E", 1), drawn + b"\n", drawn[:-1]):
        path.write_bytes(changed)
        assert here(*given).exit_code == 2
        assert path.read_bytes() == changed


@pytest.mark.parametrize("command", ["parse", "draw", "predict", "embed"])
def test_overwrite_replaces_files(here, command):
    path = Path(FILES[command][-1])
    path.write_text(MINE)
    model = ["--parser", "chain"] if command in ("predict", "embed") else []
    done = here(*FILES[command], *model, "--overwrite")
    text = path.read_bytes()
    path.unlink()
    assert done.exit_code == 0, done.output
    assert text != MINE.encode()


def _page():
    return graphdep.draw(graphdep.Sentence(["She", "sings"], [2, 0], ["nsubj", "root"]))


def _encoder(folder):
    pytest.importorskip("transformers")
    from graphdep.nn.pretrained import load_encoder
    from tests.kit.tiny_encoder import write_tiny_encoder

    return load_encoder(write_tiny_encoder(folder / "base", positions=16))


# Of each class that saves itself: how one is made, and the file that it writes of what is given to it.
SAVERS = {
    "Explorer.save": (lambda place: _page().save, "page.html", ""),
    "estimator.save": (
        lambda place: graphdep.SequenceClassifier.load(place / "run", parser="chain").save,
        "model.ckpt",
        "",
    ),
    "save_pretrained": (
        lambda place: graphdep.load(place / "run", parser="chain").save_pretrained,
        "model",
        "README.md",
    ),
    "PretrainedEncoder.save_pretrained": (
        lambda place: _encoder(place).save_pretrained,
        "encoder",
        "config.json",
    ),
}


@pytest.mark.parametrize("saver", SAVERS)
def test_saving_in_python_replaces_only_its_own_files(place, tmp_path, saver):
    make, name, part = SAVERS[saver]
    save, path = make(place), tmp_path / name / part if part else tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MINE)
    with pytest.raises(ValueError, match=f"{path.name} exists.* and would be replaced: .*overwrite=True"):
        save(tmp_path / name)
    assert path.read_text() == MINE
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]
    save(tmp_path / name, overwrite=True)
    assert path.read_bytes() != MINE.encode()
    save(tmp_path / name)  # its own, as it was written
    written = bytearray(path.read_bytes())
    written[len(written) // 2] ^= 1
    path.write_bytes(written)
    with pytest.raises(ValueError, match=f"{path.name} exists.* would"):
        save(tmp_path / name)


def test_an_estimator_does_not_replace_the_checkpoint_of_a_run(place):
    model = graphdep.SequenceClassifier.load(place / "run", parser="chain")
    with pytest.raises(ValueError, match="best.ckpt exists.* would"):
        model.save(place / "run" / "best.ckpt")


SENTENCES = [graphdep.Sentence(["a"], [0], ["root"], constituents=[("S", 0, 1)])]
WRITERS = {
    "write_conllu": lambda *args, **options: graphdep.io.write_conllu(SENTENCES, *args, **options),
    "write_ptb": lambda *args, **options: graphdep.io.write_ptb(SENTENCES, *args, **options),
    "Vocab.save": graphdep.Vocab(["a"]).save,
    "RelationVocab.save": graphdep.RelationVocab().save,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_what_python_writes_replaces_nothing_unasked(tmp_path, writer):
    write, path = WRITERS[writer], tmp_path / "a"
    write(path)
    path.write_text(MINE)
    with pytest.raises(ValueError, match=r"a exists.* would be replaced: .*overwrite=True"):
        write(path)
    assert path.read_text() == MINE
    write(path, overwrite=True)
    assert path.read_text() != MINE


FILES_OF_FOLDERS = [(command, name) for command, (_, names) in FOLDERS.items() for name in names]


@pytest.mark.parametrize(("command", "name"), FILES_OF_FOLDERS)
def test_existing_files_in_a_folder_are_kept(here, tmp_path, command, name):
    path = tmp_path / "out" / name
    path.parent.mkdir(parents=True)
    path.write_text(MINE)
    done = here(*FOLDERS[command][0], tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert str(tmp_path / "out") in done.stderr
    assert [file for file in (tmp_path / "out").rglob("*") if file.is_file()] == [path]
    assert path.read_text() == MINE


@pytest.mark.parametrize("name", ASIDE["train"][1])
def test_files_of_an_earlier_run_are_set_aside(here, tmp_path, name):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text(MINE)
    assert here(*ASIDE["train"][0], tmp_path / "out").exit_code == 0
    assert (tmp_path / "out" / "previous" / name).read_text() == MINE


@pytest.mark.parametrize(
    ("command", "name"),
    [*((ABLATE, name) for name in FOLDERS["ablate"][1]), *((TRAIN, name) for name in ASIDE["train"][1])]
    + [(["export", *MODEL, "--output"], name) for name in FOLDERS["export"][1]],
)
def test_links_are_not_followed(here, tmp_path, command, name):
    (tmp_path / "mine").write_text(MINE)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(tmp_path / "mine")
    for options in ([], ["--resume"] if command is TRAIN else ["--overwrite"]):
        here(*command, tmp_path / "out", *options)
        assert (tmp_path / "mine").read_text() == MINE
    assert not (tmp_path / "out" / name).is_symlink()


def test_links_in_a_resumed_run_and_in_a_cache_are_not_followed(here, tmp_path):
    own = [str(tmp_path / "root") if part == "root" else part for part in TRAIN]
    assert here(*own, tmp_path / "out").exit_code == 0
    (tmp_path / "mine").write_text(MINE)
    stored = [*(tmp_path / "root" / "processed").glob("*.pt")]
    assert stored
    for path in [*stored, *(tmp_path / "out" / name for name in ("result.json", "run.yaml", "metrics.csv"))]:
        path.unlink()
        path.symlink_to(tmp_path / "mine")
    here(*own, tmp_path / "out", "--resume", "--epochs", "2")
    assert (tmp_path / "mine").read_text() == MINE


def test_only_the_same_table_is_replaced(here, tmp_path):
    assert here(*ABLATE, tmp_path).exit_code == 0
    assert here(*ABLATE, tmp_path, "--models", "lstm").exit_code == 0  # a row more
    for other, said in (
        (["--models", "lstm"], "a table that also has the row word-average, and"),
        (["--models", "word-average,lstm", "--set", "hidden_channels=4"], "another hidden_channels, and"),
    ):
        command = [part for part in ABLATE if part not in ("--models", "word-average")]
        if "--set" in other:
            at = command.index("hidden_channels=8")
            del command[at - 1 : at + 1]
        before = (tmp_path / "table.md").read_bytes()
        done = here(*command, tmp_path, *other)
        assert done.exit_code == 2, done.output
        assert f"summary.json exists, {said}" in done.stderr.replace("a table with ", "")
        assert "--overwrite" in done.stderr
        assert (tmp_path / "table.md").read_bytes() == before
        assert here(*command, tmp_path, *other, "--overwrite").exit_code == 0
        assert (tmp_path / "table.md").read_bytes() != before
        assert here(*ABLATE, tmp_path, "--models", "lstm", "--overwrite").exit_code == 0
    assert {row["name"] for row in json.loads((tmp_path / "summary.json").read_text())["rows"]} > {"lstm"}


def test_fewer_epochs_do_not_replace_a_table(here, tmp_path):
    assert here(*ABLATE, tmp_path, "--epochs", "2").exit_code == 0
    done = here(*ABLATE, tmp_path, "--epochs", "1")
    assert done.exit_code == 2, done.output
    assert "a table of 2 epochs, and" in done.stderr


def test_empty_and_own_files_may_be_replaced(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "own").write_text(MINE)
    check_replaced(tmp_path, ["empty", "none", "own"], {"own"})
    check_replaced(tmp_path, ["own"], overwrite=True)
    with pytest.raises(ValueError, match=r"own exists, a poem, and would be replaced: choose another place"):
        check_replaced(tmp_path, ["own"], about=", a poem,")
