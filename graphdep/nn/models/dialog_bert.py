"""A hierarchical encoder that learns to recover and to order utterances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphdep.nn.models._turn_transformer import TurnTransformer
from graphdep.nn.models._utterances import utterance_bounds, with_positions_in_utterance
from graphdep.nn.models.context_encoder import ContextEncoder
from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.transforms.presets import count

OBJECTIVES = ("mur", "duor")


@dataclass(frozen=True, repr=False)
class _UtteranceMemory(Memory):
    """Also the vectors of the utterances that the context encoder read."""

    utterances: Tensor = field(kw_only=True)


class DialogBERT(ContextEncoder):
    r"""Words within utterances, then utterances within the context, from `"DialogBERT: Discourse-Aware
    Response Generation via Learning to Recover and Rank Utterances" <https://arxiv.org/abs/2012.01775>`_.

    The utterance encoder :math:`f` gives every utterance the state of its ROOT node, the context encoder
    :math:`g`, Transformer blocks with turn embeddings, lets the utterances of an example see one another. A
    row of the memory is an utterance:

    .. math::
        \mathbf{u}_i = f(X_i), \quad (\mathbf{h}_1, \ldots, \mathbf{h}_T) = g(\mathbf{u}_1, \ldots,
        \mathbf{u}_T)

    Next utterance generation (NUG) is the loss of the response. In training :meth:`auxiliary` adds two more:

    **Masked utterance regression** (MUR): in every context of at least :obj:`min_utterances` one utterance
    :math:`m` is drawn. Its vector is replaced by a learned one (80%), by that of another utterance of the
    batch (10%), or kept (10%); from the state at its place the vector is to be recovered:

    .. math::
        \mathcal{L}_{\mathrm{mur}} = \frac{1}{C} \| \mathbf{W} \tilde{\mathbf{h}}_m + \mathbf{b} -
        \mathbf{u}_m \|^2

    **Distributed utterance order ranking** (DUOR): utterances are shuffled, turn embeddings are those of the
    new order, and from the states :math:`\mathbf{h}` the true order :math:`o_j \in \{0, \ldots, T - 1\}` is
    to be told:

    .. math::
        s_j = \frac{1}{T} \sum_{k=1}^{T} \mathbf{h}_j^{\top} \mathbf{W} \mathbf{h}_k, \quad
        \mathcal{L}_{\mathrm{duor}} = \mathrm{KL} \left( \mathrm{softmax}_j \left( 1 - \frac{o_j}{T - 1}
        \right) \,\Big\|\, \mathrm{softmax}_j (s_j) \right)

    Losses are means over the contexts that they act on, 0 where there are none, and are added up.

    Where the authors' code has faults, this is what was meant: the target of MUR is the vector of the whole
    utterance (theirs sees only as many of its first pieces as the masked stand-in has, three); the response
    loss is of unshuffled contexts and so of every example (theirs leaves out the 40% that it shuffles); and
    a batch without any context to act on gives 0 and no NaN. What is ours: every context of two utterances or
    more is shuffled, in a pass of its own; one utterance is masked whatever the length of the context, while
    theirs masks with a rate that grows with it; the vector is recovered by a linear layer. They have special
    utterances around the context, and rank them, too; here are none. Their ranking score is
    :math:`(\mathbf{W} \mathbf{h}_j)^{\top} \mathbf{W} \mathbf{h}_k`.

    Args:
        encoder: The utterance encoder, e.g. :class:`GraphTransformer` on the edges of
            ``resolve("transformer-utterance")``, or of ``resolve("dra")`` for DialogBERT+DRA; it has an
            ``embedding`` and is given positions that count from the ROOT node of an utterance.
        num_layers: Blocks of the context encoder. (default: :obj:`3`)
        heads: Its attention heads. (default: :obj:`16`)
        ff_channels: Size of its feed-forward layers. (default: :obj:`3072`)
        dropout: Its dropout probability. (default: :obj:`0.1`)
        turn_embedding: Tell the order of the utterances. It stays with DRA, where only :obj:`encoder` is
            without positions: the order of turns is known, that of words is not. (default: :obj:`True`)
        max_turns: Turns told apart. (default: :obj:`64`)
        objectives: Of ``"mur"`` and ``"duor"`` those to train with. (default: both)
        min_utterances: Utterances of a context in which one is masked. (default: :obj:`3`)
        detach_target: Let no gradient into the vector to recover. (default: :obj:`True`)

    Shapes:
        - data: what :obj:`encoder` takes, with ROOT nodes; output: a :class:`Memory` of one row an utterance

    Raises:
        ValueError: If :obj:`objectives` is one string or has an unknown name, a number is below 1 or not
            whole, or :obj:`heads` does not divide the size of the states.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DialogBERT, LSTMEncoder
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> DialogBERT(LSTMEncoder(num_words=11, hidden_channels=8), heads=2, ff_channels=8)(data).x.shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        encoder: TextEncoder,
        *,
        num_layers: int = 3,
        heads: int = 16,
        ff_channels: int = 3072,
        dropout: float = 0.1,
        turn_embedding: bool = True,
        max_turns: int = 64,
        objectives: Iterable[str] = OBJECTIVES,
        min_utterances: int = 3,
        detach_target: bool = True,
    ) -> None:
        super().__init__()
        if isinstance(objectives, str):  # whose letters would be taken one by one
            raise ValueError(
                f"'objectives' must be several names, e.g. ['mur'], not one (got {objectives!r})"
            )
        self.objectives = tuple(objectives)
        for objective in self.objectives:
            if objective not in OBJECTIVES:
                raise ValueError(f"'objectives' must be of {', '.join(OBJECTIVES)} (got {objective!r})")
        sizes = {"num_layers": num_layers, "ff_channels": ff_channels, "max_turns": max_turns}
        for name, number in sizes.items():
            count(name, number, 1)
        self.min_utterances, self.detach_target = count("min_utterances", min_utterances, 1), detach_target
        self.encoder = encoder
        size = self.hidden_channels = encoder.hidden_channels
        self.context = TurnTransformer(
            size,
            num_layers=num_layers,
            heads=heads,
            ff_channels=ff_channels,
            dropout=dropout,
            max_turns=max_turns if turn_embedding else 0,
        )
        self.mask = nn.Parameter(torch.empty(size)) if "mur" in self.objectives else None
        self.lin_mur = nn.Linear(size, size) if "mur" in self.objectives else None
        self.lin_duor = nn.Linear(size, size, bias=False) if "duor" in self.objectives else None
        self._reset_mask()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._reset_mask()

    @property
    def embedding(self) -> NodeEmbedding:  # type: ignore[override]
        return cast(NodeEmbedding, self.encoder.embedding)

    def forward(self, data: Data) -> Memory:
        data = with_positions_in_utterance(data)
        utterances = self.encoder.readout(data, self.encoder(data))
        ptr = utterance_bounds(data)
        return _UtteranceMemory(self.context(utterances, ptr), ptr, utterances=utterances)

    def auxiliary(self, data: Data, memory: Memory) -> dict[str, Tensor]:
        """``{"mur": ..., "duor": ...}`` in training, those of :obj:`objectives`; nothing in evaluation.

        Raises:
            ValueError: If :obj:`memory` is not what :meth:`forward` gave.
        """
        if not self.training:
            return {}
        if not isinstance(memory, _UtteranceMemory):
            raise ValueError(f"'memory' must be what DialogBERT gave (got {type(memory).__name__})")
        losses = {"mur": self._mur, "duor": self._duor}
        return {name: losses[name](memory.utterances, memory.ptr) for name in self.objectives}

    def _mur(self, x: Tensor, ptr: Tensor) -> Tensor:
        assert self.mask is not None
        assert self.lin_mur is not None
        size = ptr.diff()
        chosen = ptr[:-1] + (torch.rand(size.numel(), device=x.device) * size).long()
        chosen = chosen[size >= self.min_utterances]
        other = (chosen + torch.randint(1, max(x.size(0), 2), chosen.shape, device=x.device)) % x.size(0)
        fate = torch.rand(chosen.numel(), 1, device=x.device)
        stand_in = torch.where(fate < 0.9, x[other], x[chosen])
        stand_in = torch.where(fate < 0.8, self.mask.to(x.dtype), stand_in)
        recovered = self.lin_mur(self.context(x.index_copy(0, chosen, stand_in), ptr)[chosen])
        target = x[chosen].detach() if self.detach_target else x[chosen]
        return (recovered - target).square().sum() / max(target.numel(), 1)

    def _duor(self, x: Tensor, ptr: Tensor) -> Tensor:
        assert self.lin_duor is not None
        size = ptr.diff()
        example = torch.arange(size.numel(), device=x.device).repeat_interleave(size)
        # Whole numbers keep examples apart, what follows the point shuffles each.
        order = (example + torch.rand(x.size(0), dtype=torch.float64, device=x.device)).argsort()
        h = self.context(x[order], ptr)
        mean = scatter(h, example, dim_size=size.numel(), reduce="mean")
        score = _log_softmax((self.lin_duor(h) * mean[example]).sum(dim=-1), example, size.numel())
        turn = order - ptr[example]
        target = _log_softmax(1 - turn / (size - 1).clamp(min=1)[example], example, size.numel())
        divergence = (target.exp() * (target - score)).sum()
        return divergence / (size > 1).sum().clamp(min=1)

    def extra_repr(self) -> str:
        return (
            f"objectives={self.objectives}, min_utterances={self.min_utterances}, "
            f"detach_target={self.detach_target}"
        )

    def _reset_mask(self) -> None:
        if self.mask is not None:
            nn.init.normal_(self.mask, std=self.hidden_channels**-0.5)


def _log_softmax(score: Tensor, example: Tensor, num_examples: int) -> Tensor:
    """Over the utterances of each example, in single precision at least."""
    score = score.to(torch.promote_types(score.dtype, torch.float32))
    score = score - scatter(score.detach(), example, dim_size=num_examples, reduce="max")[example]
    return score - scatter(score.exp(), example, dim_size=num_examples, reduce="sum").log()[example]
