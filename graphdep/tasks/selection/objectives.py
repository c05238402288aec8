"""What an objective is, by its name: examples of training pairs, a model, and marks on nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import nn
from torch_geometric.transforms import BaseTransform

from graphdep.nn import models as M
from graphdep.tasks.selection.config import SelectionConfig
from graphdep.tasks.selection.speakers import Speakers
from graphdep.tasks.selection.without_marks import WithoutMarks

if TYPE_CHECKING:
    from graphdep.datasets.selection.objectives import Objective
    from graphdep.vocab import Tokens

Options = dict[str, Any]


def objective_model(config: SelectionConfig, encoder: nn.Module, options: Options) -> M.SelectionModel:
    """The model that learns the objective of the settings, if they name one."""
    if config.objective is None:
        return M.SelectionModel(encoder, **options)
    return _PARTS[config.objective].model(config, encoder, options)


def objective_of(config: SelectionConfig, tokens: Tokens) -> Objective | None:
    """What makes its examples."""
    return None if config.objective is None else _PARTS[config.objective].examples(config, tokens)


def objective_edges(config: SelectionConfig) -> list[BaseTransform]:
    """What batches need beside edges, whatever they are for."""
    marks = None if config.objective is None else _PARTS[config.objective].marks
    return [] if marks is None else [marks(config)]


class _Parts(NamedTuple):
    """What an objective is made of."""

    model: Callable[[SelectionConfig, nn.Module, Options], M.SelectionModel]
    examples: Callable[[SelectionConfig, Any], Objective]
    marks: Callable[[SelectionConfig], BaseTransform] | None = None


def _manipulation_model(config: SelectionConfig, encoder: nn.Module, options: Options) -> M.SelectionModel:
    return M.UtteranceManipulationModel(encoder, loss=config.manipulation_loss, **options)


def _manipulation(config: SelectionConfig, tokens: Tokens) -> Objective:
    from graphdep.datasets.selection.objectives import UtteranceManipulation

    return UtteranceManipulation(tokens, config.max_length, config.manipulated_turns)


def _speaker_model(config: SelectionConfig, encoder: nn.Module, options: Options) -> M.SelectionModel:
    return M.SpeakerSelectionModel(encoder, speakers=config.speakers, **options)


def _augmentation(config: SelectionConfig, tokens: Tokens) -> Objective:
    from graphdep.datasets.selection.objectives import DialogueAugmentation

    return DialogueAugmentation(tokens, config.max_length, config.cuts)


def _structural_model(config: SelectionConfig, encoder: nn.Module, options: Options) -> M.SelectionModel:
    return M.StructuralDialogueModel(encoder, places=config.order_places, **options)


def _order(config: SelectionConfig, tokens: Tokens) -> Objective:
    from graphdep.datasets.selection.objectives import OrderRestoration

    return OrderRestoration(tokens, config.max_length, config.order_form, config.order_places)


_PARTS: dict[str, _Parts] = {
    "ums": _Parts(_manipulation_model, _manipulation, lambda config: WithoutMarks()),
    "ss-da": _Parts(_speaker_model, _augmentation, lambda config: Speakers(config.speakers)),
    "spider": _Parts(_structural_model, _order),
}
