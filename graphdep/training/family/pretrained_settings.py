"""What settings say of a pretrained encoder, whatever the task is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphdep.training.family.setting import setting


@dataclass(frozen=True, kw_only=True)
class PretrainedSettings:
    """Settings of a pretrained encoder, for a :class:`TrainConfig` to inherit from as well.

    Args:
        freeze_layers: Lower layers that are not trained, the embeddings with them; 0 for none. (default:
            :obj:`0`)
        head_lr: Learning rate of what stands on the encoder; :obj:`None` for :obj:`lr`. (default:
            :obj:`None`)
        layer_decay: Factor of the learning rate from one layer to the one below. (default: :obj:`1.0`)
        floor_frozen: Score what the encoder can do before it is trained, as a floor beside that of no skill
            (:meth:`~graphdep.training.family.family.TaskFamily.floor_frozen`). It reads each text of the
            splits that are scored once, which takes less time than scoring them; on sentences those of at
            most 10,000 training examples as well, on words and spans those of at most 20,000 of them. A row
            that does not pass it is called untrained under the table. (default: :obj:`True`)
    """

    freeze_layers: int = setting(0, defines=True)
    head_lr: float | None = setting(None, published=True)
    layer_decay: float = setting(1.0, published=True)
    floor_frozen: bool = True

    if TYPE_CHECKING:  # of the other base
        encoder: str
        vectors: str | None
        lr: float
        weight_decay: float

        @property
        def pretrained(self) -> bool: ...

    def check_pretrained(self, scratch: str) -> None:
        """Raises :class:`ValueError` where a setting is for the other kind of encoder.

        Args:
            scratch: How an encoder is named that has no weights yet, for messages.
        """
        if not 0 < self.layer_decay <= 1:
            raise ValueError(f"'layer_decay' must be in 0 < layer_decay <= 1 (got {self.layer_decay!r})")
        if not self.pretrained and (self.freeze_layers or self.layer_decay != 1):
            raise ValueError(
                "'freeze_layers' and 'layer_decay' are for a pretrained encoder (got "
                f"encoder={self.encoder!r})"
            )
        if self.pretrained and self.vectors is not None:
            raise ValueError(f"'vectors' are for {scratch} (got encoder={self.encoder!r})")
        if self.head_lr is not None and (not self.pretrained or not 0 < self.head_lr < 3e38):
            raise ValueError(
                f"'head_lr' must be above 0, and is for a pretrained encoder (got {self.head_lr!r})"
            )
