"""Embeddings of the nodes of a batch: words, positions, levels, relations and phrases."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset
from torch_geometric.utils import cumsum, scatter

from graphdep.data.node_table import NodeType
from graphdep.io.limits import check_least, check_shape
from graphdep.nn.attention.relations import check_relations
from graphdep.nn.dropout import Dropout
from graphdep.nn.prepared import is_prepared, kept
from graphdep.transforms.options import require_key

Pieces = tuple[int, ...]


@kept
def text_of(data: Data) -> tuple[Tensor, Tensor]:
    """The text of each node, numbered across the batch ``[num_nodes]``, and the number of texts in each
    example; a text is a segment of an example.
    """
    batch = data.get("batch")
    example = torch.zeros_like(data.segment) if batch is None else batch
    count = 1 + scatter(data.segment, example, reduce="max")
    return cumsum(count)[example] + data.segment, count


@kept
def first_of_texts(data: Data) -> Tensor:
    """The first node of each text."""
    text, count = text_of(data)
    node = torch.arange(text.numel(), device=text.device)
    return scatter(node, text, dim_size=int(count.sum()), reduce="min")


def texts_of(data: Data) -> list[Pieces]:
    """The pieces of the words of each text in an example or a batch."""
    text, count = text_of(data)
    words = (data.node_type == NodeType.WORD) & (data.word >= 0)
    sizes = torch.bincount(text[words], minlength=int(count.sum())).tolist()
    return [tuple(pieces.tolist()) for pieces in data.input_ids[words].split(sizes)]


def added_nodes(data: Data) -> Tensor:
    """Whether each node was added by edges, for a relation or phrase: ``[num_nodes]``."""
    return (data.node_type == NodeType.RELATION) | (data.node_type == NodeType.PHRASE)


def related_nodes(data: Data, has_relations: bool, channels: str) -> Tensor:
    """The RELATION nodes or the PHRASE nodes of a node table; encoders treat both alike."""
    # A search by node type would synchronize a GPU.
    given = [data[key] for key in ("arc_node_index", "phrase_node_index") if key in data]
    related = torch.cat(given) if given else data.input_ids.new_zeros(0)
    on_cpu = data.input_ids.device.type == "cpu" and not torch.compiler.is_compiling()
    if on_cpu and "node_type" in data and not is_prepared(data):
        kinds = data.node_type
        found = int(((kinds == NodeType.RELATION) | (kinds == NodeType.PHRASE)).sum())
        if found != related.numel():
            raise ValueError(
                f"the data has {found} RELATION and PHRASE nodes, but 'arc_node_index' and "
                f"'phrase_node_index' name {related.numel()}: let RelationNodes() or PhraseNodes() make "
                "them, in all examples of a batch"
            )
    if related.numel() and not has_relations:
        phrases = "phrase_node_index" in data
        kind, labels = ("PHRASE", "PhraseVocab()") if phrases else ("RELATION", "relations")
        raise ValueError(
            f"the data has {kind} nodes, for which the encoder has no vectors: add them with "
            f"add_relations(RelationEmbedding(len({labels}), {channels}))"
        )
    return related


def check_absent(there: nn.Module | None, what: str) -> None:
    """Raises :class:`ValueError` if the encoder already has an embedding of ``what``."""
    if there is not None:
        raise ValueError(f"the encoder already has an embedding of {what}: {there}")


def word_embedding(num_words: int, channels: int, vectors: Tensor | None, dropout: float) -> NodeEmbedding:
    """An embedding of words only, without positions and levels."""
    return NodeEmbedding(num_words, channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout)


def fit_relations(there: nn.Module | None, embedding: nn.Module, channels: int) -> nn.Module:
    """Returns the embedding, or raises ValueError if there is one already or its size is wrong."""
    check_absent(there, "relations")
    device = next(embedding.parameters()).device
    with torch.no_grad():
        size = embedding(torch.zeros(1, dtype=torch.long, device=device)).size(-1)
    if size != channels:
        raise ValueError(f"'embedding' must give vectors of size {channels} (got {size})")
    return embedding


def make_marks(there: nn.Embedding | None, number: int, channels: int) -> nn.Embedding:
    """An embedding of marks, whose first vector is always zeros."""
    check_absent(there, "marks")
    check_least("number", number, 2)
    marks = nn.Embedding(number, channels, padding_idx=0)
    reset_marks(marks)
    return marks


def reset_marks(marks: nn.Embedding) -> None:
    """Draws the vectors of marks; the vector of mark 0 (no mark) is zeros."""
    nn.init.normal_(marks.weight, std=marks.embedding_dim**-0.5)
    with torch.no_grad():
        marks.weight[0].zero_()


def marks_of(data: Data, marks: nn.Embedding) -> Tensor:
    """The mark vectors of all nodes: ``[N, C]``."""
    require_key(data, "mark", "call graphdep.data.node_table(data, marks)")
    mark = data.mark
    check_shape("mark", mark, *data.input_ids.shape)
    return marks(mark)


def check_directions(hidden_channels: int, bidirectional: bool) -> None:
    """Raises :class:`ValueError` unless the state can be split between two directions."""
    if bidirectional and hidden_channels % 2:
        raise ValueError(f"'hidden_channels' must be even for two directions (got {hidden_channels})")


class RelationEmbedding(nn.Module):
    r"""A vector for each relation, plus a type vector shared by all relations, from "Augmenting Transformers
    with Enhanced Dependency Structures by Treating Relations as New Words" by Chen, Li and Huang (section
    3.3).

    .. math::
        \mathbf{x}_l = \mathrm{Emb}_e(l) + \mathbf{e}_l

    It replaces the word embedding at RELATION nodes, and at PHRASE nodes, whose labels are those of
    constituents. Drawn like BERT's embeddings: normal, with standard deviation 0.02.

    Args:
        num_relations: Number of relation ids: ``len(relation_vocab)``.
        channels: Size of the vectors.
        type_embedding: Add :math:`\mathbf{e}_l`, the same for all relations. (default: :obj:`True`)
        std: The standard deviation; :class:`NodeEmbedding` draws words with :math:`C^{-1/2}`. (default:
            :obj:`0.02`)

    Shapes:
        - deprel: :math:`(n)`, long; output :math:`(n, C)`

    Raises:
        ValueError: If a relation id is out of range.

    Example:
        >>> from graphdep import RelationVocab
        >>> from graphdep.nn.models import RelationEmbedding
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> relations = RelationEmbedding(len(RelationVocab()), encoder.embedding_channels)
        >>> data = encoder.to_data(["It rains."], edges="dam")  # two arcs, thus two relation nodes
        >>> encoder.add_relations(relations)(data).shape == (data.num_nodes, encoder.hidden_channels)
        True
    """

    def __init__(
        self, num_relations: int, channels: int, *, type_embedding: bool = True, std: float = 0.02
    ) -> None:
        super().__init__()
        self.std = std
        self.relation = nn.Embedding(num_relations, channels)
        self.kind = nn.Parameter(torch.empty(channels)) if type_embedding else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=self.std)

    def forward(self, deprel: Tensor) -> Tensor:
        check_relations("deprel", deprel, self.relation.num_embeddings)
        x = self.relation(deprel)
        return x if self.kind is None else x + self.kind

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.relation.num_embeddings}, {self.relation.embedding_dim}, "
            f"type_embedding={self.kind is not None})"
        )


class NodeEmbedding(nn.Module):
    r"""Sum of word, position, level and segment embeddings; the first three are those of `"Integrating
    Dependency Tree into Self-attention for Sentence Representation" <https://arxiv.org/abs/2203.05918>`_
    (section 2).

    .. math::
        \mathbf{h}^0_k = \mathbf{e}_k + \mathbf{p}_k + \mathbf{l}_k + \mathbf{s}_k

    With ``embedding_scale=True`` :math:`\mathbf{e}_k` is multiplied by :math:`\sqrt{C}`, as in `"Attention Is
    All You Need" <https://arxiv.org/abs/1706.03762>`_ (section 3.4): word vectors are drawn with the standard
    deviation :math:`C^{-1/2}` that fits this factor. Without it all summands have length about 1, the scores
    of the first layer are near 0, and it starts as a mean over the words that it sees. The other papers do
    not give the factor; the results in examples/ use the default.

    The level of a word is its :obj:`depth` in the tree. Positions, levels and segments beyond the last share
    its vector, so no sentence is too long; nodes outside the trees (depth -1) have no level. Nodes of
    relations and phrases have no word; :meth:`add_relations` adds their embedding.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the output.
        max_positions: Number of positions; 0 for no position embedding. (default: :obj:`512`)
        max_levels: Number of levels; 0 for no level embedding. (default: :obj:`64`)
        segments: Number of segments; 0 for no segment embedding. (default: :obj:`0`)
        embedding_scale: Multiply word vectors, pretrained or not, by :math:`\sqrt{C}`, after their
            projection. (default: :obj:`False`)
        vectors: Pretrained word vectors ``[num_words, dim]``, tuned in training; projected if ``dim`` differs
            from :obj:`hidden_channels`. (default: :obj:`None`)
        dropout: Dropout probability. (default: :obj:`0.1`)

    Shapes:
        - data: ``input_ids``, ``position``, ``depth``, ``segment``, with :meth:`add_marks` also ``mark`` and
          with :meth:`add_relations` ``deprel`` :math:`(|\mathcal{V}|)`; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`hidden_channels` is below 1, :obj:`vectors` do not fit the vocabulary, the data
            has no ``input_ids``, or it has nodes of relations or phrases without :meth:`add_relations`.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import NodeEmbedding
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> NodeEmbedding(len(vocab), 8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        hidden_channels: int,
        *,
        max_positions: int = 512,
        max_levels: int = 64,
        segments: int = 0,
        embedding_scale: bool = False,
        vectors: Tensor | None = None,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        check_least("hidden_channels", hidden_channels, 1)
        if vectors is not None:
            check_shape("vectors", vectors, num_words, "dim")
        self.hidden_channels, self.embedding_scale = hidden_channels, embedding_scale
        dim = hidden_channels if vectors is None else vectors.size(1)
        self.word = nn.Embedding(num_words, dim)
        self.project = (
            nn.Linear(dim, hidden_channels, bias=False) if dim != hidden_channels else nn.Identity()
        )
        self.position = nn.Embedding(max_positions, hidden_channels) if max_positions else None
        self.level = nn.Embedding(max_levels, hidden_channels) if max_levels else None
        self.segment = nn.Embedding(segments, hidden_channels) if segments else None
        self.mark: nn.Embedding | None = None
        self.relations: nn.Module | None = None
        self.dropout = Dropout(dropout)
        self.reset_parameters()
        if vectors is not None:
            with torch.no_grad():
                self.word.weight.copy_(vectors)

    def reset_parameters(self) -> None:
        """Draws all parameters at random, even pretrained vectors."""
        nn.init.normal_(self.word.weight, std=self.word.embedding_dim**-0.5)
        if isinstance(self.project, nn.Linear):
            self.project.reset_parameters()
        for table in (self.position, self.level, self.segment):
            if table is not None:
                nn.init.normal_(table.weight, std=table.embedding_dim**-0.5)
        if self.mark is not None:
            reset_marks(self.mark)
        reset(self.relations)

    def add_relations(self, embedding: nn.Module) -> None:
        """Adds ``embedding(deprel)`` as word embedding of RELATION and PHRASE nodes. Positions and segments
        are added as for words, except at position -1 (``resolve("dam", position="none")``).

        Args:
            embedding: For example :class:`~graphdep.nn.models.RelationEmbedding`.

        Raises:
            ValueError: If there is one already, or its vectors do not have :obj:`hidden_channels`.
        """
        made = fit_relations(self.relations, embedding.to(self.word.weight), self.hidden_channels)
        self.relations = made.train(self.training)

    def add_marks(self, number: int) -> None:
        """Adds an embedding of ``data.mark``, e.g. 1 for the predicate whose roles are predicted.

        Args:
            number: Number of marks including 0, which stands for no mark and adds nothing.

        Raises:
            ValueError: If there is one already, or :obj:`number` is below 2.
        """
        self.mark = make_marks(self.mark, number, self.hidden_channels).to(self.word.weight)

    def words(self, input_ids: Tensor) -> Tensor:
        """Word vectors of ids only, in the size of the node states: ``[...] -> [..., C]``."""
        x = self.project(self.word(input_ids))
        return x * self.hidden_channels**0.5 if self.embedding_scale else x

    def forward(self, data: Data) -> Tensor:
        require_key(data, "input_ids", "call to_data(..., vocab=...)")
        related = related_nodes(data, self.relations is not None, "encoder.hidden_channels")
        if self.relations is None:
            x, placed = self.words(data.input_ids), None
        else:  # relation labels may exceed the word ids
            x = self.words(data.input_ids.index_fill(0, related, 0))
            x = x.index_copy(0, related, self.relations(data.deprel[related]).to(x.dtype))
            placed = (data.position >= 0).unsqueeze(-1) if "position" in data else None
        if self.position is not None:
            place = self.position(data.position.clamp(0, self.position.num_embeddings - 1))
            x = x + (place if placed is None else place * placed)
        if self.level is not None:
            level = self.level(data.depth.clamp(0, self.level.num_embeddings - 1))
            x = x + level * (data.depth >= 0).unsqueeze(-1)
        if self.segment is not None:
            segment = self.segment(data.segment.clamp(max=self.segment.num_embeddings - 1))
            x = x + (segment if placed is None else segment * placed)
        if self.mark is not None:
            x = x + marks_of(data, self.mark)
        return self.dropout(x)
