"""``--edges package.module:Name``, of a file of the current folder, where models are trained or loaded."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from graphdep.cli.options import import_edges
from graphdep.training import TrainConfig
from graphdep.transforms import presets as registry
from graphdep.transforms import resolve

pytestmark = pytest.mark.usefixtures("no_own_edges")

CODE = """
from graphdep.transforms import DependencyEdges, EdgeConstructor, EdgeSet, RootEdges, SelfLoops

class Ahead(EdgeConstructor):
    def build(self, nodes):
        source, target = nodes.index[:-1], nodes.index[1:]
        same = nodes.block[source] == nodes.block[target]
        return EdgeSet(nodes, source[same], target[same])

ROOTED = Ahead() | RootEdges() | SelfLoops()
SAME = Ahead() | RootEdges() | SelfLoops()
OTHER = DependencyEdges("both") | SelfLoops()
NUMBER = 3
class Group:
    @staticmethod
    def make():
        return ROOTED
"""


@pytest.fixture(autouse=True)
def my_edges(tmp_path):
    (tmp_path / "my_edges.py").write_text(CODE)


def forget() -> None:
    """Clears registered edges, as in another process."""
    registry._own.clear()
    sys.modules.pop("my_edges", None)


@pytest.fixture
def checkpoint(run, tiny, tmp_path, tmp_path_factory):
    """A run, trained once and copied to each test's folder."""
    kept = tmp_path_factory.getbasetemp() / "own-edges"
    if not kept.exists():
        done = run("train", "--edges", "my_edges:ROOTED", *tiny, "--output", "trained", "--json")
        assert done.exit_code == 0, done.stderr
        (tmp_path / "trained" / "said.json").write_text(done.stdout)
        shutil.copytree(tmp_path / "trained", kept)
        forget()
    else:
        shutil.copytree(kept, tmp_path / "trained")
    return json.loads((kept / "said.json").read_text())


def test_own_edges_are_in_the_result(checkpoint, run):
    assert checkpoint["config"]["edges"] == "my_edges:ROOTED"
    assert checkpoint["label"] == "dt, edges my_edges:ROOTED"
    assert checkpoint["own_edges"]["edges"].startswith("((Ahead() | RootEdges(scope='utterance')) | Self")


def test_evaluate_needs_the_edges_and_repeats_the_scores(checkpoint, run, corpus):
    file = ["--checkpoint", "trained/best.ckpt", *corpus]
    done = run("evaluate", *file)
    assert done.exit_code == 2
    assert done.stderr.startswith("graphdep: error: trained/best.ckpt: edges 'my_edges:ROOTED' are not known")
    assert "if you trust 'my_edges', name the edges yourself: --edges my_edges:ROOTED" in done.stderr
    assert "my_edges" not in sys.modules
    scores = {name: value for name, value in checkpoint["metrics"].items() if name.startswith("test_")}
    for edges in (
        ["--edges", "my_edges:ROOTED"],
        ["--set", "edges=my_edges:ROOTED"],
        ["--edges", "my_edges:SAME"],  # by another name
    ):
        forget()
        done = run("evaluate", *file, *edges, "--json")
        assert done.exit_code == 0, done.stderr
        assert json.loads(done.stdout)["metrics"] == scores
    forget()
    done = run("evaluate", *file, "--edges", "my_edges:OTHER")
    assert "'edges' must be those of the training" in done.stderr


def test_predict_and_embed(checkpoint, run, tmp_path):
    rows = "a,b\nann saw bob,bob saw ann\n"
    (tmp_path / "in.csv").write_text(rows)
    predict = ["predict", "--checkpoint", "trained/best.ckpt", "--input", "in.csv", "--text-columns", "a,b"]
    embed = ["embed", "--checkpoint", "trained/best.ckpt", "ann saw bob"]
    for command in (predict, embed):
        forget()
        done = run(*command, "--parser", "chain")
        assert done.exit_code == 2
        assert "edges 'my_edges:ROOTED' are not known here" in done.stderr
        assert "my_edges" not in sys.modules
        done = run(*command, "--parser", "chain", "--edges", "my_edges:OTHER")
        assert "trained/best.ckpt: 'edges' must be those of the training" in done.stderr
        done = run(*command, "--parser", "chain", "--edges", "my_edges:SAME")
        assert done.exit_code == 0, done.stderr


def test_rows_by_edges(run, tiny, tmp_path):
    arguments = ["ablate", "--models", "dt-lr", "--edges", "dra,my_edges:ROOTED,transformer", "--seeds", "1"]
    arguments += [*tiny, "--set", "labels=false"]
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [row["name"] for row in summary["rows"]] == [
        "dt-lr edges=dra",
        "dt-lr edges=my_edges:ROOTED",
        "dt-lr edges=transformer",
    ]
    assert {row["model"] for row in summary["rows"]} == {"dt-lr"}
    assert [row["label"] for row in summary["rows"]] == ["dra", "my_edges:ROOTED", "transformer"]
    assert summary["title"] == "SICK-E, dt-lr, labels=False"
    against = [row["against"] and row["against"]["row"] for row in summary["rows"]]
    assert against == ["dt-lr edges=transformer"] * 2 + [None]
    assert "dt-lr that attends along `((Ahead() | RootEdges" in summary["rows"][1]["about"]
    assert summary["rows"][0]["about"] == "dt-lr that attends along `dra`"
    folder = tmp_path / "runs" / "ablation_sick-e"
    table = (folder / "table.md").read_text()
    low, high = summary["rows"][1]["against"]["interval"]
    difference = summary["rows"][1]["against"]["difference"]
    cell = f"{difference:+.4f} [{low:+.4f}, {high:+.4f}]" if difference else "same predictions"
    assert f"| {cell} |" in table
    assert "difference: accuracy minus that of transformer, " in table
    assert "sick-e,dt-lr edges=my_edges:ROOTED,0,test_accuracy" in (folder / "table.csv").read_text()
    # In another process, nothing is trained again.
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("best.ckpt")}
    forget()
    again = json.loads(run(*arguments, "--json", "--reference", "dra").stdout)
    assert len(times) == 3
    assert times == {path: path.stat().st_mtime_ns for path in folder.rglob("best.ckpt")}
    assert [row["metrics"] for row in again["rows"]] == [row["metrics"] for row in summary["rows"]]
    assert [row["against"] is None for row in again["rows"]] == [True, False, False]


def test_edited_code_is_a_new_run_with_a_message(run, tiny, tmp_path):
    """Even if the edges differ only on longer texts."""
    arguments = ["ablate", "--models", "dt", "--edges", "transformer,my_edges:NEAR", "--seeds", "1", *tiny]
    window = """
class Near(EdgeConstructor):
    def build(self, nodes):
        near = (nodes.index[:, None] - nodes.index).abs() <= WIDTH
        return EdgeSet(nodes, *(near & (nodes.block[:, None] == nodes.block)).nonzero().T)
NEAR = Near() | RootEdges() | SelfLoops()
"""
    told, kept = [], []
    for width in ("20", "20", "200"):
        (tmp_path / "my_edges.py").write_text(CODE + window + f"WIDTH = {width}\n")
        forget()
        done = run(*arguments, "--json")
        assert done.exit_code == 0, done.stderr
        told.append([line for line in done.stderr.splitlines() if "had other edges of your own" in line])
        kept.append(json.loads(done.stdout)["rows"][1]["checkpoints"][0])
    assert told[:2] == [[], []]
    assert kept[0] == kept[1] != kept[2]
    (line,) = told[2]
    assert line.startswith("[2/2] dt edges=my_edges:NEAR seed 0 a new run: ")
    assert kept[0].removesuffix("/best.ckpt") in line
    assert len([*tmp_path.rglob("best.ckpt")]) == 3


def test_a_model_on_its_own_edges_is_the_same_run(run, tiny, tmp_path):
    """``dt`` on the edges ``dt`` is not trained again."""
    run("ablate", "--models", "dt", "--seeds", "1", *tiny, "--output", "out")
    done = run(
        "ablate", "--edges", "dt,dra", "--seeds", "1", *tiny, "--output", "out", "--overwrite", "--json"
    )
    rows = json.loads(done.stdout)["rows"]
    assert [row["name"] for row in rows] == ["dt edges=dt", "dt edges=dra"]
    assert "on edges" not in rows[0]["about"]
    assert len([*tmp_path.rglob("best.ckpt")]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--models", "dt,dt-lr", "--edges", "dra,dt"],
            "'edges' as rows need a single model, but 'models' are",
        ),
        (["--edges", "dra,dra"], "'edges' must name at least one, each once (got ['dra', 'dra'])"),
        (["--edges", "dra,dt", "--set", "edges=g2g"], "'edges' are the rows and cannot be a setting, too"),
        (["--edges", "dra,dt", "--reference", "g2g"], "'reference' must be one of dra, dt (got"),
        (["--edges", "dra,my_edges:Nothing"], "module 'my_edges' has no 'Nothing'"),
        (["--edges", "dra,drat"], "model 'dt': no edges 'drat' (did you mean 'dra'?)"),
    ],
)
def test_invalid_rows(run, arguments, message):
    done = run("ablate", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_edges:Ahed", "module 'my_edges' has no 'Ahed' (did you mean 'Ahead'?)"),
        ("my_edges:NUMBER", "'factory' must make a transform, or be one (got 3)"),
        ("my_edges:Group.take", "module 'my_edges' has no 'Group.take'"),
        ("your_edges:Ahead", "no module 'your_edges' in "),
        ("my_edges.py:Ahead", "(module names have no .py)"),
        ("my edges:Ahead", "your own 'edges' are named package.module:Name (got 'my edges:Ahead')"),
        ("my_edges:", "named package.module:Name"),
        ("Ahead", "'edges' must be one of transformer, "),
    ],
)
def test_invalid_names(run, name, message):
    for arguments in (["--edges", name], ["--set", f"edges={name}"]):
        done = run("train", *arguments)
        assert done.exit_code == 2
        assert message in done.stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import no_such_package", "No module named 'no_such_package'"),
        ("def (:", "invalid syntax (needy.py, line 1)"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_errors_of_a_module_are_named(run, tmp_path, monkeypatch, code, message):
    monkeypatch.delitem(sys.modules, "needy", raising=False)
    (tmp_path / "needy.py").write_text(code)
    done = run("train", "--edges", "needy:Ahead")
    assert done.exit_code == 2
    assert (
        done.stderr
        == f"graphdep: error: 'edges' 'needy:Ahead': module 'needy' cannot be imported: {message}\n"
    )


def test_nested_objects_and_repeated_imports(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert import_edges("my_edges:Group.make") == "my_edges:Group.make"
    assert repr(resolve("my_edges:Group.make")).startswith("((Ahead()")
    assert import_edges("dra") == "dra"


def test_only_options_import_modules(monkeypatch, tmp_path):
    """Neither settings in Python nor in a file import anything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="'edges' must be one of .*got 'my_edges:ROOTED'"):
        TrainConfig.of("dt", edges="my_edges:ROOTED")
    assert "my_edges" not in sys.modules


@pytest.mark.slow
def test_a_new_process_gives_the_same_scores_and_imports_from_the_current_folder(checkpoint, fresh, corpus):
    options = ["--checkpoint", checkpoint["checkpoint"], *corpus, "--split", "test"]
    again = fresh("evaluate", *options, "--edges", "my_edges:ROOTED", "--json")
    assert again["metrics"] == {k: v for k, v in checkpoint["metrics"].items() if k.startswith("test_")}
    assert again["floor"].items() <= checkpoint["floor"].items()
