"""Every choice of a run on sentences or pairs of sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from graphdep.tasks.sentences.presets import MODELS
from graphdep.tasks.sentences.task import Sentences
from graphdep.tasks.sentences.tree_settings import (
    LABELLED,
    TAG_ENCODERS,
    TREE_ENCODERS,
    TREE_HEADED,
    TreeSettings,
)
from graphdep.training.config import ModelPreset, TrainConfig
from graphdep.training.encoder_config import HEADED, OF_WORDS, SCRATCH_ENCODERS, EncoderSettings
from graphdep.training.settings import setting
from graphdep.training.task import DEFAULT_TASK, resolve_task

# What a frozen encoder does not read: two values would make two rows of a table that are one.
_WHEN_FROZEN: dict[str, object] = {
    "edges": "transformer",
    "relation_attention": False,
    "word_order": "text",
    "freeze_layers": 0,
    "layer_decay": 1.0,
}


@dataclass(frozen=True, kw_only=True)
class SentenceConfig(TreeSettings, EncoderSettings, TrainConfig, kind="sentence"):
    """Settings of a run on sentences; the defaults are those of "Integrating Dependency Tree into
    Self-attention for Sentence Representation" where it gives them.

    Args:
        encoder: ``"transformer"``, over the edges, or a baseline that reads words or tree itself:
            ``"word-average"``, ``"lstm"``, ``"bilstm"``, ``"tree-lstm"``, ``"bitree-lstm"``,
            ``"tree-transformer"``, ``"dt-rnn"``, over constituents ``"tree-lstm-ct"``, ``"rntn"``; else the
            name or folder of a pretrained Hugging Face encoder, for the models whose names begin with
            ``bert``. (default: ``"transformer"``)
        max_distance: Longest tree path that gets a relation: the infilling threshold. (default: :obj:`2`)
        hidden_channels, num_layers, heads, relation_dim, ff_channels, dropout, relation_attention, gate,
            gate_state, untyped, start, level_embedding, position_embedding, norm_first: Of
            :class:`~graphdep.nn.models.DependencyTransformer`. A baseline reads ``hidden_channels`` and
            ``dropout``, ``"tree-transformer"`` also ``heads`` and ``ff_channels``; the LSTMs have one layer.
        head_channels: Hidden size of the relatedness head of pairs. (default: :obj:`50`)
        val_from: Of GLUE: ``"train"`` validates on a tenth of the training file and tests on the development
            file, ``"dev"`` trains on all of the one, validates on the other and does not test, as for
            ``graphdep submit``; :obj:`None` for the corpus' own way. (default: :obj:`None`)
        frozen: A pretrained encoder is not trained: it reads every text once, each on its own, and the means
            over their pieces go to the head that models trained from scratch have
            (:class:`~graphdep.nn.models.FrozenEncoder`). (default: :obj:`False`)
        phrases: Of ``sst-trees``: train on every phrase of the treebank's training trees that is not neutral,
            as the paper does, and not on whole sentences alone (:class:`~graphdep.datasets.SST`). (default:
            :obj:`False`)
        **others: As in :class:`~graphdep.tasks.sentences.tree_settings.TreeSettings`,
            :class:`~graphdep.training.encoder_config.EncoderSettings` and :class:`TrainConfig`.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = DEFAULT_TASK
    model: str = "dt"
    edges: str | None = "dt"
    max_distance: int = 2
    min_freq: int = 1
    max_epochs: int = 30
    patience: int | None = 6
    batch_size: int = 32
    optimizer: str = "adagrad"
    lr: float = 1e-3
    weight_decay: float = 0.0
    hidden_channels: int = 300
    num_layers: int = 3
    heads: int = 6
    ff_channels: int = 300
    dropout: float = 0.0
    head_channels: int = 50
    val_from: str | None = setting(None, choices=(None, "train", "dev"))
    frozen: bool = setting(False, defines=True)
    phrases: bool = False
    freeze_layers: int = 0
    head_lr: float | None = None
    layer_decay: float = 1.0

    models: ClassVar[Mapping[str, ModelPreset]] = MODELS
    encoders: ClassVar[Mapping[str, bool]] = {**SCRATCH_ENCODERS, **dict.fromkeys(TREE_ENCODERS, False)}
    of_words: ClassVar[tuple[str, ...]] = (*OF_WORDS, "use")
    headed: ClassVar[tuple[str, ...]] = (*HEADED, *TREE_HEADED)

    def __post_init__(self) -> None:
        if self.trees == "gold" and self.over_constituents:
            raise ValueError(
                f"'trees' are those of governors; a treebank's own constituents are node_labels=true, of "
                f"{LABELLED} (got {self.trees!r}, encoder={self.encoder!r})"
            )
        super().__post_init__()
        self.check_encoder()
        self._check_frozen()
        if self.val_from is not None and not resolve_task(self.task).takes("val_from"):
            raise ValueError(f"'val_from' is not for task {self.task!r} (got {self.val_from!r})")
        if self.phrases and resolve_task(self.task).options.get("layout") != "trees":
            raise ValueError(f"'phrases' is for task 'sst-trees', and not for {self.task!r} (got True)")
        self.check_node_labels()

    def _check_frozen(self) -> None:
        if not self.frozen:
            return
        if not self.pretrained:
            raise ValueError(f"'frozen' is for a pretrained encoder (got encoder={self.encoder!r})")
        for name, usual in _WHEN_FROZEN.items():
            if getattr(self, name) != usual:
                raise ValueError(
                    f"{name!r} is for an encoder that is trained; a frozen one has {usual!r} (got "
                    f"{getattr(self, name)!r})"
                )

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        yield from super()._readers()
        yield from self.tree_readers()

    @property
    def reads_constituents(self) -> bool:
        return self.over_constituents or super().reads_constituents

    @property
    def phrases_read(self) -> bool | str:
        return "tagged" if self.encoder in TAG_ENCODERS else super().phrases_read

    @property
    def num_texts(self) -> int:
        """Texts in an example: 1 or 2."""
        task = resolve_task(self.task)
        assert isinstance(task, Sentences)
        return task.sentences

    @property
    def splits(self) -> tuple[str, ...]:
        # GLUE's own test has no labels.
        return ("train", "val") if self.val_from == "dev" else super().splits

    def dataset_options(self, split: str) -> dict[str, Any]:
        own: dict[str, Any] = {} if self.val_from is None else {"val_from": self.val_from}
        own |= {"phrases": True} if self.phrases else {}
        return super().dataset_options(split) | own | self.tree_data()

    @property
    def about_data(self) -> str:
        if self.node_labels:
            return "with labels of all nodes"
        return "with phrases" if self.phrases else super().about_data
