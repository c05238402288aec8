"""Response selection, and which utterance was moved, put in or looked for."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphdep.data.encoded import MANIPULATIONS
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.selection_model import Loss, SelectionModel, selected_pairs

LOSSES = ("sigmoid", "softmax")


class UtteranceManipulationModel(SelectionModel):
    r"""A :class:`SelectionModel` that also learns from dialogues in which an utterance was moved, put in or
    looked for, from `"Do Response Selection Models Really Know What's Next? Utterance Manipulation Strategies
    for Multi-turn Response Selection" <https://arxiv.org/abs/2009.04703>`_ (UMS).

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{sel}} + \alpha\, \mathcal{L}_{\mathrm{ins}}
        + \beta\, \mathcal{L}_{\mathrm{del}} + \gamma\, \mathcal{L}_{\mathrm{srch}}, \quad
        \mathcal{L}_{k} = \frac{1}{|E_k|} \sum_{e \in E_k} \frac{1}{|S_e|} \sum_{s \in S_e}
        \mathrm{BCE}(\sigma(\mathbf{w}_k^{\top} \mathbf{h}_s + b_k), y_s)

    over the examples :math:`E_k` of each kind, as :mod:`graphdep.data.encoded` makes them, whose
    symbols :math:`S_e` are the places that the answer may be; one of them has :math:`y_s = 1`. With
    ``loss="softmax"`` each example has the cross entropy over its symbols, the public code's other way. The
    weights are :class:`~graphdep.tasks.SelectionTask`'s.

    The vocabulary of the encoder does not grow: [INS], [DEL] and [SRCH] are the piece of [EOU] with a vector
    of their own added to it, drawn at random. The public code adds three tokens with random vectors to the
    table instead. All that is scored later has none of them.

    Examples have the layout of SIA's paper; with ``readout="cls"`` pairs are scored by [CLS] as it is: the
    public code puts its [EOT] behind the response and behind the utterance that is asked for as well, where
    here is [SEP] alone. It trains with examples of 512 nodes, a rate of 3e-5, dropout of .2, five epochs and
    no weight decay; the preset has the settings of BERT-FP's code (256, 1e-5, .1, two, .01), as the rows that
    it is compared with.

    Args:
        encoder: As of :class:`SelectionModel`; it is given marks
            (:meth:`~graphdep.nn.models.TextEncoder.add_marks`).
        loss: ``"sigmoid"`` or ``"softmax"``. (default: ``"sigmoid"``)
        **options: As of :class:`SelectionModel`.

    Shapes:
        - data: as of :class:`SelectionModel`, with ``mark`` :math:`(|\mathcal{V}|)`; output :math:`(B)`. Of
          :meth:`training_losses` a batch that also has ``kind`` :math:`(B)`, 0 of pairs and :math:`k` of the
          :math:`k`-th manipulation, and ``mark_target`` :math:`(|\mathcal{V}|)`; output the logits of the
          pairs alone and a loss for each manipulation

    Raises:
        ValueError: As :class:`SelectionModel`, or if :obj:`loss` is unknown, or the encoder has marks or
            takes none.

    Example:
        >>> import torch
        >>> from graphdep.nn.models import UtteranceManipulationModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does ."), ("Who sings ?", "The bus is late .")])
        >>> data.mark = torch.zeros_like(data.input_ids)
        >>> UtteranceManipulationModel(encoder)(data).shape
        torch.Size([2])
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        loss: str = "sigmoid",
        mlp_layers: int = 1,
        dropout: float = 0.1,
        readout: str = "cls",
    ) -> None:
        if loss not in LOSSES:
            raise ValueError(f"'loss' must be one of {', '.join(LOSSES)} (got {loss!r})")
        super().__init__(encoder, mlp_layers=mlp_layers, dropout=dropout, readout=readout)
        # Behind all checks: a wrong option leaves the encoder as it was.
        encoder.add_marks(1 + len(MANIPULATIONS))  # type: ignore[operator]
        self.loss = loss
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        heads = {name: nn.Sequential(Dropout(dropout), nn.Linear(size, 1)) for name in MANIPULATIONS}
        self.manipulations = nn.ModuleDict(heads)
        self._reset_manipulations()

    def reset_parameters(self) -> None:
        """As of :class:`SelectionModel`, and what manipulations add."""
        super().reset_parameters()
        self._reset_manipulations()

    def _reset_manipulations(self) -> None:
        for head in self.manipulations.values():
            nn.init.normal_(head[1].weight, std=0.02)  # type: ignore[index]
            nn.init.zeros_(head[1].bias)  # type: ignore[index]

    def training_losses(self, data: Data) -> tuple[Tensor, dict[str, Loss]]:
        x = self.encoder(data)
        losses = {
            name: self._manipulated(data, x, name, mark) for mark, name in enumerate(MANIPULATIONS, start=1)
        }
        return selected_pairs(data, self.score(data, x)), losses

    def _manipulated(self, data: Data, x: Tensor, name: str, mark: int) -> Loss:
        """The mean over the examples of a kind; zero where there is none, with gradients of zero."""
        symbols = _symbols(data, mark)
        logits = self.manipulations[name](x.index_select(0, symbols)).squeeze(-1).float()
        target, example = data.mark_target[symbols], data.batch[symbols]
        if self.loss == "softmax":
            each = -target * (logits - _log_sums(logits, example, data.num_graphs)[example])
        else:
            each = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
            each = each / scatter(torch.ones_like(each), example, dim_size=data.num_graphs)[example]
        examples = int((data.kind == mark).sum())
        return each.sum() / max(1, examples), examples

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, loss={self.loss!r}"


@torch.compiler.disable  # reads values
def _symbols(data: Data, mark: int) -> Tensor:
    return (data.mark == mark).nonzero().view(-1)


def _log_sums(logits: Tensor, example: Tensor, size: int) -> Tensor:
    """The logarithm of the sum of the exponentials of each example's logits."""
    top = scatter(logits.detach(), example, dim_size=size, reduce="max")
    return top + scatter((logits - top[example]).exp(), example, dim_size=size).clamp(min=1e-30).log()
