from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from graphdep import ResponseSelector
from graphdep.cli import app
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
    """A trained model; the parser that it remembers looks the trees up in a file, and has to be given."""
    from graphdep.training import TrainConfig, train

    settings = {"encoder": "transformer", "hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 2}
    settings |= {"max_epochs": 1, "accelerator": "cpu", "lr": 0.01}
    config = TrainConfig.of("bert-sia", task="ubuntu", **pools, **settings)
    return train(config, tmp_path_factory.mktemp("run"))["checkpoint"]


@pytest.fixture
def rank(checkpoint, pools, tmp_path):
    """Ranks pools, or lines as they are; gives the result and the path of the output."""

    def call(rows, *arguments, output=True):
        lines = rows if isinstance(rows, bytes) else "".join(json.dumps(row) + "\n" for row in rows).encode()
        source, out = tmp_path / "pools.jsonl", tmp_path / "out.jsonl"
        source.write_bytes(lines)
        command = ["rank", "--checkpoint", checkpoint, "--parser", pools["parser"], "--input", str(source)]
        command += ["--output", str(out)] if output else []
        return CliRunner().invoke(app, [*command, *arguments]), out

    return call


def test_lines_keep_what_they_have_and_get_ranking_and_scores(rank, checkpoint, pools):
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
        (b'{"context": ["ann saw bob"]}', "pools.jsonl:2: no object with 'candidates'"),
        (b'{"candidates": ["ann saw bob"]}', "pools.jsonl:2: no object with 'context'"),
        (
            b'{"context": [], "candidates": ["ann saw bob"]}',
            "'context' must be a list of at least one string",
        ),
        (b'{"context": ["ann"], "candidates": []}', "'candidates' must be a list of at least one string"),
        (b'{"context": ["ann"], "candidates": ["bob", " "]}', "'candidates[1]' is blank: a candidate has"),
        (b'{"context": ["ann"], "candidates": "bob"}', "'candidates' must be a list"),
        (b'{"context": ["ann"], "candidates": ["a"], "candidates": ["b"]}', "pools.jsonl:2: no JSON"),
        (b"[1]", "no object with 'context'"),
        (b"{", "pools.jsonl:2: no JSON"),
        (b'{"context": ["\xff"]}', "UTF-8"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(rank, line, message):
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
    assert "which gives no rankings but sentence vectors: see graphdep.SentenceEncoder" in " ".join(
        result.stderr.split()
    )


def test_a_long_text_has_its_line_or_is_cut(rank):
    rows = [POOLS[0], {"context": ["ann saw bob"], "candidates": ["ann saw bob ann", "ann saw bob"]}]
    result, out = rank(rows, "--max-words", 3)
    assert result.exit_code == 2
    assert "pools.jsonl:2: 'candidates[0]' has more than max_words=3 words" in result.stderr
    assert not out.exists()
    result, out = rank(rows, "--max-words", 3, "--truncate")
    assert result.exit_code == 0, result.stderr
    assert json.loads(out.read_text().splitlines()[1])["candidates"] == rows[1]["candidates"]
