"""What settings say of an encoder of words, with syntax in it, whether it is pretrained or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.parsing.enhanced import ARCS
from graphdep.training.family.model_preset import resolve_model
from graphdep.training.family.pretrained_settings import PretrainedSettings
from graphdep.training.family.scratch_settings import CONVS, ScratchSettings
from graphdep.training.family.setting import setting
from graphdep.transforms import PHRASE_PRESETS, PRESETS, preset_options
from graphdep.transforms.presets import is_own

_LINKS = ("both", "to_word", "to_relation", "none")
_POSITIONS = ("sequence", "dependent", "zero", "none")
ADDING_NODES = ("dam", "constituents")
"""Edges of the library that bring nodes of relations or phrases."""
# Which settings only some models read.
_OF_PIECES = ("pieces", "max_length", "batch_pieces")
_OF_TERMS = ("relation_terms", "relation_start")
_OF_SIZES = ("hidden_channels", "num_layers", "heads", "ff_channels")
_OF_STRUCTURE = ("start", "embedding_scale", "position_embedding", "norm_first")
_OF_SCORES = ("gate", "relation_dim")
_OF_GATES = ("gate_state", "untyped")
_OF_EDGES = ("max_distance", "directions", "pieces")
_OF_PLACES = ("dependent_places", "places_from")
_OF_NODES = ("links", "cls_links", "relation_position", "type_embedding")


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(PretrainedSettings, ScratchSettings):
    """Settings of an encoder that is trained from scratch, or pretrained with syntax added to it, for a
    :class:`TrainConfig` to inherit from as well; the one is built by
    :func:`~graphdep.training.family.scratch.build_encoder`, the other gets its syntax from
    :func:`~graphdep.training.family.added_syntax.add_syntax`.

    Args:
        relation_terms: What :obj:`relation_attention` is: ``"score"``, DT's score and gate, or
            ``"key-value"``, Graph2Graph's keys and values, for a pretrained encoder. (default: ``"score"``)
        relation_start: Where its parameters start in a pretrained encoder: ``"unchanged"``, which leaves the
            encoder's function as it is where the method allows that, or ``"random"``.
            (default: ``"unchanged"``)
        scaling: Of the relation keys, see :class:`~graphdep.nn.attention.RelationKeyValue`. (default:
            ``"paper"``)
        arcs: ``"basic"``, or of an enhanced graph (:func:`~graphdep.parsing.enhanced`) ``"ud"``, ``"ud++"``,
            or by pybart ``"enhanced"``, ``"enhanced++"``: the arcs that edges ``"dam"`` have a node for.
            (default: ``"basic"``)
        constituents: The edges read constituents, which the parser has to give; those of ``"constituents"``
            and ``"same-constituent"`` do so anyhow, so that it is for edges of your own.
            (default: :obj:`False`)
        pieces: ``"first"`` or ``"all"``: which pieces of a word stand for it in edges; :obj:`None` for the
            edges' own choice. (default: :obj:`None`)
        links, cls_links, relation_links, relation_position: Of edges ``"dam"``, and but for
            :obj:`relation_links` of ``"constituents"``, whose phrase nodes stand for relation nodes: which of
            a word and its relation node reads the other (``"both"``, ``"to_word"``, ``"to_relation"``,
            ``"none"``), whether [CLS], or ROOT in an encoder from scratch, and relation nodes see one
            another, whether relation nodes of one word do, and their positions (``"sequence"``,
            ``"dependent"``, ``"zero"``, or ``"none"``, no segment either, see
            :class:`~graphdep.transforms.RelationNodes`). (default: ``"both"``, :obj:`True`, :obj:`False`,
            ``"sequence"``)
        type_embedding: Relation nodes share a vector that tells them from words. (default: :obj:`True`)
        max_length: Pieces of an example at most, for a pretrained encoder. (default: :obj:`128`)
        batch_pieces: Pieces of a batch of a pretrained encoder at most: a batch with long examples ends
            before it has more, and so has fewer than :obj:`batch_size`. What fine-tuning holds in memory goes
            by them. Batches of 32 examples of 128 pieces are never cut. (default: :obj:`4096`)
        windows: Of a pretrained encoder with layers that see only the places around a word: ``"own"`` keeps
            to them, ``"dropped"`` takes all edges there, too. (default: ``"own"``)
        **others: As in :class:`PretrainedSettings` and :class:`ScratchSettings`.
    """

    relation_terms: str = setting("score", choices=("score", "key-value"), defines=True)
    relation_start: str = setting("unchanged", choices=("unchanged", "random"), defines=True)
    scaling: str = setting("paper", choices=("paper", "code"), defines=True)
    arcs: str = setting("basic", choices=ARCS, defines=True)
    constituents: bool = setting(False, defines=True)
    pieces: str | None = setting(None, choices=(None, "first", "all"), defines=True)
    links: str = setting("both", choices=_LINKS, defines=True)
    cls_links: bool = setting(True, defines=True)
    relation_links: bool = setting(False, defines=True)
    relation_position: str = setting("sequence", choices=_POSITIONS, defines=True)
    type_embedding: bool = setting(True, defines=True)
    windows: str = setting("own", choices=("own", "dropped"), defines=True)
    # [CLS], a piece of each of two sentences, two [SEP].
    max_length: int = setting(128, at_least=5, published=True, free=True)
    batch_pieces: int = setting(4096, free=True)

    any_encoder: ClassVar[bool] = True

    if TYPE_CHECKING:  # of the other base
        model: str
        models: ClassVar[Any]
        encoders: ClassVar[Any]
        edges: str | None
        trees: str

    @property
    def pretrained(self) -> bool:
        return self.encoder not in self.encoders

    @property
    def takes_nodes(self) -> bool:
        """Whether the encoder has an embedding for nodes of relations and phrases."""
        return self.pretrained or (self.encoder == "transformer" and not self.relation_attention)

    @property
    def most_pieces(self) -> int | None:
        return self.batch_pieces if self.pretrained else None

    def dataset_options(self, split: str) -> dict[str, Any]:
        options: dict[str, Any] = super().dataset_options(split)  # type: ignore[misc]
        options |= {} if self.arcs == "basic" else {"arcs": self.arcs}
        read = self.phrases_read  # type: ignore[attr-defined]
        options |= {"constituents": read} if self.reads_constituents else {}
        return {**options, "max_length": self.max_length} if self.pretrained else options

    @property
    def reads_constituents(self) -> bool:
        """Whether the edges read constituents."""
        return self.constituents or self.edges in PHRASE_PRESETS

    def data_settings(self) -> dict[str, Any]:
        # The encoder's tokenizer cuts words into pieces.
        own = {"encoder": self.encoder} if self.pretrained else self.vocab_options
        return super().data_settings() | own  # type: ignore[misc]

    @property
    def vocab_options(self) -> dict[str, Any]:
        """Arguments of a dataset for the words that it gives a vocabulary."""
        if self.vocab_from == "train":
            return {}
        return {"vocab_from": self.vocab_from, "vectors": self.vectors}

    def check_encoder(self) -> None:
        """Raises :class:`ValueError` where model and encoder do not fit, or nothing reads a setting."""
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
        if self.vocab_from == "vectors" and self.vectors is None:
            raise ValueError("'vocab_from' cannot be 'vectors': there is no file of 'vectors' (got None)")
        if self.pretrained and self.level_embedding:
            raise ValueError(f"'level_embedding' is for encoder='transformer' (got encoder={self.encoder!r})")
        if self.encoder in CONVS and self.relation_attention:
            raise ValueError(
                f"'relation_attention' is for encoder='transformer', and {self.encoder!r} has its own "
                "attention (got True)"
            )
        for names, reader, read in self._readers():
            for name in names if not read else ():
                if getattr(self, name) != self.__dataclass_fields__[name].default:
                    raise ValueError(f"{name!r} is for {reader} (got {getattr(self, name)!r})")

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        """Settings, what reads them, and whether that is there: a setting that nothing reads would make two
        rows of a table that are one.
        """
        terms = self.pretrained and self.relation_attention
        nodes = self.takes_nodes and self.edges in ADDING_NODES
        dam = nodes and self.edges == "dam"
        yield _OF_PIECES, "a pretrained encoder", self.pretrained
        yield ("windows",), "a pretrained encoder", self.pretrained
        yield ("vectors_scale",), "'vectors'", self.vectors is not None
        yield _OF_TERMS, "relation_attention in a pretrained encoder", terms
        yield ("scaling",), "relation_terms='key-value'", terms and self.relation_terms == "key-value"
        yield _OF_PLACES, "encoder='dt-rnn'", self.encoder == "dt-rnn"
        yield _OF_NODES, "edges='dam' or 'constituents'", nodes
        yield ("relation_links",), "edges='dam'", dam
        own = self.edges is not None and is_own(self.edges)
        yield ("constituents",), "edges of your own (those of the presets know what they read)", own
        if self.pretrained:
            score = terms and self.relation_terms == "score"
            yield _OF_SCORES, "relation_attention with relation_terms='score'", score
            yield _OF_GATES, "a gate of relation scores", score and self.gate is not None
            yield (*_OF_SIZES, *_OF_STRUCTURE), "an encoder that is trained from scratch", False
            for name in _OF_EDGES:
                takers = [edges for edges in (*PRESETS, *PHRASE_PRESETS) if name in preset_options(edges)]
                read = self.edges is not None and name in preset_options(self.edges)
                yield (name,), f"edges {', '.join(takers)}", read
        yield (
            ("arcs",),
            "edges='dam' on the parser's trees",
            dam and self.trees in ("parser", "gold"),
        )
