"""Transformers over the edges of a batch, and the base class of text encoders."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn.inits import reset
from torch_geometric.utils import cumsum, scatter

from graphdep.data.node_table import NodeType
from graphdep.io.limits import check_count, check_divides
from graphdep.io.progress import with_progress
from graphdep.nn.attention.layout import AttentionLayout, refuse_clique
from graphdep.nn.attention.relations import reset_relation
from graphdep.nn.conv.attention_conv import AttentionConv
from graphdep.nn.conv.constituent_conv import ConstituentConv, Padding
from graphdep.nn.conv.gated_relation_conv import GatedRelationConv
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.embedding import (
    NodeEmbedding,
    Pieces,
    first_of_texts,
    text_of,
    texts_of,
    word_embedding,
)
from graphdep.nn.passes import evaluating
from graphdep.nn.prepared import ALONE, is_prepared, keep, kept, known, no_states
from graphdep.transforms.edge_set import TYPES
from graphdep.transforms.presets import resolve


@dataclass(frozen=True, repr=False)
class Memory:
    """Encoded contexts, packed: the rows of all examples are concatenated without padding.

    Depending on the encoder, a row is a node, a word, an utterance or a whole context.

    Args:
        x: States ``[num_rows, channels]``.
        ptr: Boundaries of the examples: ``[num_examples + 1]``.
        group: Utterance of each row, numbered within its example, ascending, ``[num_rows]``; :obj:`None` if a
            row is larger than a word or node. (default: :obj:`None`)

    Example:
        >>> import torch
        >>> from graphdep.nn.models import Memory
        >>> memory = Memory(torch.randn(5, 8), ptr=torch.tensor([0, 2, 5]))
        >>> memory, memory.num_examples
        (Memory(x=[5, 8], ptr=[3], group=None), 2)
    """

    x: Tensor
    ptr: Tensor
    group: Tensor | None = None

    @property
    def num_examples(self) -> int:
        return self.ptr.numel() - 1

    def __repr__(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        shapes = (f"{name}={None if x is None else [*x.shape]}" for name, x in values.items())
        return f"{type(self).__name__}({', '.join(shapes)})"


class ContextEncoder(nn.Module, ABC):
    r"""Base class of dialogue encoders: from a batch of contexts to the memory of a decoder.

    A subclass sets :attr:`hidden_channels` and :attr:`embedding`, whose word vectors the decoder shares, and
    defines :meth:`forward`. It also defines :meth:`auxiliary` if it has further training objectives.

    Shapes:
        - data: a batch of contexts with the node table, ROOT nodes included; output: a :class:`Memory` with
          :math:`C` channels
    """

    hidden_channels: int
    embedding: NodeEmbedding

    def reset_parameters(self) -> None:
        for module in self.children():
            reset(module)

    @abstractmethod
    def forward(self, data: Data) -> Memory:
        """The memory of a batch, for the decoder."""

    def bounds(self, data: Data) -> Tensor | None:
        """The ``ptr`` of the :class:`Memory` of a batch; :obj:`None`, the default, if it needs a
        :meth:`forward`.
        """
        return None

    def auxiliary(self, data: Data, memory: Memory) -> dict[str, Tensor]:
        """Losses by name that are added to the response loss in training; none by default.

        Args:
            data: The batch from which :obj:`memory` was made.
            memory: The output of :meth:`forward`.
        """
        return {}


def example_bounds(data: Data) -> Tensor:
    """Boundaries of the examples among the nodes: ``ptr`` of a batch, two numbers for a single example."""
    ptr, batch = data.get("ptr"), data.get("batch")
    if ptr is not None:
        return ptr
    return (
        torch.tensor([0, data.num_nodes], device=data.node_type.device)
        if batch is None
        else cumsum(batch.bincount())
    )


@kept
def root_nodes(data: Data) -> Tensor:
    """The ROOT node of each utterance."""
    root = (data.node_type == NodeType.ROOT).nonzero().view(-1)
    if root.numel() == 0:
        raise ValueError("the data has no ROOT nodes: call to_data(..., root=True)")
    return root


@kept
def utterance_of(data: Data) -> Tensor:
    """The utterance of each node, numbered across the batch: ``[num_nodes]``."""
    batch = example_of(data)
    key = batch * (data.utterance.max() + 1) + data.utterance
    keys, utterance = key.unique(return_inverse=True)
    if not torch.equal(keys, key[root_nodes(data)]):
        example = int(batch[~torch.isin(key, key[root_nodes(data)])].min())
        raise ValueError(f"an utterance of example {example} has no ROOT node: call to_data(..., root=True)")
    return utterance


@kept
def words_of(data: Data) -> Tensor:
    """The nodes of words, without the empty nodes of enhanced graphs, which are not words of the text."""
    words, place = data.node_type == NodeType.WORD, data.get("word")
    return (words if place is None else words & (place >= 0)).nonzero().view(-1)


def word_mean(data: Data, x: Tensor) -> Tensor:
    """Mean over the words of each utterance, ``[num_utterances, channels]``; zeros without words."""
    words = words_of(data)
    utterance = utterance_of(data)[words]
    return scatter(x.index_select(0, words), utterance, dim_size=root_nodes(data).numel(), reduce="mean")


def check_sentences(data: Data, number: int, rule: str) -> None:
    """Raises :class:`ValueError` with the ``rule`` unless every example has ``number`` utterances."""
    if is_prepared(data):
        return
    batch = example_of(data)
    check_each(torch.bincount(batch[root_nodes(data)], minlength=int(batch.max()) + 1), number, rule)


def check_each(count: Tensor, number: int, rule: str) -> None:
    """Raises :class:`ValueError` with the ``rule`` unless the ``count`` of every example is ``number``."""
    wrong = (count != number).nonzero().view(-1)
    if wrong.numel():
        example = int(wrong[0])
        raise ValueError(f"{rule} (got {int(count[example])} in example {example})")


def example_of(data: Data) -> Tensor:
    """The example of each node."""
    batch = data.get("batch")
    return torch.zeros_like(data.node_type) if batch is None else batch


def utterance_bounds(data: Data) -> Tensor:
    """Boundaries of the examples among the utterances of the batch: ``[num_examples + 1]``."""
    return torch.searchsorted(root_nodes(data), example_bounds(data))


def with_positions_in_utterance(data: Data) -> Data:
    """A shallow copy whose positions count from the ROOT node of each utterance.

    Added nodes at position -1 (none) stay there, and those at position 0 of the example move to 0 of theirs.
    """
    out = copy.copy(data)
    start = data.position[root_nodes(data)]
    moved = (data.position - start[utterance_of(data)]).clamp(min=0)
    out.position = torch.where(data.position < 0, data.position, moved)
    return out


_BATCH = 64
_COMPLETE = resolve("transformer", implicit=True)


def read_texts(encoder: Any, texts: Sequence[Pieces]) -> Iterator[tuple[int, Tensor]]:
    """The index of each text and the states of its nodes, including [CLS] and [SEP], on the CPU; short texts
    first. The encoder (:class:`~graphdep.nn.pretrained.PretrainedEncoder`) stays in its mode.
    """
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    with evaluating(encoder):
        what = f"reading {len(order):,} texts with the encoder"
        for start in with_progress(range(0, len(order), _BATCH), what):
            some = order[start : start + _BATCH]
            yield from zip(some, _read(encoder, [texts[row] for row in some]))


def _read(encoder: Any, texts: list[Pieces]) -> tuple[Tensor, ...]:
    """The states of the nodes of each text."""
    tokens = encoder.tokens
    batch = Batch.from_data_list([_example([tokens.cls_id, *text, tokens.sep_id]) for text in texts])
    x = encoder(_COMPLETE(batch.to(encoder.model.device))).float().cpu()
    return x.split(batch.ptr.cpu().diff().tolist())


def _example(ids: list[int]) -> Data:
    """A text as one example, without edges."""
    nothing = torch.zeros(len(ids), dtype=torch.long)
    return Data(
        num_nodes=len(ids),
        input_ids=torch.tensor(ids),
        position=torch.arange(len(ids)),
        segment=nothing,
        node_type=torch.full_like(nothing, NodeType.WORD),
    )


class TextEncoder(nn.Module):
    r"""Base class of text encoders: a state for every node, and from these a vector for every utterance.

    A subclass sets :attr:`hidden_channels`, defines :meth:`forward`, and :meth:`readout` if the vector of an
    utterance is not the state of its ROOT node. :class:`~graphdep.nn.models.SentenceModel` and
    :class:`~graphdep.nn.models.SentencePairModel` accept any text encoder.

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch with the node table, ROOT nodes included;
          output of ``encoder(data)`` :math:`(|\mathcal{V}|, C)`, of :meth:`readout`
          :math:`(\text{utterances}, C)`
    """

    hidden_channels: int

    def reset_parameters(self) -> None:
        for module in self.children():
            reset(module)

    def add_marks(self, number: int) -> TextEncoder:
        """Lets the encoder read ``data.mark`` (:func:`~graphdep.data.node_table`), e.g. 1 for the predicate
        whose roles are predicted: each mark has a vector that is added to the input of its nodes. Subclasses
        without a :class:`NodeEmbedding` named ``embedding`` override it.

        Args:
            number: Number of marks including 0, which stands for no mark and adds nothing.

        Raises:
            ValueError: If the encoder already reads marks, or :obj:`number` is below 2.
        """
        self.embedding.add_marks(number)  # type: ignore[operator, union-attr]
        return self

    def add_relations(self, embedding: nn.Module) -> TextEncoder:
        """Lets the encoder read RELATION and PHRASE nodes, which ``resolve("dam")`` and
        ``resolve("constituents")`` make: see :meth:`NodeEmbedding.add_relations`. Useful only for encoders
        whose layers attend over edges.

        Args:
            embedding: E.g. a :class:`~graphdep.nn.models.RelationEmbedding` with :attr:`hidden_channels`.

        Raises:
            ValueError: If the encoder already reads them, or the vectors have another size.
        """
        self.embedding.add_relations(embedding)  # type: ignore[operator, union-attr]
        return self

    def readout(self, data: Data, x: Tensor) -> Tensor:
        """States of the ROOT nodes, in the order of the utterances.

        Raises:
            ValueError: If the data has no ROOT nodes.
        """
        return x.index_select(0, root_nodes(data))

    def check_texts(self, data: Data, number: int, rule: str) -> None:
        """Raises :class:`ValueError` with the ``rule`` unless every example has ``number`` texts with a
        vector from :meth:`readout`.
        """
        check_sentences(data, number, rule)


class TransformerLayer(nn.Module):
    r"""A Transformer encoder block with any attention layer, from `"Attention Is All You Need"
    <https://arxiv.org/abs/1706.03762>`_.

    .. math::
        \mathbf{h} = \mathrm{LN}(\mathbf{x} + \mathbf{W}_o \, \mathrm{conv}(\mathbf{x})), \quad
        \mathbf{x}' = \mathrm{LN}(\mathbf{h} + \mathbf{W}_2 \, \mathrm{ReLU}(\mathbf{W}_1 \mathbf{h}))

    with dropout on both sublayer outputs; :obj:`norm_first` normalises before each sublayer instead.

    Args:
        conv: Attention over edges; its output has :obj:`hidden_channels` channels.
        hidden_channels: Size of the node states.
        ff_channels: Size of the feed-forward layer.
        dropout: Dropout probability. (default: :obj:`0.1`)
        norm_first: Normalise before attention and feed-forward. (default: :obj:`False`)

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`; output the same

    Raises:
        ValueError: If the output of :obj:`conv` does not have :obj:`hidden_channels` channels.

    Example:
        >>> import torch
        >>> from graphdep.nn.conv import AttentionConv
        >>> from graphdep.nn.models import TransformerLayer
        >>> layer = TransformerLayer(AttentionConv(8, 4, heads=2), hidden_channels=8, ff_channels=16)
        >>> edge_index = torch.tensor([[0, 1, 1], [1, 0, 1]])
        >>> layer(torch.randn(2, 8), edge_index).shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        conv: nn.Module,
        hidden_channels: int,
        ff_channels: int,
        *,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.conv, self.norm_first = conv, norm_first
        self.lin_out = nn.Linear(hidden_channels, hidden_channels)
        self.norm_attention = nn.LayerNorm(hidden_channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(hidden_channels, ff_channels),
            nn.ReLU(),
            Dropout(dropout),
            nn.Linear(ff_channels, hidden_channels),
        )
        self.norm_feed_forward = nn.LayerNorm(hidden_channels)
        self.dropout = Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in self.children():
            reset(module)

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """``args`` and ``kwargs`` (``edge_index`` or a layout, ``edge_type``) go to the attention."""
        if self.norm_first:
            x = x + self._attend(self.norm_attention(x), *args, **kwargs)
            return x + self.dropout(self.feed_forward(self.norm_feed_forward(x)))
        x = self.norm_attention(x + self._attend(x, *args, **kwargs))
        return self.norm_feed_forward(x + self.dropout(self.feed_forward(x)))

    def _attend(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        out = self.conv(x, *args, **kwargs)
        return self.dropout(self.lin_out(out))


def transformer_layer(channels: int, heads: int, ff_channels: int, dropout: float) -> TransformerLayer:
    """A layer with multi-head attention over the given edges."""
    conv = AttentionConv(channels, channels // heads, heads, dropout=dropout)
    return TransformerLayer(conv, channels, ff_channels, dropout=dropout)


class GraphTransformer(TextEncoder):
    r"""Node embeddings and Transformer blocks whose attention follows the edges of the data.

    With complete edges it is the encoder of `"Attention Is All You Need"
    <https://arxiv.org/abs/1706.03762>`_. The transform that builds the edges and the attention of each block
    define the other methods. For example, Transformer+DRA is this model with
    :class:`~graphdep.nn.conv.DRAConv`, the edges of ``resolve("dra")`` and no position embeddings; LISA has
    :class:`~graphdep.nn.conv.LISAConv` in one layer.

    Args:
        num_words: Size of the vocabulary.
        conv: Makes the attention of a layer, given its number (from 0): a layer of :mod:`graphdep.nn.conv`,
            or any PyG conv over ``x`` and ``edge_index``; its output has :obj:`hidden_channels` channels. A
            conv whose ``forward`` has an argument ``edge_type`` gets the edge types; a conv with an attribute
            ``takes_layout`` gets the shared :class:`~graphdep.nn.attention.AttentionLayout` instead of
            ``edge_index``.
        hidden_channels: Size of the node states. (default: :obj:`768`)
        num_layers: Number of blocks. (default: :obj:`3`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`3072`)
        dropout: Dropout probability of embeddings and blocks; each conv has its own for attention weights.
            (default: :obj:`0.1`)
        position_embedding: Add the embedding of a node's position. (default: :obj:`True`)
        level_embedding: Add the embedding of a word's depth. (default: :obj:`False`)
        norm_first: Normalise before each part of a block, and at the end. (default: :obj:`False`)
        max_positions: Number of positions. (default: :obj:`512`)
        segments: Number of segments that have an embedding, e.g. 2 for a context and its response; 0 for no
            segment embedding. (default: :obj:`0`)
        embedding_scale: Multiply word vectors by :math:`\sqrt{C}`, see
            :class:`~graphdep.nn.models.NodeEmbedding`. (default: :obj:`False`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch with the node table, edges (``implicit=True``
          saves memory), and ``edge_type`` if the attention reads it; output :math:`(|\mathcal{V}|, C)`; with
          :obj:`return_layers` also a list of :math:`L + 1` states, from the embeddings to the output

    Raises:
        ValueError: If :obj:`num_layers` is below 1, the data lacks edges or their types, or it has cliques,
            which an attention without ``takes_layout`` cannot read.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.conv import DRAConv
        >>> from graphdep.nn.models import GraphTransformer
        >>> from graphdep.transforms import resolve
        >>> data = to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"]))
        >>> model = GraphTransformer(7, lambda layer: DRAConv(8, 4, heads=2), hidden_channels=8)
        >>> model(resolve("dra")(data)).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        conv: Callable[[int], nn.Module],
        *,
        hidden_channels: int = 768,
        num_layers: int = 3,
        ff_channels: int = 3072,
        dropout: float = 0.1,
        position_embedding: bool = True,
        level_embedding: bool = False,
        norm_first: bool = False,
        max_positions: int = 512,
        segments: int = 0,
        embedding_scale: bool = False,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, 1)
        self.hidden_channels, self.num_layers = hidden_channels, num_layers
        self.embedding = NodeEmbedding(
            num_words,
            hidden_channels,
            max_positions=max_positions if position_embedding else 0,
            max_levels=64 if level_embedding else 0,
            segments=segments,
            embedding_scale=embedding_scale,
            vectors=vectors,
            dropout=dropout,
        )
        self.layers = nn.ModuleList(
            TransformerLayer(
                conv(number), hidden_channels, ff_channels, dropout=dropout, norm_first=norm_first
            )
            for number in range(num_layers)
        )
        self.norm = nn.LayerNorm(hidden_channels) if norm_first else nn.Identity()
        self.typed = [_takes_types(layer.conv) for layer in self.layers]
        self.reads = frozenset[str]().union(*(_reads(layer.conv) for layer in self.layers))

    @property
    def heads(self) -> int:
        """Number of heads in the first block; 1 if its attention has no such attribute."""
        return getattr(self.layers[0].conv, "heads", 1)

    def forward(self, data: Data, return_layers: bool = False) -> Tensor | tuple[Tensor, list[Tensor]]:
        layout = AttentionLayout.of(data)
        self._check(layout)
        x = self.embedding(data)
        layers = [x]
        for layer, typed in zip(self.layers, self.typed):
            edges = layout if _takes_layout(layer.conv) else layout.edge_index
            x = layer(x, edges, **({"edge_type": layout.edge_type} if typed else {}))
            if return_layers:
                layers.append(x)
        x = self.norm(x)
        return (x, [*layers[:-1], x]) if return_layers else x

    def _check(self, layout: AttentionLayout) -> None:
        if any(self.typed) and layout.edge_type is None:
            raise ValueError("the data has no 'edge_type': apply TreePathTypes() after the edge constructor")
        for layer in self.layers:
            if not _takes_layout(layer.conv):
                kind = type(layer.conv).__name__
                refuse_clique(layout.clique, f"{kind} reads explicit edges only and the data has a 'clique'")


def _takes_layout(conv: nn.Module | Tensor) -> bool:
    return getattr(conv, "takes_layout", False)


def _reads(conv: nn.Module | Tensor) -> frozenset[str]:
    """Kinds of edge information that an attention reads: as it declares, or judging by its arguments."""
    return getattr(conv, "reads", frozenset({TYPES} if _takes_types(conv) else ()))


def _takes_types(conv: nn.Module | Tensor) -> bool:
    assert isinstance(conv, nn.Module)
    return "edge_type" in inspect.signature(conv.forward).parameters


class DependencyTransformer(GraphTransformer):
    r"""Transformer encoder with relation-attention, from `"Integrating Dependency Tree into Self-attention
    for Sentence Representation" <https://arxiv.org/abs/2203.05918>`_ (DT).

    A :class:`GraphTransformer` with position and level embeddings and
    :class:`~graphdep.nn.conv.GatedRelationConv` as attention; the state of the ROOT node represents an
    utterance. All layers share the relation vectors, but each has its own score and gate parameters.

    ============  ======================  ===========  ===================
    Table 3       ``relation_attention``  ``gate``     ``level_embedding``
    ============  ======================  ===========  ===================
    Transformer   False                   --           False
    DT_lr         True                    None         False
    DT_rg         True                    "sigmoid"    False
    DT_full       True                    "sigmoid"    True
    ============  ======================  ===========  ===================

    Sizes are the paper's. The paper gives no dropout rate; the default is 0, because noise that differs
    between the two sentences of a pair hides their small differences.

    Args:
        num_words: Size of the vocabulary.
        num_relations: Number of relation ids.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        num_layers: Number of blocks. (default: :obj:`3`)
        heads: Number of attention heads per block; divides :obj:`hidden_channels`. (default: :obj:`6`)
        relation_dim: Size of the relation vectors. (default: :obj:`30`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`300`)
        dropout: Dropout probability. (default: :obj:`0.0`)
        relation_attention: Use relation scores; otherwise plain self-attention. (default: :obj:`True`)
        gate: ``"sigmoid"``, ``"tanh"`` or :obj:`None`. (default: ``"sigmoid"``)
        gate_state: ``"query"`` or ``"key"``. (default: ``"query"``)
        untyped: Pairs without a relation ``"keep"`` their score or pass the ``"gate"``. (default: ``"keep"``)
        start: Initialization of relation vectors, scores and gates: ``"random"`` (narrow), or ``"torch"``
            (PyTorch's defaults), see :class:`~graphdep.nn.attention.GatedRelationScore`. (default:
            ``"random"``)
        level_embedding: Add the embedding of a word's depth. (default: :obj:`True`)
        position_embedding: Add the embedding of a word's position. (default: :obj:`True`)
        norm_first: Normalise before each part of a block, and at the end. (default: :obj:`False`)
        max_positions: Number of positions. (default: :obj:`512`)
        embedding_scale: Multiply word vectors by :math:`\sqrt{C}`, see
            :class:`~graphdep.nn.models.NodeEmbedding`. (default: :obj:`False`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch with the node table, edges (``implicit=True``
          saves memory), and ``edge_type`` for relation attention; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`heads` does not divide :obj:`hidden_channels`, :obj:`start` is unknown, or the
            data lacks edges or their types.

    Example:
        >>> from graphdep import RelationVocab, Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DependencyTransformer
        >>> from graphdep.transforms import resolve
        >>> data = to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"]))
        >>> model = DependencyTransformer(num_words=7, num_relations=len(RelationVocab()), hidden_channels=12)
        >>> model(resolve("dt")(data)).shape
        torch.Size([3, 12])
    """

    def __init__(
        self,
        num_words: int,
        num_relations: int,
        *,
        hidden_channels: int = 300,
        num_layers: int = 3,
        heads: int = 6,
        relation_dim: int = 30,
        ff_channels: int = 300,
        dropout: float = 0.0,
        relation_attention: bool = True,
        gate: str | None = "sigmoid",
        gate_state: str = "query",
        untyped: str = "keep",
        start: str = "random",
        level_embedding: bool = True,
        position_embedding: bool = True,
        norm_first: bool = False,
        max_positions: int = 512,
        embedding_scale: bool = False,
        vectors: Tensor | None = None,
    ) -> None:
        check_divides("heads", heads, "hidden_channels", hidden_channels)
        size = hidden_channels // heads

        def conv(number: int) -> AttentionConv:
            if number == 0:  # drawn between word vectors and layers, as in saved models
                self.relation = _relation(num_relations, relation_dim, start) if relation_attention else None
            if self.relation is None:
                return AttentionConv(hidden_channels, size, heads, dropout=dropout)
            return GatedRelationConv(
                hidden_channels,
                size,
                heads,
                num_relations=num_relations,
                relation_dim=relation_dim,
                gate=gate,
                gate_state=gate_state,
                untyped=untyped,
                start=start,
                relation=self.relation,
                dropout=dropout,
            )

        super().__init__(
            num_words,
            conv,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            ff_channels=ff_channels,
            dropout=dropout,
            position_embedding=position_embedding,
            level_embedding=level_embedding,
            norm_first=norm_first,
            max_positions=max_positions,
            embedding_scale=embedding_scale,
            vectors=vectors,
        )
        self.relation_attention, self.start = relation_attention, start

    def reset_parameters(self) -> None:
        self.embedding.reset_parameters()
        if self.relation is not None:
            reset_relation(self.relation, self.start)
        reset(self.layers)
        reset(self.norm)


def _relation(num_relations: int, relation_dim: int, start: str) -> nn.Embedding:
    relation = nn.Embedding(num_relations, relation_dim)
    reset_relation(relation, start)
    return relation


class ConstituentTransformer(TextEncoder):
    r"""Transformer encoder with constituent attention, from `"Tree Transformer: Integrating Tree Structures
    into Self-Attention" <https://aclanthology.org/D19-1098/>`_.

    Each block attends within constituents that :class:`~graphdep.nn.conv.ConstituentConv` induces; they
    contain the constituents of the block below. It uses neither parse nor edges: the nodes of an example are
    one sequence. This is the "TreeTransformer" of `"Modeling Compositionality with Dependency Graph for
    Dialogue Generation" <https://aclanthology.org/2022.suki-1.2/>`_. :class:`TreeTransformer` is another
    model, which applies one block recursively over a dependency tree.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`768`)
        num_layers: Number of blocks. (default: :obj:`3`)
        heads: Number of attention heads per block; divides :obj:`hidden_channels`. (default: :obj:`16`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`3072`)
        dropout: Dropout probability. (default: :obj:`0.1`)
        position_embedding: Add the embedding of a node's position. (default: :obj:`True`)
        renormalize: Rescale the attention weights of each node to sum to 1. (default: :obj:`False`)
        max_positions: Number of positions. (default: :obj:`512`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`num_layers` is below 1, or :obj:`heads` does not divide :obj:`hidden_channels`.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import ConstituentTransformer
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> ConstituentTransformer(len(vocab), hidden_channels=8, heads=2, ff_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 768,
        num_layers: int = 3,
        heads: int = 16,
        ff_channels: int = 3072,
        dropout: float = 0.1,
        position_embedding: bool = True,
        renormalize: bool = False,
        max_positions: int = 512,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, 1)
        check_divides("heads", heads, "hidden_channels", hidden_channels)
        self.hidden_channels = hidden_channels
        self.embedding = NodeEmbedding(
            num_words,
            hidden_channels,
            max_positions=max_positions if position_embedding else 0,
            max_levels=0,
            vectors=vectors,
            dropout=dropout,
        )
        size = hidden_channels // heads
        self.layers = nn.ModuleList(
            TransformerLayer(
                ConstituentConv(hidden_channels, size, heads, dropout=dropout, renormalize=renormalize),
                hidden_channels,
                ff_channels,
                dropout=dropout,
            )
            for _ in range(num_layers)
        )

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        _padding_of(data)

    def forward(self, data: Data) -> Tensor:
        ptr, padding = example_bounds(data), _padding_of(data)
        x, link = self.embedding(data), None
        for layer in self.layers:
            link = layer.conv.links(x, ptr, link)  # type: ignore[operator,union-attr]
            x = layer(x, link, ptr, padding)
        return x


@kept
def _padding_of(data: Data) -> Padding:
    """The padded positions of the nodes."""
    return Padding(example_bounds(data), data.node_type.numel())


class WordAverage(TextEncoder):
    r"""Represents an utterance by the mean of its word vectors, without word order and tree.

    The state of a word is its embedding, or with a :obj:`window` the mean over the word and its neighbours in
    the utterance; the state of ROOT is the mean over the words of the utterance.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        window: Number of neighbours on either side of a word to average with. (default: :obj:`0`)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If the data has no ROOT nodes, or :obj:`window` is not a whole number >= 0.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import WordAverage
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> WordAverage(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        window: int = 0,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels, self.window = hidden_channels, check_count("window", window)
        self.embedding = word_embedding(num_words, hidden_channels, vectors, dropout)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        word_mean(data, no_states(data))
        if self.window:
            _longest_text(data)

    def forward(self, data: Data) -> Tensor:
        x = self.embedding(data)
        root = x.index_copy(0, root_nodes(data), word_mean(data, x))
        return root if self.window == 0 else self._with_neighbours(data, root)

    def _with_neighbours(self, data: Data, x: Tensor) -> Tensor:
        words = words_of(data)
        states, utterance = x.index_select(0, words), utterance_of(data)[words]
        total, number = states.clone(), torch.ones_like(states[:, :1])
        for step in range(1, min(self.window, _longest_text(data) - 1) + 1):
            same = (utterance[step:] == utterance[:-step]).unsqueeze(-1).to(x.dtype)
            total[step:] += same * states[:-step]
            total[:-step] += same * states[step:]
            number[step:] += same
            number[:-step] += same
        return x.index_copy(0, words, total / number)

    def extra_repr(self) -> str:
        return f"window={self.window}"


@kept
def _longest_text(data: Data) -> int:
    """Number of words in the longest utterance."""
    words = utterance_of(data)[words_of(data)]
    return int(words.bincount().max()) if len(words) else 0


class FrozenEncoder(TextEncoder):
    r"""Text vectors of a frozen pretrained encoder, as features for a head.

    The encoder reads each text separately, :math:`[\text{CLS}]\ x_1 \dots x_n\ [\text{SEP}]`, with full
    attention and without dropout; the vector of a text is the mean of the last layer over its pieces:

    .. math::
        \mathbf{v} = \frac{1}{n} \sum_{k=1}^{n} \mathbf{h}^L_k

    A text without pieces has a vector of zeros. The state of every node is the vector of its text, so
    :meth:`readout` returns a vector for each text of an example, unlike that of
    :class:`~graphdep.nn.pretrained.PretrainedEncoder`; it can replace a sentence encoder in
    :class:`SentenceModel` and :class:`SentencePairModel`. It does not read edges and positions.

    Args:
        encoder: A :class:`~graphdep.nn.pretrained.PretrainedEncoder`, which is frozen for good.

    Attributes:
        tokens, max_length: Those of the encoder.

    Shapes:
        - data: a node table of :func:`~graphdep.data.encoded` with one segment per text; output
          :math:`(|\mathcal{V}|, C)`, of :meth:`readout` :math:`(\text{texts}, C)`

    Example:
        >>> from graphdep.nn.models import FrozenEncoder
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> batch = encoder.to_data([("It rains.", "The sun shines."), ("I do.", "You?")])
        >>> frozen = FrozenEncoder(encoder)
        >>> frozen.readout(batch, frozen(batch)).shape == (4, encoder.hidden_channels)
        True
    """

    known: Tensor

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder, self.hidden_channels = encoder.requires_grad_(False), encoder.hidden_channels
        self.tokens, self.max_length = encoder.tokens, encoder.max_length
        # Not in the state_dict: vectors are recomputed from texts, which others need not have.
        self.register_buffer("known", torch.zeros(0, self.hidden_channels), persistent=False)
        self._rows: dict[Pieces, int] = {}
        self.train(encoder.training)

    def remember(self, examples: Iterable[Data]) -> FrozenEncoder:
        """Reads each distinct text of the examples once and keeps its vector, 4 bytes per channel: later
        results are faster and do not depend on batching.
        """
        texts = dict.fromkeys(text for data in examples for text in texts_of(data))
        new = [text for text in texts if text not in self._rows]
        self._rows |= zip(new, range(len(self._rows), len(self._rows) + len(new)))
        self.known = torch.cat([self.known, self._vectors(new)])
        return self

    def prepare_batch(self, data: Data, device: torch.device) -> object:
        texts = texts_of(data)
        if all(text in self._rows for text in texts):
            keep(data, "frozen_rows", torch.tensor([self._rows[text] for text in texts]))
        return ALONE

    def forward(self, data: Data) -> Tensor:
        known_rows = known(data, "frozen_rows")
        if known_rows is not None:
            return self.known.index_select(0, known_rows).index_select(0, text_of(data)[0])
        texts = texts_of(data)
        new = [*dict.fromkeys(text for text in texts if text not in self._rows)]
        found = dict(zip(new, self._vectors(new)))
        rows = [found[text] if text in found else self.known[self._rows[text]] for text in texts]
        return torch.stack(rows).index_select(0, text_of(data)[0])

    def readout(self, data: Data, x: Tensor) -> Tensor:
        """The vector of each text, in order."""
        return x.index_select(0, first_of_texts(data))

    def check_texts(self, data: Data, number: int, rule: str) -> None:
        check_each(text_of(data)[1], number, rule)

    def extra_repr(self) -> str:
        return f"texts={len(self._rows)}"

    def _vectors(self, texts: Sequence[Pieces]) -> Tensor:
        """The vectors of texts from the encoder, in full precision and usable in training, in any mode."""
        device, dtype = self.known.device, self.known.dtype
        with torch.inference_mode(False), torch.no_grad(), torch.autocast(device.type, enabled=False):
            table = torch.zeros(len(texts), self.hidden_channels, dtype=dtype)
            for row, x in read_texts(self.encoder, texts):
                if len(x) > 2:
                    table[row] = x[1:-1].mean(dim=0)
            return table.to(device)
