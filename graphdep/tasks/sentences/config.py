"""Every choice of a run on sentences or pairs of sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from graphdep.parsing.enhance import ARCS
from graphdep.tasks.sentences.presets import MODELS
from graphdep.tasks.sentences.task import Sentences
from graphdep.training.family.lookup import DEFAULT_TASK, resolve_task
from graphdep.training.family.model_preset import ModelPreset, resolve_model
from graphdep.training.family.pretrained_settings import PretrainedSettings
from graphdep.training.family.scratch_settings import HEADED, SCRATCH_ENCODERS, ScratchSettings
from graphdep.training.family.setting import setting
from graphdep.training.family.train_config import TrainConfig
from graphdep.transforms import PRESETS, preset_options

_LINKS = ("both", "to_word", "to_relation", "none")
_POSITIONS = ("sequence", "dependent", "zero")
# Which settings only some models read.
_OF_PIECES = ("pieces", "max_length")
_OF_TERMS = ("relation_terms", "relation_start")
_OF_SIZES = ("hidden_channels", "num_layers", "heads", "ff_channels")
_OF_STRUCTURE = ("position_embedding", "norm_first")
_OF_SCORES = ("gate", "relation_dim")
_OF_GATES = ("gate_state", "untyped")
_OF_EDGES = ("max_distance", "directions", "pieces")
_OF_NODES = ("links", "cls_links", "relation_links", "relation_position", "type_embedding")


@dataclass(frozen=True, kw_only=True)
class SentenceConfig(PretrainedSettings, ScratchSettings, TrainConfig, kind="sentence"):
    """Settings of a run on sentences; the defaults are those of "Integrating Dependency Tree into
    Self-attention for Sentence Representation" where it gives them.

    Args:
        encoder: ``"transformer"``, over the edges, or a baseline that reads words or tree itself:
            ``"word-average"``, ``"lstm"``, ``"bilstm"``, ``"tree-lstm"``, ``"bitree-lstm"``,
            ``"tree-transformer"``; else the name or folder of a pretrained Hugging Face encoder, for the
            models whose names begin with ``bert``. (default: ``"transformer"``)
        max_distance: Longest tree path that gets a relation: the infilling threshold. (default: :obj:`2`)
        hidden_channels, num_layers, heads, relation_dim, ff_channels, dropout, relation_attention, gate,
            gate_state, untyped, level_embedding, position_embedding, norm_first: Of
            :class:`~graphdep.nn.models.DependencyTransformer`. A baseline reads ``hidden_channels`` and
            ``dropout``, ``"tree-transformer"`` also ``heads`` and ``ff_channels``; the LSTMs have one layer.
        head_channels: Hidden size of the relatedness head of pairs. (default: :obj:`50`)
        relation_terms: What :obj:`relation_attention` is: ``"score"``, DT's score and gate, or
            ``"key-value"``, Graph2Graph's keys and values, for a pretrained encoder. (default: ``"score"``)
        relation_start: Where its parameters start in a pretrained encoder: ``"unchanged"``, which leaves the
            encoder's function as it is where the method allows that, or ``"random"``.
            (default: ``"unchanged"``)
        scaling: Of the relation keys, see :class:`~graphdep.nn.attention.RelationKeyValue`. (default:
            ``"paper"``)
        arcs: ``"basic"``, ``"enhanced"`` or ``"enhanced++"``: the arcs that edges ``"dam"`` have a node for.
            (default: ``"basic"``)
        pieces: ``"first"`` or ``"all"``: which pieces of a word stand for it in edges; :obj:`None` for the
            edges' own choice. (default: :obj:`None`)
        links, cls_links, relation_links, relation_position: Of edges ``"dam"``: which of a word and its
            relation node reads the other (``"both"``, ``"to_word"``, ``"to_relation"``, ``"none"``), whether
            [CLS] and relation nodes see one another, whether relation nodes of one word do, and their
            positions (``"sequence"``, ``"dependent"``, ``"zero"``). (default: ``"both"``, :obj:`True`,
            :obj:`False`, ``"sequence"``)
        type_embedding: Relation nodes share a vector that tells them from words. (default: :obj:`True`)
        val_from: Of GLUE: ``"train"`` validates on a tenth of the training file and tests on the development
            file, ``"dev"`` trains on all of the one, validates on the other and does not test, as for
            ``graphdep submit``; :obj:`None` for the corpus' own way. (default: :obj:`None`)
        max_length: Pieces of an example at most, for a pretrained encoder. (default: :obj:`128`)
        freeze_layers: Lower layers of a pretrained encoder that are not trained, its embeddings with them;
            0 for none. (default: :obj:`0`)
        head_lr: Learning rate of what is new around a pretrained encoder; :obj:`None` for :obj:`lr`.
            (default: :obj:`None`)
        layer_decay: Factor of the learning rate from one layer of a pretrained encoder to the one below.
            (default: :obj:`1.0`)
        directions: Tell a relation from its inverse. (default: :obj:`True`)
        **others: As in :class:`TrainConfig`.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = DEFAULT_TASK
    model: str = "dt"
    edges: str | None = "dt"
    labels: bool = setting(True, later=False)  # runs on sentences have always had it
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
    relation_terms: str = setting("score", choices=("score", "key-value"), defines=True, later=True)
    relation_start: str = setting("unchanged", choices=("unchanged", "random"), defines=True, later=True)
    scaling: str = setting("paper", choices=("paper", "code"), defines=True, later=True)
    arcs: str = setting("basic", choices=ARCS, defines=True, later=True)
    pieces: str | None = setting(None, choices=(None, "first", "all"), defines=True, later=True)
    links: str = setting("both", choices=_LINKS, defines=True, later=True)
    cls_links: bool = setting(True, defines=True, later=True)
    relation_links: bool = setting(False, defines=True, later=True)
    relation_position: str = setting("sequence", choices=_POSITIONS, defines=True, later=True)
    type_embedding: bool = setting(True, defines=True, later=True)
    val_from: str | None = setting(None, choices=(None, "train", "dev"), later=True)
    # [CLS], a piece of each of two sentences, two [SEP].
    max_length: int = setting(128, at_least=5, published=True, free=True, later=True)
    freeze_layers: int = setting(0, later=True)
    head_lr: float | None = setting(None, later=True)
    layer_decay: float = setting(1.0, later=True)

    models: ClassVar[Mapping[str, ModelPreset]] = MODELS
    encoders: ClassVar[Mapping[str, bool]] = SCRATCH_ENCODERS
    any_encoder: ClassVar[bool] = True
    headed: ClassVar[tuple[str, ...]] = HEADED

    def __post_init__(self) -> None:
        super().__post_init__()
        # A name that is no encoder of ours could be any folder's: only some models take one.
        own = resolve_model(self.model, self.models).overrides.get("encoder")
        if self.pretrained and own in (None, *self.encoders):
            raise ValueError(
                f"'encoder' must be one of {', '.join(self.encoders)}, or for models whose names begin with "
                f"'bert' a pretrained encoder (got {self.encoder!r})"
            )
        if not self.pretrained and own not in (None, *self.encoders):
            raise ValueError(
                f"model {self.model!r} stands on a pretrained encoder: 'encoder' must be its name or folder "
                f"(got {self.encoder!r})"
            )
        self.check_pretrained("an encoder that is trained from scratch")
        if self.val_from is not None and not resolve_task(self.task).takes("val_from"):
            raise ValueError(f"'val_from' is not for task {self.task!r} (got {self.val_from!r})")
        if self.pretrained and self.level_embedding:
            raise ValueError(f"'level_embedding' is for encoder='transformer' (got encoder={self.encoder!r})")
        for names, reader, read in self._readers():
            for name in names if not read else ():
                if getattr(self, name) != _DEFAULTS[name]:
                    raise ValueError(f"{name!r} is for {reader} (got {getattr(self, name)!r})")

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        """Settings, what reads them, and whether that is there: a setting that nothing reads would make two
        rows of a table that are one.
        """
        terms = self.pretrained and self.relation_attention
        dam = self.pretrained and self.edges == "dam"
        yield _OF_PIECES, "a pretrained encoder", self.pretrained
        yield _OF_TERMS, "relation_attention in a pretrained encoder", terms
        yield ("scaling",), "relation_terms='key-value'", terms and self.relation_terms == "key-value"
        yield _OF_NODES, "edges='dam' on a pretrained encoder", dam
        if self.pretrained:
            score = terms and self.relation_terms == "score"
            yield _OF_SCORES, "relation_attention with relation_terms='score'", score
            yield _OF_GATES, "a gate of relation scores", score and self.gate is not None
            yield (*_OF_SIZES, *_OF_STRUCTURE), "an encoder that is trained from scratch", False
            for name in _OF_EDGES:
                takers = [edges for edges in PRESETS if name in preset_options(edges)]
                read = self.edges is not None and name in preset_options(self.edges)
                yield (name,), f"edges {', '.join(takers)}", read
        yield (
            ("arcs",),
            "edges='dam' on a pretrained encoder, on the parser's trees",
            dam and self.trees in ("parser", "gold"),
        )

    @property
    def pretrained(self) -> bool:
        return self.encoder not in self.encoders

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
        options: dict[str, Any] = {} if self.arcs == "basic" else {"arcs": self.arcs}
        if self.val_from is not None:
            options["val_from"] = self.val_from
        return {**options, "max_length": self.max_length} if self.pretrained else options

    def data_settings(self) -> dict[str, Any]:
        # The encoder's tokenizer cuts words into pieces.
        return super().data_settings() | ({"encoder": self.encoder} if self.pretrained else {})


_DEFAULTS = {field.name: field.default for field in dataclasses.fields(SentenceConfig)}
