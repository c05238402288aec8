"""A score for whole sequences of labels: the best one, and the likelihood of a given one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphdep.transforms.presets import count


class LinearChainCRF(nn.Module):
    r"""Linear-chain conditional random field over the labels of sequences, from `"Conditional Random
    Fields: Probabilistic Models for Segmenting and Labeling Sequence Data"
    <https://repository.upenn.edu/handle/20.500.14332/6188>`_, on logits as in
    `"Natural Language Processing (Almost) from Scratch" <https://arxiv.org/abs/1103.0398>`_ (Eq. 12-14).

    .. math::
        s(\mathbf{x}, \mathbf{y}) = a_{y_1} + \sum_t f_{t, y_t} + \sum_{t > 1} \mathbf{A}_{y_{t-1}, y_t},
        \quad \log p(\mathbf{y} \mid \mathbf{x}) = s(\mathbf{x}, \mathbf{y}) -
        \log \sum_{\mathbf{y}'} \exp s(\mathbf{x}, \mathbf{y}')

    :math:`f` are logits, :math:`\mathbf{A}` scores of one label after another, :math:`\mathbf{a}` of the
    first one. Without :obj:`learned` both are 0 where they are allowed: then :meth:`decode` is Viterbi's
    search for the best allowed sequence, and there is nothing to train.

    Args:
        allowed: Which label may follow which, ``[C, C]``, bool. (default: each one)
        allowed_first: Which labels may come first, ``[C]``, bool. (default: each one)
        num_labels: Their number, where nothing else says it. (default: :obj:`None`)
        learned: Learn the scores, from 0. (default: :obj:`True`)

    Shapes:
        - logits: :math:`(N, C)`, those of all sequences one after the other; lengths: :math:`(B)`, long, all
          above 0, with sum :math:`N`; labels, and the output of :meth:`decode`: :math:`(N)`, long

    Scores are summed in float32, or in float64 where the logits are.

    Raises:
        ValueError: If nothing says the number of labels, or two things say different ones; no label may come
            first, or some label may be followed by none; or logits, lengths and labels do not fit each other.

    Example:
        >>> import torch
        >>> from graphdep.nn.models import LinearChainCRF
        >>> crf = LinearChainCRF(num_labels=3)
        >>> crf.decode(torch.eye(3), torch.tensor([2, 1]))
        tensor([0, 1, 2])
    """

    allowed: Tensor
    allowed_first: Tensor

    def __init__(
        self,
        allowed: Tensor | None = None,
        allowed_first: Tensor | None = None,
        *,
        num_labels: int | None = None,
        learned: bool = True,
    ) -> None:
        super().__init__()
        given = {len(table) for table in (allowed, allowed_first) if table is not None}
        sizes = given | ({count("num_labels", num_labels, 1)} if num_labels is not None else set())
        if len(sizes) != 1:
            found = " and ".join(map(str, sorted(sizes))) or "none"
            raise ValueError(
                f"one number of labels must be given, by tables or by 'num_labels' (got {found})"
            )
        size = sizes.pop()
        allowed = torch.ones(size, size, dtype=torch.bool) if allowed is None else allowed.bool()
        first = torch.ones(size, dtype=torch.bool) if allowed_first is None else allowed_first.bool()
        if allowed.shape != (size, size) or first.shape != (size,):
            shapes = f"{[*allowed.shape]} and {[*first.shape]}"
            raise ValueError(f"the tables must be of shapes [C, C] and [C] (got {shapes})")
        if not (first.any() and allowed.any(dim=1).all()):
            raise ValueError("some label must be allowed first, and after each label")
        # They follow from the labels, which a checkpoint has.
        self.register_buffer("allowed", allowed, persistent=False)
        self.register_buffer("allowed_first", first, persistent=False)
        self.learned = learned
        if learned:
            self.transition = nn.Parameter(torch.empty(size, size))
            self.first = nn.Parameter(torch.empty(size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.learned:
            nn.init.zeros_(self.transition)
            nn.init.zeros_(self.first)

    def extra_repr(self) -> str:
        return f"{len(self.allowed_first)}, learned={self.learned}"

    def forward(self, logits: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
        """Minus the log-likelihood of each sequence of labels, ``[B]``; where it is not allowed infinite, and
        without a gradient.
        """
        self._check(logits, labels)
        start, transition = self._scores(logits)
        emissions, inside = _padded(logits, lengths)
        label, _ = _padded(labels, lengths)
        score = start[label[:, 0]] + emissions[:, 0].gather(1, label[:, :1]).squeeze(1)
        fits = self.allowed_first[label[:, 0]]
        alpha = start + emissions[:, 0]
        for step in range(1, emissions.size(1)):
            on = inside[:, step]
            before, now = label[:, step - 1], label[:, step]
            gain = transition[before, now] + emissions[:, step].gather(1, now.unsqueeze(1)).squeeze(1)
            score = torch.where(on, score + gain, score)
            fits = fits & (self.allowed[before, now] | ~on)
            following = (alpha.unsqueeze(2) + transition).logsumexp(dim=1) + emissions[:, step]
            alpha = torch.where(on.unsqueeze(1), following, alpha)
        # Not allowed scores are finite, or labels that nothing leads to would have gradients of NaN.
        return torch.where(fits, alpha.logsumexp(dim=1) - score, torch.inf)

    @torch.no_grad()
    def decode(self, logits: Tensor, lengths: Tensor) -> Tensor:
        """The best allowed labels of each sequence, by Viterbi's algorithm; of equally good ones, those whose
        last labels have the lowest numbers.
        """
        self._check(logits)
        start, transition = self._scores(logits)
        emissions, inside = _padded(logits, lengths)
        alpha, back = start + emissions[:, 0], []
        for step in range(1, emissions.size(1)):
            best, source = (alpha.unsqueeze(2) + transition).max(dim=1)
            on = inside[:, step : step + 1]
            alpha = torch.where(on, best + emissions[:, step], alpha)
            own = torch.arange(alpha.size(1), device=alpha.device).expand_as(source)
            back.append(torch.where(on, source, own))
        path = [alpha.argmax(dim=1)]
        for source in reversed(back):
            path.append(source.gather(1, path[-1].unsqueeze(1)).squeeze(1))
        return torch.stack(path[::-1], dim=1)[inside]

    def _check(self, logits: Tensor, labels: Tensor | None = None) -> None:
        size = len(self.allowed_first)
        if logits.dim() != 2 or logits.size(1) != size:
            raise ValueError(f"'logits' must be of shape [N, {size}] (got {[*logits.shape]})")
        if labels is None:
            return
        if labels.shape != logits.shape[:1]:
            raise ValueError(f"'labels' must be of shape [{len(logits)}] (got {[*labels.shape]})")
        # Off the CPU a look would stall the device.
        if labels.device.type == "cpu" and bool(((labels < 0) | (labels >= size)).any()):
            raise ValueError(f"'labels' must be from 0 to {size - 1} (got {labels.tolist()})")

    def _scores(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of first labels ``[C]`` and of pairs ``[C, C]``, the lowest where not allowed."""
        low = logits.new_full((), -1e9, dtype=_accurate(logits))
        first = self.first.to(low.dtype) if self.learned else torch.zeros_like(low)
        transition = self.transition.to(low.dtype) if self.learned else torch.zeros_like(low)
        return torch.where(self.allowed_first, first, low), torch.where(self.allowed, transition, low)


def _accurate(logits: Tensor) -> torch.dtype:
    return torch.promote_types(logits.dtype, torch.float32)


def _padded(rows: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Sequences as rows of one table ``[B, T, ...]``, and which places are inside: ``[B, T]``."""
    if (lengths < 1).any() or int(lengths.sum()) != rows.size(0):
        raise ValueError(f"'lengths' must be above 0 with sum {rows.size(0)} (got {lengths.tolist()})")
    longest = int(lengths.max()) if lengths.numel() else 1
    inside = torch.arange(longest, device=rows.device) < lengths.to(rows.device).unsqueeze(1)
    table = rows.new_zeros(*inside.shape, *rows.shape[1:])
    table[inside] = rows
    return (table.to(_accurate(table)) if table.is_floating_point() else table), inside
