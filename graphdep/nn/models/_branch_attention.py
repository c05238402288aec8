"""What makes one state of several in a Tree-Transformer."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch_geometric.utils import cumsum

from graphdep.nn.dropout import Dropout

FORMS = ("paper", "code")


class BranchAttention(nn.Module):
    """The states of families from those of their members, see :class:`DependencyTreeTransformer`.

    Args:
        channels: Size of the states.
        branches: Branches of attention; divides :obj:`channels`.
        ff_channels: Size of all branches' feed-forward layers together.
        form: ``"paper"`` or ``"code"``.
        position_codes: Add sinusoids of the members' places.
        dropout: Dropout probability.
    """

    def __init__(
        self, channels: int, branches: int, ff_channels: int, form: str, position_codes: bool, dropout: float
    ) -> None:
        super().__init__()
        if form not in FORMS:
            raise ValueError(f"'form' must be one of {', '.join(FORMS)} (got {form!r})")
        if branches < 1 or channels % branches:
            raise ValueError(f"'heads' ({branches}) must divide 'hidden_channels' ({channels})")
        if form == "paper" and ff_channels < branches:
            raise ValueError(f"'ff_channels' must be at least 'heads' ({branches}) (got {ff_channels})")
        self.channels, self.branches = channels, branches
        self.form, self.position_codes = form, position_codes
        self.lin_in = nn.Linear(channels, 3 * channels, bias=False)
        self.dropout = Dropout(dropout)
        if form == "paper":
            size, ff = channels // branches, ff_channels // branches
            self.branch = nn.Parameter(torch.empty(branches, size, channels))
            self.norm = nn.LayerNorm(channels)
            self.kappa = nn.Parameter(torch.empty(branches))
            self.alpha = nn.Parameter(torch.empty(branches))
            self.ff_in = nn.Parameter(torch.empty(branches, channels, ff))
            self.ff_in_bias = nn.Parameter(torch.empty(branches, ff))
            self.ff_out = nn.Parameter(torch.empty(branches, ff, channels))
            self.ff_out_bias = nn.Parameter(torch.empty(branches, channels))
            self.lin_out = nn.Linear(channels, channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_normal_(self.lin_in.weight)
        if self.form == "code":
            return
        self.norm.reset_parameters()
        self.lin_out.reset_parameters()
        for tensor in (self.branch, self.ff_in, self.ff_out):
            for matrix in tensor:
                nn.init.xavier_normal_(matrix)
        for vector in (self.kappa, self.alpha, self.ff_in_bias, self.ff_out_bias):
            nn.init.zeros_(vector)

    def forward(self, x: Tensor, residual: Tensor, family: Tensor, place: Tensor, families: int) -> Tensor:
        """The state of each family.

        Args:
            x: The states of the members: ``[members, C]``.
            residual: What form ``"code"`` adds to attention: ``[members, C]``.
            family, place: The family of each member, and its place in it: ``[members]``.
            families: Their number.
        """
        if self.position_codes:
            x = x + _sinusoids(place, self.channels).to(x.dtype)
        attended = self._attend(x, family, place, families)
        if self.form == "code":
            summed = attended.flatten(1) + residual
            return torch.tanh(summed.new_zeros(families, self.channels).index_add(0, family, summed))
        parts = torch.tanh(self.lin_out(self._branches(attended, x) + x))
        return parts.new_zeros(families, self.channels).index_add(0, family, parts)

    def _attend(self, x: Tensor, family: Tensor, place: Tensor, families: int) -> Tensor:
        """Attention within families: ``[members, branches, size]``."""
        slot, shapes = _slots(family, place, families)
        sizes = [count * places for count, places in shapes]
        # Families of a group side by side, filled up with rows that nobody sees.
        blocks = x.new_zeros(sum(sizes), self.channels).index_copy(0, slot, x)
        there = torch.zeros(sum(sizes), dtype=torch.bool, device=x.device).index_fill(0, slot, True)
        attended = [
            self._attend_group(block.view(*shape, -1), filled.view(shape)).flatten(0, 1)
            for shape, block, filled in zip(shapes, blocks.split(sizes), there.split(sizes))
        ]
        return torch.cat(attended).index_select(0, slot)

    def _attend_group(self, x: Tensor, there: Tensor) -> Tensor:
        """Attention within families of similar width: ``[families, places, branches, size]``."""
        query, key, value = self.lin_in(x).unflatten(-1, (3, self.branches, -1)).unbind(dim=2)
        scores = torch.einsum("fqbd,fkbd->fbqk", query, key) / math.sqrt(query.size(-1))
        if self.form == "paper":
            weights = scores.masked_fill(~there[:, None, None, :], -math.inf).softmax(dim=-1)
        else:  # over those who attend, as the code has it, and not over what is attended to
            weights = scores.masked_fill(~there[:, None, :, None], -math.inf).softmax(dim=-2)
            weights = weights.masked_fill(~there[:, None, None, :], 0)
        return torch.einsum("fbqk,fkbd->fqbd", weights.to(value.dtype), value)

    def _branches(self, attended: Tensor, x: Tensor) -> Tensor:
        """The weighted sum of what the branches make of attention: ``[members, C]``."""
        out = torch.einsum("nbd,bdc->nbc", attended, self.branch)
        out = self.norm(self.dropout(out) + x.unsqueeze(1)) * self.kappa.softmax(0).unsqueeze(-1)
        hidden = torch.relu(torch.einsum("nbc,bcf->nbf", out, self.ff_in.to(out.dtype)) + self.ff_in_bias)
        out = torch.einsum("nbf,bfc->nbc", hidden, self.ff_out.to(hidden.dtype)) + self.ff_out_bias
        return (self.dropout(out) * self.alpha.softmax(0).unsqueeze(-1)).sum(dim=1)


def _sinusoids(place: Tensor, channels: int) -> Tensor:
    """Those of `"Attention Is All You Need" <https://arxiv.org/abs/1706.03762>`_: ``[members, channels]``."""
    pair = (torch.arange(channels, device=place.device) // 2 * 2).double()
    angle = place.double().unsqueeze(-1) / 10000 ** (pair / channels)
    return torch.where(torch.arange(channels, device=place.device) % 2 == 0, angle.sin(), angle.cos())


def _slots(family: Tensor, place: Tensor, families: int) -> tuple[Tensor, list[tuple[int, int]]]:
    """The slot of each member in blocks of families, and how many families and places each block has.

    Families whose widths have the same next power of two share a block, as wide as its widest: slots are then
    fewer than twice the members, and scores fewer than four times those within families, whatever else is in
    the batch.
    """
    width = torch.zeros(families, dtype=torch.long, device=family.device)
    width = width.index_add(0, family, torch.ones_like(family))
    group = torch.bucketize(width, 2 ** torch.arange(31, device=family.device))
    none = width.new_zeros(32)
    count = none.index_add(0, group, torch.ones_like(width))
    places = none.scatter_reduce(0, group, width, "amax")
    start = cumsum(count * places)[:-1]
    number = places_in(group, torch.arange(families, device=family.device))
    first = start[group] + number * places[group]
    shapes = torch.stack([count, places], dim=1).tolist()  # of all blocks at once: a GPU is waited for
    return first[family] + place, [(count, places) for count, places in shapes if count]


def places_in(family: Tensor, key: Tensor) -> Tensor:
    """The place of each member in its family, by the order of keys."""
    order = key.argsort()
    order = order[family[order].argsort(stable=True)]
    ranked = family[order]
    rank = torch.arange(family.numel(), device=family.device) - torch.searchsorted(ranked, ranked)
    return torch.empty_like(rank).index_copy(0, order, rank)
