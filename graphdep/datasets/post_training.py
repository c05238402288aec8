"""Masked words and relevance, for post-training an encoder."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile, zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler
from torch_geometric.data import Data, Dataset

from graphdep.data.encoded import selection_data
from graphdep.data.node_table import EncodedUtterance, NodeType
from graphdep.datasets.base.parsed import example_digest, words_alone
from graphdep.datasets.base.rows import Draw
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.datasets.selection.store import sentence_of
from graphdep.io.limits import check_least
from graphdep.parsing.enhanced import LEVELS, check_arcs
from graphdep.parsing.parser import Parser, parse_joined
from graphdep.parsing.resolver import resolve_parser
from graphdep.sentence.sentence import Sentence, check_roots
from graphdep.vocab.relations import GRAPH_MIN_FREQ, RelationVocab, label_counts
from graphdep.vocab.vocab import Tokens

IGNORED = -100
"""Target of a node without prediction, which :func:`torch.nn.functional.cross_entropy` ignores."""
# Shares of the predicted pieces: hidden, and hidden or replaced.
_HIDDEN, _CHANGED = 0.8, 0.9


@dataclass(frozen=True)
class Masking:
    r"""Masked words of "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
    (section 3.1).

    Each piece of a word is predicted with probability :obj:`share`, independently of the other pieces. Of the
    predicted pieces, 80% become [MASK], 10% become a random piece, and 10% are unchanged.

    Args:
        mask_id: Id of [MASK].
        replacements: Ids of the random pieces, without special tokens.
        share: Probability of a piece. (default: :obj:`0.15`)

    Raises:
        ValueError: If :obj:`share` is not a probability, or there are no replacements.

    Example:
        >>> import random
        >>> import torch
        >>> from graphdep.datasets import Masking
        >>> masking = Masking(mask_id=4, replacements=range(10, 50), share=1.0)
        >>> ids, target = masking(torch.arange(10, 16), torch.arange(1, 4), random.Random(0))
        >>> ids.shape, target
        (torch.Size([6]), tensor([  10,   11,   12, -100, -100, -100]))
    """

    mask_id: int
    replacements: Sequence[int] = field(repr=False)
    share: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"'share' must be in 0 < share <= 1 (got {self.share})")
        if not self.replacements:
            raise ValueError("'replacements' is empty: a random piece is one of them")
        object.__setattr__(self, "replacements", tuple(self.replacements))  # so that it has a hash

    @classmethod
    def of_tokenizer(cls, tokenizer: Any, share: float = 0.15) -> Masking:
        """With the [MASK] and the pieces of a Hugging Face tokenizer.

        Raises:
            ValueError: If it has no [MASK].
        """
        if tokenizer.mask_token_id is None:
            raise ValueError(f"'tokenizer' has no mask token (got {type(tokenizer).__name__})")
        special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
        return cls(tokenizer.mask_token_id, [i for i in range(len(tokenizer)) if i not in special], share)

    def __call__(self, input_ids: Tensor, words: Tensor, source: random.Random) -> tuple[Tensor, Tensor]:
        r"""The masked ids, and the targets.

        Args:
            input_ids: The ids.
            words: Whether each node is a piece of a word; other nodes are not predicted.
            source: Random generator; one draw per piece, and one more for a replacement.

        Shapes:
            - input_ids, words: :math:`(|\mathcal{V}|)`, long and bool
            - outputs: :math:`(|\mathcal{V}|)`, long; targets are ``-100`` without prediction
        """
        ids = input_ids.tolist()
        target = [IGNORED] * len(ids)
        for node in words.nonzero().flatten().tolist():
            chance = source.random() / self.share
            if chance >= 1:
                continue
            target[node] = ids[node]
            if chance < _HIDDEN:
                ids[node] = self.mask_id
            elif chance < _CHANGED:
                ids[node] = self.replacements[int(source.random() * len(self.replacements))]
        return torch.tensor(ids, dtype=torch.long), torch.tensor(target, dtype=torch.long)


@dataclass(frozen=True)
class PostTrainingKey:
    """Key of a :class:`~graphdep.datasets.PostTrainingDataset`: a sample as it is drawn in an epoch.

    Args:
        epoch: The epoch.
        number: The number of the sample in the dataset or slice.

    Example:
        >>> from graphdep.datasets import PostTrainingKey
        >>> PostTrainingKey(epoch=1, number=7)
        PostTrainingKey(epoch=1, number=7)
    """

    epoch: int
    number: int


Turns = tuple[int, ...]


def positive_dialogues(
    dataset: SelectionDataset, *, short_context: int = 3, trees: bool = False
) -> list[list[str | Sentence]]:
    """Contexts with their right responses as dialogues, for :class:`~graphdep.datasets.PostTrainingDataset`.

    If a context and its response are the beginning of another dialogue, for example because each turn has a
    pool, only the longer dialogue is returned. If two dialogues have a common beginning, for example because
    several messages answer one, the second has only the last :obj:`short_context` utterances of it. Thus
    each response follows its short context once, and first utterances are not repeated.

    Args:
        dataset: A split, or a slice of it, with whole contexts (``max_turns=None``).
        short_context: As for the :class:`~graphdep.datasets.PostTrainingDataset`. (default: :obj:`3`)
        trees: Return trees, for edges that need them, instead of texts (words joined by spaces), which take
            less memory. (default: :obj:`False`)

    Returns:
        The dialogues, in an arbitrary but fixed order. Equal utterances are one object. Utterances without
        words are left out; the dataset counts them.

    Raises:
        ValueError: If :obj:`short_context` is below 1, or the dataset has no right response.
    """
    check_least("short_context", short_context, 1)
    store, own = dataset._store, {*dataset.indices()}
    dialogues = {
        (*pair.context.tolist(), pair.response)
        for number, pair in store.each_pair()
        if pair.label and number in own
    }
    if not dialogues:
        raise ValueError(f"'dataset' has no right response (got {len(dataset)} pairs)")
    used = {turn for dialogue in dialogues for turn in dialogue}
    words, relations = list(store.words()), store.relations()
    graphs = store.graphs(used) if trees and dataset.has_graphs else {}

    def read(number: int, tree: tuple[np.ndarray, np.ndarray, np.ndarray]) -> str | Sentence | None:
        if trees:
            return sentence_of(tree, words, relations, graphs.get(number))
        return " ".join(words[number] for number in tree[0].tolist()) or None

    every = ((number, read(number, tree)) for number, tree in enumerate(store.each_tree()) if number in used)
    found = {number: turn for number, turn in every if turn is not None}
    with_words = {tuple(turn for turn in dialogue if turn in found) for dialogue in dialogues}
    return [[found[turn] for turn in dialogue] for dialogue in _distinct(with_words, short_context)]


def _distinct(dialogues: Iterable[Turns], short_context: int) -> list[Turns]:
    """Dialogues in which each window of ``short_context`` utterances and the next one occurs once."""
    # In this order a dialogue comes directly before its continuations, and has its longest common beginning
    # with the dialogue before it.
    ordered = sorted(dialogues)
    longest = [
        one for one, other in zip_longest(ordered, ordered[1:], fillvalue=()) if not _begins(one, other)
    ]
    pairs = pairwise([(), *longest])
    return [other[max(0, _shared(one, other) - short_context) :] for one, other in pairs]


def _begins(one: Turns, other: Turns) -> bool:
    return other[: len(one)] == one


def _shared(one: Turns, other: Turns) -> int:
    """The number of first utterances that two dialogues share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))


Utterance = str | Sentence

RANDOM, SAME_DIALOGUE, NEXT = range(3)
"""Relevance of a response: of another dialogue, of the same dialogue, or the next utterance."""


class PostTrainingDataset(Dataset):
    r"""Samples of `"Fine-grained Post-training for Improving Retrieval-based Dialogue Systems"
    <https://aclanthology.org/2021.naacl-main.122/>`_ (BERT-FP).

    A dialogue has one sample for each window of :obj:`short_context` utterances and the next utterance; a
    shorter dialogue has one sample with all of its utterances. The response of a sample is

    - with label 0 a random utterance of another dialogue,
    - with label 1 a random utterance of the same dialogue, possibly of the context, but not the next one,
    - with label 2 the next utterance.

    Label, response and masked words are drawn in each epoch, from the seed, the epoch and the number of the
    sample only: ``dataset[PostTrainingKey(epoch, number)]``. ``dataset[number]`` is the sample of epoch 0, so
    validation data are fixed. Slices and shuffled copies work as in PyG and do not change the samples.
    :class:`~graphdep.datasets.PostTrainingSampler` returns the keys of an epoch.

    A sample has the layout of :func:`graphdep.data.encoded`, as in fine-tuning. The public code uses another
    layout in post-training: the last utterance of a context has no [EOU], and a context is cut only if it is
    three times as long as the response. Labels, windows, masking, length and shares are those of the public
    code.

    Blank utterances and dialogues of one utterance are left out; :meth:`describe` counts them.

    Args:
        dialogues: The utterances of each dialogue, as texts or as trees.
        tokens: Ids of word pieces.
        masking: Masks words, with the ids of :obj:`tokens`.
        parser: Parses texts: a name for :func:`graphdep.parsing.resolve_parser`, or a parser. With
            :obj:`None`, texts are split at white space and get chain trees, which is enough for edges without
            syntax (``resolve("transformer")``). (default: :obj:`None`)
        roots: In the tree of a text of several sentences, ``"all"`` keeps all roots, as in response
            selection; with ``"first"`` the others depend on the first. (default: ``"all"``)
        relations: Ids of relations, e.g. of another split, or how they are chosen from the trees of the
            dialogues (:meth:`RelationVocab.of_arcs`). (default: ``"auto"``)
        short_context: Number of utterances of a context. (default: :obj:`3`)
        max_length: The largest number of nodes of a sample. (default: :obj:`240`)
        shares: Shares of the three labels. (default: ``(0.5, 0.25, 0.25)``)
        seed: Seed. (default: :obj:`0`)
        arcs: ``"basic"`` reads the arcs of trees; other values read enhanced graphs, which the trees must
            have (:func:`graphdep.parsing.enhance`). (default: ``"basic"``)
        relation_min_freq: If relations are learned from enhanced graphs, rarer labels are reduced to the part
            before the colon. (default: :obj:`5`)
        constituents: Read the constituents of trees, too. (default: :obj:`False`)
        transform: Applied to each sample. (default: :obj:`None`)

    Shapes:
        - the node table of :func:`graphdep.data.encoded`, ``input_ids`` masked
        - ``mlm_target``: :math:`(|\mathcal{V}|)`, long, the id of a piece to predict, else -100
        - ``y``: :math:`(1)`, long, the label

    Raises:
        ValueError: If an option is wrong, there are fewer than two dialogues to draw from, or no dialogue has
            two utterances.

    Example:
        >>> from graphdep import Vocab
        >>> from graphdep.datasets import Masking, PostTrainingDataset
        >>> from graphdep.vocab import VocabTokens
        >>> dialogues = [["Hi !", "Hello .", "Bye !", "See you ."], ["Who ?", "Me .", "Why ?", "So ."]]
        >>> tokens = VocabTokens(Vocab.build(turn.split() for turns in dialogues for turn in turns))
        >>> dataset = PostTrainingDataset(dialogues, tokens, Masking(0, range(5, 12)), parser="chain")
        >>> len(dataset), dataset[0].y
        (2, tensor([0]))
    """

    def __init__(
        self,
        dialogues: Sequence[Sequence[Utterance]],
        tokens: Tokens,
        masking: Masking,
        *,
        parser: str | Parser | None = None,
        roots: str = "all",
        relations: str | RelationVocab = "auto",
        short_context: int = 3,
        max_length: int = 240,
        shares: tuple[float, float, float] = (0.5, 0.25, 0.25),
        seed: int = 0,
        arcs: str = "basic",
        relation_min_freq: int = GRAPH_MIN_FREQ,
        constituents: bool = False,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        check_roots(roots)
        check_arcs(arcs)
        check_least("short_context", short_context, 1)
        check_least("relation_min_freq", relation_min_freq, 1)
        if len(shares) != 3 or not min(shares) >= 0 or not abs(sum(shares) - 1) <= 1e-6:
            raise ValueError(f"'shares' must be three probabilities that sum to 1 (got {shares})")
        super().__init__(transform=transform)
        self.tokens, self.masking = tokens, masking
        self.short_context, self.max_length = short_context, max_length
        self.shares, self.seed = shares, seed
        self.arcs, self.constituents = "basic" if arcs == "basic" else "enhanced", constituents
        self.dialogues, self._counts = _without_blank(dialogues)
        if parser is not None:
            parsed = _parsed(self.dialogues, resolve_parser(parser, constituents=constituents), roots)
            self.dialogues, self._counts["parser_failures"] = parsed
        if isinstance(relations, str):
            trees = (tree for turns in self.dialogues for tree in turns if isinstance(tree, Sentence))
            least = relation_min_freq if arcs in LEVELS else None
            relations = RelationVocab.of_arcs(label_counts(trees, arcs), relations, graph_min_freq=least)
        self.relations = relations
        if len(self.dialogues) < 2 and shares[RANDOM]:
            message = "at least 2 'dialogues' must have an utterance: label 0 needs another dialogue"
            raise ValueError(f"{message} (got {len(self.dialogues)})")
        sizes = np.array([len(dialogue) for dialogue in self.dialogues], dtype=np.int64)
        self._ends = np.where(sizes < 2, 0, (sizes - short_context).clip(min=1)).cumsum()
        if not self.len():
            message = "one of 'dialogues' must have at least two utterances"
            raise ValueError(f"{message} (got {len(self.dialogues)} of one utterance)")

    def len(self) -> int:
        return int(self._ends[-1]) if self._ends.size else 0

    def get(self, idx: int) -> Data:
        """The sample with a number among all samples, in epoch 0 and before :obj:`transform`."""
        return self._sample(0, int(idx))

    def __getitem__(self, idx: Any) -> Any:
        """The sample of a :class:`PostTrainingKey`, or of a number in epoch 0; else a slice, as in PyG."""
        if not isinstance(idx, PostTrainingKey):
            return super().__getitem__(idx)
        data = self._sample(idx.epoch, int(self.indices()[idx.number]))
        return data if self.transform is None else self.transform(data)

    def _sample(self, epoch: int, number: int) -> Data:
        if not 0 <= number < self.len():
            raise IndexError(f"no sample {number}: the samples are 0 to {self.len() - 1}")
        source = random.Random(f"{self.seed} {epoch} {number}")
        context, response, label = self._draw(number, Draw(source))
        data = selection_data(
            [self._encode(utterance) for utterance in context],
            self._encode(response),
            self.tokens,
            max_length=self.max_length,
        )
        words = data.node_type == NodeType.WORD
        data.input_ids, data.mlm_target = self.masking(data.input_ids, words, source)
        data.y = torch.tensor([label])
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"

    def describe(self) -> dict[str, Any]:
        """Counts of the whole dataset, also for a slice, and of what was left out."""
        sizes = [len(dialogue) for dialogue in self.dialogues]
        return {
            "samples": self.len(),
            "dialogues": len(sizes),
            "utterances": sum(sizes),
            "short_dialogues": sum(1 < size <= self.short_context for size in sizes),
            "one_utterance_dialogues": sizes.count(1),
            **self._counts,
        }

    def example_digests(self) -> list[str]:
        """A digest of each sample's words and label, in epoch 0 (:func:`example_digest`)."""
        found = []
        for number in self.indices():
            context, response, label = self._draw(number, Draw(random.Random(f"{self.seed} 0 {number}")))
            found.append(example_digest(*map(_words, (*context, response)), label))
        return found

    def _draw(self, number: int, draw: Draw) -> tuple[Sequence[Utterance], Utterance, int]:
        """Context, response and label of a sample."""
        dialogue = int(np.searchsorted(self._ends, number, side="right"))
        utterances = self.dialogues[dialogue]
        start = number - (int(self._ends[dialogue - 1]) if dialogue else 0)
        end = min(start + self.short_context, len(utterances) - 1)
        label = self._label(draw.source.random())
        if label == RANDOM:
            response = draw.pick(self.dialogues[_other(draw, len(self.dialogues), dialogue)])
        elif label == SAME_DIALOGUE:
            response = utterances[_other(draw, len(utterances), end)]
        else:
            response = utterances[end]
        return utterances[start:end], response, label

    def _label(self, chance: float) -> int:
        if chance < self.shares[RANDOM]:
            return RANDOM
        return SAME_DIALOGUE if chance < self.shares[RANDOM] + self.shares[SAME_DIALOGUE] else NEXT

    def _encode(self, utterance: Utterance) -> EncodedUtterance:
        tree = Sentence.chain(utterance.split()) if isinstance(utterance, str) else utterance
        return EncodedUtterance.of(tree, self.tokens, self.relations, self.arcs, phrases=self.constituents)


def _words(utterance: Utterance) -> str:
    return "".join(utterance.split()) if isinstance(utterance, str) else words_alone(utterance)


def _other(draw: Draw, size: int, number: int) -> int:
    """A uniformly drawn number below ``size`` other than ``number``."""
    other = draw.pick(range(size - 1))
    return other + (other >= number)


def _without_blank(
    dialogues: Sequence[Sequence[Utterance]],
) -> tuple[list[list[Utterance]], dict[str, int]]:
    """The dialogues without blank utterances, and the numbers of what was left out."""
    kept = [[u for u in dialogue if not isinstance(u, str) or u.strip()] for dialogue in dialogues]
    blank = sum(map(len, dialogues)) - sum(map(len, kept))
    left = [dialogue for dialogue in kept if dialogue]
    return left, {"blank_utterances": blank, "empty_dialogues": len(kept) - len(left)}


def _parsed(
    dialogues: list[list[Utterance]], parser: Parser, roots: str
) -> tuple[list[list[Utterance]], int]:
    """Trees instead of texts, with each distinct text parsed once, and the number of chain trees."""
    texts = list(dict.fromkeys(u for dialogue in dialogues for u in dialogue if isinstance(u, str)))
    trees, failures = parse_joined(parser, texts, roots=roots)
    tree = dict(zip(texts, trees))
    return [[tree[u] if isinstance(u, str) else u for u in dialogue] for dialogue in dialogues], failures


class PostTrainingSampler(Sampler[PostTrainingKey]):
    """Keys (:class:`~graphdep.datasets.PostTrainingKey`) of a
    :class:`~graphdep.datasets.PostTrainingDataset`, in another random order in each epoch.

    A key has the epoch, so workers of a loader draw the same samples as the main process would, and a resumed
    run the same as an uninterrupted one. Lightning calls :meth:`set_epoch`.

    Args:
        size: Number of samples: the length of the dataset or slice.
        seed: Seed of the order. (default: :obj:`0`)

    Example:
        >>> from graphdep.datasets import PostTrainingSampler
        >>> sampler = PostTrainingSampler(size=4, seed=0)
        >>> sampler.set_epoch(1)
        >>> sorted(key.number for key in sampler), {key.epoch for key in sampler}
        ([0, 1, 2, 3], {1})
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self.size, self.seed, self.epoch = size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[PostTrainingKey]:
        seed = random.Random(f"{self.seed} {self.epoch}").getrandbits(62)
        epoch = self.epoch
        for number in torch.randperm(self.size, generator=torch.Generator().manual_seed(seed)).tolist():
            yield PostTrainingKey(epoch, number)
