"""A few sentences with known trees in the layouts of the corpora, for runs and commands without a parser."""

from __future__ import annotations

import dataclasses
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphdep.datasets.glue import CORPORA, GLUECorpus
from graphdep.datasets.labels.bio import Span
from graphdep.io import format_conllu, read_conllu, write_conllu
from graphdep.parsing import Parser
from graphdep.sentence import Sentence

_NAMES = ("ann", "bob", "cid", "dan")
_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
_FILES = {"SICK_train.txt": 24, "SICK_trial.txt": 10, "SICK_test_annotated.txt": 12}


class Unasked(Parser):
    """Fails if it is called."""

    fingerprint = "unasked"

    def parse_texts(self, texts):
        raise AssertionError("asked")

    parse_sentences = parse_texts


def write_tiny_sick(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes raw files and trees to ``root``; returns the settings that load them."""
    root = Path(root)
    (root / "raw").mkdir(parents=True, exist_ok=True)
    trees: dict[str, Sentence] = {}
    for name, size in _FILES.items():
        rows = [_pair(number) for number in range(size)]
        for row in rows:
            for text in row[1:3]:
                trees[text] = Sentence(text.split(), [2, 0, 2], ["nsubj", "root", "obj"])
        content = _HEADER + "".join("\t".join(row) + "\n" for row in rows)
        (root / "raw" / name).write_text(content, encoding="utf-8")
    write_conllu(trees.values(), root / "trees.conllu", overwrite=True)
    return {"root": str(root), "parser": f"conllu:{root / 'trees.conllu'}"}


def write_tiny_sst(root: str | os.PathLike[str]) -> dict[str, str]:
    """As :func:`write_tiny_sick`, single sentences with a label."""
    root = Path(root)
    raw = root / "raw" / "sst-sentence"
    raw.mkdir(parents=True, exist_ok=True)
    trees: dict[str, Sentence] = {}
    for name, size in (("train", 24), ("dev", 10), ("test", 12)):
        rows = [_opinion(number) for number in range(size)]
        trees |= {text: Sentence(text.split(), [2, 0, 2], ["nsubj", "root", "obj"]) for text, _ in rows}
        content = "".join(f"{text}\t{label}\n" for text, label in rows)
        (raw / f"{name}.tsv").write_text(content, encoding="utf-8")
    write_conllu(trees.values(), root / "trees.conllu", overwrite=True)
    return {"root": str(root), "parser": f"conllu:{root / 'trees.conllu'}"}


def write_tiny_csv(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Writes tables of 16 texts to train on and of 6 to test on, and returns their settings."""
    folder = Path(folder)
    rows = [f"{word} {thing},{y}" for word, y in (("fine", "good"), ("dull", "bad")) for thing in "abcdefgh"]
    files = {"train": rows, "test": rows[::3]}
    for name, part in files.items():
        (folder / f"{name}.csv").write_text("\n".join(["text,label", *part]) + "\n", encoding="utf-8")
    places = {name: str(folder / f"{name}.csv") for name in files}
    columns = {"text_columns": "text", "label_column": "label"}
    return {**places, **columns, "root": str(folder / "root"), "parser": "chain"}


def write_tiny_selection(root: str | os.PathLike[str]) -> dict[str, str]:
    """As :func:`write_tiny_sick`, contexts and candidates in the layout of Ubuntu version 1; the response
    is about the last person of the context.
    """
    root = Path(root)
    raw = root / "raw" / "ubuntu-v1"
    raw.mkdir(parents=True, exist_ok=True)
    turns: set[str] = set()
    for name, size, wrong in (("train", 24, 1), ("valid", 4, 9), ("test", 5, 9)):
        rows = [row for number in range(size) for row in _pool(number, wrong)]
        turns |= {turn for row in rows for turn in row[1:]}
        content = "".join("\t".join(row) + "\n" for row in rows)
        (raw / f"{name}.txt").write_text(content, encoding="utf-8")
    trees = [Sentence(turn.split(), [2, 0, 2], ["nsubj", "root", "obj"]) for turn in sorted(turns)]
    write_conllu(trees, root / "trees.conllu", overwrite=True)
    return {"root": str(root), "parser": f"conllu:{root / 'trees.conllu'}"}


def _pool(number: int, wrong: int) -> list[tuple[str, ...]]:
    first, second, third = (_NAMES[(number + step) % 4] for step in (0, 1 + number // 4 % 3, 2 + number % 2))
    context = (f"{first} saw {second}",) if number % 2 else (f"{third} met {first}", f"{first} saw {second}")
    right, *others = sorted(
        (f"{a} met {b}" for a in _NAMES for b in _NAMES if a != b),
        key=lambda text: not text.startswith(second),
    )
    turned = others[2:][number % 9 :] + others[2:][: number % 9]  # the first two are true as well
    return [("1", *context, right), *(("0", *context, text) for text in turned[:wrong])]


def _opinion(number: int) -> tuple[str, int]:
    return f"{_NAMES[number % 4]} {('hates', 'likes')[number % 2]} {_NAMES[number // 4 % 4]}", number % 2


def _pair(number: int) -> tuple[str, str, str, str, str]:
    a, b = _NAMES[number % 4], _NAMES[(number // 4 + 1 + number % 4) % 4]
    first, turned = f"{a} saw {b}", f"{b} saw {a}"
    if number % 3 == 0:
        return str(number + 1), first, first, "4.8", "ENTAILMENT"
    if number % 3 == 1:
        return str(number + 1), first, turned, "1.7", "CONTRADICTION"
    return str(number + 1), first, f"{a} saw eve", "3.1", "NEUTRAL"


def write_tiny_dialogues(root: str | os.PathLike[str]) -> dict[str, str]:
    """As :func:`write_tiny_sick`, dialogues in the layout of DailyDialog."""
    root = Path(root)
    trees: dict[str, Sentence] = {}
    for split, size in (("train", 12), ("validation", 4), ("test", 5)):
        dialogues = [_dialogue(number, turns=2 + number % 3) for number in range(size)]
        for text in (turn for turns in dialogues for turn in turns):
            trees[text] = Sentence(text.split(), [2, 0, 2], ["nsubj", "root", "obj"])
        path = root / "raw" / split / f"dialogues_{split}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(f"{turn} __eou__" for turn in turns) + "\n" for turns in dialogues]
        path.write_text("".join(lines), encoding="utf-8")
    write_conllu(trees.values(), root / "dialogues.conllu", overwrite=True)
    return {"root": str(root), "parser": f"conllu:{root / 'dialogues.conllu'}"}


def _dialogue(number: int, turns: int) -> list[str]:
    names = [_NAMES[(number + turn) % 4] for turn in range(turns + 1)]
    return [f"{names[turn]} {('saw', 'met')[turn % 2]} {names[turn + 1]}" for turn in range(turns)]


_GLUE_SIZES = {"train": 24, "dev": 10, "test": 12}
_COLUMNS = {
    "cola": ("source", "label", "mark", "sentence"),
    "sst2": ("sentence", "label"),
    "mrpc": ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
    "stsb": ("index", "genre", "filename", "year", "source1", "sentence1", "sentence2", "score"),
    "qqp": ("id", "qid1", "qid2", "question1", "question2", "is_duplicate"),
    "mnli": ("index", "pairID", "genre", "sentence1_parse", "sentence1", "sentence2", "label1", "gold_label"),
    "qnli": ("index", "question", "sentence", "label"),
    "rte": ("index", "sentence1", "sentence2", "label"),
    "ax": ("index", "sentence1", "sentence2"),
}
_NOT_IN_TEST = {"source", "label", "mark", "Quality", "score", "qid1", "qid2", "is_duplicate", "label1"}
_NOT_IN_TEST |= {"gold_label"}


def write_tiny_glue(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes all corpora of GLUE, 24 rows of train, 10 of dev and 12 of test, and the trees below ``root``;
    returns the settings that load them.
    """
    root = Path(root)
    trees: dict[str, Sentence] = {}
    for name, corpus in CORPORA.items():
        folder = root / "raw" / corpus.folder
        folder.mkdir(parents=True, exist_ok=True)
        for kind, size in _GLUE_SIZES.items():
            rows = [_glue_row(corpus, number) for number in range(size)]
            texts = [row[column] for row in rows for column in corpus.texts]
            trees |= {text: Sentence(text.split(), [2, 0, 2], ["nsubj", "root", "obj"]) for text in texts}
            for file in _glue_files(name, kind):
                (folder / file).write_text(_glue_table(name, kind, rows), encoding="utf-8")
    write_conllu(trees.values(), root / "trees.conllu", overwrite=True)
    return {"root": str(root), "parser": f"conllu:{root / 'trees.conllu'}"}


def _glue_files(name: str, kind: str) -> list[str]:
    if name == "ax":
        return ["diagnostic.tsv"] if kind == "test" else []
    genres = ("_matched", "_mismatched") if name == "mnli" and kind != "train" else ("",)
    return [f"{kind}{genre}.tsv" for genre in genres]


def _glue_table(name: str, kind: str, rows: list[dict[str, str]]) -> str:
    columns = list(_COLUMNS[name])
    if kind == "test":
        columns = [column for column in columns if column not in _NOT_IN_TEST]
        columns = columns if columns[0] in ("index", "id") else ["index", *columns]
    lines = [[row.get(column, "-") for column in columns] for row in rows]
    header = [] if name == "cola" and kind != "test" else [columns]
    return "".join("\t".join(line) + "\n" for line in header + lines)


def _glue_row(corpus: GLUECorpus, number: int) -> dict[str, str]:
    """The columns with varying values; the label follows from the texts."""
    a, b = _NAMES[number % 4], _NAMES[(number // 4 + 1 + number % 4) % 4]
    if len(corpus.texts) == 1:
        texts, label = [f"{a} {('hates', 'likes')[number % 2]} {b}"], corpus.labels[number % 2]
    else:  # the same event, turned round, another one
        texts = [f"{a} saw {b}", (f"{a} saw {b}", f"{b} saw {a}", f"{a} saw eve")[number % 3]]
        label = _PAIR_LABELS[corpus.labels][number % 3]
    numbers = {"index": number, "id": number, "#1 ID": 2 * number, "#2 ID": 2 * number + 1}
    row = {key: str(value) for key, value in numbers.items()} | dict(zip(corpus.texts, texts))
    return row if corpus.label is None else {**row, corpus.label: label}


_PAIR_LABELS = {
    ("0", "1"): ("1", "0", "0"),
    ("entailment", "not_entailment"): ("entailment", "not_entailment", "not_entailment"),
    ("entailment", "neutral", "contradiction"): ("entailment", "contradiction", "neutral"),
    (): ("5.0", "1.600", "3.25"),
}


_PEOPLE = ("Ann", "Bob", "Cid", "Dan", "Eva")
_ROLE_SIZES = {"train": 24, "dev": 9, "test": 12}
_DOCUMENT = "answers-tiny.{split}-{number:04}"


@dataclass(frozen=True)
class _Kind:
    """A kind of sentence: words with ``{name}`` and ``{other}``, a tree, and predicates with spans."""

    words: str
    head: Sequence[int]
    deprel: str
    predicates: Sequence[tuple[int, str, Sequence[Span]]]


_ROLES = (
    _Kind(
        "{name} does not see {other} .",
        (4, 4, 4, 0, 4, 4),
        "nsubj aux advmod root obj punct",
        [(3, "see.01", [(0, 1, "ARG0"), (2, 3, "ARGM-NEG"), (3, 4, "V"), (4, 5, "ARG1")])],
    ),
    _Kind(
        "The old friend of {name} picks the bag up .",
        (3, 3, 6, 5, 3, 0, 8, 6, 6, 6),
        "det amod nsubj case nmod root det obj compound:prt punct",
        [(5, "pick_up.04", [(0, 5, "ARG0"), (5, 6, "V"), (6, 8, "ARG1"), (8, 9, "C-V")])],
    ),
    _Kind(
        "{name} wants to see the dog .",
        (2, 0, 4, 2, 6, 4, 2),
        "nsubj root mark xcomp det obj punct",
        [
            (1, "want.01", [(0, 1, "ARG0"), (1, 2, "V"), (2, 6, "ARG1")]),
            (3, "see.01", [(0, 1, "ARG0"), (3, 4, "V"), (4, 6, "ARG1")]),
        ],
    ),
    _Kind("Thanks {name} !", (0, 1, 1), "root vocative punct", []),
)
# Where each label of a kind's spans stands in Universal PropBank: its word in the tree.
_HEADS = {(0, 5): 2, (6, 8): 7, (2, 6): 3, (4, 6): 5}


def write_tiny_propbank(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes skeletons and the treebank below ``root``, 24 sentences of train, 9 of dev and 12 of test, the
    last without a predicate; returns the settings that load them.
    """
    raw = Path(root, "raw")
    (raw / "propbank").mkdir(parents=True, exist_ok=True)
    (raw / "ud").mkdir(parents=True, exist_ok=True)
    for split in _ROLE_SIZES:
        skeletons, trees = [], []
        for number, (kind, tree) in enumerate(_role_sentences(split)):
            skeletons.append("".join(_skeleton_row(kind, number, token) for token in range(len(tree))))
            trees.append(format_conllu(tree))
        skeleton = raw / "propbank" / f"tiny.{split}.xml.gold_skel"
        skeleton.write_text("\n".join(skeletons), encoding="utf-8")
        (raw / "ud" / f"en_ewt-ud-{split}.conllu").write_text("\n".join(trees), encoding="utf-8")
    return {"root": str(root)}


def write_tiny_up(root: str | os.PathLike[str]) -> dict[str, str]:
    """As :func:`write_tiny_propbank`, with the roles at heads, in columns after those of CoNLL-U."""
    raw = Path(root, "raw")
    raw.mkdir(parents=True, exist_ok=True)
    for split in _ROLE_SIZES:
        blocks = ["".join(_up_lines(kind, tree)) for kind, tree in _role_sentences(split)]
        (raw / f"en_tiny-up-{split}.conllu").write_text("\n".join(blocks), encoding="utf-8")
    return {"root": str(root)}


def _role_sentences(split: str) -> Iterator[tuple[_Kind, Sentence]]:
    for number in range(_ROLE_SIZES[split]):
        kind = _ROLES[number % len(_ROLES)]
        name, other = _PEOPLE[number % len(_PEOPLE)], _PEOPLE[(number * 2 + 1) % len(_PEOPLE)]
        form = kind.words.format(name=name, other=other).split()
        name = _DOCUMENT.format(split=split, number=number + 1)
        tree = Sentence(form, list(kind.head), kind.deprel.split(), comments=[f"# sent_id = {name}"])
        yield kind, tree


def _skeleton_row(kind: _Kind, number: int, token: int) -> str:
    rolesets = {word: roleset for word, roleset, _ in kind.predicates}
    own = ["tiny", str(number), str(token), "[WORD]", "XX", "*", "-", rolesets.get(token, "-")]
    return "   ".join([*own, *(_role_cell(spans, token) for *_, spans in kind.predicates)]) + "\n"


def _role_cell(spans: Sequence[Span], token: int) -> str:
    begins = "".join(f"({label}" for start, _, label in spans if start == token)
    return f"{begins}*" + ")" * any(end == token + 1 for _, end, _ in spans)


def _up_lines(kind: _Kind, tree: Sentence) -> Iterator[str]:
    comment, *rows = format_conllu(tree).splitlines()
    yield f"{comment}\n"
    rolesets = {word: roleset for word, roleset, _ in kind.predicates}
    labels = [
        {_HEADS.get((start, end), start): label for start, end, label in spans}
        for *_, spans in kind.predicates
    ]
    for word, row in enumerate(rows):
        cells = [column.get(word, "_") for column in labels] or [""]
        yield "\t".join([row, rolesets.get(word, "_"), *cells]) + "\n"


_NOUNS = ("fire", "flood", "storm", "fever", "war", "frost")
_VERBS = (
    ("caused a", "Cause-Effect(e1,e2)"),
    ("followed a", "Cause-Effect(e2,e1)"),
    ("met a", "Other"),
)


def write_tiny_semeval2010(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes a file of 30 sentences to train on and one of 12 to test on below ``root``; returns the settings
    that load them. The label depends on the verb between the marks.
    """
    folder = Path(root, "raw")
    folder.mkdir(parents=True, exist_ok=True)
    for name, first, size in (("TRAIN_FILE.TXT", 1, 30), ("TEST_FILE_FULL.TXT", 8001, 12)):
        blocks = [_block(first + number, number) for number in range(size)]
        (folder / name).write_text("".join(blocks), encoding="utf-8", newline="")
    return {"root": str(root)}


def _block(number: int, place: int) -> str:
    verb, label = _VERBS[place % 3]
    first, second = _NOUNS[place % 6], _NOUNS[(place // 6 + place + 1) % 6]
    lines = (
        f'{number}\t"The old <e1>{first}</e1> {verb} <e2>{second}</e2>."',
        label,
        "Comment: self-written",
        "",
    )
    return "".join(f"{line}\r\n" for line in lines)


def write_tiny_conll04(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes 24 sentences to train on, 6 for validation and 8 to test on, and returns their settings. The
    relation depends on the second word.
    """
    folder = Path(root, "raw")
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in (("train", 24), ("dev", 6), ("test", 8)):
        content = json.dumps([_news(number) for number in range(size)])
        (folder / f"conll04_{name}.json").write_text(content, encoding="utf-8")
    return {"root": str(root)}


def _news(number: int) -> dict[str, object]:
    verb, label = (("shot", "Kill"), ("inhabits", "Live_In"), ("saw", None))[number % 3]
    entities = [{"type": "Peop", "start": 0, "end": 1}, {"type": "Loc", "start": 2, "end": 3}]
    relations = [{"type": label, "head": 0, "tail": 1}] if label else []
    words = [f"Ann{number % 5}", verb, f"Bern{number % 4}", "."]
    return {"tokens": words, "entities": entities, "relations": relations}


def write_tiny_aspects(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes 24 reviews of restaurants to train on and 8 to test on, and returns their settings. The last
    word decides the polarity.
    """
    folder = Path(root, "raw")
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in (("Train", 24), ("Test_Gold", 8)):
        sentences = "".join(_review(number) for number in range(size))
        text = (
            f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<sentences>\n{sentences}</sentences>\n'
        )
        (folder / f"Restaurants_{name}.xml").write_text(text, encoding="utf-8")
    return {"root": str(root)}


def _review(number: int) -> str:
    word, polarity = (("fine", "positive"), ("awful", "negative"), ("there", "neutral"))[number % 3]
    term = ("fried fish", "soup", "waiter", "wine list")[number % 4]
    place = f'term="{term}" polarity="{polarity}" from="4" to="{4 + len(term)}"'
    return (
        f'<sentence id="{number}"><text>The {term} was {word}.</text>\n'
        f"<aspectTerms><aspectTerm {place}/></aspectTerms></sentence>\n"
    )


def tiny_span_rows(*, trees: bool = False, num_spans: int = 2) -> list[dict[str, Any]]:
    """15 sentences as objects of JSON lines; the label depends on the verb.

    Args:
        trees: Whether each has a tree with the verb as root. (default: :obj:`False`)
        num_spans: 1 marks the word before the verb, 2 also the word after it. (default: :obj:`2`)
    """
    rows = []
    for number, first in enumerate(_NOUNS[:5]):
        for verb, label in (("makes", "cause"), ("needs", "effect"), ("sees", "none")):
            words = [first, verb, "big", _NOUNS[number - 1]]
            rows.append({"words": words, "spans": [[0, 1], [2, 4]][:num_spans], "label": label})
    tree = {"head": [2, 0, 4, 2], "deprel": ["nsubj", "root", "amod", "obj"]}
    return [row | tree for row in rows] if trees else rows


LABEL_SCHEMES = {
    "ud": ("nsubj", "obj"),
    "conll08": ("SBJ", "OBJ"),
    "sud": ("subj", "comp:obj"),
    "sdv1": ("nsubj", "dobj"),
}
"""Labels of subjects and objects in four schemes."""


def relation_rows(scheme: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Rows of marked words with trees, whose label is their relation: words and order are random.

    Args:
        scheme: One of :data:`LABEL_SCHEMES`.
        size: Number of rows.
        seed: Seed of the draws.
    """
    rng = random.Random(seed)
    rows = []
    for _ in range(size):
        verb, subject, object_ = rng.sample(range(3), 3)
        deprel = ["root"] * 3
        deprel[subject], deprel[object_] = LABEL_SCHEMES[scheme]
        span = rng.choice((subject, object_))
        rows.append(
            {
                "words": rng.choices("abcdefgh", k=3),
                "head": [0 if word == verb else verb + 1 for word in range(3)],
                "deprel": deprel,
                "spans": [[span, span + 1]],
                "label": "agent" if span == subject else "patient",
            }
        )
    return rows


def write_span_rows(path: str | os.PathLike[str], rows: list[dict[str, Any]]) -> str:
    """Writes objects as JSON lines; returns the path."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    Path(path).write_text(lines, encoding="utf-8")
    return str(path)


_SPLITS = {"train": "train", "val": "dev", "test": "test"}


def read_tiny_treebank(folder: str | Path, split: str) -> list[Sentence]:
    """Return the sentences of a split: ``train``, ``val`` or ``test``."""
    return read_conllu(Path(folder) / f"en_mini-ud-{_SPLITS[split]}.conllu")


def write_tiny_tags(raw: str | Path, folder: str | Path) -> Path:
    """Write the treebank in ``raw`` with ``Vowel=Yes`` in MISC at words that begin with a vowel, and
    ``Length`` at short words, and return the folder.
    """
    for split, name in _SPLITS.items():
        file = Path(folder) / f"en_mini-ud-{name}.conllu"
        write_conllu(map(_tagged, read_tiny_treebank(raw, split)), file, overwrite=True)
    return Path(folder)


def _tagged(sentence: Sentence) -> Sentence:
    cells = []
    for word, cell in zip(sentence.form, sentence.misc or ["_"] * len(sentence)):
        own = ["Vowel=Yes"] if word[0].lower() in "aeiou" else []
        own += [f"Length={len(word)}"] if len(word) < 4 else []
        cells.append("|".join([*([cell] if cell != "_" else []), *own]) or "_")
    return dataclasses.replace(sentence, misc=cells)
