"""Response selection by an encoder that is not trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch_geometric.data import Batch

from graphdep.metrics.ranking import ranking_metrics
from graphdep.tasks.selection.config import SelectionConfig
from graphdep.tasks.selection.equal_candidates import example_keys, shared_scores
from graphdep.tasks.selection.learning_task import sizes_of
from graphdep.training.floors import frozen_vectors

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder

# Examples whose texts are in memory at a time; pairs of a pool, which share their context, are neighbours.
_CHUNK = 4096


def cosine_scores(
    config: SelectionConfig, pairs: Any, split: str, encoder: PretrainedEncoder, pool: str = "mean"
) -> dict[str, float]:
    """The metrics of ranking candidates by the cosine of their vector and that of the context.

    Args:
        config: Says how pools are scored.
        pairs: The pairs of a split.
        split: Its name, for those of the metrics.
        encoder: The encoder, as it was loaded.
        pool: Of :func:`~graphdep.training.floors.frozen_vectors`. (default: ``"mean"``)
    """
    parts = []
    for start in range(0, len(pairs), _CHUNK):
        some = [pairs[number] for number in range(start, min(start + _CHUNK, len(pairs)))]
        context, candidate = frozen_vectors(encoder, some, pool).unbind(dim=1)
        batch = Batch.from_data_list(some)
        parts.append(((context * candidate).sum(dim=-1), batch.y, batch.group, example_keys(batch)))
    scores, y, group, key = (torch.cat(column) for column in zip(*parts))
    scores = shared_scores(scores, group, key)
    options: Any = {"filter": config.filter, "recall": config.recall, "sizes": sizes_of(group)}
    return ranking_metrics(scores, y, group, config.ties, prefix=split, **options)
