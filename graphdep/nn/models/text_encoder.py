"""What all encoders of utterances share."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from graphdep.nn.models._utterances import check_sentences, root_nodes


class TextEncoder(nn.Module):
    r"""Base of the encoders: a state for every node, and from those a vector for every utterance.

    A subclass sets :attr:`hidden_channels`, defines :meth:`forward`, and :meth:`readout` where an
    utterance is not represented by its ROOT node. So any encoder goes into
    :class:`~graphdep.nn.models.SentenceModel` and :class:`~graphdep.nn.models.SentencePairModel`.

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
        """Lets the encoder read ``data.mark`` (:func:`~graphdep.data.node_table`), such as 1 for the
        predicate whose roles are asked for: each mark has a vector that is added to the input of its nodes.
        A subclass whose input is no :class:`NodeEmbedding` by the name of ``embedding`` has its own.

        Args:
            number: Number of marks, 0 among them, which stands for none and adds nothing.

        Raises:
            ValueError: If it reads them already, or :obj:`number` is below 2.
        """
        self.embedding.add_marks(number)  # type: ignore[operator, union-attr]
        return self

    def add_relations(self, embedding: nn.Module) -> TextEncoder:
        """Lets the encoder read RELATION and PHRASE nodes, which ``resolve("dam")`` and
        ``resolve("constituents")`` make: see :meth:`NodeEmbedding.add_relations`. Only encoders whose layers
        go over edges have a use for them.

        Args:
            embedding: Such as :class:`~graphdep.nn.models.RelationEmbedding` with :attr:`hidden_channels`.

        Raises:
            ValueError: If it reads them already, or the vectors are of another size.
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
        """Raises :class:`ValueError`, which says the ``rule``, unless every example has so many texts that
        :meth:`readout` gives a vector for.
        """
        check_sentences(data, number, rule)
