"""What is added to the layers of an encoder, made and checked before any of it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch_geometric.data import Data

from graphdep.nn.pretrained._layers import edges_of_layers
from graphdep.nn.pretrained.anatomy import Anatomy, attention_modules, run_model


def make_terms(
    make: Callable[[], nn.Module], layers: Iterable[int], there: Iterable[nn.Module]
) -> dict[str, nn.Module]:
    """A new module for each layer, by the layer's number.

    Args:
        make: Gives one.
        layers: Numbers of the layers.
        there: The modules of other layers.

    Raises:
        ValueError: If :obj:`make` is a module, or gives no module or one that another layer has.
    """
    if isinstance(make, nn.Module) or not callable(make):
        raise ValueError(
            "'make' must be a function that gives a new module for each layer, e.g. "
            f"lambda: RelationKeyValue(...) (got {make})"
        )
    modules: dict[str, nn.Module] = {}
    taken = {id(module) for module in there}
    for number in layers:
        module = make()
        if not isinstance(module, nn.Module):
            raise ValueError(f"'make' must give a module (got {type(module).__name__})")
        if id(module) in taken:
            raise ValueError(f"'make' must give a new module for each layer (layer {number} gets another's)")
        taken.add(id(module))
        modules[str(number)] = module
    return modules


def check_shared(modules: Mapping[str, nn.Module], there: Iterable[nn.Parameter]) -> None:
    """Raises :class:`ValueError` if relation vectors that modules share are no part of any of them.

    Args:
        modules: What is to be added, by the layer's number.
        there: The parameters of the encoder.
    """
    known = {id(parameter) for parameter in there}
    known |= {id(parameter) for module in modules.values() for parameter in module.parameters()}
    for number, module in modules.items():
        relation = getattr(module, "relation", None)
        shared = relation.parameters() if isinstance(relation, nn.Module) else ()
        if any(id(parameter) not in known for parameter in shared):
            raise ValueError(
                f"'make' gives layer {number} relation vectors that are no part of the encoder, and so would "
                "be neither trained nor saved: let the first layer have its own, and share those"
            )


def try_terms(model: Any, anatomy: Anatomy, terms: Mapping[str, nn.Module]) -> None:
    """Raises :class:`ValueError` unless the model runs with these terms, over a node that sees itself.

    Args:
        model: The model, which is left as it was.
        anatomy: Its parts.
        terms: What is to be added, by the layer's number.
    """
    node = torch.zeros(1, dtype=torch.long, device=model.device)
    data = Data(num_nodes=1, edge_index=node.new_zeros(2, 1), edge_type=node)
    training = model.training
    model.eval()
    try:
        graph = edges_of_layers(data, attention_modules(model, anatomy), {}, terms)
        with torch.no_grad():
            run_model(model, anatomy, node, node, node, graph)
    except Exception as error:  # whatever a module raises that was made for another size
        raise ValueError(
            f"'make' gives a module that does not fit the model, of {anatomy.hidden_channels} channels and "
            f"{anatomy.heads} heads ({type(error).__name__}: {error}): {next(iter(terms.values()))}"
        ) from error
    finally:
        model.train(training)
