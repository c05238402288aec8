from __future__ import annotations

import pytest

import graphdep
from graphdep.cli.common import describe


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ([], ["demo", "parse", "train", "evaluate", "ablate", "compare", "embed"]),
        (["parse"], ["TEXT_OR_FILE", "--parser", "--output", "one text a line", 'graphdep parse "']),
        (
            ["train"],
            [
                "--task",
                "--model",
                "--edges",
                "--raw-from",
                "--limit-train",
                "--set",
                "--resume",
                "graphdep train",
            ],
        ),
        (["evaluate"], ["--checkpoint", "--split", "--json"]),
        (["ablate"], ["--models", "--seeds", "--output", "Interrupted", "graphdep ablate --task sick-r"]),
        (["compare"], ["pattern in quotes", "--metric", "--samples", "--task", "graphdep compare runs"]),
        (["demo"], ["--output", "minutes"]),
    ],
)
def test_help_says_what_there_is(run, command, texts):
    done = run(*command, "--help")
    assert done.exit_code == 0
    for text in texts:
        assert text in done.stdout


def test_version(run):
    assert run("--version").stdout.strip() == f"graphdep {graphdep.__version__}"


def test_wrong_usage_goes_to_stderr(run):
    done = run("train", "--nonsense")
    assert done.exit_code == 2
    assert "--nonsense" in done.stderr
    assert done.stdout == ""


def test_errors_of_the_package_are_documented_ones():
    """They are said as they are: only what nobody has foreseen has a name and shows where."""
    import graphdep.datasets.labels.cogs
    import graphdep.sentence.ptb
    import graphdep.training.run  # noqa: F401 they are known once they are imported

    kinds, found = [ValueError], []
    while kinds:
        kinds += kinds.pop().__subclasses__()
        found += [kind for kind in kinds if kind.__module__.startswith("graphdep.") and kind not in found]
    assert {"FolderInUseError", "PtbError", "MisfitError"} <= {kind.__name__ for kind in found}
    for kind in found:
        error = kind.__new__(kind)
        error.args = ("what it says",)
        assert "GRAPHDEP_DEBUG" not in describe(error), kind
