"""Heads and models for labels of texts, pairs, words and spans."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset
from torch_geometric.utils import scatter

from graphdep.data.node_table import NodeType, tree_nodes
from graphdep.io.limits import check_choice, check_count, check_least, check_shape
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.transformer import TextEncoder, check_sentences, example_bounds, example_of
from graphdep.nn.prepared import is_prepared, kept, no_states
from graphdep.transforms.nodes import Nodes, check_pieces
from graphdep.transforms.options import require_key
from graphdep.transforms.phrases import in_span, path_words, top_words


class ClassificationHead(nn.Module):
    r"""Linear classifier of sentence vectors: dropout, then one linear layer.

    .. math::
        \hat{p} = \mathrm{softmax}(\mathbf{W} \mathbf{h} + \mathbf{b})

    with dropout on :math:`\mathbf{h}`. The output is logits; the loss applies the softmax. On the state of
    [CLS], with :obj:`std` of 0.02, it is the head of `"BERT: Pre-training of Deep Bidirectional Transformers
    for Language Understanding" <https://aclanthology.org/N19-1423/>`_ without the pooler.

    Args:
        in_channels: Size of a sentence vector.
        out_channels: Number of classes.
        dropout: Dropout probability. (default: :obj:`0.0`)
        std: Draw :math:`\mathbf{W}` from a normal distribution with this standard deviation and set
            :math:`\mathbf{b}` to 0, as BERT does; :obj:`None` for the initialization of
            :class:`torch.nn.Linear`. (default: :obj:`None`)

    Shapes:
        - x: :math:`(B, C)`; output: :math:`(B, C')`

    Raises:
        ValueError: If a size is below 1, or :obj:`std` is not above 0.

    Example:
        >>> import torch
        >>> from graphdep.nn.models import ClassificationHead
        >>> ClassificationHead(8, 3, dropout=0.1)(torch.randn(2, 8)).shape
        torch.Size([2, 3])
    """

    def __init__(
        self, in_channels: int, out_channels: int, dropout: float = 0.0, *, std: float | None = None
    ) -> None:
        super().__init__()
        for name, size in (("in_channels", in_channels), ("out_channels", out_channels)):
            check_least(name, size, 1)
        self.dropout = Dropout(dropout)
        self.lin, self.std = nn.Linear(in_channels, out_channels), std
        if std is not None:  # otherwise the layer has initialized itself
            self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.std is None:
            self.lin.reset_parameters()
            return
        nn.init.normal_(self.lin.weight, std=self.std)
        nn.init.zeros_(self.lin.bias)

    def extra_repr(self) -> str:
        return f"std={self.std}"

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(self.dropout(x))


class RelatednessHead(nn.Module):
    r"""Similarity by angle and distance, from `"Improved Semantic Representations From Tree-Structured Long
    Short-Term Memory Networks" <https://aclanthology.org/P15-1150/>`_ (section 4.2).

    .. math::
        \mathbf{h}_s = \sigma(\mathbf{W}^{\times} (\mathbf{h}_L \odot \mathbf{h}_R) +
        \mathbf{W}^{+} |\mathbf{h}_L - \mathbf{h}_R| + \mathbf{b}^h), \quad
        \hat{p} = \mathrm{softmax}(\mathbf{W}^p \mathbf{h}_s + \mathbf{b}^p)

    The output is logits; the loss applies the softmax.

    Args:
        in_channels: Size of a sentence vector.
        out_channels: Number of classes.
        hidden_channels: Size of :math:`\mathbf{h}_s`. (default: :obj:`50`)

    Shapes:
        - left, right: :math:`(B, C)`; output: :math:`(B, C')`

    Example:
        >>> import torch
        >>> from graphdep.nn.models import RelatednessHead
        >>> left, right = torch.randn(2, 4, 8)
        >>> RelatednessHead(8, 5)(left, right).shape
        torch.Size([4, 5])
    """

    def __init__(self, in_channels: int, out_channels: int, hidden_channels: int = 50) -> None:
        super().__init__()
        self.lin_angle = nn.Linear(in_channels, hidden_channels)
        self.lin_distance = nn.Linear(in_channels, hidden_channels, bias=False)
        self.lin_out = nn.Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        for lin in (self.lin_angle, self.lin_distance, self.lin_out):
            lin.reset_parameters()

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        hidden = torch.sigmoid(self.lin_angle(left * right) + self.lin_distance((left - right).abs()))
        return self.lin_out(hidden)


class SentenceModel(nn.Module):
    r"""Encodes the sentence of every example and passes its vector to a head.

    Data without ROOT nodes needs an encoder with another readout, such as the [CLS] state of
    :class:`~graphdep.nn.pretrained.PretrainedEncoder`: one vector per example, for a text or a pair.

    Args:
        encoder: Computes node states and sentence vectors.
        head: Reads the sentence vectors.

    Shapes:
        - data: a batch of :math:`B` examples with one utterance each; output of the head: :math:`(B, C')`

    Raises:
        ValueError: If the examples do not have one sentence each, or lack the nodes of the readout.

    Example:
        >>> from graphdep.nn.models import ClassificationHead, SentenceModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> model = SentenceModel(encoder, ClassificationHead(encoder.hidden_channels, 2, std=0.02))
        >>> model(encoder.to_data([("It rains.", "The sun shines.")])).shape
        torch.Size([1, 2])
    """

    def __init__(self, encoder: TextEncoder, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def reset_parameters(self) -> None:
        reset(self.encoder)
        reset(self.head)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        self._check(data)
        self.encoder.readout(data, no_states(data))
        for key, labelled in (("node_y", _labelled_nodes), ("phrase_y", _labelled_phrases)):
            if key in data:
                labelled(data)

    def forward(self, data: Data) -> Tensor:
        if not is_prepared(data):
            self._check(data)
        return self.head(self.encoder.readout(data, self.encoder(data)))

    def _check(self, data: Data) -> None:
        if bool((data.node_type == NodeType.ROOT).any()):
            check_sentences(data, 1, "an example has one sentence")

    def node_logits(self, data: Data) -> tuple[Tensor, Tensor]:
        r"""Outputs of the head for all labelled nodes of the trees, and their labels, :math:`(N, C')` and
        :math:`(N)`: training on a treebank with labels at all nodes. The nodes of a
        :class:`ConstituentEncoder` are words and constituents; those of other encoders are ROOT and the
        words, each for its subtree.

        Raises:
            ValueError: If the data has no node labels (``SST(..., trees=True)``).
        """
        states: Any = getattr(self.encoder, "states", None)
        require_key(data, "node_y" if states is None else "phrase_y", "SST(..., trees=True) has these labels")
        x = self.encoder(data) if states is None else torch.cat(states(data))
        labelled, y = _labelled_nodes(data) if states is None else _labelled_phrases(data)
        return self.head(x.index_select(0, labelled)), y


@kept
def _labelled_nodes(data: Data) -> tuple[Tensor, Tensor]:
    """The nodes with a label, and their labels."""
    # Nodes of relations and phrases, which edges may add, are not part of the tree.
    nodes = tree_nodes(data).nonzero().view(-1)
    labelled = data.node_y >= 0
    return nodes[labelled], data.node_y[labelled]


@kept
def _labelled_phrases(data: Data) -> tuple[Tensor, Tensor]:
    """The words, followed by the constituents, that have a label, and their labels."""
    y = torch.cat([data.word_y, data.phrase_y])
    labelled = (y >= 0).nonzero().view(-1)
    return labelled, y[labelled]


class SentencePairModel(SentenceModel):
    r"""Encodes both sentences of every example with one encoder and compares their vectors with a head.

    Args:
        encoder: Computes node states and sentence vectors.
        head: Reads the vectors of the first and of the second sentences.

    Shapes:
        - data: a batch of :math:`B` examples with two utterances each; output of the head: :math:`(B, C')`

    Raises:
        ValueError: If the examples do not have two sentences each.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import RelatednessHead, SentencePairModel, TreeLSTM
        >>> model = SentencePairModel(TreeLSTM(num_words=7, hidden_channels=8), RelatednessHead(8, 5))
        >>> pair = [Sentence(["She", "sings"], [2, 0], ["nsubj", "root"]), Sentence.chain(["She", "sings"])]
        >>> model(to_data(pair, vocab=Vocab(["She", "sings"]))).shape
        torch.Size([1, 5])
    """

    def _check(self, data: Data) -> None:
        self.encoder.check_texts(data, 2, "pairs have two sentences each")

    def forward(self, data: Data) -> Tensor:
        if not is_prepared(data):
            self._check(data)
        vectors = self.encoder.readout(data, self.encoder(data))
        left, right = vectors.view(-1, 2, vectors.size(-1)).unbind(dim=1)
        return self.head(left, right)


PIECES = ("first", "mean")


class TokenModel(nn.Module):
    r"""Classifies every word by the state of its first piece, as `"BERT: Pre-training of Deep Bidirectional
    Transformers for Language Understanding" <https://aclanthology.org/N19-1423/>`_ does for named entities.

    .. math::
        \hat{p}_w = \mathrm{softmax}(\mathbf{W} \mathbf{h}_{\text{first}(w)} + \mathbf{b})

    with dropout on :math:`\mathbf{h}`. With ``pieces="mean"`` it is the mean over the pieces of the word.
    With :obj:`marked`, :math:`\mathbf{h}` is concatenated with the state of the marked word :math:`p` of its
    example, e.g. the predicate whose roles are predicted, similar to `"Simple BERT Models for Relation
    Extraction and Semantic Role Labeling" <https://arxiv.org/abs/1904.05255>`_, which adds an LSTM and a
    further layer:

    .. math::
        \hat{p}_w = \mathrm{softmax}(\mathbf{W} [\mathbf{h}_w; \mathbf{h}_p] + \mathbf{b})

    The output is logits; the loss applies the softmax. Only words of the text have logits: not ROOT, special
    and relation nodes, nor the empty nodes of enhanced graphs.

    Args:
        encoder: Computes node states; has :attr:`hidden_channels`.
        num_classes: Number of classes.
        dropout: Dropout probability. (default: :obj:`0.1`)
        pieces: The state of a word: of its ``"first"`` piece, or the ``"mean"``. (default: ``"first"``)
        marked: Also read the state of the marked word: the mean if several are marked, zeros if none is. The
            encoder itself must read marks, too (:meth:`TextEncoder.add_marks`). (default: :obj:`False`)

    Shapes:
        - data: a batch or one example with :math:`W` words in total; with :obj:`marked` also ``mark``
          :math:`(|\mathcal{V}|)`, see :func:`~graphdep.data.node_table`
        - output: logits :math:`(W, C')`, and the node of each word :math:`(W)`, in node order, which is word
          order, utterance by utterance

    Raises:
        ValueError: If :obj:`num_classes` is below 1, or :obj:`pieces` is unknown.

    Example:
        >>> from graphdep.nn.models import TokenModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data(["Ann lives in Ohio."])
        >>> logits, nodes = TokenModel(encoder, num_classes=9)(data)
        >>> logits.shape, data.word[nodes]
        (torch.Size([5, 9]), tensor([0, 1, 2, 3, 4]))
    """

    def __init__(
        self,
        encoder: nn.Module,
        num_classes: int,
        dropout: float = 0.1,
        *,
        pieces: str = "first",
        marked: bool = False,
    ) -> None:
        super().__init__()
        check_choice("pieces", pieces, PIECES)
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.encoder, self.pieces, self.marked = encoder, pieces, marked
        self.head = ClassificationHead(2 * size if marked else size, num_classes, dropout, std=0.02)

    def reset_parameters(self) -> None:
        """Resets all parameters, including added relations and terms; pretrained weights stay."""
        reset(self.encoder)
        self.head.reset_parameters()

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        states, nodes = word_states(data, no_states(data), self.pieces)
        if self.marked:
            _marked_states(data, states, nodes)

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        states, nodes = self.states(data)
        return self.classify(data, states, nodes), nodes

    def states(self, data: Data) -> tuple[Tensor, Tensor]:
        """The state of each word, ``[W, C]``, and its node."""
        return word_states(data, self.encoder(data), self.pieces)

    def classify(self, data: Data, states: Tensor, nodes: Tensor) -> Tensor:
        """The logits of the states of :meth:`states`."""
        if self.marked:
            states = torch.cat([states, _marked_states(data, states, nodes)], dim=-1)
        return self.head(states)

    def extra_repr(self) -> str:
        return f"pieces={self.pieces!r}, marked={self.marked}"


class SyntacticScaffold(nn.Module):
    r"""An auxiliary loss for predicting the parse from word states, as in `"Syntactic Scaffolds for Semantic
    Structures" <https://aclanthology.org/D18-1412/>`_: the model sees trees in training and needs none in
    testing.

    The parse is encoded as word labels, as in `"Viable Dependency Parsing as Sequence Labeling"
    <https://aclanthology.org/N19-1077/>`_: the relation :math:`r_w` of a word to its governor, and the offset
    :math:`o_w` from the word to its governor in words, 0 for a root.

    .. math::
        \mathcal{L} = -\frac{1}{W} \sum_w \log p(r_w \mid \mathbf{h}_w) + \log p(\max(-D, \min(D, o_w)) \mid
        \mathbf{h}_w), \quad
        p(\cdot \mid \mathbf{h}) = \mathrm{softmax}(\mathbf{W} \mathbf{h} + \mathbf{b})

    with dropout on :math:`\mathbf{h}`. The first paper predicts labels of constituents instead.

    Args:
        channels: Size of a state.
        num_relations: Number of relations.
        max_offset: The largest offset :math:`D`; larger ones share its class. (default: :obj:`10`)
        dropout: Dropout probability. (default: :obj:`0.1`)

    Shapes:
        - data: a batch or one example with :math:`W` words, ``governor_index`` and ``deprel``, see
          :func:`~graphdep.data.node_table`; states: :math:`(W, C)`; nodes: :math:`(W)`
        - output: the loss, a scalar

    Raises:
        ValueError: If a size is below 1, or :obj:`dropout` is not a probability.

    Example:
        >>> import torch
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.nn.models import SyntacticScaffold
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])])
        >>> scaffold = SyntacticScaffold(8, num_relations=len(RelationVocab()))
        >>> scaffold(data, torch.randn(2, 8), torch.tensor([1, 2])).shape
        torch.Size([])
    """

    def __init__(
        self, channels: int, num_relations: int, *, max_offset: int = 10, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.max_offset = check_count("max_offset", max_offset, 1)
        self.relation = ClassificationHead(channels, num_relations, dropout, std=0.02)
        self.offset = ClassificationHead(channels, 2 * max_offset + 1, dropout, std=0.02)

    def reset_parameters(self) -> None:
        self.relation.reset_parameters()
        self.offset.reset_parameters()

    def forward(self, data: Data, states: Tensor, nodes: Tensor) -> Tensor:
        place, governor = data.word, data.governor_index[nodes]
        apart = (place[governor] - place[nodes]).clamp(-self.max_offset, self.max_offset)
        offset = torch.where(place[governor] < 0, 0, apart) + self.max_offset  # the root's governor is ROOT
        losses = [
            nn.functional.cross_entropy(self.relation(states).float(), data.deprel[nodes], reduction="sum"),
            nn.functional.cross_entropy(self.offset(states).float(), offset, reduction="sum"),
        ]
        return (losses[0] + losses[1]) / max(1, nodes.numel())

    def extra_repr(self) -> str:
        return f"max_offset={self.max_offset}"


def word_states(data: Data, x: Tensor, pieces: str = "first") -> tuple[Tensor, Tensor]:
    """The state of each word, ``[num_words, C]``, and the node of its first piece, ``[num_words]``; the state
    is that of the first piece, or with ``pieces="mean"`` the mean over all pieces.
    """
    nodes = word_nodes(data)
    if pieces == "first":
        return x.index_select(0, nodes), nodes
    inside, word = _words_of_pieces(data)
    return scatter(x.index_select(0, inside), word, dim_size=nodes.numel(), reduce="mean"), nodes


@kept
def _words_of_pieces(data: Data) -> tuple[Tensor, Tensor]:
    """The nodes of words, and the word number of each node."""
    table, nodes = Nodes(data), word_nodes(data)
    inside = (table["word"] >= 0).nonzero().view(-1)
    own = torch.arange(nodes.numel(), device=nodes.device)
    number = torch.full_like(table.index, -1).index_copy(0, nodes, own)
    return inside, number[table.first[inside]]


def _marked_states(data: Data, states: Tensor, nodes: Tensor) -> Tensor:
    """The state of the marked word of each word's example: ``[num_words, C]``."""
    marked, example = _marked_words(data)
    size = example_bounds(data).numel() - 1
    means = scatter(states.index_select(0, marked), example[marked], dim_size=size, reduce="mean")
    return means[example]


@kept
def _marked_words(data: Data) -> tuple[Tensor, Tensor]:
    """The numbers of the marked words, and the example of each word."""
    table, nodes = Nodes(data), word_nodes(data)
    return (table.mark[nodes] > 0).nonzero().view(-1), table.example[nodes]


@torch.compiler.disable  # reads values
@kept
def word_nodes(data: Data) -> Tensor:
    """The node of each word's first piece: ``[num_words]``."""
    nodes = Nodes(data)
    return ((nodes["word"] >= 0) & (nodes.first == nodes.index)).nonzero().view(-1)


MODES = ("mean", "top")


class SpanReadout(nn.Module):
    r"""One vector per example: the concatenated vectors of its marked spans.

    .. math::
        \mathbf{v} = [\mathbf{v}_1; \mathbf{v}_2; \mathbf{v}_{\text{path}}] \qquad
        \mathbf{v}_s = \frac{1}{|s|} \sum_{i \in s} \mathbf{h}_i \ \text{ or } \
        \mathbf{v}_s = \mathbf{h}_{\text{top}(s)}

    where :math:`\text{top}(s)` is the word of span :math:`s` that is nearest to the root (the first of
    several), and the optional :math:`\mathbf{v}_{\text{path}}` is the mean over the words on the tree path
    between the top words of both spans, both included. The tree is the current one of the data, so a random
    tree also changes tops and paths. A span without words has a vector of zeros, and so has its path.

    The readout has no parameters; a :class:`ClassificationHead` reads the vectors.

    Args:
        num_spans: Number of spans per example, 1 or 2. (default: :obj:`2`)
        mode: The vector of a span: ``"mean"`` over the nodes of its words, or the state of its ``"top"``
            word. (default: ``"mean"``)
        path: Also append the mean over the path; needs two spans. (default: :obj:`False`)
        pieces: Average over ``"all"`` pieces, with equal weights, or over the ``"first"`` piece of each word.
            (default: ``"all"``)

    Shapes:
        - data: a batch of :math:`B` examples with ``mark``: bit 1 at the nodes of the words in the first
          span, bit 2 in the second
        - x: :math:`(|\mathcal{V}|, C)`
        - output: :math:`(B, K C)` with :math:`K` = :attr:`num_parts`

    Raises:
        ValueError: If an option is invalid, the data has no ``mark``, not one per node or marks of further
            spans, or :obj:`x` has another number of nodes.

    Example:
        >>> import torch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.data import mark_words
        >>> from graphdep.nn.models import SpanReadout
        >>> tree = Sentence(["A", "dog", "bites", "me"], [2, 3, 0, 3], ["det", "nsubj", "root", "obj"])
        >>> data = mark_words(to_data([tree], root=False), [1, 1, 0, 2])
        >>> SpanReadout(mode="top", path=True)(data, torch.tensor([[1.0], [2.0], [3.0], [4.0]]))
        tensor([[2., 4., 3.]])
    """

    def __init__(
        self, num_spans: int = 2, *, mode: str = "mean", path: bool = False, pieces: str = "all"
    ) -> None:
        super().__init__()
        self.num_spans = check_choice("num_spans", num_spans, (1, 2))
        self.mode, self.pieces, self.path = (
            check_choice("mode", mode, MODES),
            check_pieces(pieces),
            bool(path),
        )
        if path and num_spans < 2:
            raise ValueError("'path' joins two spans: 'num_spans' must be 2 (got 1)")

    @property
    def num_parts(self) -> int:
        """Number of concatenated states: one per span, and one for the path."""
        return self.num_spans + self.path

    def extra_repr(self) -> str:
        return f"{self.num_spans}, mode={self.mode!r}, path={self.path}, pieces={self.pieces!r}"

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        self(data, no_states(data))

    def forward(self, data: Data, x: Tensor) -> Tensor:
        members = _span_nodes(data, self.num_spans, self.mode, self.path, self.pieces)
        example, size = example_of(data), example_bounds(data).numel() - 1
        parts = [
            scatter(x.index_select(0, nodes), example[nodes], dim_size=size, reduce="mean")
            for nodes in members
        ]
        return torch.cat(parts, dim=-1)


@torch.compiler.disable  # reads values
@kept
def _span_nodes(data: Data, num_spans: int, mode: str, path: bool, pieces: str) -> tuple[Tensor, ...]:
    """The nodes of each part of the vector."""
    nodes = Nodes(data)
    most = (1 << num_spans) - 1
    if nodes.num_nodes and int(nodes.mark.max()) > most:
        raise ValueError(f"'mark' must be at most {most} (got {int(nodes.mark.max())}): more spans")
    spans = [1 << number for number in range(num_spans)]
    if mode == "mean":
        members = [in_span(nodes, span) for span in spans]
    else:
        members = [nodes.first == top_words(nodes, span)[nodes.example] for span in spans]
    if path:
        members.append(path_words(nodes)[nodes.first])
    if pieces == "first":
        members = [part & (nodes.first == nodes.index) for part in members]
    return tuple(part.nonzero().view(-1) for part in members)


class SpanModel(nn.Module):
    r"""Classifies one or two marked spans of a sentence by their states, like the entities in `"Matching the
    Blanks: Distributional Similarity for Relation Learning" <https://aclanthology.org/P19-1279/>`_ (its
    *entity start*, but with the mean instead of the start, and with marks that are added to the input instead
    of marker tokens).

    .. math::
        \hat{p} = \mathrm{softmax}(\mathbf{W} \mathbf{v} + \mathbf{b})

    with dropout on the vector :math:`\mathbf{v}` of :class:`SpanReadout`. The output is logits; the loss
    applies the softmax. The encoder itself must read marks, too (:meth:`TextEncoder.add_marks`).

    Args:
        encoder: Computes node states; has :attr:`hidden_channels`.
        readout: Computes a vector from the states.
        num_classes: Number of classes.
        dropout: Dropout probability. (default: :obj:`0.1`)

    Shapes:
        - data: a batch of :math:`B` examples with ``mark`` :math:`(|\mathcal{V}|)`
        - output: :math:`(B, C')`

    Raises:
        ValueError: If :obj:`num_classes` is below 1.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.data import mark_words
        >>> from graphdep.nn.models import SpanModel, SpanReadout, WordAverage
        >>> data = to_data([Sentence.chain(["A", "dog", "bites"])], vocab=Vocab(["A", "dog", "bites"]))
        >>> model = SpanModel(WordAverage(8, hidden_channels=4), SpanReadout(num_spans=1), num_classes=2)
        >>> model(mark_words(data, [1, 1, 0])).shape
        torch.Size([1, 2])
    """

    def __init__(
        self, encoder: nn.Module, readout: SpanReadout, num_classes: int, dropout: float = 0.1
    ) -> None:
        super().__init__()
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.encoder, self.readout = encoder, readout
        self.head = ClassificationHead(readout.num_parts * size, num_classes, dropout, std=0.02)

    def reset_parameters(self) -> None:
        """Resets all parameters, including added relations and terms; pretrained weights stay."""
        reset(self.encoder)
        self.head.reset_parameters()

    def forward(self, data: Data) -> Tensor:
        return self.head(self.readout(data, self.encoder(data)))


class LinearChainCRF(nn.Module):
    r"""Linear-chain conditional random field over the labels of sequences, from `"Conditional Random
    Fields: Probabilistic Models for Segmenting and Labeling Sequence Data"
    <https://repository.upenn.edu/handle/20.500.14332/6188>`_, on logits as in
    `"Natural Language Processing (Almost) from Scratch" <https://arxiv.org/abs/1103.0398>`_ (Eq. 12-14).

    .. math::
        s(\mathbf{x}, \mathbf{y}) = a_{y_1} + \sum_t f_{t, y_t} + \sum_{t > 1} \mathbf{A}_{y_{t-1}, y_t},
        \quad \log p(\mathbf{y} \mid \mathbf{x}) = s(\mathbf{x}, \mathbf{y}) -
        \log \sum_{\mathbf{y}'} \exp s(\mathbf{x}, \mathbf{y}')

    :math:`f` are logits, :math:`\mathbf{A}` transition scores between labels, :math:`\mathbf{a}` scores of
    the first label. Without :obj:`learned` all allowed transitions score 0: then :meth:`decode` is Viterbi
    search for the best allowed sequence, without parameters.

    Args:
        allowed: Whether label i may precede label j, ``[C, C]``, bool. (default: always)
        allowed_first: Whether each label may come first, ``[C]``, bool. (default: always)
        num_labels: Number of labels, if there are no tables. (default: :obj:`None`)
        learned: Learn the transition scores, starting at 0. (default: :obj:`True`)

    Shapes:
        - logits: :math:`(N, C)`, sequences concatenated; lengths: :math:`(B)`, long, all above 0, with sum
          :math:`N`; labels, and the output of :meth:`decode`: :math:`(N)`, long

    Scores are summed in float32, or in float64 for logits in float64.

    Raises:
        ValueError: If the number of labels is missing or ambiguous; no label may come first, or a label has
            no allowed successor; or logits, lengths and labels do not fit each other.

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
        sizes = given | ({check_count("num_labels", num_labels, 1)} if num_labels is not None else set())
        if len(sizes) != 1:
            found = " and ".join(map(str, sorted(sizes))) or "none"
            raise ValueError(
                f"one number of labels must be given, by tables or by 'num_labels' (got {found})"
            )
        size = sizes.pop()
        allowed = torch.ones(size, size, dtype=torch.bool) if allowed is None else allowed.bool()
        first = torch.ones(size, dtype=torch.bool) if allowed_first is None else allowed_first.bool()
        check_shape("allowed", allowed, size, size)
        check_shape("allowed_first", first, size)
        if not (first.any() and allowed.any(dim=1).all()):
            raise ValueError("some label must be allowed first, and after each label")
        # The tables follow from the labels, which a checkpoint has.
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
        """Negative log-likelihood of each label sequence, ``[B]``; infinite and without a gradient for a
        sequence that is not allowed.
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
        # Scores of forbidden labels are finite; infinite ones could give gradients of NaN.
        return torch.where(fits, alpha.logsumexp(dim=1) - score, torch.inf)

    @torch.no_grad()
    def decode(self, logits: Tensor, lengths: Tensor) -> Tensor:
        """The best allowed label sequences, by Viterbi's algorithm; among equally good ones, the sequence
        whose last labels have the lowest ids.
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
        check_shape("logits", logits, "N", size)
        if labels is None:
            return
        check_shape("labels", labels, len(logits))
        # On a GPU, a check would synchronize.
        if labels.device.type == "cpu" and bool(((labels < 0) | (labels >= size)).any()):
            raise ValueError(f"'labels' must be from 0 to {size - 1} (got {labels.tolist()})")

    def _scores(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of first labels ``[C]`` and of transitions ``[C, C]``; the lowest number if not allowed."""
        low = logits.new_full((), -1e9, dtype=_score_dtype(logits))
        first = self.first.to(low.dtype) if self.learned else torch.zeros_like(low)
        transition = self.transition.to(low.dtype) if self.learned else torch.zeros_like(low)
        return torch.where(self.allowed_first, first, low), torch.where(self.allowed, transition, low)


def _score_dtype(logits: Tensor) -> torch.dtype:
    return torch.promote_types(logits.dtype, torch.float32)


def _padded(rows: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Sequences as rows of a padded table ``[B, T, ...]``, and its mask of real entries: ``[B, T]``."""
    if (lengths < 1).any() or int(lengths.sum()) != rows.size(0):
        raise ValueError(f"'lengths' must be above 0 with sum {rows.size(0)} (got {lengths.tolist()})")
    longest = int(lengths.max()) if lengths.numel() else 1
    inside = torch.arange(longest, device=rows.device) < lengths.to(rows.device).unsqueeze(1)
    table = rows.new_zeros(*inside.shape, *rows.shape[1:])
    table[inside] = rows
    return (table.to(_score_dtype(table)) if table.is_floating_point() else table), inside
