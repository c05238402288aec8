"""Models that generate responses."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset
from torch_geometric.utils import to_dense_batch

from graphdep.decoding.decoding import DecodeConfig, Hypothesis, generate
from graphdep.io.limits import check_divides, check_least
from graphdep.nn.attention.dense import PackedLayout, packed_attention
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.embedding import NodeEmbedding, added_nodes
from graphdep.nn.models.transformer import (
    ContextEncoder,
    Memory,
    TextEncoder,
    example_bounds,
)
from graphdep.nn.passes import evaluating, hooked
from graphdep.nn.prepared import keep, kept, known
from graphdep.transforms.options import require_key
from graphdep.vocab.vocab import ROOT_ID


class ContextTransformer(ContextEncoder):
    r"""Passes the node states of a :class:`TextEncoder` to the decoder: the Transformer of `"Modeling
    Compositionality with Dependency Graph for Dialogue Generation"
    <https://aclanthology.org/2022.suki-1.2/>`_, and Transformer+DRA, LISA, GATE and Tree-Transformer, which
    differ from it only in edges and scores.

    A row of the memory is a node, including ROOT nodes; its group is its utterance. Without position
    embeddings in :obj:`encoder`, as with DRA, neither word order nor turn order is visible: turns of equal
    content give equal rows.

    Edges such as ``resolve("dam")`` add nodes of relations or phrases. "Augmenting Transformers with Enhanced
    Dependency Structures by Treating Relations as New Words" says that a decoder can be connected to its
    encoder (section 3.4), not whether it would read relations, and has no such experiment. Here it does by
    default, since relations are part of the encoder's output sequence.

    Args:
        encoder: Encodes the nodes, e.g. :class:`GraphTransformer` or :class:`ConstituentTransformer`; has an
            ``embedding``.
        cross_nodes: Pass added nodes to the decoder; otherwise only the encoder reads them. (default:
            :obj:`True`)

    Shapes:
        - data: the input of :obj:`encoder`; output: a :class:`Memory` of :math:`|\mathcal{V}|` rows, or fewer
          without ``cross_nodes``

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import ContextTransformer, LSTMEncoder
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> ContextTransformer(LSTMEncoder(num_words=11, hidden_channels=8))(data)
        Memory(x=[8, 8], ptr=[2], group=[8])
    """

    def __init__(self, encoder: TextEncoder, *, cross_nodes: bool = True) -> None:
        super().__init__()
        self.encoder, self.cross_nodes = encoder, cross_nodes
        self.hidden_channels = encoder.hidden_channels

    @property
    def embedding(self) -> NodeEmbedding:  # type: ignore[override]
        return cast(NodeEmbedding, self.encoder.embedding)

    def forward(self, data: Data) -> Memory:
        x, ptr = self.encoder(data), example_bounds(data)
        if self.cross_nodes:
            return Memory(x, ptr, data.utterance)
        rows = self.rows(data)
        return Memory(x.index_select(0, rows), self.bounds(data), data.utterance[rows])

    def rows(self, data: Data) -> Tensor:
        """The node of each row of the memory."""
        if self.cross_nodes:
            return torch.arange(data.num_nodes, device=data.node_type.device)
        return _text_nodes(data)

    def bounds(self, data: Data) -> Tensor:
        ptr = example_bounds(data)
        return ptr if self.cross_nodes else torch.searchsorted(self.rows(data), ptr)

    def extra_repr(self) -> str:
        return "" if self.cross_nodes else "cross_nodes=False"


@kept
def _text_nodes(data: Data) -> Tensor:
    """The nodes of the text, without nodes that edges added."""
    return (~added_nodes(data)).nonzero().view(-1)


class WordOutput(nn.Module):
    r"""Scores every word of the vocabulary, by default with the word vectors themselves, from `"Using the
    Output Embedding to Improve Language Models" <https://aclanthology.org/E17-2025/>`_.

    .. math::
        \mathbf{z} = \mathbf{E} (\mathbf{W}_o \mathbf{h} + \mathbf{b}) + \mathbf{c}

    If the word vectors are long, as pretrained vectors are, :math:`\mathbf{W}_o` is initialized smaller, so
    that all words are about equally likely at first.

    Args:
        embedding: Defines the sizes of the vocabulary and of the word vectors :math:`\mathbf{E}`.
        in_channels: Size of the states.
        tie: Score with the word vectors; otherwise with a separate matrix. (default: :obj:`True`)

    Shapes:
        - x: :math:`(*, C)`; embedding: the owner of the word vectors; output: :math:`(*, |\mathcal{W}|)`

    Example:
        >>> import torch
        >>> from graphdep.nn.models import NodeEmbedding, WordOutput
        >>> embedding = NodeEmbedding(50, 8)
        >>> WordOutput(embedding, in_channels=16)(torch.randn(3, 16), embedding).shape
        torch.Size([3, 50])
    """

    def __init__(self, embedding: NodeEmbedding, in_channels: int, *, tie: bool = True) -> None:
        super().__init__()
        self.tie = tie
        num_words, dim = embedding.word.weight.shape
        self.lin = nn.Linear(in_channels, dim if tie else num_words)
        self.bias = nn.Parameter(torch.zeros(num_words)) if tie else None
        # Random vectors have length 1, pretrained ones several times that.
        self._long_vectors = tie and float(embedding.word.weight.detach().norm(dim=1).mean()) > 2
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets its own parameters; the word vectors belong to the encoder."""
        self.lin.reset_parameters()
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self._long_vectors:
            # With the usual weights the first logits would spread widely, and a model of normalised states
            # would need hundreds of updates to shrink them.
            with torch.no_grad():
                self.lin.weight.mul_(self.lin.out_features**-0.5)
            nn.init.zeros_(self.lin.bias)

    def extra_repr(self) -> str:
        return f"tie={self.tie}"

    def forward(self, x: Tensor, embedding: NodeEmbedding) -> Tensor:
        x = self.lin(x)
        return nn.functional.linear(x, embedding.word.weight, self.bias) if self.tie else x


class ResponseDecoder(nn.Module, ABC):
    r"""Base class of dialogue decoders: from an encoded context to the logits of the response tokens.

    A subclass sets :attr:`hidden_channels`, equal to the encoder's, and :attr:`embedding`, which it shares
    with the encoder and does not reset. Teacher forcing (:meth:`forward`) and step-by-step decoding
    (:meth:`start`, :meth:`step`, :meth:`select`) give the same logits. The first token follows ``[ROOT]``.

    Shapes:
        - target_ids: :math:`(\sum T)`, packed; target_ptr: :math:`(B + 1)`; output:
          :math:`(\sum T, |\mathcal{W}|)`
        - tokens: :math:`(E, W)`, for :math:`W` hypotheses of each of :math:`E` examples
    """

    hidden_channels: int
    embedding: NodeEmbedding

    def forward(self, memory: Memory, target_ids: Tensor, target_ptr: Tensor) -> Tensor:
        """Logits of each target token, given the tokens before it."""
        raise NotImplementedError

    def layout(
        self, target_ids: Tensor, target_ptr: Tensor, memory_ptr: Tensor, device: torch.device | None = None
    ) -> tuple[Any, ...]:
        """Input of :meth:`forward` that depends only on the targets and the bounds of the memory, passed to
        it as fourth argument; by default nothing, and then the argument is left out.

        Args:
            target_ids, target_ptr: As in :meth:`forward`.
            memory_ptr: The bounds of the memory, ``[num_examples + 1]``.
            device: The device of use. (default: the device of the targets)
        """
        return ()

    @abstractmethod
    def start(self, memory: Memory) -> Any:
        """The initial state: one hypothesis without tokens for each example."""

    @abstractmethod
    def step(self, state: Any, tokens: Tensor) -> tuple[Tensor, Any]:
        """Logits ``[E, W, num_words]`` of the tokens after ``tokens``, and the state after ``tokens``."""

    @abstractmethod
    def select(self, state: Any, example: Tensor, beam: Tensor) -> Any:
        """The state restricted to some examples and some of their hypotheses, in any order.

        Args:
            state: A state of :meth:`start` or :meth:`step`.
            example: Examples to keep ``[E']``.
            beam: Hypotheses to keep of each example ``[E', W']``.
        """


def previous_ids(target_ids: Tensor, target_ptr: Tensor) -> Tensor:
    """The token before each target token ``[sum T]``: ``[ROOT]`` before the first token of an example. A
    negative target, which has no loss, counts as word 0.
    """
    first = target_ptr[:-1][target_ptr.diff() > 0]
    return target_ids.roll(1).index_fill(0, first, ROOT_ID).clamp(min=0)


def take_beams(x: Tensor, example: Tensor, beam: Tensor) -> Tensor:
    """Hypotheses ``[E', W', ...]`` of ``x`` ``[E, W, ...]``."""
    return x[example[:, None], beam]


class TransformerDecoder(ResponseDecoder):
    r"""Transformer decoder, from `"Attention Is All You Need" <https://arxiv.org/abs/1706.03762>`_: word and
    position embeddings, then blocks of causal self-attention, cross-attention to the context, and
    feed-forward layers.

    Training is packed throughout, including the logits: there is no padding. Decoding caches keys and values;
    those of the context are shared by all hypotheses of an example.

    Args:
        embedding: The encoder's embedding, whose word vectors are the input and score the output.
        hidden_channels: Size of the states, equal to the encoder's.
        num_layers: Number of blocks. (default: :obj:`3`)
        heads: Number of attention heads per block; divides :obj:`hidden_channels`. (default: :obj:`16`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`3072`)
        dropout: Dropout probability. (default: :obj:`0.1`)
        norm_first: Normalise before each part of a block, and at the end. (default: :obj:`False`)
        tie: Score words with their vectors, see :class:`WordOutput`. (default: :obj:`True`)
        max_positions: Number of positions; later tokens share the last one. (default: :obj:`512`)

    Shapes:
        - memory: any rows with :math:`C` channels; see :class:`ResponseDecoder`

    Raises:
        ValueError: If :obj:`num_layers` is below 1, or :obj:`heads` does not divide :obj:`hidden_channels`.

    Example:
        >>> import torch
        >>> from graphdep.nn.models import TransformerDecoder, Memory, NodeEmbedding
        >>> memory = Memory(torch.randn(3, 8), ptr=torch.tensor([0, 2, 3]))
        >>> decoder = TransformerDecoder(NodeEmbedding(50, 8), 8, heads=2, ff_channels=8)
        >>> target_ids, target_ptr = torch.tensor([7, 9, 4, 6, 4]), torch.tensor([0, 3, 5])
        >>> decoder(memory, target_ids, target_ptr).shape
        torch.Size([5, 50])
    """

    def __init__(
        self,
        embedding: NodeEmbedding,
        hidden_channels: int,
        *,
        num_layers: int = 3,
        heads: int = 16,
        ff_channels: int = 3072,
        dropout: float = 0.1,
        norm_first: bool = False,
        tie: bool = True,
        max_positions: int = 512,
    ) -> None:
        super().__init__()
        check_least("num_layers", num_layers, 1)
        check_divides("heads", heads, "hidden_channels", hidden_channels)
        self.embedding, self.hidden_channels = embedding, hidden_channels
        self.position = nn.Embedding(max_positions, hidden_channels)
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            _Block(hidden_channels, heads, ff_channels, dropout, norm_first) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(hidden_channels) if norm_first else nn.Identity()
        self.output = WordOutput(embedding, hidden_channels, tie=tie)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets its own parameters; the word vectors belong to the encoder."""
        nn.init.normal_(self.position.weight, std=self.position.embedding_dim**-0.5)
        for module in (self.layers, self.norm, self.output):
            reset(module)

    def layout(
        self, target_ids: Tensor, target_ptr: Tensor, memory_ptr: Tensor, device: torch.device | None = None
    ) -> tuple[Tensor, Tensor, PackedLayout, PackedLayout]:
        """The token before each target token, its position, and the blocks of both attentions."""
        place = torch.arange(target_ids.numel(), device=target_ids.device)
        place = place - target_ptr[:-1].repeat_interleave(target_ptr.diff(), output_size=place.numel())
        own, cross = (PackedLayout(target_ptr, ptr, device) for ptr in (target_ptr, memory_ptr))
        return previous_ids(target_ids, target_ptr), place, own, cross

    def forward(
        self, memory: Memory, target_ids: Tensor, target_ptr: Tensor, layout: tuple[Any, ...] = ()
    ) -> Tensor:
        before, place, own, cross = layout or self.layout(target_ids, target_ptr, memory.ptr)
        x = self._embed(before, place)
        for layer in self.layers:
            x = layer(x, memory.x, own, cross)
        return self.output(self.norm(x), self.embedding)

    @torch.no_grad()
    def attention(self, memory: Memory, target_ids: Tensor) -> list[Tensor]:
        r"""The cross-attention weights of each response token over the rows of one context, layer by layer.

        .. math::
            \alpha^h_{ij} = \mathrm{softmax}_j \left( q^h_i \cdot k^h_j / \sqrt{d} \right)

        Args:
            memory: The context of one example.
            target_ids: The tokens of the response.

        Shapes:
            - target_ids: :math:`(T)`; output: :math:`(H, T, \text{rows})` per layer

        Raises:
            ValueError: If :obj:`memory` has several examples.
        """
        if memory.num_examples != 1:
            raise ValueError(f"'memory' must have one example (got {memory.num_examples})")
        found: list[Tensor] = []

        def keep(module: Any, given: tuple[Tensor, ...]) -> None:
            query, (key, _) = module.query(given[0]), module.project(given[1])
            scores = torch.einsum("thd,rhd->htr", query, key) / query.size(-1) ** 0.5
            found.append(scores.softmax(dim=-1))

        crosses = [layer.cross for layer in self.layers]
        handles = [cross.register_forward_pre_hook(keep) for cross in crosses]  # type: ignore[union-attr]
        with hooked(handles):
            self(memory, target_ids, target_ids.new_tensor([0, target_ids.numel()]))
        return found

    def start(self, memory: Memory) -> _State:
        size = memory.num_examples
        sizes = memory.ptr.diff()
        example = torch.arange(size, device=sizes.device).repeat_interleave(sizes)
        longest = max(int(sizes.max()), 1)

        def padded(x: Tensor) -> Tensor:
            x, _ = to_dense_batch(x, example, batch_size=size, max_num_nodes=longest)
            return x.transpose(1, 2)

        projected = [layer.cross.project(memory.x) for layer in self.layers]  # type: ignore[operator,union-attr]
        context = [(padded(key), padded(value)) for key, value in projected]
        # An example without rows attends to one row of padding with a value of zero.
        real = torch.arange(longest, device=sizes.device) < sizes.clamp(min=1)[:, None]
        return _State(context, real[:, None, None], [])

    def step(self, state: _State, tokens: Tensor) -> tuple[Tensor, _State]:
        length = state.past[0][0].size(-2) if state.past else 0
        x = self._embed(tokens, torch.full_like(tokens, length))
        past = []
        for number, layer in enumerate(self.layers):
            before = state.past[number] if state.past else None
            x, now = layer.step(x, before, state.context[number], state.real)  # type: ignore[operator]
            past.append(now)
        return self.output(self.norm(x), self.embedding), _State(state.context, state.real, past)

    def select(self, state: _State, example: Tensor, beam: Tensor) -> _State:
        context, real = state.context, state.real
        if not torch.equal(example, torch.arange(real.size(0), device=example.device)):
            real = real[example]
            longest = int(real.sum(dim=-1).max())
            real = real[..., :longest]
            context = [(key[example, :, :longest], value[example, :, :longest]) for key, value in context]
        past = [
            (take_beams(key, example, beam), take_beams(value, example, beam)) for key, value in state.past
        ]
        return _State(context, real, past)

    def _embed(self, ids: Tensor, place: Tensor) -> Tensor:
        place = place.clamp(max=self.position.num_embeddings - 1)
        return self.dropout(self.embedding.words(ids) + self.position(place))


@dataclass(frozen=True)
class _State:
    """Keys and values of each layer, for the context ``[E, heads, rows, d]`` and for the tokens so far ``[E,
    W, heads, length, d]``, and the mask of real rows ``[E, 1, 1, rows]``.
    """

    context: list[tuple[Tensor, Tensor]]
    real: Tensor
    past: list[tuple[Tensor, Tensor]]


class _Attention(nn.Module):
    """The projections of multi-head attention."""

    def __init__(self, channels: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.lin_query, self.lin_key, self.lin_value, self.lin_out = (
            nn.Linear(channels, channels) for _ in range(4)
        )

    def reset_parameters(self) -> None:
        self.lin_out.reset_parameters()
        for lin in (self.lin_query, self.lin_key, self.lin_value):
            nn.init.xavier_uniform_(lin.weight)
            nn.init.zeros_(lin.bias)

    def query(self, x: Tensor) -> Tensor:
        return self.lin_query(x).unflatten(-1, (self.heads, -1))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values ``[..., heads, d]``."""
        key, value = self.lin_key(x), self.lin_value(x)
        return key.unflatten(-1, (self.heads, -1)), value.unflatten(-1, (self.heads, -1))

    def forward(self, x: Tensor, rows: Tensor, layout: PackedLayout, *, causal: bool) -> Tensor:
        dropout_p = self.dropout if self.training else 0.0
        out = packed_attention(self.query(x), *self.project(rows), layout, causal=causal, dropout_p=dropout_p)
        return self.lin_out(out.flatten(1))


class _Block(nn.Module):
    """Self-attention, cross-attention, feed-forward; each with a residual connection and a norm."""

    def __init__(self, channels: int, heads: int, ff_channels: int, dropout: float, norm_first: bool) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.own, self.cross = (_Attention(channels, heads, dropout) for _ in range(2))
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, ff_channels), nn.ReLU(), Dropout(dropout), nn.Linear(ff_channels, channels)
        )
        self.norm_own, self.norm_cross, self.norm_feed_forward = (nn.LayerNorm(channels) for _ in range(3))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, rows: Tensor, own: PackedLayout, cross: PackedLayout) -> Tensor:
        x = self._add(x, self.norm_own, lambda x: self.own(x, x, own, causal=True))
        x = self._add(x, self.norm_cross, lambda x: self.cross(x, rows, cross, causal=False))
        return self._add(x, self.norm_feed_forward, self.feed_forward)

    def step(
        self, x: Tensor, past: tuple[Tensor, Tensor] | None, context: tuple[Tensor, Tensor], real: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One token of each hypothesis, ``x`` ``[E, W, C]``; also returns the extended keys and values."""
        now: list[tuple[Tensor, Tensor]] = []

        def attend_own(x: Tensor) -> Tensor:
            key, value = (y.unsqueeze(-2) for y in self.own.project(x))  # [E, W, heads, 1, d]
            if past is not None:
                key, value = torch.cat([past[0], key], dim=-2), torch.cat([past[1], value], dim=-2)
            now.append((key, value))
            query = self.own.query(x).unsqueeze(-2)
            query, keys, values = (y.flatten(0, 1) for y in (query, key, value))
            out = F.scaled_dot_product_attention(query, keys, values)
            return self.own.lin_out(out.reshape(x.shape))

        def attend_context(x: Tensor) -> Tensor:
            query = self.cross.query(x).transpose(1, 2)  # [E, heads, W, d]: all W share keys and values
            out = F.scaled_dot_product_attention(query, *context, attn_mask=real)
            return self.cross.lin_out(out.transpose(1, 2).flatten(2))

        x = self._add(x, self.norm_own, attend_own)
        x = self._add(x, self.norm_cross, attend_context)
        return self._add(x, self.norm_feed_forward, self.feed_forward), now[0]

    def _add(self, x: Tensor, norm: nn.LayerNorm, part: Callable[[Tensor], Tensor]) -> Tensor:
        if self.norm_first:
            return x + self.dropout(part(norm(x)))
        return norm(x + self.dropout(part(x)))


class DialogueModel(nn.Module):
    r"""Encodes a context and decodes its response.

    Args:
        encoder: Encodes the context into a :class:`Memory`.
        decoder: Made with ``encoder.embedding``, since it shares the encoder's word vectors.

    Shapes:
        - data: a batch of contexts with the node table and ``target_ids``, made with
          ``DataLoader(..., follow_batch=["target_ids"])``; output: logits :math:`(\sum T, |\mathcal{W}|)`

    Raises:
        ValueError: If :obj:`decoder` has another embedding or size than :obj:`encoder`, the data has no
            ``target_ids``, or a batch was made without ``follow_batch``.

    Example:
        >>> import torch
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DialogueModel, HREDDecoder, HREDEncoder
        >>> encoder = HREDEncoder(num_words=7, hidden_channels=8)
        >>> data = to_data([Sentence.chain(["Who", "?"])], vocab=Vocab(["She", "sings"]))
        >>> data.target_ids = torch.tensor([5, 6, 4])  # She sings [EOU]
        >>> DialogueModel(encoder, HREDDecoder(encoder.embedding, 8))(data).shape
        torch.Size([3, 7])
    """

    def __init__(self, encoder: ContextEncoder, decoder: ResponseDecoder) -> None:
        super().__init__()
        if decoder.embedding is not encoder.embedding:
            raise ValueError(
                "'decoder' must share the embedding of 'encoder': make it with encoder.embedding"
            )
        self.encoder, self.decoder = encoder, decoder

    def reset_parameters(self) -> None:
        self.encoder.reset_parameters()
        self.decoder.reset_parameters()  # type: ignore[operator]

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        memory_ptr = self.encoder.bounds(data)
        if "target_ids" in data and memory_ptr is not None:  # else a context without a response
            keep(
                data,
                "targets",
                self.decoder.layout(data.target_ids, target_bounds(data), memory_ptr, device),
            )

    def forward(self, data: Data) -> Tensor:
        target_bounds(data)  # fails early for contexts without responses
        return self._decode(data, self.encoder(data))

    def _decode(self, data: Data, memory: Memory) -> Tensor:
        layout = known(data, "targets")
        given = () if layout is None else (layout,)
        return self.decoder(memory, data.target_ids, target_bounds(data), *given)

    def token_losses(self, data: Data) -> Tensor:
        r"""Negative log-likelihood of each target token :math:`(\sum T)`, including ``[EOU]``."""
        return F.cross_entropy(_at_least_float32(self(data)), data.target_ids, reduction="none")

    def losses(self, data: Data) -> dict[str, Tensor]:
        """Losses whose sum is minimised: ``"response"``, the mean negative log-likelihood of the target
        tokens of the batch, and in training the encoder's own objectives.
        """
        target_bounds(data)
        memory: Memory = self.encoder(data)
        logits = self._decode(data, memory)
        losses = {"response": F.cross_entropy(_at_least_float32(logits), data.target_ids)}
        return losses | self.encoder.auxiliary(data, memory) if self.training else losses

    def generate(
        self, data: Data, config: DecodeConfig, *, generator: torch.Generator | None = None
    ) -> list[list[Hypothesis]]:
        """Responses to all contexts, without dropout; see :func:`graphdep.decoding.decoding`.

        Samples depend on the seed and the words of the context, not on the rest of the batch. Afterwards
        every module is back in its mode, training or evaluation.
        """
        ids, words, bounds = data.input_ids.cpu(), ~added_nodes(data).cpu(), example_bounds(data).tolist()
        keys = [zlib.crc32(ids[a:b][words[a:b]].numpy().tobytes()) for a, b in pairwise(bounds)]
        with torch.no_grad(), evaluating(self):
            return generate(self.decoder, self.encoder(data), config, keys=keys, generator=generator)


def target_bounds(data: Data) -> Tensor:
    """Boundaries of the target tokens of the examples ``[num_examples + 1]``."""
    require_key(data, "target_ids", "it is a context without its response")
    ptr = data.get("target_ids_ptr")
    if ptr is not None:
        return ptr
    if example_bounds(data).numel() != 2:
        raise ValueError(
            "the batch has no 'target_ids_ptr': make it with DataLoader(..., follow_batch=['target_ids'])"
        )
    return torch.tensor([0, data.target_ids.numel()], device=data.target_ids.device)


def _at_least_float32(logits: Tensor) -> Tensor:
    """At least float32: sums over a vocabulary are too inaccurate in bfloat16."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
