"""The task of post-training and its data."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import BatchSampler, Sampler, SequentialSampler
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter

from graphdep.datasets.post_training import (
    Masking,
    PostTrainingDataset,
    PostTrainingSampler,
    positive_dialogues,
)
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.metrics.scores import ACCURACY, PERPLEXITY
from graphdep.nn.models.selection import PostTrainingModel, masked_nodes
from graphdep.nn.pretrained import PretrainedEncoder, load_masked_word_head
from graphdep.nn.static_batch import Flattener
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence
from graphdep.tasks.post_training.family import ENCODER
from graphdep.tasks.post_training.settings import LOSS, PostTrainingConfig
from graphdep.tasks.selection.model import encode_pair
from graphdep.training.build import (
    BuildInputs,
    backbone_of,
    embed_nodes,
    fingerprint_of,
    load_pretrained,
    make_optimizer,
    training_options,
)
from graphdep.training.config import TrainConfig
from graphdep.training.learning_task import LearningTask, Outputs
from graphdep.training.splits import NO_WORDS, SharedBatches, Splits, check_length, loader_options
from graphdep.training.task import resolve_task
from graphdep.transforms.edge_set import CLS
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import Vocab


@dataclass(frozen=True, kw_only=True)
class PostTrainingSplits(Splits):
    """Splits of post-training.

    Args:
        samples: Samples by split; ``datasets`` are their corpora.
        **others: See :class:`Splits`.
    """

    samples: dict[str, PostTrainingDataset]

    def loader(
        self,
        split: str,
        config: TrainConfig,
        edges: BaseTransform | None = None,
        *,
        shuffle: bool = False,
        shared: bool = False,
        flatten: Flattener | None = None,
    ) -> DataLoader:
        samples = self.samples[split]
        order: Sampler[Any] = (
            PostTrainingSampler(len(samples), config.seed) if shuffle else SequentialSampler(samples)
        )
        batches: dict[str, Any] = {"batch_size": config.batch_size, "sampler": order}
        if shared:
            whole = BatchSampler(order, config.batch_size, drop_last=False)
            batches = {"batch_sampler": SharedBatches(whole)}
        return DataLoader(
            samples,
            **batches,
            generator=torch.Generator().manual_seed(config.seed),
            **loader_options(config, len(samples), None),
        )

    def example_digests(self, split: str) -> list[str]:
        return self.samples[split].example_digests()

    def describe(self) -> dict[str, object]:
        sizes = {split: len(samples) for split, samples in self.samples.items()}
        return super().describe() | {"examples": sizes}


def load_post_training_splits(
    config: PostTrainingConfig,
    splits: tuple[str, ...],
    encoder: PretrainedEncoder,
    relations: RelationVocab | None = None,
) -> PostTrainingSplits:
    """Loads splits of the corpus and makes dialogues from contexts with right responses.

    Args:
        config: The settings.
        splits: Names of the splits.
        encoder: The encoder with the tokenizer.
        relations: Relations of a checkpoint; :obj:`None` for those of the first split. (default: :obj:`None`)

    Raises:
        ValueError, FileNotFoundError: See :func:`~graphdep.training.load_splits`.
    """
    masking = Masking.of_tokenizer(encoder.tokenizer, config.share_masked)
    corpora: dict[str, SelectionDataset] = {}
    for split in splits:
        corpora[split] = _corpus(config, split, encoder, relations or config.relations)
        relations = relations or corpora[split].relations
    assert relations is not None
    samples = {
        split: PostTrainingDataset(
            positive_dialogues(corpus, short_context=config.short_context, trees=config.parser != "chain"),
            encoder.tokens,
            masking,
            relations=relations,
            short_context=config.short_context,
            max_length=config.max_length,
            seed=config.seed,
            arcs=config.arcs,
            constituents=config.reads_constituents,
        )
        for split, corpus in corpora.items()
    }
    return PostTrainingSplits(
        datasets=dict(corpora),
        vocab=NO_WORDS,
        relations=relations,
        settings=config.data_settings(),
        encoder=fingerprint_of(encoder),
        samples=samples,
    )


def _corpus(
    config: PostTrainingConfig, split: str, encoder: PretrainedEncoder, relations: str | RelationVocab
) -> SelectionDataset:
    task = resolve_task(config.corpus)
    options: dict[str, Any] = {"limit": config.limit_train if split == "train" else None}
    corpus = task.corpus(
        config.corpus_root,
        split,
        parser=config.parser,
        raw_from=config.raw_from,
        tokens=encoder.tokens,
        relations=relations,
        max_length=config.max_length,
        **{**options, **config.dataset_options(split), **task.options},
    )
    assert isinstance(corpus, SelectionDataset)
    return corpus


class PostTrainingTask(LearningTask):
    r"""Learns masked words and the relevance of responses, from "Fine-grained Post-training for Improving
    Retrieval-based Dialogue Systems" (BERT-FP).

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{MLM}} + \mathcal{L}_{\mathrm{URC}}

    Both are cross entropies, means over the masked pieces and over the samples of a batch. The best epoch has
    the smallest loss; the public code takes the last of 25 to 34 epochs.

    Args:
        model: The model.
        edges: Transform that builds the edges of a batch, including the tree control.
        optimizer: See :class:`LearningTask`.
        **options: See :class:`LearningTask`.

    Example:
        >>> from graphdep.nn.conv import AttentionConv
        >>> from graphdep.nn.models import GraphTransformer, PostTrainingModel
        >>> from graphdep.tasks import PostTrainingTask
        >>> from graphdep.transforms import resolve
        >>> encoder = GraphTransformer(50, lambda layer: AttentionConv(8, 8), hidden_channels=8, segments=2)
        >>> task = PostTrainingTask(PostTrainingModel(encoder), resolve("transformer"))
        >>> [metric.name for metric in task.metrics]
        ['loss']
    """

    metrics = (LOSS,)
    model: PostTrainingModel

    @classmethod
    def build(cls, config: PostTrainingConfig, parts: BuildInputs) -> Self:
        assert parts.pretrained is not None
        model = PostTrainingModel(parts.pretrained)
        embed_nodes(config, parts.num_relations, parts.pretrained)
        return cls(model, cls.make_edges(config), make_optimizer(config), **training_options(config))

    @classmethod
    def reads(cls, config: PostTrainingConfig) -> frozenset[str]:
        return super().reads(config) | {CLS}

    @classmethod
    def load(
        cls,
        config: PostTrainingConfig,
        splits: tuple[str, ...],
        vocab: Vocab | None = None,
        pretrained: PretrainedEncoder | None = None,
        relations: RelationVocab | None = None,
        *known: Any,
    ) -> Splits:
        pretrained = pretrained or load_pretrained(config)
        check_length(config, pretrained)
        return load_post_training_splits(config, splits, pretrained, relations)

    def begin(self, config: PostTrainingConfig) -> None:
        load_masked_word_head(self.model.words, config.encoder)

    def finish(self, folder: Path) -> None:
        """Writes the encoder for :func:`~graphdep.nn.pretrained.load_encoder` atomically."""
        part = folder / f"{ENCODER}.part"
        shutil.rmtree(part, ignore_errors=True)
        backbone_of(self.model).save_pretrained(part)
        shutil.rmtree(folder / ENCODER, ignore_errors=True)
        os.replace(part, folder / ENCODER)

    def example(
        self,
        config: PostTrainingConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        """The last turns of a context and the response, without masks."""
        tokens = backbone_of(self.model).tokens
        return encode_pair(texts, parser, tokens, relations, config, config.short_context)

    def loss(self, batch: Batch) -> Tensor:
        words, relevance = self.model(batch)
        target = batch.mlm_target[masked_nodes(batch)]
        # A batch of short samples may have no masked piece.
        mlm = F.cross_entropy(words.float(), target, reduction="sum") / max(1, len(target))
        urc = F.cross_entropy(relevance.float(), batch.y)
        for name, value in (("mlm", mlm), ("relevance", urc)):
            self.log_loss(f"train_{name}", value, batch.num_graphs)
        return mlm + urc

    def outputs(self, batch: Batch) -> Outputs:
        """Per sample: the sum of the losses of its masked pieces, their number, the number of correct ones,
        relevance logits, label.
        """
        words, relevance = self.model(batch)
        masked = masked_nodes(batch)
        target, sample = batch.mlm_target[masked], batch.batch[masked]
        losses = F.cross_entropy(words.float(), target, reduction="none")
        right = (words.argmax(-1) == target).to(losses.dtype)
        counted = torch.stack([losses, torch.ones_like(losses), right])
        loss, number, right = scatter(counted, sample, dim=1, dim_size=batch.num_graphs, reduce="sum")
        return loss, number.long(), right.long(), relevance, batch.y

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        loss, number, right = (output.double().numpy() for output in outputs[:3])
        y, prediction = outputs[4].numpy(), outputs[3].argmax(-1).numpy()
        pieces = max(1.0, number.sum())
        return {
            f"{prefix}_{LOSS.name}": LOSS(*reversed(self.compared(outputs))),
            f"{prefix}_mlm_perplexity": PERPLEXITY(loss, number) if number.sum() else 1.0,
            f"{prefix}_mlm_accuracy": float(right.sum() / pieces),
            f"{prefix}_relevance_accuracy": ACCURACY(prediction, y),
        }

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Labels, and the share of each sample in the loss of the split."""
        loss, number, _, relevance, y = outputs
        pieces = number.double().mean().clamp(min=1 / len(number))
        urc = F.cross_entropy(relevance.double(), y, reduction="none")
        return y.numpy(), (loss.double() / pieces + urc).numpy()

    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        """The accuracy of the most frequent label."""
        y = outputs[4].numpy()
        assert ACCURACY.floor is not None
        return {f"{split}_relevance_accuracy": ACCURACY.floor(y, y)}
