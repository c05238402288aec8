"""Labels of words, trained with Lightning."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.base.rows import UNSCORED
from graphdep.metrics import Metric
from graphdep.metrics.scores import NOTHING
from graphdep.nn.models import LinearChainCRF, TokenModel
from graphdep.nn.models.heads import word_nodes
from graphdep.tasks.labels.scoring import LabelScoring, ScoredWords
from graphdep.training.learning_task import LearningTask, MakeOptimizer, Outputs


class LabelTask(LearningTask):
    r"""Learns a label for each word.

    The loss is the mean cross entropy of the words of a batch whose labels are known; with a chain that is
    learned, minus the log-likelihood of the labels of whole examples, over as many words. There words
    without a label, and with one that training does not have, count as no finding.

    Args:
        model: Gives logits and the nodes that they belong to, a row a word.
        edges: Transform that builds the batch's edges, the tree control included.
        scoring: What labels are worth.
        metrics: The metrics that systems are compared by; the first decides which epoch is the best. That is
            ``"exact"``, over groups of examples, or one of those over words.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        chain: Finds the best sequence of labels, for words one by one in place of it. (default: :obj:`None`)
        warmup_steps, seed: As in :class:`LearningTask`.

    Shapes:
        - ``batch.y``: :math:`(W)`, a number for each word in the order of the words; -1 for a label that
          training does not have, -100 for none
        - ``batch.example_id``, ``batch.group``: :math:`(B)`, the number of each example in its split, and one
          that those share that are right together or not at all
        - ``batch.sentence``: :math:`(B)`, a number that the examples of one sentence share
        - ``batch.cut_y``, ``batch.cut_y_batch``: :math:`(K)`, as ``y``, of words that were cut from the ends
          of examples, and their examples, where some may have been
    """

    model: TokenModel

    def __init__(
        self,
        model: TokenModel,
        edges: BaseTransform,
        scoring: LabelScoring,
        metrics: tuple[Metric, ...],
        optimizer: MakeOptimizer | None = None,
        *,
        chain: LinearChainCRF | None = None,
        warmup_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, edges, optimizer, warmup_steps=warmup_steps, seed=seed)
        self.scoring, self.metrics, self.chain = scoring, metrics, chain

    def forward(self, batch: Batch) -> Tensor:
        """Logits of the words of a batch that has edges: ``[W, classes]``."""
        return self.model(batch)[0]

    def loss(self, batch: Batch) -> Tensor:
        logits = self(batch).float()
        known = (batch.y >= 0).sum().clamp(min=1)
        if self.chain is None or not self.chain.learned:
            return word_losses(logits, batch.y).sum() / known
        losses = self.chain(logits, self._lengths(batch), self._filled(batch.y))
        if bool((losses == torch.inf).any()):
            raise ValueError("the labels of an example are none that the rules of spans (BIO) allow")
        return losses.sum() / known

    def items(self, batch: Batch) -> float:
        """Words with a label."""
        return float((batch.y >= 0).sum())

    def predict(self, batch: Batch, logits: Tensor) -> Tensor:
        """The number of the label of each word of a batch: ``[W]``."""
        if self.chain is None or not logits.size(0):
            return logits.argmax(dim=-1)
        return self.chain.decode(logits, self._lengths(batch))

    def outputs(self, batch: Batch) -> Outputs:
        """A row a scored word, in the order of examples and words: the prediction, its loss, 0 where the
        label is unknown, the target, and the numbers of example, group, word and sentence. The prediction for
        a word that was cut away is -2, and its loss 0.
        """
        logits = self(batch).float()
        y, example, place = self._words(batch)
        cut = y[len(logits) :]
        columns = (
            torch.cat([self.predict(batch, logits), torch.full_like(cut, NOTHING)]),
            torch.cat([word_losses(logits, batch.y), logits.new_zeros(len(cut))]),
            y,
            batch.example_id[example],
            batch.group[example],
            place,
            batch.sentence[example],
        )
        kept = _scored(y, example)
        return tuple(column[kept] for column in columns)

    def rows(self, batch: Batch) -> Tensor:
        """The example of each row of :meth:`outputs`, counted within the batch."""
        y, example, _ = self._words(batch)
        return example[_scored(y, example)]

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        losses, known = outputs[1].double(), outputs[2] >= 0
        scores = self.scoring.scores(outputs[0].numpy(), scored_words(outputs))
        loss = {f"{prefix}_loss": float(losses.sum() / known.sum().clamp(min=1))}
        return loss | {f"{prefix}_{name}": value for name, value in scores.items()}

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions of the scored words, as codes of :class:`LabelScoring`; where whole
        examples are compared, a 1 for each group, and 1 or 0 for whether it is right.
        """
        prediction, words = outputs[0].numpy(), scored_words(outputs)
        if self.metrics[0].name == "exact":
            right, all_right = self.scoring.exact(prediction, words)
            return all_right, right
        return self.scoring.codes(words.target, words), self.scoring.codes(prediction, words)

    def groups(self, outputs: Outputs) -> np.ndarray:
        """The sentence of each scored word; where whole examples are compared, that of each group."""
        sentence, group = outputs[6].numpy(), outputs[4].numpy()
        if self.metrics[0].name == "exact":
            return sentence[np.unique(group, return_index=True)[1]]
        return sentence

    def _words(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Target, example in the batch and number there of each word, those that were cut away at the end."""
        example, place = self._places(batch)
        if "cut_y" not in batch:
            return batch.y, example, place
        cut = batch.cut_y_batch
        left = example.bincount(minlength=batch.num_graphs)[cut]
        count = cut.bincount(minlength=batch.num_graphs)
        number = torch.arange(len(cut), device=cut.device) - (count.cumsum(0) - count)[cut]
        parts = (batch.y, batch.cut_y), (example, cut), (place, left + number)
        y, example, place = (torch.cat(pair) for pair in parts)
        return y, example, place

    def _places(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The example of each word that the model reads, and its number there: ``[W]``."""
        nodes = word_nodes(batch)
        return batch.batch[nodes], batch.word[nodes]

    def _lengths(self, batch: Batch) -> Tensor:
        """How many words the examples that have some have."""
        count = self._places(batch)[0].bincount()
        return count[count > 0]

    def _filled(self, y: Tensor) -> Tensor:
        """Labels for all words: where there is none, that of no finding, or inside of a span its label."""
        if self.scoring.scheme != "bio":
            return y.clamp(min=0)
        goes_on = {n for n, label in enumerate(self.scoring.labels) if str(label).startswith("I-")}
        filled = y.tolist()
        for word in range(len(filled) - 1, -1, -1):
            if filled[word] < 0:
                after = filled[word + 1] if word + 1 < len(filled) else 0
                filled[word] = after if after in goes_on else 0
        return torch.tensor(filled, device=y.device)


def _scored(y: Tensor, example: Tensor) -> Tensor:
    """The numbers of the scored words, those of an example one behind the other."""
    scored = (y != UNSCORED).nonzero().view(-1)
    return scored[example[scored].argsort(stable=True)]


def scored_words(outputs: Outputs) -> ScoredWords:
    """What is there, of the outputs of a split."""
    target, example, group, place = (output.numpy() for output in outputs[2:6])
    return ScoredWords(target, example, group, place)


def word_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Cross entropy of each word ``[W]``; 0 for words without a label, or with one that is no class."""
    return F.cross_entropy(logits, torch.where(y < 0, UNSCORED, y), ignore_index=UNSCORED, reduction="none")
