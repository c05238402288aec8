"""What a model is built from beside its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphdep.datasets.base.rows import Label
    from graphdep.nn.pretrained import PretrainedEncoder


@dataclass(frozen=True, eq=False)
class Parts:
    """What a family builds a model from beside the settings.

    Args:
        num_words, num_relations: Sizes of the vocabularies.
        vectors: Word vectors to start from, ``[num_words, dim]``. (default: :obj:`None`)
        pretrained: The encoder, where it has weights already. (default: :obj:`None`)
        num_classes: Size of the output, where the data decide it. (default: the task's)
        labels: The names of the classes by their numbers, where the data decide them. (default: :obj:`None`)

    Example:
        >>> from graphdep import RelationVocab
        >>> from graphdep.tasks import Parts, family_of
        >>> from graphdep.training import TrainConfig
        >>> config = TrainConfig.of("dt", task="sst", hidden_channels=12)
        >>> task = family_of("sst").build(config, Parts(num_words=50, num_relations=len(RelationVocab())))
        >>> task.model.encoder.hidden_channels
        12
    """

    num_words: int
    num_relations: int
    vectors: Tensor | None = None
    pretrained: PretrainedEncoder | None = None
    num_classes: int | None = None
    labels: Sequence[Label] | None = None
