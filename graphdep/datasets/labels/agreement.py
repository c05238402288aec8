"""Subject-verb agreement, with trees of brackets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from graphdep.datasets.base.raw import TEXT, check_forms, one_of, read_table, row_error
from graphdep.datasets.base.words import WordOptions
from graphdep.datasets.labels.base import LabelDataset
from graphdep.datasets.labels.words import LabelledWords
from graphdep.io.limits import check_choice
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence

OPEN, CLOSE = "[", "]"
DETERMINERS = frozenset("the a an some any my your our her his its their".split())
PREPOSITIONS = frozenset(
    "above around at behind below beside between by for from in near of on over to under upon with".split()
)
RELATIVES = frozenset("that who whom which".split())
AUXILIARIES = frozenset("do does did don't doesn't didn't".split())
PUNCTUATION = frozenset(". ? !".split())


class Rule(NamedTuple):
    """How two parts make a constituent.

    Args:
        head: The part with the head: 0 for the first, 1 for the second.
        label: The relation of the other part's head to this head.
        kind: The kind of the constituent.
    """

    head: int
    label: str
    kind: str


RULES: dict[tuple[str, ...], Rule] = {
    ("det", "word"): Rule(1, "det", "np"),
    ("prep", "np"): Rule(1, "case", "pp"),
    ("np", "pp"): Rule(0, "nmod", "np"),
    ("rel", "word"): Rule(1, "mark", "rc"),
    ("rel", "vp"): Rule(1, "mark", "rc"),
    ("rel", "clause"): Rule(1, "mark", "rc"),
    ("np", "rc"): Rule(0, "acl:relcl", "np"),
    ("word", "np"): Rule(0, "obj", "vp"),
    ("aux", "word"): Rule(1, "aux", "vp"),
    ("aux", "vp"): Rule(1, "aux", "vp"),
    ("np", "word"): Rule(1, "nsubj", "clause"),
    ("np", "vp"): Rule(1, "nsubj", "clause"),
    ("clause", "punct"): Rule(0, "punct", "clause"),
}
"""The head rules, by the kinds of two parts.

A single word is a ``det``, ``prep``, ``rel``, ``aux`` or ``punct`` if it is in the list of that kind, else a
``word``: a noun or a verb, depending on its constituent. ``that`` is a relative pronoun.
"""


class Part(NamedTuple):
    """A word or a constituent: its kind, and its head, counted from 0."""

    kind: str
    head: int


def bracket_tree(path: Path, line: int, text: str) -> Sentence:
    """The tree of a sentence with bracketed constituents; brackets are separated by spaces, as words are.

    Constituents have two parts, and a constituent of one part is that part. By :data:`RULES` one part has the
    head, on which the head of the other depends. Relations are those of Universal Dependencies, except that a
    relative pronoun is always ``mark``. Only brackets and lists of function words are used.

    Args:
        path, line: Place of the sentence, for messages.
        text: The sentence with its brackets.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.datasets.labels.agreement import bracket_tree
        >>> tree = bracket_tree(Path("a.txt"), 1, "[ [ [ the cooks ] sang ] . ]")
        >>> tree.form, tree.head, tree.deprel
        (['the', 'cooks', 'sang', '.'], [2, 3, 0, 3], ['det', 'nsubj', 'root', 'punct'])
    """
    return _Reader(path, line, text).tree()


def bracket_words(path: Path, line: int, text: str) -> list[str]:
    """The words of a sentence in brackets."""
    depth = 0
    for token in text.split():
        depth += (token == OPEN) - (token == CLOSE)
        if depth < 0:
            break
    if depth != 0:
        raise row_error(
            path,
            line,
            f"{depth} {OPEN!r} are never closed" if depth > 0 else f"a {CLOSE!r} closes nothing",
            text,
        )
    return [token for token in text.split() if token not in (OPEN, CLOSE)]


class _Reader:
    """Reads brackets from left to right without recursion."""

    def __init__(self, path: Path, line: int, text: str) -> None:
        self.path, self.line, self.text = path, line, text
        self.words = bracket_words(path, line, text)
        self.head = [0] * len(self.words)
        self.deprel = ["root"] * len(self.words)

    def tree(self) -> Sentence:
        open_parts: list[list[Part]] = [[]]
        number = 0
        for token in self.text.split():
            if token == OPEN:
                open_parts.append([])
            elif token == CLOSE:
                parts = open_parts.pop()
                open_parts[-1].append(self.joined(parts))
            else:
                open_parts[-1].append(Part(_kind(token), number))
                number += 1
        (parts,) = open_parts
        if len(parts) != 1:
            raise row_error(
                self.path,
                self.line,
                f"{len(parts)} parts outside of all brackets instead of one sentence",
                self.text,
            )
        return Sentence(self.words, self.head, self.deprel)

    def joined(self, parts: Sequence[Part]) -> Part:
        """The constituent of the parts in a pair of brackets."""
        if len(parts) == 1:
            return parts[0]
        rule = RULES.get(tuple(part.kind for part in parts))
        if rule is None:
            kinds = " and ".join(part.kind for part in parts) or "nothing"
            shown = " ".join(self.words[part.head] for part in parts) or f"{OPEN} {CLOSE}"
            raise row_error(self.path, self.line, f"no head rule for {kinds} in brackets", shown)
        head, other = parts[rule.head].head, parts[1 - rule.head].head
        self.head[other], self.deprel[other] = head + 1, rule.label
        return Part(rule.kind, head)


_LISTS = {
    "det": DETERMINERS,
    "prep": PREPOSITIONS,
    "rel": RELATIVES,
    "aux": AUXILIARIES,
    "punct": PUNCTUATION,
}


def _kind(word: str) -> str:
    return next((kind for kind, words in _LISTS.items() if word.lower() in words), "word")


FLAGS = {"tense": ("PRESENT", "PAST"), "question": ("quest", "decl")}
"""The flags of each task: for rows whose output is changed, and for those whose output is a copy."""
SINGULAR, PLURAL = "singular", "plural"
FRONT, STAYS = "front", "stays"


class AgreementRow(NamedTuple):
    """An input and its output.

    Args:
        path, line: Place of the row.
        words: The words of the input, without its flag.
        tree: The tree of the input's brackets; :obj:`None` without brackets.
        output: The words of the output.
        flag: The flag of the input.
    """

    path: Path
    line: int
    words: list[str]
    tree: Sentence | None
    output: list[str]
    flag: str

    def error(self, message: str, value: str | None = None) -> ValueError:
        return row_error(self.path, self.line, message, value)


def read_agreement(path: Path, name: str, *, brackets: bool) -> list[AgreementRow]:
    """The rows of a raw file, ``input FLAG<TAB>output``.

    Args:
        path: The file.
        name: ``"tense"`` or ``"question"``.
        brackets: Whether the sentences are in brackets.
    """
    rows = []
    forms = {"flag": one_of(*FLAGS[name]), "input": TEXT, "output": TEXT}
    for line, (text, answer) in read_table(path, ("input", "output"), header=False):
        sentence, _, flag = text.strip().rpartition(" ")
        output = bracket_words(path, line, answer) if brackets else answer.split()
        parts = {"flag": flag, "input": sentence, "output": " ".join(output)}
        check_forms(f"{path}:{line}", parts, forms)
        tree = bracket_tree(path, line, sentence) if brackets else None
        words = sentence.split() if tree is None else list(tree.form)
        rows.append(AgreementRow(path, line, words, tree, output, flag))
    return rows


def changing_words(rows: Sequence[AgreementRow]) -> frozenset[str]:
    """Verbs: the words of the inputs that are changed in any output.

    A single row does not tell all of its verbs, since some forms are equal (*read*).
    """
    pairs = (pair for row in rows for pair in zip(row.words, row.output))
    return frozenset(word for word, form in pairs if word != form)


def verb_labels(row: AgreementRow, verbs: frozenset[str]) -> tuple[list[str | None], int]:
    """The grammatical number of each verb of a sentence in the past tense, and the index of its main verb.

    The verbs are the heads of clauses in the tree, and the main verb is the root. Without a tree they are the
    words in ``verbs``, and the main verb is the first one outside of relative clauses.
    """
    if len(row.words) != len(row.output):
        raise row.error(f"{len(row.output)} words of the output for {len(row.words)} of the input")
    places, main = _tree_verbs(row.tree) if row.tree is not None else _verbs(row, verbs)
    for place, (word, form) in enumerate(zip(row.words, row.output)):
        if word != form and place not in places:
            raise row.error(f"word {place + 1} changes, but is not a verb in the brackets", f"{word} {form}")
    found = {place: _number(row.output[place]) for place in places}
    return [found.get(place) for place in range(len(row.words))], main


def auxiliary_labels(row: AgreementRow) -> list[str | None]:
    """For each auxiliary of a declarative sentence, whether the question moves it to the front."""
    front, *rest = row.output
    moved = [
        place
        for place, word in enumerate(row.words)
        if word == front and row.words[:place] + row.words[place + 1 : -1] == rest[:-1]
    ]
    if len(moved) != 1 or front not in AUXILIARIES:
        raise row.error("the output is not the input with one auxiliary in front", " ".join(row.output))
    return [
        FRONT if place == moved[0] else STAYS if word in AUXILIARIES else None
        for place, word in enumerate(row.words)
    ]


def _tree_verbs(tree: Sentence) -> tuple[list[int], int]:
    verbs = [place for place, label in enumerate(tree.deprel) if label in ("root", "acl:relcl")]
    return verbs, tree.head.index(0)


def _verbs(row: AgreementRow, verbs: frozenset[str]) -> tuple[list[int], int]:
    places, taken, main = [], 0, None
    for place, word in enumerate(row.words):
        taken += word in RELATIVES
        if word not in verbs:
            continue
        places.append(place)
        if taken:
            taken -= 1
        elif main is None:
            main = place
    if main is None:
        message = "no main verb: no word that changes stands outside of relative clauses"
        raise row_error(row.path, row.line, message)
    return places, main


def _number(verb: str) -> str:
    """The number of a verb in the present tense: *sings* is singular, *sing* and *miss* are plural."""
    return SINGULAR if verb.endswith("s") and not verb.endswith("ss") else PLURAL


ENDINGS = {"train": "train", "val": "dev", "test": "gen", "test-indist": "test"}
VERBS = ("all", "main")
TRAIN_FROM = ("train", "test")


class Agreement(LabelDataset):
    r"""The sentences of `"Does Syntax Need to Grow on Trees?" <https://aclanthology.org/2020.tacl-1.9/>`_
    as labels of words. In training, word order and the tree predict the same labels; in the test split,
    called *gen* in the paper, only the tree predicts the correct labels.

    ``"tense"``: the input is a sentence in the past tense, which does not show number. The label of a verb is
    the number of its form in the present tense of the output, ``"singular"`` or ``"plural"``. In validation
    and test splits only the main verb is scored, so that accuracy is the paper's measure (number of the main
    verb). ``"question"``: the input is a declarative sentence, and the label of an auxiliary is ``"front"``
    if the question begins with it, else ``"stays"``. All auxiliaries are scored; a sentence is correct if the
    labels of all its auxiliaries are correct.

    Rows whose output is a copy (flags ``PAST``, ``decl``) have no label and are left out; :meth:`describe`
    has their number.

    =============== ========================= ======================================
    split           file                      labels follow
    =============== ========================= ======================================
    ``train``       ``<name>_bracket.train``  from word order and from the tree
    ``val``         ``<name>_bracket.dev``    as in train
    ``test``        ``<name>_bracket.gen``    from the tree only
    ``test-indist`` ``<name>_bracket.test``   as in train
    =============== ========================= ======================================

    Head rules convert the bracketed constituents to trees
    (:func:`~graphdep.datasets.labels.agreement.bracket_tree`). With a parser, files without brackets
    (``<name>.train`` and so on) are sufficient; those with brackets are preferred.

    Args:
        root: Folder of the corpus; ``datasets/mini/agreement`` has self-written sentences.
            (default: ``"datasets/agreement"``)
        split: See above. (default: ``"train"``)
        parser: ``"gold"`` for the trees of the brackets; else a parser, or its name for
            :func:`graphdep.parsing.resolve_parser`, which parses the words. (default: ``"gold"``)
        name: ``"tense"`` or ``"question"``. (default: ``"tense"``)
        verbs: Verbs of the training split with a label: ``"all"`` or ``"main"``; ``"all"`` for questions.
            (default: ``"all"``)
        train_from: ``"train"``, or ``"test"`` to train on the test file of the same distribution, if there is
            no training file; there is then no split ``test-indist``. (default: ``"train"``)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`.

    Shapes:
        - as for :class:`~graphdep.datasets.labels.base.LabelDataset`

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, a row is damaged, brackets do not match, or the output does not
            belong to the input: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import Agreement
        >>> dataset = Agreement("datasets/mini/agreement", split="test", limit=10)
        >>> dataset.labels, int((dataset[0].y >= 0).sum())
        (('plural', 'singular'), 1)
    """

    corpus = "Agreement"
    published = "https://github.com/tommccoy1/rnn-hierarchical-biases, folder data"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/agreement",
        split: str = "train",
        parser: str | Parser = "gold",
        *,
        name: str = "tense",
        verbs: str = "all",
        train_from: str = "train",
        **options: Unpack[WordOptions],
    ) -> None:
        check_choice("name", name, FLAGS)
        check_choice("verbs", verbs, VERBS)
        check_choice("train_from", train_from, TRAIN_FROM)
        if name != "tense" and verbs != "all":
            raise ValueError(f"'verbs' must be 'all' where 'name' is 'question' (got {verbs!r})")
        self.name, self.verbs, self.train_from = name, verbs, train_from
        self.splits = tuple(ENDINGS) if train_from == "train" else tuple(ENDINGS)[:-1]
        self.scored_by = " by their number" if name == "tense" else " by whether they go in front"
        self._copies: dict[str, int] = {}
        super().__init__(root, split, parser, **options)

    def options(self) -> dict[str, Any]:
        own = {"name": self.name, "verbs": self.verbs, "train_from": self.train_from}
        return super().options() | own

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        found = [folder / name for name in self._names(split) if (folder / name).is_file()]
        return found[:1]

    def raw_file_pattern(self, split: str) -> str:
        return " or ".join(self._names(split))

    def raw_file_name(self, split: str) -> str:
        names = self.raw_file_pattern(split)
        if split != "train" or self.train_from == "test":
            return names
        return f"{names} (with train_from='test', the test file of the same distribution is trained on)"

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        (path,) = self.raw_files(folder, split)
        rows = read_agreement(path, self.name, brackets="_bracket." in path.name)
        asked = [row for row in rows if row.flag == FLAGS[self.name][0]]
        self._copies[split] = len(rows) - len(asked)
        verbs = changing_words(asked)
        return [self._labelled(row, verbs, split) for row in asked]

    def _labelled(self, row: AgreementRow, verbs: frozenset[str], split: str) -> LabelledWords:
        if self.name == "question":
            labels = auxiliary_labels(row)
        else:
            labels, main = verb_labels(row, verbs)
            if split != "train" or self.verbs == "main":
                labels = [label if place == main else None for place, label in enumerate(labels)]
        return LabelledWords(row.words, labels, tree=row.tree, place=f"{row.path}:{row.line}")

    def notes(self, examples: list[Any]) -> dict[str, Any]:
        return super().notes(examples) | {"copies": self._copies[self.split]}

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self._copies[self.split] = notes["copies"]

    def describe(self) -> dict[str, Any]:
        """As for every corpus of labelled words, with the number of copied rows, which are left out."""
        described, copies = super().describe(), self._copies[self.split]
        flag = FLAGS[self.name][1]
        note = f"{described['note']}; {copies} rows of its file are flagged {flag} and left out"
        return described | {"left_out_rows": copies, "note": note}

    def _names(self, split: str) -> list[str]:
        ending = "test" if (split, self.train_from) == ("train", "test") else ENDINGS[split]
        brackets = f"{self.name}_bracket.{ending}"
        return [brackets, f"{self.name}.{ending}"] if self.is_parsed else [brackets]
