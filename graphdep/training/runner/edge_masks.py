"""On which edges a trained model's answer depends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from graphdep.nn.explain import ExplainableModel

_EPOCHS = 100


def edge_masks(
    model: nn.Module, data: Data, names: Iterable[str], rows: Tensor | None = None
) -> dict[str, Tensor]:
    r"""How much the answer to an example depends on each edge, in all layers that send along it.

    ``"gradient"`` is the gradient of the logarithm of the answer's odds, or of a number that the model gives,
    with respect to a factor :math:`m_e = 1` on all that is sent along an edge: to the first order, what is
    lost without the edge, as `"Are Sixteen Heads Really Better than One?"
    <https://arxiv.org/abs/1905.10650>`_ (section 4.1) asks it of heads. Of odds, because near a probability
    of 1 its own gradient is none.

    .. math::
        g_e = \left| \frac{\partial}{\partial m_e} \log \frac{p(\hat{y})}{1 - p(\hat{y})} \right|_{m = 1}

    ``"gnnexplainer"`` is :class:`torch_geometric.explain.GNNExplainer`, which learns a mask in 100 steps,
    from the same random start each time.

    Args:
        model: Such as :class:`~graphdep.nn.explain.ExplainableModel` takes, in evaluation mode.
        data: One example, with its edges written out.
        names: What is asked for.
        rows: Of a model that labels words, the nodes whose labels are the answer. (default: all)

    Shapes:
        - rows: :math:`(R)`
        - output: :math:`(|\mathcal{E}|)` each, from 0 on

    Raises:
        ValueError: If a name is unknown, or the model cannot be explained.

    Example:
        >>> from graphdep.training.runner.edge_masks import edge_masks
        >>> masks = edge_masks(model, resolve("dra")(data), ["gradient"])
        >>> masks["gradient"].shape == (data.num_edges,)
        True
    """
    names = [*dict.fromkeys(names)]
    unknown = [name for name in names if name not in EXPLAINERS]
    if unknown:
        raise ValueError(f"'explain' must be of {', '.join(EXPLAINERS)} (got {unknown[0]!r})")
    known = {parameter: parameter.requires_grad for parameter in model.parameters()}
    model.requires_grad_(False)
    try:
        with torch.enable_grad(), torch.inference_mode(False):
            explained = ExplainableModel(model, data)
            return {name: EXPLAINERS[name](explained, data.edge_index, rows) for name in names}
    finally:
        for parameter, needed in known.items():
            parameter.requires_grad_(needed)


def _gradient(model: ExplainableModel, edge_index: Tensor, rows: Tensor | None) -> Tensor:
    mask = nn.Parameter(torch.ones(edge_index.size(1), device=edge_index.device))
    set_masks(model, mask, edge_index, apply_sigmoid=False)
    try:
        out = model(model.x, edge_index)
    finally:
        clear_masks(model)
    out = out if rows is None else out[rows]
    out = _log_odds(out) if _classifies(out) else out
    (gradient,) = torch.autograd.grad(out.sum(), mask)
    return gradient.abs()


def _log_odds(logits: Tensor) -> Tensor:
    """Of the best class of each row."""
    best = logits.argmax(dim=-1, keepdim=True)
    others = logits.scatter(-1, best, float("-inf"))
    return logits.gather(-1, best).squeeze(-1) - others.logsumexp(dim=-1)


def _gnn_explainer(model: ExplainableModel, edge_index: Tensor, rows: Tensor | None) -> Tensor:
    with torch.no_grad():
        out = model(model.x, edge_index)
    explainer = Explainer(
        model,
        algorithm=GNNExplainer(epochs=_EPOCHS),
        explanation_type="model",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification" if _classifies(out) else "regression",
            "task_level": "node" if len(out) == len(model.x) else "graph",
            "return_type": "raw",
        },
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found: Any = explainer(model.x, edge_index, index=rows)
    mask: Tensor = found.edge_mask
    return mask


def _classifies(out: Tensor) -> bool:
    return out.dim() == 2 and out.size(1) > 1


EXPLAINERS: dict[str, Callable[[ExplainableModel, Tensor, Tensor | None], Tensor]] = {
    "gradient": _gradient,
    "gnnexplainer": _gnn_explainer,
}
"""What can be asked for."""
