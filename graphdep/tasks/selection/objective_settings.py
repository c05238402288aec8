"""What settings say of the objectives that training has beside the selection of responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from graphdep.training.settings import setting

OBJECTIVES = ("ums", "ss-da", "spider")
# Of the models, which are not imported for them.
_LOSSES = ("sigmoid", "softmax")
_SPEAKERS = ("added", "segments")
_FORMS = ("extra", "same")


@dataclass(frozen=True, kw_only=True)
class ObjectiveSettings:
    """Settings of further objectives, for :class:`SelectionConfig` to inherit from as well.

    Args:
        objective: What is learnt beside the selection of responses, over any encoder and with or without
            layers of SIA: ``"ums"``, whose examples are those of
            :class:`~graphdep.datasets.selection.objectives.UtteranceManipulation` and
            whose losses those of :class:`~graphdep.nn.models.UtteranceManipulationModel`; ``"ss-da"``, with
            the speakers of :class:`~graphdep.nn.models.SpeakerSelectionModel` and the pairs of
            :class:`~graphdep.datasets.selection.objectives.DialogueAugmentation`;
            ``"spider"``, with the examples of
            :class:`~graphdep.datasets.selection.objectives.OrderRestoration` and the losses
            of :class:`~graphdep.nn.models.StructuralDialogueModel`; :obj:`None` for nothing.
            (default: :obj:`None`)
        manipulated_turns: Utterances of an example of ``"ums"`` at most. (default: :obj:`5`, as in its public
            code)
        manipulation_loss: ``"sigmoid"``, or ``"softmax"`` over the places of an example.
            (default: ``"sigmoid"``)
        insertion_weight, deletion_weight, search_weight: Factors of the losses of ``"ums"``; the loss of the
            pairs has 1. (default: :obj:`1.0`, as in its public code)
        speakers: Of ``"ss-da"``: two vectors ``"added"`` to the encoder's, or its ``"segments"`` are the
            speakers. (default: ``"added"``)
        cuts: Of ``"ss-da"``: further right pairs of a right pair, each with a wrong one; 0 for speakers
            alone. (default: :obj:`1`)
        order_form: Of ``"spider"``: shuffled contexts are examples of their own, ``"extra"``, or the
            ``"same"`` that the selection is learnt from. (default: ``"extra"``)
        order_places: Of ``"spider"``: utterances whose order is asked for at most. (default: :obj:`20`, as in
            its public code)
        order_weight, backbone_weight: Factors of the losses of ``"spider"``. (default: :obj:`0.1` and
            :obj:`0.5`, as in its public code)
    """

    objective: str | None = setting(None, choices=(None, *OBJECTIVES), defines=True)
    manipulated_turns: int = setting(5, defines=True)
    manipulation_loss: str = setting("sigmoid", choices=_LOSSES, defines=True)
    insertion_weight: float = setting(1.0, defines=True)
    deletion_weight: float = setting(1.0, defines=True)
    search_weight: float = setting(1.0, defines=True)

    speakers: str = setting("added", choices=_SPEAKERS, defines=True)
    cuts: int = setting(1, defines=True)
    order_form: str = setting("extra", choices=_FORMS, defines=True)
    order_places: int = setting(20, defines=True)
    order_weight: float = setting(0.1, defines=True)
    backbone_weight: float = setting(0.5, defines=True)

    objective_of: ClassVar[Mapping[str, str]] = {
        "manipulated_turns": "ums",
        "manipulation_loss": "ums",
        "insertion_weight": "ums",
        "deletion_weight": "ums",
        "search_weight": "ums",
        "speakers": "ss-da",
        "cuts": "ss-da",
        "order_form": "spider",
        "order_places": "spider",
        "order_weight": "spider",
        "backbone_weight": "spider",
    }
    """The objective that a setting is for."""

    def check_objective(self) -> None:
        """Raises :class:`ValueError` where a setting is for another objective."""
        usual: dict[str, Any] = {field.name: field.default for field in fields(ObjectiveSettings)}
        for name, objective in self.objective_of.items():
            value = getattr(self, name)
            if value != usual[name] and self.objective != objective:
                raise ValueError(
                    f"{name!r} is for objective={objective!r} (got {value!r}, objective={self.objective!r})"
                )

    @property
    def weights(self) -> dict[str, float]:
        """The factor of each further loss, by its name."""
        ending = "_weight"
        names = [name for name, of in self.objective_of.items() if of == self.objective]
        return {n.removesuffix(ending): getattr(self, n) for n in names if n.endswith(ending)}
