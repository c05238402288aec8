"""Responses of a trained model to a split: made, kept, and scored."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import torch
from torch_geometric.loader import DataLoader

from graphdep.datasets.dialogue_dataset import DialogueDataset
from graphdep.detokenize import detokenize
from graphdep.io import atomic_path
from graphdep.metrics.generation import generation_floors, generation_metrics
from graphdep.tasks import GenerationTask
from graphdep.training.generation_config import GenerationConfig
from graphdep.training.scored import Scored
from graphdep.training.splits import Splits

logger = logging.getLogger("graphdep.training")


def responses_name(split: str) -> str:
    """The file of a split's responses."""
    return f"responses-{split}.jsonl"


def score_responses(
    task: GenerationTask, splits: Splits, split: str, config: GenerationConfig, folder: Path | None = None
) -> Scored:
    """Responds to a split and scores the responses against the references.

    The floor is a split's references, shuffled; the references themselves are scored, too.

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
        return Scored()
    hypotheses = respond(task, dataset, chosen, config)
    references = [comparable(dataset.response(i), config) for i in chosen]
    if folder is not None:
        _write(folder / responses_name(split), dataset, chosen, hypotheses, config)
    floors = generation_floors(references, seed=0)
    return Scored(
        *(
            {f"{split}_{name}": value for name, value in scores.items()}
            for scores in (
                generation_metrics(hypotheses, references),
                floors["shuffled"],
                floors["reference"],
            )
        )
    )


def respond(
    task: GenerationTask, dataset: DialogueDataset, chosen: list[int], config: GenerationConfig
) -> list[list[str]]:
    """The words of the best response to each of these examples."""
    device, words = next(task.parameters()).device, []
    loader = DataLoader(dataset[chosen], config.batch_size, follow_batch=["target_ids"])
    training = task.training
    task.eval()
    with torch.inference_mode():
        for batch in loader:
            found = task.model.generate(task.edges(batch.to(device)), config.decoding())
            words += [dataset.vocab.words_of(hypotheses[0].ids) for hypotheses in found]
    task.train(training)
    return words


def comparable(words: list[str], config: GenerationConfig) -> list[str]:
    """The words of a reference as the model could have said them."""
    return [word.lower() for word in words] if config.lower else words


def read_responses(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of responses: ``context``, ``response``, ``reference``."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


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
    config: GenerationConfig,
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
