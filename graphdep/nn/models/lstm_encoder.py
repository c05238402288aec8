"""LSTM and bidirectional LSTM over the words in their order."""

from __future__ import annotations

from graphdep.nn.models._recurrent_encoder import RecurrentEncoder


class LSTMEncoder(RecurrentEncoder):
    r"""An LSTM over the words of each utterance: the sequential baseline of `"Improved Semantic
    Representations From Tree-Structured Long Short-Term Memory Networks"
    <https://aclanthology.org/P15-1150/>`_.

    The state of a word is the LSTM's at that word; ROOT has the last state of the top layer. If
    :obj:`bidirectional`, each direction has half of the channels, and ROOT has the forward state at the last
    word, then the backward state at the first. Nodes that are neither word nor ROOT have zeros. Pretrained
    vectors enter in their own size.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states, both directions together. (default: :obj:`300`)
        bidirectional: Also read from the last word to the first. (default: :obj:`False`)
        num_layers: Number of layers. (default: :obj:`1`)
        in_channels: Size of the word vectors, where none are given. (default: :obj:`hidden_channels`)
        dropout: Dropout probability of the embeddings and between layers. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

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
