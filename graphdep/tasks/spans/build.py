"""From settings to the model of marked spans."""

from __future__ import annotations

from graphdep.nn.models import SpanModel, SpanReadout
from graphdep.tasks.spans.config import SpanConfig
from graphdep.training.family.added_syntax import add_syntax
from graphdep.training.family.parts import Parts
from graphdep.training.family.pretrained_edges import pretrained_edges
from graphdep.training.family.scratch import build_encoder

_MARKS = 4  # no mark, the first span, the second, both


def build_span_model(config: SpanConfig, parts: Parts, num_classes: int) -> SpanModel:
    """Encoder and head, not trained; a pretrained encoder is changed in place."""
    pieces = "first" if config.word_state == "first" else "all"
    readout = SpanReadout(config.num_spans, mode=config.readout, path=config.path, pieces=pieces)
    if parts.pretrained is None:
        encoder = build_encoder(config, parts.num_words, parts.num_relations, parts.vectors)
        model = SpanModel(encoder, readout, num_classes, config.dropout)
    else:
        model = SpanModel(parts.pretrained, readout, num_classes, config.dropout)
    model.encoder.add_marks(_MARKS)  # type: ignore[operator]
    if parts.pretrained is not None:
        # Head and marks first, so that all models of a seed have the same: they differ by their syntax alone.
        add_syntax(config, parts.num_relations, parts.pretrained, pretrained_edges(config, from_cls=False))
    return model
