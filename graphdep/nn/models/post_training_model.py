"""Masked words and the relevance of a response, from one encoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from graphdep.nn.models.masked_word_head import MaskedWordHead
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.selection_model import cls_nodes

NUM_LABELS = 3


class PostTrainingModel(nn.Module):
    r"""An encoder with the two heads of `"Fine-grained Post-training for Improving Retrieval-based Dialogue
    Systems" <https://aclanthology.org/2021.naacl-main.122/>`_ (BERT-FP): masked words, and the relevance of
    the response to the context in three classes.

    .. math::
        \mathbf{z}_i = \mathrm{MLM}(\mathbf{h}_i), \quad
        \mathbf{r} = \mathbf{W}_r \tanh(\mathbf{W}_p \mathbf{h}_{\mathrm{CLS}} + \mathbf{b}_p) + \mathbf{b}_r

    with BERT's :class:`MaskedWordHead`, which shares the encoder's input vectors, and BERT's pooler before
    the relevance, as in the public code. Both heads are left behind after post-training. They start anew;
    :func:`graphdep.nn.pretrained.load_masked_word_head` takes the first from a checkpoint that has one.

    Only masked nodes have word logits: there is never a tensor of all nodes and all words.

    Args:
        encoder: Gives node states and has :attr:`hidden_channels`:
            :class:`~graphdep.nn.pretrained.PretrainedEncoder` or :class:`GraphTransformer`.

    Shapes:
        - data: a batch of :math:`B` samples of :class:`~graphdep.datasets.PostTrainingDataset`, of whose
          nodes :math:`M` are asked for (``mlm_target >= 0``)
        - outputs: word logits :math:`(M, |\mathcal{W}|)` in the order of the nodes, and relevance logits
          :math:`(B, 3)`

    Raises:
        ValueError: If the encoder has no table of input vectors, or an example has no CLS node or several.

    Example:
        >>> import torch
        >>> from graphdep.nn.models import PostTrainingModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does .")])
        >>> data.mlm_target = torch.full_like(data.input_ids, -1).index_fill_(0, torch.tensor([1, 2]), 7)
        >>> [out.shape[0] for out in PostTrainingModel(encoder)(data)]
        [2, 1]
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        num_words, dim = word_vectors(encoder).weight.shape
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.encoder = encoder
        self.words = MaskedWordHead(size, num_words, dim)
        self.pool = nn.Linear(size, size)
        self.relevance = nn.Linear(size, NUM_LABELS)
        self._reset_heads()  # the encoder comes with its weights

    def reset_parameters(self) -> None:
        """Draws everything anew, the heads as BERT's are, added relations and terms too; pretrained weights
        stay.
        """
        reset(self.encoder)
        self._reset_heads()

    def _reset_heads(self) -> None:
        self.words.reset_parameters()
        for lin in (self.pool, self.relevance):
            nn.init.normal_(lin.weight, std=0.02)
            nn.init.zeros_(lin.bias)

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        x = self.encoder(data)
        masked = x.index_select(0, masked_nodes(data))
        cls = x.index_select(0, cls_nodes(data))
        words = self.words(masked, word_vectors(self.encoder).weight)
        return words, self.relevance(self.pool(cls).tanh())


@torch.compiler.disable  # reads values
def masked_nodes(data: Data) -> Tensor:
    """The nodes whose word is asked for."""
    return (data.mlm_target >= 0).nonzero().view(-1)


def word_vectors(encoder: nn.Module) -> nn.Embedding:
    """The table of an encoder's input vectors.

    Raises:
        ValueError: If it has none.
    """
    embedding = getattr(encoder, "embedding", None)
    if isinstance(embedding, NodeEmbedding):
        return embedding.word
    model: Any = getattr(encoder, "model", None)
    if not hasattr(model, "get_input_embeddings"):
        raise ValueError(
            f"'encoder' ({type(encoder).__name__}) has no table of input vectors, which masked words need"
        )
    return model.get_input_embeddings()
