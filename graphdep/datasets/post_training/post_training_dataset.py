"""Short context-response pairs with masked words: what BERT-FP is post-trained on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data, Dataset

from graphdep.data import EncodedUtterance, NodeType, selection_data
from graphdep.datasets.base.draw import Draw
from graphdep.datasets.post_training.masking import Masking
from graphdep.datasets.post_training.post_training_key import PostTrainingKey
from graphdep.parsing import Parser, resolve_parser
from graphdep.parsing.parser import parse_joined
from graphdep.sentence import Sentence
from graphdep.sentence.sentence import check_roots
from graphdep.vocab import RelationVocab, Tokens

Utterance = str | Sentence

RANDOM, SAME_DIALOGUE, NEXT = range(3)
"""Relevance of a response: any utterance, one of the same dialogue, the one that follows the context."""


class PostTrainingDataset(Dataset):
    r"""Samples of `"Fine-grained Post-training for Improving Retrieval-based Dialogue Systems"
    <https://aclanthology.org/2021.naacl-main.122/>`_ (BERT-FP).

    A dialogue gives a sample for each of its windows of :obj:`short_context` utterances and the one after
    them; a shorter dialogue gives one, of all its utterances. The response of a sample is

    - with the label 0 a random utterance of another dialogue,
    - with the label 1 a random utterance of the same dialogue, of the context or not, but not the next one,
    - with the label 2 the next one.

    Which it is, and which words are masked, is drawn anew in each epoch, from the seed, the epoch and the
    number of the sample alone: ``dataset[PostTrainingKey(epoch, number)]``. ``dataset[number]`` is that of
    epoch 0, and so what is validated on is always the same. Slices and shuffled copies are those of PyG's
    datasets, and a sample in them is the same as before. :class:`~graphdep.datasets.PostTrainingSampler`
    gives the keys of an epoch.

    A sample has the layout of :func:`graphdep.data.encoded`, in which the model is used later on.
    The public code differs from it in what it does not use later: there the last utterance of a context has
    no [EOU] in post-training, and a context is cut only where it is three times as long as the response.
    Labels, windows, masking, length and shares are those of the public code.

    Blank utterances are left out, and so are dialogues without another utterance; :meth:`describe` counts
    both.

    Args:
        dialogues: The utterances of each dialogue, as texts or as trees.
        tokens: Ids of the pieces of words.
        masking: Masks words; its ids are those of :obj:`tokens`.
        parser: Makes the trees of texts: a name for :func:`graphdep.parsing.resolve_parser`, or a parser.
            :obj:`None` cuts texts at white space and makes chains of them, which are no syntax, but the edges
            of ``resolve("transformer")`` do not ask for any. (default: :obj:`None`)
        roots: Of a text of several sentences ``"all"`` roots stay roots, as in response selection, which the
            encoder is for, or those after the ``"first"`` depend on it. (default: ``"all"``)
        relations: Ids of relations. (default: a fresh :class:`~graphdep.RelationVocab`)
        short_context: Utterances of a context. (default: :obj:`3`)
        max_length: Nodes of a sample at most. (default: :obj:`240`)
        shares: Shares of the three labels. (default: ``(0.5, 0.25, 0.25)``)
        seed: Seed. (default: :obj:`0`)
        transform: Applied to each sample. (default: :obj:`None`)

    Shapes:
        - the node table of :func:`graphdep.data.encoded`, ``input_ids`` masked
        - ``mlm_target``: :math:`(|\mathcal{V}|)`, long, the id of a piece that is asked for, else -100
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
        relations: RelationVocab | None = None,
        short_context: int = 3,
        max_length: int = 240,
        shares: tuple[float, float, float] = (0.5, 0.25, 0.25),
        seed: int = 0,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        check_roots(roots)
        if short_context < 1:
            raise ValueError(f"'short_context' must be at least 1 (got {short_context})")
        if len(shares) != 3 or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
            raise ValueError(f"'shares' must be three probabilities that sum to 1 (got {shares})")
        super().__init__(transform=transform)
        self.tokens, self.masking = tokens, masking
        self.relations = relations if relations is not None else RelationVocab()
        self.short_context, self.max_length = short_context, max_length
        self.shares, self.seed = shares, seed
        self.dialogues, self._counts = _without_blank(dialogues)
        if parser is not None:
            parsed = _parsed(self.dialogues, resolve_parser(parser), roots)
            self.dialogues, self._counts["parser_failures"] = parsed
        if len(self.dialogues) < 2 and shares[RANDOM] > 0:
            raise ValueError(
                f"'dialogues' must be at least 2 with an utterance, to draw a response of another one (got "
                f"{len(self.dialogues)})"
            )
        sizes = np.array([len(dialogue) for dialogue in self.dialogues], dtype=np.int64)
        self._ends = np.where(sizes < 2, 0, (sizes - short_context).clip(min=1)).cumsum()
        if not self.len():
            raise ValueError(
                "'dialogues' must have one of at least two utterances "
                f"(got {len(self.dialogues)} of one utterance)"
            )

    def len(self) -> int:
        return int(self._ends[-1]) if self._ends.size else 0

    def get(self, idx: int) -> Data:
        """The sample of that number in epoch 0, of all samples and before :obj:`transform`."""
        return self._sample(0, int(idx))

    def __getitem__(self, idx: Any) -> Any:
        """A sample of a :class:`PostTrainingKey`; by a number one of epoch 0; else a part, as in PyG."""
        if not isinstance(idx, PostTrainingKey):
            return super().__getitem__(idx)
        data = self._sample(idx.epoch, int(self.indices()[idx.number]))
        return data if self.transform is None else self.transform(data)

    def _sample(self, epoch: int, number: int) -> Data:
        if not 0 <= number < self.len():
            raise IndexError(f"there is no sample {number}: they are 0 to {self.len() - 1}")
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
        """What there is, also where this is a slice of it, and what was left out."""
        sizes = [len(dialogue) for dialogue in self.dialogues]
        return {
            "samples": self.len(),
            "dialogues": len(sizes),
            "utterances": sum(sizes),
            "short_dialogues": sum(1 < size <= self.short_context for size in sizes),
            "one_utterance_dialogues": sizes.count(1),
            **self._counts,
        }

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
        return EncodedUtterance.of(tree, self.tokens, self.relations)


def _other(draw: Draw, size: int, number: int) -> int:
    """One of the numbers below ``size`` but ``number``, all equally likely."""
    other = draw.pick(range(size - 1))
    return other + (other >= number)


def _without_blank(
    dialogues: Sequence[Sequence[Utterance]],
) -> tuple[list[list[Utterance]], dict[str, int]]:
    """The dialogues that have words, and how much had none."""
    kept = [[u for u in dialogue if not isinstance(u, str) or u.strip()] for dialogue in dialogues]
    blank = sum(map(len, dialogues)) - sum(map(len, kept))
    left = [dialogue for dialogue in kept if dialogue]
    return left, {"blank_utterances": blank, "empty_dialogues": len(kept) - len(left)}


def _parsed(
    dialogues: list[list[Utterance]], parser: Parser, roots: str
) -> tuple[list[list[Utterance]], int]:
    """Trees in place of texts, each different text parsed once, and how many of them are chains."""
    texts = list(dict.fromkeys(u for dialogue in dialogues for u in dialogue if isinstance(u, str)))
    trees, failures = parse_joined(parser, texts, roots=roots)
    tree = dict(zip(texts, trees))
    return [[tree[u] if isinstance(u, str) else u for u in dialogue] for dialogue in dialogues], failures
