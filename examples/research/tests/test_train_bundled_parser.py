"""Which sentences of which treebanks a parser is trained on."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "train_bundled_parser.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Callable]:
    return runpy.run_path(str(SCRIPT), run_name="script")


def treebank(folder: Path, xpos: str = "NN", **sizes: int) -> Path:
    """Sentences of one word, which says where it is from."""
    folder.mkdir()
    for split, size in sizes.items():
        rows = [
            f"# sent_id = {i}\n1\t{folder.name}-{split}-{i}\t_\tNOUN\t{xpos}\t_\t0\troot\t_\t_"
            for i in range(size)
        ]
        (folder / f"x-ud-{split}.conllu").write_text("\n\n".join(rows) + "\n\n", encoding="utf-8")
    return folder


def words(sentences: list[str]) -> list[str]:
    return [sentence.split("\t")[1] for sentence in sentences]


def test_one_treebank(script, tmp_path):
    splits = script["splits"]([treebank(tmp_path / "a", train=3, dev=2, test=1)], None)
    assert {split: len(sentences) for split, sentences in splits.items()} == {"train": 3, "dev": 2, "test": 1}
    assert words(splits["dev"]) == ["a-dev-0", "a-dev-1"]
    assert all("\tNN\t" in sentence for sentences in splits.values() for sentence in sentences)


def test_joined_treebanks(script, tmp_path):
    first = treebank(tmp_path / "a", dev=7, test=2)
    whole = treebank(tmp_path / "b", train=2, dev=1, test=1)
    only_test = treebank(tmp_path / "c", xpos="_", test=2)
    splits = script["splits"]([first, whole, only_test], None)
    own = [f"a-dev-{i}" for i in (1, 2, 3, 4, 6)]
    assert words(splits["train"]) == [*own, "b-train-0", "b-train-1", "c-test-0", "c-test-1"]
    assert words(splits["dev"]) == ["a-dev-0", "a-dev-5"]
    assert words(splits["test"]) == ["a-test-0", "a-test-1"]
    # One treebank has no XPOS, so that none has; the rest of a line stays.
    assert splits["train"][0] == "# sent_id = 1\n1\ta-dev-1\t_\tNOUN\t_\t_\t0\troot\t_\t_"
    limited = script["splits"]([first, whole, only_test], 1)
    assert words(limited["train"]) == ["b-train-0", "c-test-0"]


def test_missing_files(script, tmp_path):
    first = treebank(tmp_path / "a", dev=6)
    with pytest.raises(SystemExit, match=r"no \*-ud-test\.conllu in .*a"):
        script["splits"]([first], None)
    empty = treebank(tmp_path / "b")
    with pytest.raises(SystemExit, match=r"no \*-ud-\*\.conllu in .*b"):
        script["splits"]([treebank(tmp_path / "c", train=1, dev=1, test=1), empty], None)


def test_names_of_models(script):
    shorthand = script["shorthand"]
    assert [shorthand("en", None), shorthand("zh", None), shorthand("zh", "zh_joined")] == [
        "en_ewt",
        "zh_ud",
        "zh_joined",
    ]
    with pytest.raises(SystemExit, match=r"must start with 'zh_' \(got 'en_ewt'\)"):
        shorthand("zh", "en_ewt")
    for name in ("zh_gsdsimp", "zh_combined"):  # which stanza has rules of its own for
        with pytest.raises(SystemExit, match=f"'{name}' means another thing to stanza"):
            shorthand("zh", name)
