"""SICK, MRPC, SST and UD treebanks."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import torch
from torch import Tensor

from graphdep.data.node_table import NodeType, tree_nodes
from graphdep.datasets.base.parsed import Example, ParsedDataset, ParsedOptions, TextDataset
from graphdep.datasets.base.raw import (
    BINARY,
    NUMBER,
    TEXT,
    Form,
    check_forms,
    check_new,
    check_one,
    choose_layout,
    expect,
    like,
    one_of,
    read_lines,
    read_table,
    visible_files,
)
from graphdep.datasets.base.rows import spread_rows
from graphdep.io.limits import check_choice
from graphdep.io.trees import read_conllu
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import FLAT

SICK_LABELS = ("NEUTRAL", "ENTAILMENT", "CONTRADICTION")
SICK_FILES = {"train": "SICK_train.txt", "val": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
CLASSES = 5
SICK_COLUMNS = {
    "pair_ID": NUMBER,
    "sentence_A": TEXT,
    "sentence_B": TEXT,
    "relatedness_score": like(
        f"a number within 1 and {CLASSES}", r"0{0,2}([1-4](\.[0-9]{1,20})?|5(\.0{1,20})?)"
    ),
    "entailment_judgment": one_of(*SICK_LABELS),
}


class SICK(TextDataset):
    r"""The sentence pairs of `"A SICK cure for the evaluation of compositional distributional semantic
    models" <https://aclanthology.org/L14-1314/>`_, two trees per pair.

    Keys beside those of :func:`graphdep.to_data`: ``pair``, the pair's ID, and by task

    - ``"relatedness"`` (SICK-R): ``y``, the score :math:`r \in [1, 5]` as the sparse distribution of
      `"Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks"
      <https://arxiv.org/abs/1503.00075>`_, see :func:`relatedness_target`, and ``score``, :math:`r` itself;
    - ``"entailment"`` (SICK-E): ``y``, the number of the label in :attr:`labels`.

    If the parser splits a sentence, its parts are joined into one tree (:func:`join_sentences`). Parses are
    stored in ``cache/parses.sqlite`` in :obj:`root`; for processed files see :class:`ParsedDataset`.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written pairs. (default: ``"datasets/sick"``)
        split: ``"train"``, ``"val"`` (the trial file) or ``"test"``. (default: ``"train"``)
        task: ``"relatedness"`` or ``"entailment"``. (default: ``"relatedness"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        options: Further options, see :class:`ParsedOptions`.

    Shapes:
        - ``y``: :math:`(1, 5)` float (relatedness) or :math:`(1)` long (entailment)
        - ``score``: :math:`(1)` float; ``pair``: :math:`(1)` long

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, or a row of a raw file is damaged: the message has file, line and
            value.

    Example:
        >>> from graphdep.datasets import SICK
        >>> dataset = SICK("datasets/mini", split="val", task="entailment", parser="chain", limit=20)
        >>> len(dataset), dataset[0].y, int(dataset[0].utterance.max()) + 1  # two sentences
        (20, tensor([2]), 2)
    """

    corpus = "SICK"
    published = "https://alt.qcri.org/semeval2014/task1 (SemEval-2014 Task 1, data and tools)"
    tasks = ("relatedness", "entailment")
    labels = SICK_LABELS

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/sick",
        split: str = "train",
        task: str = "relatedness",
        parser: str | Parser = "bundled",
        **options: Unpack[ParsedOptions],
    ) -> None:
        check_choice("task", task, self.tasks)
        self.task = task
        super().__init__(root, split, parser, **options)

    @property
    def num_classes(self) -> int:
        """5 grades of relatedness or 3 labels, independent of the split."""
        return CLASSES if self.task == "relatedness" else len(self.labels)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        path = folder / SICK_FILES[split]
        return [path] if path.is_file() else []

    def raw_file_pattern(self, split: str) -> str:
        return SICK_FILES[split]

    def options(self) -> dict[str, Any]:
        return {"task": self.task, **super().options()}

    def read(self, folder: Path, split: str) -> list[Pair]:
        return read_sick(folder / SICK_FILES[split])

    def texts(self) -> list[tuple[str, ...]]:
        return [pair.sentences for pair in self.read(Path(self.raw_dir), self.split)]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        pairs = self.read(Path(self.raw_dir), split)[:limit]
        trees = self.trees_of_texts([text for pair in pairs for text in pair.sentences])
        both = zip(trees[::2], trees[1::2])
        return [
            Example(
                [*two], self._targets(pair), segment=[0, 1], given=[pair.sentences, pair.score, pair.label]
            )
            for two, pair in zip(both, pairs)
        ]

    def _targets(self, pair: Pair) -> dict[str, Tensor]:
        number = torch.tensor([pair.pair])
        if self.task == "entailment":
            return {"y": torch.tensor([self.labels.index(pair.label)]), "pair": number}
        target = relatedness_target(pair.score)[None]
        return {"y": target, "score": torch.tensor([pair.score], dtype=torch.float), "pair": number}


class Pair(NamedTuple):
    """A row of a raw file."""

    pair: int
    sentences: tuple[str, str]
    score: float
    label: str


def relatedness_target(score: float) -> Tensor:
    r"""The sparse distribution over the grades 1 to 5 whose mean is the score
    (`Tree-LSTM <https://arxiv.org/abs/1503.00075>`_, section 4.2).

    .. math::
        p_i = \begin{cases}
            r - \lfloor r \rfloor & i = \lfloor r \rfloor + 1 \\
            \lfloor r \rfloor - r + 1 & i = \lfloor r \rfloor \\
            0 & \text{otherwise}
        \end{cases}
    """
    target = torch.zeros(CLASSES)
    grade = math.floor(score)
    target[grade - 1] = grade - score + 1
    if grade < CLASSES:
        target[grade] = score - grade
    return target


def read_sick(path: Path) -> list[Pair]:
    """The pairs of a raw file."""
    pairs: list[Pair] = []
    line_of: dict[int, int] = {}
    for line, (number, first, second, score, label) in read_table(path, SICK_COLUMNS):
        check_new(path, line, "pair_ID", int(number), line_of)
        pairs.append(Pair(int(number), (first, second), float(score), label))
    return pairs


logger = logging.getLogger("graphdep.datasets")

_IDS = {"#1 ID": NUMBER, "#2 ID": NUMBER}
MRPC_COLUMNS = {"Quality": BINARY, **_IDS, "#1 String": TEXT, "#2 String": TEXT}
MRPC_LABELS = ("no paraphrase", "paraphrase")
TRAIN, TEST = "msr_paraphrase_train.txt", "msr_paraphrase_test.txt"
MRPC_FILES = {
    "msrp": {"train": TRAIN, "val": TRAIN, "test": TEST},
    "glue": {"train": "train.tsv", "val": "dev.tsv", "test": TEST},
}
DEV_IDS = ("mrpc_dev_ids.tsv", "dev_ids.tsv", "glue_dev_ids.tsv")
# Without the dev pairs of GLUE, every tenth pair.
_TENTH = 10
# In the published training file one apostrophe is this control character.
_REPAIRS = {"\x12": "'"}
Ids = tuple[int, int]


class MRPC(TextDataset):
    r"""The sentence pairs of `"Automatically Constructing a Corpus of Sentential Paraphrases"
    <https://aclanthology.org/I05-5002/>`_ (MSRP, or MRPC in GLUE), two trees per pair.

    There are two layouts. ``"msrp"`` is the published one, with a training and a test file. Its dev split is
    that of `"GLUE" <https://arxiv.org/abs/1804.07461>`_: the pairs of the training file that are listed in
    ``mrpc_dev_ids.tsv`` (or ``dev_ids.tsv`` or ``glue_dev_ids.tsv``). Without such a file it is every tenth
    pair of the training file, with a warning. ``"glue"`` is the output of GLUE's script, ``train.tsv`` and
    ``dev.tsv``. Its ``test.tsv`` has no labels, so the test split is ``msr_paraphrase_test.txt``, with the
    same pairs.

    If the parser splits a sentence, its parts are joined into one tree (:func:`join_sentences`). For
    processed files see :class:`ParsedDataset`.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written pairs. (default: ``"datasets/mrpc"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        layout: ``"msrp"`` or ``"glue"``; :obj:`None` for that of :obj:`raw_from` (``"glue"`` if it has both,
            as after GLUE's script), else for the only one in :obj:`root`. (default: :obj:`None`)
        options: Further options, see :class:`ParsedOptions`.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the label in :attr:`labels` (1 is a paraphrase)
        - ``pair``: :math:`(1, 2)` long, the IDs of the two sentences

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, the layout is ambiguous, or a row of a raw file is damaged: the
            message has file, line and value.

    Example:
        >>> from graphdep.datasets import MRPC
        >>> dataset = MRPC("datasets/mini", split="val", parser="chain", limit=20)
        >>> len(dataset), dataset[0].y
        (20, tensor([1]))
    """

    corpus = "MRPC"
    published = (
        "https://www.microsoft.com/en-us/download/details.aspx?id=52398, the pairs of GLUE's dev split at "
        "https://dl.fbaipublicfiles.com/glue/data/mrpc_dev_ids.tsv"
    )
    labels = MRPC_LABELS

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/mrpc",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        layout: str | None = None,
        **options: Unpack[ParsedOptions],
    ) -> None:
        # GLUE's script keeps the published files, so a folder with both is GLUE's.
        self.layout = choose_layout(
            layout,
            tuple(MRPC_FILES),
            options.get("raw_from"),
            root,
            to_copy=_mrpc_layouts,
            copied=_mrpc_layouts,
        )
        super().__init__(root, split, parser, **options)
        if self._tenth():
            logger.warning(
                "MRPC: %s has no %s, so 'val' is every tenth pair of the training file, not GLUE's dev split",
                *(self.raw_dir, DEV_IDS[0]),
            )

    @property
    def num_classes(self) -> int:
        """The number of labels, independent of the split."""
        return len(self.labels)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        path = folder / MRPC_FILES[self.layout][split]
        if not path.is_file():
            return []
        return [path, *(_dev_ids(folder) if path.name == TRAIN else [])]

    def raw_file_pattern(self, split: str) -> str:
        name = MRPC_FILES[self.layout][split]
        unlabelled = self.layout == "glue" and split == "test"
        return f"{name} (GLUE's test.tsv has no labels)" if unlabelled else name

    def read(self, folder: Path, split: str) -> list[Paraphrase]:
        path, *dev_ids = self.raw_files(folder, split)
        pairs = read_mrpc(path)
        if path.name != TRAIN:
            return pairs
        chosen = read_dev_ids(dev_ids[0], pairs) if dev_ids else {p.ids for p in pairs[_TENTH - 1 :: _TENTH]}
        return [pair for pair in pairs if (pair.ids in chosen) == (split == "val")]

    def texts(self) -> list[tuple[str, ...]]:
        return [pair.sentences for pair in self.read(Path(self.raw_dir), self.split)]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        pairs = self.read(Path(self.raw_dir), split)[:limit]
        trees = self.trees_of_texts([text for pair in pairs for text in pair.sentences])
        both = zip(trees[::2], trees[1::2])
        return [
            Example(
                [*two],
                {"y": torch.tensor([p.label]), "pair": torch.tensor([p.ids])},
                segment=[0, 1],
                given=[p.sentences, p.label],
            )
            for two, p in zip(both, pairs)
        ]

    def _tenth(self) -> bool:
        cut = self.layout == "msrp" and self._needed() != ["test"]
        return cut and not _dev_ids(Path(self.raw_dir))


class Paraphrase(NamedTuple):
    """A row of a raw file."""

    label: int
    ids: Ids
    sentences: tuple[str, str]


def read_mrpc(path: Path) -> list[Paraphrase]:
    """The pairs of a raw file."""
    pairs: list[Paraphrase] = []
    line_of: dict[Ids, int] = {}
    for line, (quality, *ids, first, second) in read_table(path, MRPC_COLUMNS, repairs=_REPAIRS):
        pair = int(ids[0]), int(ids[1])
        check_new(path, line, "pair of IDs", pair, line_of)
        pairs.append(Paraphrase(int(quality), pair, (first.strip(), second.strip())))
    return pairs


def read_dev_ids(path: Path, pairs: list[Paraphrase]) -> set[Ids]:
    """The pairs in a file of two IDs per line, all of which must be in the training file."""
    known = {pair.ids for pair in pairs}
    line_of: dict[Ids, int] = {}
    for line, (first, second) in read_table(path, _IDS, header=False):
        ids = int(first), int(second)
        check_new(path, line, "pair of IDs", ids, line_of)
        expect(ids in known, path, line, f"{TRAIN} has no such pair", f"{first} {second}")
    return {*line_of}


def _mrpc_layouts(folder: Path) -> list[str]:
    """The layouts of the training and validation files in a folder; both layouts share the test file."""
    return [
        layout
        for layout, files in MRPC_FILES.items()
        if all((folder / files[split]).is_file() for split in ("train", "val"))
    ]


def _dev_ids(folder: Path) -> list[Path]:
    found = [folder / name for name in DEV_IDS if (folder / name).is_file()]
    check_one(folder, found, "lists of IDs", "keep one of them")
    return found


NEUTRAL = 2
_GRADES = ("0", "1", "2", "3", "4")
# Escapes of brackets and slashes in the Penn Treebank.
_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_TOKEN = re.compile(r"[()]|[^ \t()]+")  # a word of the published files has a no-break space


class GradedPhrase(NamedTuple):
    """The words of a phrase.

    Args:
        words: Its words.
        grade: 0, very negative, to 4, very positive; 2 is neutral.
    """

    words: list[str]
    grade: int


class GradedTree(NamedTuple):
    """A sentence with a grade for every node of its tree.

    Args:
        words: Its words.
        nodes: Grade, start and end of each node, including words, in preorder.
    """

    words: list[str]
    nodes: list[tuple[int, int, int]]

    @property
    def grade(self) -> int:
        """The grade of the whole sentence."""
        return self.nodes[0][0]

    @property
    def phrases(self) -> list[GradedPhrase]:
        """The words of each node."""
        return [GradedPhrase(self.words[start:end], grade) for grade, start, end in self.nodes]


def read_sst_trees(path: Path) -> list[list[GradedPhrase]]:
    r"""The phrases of each sentence in a file of one tree per line: ``(3 (2 It) (4 (2 's) (4 lovely)))``.

    Phrases are the nodes of the tree in preorder, the whole sentence first. Brackets and slashes are escaped
    as in the Penn Treebank (``-LRB-``, ``\/``) and read as ``(`` and ``/``.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from graphdep.datasets.sentences import read_sst_trees
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "train.txt")
        ...     _ = path.write_text("(3 (2 It) (4 works))")
        ...     [(" ".join(words), grade) for words, grade in read_sst_trees(path)[0]]
        [('It works', 3), ('It', 2), ('works', 4)]
    """
    return [tree.phrases for tree in read_graded_trees(path)]


def read_graded_trees(path: Path) -> list[GradedTree]:
    """The trees of a file, see :func:`read_sst_trees`.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from graphdep.datasets.sentences import read_graded_trees
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "train.txt")
        ...     _ = path.write_text("(3 (2 It) (4 works))")
        ...     read_graded_trees(path)
        [GradedTree(words=['It', 'works'], nodes=[(3, 0, 2), (2, 0, 1), (4, 1, 2)])]
    """
    return [_tree(path, line, text) for line, text in read_lines(path)]


def _tree(path: Path, line: int, text: str) -> GradedTree:
    """Reads a tree without recursion."""
    check_forms(f"{path}:{line}", {"sentence": text}, {"sentence": TEXT})
    words: list[str] = []
    spans: list[list[int]] = []  # grade, first word and the word after the last
    opened: list[int] = []
    leaves: set[int] = set()  # phrases that are a word
    wrong = ""
    tokens = iter(_TOKEN.findall(text))
    for token in tokens:
        if token == "(":
            grade = next(tokens, "")
            if (not opened and spans) or (opened and opened[-1] in leaves):
                wrong = "a phrase beside the whole or beside a word"
            elif grade not in _GRADES:
                wrong = f"a grade must be 0, 1, 2, 3 or 4, and not {grade!r}"
            else:
                opened.append(len(spans))
                spans.append([int(grade), len(words), 0])
        elif not opened:
            wrong = f"{token!r} is outside of all phrases"
        elif token == ")":
            span = spans[opened.pop()]
            span[2] = len(words)
            wrong = "a phrase has no word" if span[1] == len(words) else ""
        elif spans[opened[-1]][1] != len(words) or opened[-1] in leaves or opened[-1] + 1 < len(spans):
            wrong = f"the word {token!r} is not alone in its phrase"
        else:
            leaves.add(opened[-1])
            words.append(_ESCAPED.get(token, token.replace("\\/", "/")))
        if wrong:
            break
    else:
        wrong = f"{len(opened)} brackets are never closed" if opened else "" if spans else "no tree"
    expect(not wrong, path, line, wrong, text)
    return GradedTree(words, [(grade, start, end) for grade, start, end in spans])


SST_COLUMNS = {"sentence": TEXT, "label": BINARY}
_SST_LINES = SST_COLUMNS | {"label": Form(f"{BINARY.what}; the layout 'glue' has a header", BINARY.holds)}
SST_LABELS = ("negative", "positive")
LAYOUTS = ("sentence", "glue", "trees")
SST_FILES = {"train": "train.tsv", "val": "dev.tsv", "test": "test.tsv"}
TREES = {"train": "train.txt", "val": "dev.txt", "test": "test.txt"}
GLUE_TEST = "test-labeled.tsv"
# The first lines of GLUE's files; the third layout, without labels, is that of its test.tsv.
_GLUE_STARTS = (b"sentence\tlabel", b"index\tsentence")


class SST(TextDataset):
    r"""The sentences with two labels of `"Recursive Deep Models for Semantic Compositionality Over a
    Sentiment Treebank" <https://aclanthology.org/D13-1170/>`_ (SST-2), one tree per sentence.

    There are three layouts. ``"sentence"`` has whole sentences, ``text<TAB>label`` without a header.
    ``"glue"`` has the files of `"GLUE" <https://arxiv.org/abs/1804.07461>`_, with a header; its training file
    has phrases as well, and its ``test.tsv`` has no labels, so the test split is ``test-labeled.tsv``, a file
    of the same sentences with labels. ``"trees"`` is the treebank itself (:func:`read_sst_trees`), with a
    grade from 0 to 4 for every phrase; 2, neutral, is left out, more is positive and less is negative. The
    raw folders are ``raw/sst-sentence/``, ``raw/sst-glue/`` and ``raw/sst-trees/``.

    With ``phrases=True`` every non-neutral phrase of the training trees is a training example, as in the
    papers: sentences, their parts and their words, also of neutral sentences, with repetitions; 98,794
    examples instead of 6,920. Validation and test have whole sentences. Each phrase is parsed alone. By
    default all layouts have the same examples.

    With ``trees=True`` a sentence has the binary constituents of the treebank, with a label for every node,
    in all splits. Examples are the non-neutral sentences; their neutral nodes have no label (-1). There are
    84,440 labelled training nodes, and 11,033 and 22,451 in the other splits. RNTN and the constituency
    Tree-LSTM are trained in this way, except that the code of the latter makes neutral nodes a third class,
    which it never predicts (:meth:`~graphdep.nn.models.SentenceModel.node_logits`). The files have no
    categories: constituents are ``X``, or with ``constituents=True`` have the label of the parser's topmost
    constituent over the same words, if there is one. The dependency tree comes from the parser.

    A node of the dependency tree has the label of the phrase that its subtree spans, and ROOT that of the
    sentence: the supervision at all nodes of `"Integrating Dependency Tree into Self-attention for Sentence
    Representation" <https://arxiv.org/abs/2203.05918>`_ (section 3.2). A subtree that is not a phrase of the
    treebank has no label (-2); :meth:`describe` has the share of these words.

    The corpus is tokenised. Its words, separated by white space, are kept, and are parsed as one sentence.
    For processed files see :class:`ParsedDataset`.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written sentences.
            (default: ``"datasets/sst"``)
        split: ``"train"``, ``"val"`` (the dev file) or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        layout: ``"sentence"``, ``"glue"`` or ``"trees"``; :obj:`None` for that of :obj:`raw_from`, else for
            the only one below :obj:`root`. (default: :obj:`None`)
        phrases: Train on phrases of ``layout="trees"``, too. (default: :obj:`False`)
        trees: Read the trees of the treebank and the labels of all nodes, with layout ``"trees"``.
            (default: :obj:`False`)
        options: Further options, see :class:`ParsedOptions`; with :obj:`phrases` a :obj:`limit` selects
            phrases from the whole training split, since the first ones are of few sentences, and
            :obj:`min_freq` counts a word in each of its phrases.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the label in :attr:`labels`
        - with :obj:`trees`, ``word_y``: :math:`(|\mathcal{V}|)` long, the label of each word or -1, and -1
          for ROOT; ``phrase_y``: :math:`(|\mathcal{P}|)` long, the label of each constituent or -1;
          ``phrase_index``, ``phrase_type`` as from :func:`graphdep.to_data`; ``node_y``:
          :math:`(|\mathcal{V}|)` long, the label of each node of the dependency tree, -1 for a neutral phrase
          and -2 for no phrase

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, the layout is ambiguous, or a row of a raw file is damaged: the
            message has file, line and value.

    Example:
        >>> from graphdep.datasets import SST
        >>> dataset = SST("datasets/mini", split="val", parser="chain", limit=20)
        >>> len(dataset), dataset[0].y
        (20, tensor([1]))
    """

    corpus = "SST-2"
    published = "https://nlp.stanford.edu/sentiment, and by GLUE at https://dl.fbaipublicfiles.com/glue/data/SST-2.zip"
    labels = SST_LABELS

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/sst",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        layout: str | None = None,
        phrases: bool = False,
        trees: bool = False,
        **options: Unpack[ParsedOptions],
    ) -> None:
        other = layout not in (None, "trees") or phrases or options.get("tokens") is not None
        if trees and other:
            raise ValueError(
                "'trees' is for layout='trees' without 'phrases', and for nodes that are words, not 'tokens' "
                f"(got layout={layout!r}, phrases={phrases})"
            )
        layout = "trees" if trees else layout
        self.trees = self.bracketed = trees
        self.layout = choose_layout(
            layout, LAYOUTS, options.get("raw_from"), root, to_copy=_sst_layouts, copied=_layouts_below
        )
        if self.layout != "trees" and phrases:
            raise ValueError(f"'phrases' is for layout='trees' (got layout={self.layout!r})")
        self.phrases = phrases
        super().__init__(root, split, parser, **options)

    @property
    def raw_dir(self) -> str:
        """A separate folder for each layout."""
        return str(_raw(Path(self.root, "raw"), self.layout))

    @property
    def num_classes(self) -> int:
        """The number of labels, independent of the split."""
        return len(self.labels)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        path = folder / self._name(split)
        return [path] if path.is_file() else []

    def raw_file_pattern(self, split: str) -> str:
        name = self._name(split)
        return f"{name} (the labels of GLUE's own test.tsv are not public)" if name == GLUE_TEST else name

    def read(self, folder: Path, split: str) -> list[Review]:
        path = folder / self._name(split)
        if self.layout == "trees":
            return read_reviews(path, phrases=self._has_phrases(split))
        return read_sst(path, self.layout)

    def options(self) -> dict[str, Any]:
        own = {"phrases": self.phrases, "trees": self.trees}
        return super().options() | {name: True for name, chosen in own.items() if chosen}

    def texts(self) -> list[tuple[str, ...]]:
        return [(" ".join(review.words),) for review in self.read(Path(self.raw_dir), self.split)]

    def describe(self) -> dict[str, Any]:
        """As for every corpus; with :obj:`trees`, also the share of words whose dependency subtree is not a
        phrase of the treebank.
        """
        described = super().describe()
        if not self.trees or self._indices is not None:
            return described
        labelled = self._data.node_type[tree_nodes(self._data)]
        y = self._data.node_y[labelled == NodeType.WORD]
        without, neutral = int((y == NO_PHRASE).sum()), int((y == -1).sum())
        share = without / max(1, len(y))
        note = (
            f"the subtrees of {without:,} of {len(y):,} words ({share:.1%}) are not phrases of the treebank, "
            f"those of {neutral:,} ({neutral / max(1, len(y)):.1%}) are neutral phrases: encoders over "
            "dependencies are not trained at these nodes"
        )
        return described | {"without_phrase": share, "note": note}

    def examples(self, split: str, limit: int | None) -> list[Example]:
        if self.trees:
            return self._graded(split, limit)
        reviews = self.read(Path(self.raw_dir), split)
        if limit is not None:
            reviews = spread_rows(reviews, limit) if self._has_phrases(split) else reviews[:limit]
        trees = self.trees_of_words([review.words for review in reviews])
        return [
            Example([tree], {"y": torch.tensor([review.label])}, given=[review.words, review.label])
            for tree, review in zip(trees, reviews)
        ]

    def _graded(self, split: str, limit: int | None) -> list[Example]:
        read = read_graded_trees(Path(self.raw_dir) / self._name(split))
        graded = [tree for tree in read if tree.grade != NEUTRAL][:limit]
        parsed = self.trees_of_words([tree.words for tree in graded])
        return [
            Example(
                [with_brackets(sentence, tree)],
                _targets(tree, sentence, bool(self.to_data_options["root"])),
                given=[tree.words, int(tree.grade > NEUTRAL)],
            )
            for sentence, tree in zip(parsed, graded)
        ]

    def _has_phrases(self, split: str) -> bool:
        return self.phrases and split == "train"

    def _name(self, split: str) -> str:
        if self.layout == "trees":
            return TREES[split]
        return GLUE_TEST if (self.layout, split) == ("glue", "test") else SST_FILES[split]


class Review(NamedTuple):
    """A row of a raw file."""

    words: list[str]
    label: int


def read_sst(path: Path, layout: str) -> list[Review]:
    """The sentences of a raw file."""
    rows = read_table(path, SST_COLUMNS if layout == "glue" else _SST_LINES, header=layout == "glue")
    return [Review(text.split(), int(label)) for _, (text, label) in rows]


def read_reviews(path: Path, *, phrases: bool = False) -> list[Review]:
    """The non-neutral sentences of a file of the treebank, or all non-neutral phrases."""
    trees = read_sst_trees(path)
    wanted = (phrase for tree in trees for phrase in (tree if phrases else tree[:1]))
    return [Review(words, int(grade > NEUTRAL)) for words, grade in wanted if grade != NEUTRAL]


def with_brackets(sentence: Sentence, tree: GradedTree) -> Sentence:
    """Replaces the constituents of a parse by the treebank's of several words. The label is that of the
    parser's topmost constituent over the same words, else ``X``.
    """
    own: dict[tuple[int, int], str] = {}
    for label, start, end in sentence.constituents or ():
        own.setdefault((start, end), label)
    spans = [(start, end) for _, start, end in tree.nodes if end - start > 1]
    return dataclasses.replace(sentence, constituents=[(own.get(span, FLAT), *span) for span in spans])


NO_PHRASE = -2


def _targets(tree: GradedTree, sentence: Sentence, root: bool) -> dict[str, torch.Tensor]:
    """The label of the sentence, and those of all nodes of both trees."""
    # Of two nodes over the same words, the lower one counts.
    of_span = {(start, end): _label(grade) for grade, start, end in tree.nodes}
    words = [of_span[word, word + 1] for word in range(len(tree.words))]
    phrases = [_label(grade) for grade, start, end in tree.nodes if end - start > 1]
    nodes = [NO_PHRASE if span is None else of_span.get(span, NO_PHRASE) for span in subtree_spans(sentence)]
    y = _label(tree.grade)
    return {
        "y": torch.tensor([y]),
        "word_y": torch.tensor([*([-1] if root else []), *words]),
        "phrase_y": torch.tensor(phrases, dtype=torch.long),
        "node_y": torch.tensor([*([y] if root else []), *nodes]),
    }


def subtree_spans(sentence: Sentence) -> list[tuple[int, int] | None]:
    """Start and end of each word's subtree; :obj:`None` for a subtree with a gap."""
    first, last = [*range(len(sentence))], [*range(len(sentence))]
    size = [1] * len(sentence)
    for word in sorted(range(len(sentence)), key=sentence.depth.__getitem__, reverse=True):
        if (governor := sentence.head[word] - 1) >= 0:
            first[governor] = min(first[governor], first[word])
            last[governor] = max(last[governor], last[word])
            size[governor] += size[word]
    return [
        (start, end + 1) if end + 1 - start == count else None for start, end, count in zip(first, last, size)
    ]


def _label(grade: int) -> int:
    return -1 if grade == NEUTRAL else int(grade > NEUTRAL)


def _layouts_below(raw: Path) -> list[str]:
    return [name for name in LAYOUTS if any((_raw(raw, name) / file).is_file() for file in _files(name))]


def _files(layout: str) -> Collection[str]:
    return (TREES if layout == "trees" else SST_FILES).values()


def _sst_layouts(folder: Path) -> list[str]:
    """The layouts of the files in a folder, known by the first lines of tables and by the names of trees."""
    layouts = {file: _layout_of(folder / file) for file in SST_FILES.values() if (folder / file).is_file()}
    if len(set(layouts.values())) > 1:
        found = ", ".join(f"{file} is {layout!r}" for file, layout in layouts.items())
        raise ValueError(f"{folder} mixes two layouts: {found}")
    trees = ["trees"] if any((folder / file).is_file() for file in TREES.values()) else []
    return [*trees, *list(layouts.values())[:1]]


def _layout_of(path: Path) -> str:
    with path.open("rb") as file:
        first = file.readline().removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
    return "glue" if first in _GLUE_STARTS else "sentence"


def _raw(raw: Path, layout: str) -> Path:
    return raw / f"sst-{layout}"


class UDTreebank(ParsedDataset):
    """The sentences of a treebank of `"Universal Dependencies v2" <https://aclanthology.org/2020.lrec-1.497/>`_
    with their gold trees, one example per sentence.

    A split is the file ``<name>-ud-<split>.conllu`` in the treebank's folder, or several parts of it
    (``<name>-ud-train-a.conllu``). There is no parser and no ``y``.

    Args:
        root: Folder of one treebank. (default: ``"datasets/ud"``)
        split: ``"train"``, ``"val"`` (the treebank's dev) or ``"test"``. (default: ``"train"``)
        options: Further options, see :class:`ParsedOptions`. :obj:`arcs` is ``"basic"`` for columns HEAD and
            DEPREL, or ``"enhanced"`` for DEPS. For the trees of a treebank without a training split, pass an
            empty :class:`~graphdep.Vocab` as :obj:`vocab`.

    Raises:
        FileNotFoundError: If there is no file for the split; the message says where to get it.
        ValueError: If an option is wrong, or the folder holds several treebanks.
        graphdep.ConlluError: If a file is damaged, with file, line and value.

    Example:
        >>> from graphdep.datasets import UDTreebank
        >>> dataset = UDTreebank("datasets/mini/ud", split="val")
        >>> len(dataset), sorted(dataset[0].keys())[:3]
        (2, ['arc_index', 'arc_type', 'deprel'])
    """

    shared_options = ParsedOptions
    corpus = "UD treebank"
    published = "https://universaldependencies.org"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ud",
        split: str = "train",
        **options: Unpack[ParsedOptions],
    ) -> None:
        check_choice("arcs", options.get("arcs", "basic"), ("basic", "enhanced"))
        others: dict[str, Any] = {**options}
        to_data_options = {"root": others.pop("root_node", True)}
        super().__init__(root, split, to_data_options=to_data_options, **others)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return visible_files(folder, self.raw_file_pattern(split), before="-ud-")

    def raw_file_pattern(self, split: str) -> str:
        return f"*-ud-{'dev' if split == 'val' else split}*.conllu"

    def options(self) -> dict[str, Any]:
        return {"parser": "gold"}

    def read(self, folder: Path, split: str) -> list[Sentence]:
        return [sentence for path in self.raw_files(folder, split) for sentence in read_conllu(path)]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        return [Example([sentence]) for sentence in self.read(Path(self.raw_dir), split)[:limit]]
