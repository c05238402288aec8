"""What settings say of an encoder of words that is trained from scratch, whatever the task is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from graphdep.training.family.setting import setting

SCRATCH_ENCODERS: Mapping[str, bool] = MappingProxyType(
    {
        "transformer": True,
        "lisa": True,
        "gate": True,
        "g2g": True,
        "word-average": False,
        "lstm": False,
        "bilstm": False,
        "bilstm-deep": False,
        "bigru": False,
        "tree-lstm": False,
        "bitree-lstm": False,
        "tree-transformer": False,
        "dt-rnn": False,
    }
)
"""Encoders by name, and whether each reads edges."""
OF_WORDS = ("word-average", "lstm", "bilstm", "bilstm-deep", "bigru")
"""Those that read no tree."""
CONVS = ("lisa", "gate", "g2g")
"""Transformers whose attention is that of another paper."""
HEADED = ("transformer", *CONVS, "tree-transformer")
"""Those whose heads share the channels."""


@dataclass(frozen=True, kw_only=True)
class ScratchSettings:
    """Settings of :class:`~graphdep.nn.models.DependencyTransformer`, for a :class:`TrainConfig` to inherit
    from as well; it builds its encoder with :func:`~graphdep.training.family.scratch.build_encoder`.

    Args:
        vocab_from: Words that have a vector of their own: those of ``"train"``, or with ``"vectors"`` also
            those of the other splits that the file of :obj:`vectors` has
            (:class:`~graphdep.datasets.base.parsed.ParsedOptions`). (default: ``"train"``)
        directions: Tell a relation from its inverse. (default: :obj:`True`)
        window: Words on either side of a word that ``encoder="word-average"`` takes the mean of, as well.
            (default: :obj:`0`)
        dependent_places, places_from: Of ``encoder="dt-rnn"``: places of dependents that have a matrix of
            their own on either side, and what they are counted from, ``"governor"`` or ``"left"``
            (:class:`~graphdep.nn.models.DependencyTreeRNN`). (default: :obj:`6`, ``"governor"``)
        start: Where the relation attention starts: ``"random"`` or ``"torch"``, of an encoder that is trained
            from scratch. (default: ``"random"``)
        embedding_scale: Multiply word vectors by the root of :obj:`hidden_channels`, in
            ``encoder="transformer"``. (default: :obj:`False`)
        relation_dim: Size of relation vectors.
        relation_attention: Use the labels of edges in attention scores; otherwise plain self-attention.
        gate: Of these scores: ``"sigmoid"``, ``"tanh"`` or :obj:`None`.
        gate_state: The state that opens the gate, ``"query"`` or ``"key"``.
        untyped: What becomes of pairs without a relation: ``"keep"`` or ``"gate"``.
        level_embedding: Tell how deep in the tree a word stands.
    """

    vocab_from: str = setting("train", choices=("train", "vectors"))
    directions: bool = setting(True, defines=True)
    window: int = setting(0, defines=True)
    dependent_places: int = setting(6, defines=True)
    places_from: str = setting("governor", choices=("governor", "left"), defines=True)
    relation_dim: int = setting(30, published=True)
    relation_attention: bool = setting(True, defines=True)
    gate: str | None = setting("sigmoid", choices=(None, "sigmoid", "tanh"), defines=True)
    gate_state: str = setting("query", choices=("query", "key"), defines=True)
    untyped: str = setting("keep", choices=("keep", "gate"), defines=True)
    start: str = setting("random", choices=("random", "torch"), defines=True)
    embedding_scale: bool = setting(False, published=True)
    level_embedding: bool = setting(True, defines=True)

    @property
    def reads_labels(self) -> bool:
        # Relation scores over edges that have no types get those of paths.
        return super().reads_labels or self.relation_attention  # type: ignore[misc]
