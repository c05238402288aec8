"""Responses of a trained model."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.data.node_table import join_utterances
from graphdep.decoding.decoding import DecodeConfig, Hypothesis
from graphdep.io.limits import MAX_WORDS, check_list
from graphdep.parsing.inputs import ADVICE, entries, has_own_tree, read_inputs
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import truncate
from graphdep.tasks.dialogues.settings import DialogueConfig
from graphdep.training.estimator import CheckpointModel
from graphdep.vocab.vocab import detokenize


class Responder(CheckpointModel):
    """Generates responses to dialogues with a trained model.

    Distinct texts are parsed once; given trees are used unchanged. As in training, the model reads the last
    ``max_turns`` turns of a context and the first ``max_words`` words of each turn. A response depends only
    on its context and the seed, not on other contexts in the call.

    If the parser fails on a text, its tree is a chain and a warning is logged; :attr:`parser_failures` counts
    these in the last call. :attr:`own_trees` counts the turns with given trees, :attr:`tree_counts` those
    that were bad or converted. Unknown words are read as ``[UNK]``.

    Args:
        checkpoint: ``best.ckpt`` of a run on dialogues.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; :obj:`None` for the
            checkpoint's if it is ``"bundled"``. Others, which may be a file or a download, must be given.
            (default: :obj:`None`)
        batch_size: Largest number of contexts per batch; fewer if they are long. (default: :obj:`64`)
        edges: The edges of the training, or their name, if they are your own and not registered under the
            name in the checkpoint. (default: :obj:`None`)
        device: Device of the model; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for only if there is much work. (default:
            :obj:`None`)
        cache: SQLite file that keeps the parses. (default: :obj:`None`)
        max_words, truncate: Longest turn in words, and whether longer turns are cut instead of an error
            (:class:`~graphdep.parsing.parser.WordLimit`). (default: :obj:`10_000`, :obj:`False`)
        **decoding: Arguments of :class:`~graphdep.decoding.DecodeConfig`, e.g. ``strategy="beam",
            num_return=3``. (default: the checkpoint's settings)

    Raises:
        FileNotFoundError: If there is no such checkpoint.
        ValueError: If it is not a checkpoint or its task has no responses, the parser must be given, or an
            argument is invalid.

    Example:
        >>> from graphdep import Responder
        >>> responder = Responder("best.ckpt", strategy="beam", beams=4, num_return=2)
        >>> [texts] = responder.respond([["Do you like tea?", "No, I do not.", "What do you drink?"]])
        >>> len(texts)
        2
    """

    family, answers = "dialogue", "responses"
    own_trees = 0
    tree_counts: dict[str, Any]

    def __init__(
        self,
        checkpoint: str | os.PathLike[str],
        *,
        parser: str | Parser | None = None,
        edges: str | BaseTransform | None = None,
        batch_size: int = 64,
        device: str | torch.device | None = None,
        progress: bool | None = None,
        cache: str | Path | None = None,
        max_words: int = MAX_WORDS,
        truncate: bool = False,
        **decoding: Any,
    ) -> None:
        super().__init__(
            checkpoint,
            parser=parser,
            edges=edges,
            batch_size=batch_size,
            device=device,
            progress=progress,
            cache=cache,
            max_words=max_words,
            truncate=truncate,
        )
        self.decoding = _decode_config(self.config, decoding)

    def respond(self, contexts: Sequence[Sequence[Any]]) -> list[list[str]]:
        """Generates :obj:`num_return` responses to each context, best first, or in the order of sampling.

        A context is a list of turns, each a single text of :class:`~graphdep.SequenceClassifier`. Empty
        responses are empty texts. There may be fewer responses if no more distinct ones exist.

        Raises:
            TypeError: If it is not a list of lists of turns; the message has the position.
            ValueError: If a context has no turn, a turn is blank, has half a character or more than
                :obj:`max_words` words.
        """
        return [
            [self._text(hypothesis.ids) for hypothesis in hypotheses]
            for hypotheses in self.hypotheses(contexts)
        ]

    def hypotheses(self, contexts: Sequence[Sequence[Any]]) -> list[list[Hypothesis]]:
        """Like :meth:`respond`, but returns ids of words or pieces with their scores."""
        examples = self._examples(contexts)
        found: list[list[Hypothesis]] = [[] for _ in examples]
        for numbers, batch in self._predictor.batches(examples, "responding"):
            responses = self.model.generate(batch, self.decoding)
            for number, hypotheses in zip(numbers, responses):
                found[number] = hypotheses
        return found

    def _examples(self, contexts: Sequence[Sequence[Any]]) -> list[Data]:
        check_list("contexts", contexts)
        given = [entries(f"contexts[{number}]", context, "turn") for number, context in enumerate(contexts)]
        known, most, roots = self._predictor, self.config.max_turns, self.config.roots
        intake = known.intake(ADVICE)
        inputs = iter(read_inputs([one for context in given for one in context], intake, roots=roots))
        turns = [
            [(known.limit.input(next(inputs), repr(place)), repr(place)) for place, _ in context]
            for context in given
        ]
        read = [turn for context in turns for turn in context[-most:]]
        trees, numbers = known.distinct_trees([one for one, _ in read], [place for _, place in read], roots)
        self.own_trees = int(has_own_tree([one for one, _ in read]).sum())
        self.parser_failures, self.tree_counts = known.parser_failures, intake.counts()
        made = [known.data([truncate(tree, self.config.max_words)]) for tree in known.graphs(trees)]
        utterances = iter([made[number] for number in numbers])
        return [join_utterances([next(utterances) for _ in context[-most:]]) for context in turns]

    def _text(self, ids: Sequence[int]) -> str:
        return detokenize(self._predictor.state.vocab.words_of(ids), truecase=self.config.lower)


def _decode_config(config: DialogueConfig, given: Mapping[str, Any]) -> DecodeConfig:
    """The decoding settings of the run, updated by the given ones."""
    known = [field.name for field in dataclasses.fields(DecodeConfig)]
    for name in given:
        if name not in known:
            raise ValueError(f"unknown argument {name!r}; those of decoding are {', '.join(known)}")
    # First through the run's settings, whose beams hold only for strategy="beam"; then all as given.
    of_run = {name: given[name] for name in given.keys() & config.marks.keys()}
    return dataclasses.replace(type(config)(**{**config.to_dict(), **of_run}).decoding(), **given)
