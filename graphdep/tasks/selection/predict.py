"""Rankings of responses by a trained model."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data.encoded import selection_data
from graphdep.data.node_table import EncodedUtterance
from graphdep.io.limits import check_list
from graphdep.parsing.inputs import ADVICE, entries, has_own_tree, read_inputs
from graphdep.tasks.selection.model import encoded_turns, tokens_of
from graphdep.training.estimator import CheckpointModel
from graphdep.vocab.vocab import Tokens

# Pools in memory at a time.
_CHUNK = 64
_PARTS = (("context", "turn"), ("candidates", "candidate"))


class Ranking(NamedTuple):
    """A ranking of candidates.

    Args:
        ranking: Numbers of the candidates, best first; tied ones in the given order.
        scores: Probability :math:`g(c, r)` of each candidate, in the given order.
    """

    ranking: list[int]
    scores: list[float]


class ResponseSelector(CheckpointModel):
    """Ranks candidates for the next response in a dialogue.

    Distinct texts are parsed once; given trees are used unchanged. As in training, long contexts are cut from
    the left, and responses only if they are too long on their own. :attr:`cut_words` counts the words cut in
    the last call, ``{"context": ..., "candidates": ...}``, those of a context once per candidate;
    :attr:`parser_failures` counts the texts whose tree is a chain, :attr:`own_trees` those with given trees,
    :attr:`tree_counts` those that were bad or converted.

    Equal candidates of a context have equal scores.

    Args:
        checkpoint: ``best.ckpt`` of a run on response selection.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; :obj:`None` for the
            checkpoint's if it is ``"bundled"``. (default: :obj:`None`)
        batch_size: Largest number of pairs of context and candidate per batch; fewer if they are long.
            (default: :obj:`64`)
        edges: The edges of the training, or their name, if they are your own and not registered under the
            name in the checkpoint. (default: :obj:`None`)
        device: Device of the model; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for only if there is much work. (default:
            :obj:`None`)
        cache: SQLite file that keeps the parses. (default: :obj:`None`)
        max_words, truncate: Longest text in words, and whether longer texts are cut instead of an error
            (:class:`~graphdep.parsing.parser.WordLimit`). (default: :obj:`10_000`, :obj:`False`)

    Raises:
        FileNotFoundError: If there is no such checkpoint.
        ValueError: If it is not a checkpoint or has another task, the parser must be given, or an argument is
            invalid.

    Example:
        >>> from graphdep import ResponseSelector
        >>> selector = ResponseSelector("best.ckpt")
        >>> ranking = selector.rank(["Do you like tea?"], ["No, I do not.", "The bus is late."])
        >>> sorted(ranking.ranking), len(ranking.scores)
        ([0, 1], 2)
    """

    family, answers = "selection", "rankings"
    own_trees = 0
    tree_counts: dict[str, Any]

    @cached_property
    def tokens(self) -> Tokens:
        """The tokenizer or vocabulary of the model."""
        return tokens_of(self.model, self._predictor.state.vocab)

    @cached_property
    def cut_words(self) -> dict[str, int]:
        """Numbers of words that were cut in the last call."""
        return {"context": 0, "candidates": 0}

    def __repr__(self) -> str:
        about = f"task={self.config.task!r}, model={self.config.model!r}"
        return f"{type(self).__name__}({self.checkpoint!r}, {about})"

    def rank(self, context: Sequence[Any], candidates: Sequence[Any]) -> Ranking:
        """Ranks the candidates for the response to a context, a list of turns. Turns and candidates are
        single texts of :class:`~graphdep.SequenceClassifier`.

        Raises:
            TypeError: If an entry is not a text; the message has its position.
            ValueError: If there is no turn or no candidate, or one is blank, has half a character or more
                than :obj:`max_words` words, or is not a tree.
        """
        return self._rank([("", {"context": context, "candidates": candidates})])[0]

    def rank_pools(self, pools: Sequence[Mapping[str, Sequence[Any]]]) -> list[Ranking]:
        """Ranks the candidates of many pools ``{"context": [...], "candidates": [...]}``.

        Raises:
            TypeError, ValueError: See :meth:`rank`; the message has the number of the pool.
        """
        check_list("pools", pools)
        for number, pool in enumerate(pools):
            if not isinstance(pool, Mapping) or not {"context", "candidates"} <= pool.keys():
                raise TypeError(f"'pools[{number}]' must have 'context' and 'candidates'")
        return self._rank([(f"pools[{number}].", pool) for number, pool in enumerate(pools)])

    def _rank(self, pools: Sequence[tuple[str, Mapping[str, Sequence[Any]]]]) -> list[Ranking]:
        known, most = self._predictor, self.config.max_turns or sys.maxsize
        given = [
            entries(f"{place}{part}", pool[part], what) for place, pool in pools for part, what in _PARTS
        ]
        places = [repr(place) for part in given for place, _ in part]
        inputs = read_inputs([entry for part in given for entry in part], known.intake(ADVICE), roots="all")
        inputs = [*map(known.limit.input, inputs, places)]
        # Per pool the numbers of the turns that the model reads, and of the candidates.
        count = itertools.count()
        parts = [[next(count) for _ in part] for part in given]
        read = [part[-most:] if number % 2 == 0 else part for number, part in enumerate(parts)]
        flat = [number for part in read for number in part]
        trees, numbers = known.distinct_trees(
            [inputs[number] for number in flat], [places[number] for number in flat], "all"
        )
        self.own_trees = int(has_own_tree([inputs[number] for number in flat]).sum())
        self.parser_failures, self.tree_counts = known.parser_failures, known.taken.counts()
        utterances = encoded_turns(trees, self.tokens, known.state.relations, self.config)
        tree_of = iter(numbers)
        texts = [[next(tree_of) for _ in part] for part in read]
        self.cut_words = {"context": 0, "candidates": 0}
        rankings: list[Ranking] = []
        for part in known.chunks(len(pools), "ranking", _CHUNK):
            rankings += self._rank_some(texts[0::2][part], texts[1::2][part], utterances)
        return rankings

    def _rank_some(
        self,
        contexts: Sequence[list[int]],
        candidates: Sequence[list[int]],
        utterances: Sequence[EncodedUtterance],
    ) -> list[Ranking]:
        turns = [[utterances[turn] for turn in context] for context in contexts]
        # Equal candidates once: their scores could differ in the last digits between batches.
        pairs = [(number, text) for number, some in enumerate(candidates) for text in dict.fromkeys(some)]
        examples = [self._example(turns[number], utterances[text]) for number, text in pairs]
        for data in examples:
            for part, cut in zip(self.cut_words, data.cut_words[0].tolist()):
                self.cut_words[part] += cut
        scores = dict(zip(pairs, self._scores(examples).tolist()))
        return [_ranking([scores[number, text] for text in some]) for number, some in enumerate(candidates)]

    def _example(self, context: list[EncodedUtterance], response: EncodedUtterance) -> Data:
        return selection_data(context, response, self.tokens, max_length=self.config.max_length)

    @torch.inference_mode()
    def _scores(self, examples: list[Data]) -> Tensor:
        """Logits of the examples, on the CPU."""
        scores = torch.zeros(len(examples))
        for numbers, batch in self._predictor.batches(examples):
            scores[numbers] = self.model(batch).float().cpu()
        return self._predictor.check_finite(scores)


def _ranking(logits: list[float]) -> Ranking:
    scores = torch.tensor(logits, dtype=torch.double)
    order = scores.argsort(descending=True, stable=True)
    return Ranking(order.tolist(), scores.sigmoid().tolist())
