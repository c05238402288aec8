"""LSTM and GRU over sequences of words."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from torch_geometric.data import Data

from graphdep.io.limits import check_choice, check_least
from graphdep.nn.attention.layout import TensorContainer
from graphdep.nn.models.embedding import check_directions, word_embedding
from graphdep.nn.models.transformer import TextEncoder, root_nodes, utterance_of, words_of
from graphdep.nn.prepared import kept


def run_over(
    rnn: nn.RNNBase, x: Tensor, packing: Packing, start: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The states at all positions, ``[places, C]``, and the last ones of each sequence, ``[layers *
    directions, sequences, C]``; an LSTM's memory cells are not returned.

    Equals ``pack_sequence(x.split(length), enforce_sorted=False)`` and ``unpack_sequence``, but gathers rows
    once instead of slice by slice: the backward pass of every slice allocates a gradient of full size, which
    took a third of a BiLSTM's step on a CPU.

    Args:
        rnn: An LSTM or a GRU.
        x: The concatenated sequences: ``[places, in]``.
        packing: The packing of their lengths.
        start: The initial states, in the shape of the last ones. (default: zeros)
    """
    rows = x.index_select(0, packing.order)
    sizes = torch.tensor(packing.sizes, device="cpu")
    out, last = rnn(PackedSequence(rows, sizes, packing.longest_first, packing.rank), start)
    return out.data.index_select(0, packing.place), last[0] if isinstance(last, tuple) else last


class Packing(TensorContainer):
    """All first positions of sequences, then all second ones, longest sequences first.

    Args:
        length: The length of each sequence, at least 1: ``[sequences]``.

    Attributes:
        order: The rows of the sequences in packed order, ``[places]``.
        place: The packed position of each row.
        sizes: Number of first positions, of second ones, and so on.
        longest_first, rank: The sequences by descending length, and the rank of each.

    Raises:
        ValueError: If a length is below 1.
    """

    def __init__(self, length: Tensor) -> None:
        self.longest_first = length.argsort(descending=True, stable=True)
        self.rank = self.longest_first.argsort()
        sequence = torch.arange(length.numel(), device=length.device).repeat_interleave(length)
        row = torch.arange(sequence.numel(), device=length.device)
        place = row - (length.cumsum(0) - length)[sequence]
        self.order = (place * length.numel() + self.rank[sequence]).argsort()
        self.place = self.order.argsort()
        self.sizes: list[int] = place.bincount().tolist()
        if self.sizes[:1] != [length.numel()]:
            raise ValueError(f"sequences must have a length of at least 1 (got {length.tolist()})")


class LSTM(nn.LSTM):
    """:class:`torch.nn.LSTM`, in the precision of its weights if the processor has no LSTM in that of
    autocast: without AVX-512, oneDNN has none in bfloat16 or float16 and raises an error.
    """

    def forward(self, input: Any, hx: Any = None) -> Any:
        if not (torch.is_autocast_enabled("cpu") and self.weight_ih_l0.device.type == "cpu"):
            return super().forward(input, hx)
        if _processor_has_one(torch.get_autocast_dtype("cpu")):
            return super().forward(input, hx)
        with torch.autocast("cpu", enabled=False):
            return super().forward(input.to(self.weight_ih_l0.dtype), hx)


@cache
def _processor_has_one(dtype: torch.dtype) -> bool:
    with torch.random.fork_rng(devices=[]):  # keeps random numbers equal on every processor
        probe = nn.LSTM(1, 1)
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=dtype):
            probe(torch.zeros(1, 1, 1))
    except RuntimeError:
        return False
    return True


CELLS: dict[str, type[nn.GRU] | type[nn.LSTM]] = {"gru": nn.GRU, "lstm": LSTM}


def make_rnn(
    cell: str, in_channels: int, channels: int, *, bidirectional: bool, num_layers: int, dropout: float
) -> nn.RNNBase:
    """A network whose states, both directions together, have ``channels`` channels."""
    check_directions(channels, bidirectional)
    return CELLS[cell](
        in_channels,
        channels // 2 if bidirectional else channels,
        num_layers,
        dropout=dropout if num_layers > 1 else 0.0,
        bidirectional=bidirectional,
    )


def last_layer(rnn: nn.RNNBase, last: Tensor) -> Tensor:
    """The last states of the top layer, directions concatenated: ``[sequences, C]``."""
    return torch.cat([*last[-1 - rnn.bidirectional :]], dim=-1)


class WordRNN(nn.Module):
    r"""Reads each utterance word by word, after its ROOT node as a start symbol, so that an utterance without
    words also has a state.

    Args:
        hidden_channels: Size of inputs and states, both directions together.
        cell: ``"gru"`` or ``"lstm"``.
        bidirectional: Also read from the last word to ROOT.
        num_layers: Number of layers.
        dropout: Dropout probability between layers.

    Raises:
        ValueError: If :obj:`cell` is unknown, or :obj:`hidden_channels` odd for two directions.
    """

    def __init__(
        self, hidden_channels: int, *, cell: str, bidirectional: bool, num_layers: int, dropout: float
    ) -> None:
        super().__init__()
        options: Any = {"bidirectional": bidirectional, "num_layers": num_layers, "dropout": dropout}
        self.rnn = make_rnn(check_choice("cell", cell, CELLS), hidden_channels, hidden_channels, **options)

    def forward(self, data: Data, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Nodes that were read ``[words]``, their states ``[words, C]``, and the last state of each utterance
        ``[utterances, C]``: the forward one at the last word, then the backward one at ROOT.
        """
        nodes, packing = _with_roots(data)
        states, last = run_over(self.rnn, x.index_select(0, nodes), packing)
        return nodes, states, last_layer(self.rnn, last)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        _with_roots(data)


@kept
def _with_roots(data: Data) -> tuple[Tensor, Packing]:
    """The ROOT nodes and the words, by utterance."""
    nodes = torch.cat([root_nodes(data), words_of(data)]).sort().values
    return nodes, Packing(utterance_of(data)[nodes].bincount())


@kept
def _words_of_utterances(data: Data) -> tuple[Tensor, Tensor, Packing]:
    """The words, the utterances that have words, and the words by utterance."""
    words = words_of(data)
    utterance, length = utterance_of(data)[words].unique_consecutive(return_counts=True)
    return words, utterance, Packing(length)


class RecurrentEncoder(TextEncoder):
    """Base class of :class:`LSTMEncoder` and :class:`GRUEncoder`, which set the :attr:`cell`."""

    cell: ClassVar[str]

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        bidirectional: bool = False,
        num_layers: int = 1,
        in_channels: int | None = None,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
        num_relations: int = 0,
    ) -> None:
        super().__init__()
        check_least("hidden_channels", hidden_channels, 1)
        self.hidden_channels = hidden_channels
        if vectors is not None:
            in_channels = vectors.size(-1)
        in_channels = hidden_channels if in_channels is None else in_channels
        self.embedding = word_embedding(num_words, in_channels, vectors, dropout)
        self.labels = nn.Embedding(num_relations, in_channels) if num_relations else None
        if self.labels is not None:  # in the scale of word vectors
            nn.init.normal_(self.labels.weight, std=float(self.embedding.word.weight.detach().std()))
        options: Any = {"bidirectional": bidirectional, "num_layers": num_layers, "dropout": dropout}
        self.add_module(self.cell, make_rnn(self.cell, in_channels, hidden_channels, **options))

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        if words_of(data).numel():
            root_nodes(data)
            _words_of_utterances(data)

    def forward(self, data: Data) -> Tensor:
        root = root_nodes(data)
        embedded = self.embedding(data)
        if words_of(data).numel() == 0:
            return embedded.new_zeros(embedded.size(0), self.hidden_channels)
        if self.labels is not None:
            embedded = embedded + self.labels(data.deprel)
        words, utterance, packing = _words_of_utterances(data)
        network: nn.RNNBase = getattr(self, self.cell)
        states, last = run_over(network, embedded.index_select(0, words), packing)
        x = states.new_zeros(data.num_nodes, self.hidden_channels).index_copy(0, words, states)
        return x.index_copy(0, root[utterance], last_layer(network, last))


class LSTMEncoder(RecurrentEncoder):
    r"""An LSTM over the words of each utterance: the sequential baseline of `"Improved Semantic
    Representations From Tree-Structured Long Short-Term Memory Networks"
    <https://aclanthology.org/P15-1150/>`_.

    The state of a word is the LSTM's at that word; ROOT has the last state of the top layer. If
    :obj:`bidirectional`, each direction has half of the channels, and ROOT has the forward state at the last
    word, then the backward state at the first. All other nodes have zeros. Pretrained vectors keep their
    size.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states, both directions together. (default: :obj:`300`)
        bidirectional: Also read from the last word to the first. (default: :obj:`False`)
        num_layers: Number of layers. (default: :obj:`1`)
        in_channels: Size of the word vectors, if none are given. (default: :obj:`hidden_channels`)
        dropout: Dropout probability of the embeddings and between layers. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)
        num_relations: Number of relation ids, to add a vector of its arc's label to each word: the parse
            without its arcs. (default: :obj:`0`, without labels)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`hidden_channels` is below 1, or odd for two directions, or the data has no
            ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import LSTMEncoder
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> LSTMEncoder(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    cell = "lstm"


class GRUEncoder(RecurrentEncoder):
    r"""A GRU (`"Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
    Translation" <https://aclanthology.org/D14-1179/>`_) over the words of each utterance.

    The state of a word is the GRU's at that word; ROOT has the last state of the top layer. If
    :obj:`bidirectional`, each direction has half of the channels, and ROOT has the forward state at the last
    word, then the backward state at the first. All other nodes have zeros. Pretrained vectors keep their
    size.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states, both directions together. (default: :obj:`300`)
        bidirectional: Also read from the last word to the first. (default: :obj:`False`)
        num_layers: Number of layers. (default: :obj:`1`)
        in_channels: Size of the word vectors, if none are given. (default: :obj:`hidden_channels`)
        dropout: Dropout probability of the embeddings and between layers. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)
        num_relations: Number of relation ids, to add a vector of its arc's label to each word: the parse
            without its arcs. (default: :obj:`0`, without labels)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`hidden_channels` is below 1, or odd for two directions, or the data has no
            ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import GRUEncoder
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> GRUEncoder(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    cell = "gru"
