"""What of a context a model looks at while it makes a response."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.decoding import Hypothesis
from graphdep.nn.models import ContextTransformer, DialogueModel, TransformerDecoder
from graphdep.sentence import Sentence
from graphdep.visualization.side import Answer, WordNodes

_SHOWN = 3
TITLE = "each word of it looks most at (decoder, last layer, mean of its heads)"


@torch.no_grad()
def looked_at(
    model: DialogueModel, state: Any, batch: Data, trees: Sequence[Sentence], response: Hypothesis
) -> list[Answer]:
    """The words of the context, or its turns, that each word of a response attends to most, with the weights
    of the decoder's last layer, the mean of its heads; nothing where the decoder has no attention of this
    kind, or the model says nothing.

    Args:
        model: A model of dialogues, in evaluation mode.
        state: What its checkpoint knows beside the weights.
        batch: One context with its edges.
        trees: The trees of its turns.
        response: What the model says.
    """
    if not isinstance(model.decoder, TransformerDecoder) or not response.ids:
        return []
    memory = model.encoder(batch)
    ids = torch.tensor(response.ids, device=memory.x.device)
    weights = model.decoder.attention(memory, ids)[-1].mean(dim=0).cpu()
    if isinstance(model.encoder, ContextTransformer):
        nodes = WordNodes.of(batch.cpu(), [tree.form for tree in trees], state.relations)
        names, entry = _with_turns(nodes), nodes.entry
    elif weights.size(1) == len(trees):
        names, entry = [f"turn {number + 1}" for number in range(len(trees))], torch.arange(len(trees))
    else:
        return []
    joined = weights.new_zeros(len(weights), len(names)).index_add_(1, entry, weights)
    words = state.vocab.words_of(response.ids)
    rows = tuple((f"{word}\t{_most(row, names)}", None) for word, row in zip(words, joined))
    return [Answer("words", TITLE, rows)]


def _with_turns(nodes: WordNodes) -> list[str]:
    """The names, with the number of the turn where several nodes have the same one."""
    several = {name for name, count in Counter(nodes.names).items() if count > 1}
    pairs = zip(nodes.names, nodes.utterance)
    return [f"{name} (turn {turn + 1})" if name in several else name for name, turn in pairs]


def _most(weights: Tensor, names: Sequence[str]) -> str:
    best = weights.topk(min(_SHOWN, len(names)))
    return ", ".join(
        f"{names[n]} {value:.2f}" for value, n in zip(best.values.tolist(), best.indices.tolist())
    )
