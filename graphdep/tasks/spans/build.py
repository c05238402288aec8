"""From settings to the model of marked spans."""

from __future__ import annotations

from graphdep.nn.models import SpanModel, SpanReadout
from graphdep.tasks.spans.config import SpanConfig
from graphdep.training.build import Parts, complete_encoder, start_encoder

_MARKS = 4  # no mark, the first span, the second, both


def build_span_model(config: SpanConfig, parts: Parts, num_classes: int) -> SpanModel:
    """Encoder and head, not trained; a pretrained encoder is changed in place."""
    pieces = "first" if config.word_state == "first" else "all"
    readout = SpanReadout(config.num_spans, mode=config.readout, path=config.path, pieces=pieces)
    encoder = start_encoder(config, parts)
    model = SpanModel(encoder, readout, num_classes, config.dropout)
    complete_encoder(encoder, config, parts, _MARKS)
    return model
