"""Every choice of a run on labels of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from graphdep.datasets.labels.column import Column
from graphdep.tasks.labels.presets import LABEL_MODELS
from graphdep.training.family.model_preset import ModelPreset
from graphdep.training.family.scratch_settings import HEADED, SCRATCH_ENCODERS, ScratchSettings
from graphdep.training.family.setting import setting
from graphdep.training.family.train_config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class LabelConfig(ScratchSettings, TrainConfig, kind="labels"):
    """Settings of a run on labels of words.

    Args:
        key: The label: ``"upos"``, ``"xpos"``, ``"deprel"``, ``"lemma"`` or ``"feats"``, or a key of one of
            two columns, ``"feats:KEY"`` or ``"misc:KEY"``. Words without it are not scored. (default:
            ``"upos"``)
        absent: Label of words without it, which are then scored; for keys that mark some words only.
            (default: :obj:`None`)
        trees: ``"gold"`` for the treebank's own trees; ``"parser"`` for those of :obj:`parser`, which is read
            for nothing else. Controls replace the treebank's trees. (default: ``"gold"``)
        encoder: ``"transformer"``, over the edges, or a baseline that reads words or tree itself:
            ``"word-average"``, ``"lstm"``, ``"bilstm"``, ``"tree-lstm"``, ``"bitree-lstm"``,
            ``"tree-transformer"``. (default: ``"transformer"``)
        min_freq: Words seen less often are unknown; as some of the training split have to be, for the model
            to learn what becomes of them. (default: :obj:`2`)
        **others: As in :class:`~graphdep.training.family.scratch_settings.ScratchSettings` and
            :class:`TrainConfig`.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = "ud-tags"
    model: str = "dt"
    key: str = setting("upos", defines=True)
    absent: str | None = setting(None, defines=True)
    edges: str | None = "dt"
    trees: str = "gold"
    max_distance: int = 2
    min_freq: int = 2
    max_epochs: int = 20
    patience: int | None = 5
    batch_size: int = 32
    optimizer: str = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    clip: float | None = 1.0
    hidden_channels: int = 128
    num_layers: int = 2
    heads: int = 4
    ff_channels: int = 256
    dropout: float = 0.1

    models: ClassVar[Mapping[str, ModelPreset]] = LABEL_MODELS
    encoders: ClassVar[Mapping[str, bool]] = SCRATCH_ENCODERS
    headed: ClassVar[tuple[str, ...]] = HEADED

    def __post_init__(self) -> None:
        if self.encoder not in self.encoders:
            raise ValueError(
                f"'encoder' must be one of {', '.join(self.encoders)}; a pretrained encoder cannot label "
                f"words yet (got {self.encoder!r})"
            )
        super().__post_init__()
        Column(self.key, self.absent)

    @property
    def label(self) -> str:
        return f"{super().label}, key {self.key}"

    def dataset_options(self, split: str) -> dict[str, Any]:
        return {"key": self.key, "absent": self.absent, "parser": self._parser}

    def data_settings(self) -> dict[str, Any]:
        return super().data_settings() | {"parser": self._parser}

    def named(self) -> dict[str, Any]:
        read = self.trees == "parser"
        return {name: value for name, value in super().named().items() if read or name != "parser"}

    def signatures(self) -> dict[str, str]:
        given = self.key == "deprel" and self.trees == "gold"
        note = "; models that read the labels of the treebank's arcs read the answer" if given else ""
        return {name: f"{text}{note}" for name, text in super().signatures().items()}

    @property
    def _parser(self) -> str:
        """What gives the trees that a control may replace: it needs no parse of its own."""
        return self.parser if self.trees == "parser" else "gold"
