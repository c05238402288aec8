"""An encoder and a head for pairs of sentences."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models.sentence_model import SentenceModel


class SentencePairModel(SentenceModel):
    r"""Encodes both sentences of every example with one encoder and compares them with a head.

    Args:
        encoder: Gives node states and sentence vectors.
        head: Takes the vectors of the first and of the second sentences.

    Shapes:
        - data: a batch of :math:`B` examples of two utterances each; output: the head's, :math:`(B, C')`

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

    def forward(self, data: Data) -> Tensor:
        self.encoder.check_texts(data, 2, "pairs have two sentences each")
        vectors = self.encoder.readout(data, self.encoder(data))
        left, right = vectors.view(-1, 2, vectors.size(-1)).unbind(dim=1)
        return self.head(left, right)
