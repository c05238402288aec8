"""From settings to an encoder of words, with marks, and with the syntax that a pretrained one is given."""

from __future__ import annotations

from graphdep.nn.models import TextEncoder
from graphdep.training.family.added_syntax import add_syntax
from graphdep.training.family.parts import Parts
from graphdep.training.family.pretrained_edges import pretrained_edges
from graphdep.training.family.scratch import build_encoder
from graphdep.training.family.word_settings import WordSettings


def start_encoder(config: WordSettings, parts: Parts) -> TextEncoder:
    """The encoder that a head is put on: the pretrained one as it was loaded, or a new one.

    Args:
        config: The settings.
        parts: Sizes of the vocabularies, word vectors, and the pretrained encoder if there is one.
    """
    if parts.pretrained is not None:
        return parts.pretrained
    return build_encoder(config, parts.num_words, parts.num_relations, parts.vectors)


def complete_encoder(encoder: TextEncoder, config: WordSettings, parts: Parts, marks: int) -> None:
    """Gives an encoder marks, and a pretrained one its syntax, once there is a head on it: then all models of
    a seed have the same head and marks, and differ by their syntax alone.

    Args:
        encoder: That of :func:`start_encoder`. It is changed in place.
        config, parts: As there.
        marks: Number of marks, 0 among them, which stands for none; 0 for no marks at all.
    """
    if marks:
        encoder.add_marks(marks)
    if parts.pretrained is not None:
        edges = pretrained_edges(config, from_cls=False)
        add_syntax(config, parts.num_relations, parts.pretrained, edges)
