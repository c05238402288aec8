"""SST-2: sentences of film reviews, negative or positive."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import torch

from graphdep.datasets.base.draw import spread_rows
from graphdep.datasets.base.layouts import choose_layout
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.base.raw import check_words, read_table, row_error
from graphdep.datasets.base.text_dataset import TextDataset
from graphdep.datasets.sentences.sst_trees import NEUTRAL, GradedTree, read_graded_trees, read_sst_trees
from graphdep.parsing import Parser
from graphdep.sentence import Sentence
from graphdep.sentence.tree import FLAT

HEADER = ("sentence", "label")
LABELS = ("negative", "positive")
LAYOUTS = ("sentence", "glue", "trees")
FILES = {"train": "train.tsv", "val": "dev.tsv", "test": "test.tsv"}
TREES = {"train": "train.txt", "val": "dev.txt", "test": "test.txt"}
GLUE_TEST = "test-labeled.tsv"
# The first lines of GLUE's files; the third layout, without labels, is that of its test.tsv.
_GLUE_STARTS = (b"sentence\tlabel", b"index\tsentence")


class SST(TextDataset):
    r"""The sentences with two labels of `"Recursive Deep Models for Semantic Compositionality Over a
    Sentiment Treebank" <https://aclanthology.org/D13-1170/>`_ (SST-2), one tree a sentence.

    There are three layouts. ``"sentence"`` has whole sentences, ``text<TAB>label`` without a header;
    ``"glue"`` has the files of `"GLUE" <https://arxiv.org/abs/1804.07461>`_, with a header, whose training
    file holds phrases as well; ``"trees"`` is the treebank itself, with a grade from 0 to 4 for every phrase
    (:func:`read_sst_trees`), of which 2, neutral, is left out, more is positive and less negative. They are
    kept apart in ``raw/sst-sentence/``, ``raw/sst-glue/`` and ``raw/sst-trees/``. GLUE's ``test.tsv`` has no
    labels: the test split then is ``test-labeled.tsv``, the same sentences with labels, where there is such a
    file.

    With ``phrases=True`` every phrase of the treebank's training trees that is not neutral is a training
    example, as the models of the papers are trained: the sentence, its parts, down to its words, those of
    neutral sentences too, and each as often as it is there; 98,794 in place of 6,920. Validation and test are
    whole sentences. Each phrase is parsed by itself, as a text of a user would be. It is not the default,
    under which all layouts have the same examples.

    With ``trees=True`` a sentence has the constituents of the treebank itself, two parts each, and every node
    of them its label, in all splits; examples are the sentences that are not neutral as a whole, as for
    ``"trees"`` without it, while neutral nodes in them have no label (-1): 84,440 labelled nodes to train on,
    11,033 and 22,451 in the other splits. So RNTN and the Tree-LSTM of constituents are trained, but that the
    code of the latter makes neutral nodes a third class, which it never answers with
    (:meth:`~graphdep.nn.models.SentenceModel.node_logits`). The files name no categories: constituents are
    ``X``, or with ``constituents=True``, which asks the parser for its own, have the label of the parser's
    topmost one over the same words, where there is one. The parser always gives the dependency tree.

    The corpus is tokenised. Its words, which white space separates, are kept, and the parser gives them one
    tree, also where they are several sentences. See :class:`ParsedDataset` for what makes a processed file.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written sentences.
            (default: ``"datasets/sst"``)
        split: ``"train"``, ``"val"`` (the dev file) or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        layout: ``"sentence"``, ``"glue"`` or ``"trees"``; :obj:`None` for that of :obj:`raw_from`, else for
            the only one below :obj:`root`. (default: :obj:`None`)
        phrases: Train on phrases, too, of ``layout="trees"``. (default: :obj:`False`)
        trees: Read the treebank's own trees and the labels of all their nodes; the layout then is
            ``"trees"``. (default: :obj:`False`)
        options: Further ones, see :class:`ParsedOptions`; with :obj:`phrases` a :obj:`limit` of the training
            split is spread over it, since the first ones are of few sentences, and :obj:`min_freq` counts a
            word in each phrase that has it.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the label in :attr:`labels`
        - with :obj:`trees`, ``word_y``: :math:`(|\mathcal{V}|)` long, of each word that number or -1, -1 for
          ROOT; ``phrase_y``: :math:`(|\mathcal{P}|)` long, the same of each constituent; ``phrase_index``,
          ``phrase_type`` as :func:`graphdep.to_data` makes them

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, several layouts are there and none is chosen, or a row of a raw
            file is damaged: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import SST
        >>> dataset = SST("datasets/mini", split="val", parser="chain", limit=20)
        >>> len(dataset), dataset[0].y
        (20, tensor([1]))
    """

    corpus = "SST-2"
    published = "https://nlp.stanford.edu/sentiment, and by GLUE at https://dl.fbaipublicfiles.com/glue/data/SST-2.zip"
    labels = LABELS

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
        if trees and layout not in (None, "trees"):
            raise ValueError(f"'trees' is for layout='trees' (got layout={layout!r})")
        if trees and options.get("tokens") is not None:
            raise ValueError("'trees' is for words, each of which is a node: 'tokens' cut them into pieces")
        if trees and phrases:
            raise ValueError("'phrases' and 'trees' are both True: one trains on what the other labels")
        layout = "trees" if trees else layout
        self.trees = self.bracketed = trees
        self.layout = choose_layout(
            layout, LAYOUTS, options.get("raw_from"), root, to_copy=_layouts_in, copied=_layouts_below
        )
        if phrases and self.layout != "trees":
            raise ValueError(f"'phrases' is for layout='trees' (got layout={self.layout!r})")
        self.phrases = phrases
        super().__init__(root, split, parser, **options)

    @property
    def raw_dir(self) -> str:
        """A folder of its own for each layout."""
        return str(_raw(Path(self.root, "raw"), self.layout))

    @property
    def num_classes(self) -> int:
        """The number of labels, whatever the split holds."""
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

    def examples(self, split: str, limit: int | None) -> list[Example]:
        if self.trees:
            return self._graded(split, limit)
        reviews = self.read(Path(self.raw_dir), split)
        if limit is not None:
            reviews = spread_rows(reviews, limit) if self._has_phrases(split) else reviews[:limit]
        trees = self.trees_of_words([review.words for review in reviews])
        return [Example([tree], {"y": torch.tensor([r.label])}) for tree, r in zip(trees, reviews)]

    def _graded(self, split: str, limit: int | None) -> list[Example]:
        read = read_graded_trees(Path(self.raw_dir) / self._name(split))
        graded = [tree for tree in read if tree.grade != NEUTRAL][:limit]
        parsed = self.trees_of_words([tree.words for tree in graded])
        return [
            Example([with_brackets(sentence, tree)], _targets(tree, bool(self.to_data_options["root"])))
            for sentence, tree in zip(parsed, graded)
        ]

    def _has_phrases(self, split: str) -> bool:
        return self.phrases and split == "train"

    def _name(self, split: str) -> str:
        if self.layout == "trees":
            return TREES[split]
        return GLUE_TEST if (self.layout, split) == ("glue", "test") else FILES[split]


class Review(NamedTuple):
    """One row of a raw file."""

    words: list[str]
    label: int


def read_sst(path: Path, layout: str) -> list[Review]:
    """The sentences of a raw file.

    Raises:
        ValueError: If a row is damaged, with file, line and value.
    """
    return [_review(path, line, row) for line, row in read_table(path, HEADER, header=layout == "glue")]


def read_reviews(path: Path, *, phrases: bool = False) -> list[Review]:
    """The sentences of a file of the treebank that are not neutral, or all phrases that are not.

    Raises:
        ValueError: If a tree is damaged, with file, line and value.
    """
    trees = read_sst_trees(path)
    wanted = (phrase for tree in trees for phrase in (tree if phrases else tree[:1]))
    return [Review(words, int(grade > NEUTRAL)) for words, grade in wanted if grade != NEUTRAL]


def with_brackets(sentence: Sentence, tree: GradedTree) -> Sentence:
    """A parsed sentence with the constituents of the treebank, those of several words, in place of its own,
    of which they have the labels: of the topmost one over the same words, else ``X``.
    """
    own: dict[tuple[int, int], str] = {}
    for label, start, end in sentence.constituents or ():
        own.setdefault((start, end), label)
    spans = [(start, end) for _, start, end in tree.nodes if end - start > 1]
    return dataclasses.replace(sentence, constituents=[(own.get(span, FLAT), *span) for span in spans])


def _targets(tree: GradedTree, root: bool) -> dict[str, torch.Tensor]:
    """The label of the whole, and those of all nodes; -1 for neutral ones and for ROOT."""
    of_word = {start: _label(grade) for grade, start, end in tree.nodes if end - start == 1}
    words = [of_word[word] for word in range(len(tree.words))]  # of two such nodes that of the lower one
    phrases = [_label(grade) for grade, start, end in tree.nodes if end - start > 1]
    return {
        "y": torch.tensor([_label(tree.grade)]),
        "word_y": torch.tensor([*([-1] if root else []), *words]),
        "phrase_y": torch.tensor(phrases, dtype=torch.long),
    }


def _label(grade: int) -> int:
    return -1 if grade == NEUTRAL else int(grade > NEUTRAL)


def _review(path: Path, line: int, row: list[str]) -> Review:
    text, label = row
    if label not in ("0", "1"):
        layouts = ", or the first line 'sentence<TAB>label' of the layout 'glue'" if line == 1 else ""
        raise row_error(path, line, f"label must be 0 or 1{layouts}", label)
    if not text.strip():
        raise row_error(path, line, "sentence is empty", text)
    check_words(path, line, "sentence", text)
    return Review(text.split(), int(label))


def _layouts_below(raw: Path) -> list[str]:
    return [name for name in LAYOUTS if any((_raw(raw, name) / file).is_file() for file in _files(name))]


def _files(layout: str) -> Collection[str]:
    return (TREES if layout == "trees" else FILES).values()


def _layouts_in(folder: Path) -> list[str]:
    """The layouts of a folder's files: of tables by their first lines, of trees by their names."""
    layouts = {file: _layout_of(folder / file) for file in FILES.values() if (folder / file).is_file()}
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
