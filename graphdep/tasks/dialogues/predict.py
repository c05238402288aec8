"""Dialogues in, responses out: a trained model as a function."""

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

_PROGRESS_FROM = 64


class Responder(CheckpointModel):
    """Responses of a trained model to dialogues.

    Texts are parsed on the way, each different one once; trees of yours are read as they are. As in training,
    the model reads the last turns of a context and the first words of each turn; the checkpoint knows how
    many. A response depends on its context alone, not on the others that it is asked with, and neither do
    draws: they come from the seed and the words of the context.

    A text that the parser fails on has a chain for a tree: :attr:`parser_failures` counts those of the last
    call, and a warning is logged. :attr:`own_trees` counts the turns whose trees were given, and
    :attr:`tree_counts` has how many of these were bad or converted. A word that training has not seen is
    ``[UNK]``.

    Args:
        checkpoint: ``best.ckpt`` of a run on dialogues.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; :obj:`None` for the
            checkpoint's if that is ``"bundled"``. The name of another one may stand for a file or a download,
            which no checkpoint may ask for by itself: it has to be given here. (default: :obj:`None`)
        batch_size: Contexts a batch at most; fewer where they are long. (default: :obj:`64`)
        edges: The edges that it was trained with, or their name, where they are your own and not known by the
            name in the checkpoint, which holds no code. (default: :obj:`None`)
        device: Where the model runs; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for it if there is some work to do.
            (default: :obj:`None`)
        cache: SQLite file that keeps the parses, so that none is made twice. (default: :obj:`None`)
        max_words, truncate: Words of a turn at most (:class:`~graphdep.parsing.parser.WordLimit`), and
            whether only the first ones of a longer turn are parsed, which else is an error; the model reads
            those that its setting ``max_words`` counts. (default: :obj:`10_000`, :obj:`False`)
        **decoding: Of :class:`~graphdep.decoding.DecodeConfig`, e.g. ``strategy="beam", num_return=3``.
            (default: as in the checkpoint's settings)

    Raises:
        FileNotFoundError: If there is no such checkpoint.
        ValueError: If the file is none, is of a task without responses, or was trained with a parser that has
            to be given; or an argument is wrong.

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
        """The responses to contexts, each a list of turns: per context :obj:`num_return` texts, best first,
        or in the order of the draws. A turn is what :class:`~graphdep.SequenceClassifier` takes as a single
        text.

        A text is empty where the model says nothing. There are fewer texts only where so many different
        responses do not exist.

        Raises:
            TypeError: If something is no list of lists of turns; the message has its position.
            ValueError: If a context has no turn, a turn is blank, has half a character or more than
                :obj:`max_words` words.
        """
        return [
            [self._text(hypothesis.ids) for hypothesis in hypotheses]
            for hypotheses in self.hypotheses(contexts)
        ]

    def hypotheses(self, contexts: Sequence[Sequence[Any]]) -> list[list[Hypothesis]]:
        """As :meth:`respond`, the ids of words or pieces with their scores."""
        examples = self._examples(contexts)
        found: list[list[Hypothesis]] = [[] for _ in examples]
        much = len(examples) >= _PROGRESS_FROM
        for numbers, batch in self._predictor.batches(examples, "responding", much=much):
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
    """How the run decodes, with other settings in place of some."""
    known = [field.name for field in dataclasses.fields(DecodeConfig)]
    for name in given:
        if name not in known:
            raise ValueError(f"unknown argument {name!r}; those of decoding are {', '.join(known)}")
    # Through the run's settings, since its width of the beam is for "beam" alone; then all of them as given.
    of_run = {name: given[name] for name in given.keys() & config.marks.keys()}
    return dataclasses.replace(type(config)(**{**config.to_dict(), **of_run}).decoding(), **given)
