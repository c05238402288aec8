"""What settings say of models that match each utterance of a context with the response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.training.settings import setting

MATCHING_ENCODERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "smn": ("match_channels", "image_words", "image_turns", "accumulation"),
        "dua": ("match_channels", "image_words", "image_turns", "matching_form"),
        "dam-2018": ("num_layers", "image_words", "image_turns", "matching_form"),
        "ioi": ("num_layers", "image_words", "image_turns", "matching_form", "block_objective"),
    }
)
"""Models by name, and which of the settings below each reads."""
# Of the layer, which is not imported for it.
_FORMS = ("paper", "code")
_OBJECTIVES = ("local", "global")
_ACCUMULATIONS = ("dynamic", "static", "last")
_OWN = ("match_channels", "image_words", "image_turns", "accumulation", "matching_form", "block_objective")
# What stands on an encoder, and so has no place in a model that is none.
_OF_ENCODERS: Mapping[str, Any] = MappingProxyType(
    {"objective": None, "sia_edges": None, "readout": "cls", "mlp_layers": 1}
)


@dataclass(frozen=True, kw_only=True)
class MatchingSettings:
    """Settings of the models from words that other papers compare with, for a :class:`TrainConfig` to inherit
    from as well; :func:`~graphdep.tasks.selection.matching_build.build_matching_model` builds them. Their
    presets have the papers' sizes, and a :obj:`max_length` of 600, which ten utterances and a response of 50
    words fit in; words beyond the 50 of an utterance take room as well, so that of contexts with longer ones
    the first utterances may be cut. Not the papers' are what word vectors start from (nothing, unless
    :obj:`vectors` is set), :obj:`batch_size`, :obj:`max_epochs` and the learning rates of DUA (.005) and IOI
    (1e-4). :obj:`hidden_channels`, :obj:`num_layers`, the sizes here, and :obj:`max_length` and
    :obj:`max_turns`, which cut contexts, make smaller ones.

    Where few pairs train them, rate and :obj:`vectors_scale` decide whether they learn at all: IOI, after
    20,000 pairs of DailyDialog once (one seed), has a validation R10@1 of .47 with ``lr=5e-4`` and GloVe's
    vectors as they are, .14 with these divided to unit length, and .16 with ``lr=1e-3``.

    Args:
        match_channels: Of encoders ``"smn"`` and ``"dua"``: size of the matching vectors, and of the GRU over
            them. (default: :obj:`50`)
        image_words: Words of an utterance that are read, the last ones: rows and columns of an image of
            similarities. (default: :obj:`50`)
        image_turns: Utterances of a context that are read, the last ones; those without words do not count.
            (default: :obj:`10`, but :obj:`9` of preset ``dam-2018``)
        accumulation: Of encoder ``"smn"``: what the context's vector is made of, ``"dynamic"``,
            ``"static"`` or ``"last"`` (:class:`~graphdep.nn.models.SMN`). (default: ``"dynamic"``)
        matching_form: Of encoders ``"dua"``, ``"dam-2018"`` and ``"ioi"``: as in the ``"paper"`` or as in its
            ``"code"``, where they disagree (:class:`~graphdep.nn.models.DUA`,
            :class:`~graphdep.nn.models.DeepAttentionMatching`, :class:`~graphdep.nn.models.IOI`).
            (default: ``"paper"``)
        block_objective: Of encoder ``"ioi"``: what learns the label, each block (``"local"``) or their sum
            (``"global"``). (default: ``"local"``)
    """

    match_channels: int = setting(50, published=True)
    image_words: int = setting(50, published=True)
    image_turns: int = setting(10, published=True)
    accumulation: str = setting("dynamic", choices=_ACCUMULATIONS, defines=True)
    matching_form: str = setting("paper", choices=_FORMS, defines=True)
    block_objective: str = setting("local", choices=_OBJECTIVES, defines=True)

    if TYPE_CHECKING:  # of the other base
        model: str
        encoder: str
        models: ClassVar[Mapping[str, Any]]

    def check_model(self) -> None:
        """Raises :class:`ValueError` where a model from words is asked for on another encoder."""
        preset = self.models.get(str(self.model).split("@")[0])
        own = preset.overrides.get("encoder") if preset is not None else None
        if own in MATCHING_ENCODERS and self.encoder != own:
            raise ValueError(
                f"model {self.model!r} starts from words: 'encoder' must be {own!r} (got {self.encoder!r})"
            )

    def check_matching(self) -> None:
        """Raises :class:`ValueError` where nothing reads a setting."""
        read = MATCHING_ENCODERS.get(self.encoder)
        for name in _OWN:
            usual = type(self).__dataclass_fields__[name].default
            if getattr(self, name) != usual and name not in (read or ()):
                readers = [encoder for encoder, names in MATCHING_ENCODERS.items() if name in names]
                raise ValueError(
                    f"{name!r} is for encoder {', '.join(readers)} (got {getattr(self, name)!r}, "
                    f"encoder={self.encoder!r})"
                )
        for name, only in _OF_ENCODERS.items() if read is not None else ():
            if getattr(self, name) != only:
                raise ValueError(
                    f"{name!r} is for models on an encoder; with encoder={self.encoder!r} it must be "
                    f"{only!r} (got {getattr(self, name)!r})"
                )
