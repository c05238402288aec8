"""Parsers of treebanks: what they are trained on, and that one comes out."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphdep.cli import app
from graphdep.parsing import resolve_parser
from graphdep.parsing.treebanks import read_splits


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


def test_one_treebank(tmp_path):
    splits = read_splits([treebank(tmp_path / "a", train=3, dev=2, test=1)], None)
    assert {split: len(sentences) for split, sentences in splits.items()} == {"train": 3, "dev": 2, "test": 1}
    assert words(splits["dev"]) == ["a-dev-0", "a-dev-1"]
    assert all("\tNN\t" in sentence for sentences in splits.values() for sentence in sentences)


def test_joined_treebanks(tmp_path):
    first = treebank(tmp_path / "a", dev=7, test=2)
    whole = treebank(tmp_path / "b", train=2, dev=1, test=1)
    only_test = treebank(tmp_path / "c", xpos="_", test=2)
    splits = read_splits([first, whole, only_test], None)
    own = [f"a-dev-{i}" for i in (1, 2, 3, 4, 6)]
    assert words(splits["train"]) == [*own, "b-train-0", "b-train-1", "c-test-0", "c-test-1"]
    assert words(splits["dev"]) == ["a-dev-0", "a-dev-5"]
    assert words(splits["test"]) == ["a-test-0", "a-test-1"]
    # One treebank has no XPOS, so that none has; the rest of a line stays.
    assert splits["train"][0] == "# sent_id = 1\n1\ta-dev-1\t_\tNOUN\t_\t_\t0\troot\t_\t_"
    limited = read_splits([first, whole, only_test], 1)
    assert words(limited["train"]) == ["b-train-0", "c-test-0"]


def test_missing_files(tmp_path):
    first = treebank(tmp_path / "a", dev=6)
    with pytest.raises(ValueError, match=r"no \*-ud-test\.conllu in .*a"):
        read_splits([first], None)
    empty = treebank(tmp_path / "b")
    with pytest.raises(ValueError, match=r"no \*-ud-\*\.conllu in .*b"):
        read_splits([treebank(tmp_path / "c", train=1, dev=1, test=1), empty], None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("en_ewt", r"'name' must start with 'zh_' \(got 'en_ewt'\)"),
        ("zh_gsdsimp", "'zh_gsdsimp' is another treebank in stanza"),
        ("zh_combined", "'zh_combined' is another treebank in stanza"),
    ],
)
def test_names_of_models(name, message):
    from graphdep.parsing.training import check_name

    check_name("zh", "zh_ud")
    with pytest.raises(ValueError, match=message):
        check_name("zh", name)


WORDS = {"Wir": "PRON", "sehen": "VERB", "den": "DET", "Hund": "NOUN", "Baum": "NOUN", "hören": "VERB"}


def german(folder: Path) -> Path:
    """A treebank of German without XPOS, whose sentences are much alike."""
    folder.mkdir()
    for split, size in (("train", 24), ("dev", 4), ("test", 4)):
        sentences = []
        for i in range(size):
            forms = ["Wir", ("sehen", "hören")[i % 2], "den", ("Hund", "Baum")[i // 2 % 2]]
            heads, labels = (2, 0, 4, 2), ("nsubj", "root", "det", "obj")
            rows = [
                f"{n}\t{form}\t{form.lower()}\t{WORDS[form]}\t_\t_\t{head}\t{label}\t_\t_"
                for n, (form, head, label) in enumerate(zip(forms, heads, labels), 1)
            ]
            end = "5\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_"
            rows[-1] = rows[-1][:-1] + "SpaceAfter=No"
            text = f"# sent_id = {split}-{i}\n# text = {' '.join(forms)}.\n"
            sentences.append(text + "\n".join([*rows, end]))
        (folder / f"de-ud-{split}.conllu").write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_a_parser_of_another_language(tmp_path):
    options = ["--raw-from", str(german(tmp_path / "UD")), "--language", "de", "--limit", "24"]
    options += ["--budget-minutes", "0.15", "--copies", "1", "--output", str(tmp_path / "german")]
    done = CliRunner().invoke(app, ["train-parser", *options])
    assert done.exit_code == 0, done.output
    kinds = ("lemmatizer", "parser", "tagger", "tokenizer")
    names = ["SHA256SUMS", *(f"de_ud_{kind}.pt" for kind in kinds)]
    assert sorted(path.name for path in (tmp_path / "german").iterdir()) == names
    [sentence] = resolve_parser(f"bundled:{tmp_path / 'german'}").parse_words(
        [["Wir", "sehen", "den", "Baum"]]
    )
    # How much is learned depends on how fast the machine is: the budget is of time.
    assert set(sentence.upos or []) <= {*WORDS.values(), "PUNCT"}
    assert set(sentence.deprel) <= {"nsubj", "root", "det", "obj", "punct"}
    assert sentence.xpos is None  # the treebank has none


def test_a_split_of_several_files_is_read_whole(tmp_path):
    folder = treebank(tmp_path / "a", train=3, dev=2, test=1)
    (first,) = folder.glob("*-ud-train.conllu")
    for part in ("a-1", "b-1"):
        first.with_name(f"x-ud-train-{part}.conllu").write_text(first.read_text())
    first.write_text("")
    assert len(read_splits([folder])["train"]) == 6
    (empty,) = folder.glob("*-ud-dev.conllu")
    empty.write_text("\n\n")
    with pytest.raises(ValueError, match="no .*-ud-dev.conllu in"):
        read_splits([folder])


def test_a_dev_split_of_one_sentence_cannot_be_trained_on_too(tmp_path):
    with pytest.raises(ValueError, match="one sentence in .*-ud-dev.conllu"):
        read_splits([treebank(tmp_path / "a", train=0, dev=1, test=1)])
