"""Responses of a trained model to a split: made, kept, and scored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch_geometric.loader import DataLoader

from graphdep.datasets.dialogues import DialogueDataset
from graphdep.io import atomic_path
from graphdep.metrics.generation import generation_floors, generation_metrics
from graphdep.tasks.dialogues.config import DialogueConfig
from graphdep.tasks.dialogues.learning_task import DialogueTask
from graphdep.tasks.dialogues.responses_name import responses_name
from graphdep.training.family import SplitScores
from graphdep.training.splits import Splits
from graphdep.vocab.vocab import detokenize


def score_responses(
    task: DialogueTask, splits: Splits, split: str, config: DialogueConfig, folder: Path | None = None
) -> SplitScores:
    """Responds to a split and scores the responses against the references.

    The floor of BLEU is that of the split's references, shuffled, or of a constant response of the most
    frequent words, whichever is higher; the references themselves are scored, too.

    Args:
        task: The trained task.
        splits: The data.
        split: Which.
        config: How to decode, and how many responses.
        folder: Gets the responses. (default: :obj:`None`)
    """
    dataset = splits[split]
    assert isinstance(dataset, DialogueDataset)
    chosen = spread_over(len(dataset), config.limit_generate)
    if not chosen:
        return SplitScores()
    hypotheses = respond(task, dataset, chosen, config)
    references = responses_of(dataset, chosen, config)
    if folder is not None:
        _write(folder / responses_name(split), dataset, chosen, hypotheses, config)
    length = round(sum(map(len, references)) / len(references))
    constant = frequent_words(splits, length, config)
    if len(references) < 2:  # which cannot be shuffled
        return SplitScores(_of(split, generation_metrics(hypotheses, references)))
    floors = generation_floors(references, seed=0, constant=constant)
    # BLEU alone: the diversity of human responses is no floor.
    no_skill = {
        name: max(floors["shuffled"][name], floors["constant"][name])
        for name in floors["shuffled"]
        if "bleu" in name
    }
    scores = generation_metrics(hypotheses, references), no_skill, floors["reference"]
    return SplitScores(*(_of(split, part) for part in scores))


def _of(split: str, scores: dict[str, float]) -> dict[str, float]:
    return {f"{split}_{name}": value for name, value in scores.items()}


def frequent_words(splits: Splits, number: int, config: DialogueConfig) -> list[str]:
    """The most frequent words of the training responses."""
    train = splits["train"]
    assert isinstance(train, DialogueDataset)
    counts = Counter(w for words in responses_of(train, range(len(train)), config) for w in words)
    return [word for word, _ in counts.most_common(number)]


def respond(
    task: DialogueTask, dataset: DialogueDataset, chosen: list[int], config: DialogueConfig
) -> list[list[str]]:
    """The words of the best response to each of these examples."""
    device, words = next(task.parameters()).device, []
    loader = DataLoader(dataset[chosen], config.batch_size, follow_batch=["target_ids"])
    for batch in loader:
        found = task.model.generate(task.edges(batch.to(device)), config.decoding())
        words += [dataset.vocab.words_of(hypotheses[0].ids) for hypotheses in found]
    return words


def responses_of(dataset: DialogueDataset, chosen: Iterable[int], config: DialogueConfig) -> list[list[str]]:
    """The words of the references of examples, in the case in which the model could have said them."""
    words = (dataset.response(i) for i in chosen)
    return [[word.lower() for word in response] if config.lower else response for response in words]


def read_responses(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of responses: ``context``, ``response``, ``reference``."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def spread_over(size: int, limit: int | None) -> list[int]:
    """``limit`` of ``size`` numbers from 0, evenly spread; all of them without a limit."""
    if limit is None or limit >= size:
        return list(range(size))
    return [number * size // limit for number in range(limit)]


def _write(
    path: Path,
    dataset: DialogueDataset,
    chosen: list[int],
    hypotheses: list[list[str]],
    config: DialogueConfig,
) -> None:
    lines: list[dict[str, Any]] = [
        {
            "context": dataset.raw_context(i),
            "response": detokenize(words, truecase=config.lower),
            "reference": dataset.raw_response(i),
        }
        for i, words in zip(chosen, hypotheses)
    ]
    with atomic_path(path) as temporary:
        temporary.write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
        )
