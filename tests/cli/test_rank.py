"""The commands rank and export."""

from __future__ import annotations

import json
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub.utils import filter_repo_objects
from typer.testing import CliRunner

from graphdep import ResponseSelector
from graphdep.cli import app
from graphdep.training import TrainConfig, train
from tests.kit.tiny_corpora import write_tiny_selection

POOLS = [
    {"context": ["ann saw bob"], "candidates": ["bob met cid", "ann met bob", "dan met cid"]},
    {"context": ["cid met ann", "ann saw bob"], "candidates": ["cid met ann"], "id": 7, "ranking": "old"},
]


@pytest.fixture(scope="module")
def pools(tmp_path_factory) -> dict[str, str]:
    return write_tiny_selection(tmp_path_factory.mktemp("pools"))


@pytest.fixture(scope="module")
def checkpoint(pools, tmp_path_factory) -> str:
    """A model trained on trees from a file, so that its parser must be given."""
    from graphdep.training import TrainConfig, train

    settings = {"encoder": "transformer", "hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 2}
    settings |= {"max_epochs": 1, "accelerator": "cpu", "lr": 0.01}
    config = TrainConfig.of("bert-sia", task="ubuntu", **pools, **settings)
    return train(config, tmp_path_factory.mktemp("run"))["checkpoint"]


@pytest.fixture
def rank(checkpoint, pools, tmp_path):
    """Ranks pools, or raw lines; returns the result and the path of the output."""

    def call(rows, *arguments, output=True):
        lines = rows if isinstance(rows, bytes) else "".join(json.dumps(row) + "\n" for row in rows).encode()
        source, out = tmp_path / "pools.jsonl", tmp_path / "out.jsonl"
        source.write_bytes(lines)
        command = ["rank", "--checkpoint", checkpoint, "--parser", pools["parser"], "--input", str(source)]
        command += ["--output", str(out)] if output else []
        return CliRunner().invoke(app, [*command, *arguments]), out

    return call


def test_lines_are_kept_and_get_ranking_and_scores(rank, checkpoint, pools):
    result, out = rank(POOLS)
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["context"] for row in rows] == [pool["context"] for pool in POOLS]
    assert rows[1]["id"] == 7
    assert rows[1]["ranking"] == [0]
    assert sorted(rows[0]["ranking"]) == [0, 1, 2]
    assert rows[0]["scores"][rows[0]["ranking"][0]] == max(rows[0]["scores"])
    alone = ResponseSelector(checkpoint, parser=pools["parser"]).rank(**POOLS[0])
    assert rows[0]["scores"] == pytest.approx(alone.scores, abs=1e-6)
    assert "2 pools, 4 candidates" in result.stderr


def test_stdout_and_summary(rank):
    result, _ = rank(POOLS, output=False)
    assert len(result.stdout.splitlines()) == 2
    result, out = rank(POOLS, "--json")
    summary = json.loads(result.stdout)
    assert summary["cut_words"] == {"context": 0, "candidates": 0}
    assert summary["output"] == str(out)
    result, _ = rank(POOLS, "--json", output=False)
    assert result.exit_code == 2
    assert "--json needs --output" in result.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"context": ["ann saw bob"]}', "pools.jsonl:2: must be an object with a non-empty list"),
        (b'{"context": ["ann"], "candidates": []}', "must be an object with a non-empty list 'candidates'"),
        (b'{"context": ["ann"], "candidates": ["bob", " "]}', "'candidates[1]' is blank: a candidate has"),
        (b"{", "pools.jsonl:2: no JSON"),
    ],
)
def test_an_invalid_line_is_named_and_nothing_is_written(rank, line, message):
    result, out = rank(json.dumps(POOLS[0]).encode() + b"\n" + line + b"\n")
    assert result.exit_code != 0
    assert message in " ".join(result.stderr.split())
    assert not out.exists()


def test_a_checkpoint_of_another_task_is_refused(rank, tmp_path, pools):
    from graphdep.training import TrainConfig, train
    from tests.kit.tiny_corpora import write_tiny_sst

    corpus = write_tiny_sst(tmp_path / "sst")
    sizes = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 1, "max_epochs": 1}
    other = train(TrainConfig.of("dt", task="sst", **corpus, **sizes), tmp_path / "run")["checkpoint"]
    result, _ = rank(POOLS, "--checkpoint", other)
    assert result.exit_code != 0
    assert "which gives sentence vectors, not rankings: see graphdep.SentenceEncoder" in " ".join(
        result.stderr.split()
    )


@pytest.fixture(scope="module")
def trained(opinions, tmp_path_factory):
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "max_epochs": 1}
    folder = tmp_path_factory.mktemp("run")
    train(TrainConfig.of("dt", **opinions, **sizes, accelerator="cpu"), folder)
    return folder


def test_every_command_takes_an_exported_folder(run, trained, tmp_path):
    done = run("export", "--checkpoint", trained, "--output", tmp_path / "model", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["pushed"] is None
    answers = [
        run("predict", "--checkpoint", place, "--parser", "chain", "A fine film.").stdout
        for place in (trained, tmp_path / "model")
    ]
    assert answers[0] == answers[1] != ""
    again = run("export", "--checkpoint", tmp_path / "model", "--output", tmp_path / "copy")
    assert again.exit_code == 0, again.stderr
    kept = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("model", "copy")]
    assert kept[0] == kept[1]


def test_an_export_replaces_only_exports(run, trained, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "README.md").write_text("# My thesis")
    command = ["export", "--checkpoint", trained, "--output", tmp_path / "project"]
    done = run(*command)
    assert done.exit_code == 2
    assert "project/README.md exists, not from an export of this model, and would" in done.stderr
    assert "--overwrite" in done.stderr
    assert [path.name for path in (tmp_path / "project").iterdir()] == ["README.md"]
    for options in (["--overwrite"], []):  # and then it is an export
        assert run(*command, *options).exit_code == 0
        assert "library_name: graphdep" in (tmp_path / "project" / "README.md").read_text()


def test_only_files_of_the_model_are_uploaded(run, trained, tmp_path, monkeypatch):
    names = ["README.md", "config.json", "model.safetensors", "relations.json", "run.yaml", "vocab.json"]
    uploaded = []

    def upload(self, *, repo_id, folder_path, allow_patterns):
        files = [str(path.relative_to(folder_path)) for path in folder_path.rglob("*") if path.is_file()]
        uploaded.extend(filter_repo_objects(files, allow_patterns=allow_patterns))
        return f"at {repo_id}"

    repository = SimpleNamespace(repo_id="ann/model")
    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", lambda self, *_, **__: repository)
    monkeypatch.setattr(huggingface_hub.HfApi, "upload_folder", upload)
    folder = tmp_path / "project"
    for name in (".env", "customers.csv", "secrets/api_key.txt", "old/README.md", "old/config.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret")
    done = run("export", "--checkpoint", trained, "--output", folder, "--push", "ann/model")
    assert done.stdout == "at ann/model\n", done.stderr
    assert sorted(uploaded) == names
    told = done.stderr.partition("uploading to ann/model: ")[2].splitlines()[0]
    assert sorted(told.split(", ")) == names


def test_invalid_exports(run, trained, tmp_path):
    (tmp_path / "file").write_text("")
    for options, message in (
        (["--output", tmp_path / "file"], "is a file"),
        (["--output", trained], "is the folder of a run with best.ckpt"),
        (["--output", tmp_path / "model", "--private"], "--private is for --push"),
    ):
        done = run("export", "--checkpoint", trained, *options)
        assert done.exit_code == 2
        assert message in done.stderr
