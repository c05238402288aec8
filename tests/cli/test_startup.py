"""Start-up must not import PyTorch: ``--help``, names, settings and file checks run without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import graphdep

HEAVY = (
    *("torch", "torch_geometric", "lightning", "stanza", "sklearn", "transformers", "matplotlib"),
    *("scipy", "pandas", "nltk", "spacy"),
)
# One process for all, in which nothing heavy may ever be imported. Prints the answers.
ASK = """
import contextlib, io, json, os, sys
{before}
answers = []
for environment, arguments in {asked!r}:
    os.environ.update(environment)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            app(arguments, prog_name="graphdep")
        except SystemExit as end:
            code = end.code
    loaded = [name for name in {heavy!r} if name in sys.modules]
    answers.append((code, out.getvalue() + err.getvalue(), loaded))
print(json.dumps(answers))
"""


def python(code: str, folder: Path) -> str:
    package = str(Path(graphdep.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "COLUMNS": "150"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ask(folder: Path, *asked: tuple[dict[str, str], list[str]]) -> list[tuple[int, str]]:
    code = ASK.format(before="from graphdep.cli import app", asked=list(asked), heavy=HEAVY)
    answers = json.loads(python(code, folder))
    for (_, arguments), (_, _, loaded) in zip(asked, answers):
        assert not loaded, f"graphdep {' '.join(arguments)} imports {', '.join(loaded)}"
    return [(code, text) for code, text, _ in answers]


def test_importing_the_package_imports_no_pytorch(tmp_path):
    code = "import sys, graphdep\nfrom graphdep import ConlluError\n"
    code += "dir(graphdep), graphdep.Sentence.chain(['a'])"
    loaded = f"{code}\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    assert python(loaded, tmp_path).split() == []


def test_help_version_and_wrong_options(tmp_path):
    commands = [
        *(
            "parse",
            "train",
            "evaluate",
            "generate",
            "rank",
            "embed",
            "predict",
            "submit",
            "models",
            "settings",
            "ablate",
        ),
        *("compare", "needs-structure", "attention", "explore", "human-eval", "demo"),
    ]
    asked = [["--help"], ["--version"], ["train", "--foo"], ["nosuch"]]
    found = ask(tmp_path, *(({}, arguments) for arguments in [*asked, *([c, "--help"] for c in commands)]))
    assert [code for code, _ in found] == [0, 0, 2, 2, *[0] * len(commands)]
    assert all(name in found[0][1] for name in commands)
    assert found[1][1].strip() == f"graphdep {graphdep.__version__}"
    assert "--foo" in found[2][1]
    assert "sick-e" in found[4 + commands.index("train")][1]
    for name in ("train", "predict", "explore"):  # markup would be eaten
        assert "<e1>" in found[4 + commands.index(name)][1]


def test_completion(tmp_path):
    """Of commands and option values, also of the last part of a list."""
    lines = {
        "graphdep ne": ["needs-structure"],
        "graphdep train --task sick": ["sick-r", "sick-e"],
        "graphdep train --model dt-lr": ["dt-lr"],
        "graphdep train --task dailydialog --model hr": ["hred", "hran"],
        "graphdep train --task cats --model d": [],
        "graphdep train --model dt@noisy-5": ["dt@noisy-5", "dt@noisy-5-parsed"],
        "graphdep ablate --models dt@random,bert-g2g-s": ["dt@random,bert-g2g-start"],
        "graphdep ablate --edges dr": ["dra"],
        "graphdep train --optimizer ada": ["adagrad", "adam", "adamw"],
        "graphdep draw --edges sia,dr": ["sia,dra"],
        "graphdep parse --parser sta": ["stanza", "stanza:"],
        "graphdep predict --parser cor": ["corenlp"],
        "graphdep evaluate --parser bund": ["bundled", "bundled:"],
    }
    shell = {"_GRAPHDEP_COMPLETE": "complete_bash"}
    asked = [{**shell, "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))} for line in lines]
    found = ask(tmp_path, *((words, []) for words in asked))
    assert {line: text.split() for line, (_, text) in zip(lines, found)} == lines


def test_completion_beside_a_broken_plugin(tmp_path):
    (folder := tmp_path / "broken-1.dist-info").mkdir()
    (folder / "METADATA").write_text("Name: broken\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[graphdep.families]\nx = nosuch:FAMILY\n")
    for line, names in {"graphdep ne": ["needs-structure"], "graphdep train --model d": []}.items():
        shell = {
            "_GRAPHDEP_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(line.count(" ")),
        }
        code = f"import os, sys\nos.environ |= {shell}; sys.stderr = sys.stdout; sys.path.insert(0, '')\n"
        assert python(f"{code}from graphdep.__main__ import main\nmain()", tmp_path).split() == names


def test_errors_without_pytorch(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nfine,good\n")
    (tmp_path / "a.txt").write_text("fine\n")
    own = ["--train", "a.csv", "--text-columns", "body", "--label-column", "label"]
    (tmp_path / "a.yaml").write_text("learning_rate: 1\n")
    refused = {
        "'task' must be one of": ["train", "--task", "nosuch"],
        "a.yaml: no setting 'learning_rate' (did you mean 'lr'?)": ["train", "--config", "a.yaml"],
        "'logger' must be one of": ["ablate", "--logger", "nosuch"],
        "a placeholder": ["train", "--task", "cola", "--model", "bert", "--encoder", "ENCODER"],
        "has columns: name the one": ["embed", "--checkpoint", "a.txt", "--input", "a.csv"],
        "no column 'body'; the columns": [
            *("predict", "--checkpoint", "a.txt", "--input", "a.csv", "--text-columns", "body")
        ],
        "others (got 'nosuch')": ["train", "--set", "nosuch=1"],
        "'heads' takes a whole number": ["train", "--set", "heads=four"],
        "'model' must be one of": ["ablate", "--task", "ubuntu", "--models", "bert,nosuch"],
        "'edges' must be one of": ["train", "--task", "up", "--edges", "nosuch"],
        "ptb:<file>, chain (got 'nosuch')": ["train", "--parser", "nosuch"],
        "no file no.conllu": ["train", "--parser", "conllu:no.conllu"],
        "no column 'body'; the columns are text, label": ["train", "--task", "csv", *own],
        "no file no.csv, which is 'test'": ["train", "--task", "csv", *own, "--test", "no.csv"],
        "'train' must end in .csv": ["train", "--task", "spans", "--train", "a.txt"],
        "'train' must be a .jsonl, .json, .parquet or .spacy file": [
            "train",
            "--task",
            "labels",
            "--train",
            "a.csv",
        ],
        "'train' is a setting of --task csv": ["train", "--task", "sick-e", "--train", "a.csv"],
        "no checkpoint at no.ckpt": ["evaluate", "--checkpoint", "no.ckpt"],
        "no file no.csv": ["predict", "--checkpoint", "a.csv", "--input", "no.csv"],
        "no checkpoint at none.ckpt": ["submit", "--checkpoint", "none.ckpt", "--output", "out"],
    }
    found = ask(tmp_path, *(({}, arguments) for arguments in refused.values()))
    for message, (code, text) in zip(refused, found):
        assert code == 2, text
        assert message in text


def test_a_missing_extra_is_named(tmp_path):
    hidden = "sys.modules['transformers'] = sys.modules['spacy'] = None\nfrom graphdep.cli import app"
    asked = [({}, ["train", "--model", "bert"]), ({}, ["train", "--parser", "spacy:en_core_web_sm"])]
    names = [name for name in HEAVY if name not in ("transformers", "spacy")]
    answers = json.loads(python(ASK.format(before=hidden, asked=asked, heavy=names), tmp_path))
    assert [(code, loaded) for code, _, loaded in answers] == [(2, []), (2, [])]
    assert "comes with graphdep[pretrained]" in answers[0][1]
    assert "comes with graphdep[spacy]" in answers[1][1]
