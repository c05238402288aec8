"""From settings to the model of labels of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from graphdep.nn.models import LinearChainCRF, TokenModel
from graphdep.tasks.labels.config import LabelConfig
from graphdep.tasks.labels.scoring import bio_tables
from graphdep.training.family.added_syntax import add_syntax
from graphdep.training.family.parts import Parts
from graphdep.training.family.pretrained_edges import pretrained_edges
from graphdep.training.family.scratch import build_encoder

_MARKS = 2  # no mark, and the mark


def build_label_model(config: LabelConfig, parts: Parts, num_classes: int) -> TokenModel:
    """Encoder and head, not trained; a pretrained encoder is changed in place."""
    options: dict[str, Any] = {"pieces": config.word_state, "marked": config.marked}
    if parts.pretrained is None:
        encoder = build_encoder(config, parts.num_words, parts.num_relations, parts.vectors)
        model = TokenModel(encoder, num_classes, config.dropout, **options)
    else:
        model = TokenModel(parts.pretrained, num_classes, config.dropout, **options)
    if config.marked:
        model.encoder.add_marks(_MARKS)  # type: ignore[operator]
    if parts.pretrained is not None:
        # Head and marks first, so that all models of a seed have the same: they differ by their syntax alone.
        edges = pretrained_edges(config, from_cls=False)
        add_syntax(config, parts.num_relations, parts.pretrained, edges)
    return model


def build_chain(config: LabelConfig, labels: Sequence[Any]) -> LinearChainCRF | None:
    """What finds the best sequence of labels; :obj:`None` where each word is labelled alone.

    Raises:
        ValueError: If a chain is to be learned over labels of which none stands for no finding.
    """
    if config.decode == "argmax" and not config.crf:
        return None
    if config.crf and labels[0] != config.outside:
        raise ValueError(
            f"'crf' needs {config.outside!r} among the labels of training, for words without one (got True)"
        )
    if config.scheme != "bio":
        return LinearChainCRF(num_labels=len(labels), learned=config.crf)
    _check_begun([str(label) for label in labels])
    follows, first = (torch.from_numpy(table) for table in bio_tables(labels))
    return LinearChainCRF(follows, first, learned=config.crf)


def _check_begun(labels: Sequence[str]) -> None:
    """Raises :class:`ValueError` where a span's label never begins one, which the rules would then forbid."""
    for label in labels:
        if label.startswith("I-") and f"B-{label[2:]}" not in labels:
            raise ValueError(
                f"the rules of spans ask for B-{label[2:]} before {label}, and training has none: with "
                "decode=argmax and crf=false no rules are followed"
            )
