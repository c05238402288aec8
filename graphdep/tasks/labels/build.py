"""From settings to the model of labels of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from graphdep.nn.models import LinearChainCRF, TokenModel
from graphdep.tasks.labels.config import LabelConfig
from graphdep.tasks.labels.scoring import bio_tables
from graphdep.training.build import Parts, complete_encoder, start_encoder

_MARKS = 2  # no mark, and the mark


def build_label_model(config: LabelConfig, parts: Parts, num_classes: int) -> TokenModel:
    """Encoder and head, not trained; a pretrained encoder is changed in place."""
    encoder = start_encoder(config, parts)
    model = TokenModel(encoder, num_classes, config.dropout, pieces=config.word_state, marked=config.marked)
    complete_encoder(encoder, config, parts, _MARKS if config.marked else 0)
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
