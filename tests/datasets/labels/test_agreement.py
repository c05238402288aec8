from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.loader import DataLoader

from graphdep.datasets import Agreement
from graphdep.datasets.labels.agreement import (
    auxiliary_labels,
    bracket_tree,
    bracket_words,
    changing_words,
    read_agreement,
    verb_labels,
)

MINI = Path(__file__).parents[3] / "datasets" / "mini" / "agreement" / "raw"
TENSE = {
    "train": [
        ("[ [ [ the cooks ] [ met [ [ my pilot ] [ who read ] ] ] ] . ] PRESENT",
         "[ [ the cooks ] [ meet [ [ my pilot ] [ who reads ] ] ] ] ."),
        ("[ [ [ [ the cooks ] [ that read ] ] sang ] . ] PRESENT",
         "[ [ [ the cooks ] [ that read ] ] sing ] ."),
        ("[ [ [ the cooks ] sang ] . ] PAST", "[ [ the cooks ] sang ] ."),
    ],
    "dev": [
        ("[ [ [ [ the cook ] [ near [ my pilot ] ] ] sang ] . ] PRESENT",
         "[ [ [ the cook ] [ near [ my pilot ] ] ] sings ] ."),
    ],
    "gen": [
        ("[ [ [ [ the cook ] [ who [ [ my pilots ] met ] ] ] missed ] . ] PRESENT",
         "[ [ [ the cook ] [ who [ [ my pilots ] meet ] ] ] misses ] ."),
        ("[ [ [ [ the cooks ] [ who [ met [ my pilot ] ] ] ] missed ] . ] PRESENT",
         "[ [ [ the cooks ] [ who [ meet [ my pilot ] ] ] ] miss ] ."),
    ],
    "test": [("[ [ [ the cook ] sang ] . ] PRESENT", "[ [ the cook ] sings ] .")],
}  # fmt: skip
QUESTION = {
    "train": [
        ("[ [ [ the cook ] [ does [ meet [ [ my pilots ] [ who [ don't sing ] ] ] ] ] ] . ] quest",
         "[ does [ [ the cook ] [ meet [ [ my pilots ] [ who [ don't sing ] ] ] ] ] ] ?"),
        ("[ [ [ [ the cook ] [ who [ does sing ] ] ] [ doesn't read ] ] . ] decl",
         "[ [ [ the cook ] [ who [ does sing ] ] ] [ doesn't read ] ] ."),
    ],
    "dev": [("[ [ [ the cooks ] [ don't sing ] ] . ] quest", "[ don't [ [ the cooks ] sing ] ] ?")],
    "gen": [
        ("[ [ [ [ the cook ] [ who [ does sing ] ] ] [ doesn't read ] ] . ] quest",
         "[ doesn't [ [ [ the cook ] [ who [ does sing ] ] ] read ] ] ?"),
    ],
}  # fmt: skip
FILES = {"tense": TENSE, "question": QUESTION}


def without(text: str) -> str:
    return " ".join(text.replace("[", "").replace("]", "").split())


@pytest.fixture
def write(tmp_path):
    """Writes the files of a task into a folder, with or without brackets, and returns it."""

    def write_files(name: str, *, brackets: bool = True, leave_out: str = "") -> Path:
        folder = tmp_path / f"{name}-files"
        folder.mkdir(exist_ok=True)
        for ending, rows in FILES[name].items():
            lines = [(pair if brackets else tuple(map(without, pair))) for pair in rows]
            if ending != leave_out:
                path = folder / f"{name}{'_bracket' * brackets}.{ending}"
                path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
        return folder

    return write_files


def named(dataset: Agreement, number: int) -> dict[int, str]:
    """The labels of an example, by word index."""
    return {place: dataset.labels[y] for place, y in enumerate(dataset[number].y.tolist()) if y != -100}


def test_numbers_of_verbs(tmp_path, write):
    sets = {s: Agreement(tmp_path / "a", s, raw_from=write("tense")) for s in ("train", "val", "test")}
    assert [len(dataset) for dataset in sets.values()] == [2, 1, 2]
    train = sets["train"]
    assert train.labels == ("plural", "singular")
    # "read" is its own plural, and the brackets say that it is a verb.
    assert [named(train, n) for n in (0, 1)] == [{2: "plural", 6: "singular"}, {3: "plural", 4: "plural"}]
    assert named(sets["val"], 0) == {5: "singular"}
    assert [named(sets["test"], n) for n in (0, 1)] == [{6: "singular"}, {6: "plural"}]  # "miss" is plural
    assert train.describe()["left_out_rows"] == 1
    assert train.describe()["note"] == (
        "4 of 14 words are scored by their number; 1 rows of its file are flagged PAST and left out"
    )
    assert Agreement(tmp_path / "a").describe() == train.describe()  # from the processed file
    assert train[0].deprel.tolist() != sets["val"][0].deprel.tolist()
    assert next(iter(DataLoader(sets["test"], batch_size=2))).y.shape == (16,)


def test_the_input_does_not_show_the_number(tmp_path, write):
    dataset = Agreement(tmp_path / "a", "test", raw_from=write("tense"))
    rows = read_agreement(Path(dataset.raw_dir, "tense_bracket.gen"), "tense", brackets=True)
    assert [row.words[-2] for row in rows] == ["missed", "missed"]


def test_the_main_verb_alone(tmp_path, write):
    dataset = Agreement(tmp_path / "a", raw_from=write("tense"), verbs="main", labels=("plural", "singular"))
    assert [named(dataset, n) for n in (0, 1)] == [{2: "plural"}, {4: "plural"}]


def test_auxiliaries(tmp_path, write):
    options = {"name": "question", "raw_from": write("question")}
    train, test = (Agreement(tmp_path / "a", split, **options) for split in ("train", "test"))
    assert named(train, 0) == {2: "front", 7: "stays"}
    assert named(test, 0) == {3: "stays", 5: "front"}
    assert (len(train), train.describe()["left_out_rows"]) == (1, 1)
    assert (
        "scored by whether they go in front; 1 rows of its file are flagged decl" in train.describe()["note"]
    )


@pytest.mark.parametrize("name", ["tense", "question"])
def test_files_without_brackets_have_the_same_labels(tmp_path, write, name):
    gold = Agreement(tmp_path / "gold", "test", name=name, raw_from=write(name))
    folder = write(name, brackets=False, leave_out="x")
    for path in folder.glob("*_bracket.*"):
        path.unlink()
    plain = Agreement(tmp_path / "plain", "test", "chain", name=name, raw_from=folder)
    assert plain.form_id.tolist() == gold.form_id.tolist()
    assert plain.y.tolist() == gold.y.tolist()
    with pytest.raises(FileNotFoundError, match=rf"{name}_bracket.train \(with train_from='test'.*is not in"):
        Agreement(tmp_path / "plain", name=name)
    # A parser also reads files with brackets.
    assert Agreement(tmp_path / "gold", "test", "chain", name=name).y.tolist() == gold.y.tolist()


def test_training_on_the_test_file(tmp_path, write):
    folder = write("tense", leave_out="train")
    with pytest.raises(
        FileNotFoundError, match="with train_from='test', the test file of the same distribution"
    ):
        Agreement(tmp_path / "a", raw_from=folder, labels=("plural", "singular"))
    options = {"raw_from": folder, "labels": ("plural", "singular"), "train_from": "test"}
    assert len(Agreement(tmp_path / "b", **options)) == 1
    with pytest.raises(ValueError, match=r"'split' must be one of train, val, test \(got 'test-indist'\)"):
        Agreement(tmp_path / "b", "test-indist", **options)
    assert len(Agreement(tmp_path / "c", "test-indist", raw_from=write("tense"))) == 1


def test_damaged_brackets_and_words_that_change_without_being_verbs(tmp_path, write):
    folder = write("tense")
    path = folder / "tense_bracket.gen"
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole + "[ [ the cook ] sang PRESENT\t[ the cook ] sings\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"tense_bracket\.gen:3: 1 '\[' are never closed"):
        Agreement(tmp_path / "a", raw_from=folder)
    path.write_text("[ [ the cook ] sang ] PRESENT\t[ ]\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"tense_bracket\.gen:1: 'output' must be a text of"):
        Agreement(tmp_path / "a", raw_from=folder)
    path.write_text("[ [ the cook ] sang ] PRESENT\t[ [ the cooks ] sing ]\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"tense_bracket\.gen:1: word 2 changes, but is not a verb .*'cook cooks'"
    ):
        Agreement(tmp_path / "a", raw_from=folder)


@pytest.mark.parametrize("ending", ["dev", "gen"])
def test_words_and_brackets_agree_on_the_verbs(tmp_path, ending):
    """With and without brackets the same verbs are found in the self-written corpus."""
    path = MINI / f"tense_bracket.{ending}"
    plain = tmp_path / f"tense.{ending}"
    lines = path.read_text(encoding="utf-8").splitlines()
    plain.write_text("".join("\t".join(map(without, x.split("\t"))) + "\n" for x in lines), encoding="utf-8")
    both = [
        [row for row in read_agreement(file, "tense", brackets=brackets) if row.flag == "PRESENT"]
        for file, brackets in ((path, True), (plain, False))
    ]
    verbs = changing_words(both[1])
    assert [verb_labels(row, verbs) for row in both[0]] == [verb_labels(row, verbs) for row in both[1]]


def test_an_auxiliary_beside_its_like(tmp_path):
    path = tmp_path / "question.dev"
    path.write_text("the cook does does sing . quest\tdoes the cook does sing ?\n", encoding="utf-8")
    (row,) = read_agreement(path, "question", brackets=False)
    with pytest.raises(ValueError, match="the output is not the input with one auxiliary in front"):
        auxiliary_labels(row)


PATH = Path("tense_bracket.dev")


class Built:
    """A constituent with its bracketed text, its words, their heads and labels, and its top word."""

    def __init__(self, text, any_word, arcs, top):
        self.text, self.words, self.arcs, self.top = text, any_word, arcs, top

    @classmethod
    def word(cls, word):
        return cls(word, [word], {}, 0)

    def __add__(self, other):
        shift = len(self.words)
        arcs = {word + shift: (head + shift, label) for word, (head, label) in other.arcs.items()}
        text = f"[ {self.text} {other.text} ]"
        return Built(text, [*self.words, *other.words], self.arcs | arcs, self.top)

    def join(self, other, label, *, head):
        """Both as one constituent; ``head`` is 0 if the first has the head, else 1."""
        both = self + other
        tops = (self.top, other.top + len(self.words))
        both.arcs[tops[1 - head]] = (tops[head], label)
        both.top = tops[head]
        return both


def any_word(*some):
    return st.sampled_from(some).map(Built.word)


NOUNS, VERBS = any_word("cook", "cooks", "pilots"), any_word("sang", "met", "saw")
PLAIN = st.builds(lambda a, b: a.join(b, "det", head=1), any_word("the", "my", "Our"), NOUNS)
PLACES = st.builds(lambda a, b: a.join(b, "case", head=1), any_word("near", "by"), PLAIN)


def extend(phrases):
    verbs = st.builds(lambda a, b: a.join(b, "obj", head=0), VERBS, phrases) | VERBS
    verbs |= st.builds(lambda a, b: a.join(b, "aux", head=1), any_word("does", "don't"), verbs)
    clauses = st.builds(lambda a, b: a.join(b, "nsubj", head=1), phrases, verbs)
    relative = st.builds(lambda a, b: a.join(b, "mark", head=1), any_word("who", "that"), verbs | clauses)
    modified = st.builds(lambda a, b: a.join(b, "acl:relcl", head=0), phrases, relative)
    return modified | st.builds(lambda a, b: a.join(b, "nmod", head=0), phrases, PLACES)


PHRASES = st.recursive(PLAIN, extend, max_leaves=8)
VERB_PHRASES = VERBS | st.builds(lambda a, b: a.join(b, "obj", head=0), VERBS, PHRASES)
SENTENCES = st.builds(
    lambda a, b, stop: a.join(b, "nsubj", head=1).join(stop, "punct", head=0),
    PHRASES,
    VERB_PHRASES,
    any_word(".", "?"),
)


@settings(max_examples=40)
@given(SENTENCES)
def test_the_tree_is_the_one_that_was_built(built):
    tree = bracket_tree(PATH, 1, built.text)
    assert list(tree.form) == built.words == bracket_words(PATH, 1, built.text)
    arcs = {word: (head - 1, label) for word, (head, label) in enumerate(zip(tree.head, tree.deprel)) if head}
    assert arcs == built.arcs
    assert tree.head[built.top] == 0
    assert tree.deprel[built.top] == "root"


@settings(max_examples=40)
@given(SENTENCES, st.data())
def test_brackets_around_a_part_change_nothing_and_lost_ones_are_seen(built, data):
    tokens = built.text.split()
    tree = bracket_tree(PATH, 1, built.text)
    place = data.draw(st.sampled_from([i for i, token in enumerate(tokens) if token not in "[]"]))
    more = [*tokens[:place], "[", tokens[place], "]", *tokens[place + 1 :]]
    assert bracket_tree(PATH, 1, " ".join(more)) == tree
    lost = data.draw(st.sampled_from([i for i, token in enumerate(tokens) if token in "[]"]))
    with pytest.raises(
        ValueError, match=r"tense_bracket\.dev:7: (a ']' closes nothing|1 '\[' are never closed)"
    ):
        bracket_tree(PATH, 7, " ".join(tokens[:lost] + tokens[lost + 1 :]))


def test_many_brackets():
    deep = "[ " * 5000 + "[ [ the cook ] sang ]" + " ]" * 5000
    assert bracket_tree(PATH, 1, deep).head == [2, 3, 0]
