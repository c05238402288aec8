"""The whole context as one sequence of nodes."""

from __future__ import annotations

from typing import cast

from torch_geometric.data import Data

from graphdep.nn.models.context_encoder import ContextEncoder, example_bounds
from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder


class ContextTransformer(ContextEncoder):
    r"""Hands the node states of a :class:`TextEncoder` to the decoder: the Transformer of `"Modeling
    Compositionality with Dependency Graph for Dialogue Generation"
    <https://aclanthology.org/2022.suki-1.2/>`_, and Transformer+DRA, LISA, GATE and Tree-Transformer, which
    differ from it by edges and scores alone.

    A row of the memory is a node, ROOT nodes included; its group is its utterance. Without position embedding
    in :obj:`encoder`, as with DRA, neither the order of words nor that of turns is known: turns of equal
    content give equal rows.

    Args:
        encoder: Encodes the nodes, e.g. :class:`GraphTransformer` or :class:`ConstituentTransformer`; has an
            ``embedding``.

    Shapes:
        - data: what :obj:`encoder` takes; output: a :class:`Memory` of :math:`|\mathcal{V}|` rows

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import ContextTransformer, LSTMEncoder
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> ContextTransformer(LSTMEncoder(num_words=11, hidden_channels=8))(data)
        Memory(x=[8, 8], ptr=[2], group=[8])
    """

    def __init__(self, encoder: TextEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.hidden_channels = encoder.hidden_channels

    @property
    def embedding(self) -> NodeEmbedding:  # type: ignore[override]
        return cast(NodeEmbedding, self.encoder.embedding)

    def forward(self, data: Data) -> Memory:
        return Memory(self.encoder(data), example_bounds(data), data.utterance)
