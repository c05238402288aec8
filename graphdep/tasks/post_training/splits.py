"""The splits of post-training: samples drawn from the dialogues of a corpus of response selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import BatchSampler, Sampler, SequentialSampler
from torch_geometric.loader import DataLoader

from graphdep.datasets import Masking, PostTrainingDataset, PostTrainingSampler
from graphdep.datasets.post_training import positive_dialogues
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.tasks.post_training.config import PostTrainingConfig
from graphdep.training.build import fingerprint_of
from graphdep.training.config import TrainConfig
from graphdep.training.learning_task import SharedBatches
from graphdep.training.splits import NO_WORDS, Splits
from graphdep.training.task import resolve_task
from graphdep.vocab import RelationVocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


@dataclass(frozen=True, kw_only=True)
class PostTrainingSplits(Splits):
    """Splits of post-training.

    Args:
        samples: Samples by split; ``datasets`` are the corpora that they are drawn from.
        **others: As in :class:`Splits`.
    """

    samples: dict[str, PostTrainingDataset]

    def loader(
        self, split: str, config: TrainConfig, *, shuffle: bool = False, shared: bool = False
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
            num_workers=config.num_workers,
            persistent_workers=config.num_workers > 0,
        )

    def describe(self) -> dict[str, object]:
        sizes = {split: len(samples) for split, samples in self.samples.items()}
        return super().describe() | {"examples": sizes}


def load_post_training_splits(
    config: PostTrainingConfig, splits: tuple[str, ...], encoder: PretrainedEncoder
) -> PostTrainingSplits:
    """Loads splits of the corpus and makes dialogues of their contexts and right responses.

    Args:
        config: The settings.
        splits: Which.
        encoder: Whose pieces are masked.

    Raises:
        ValueError, FileNotFoundError: As :func:`~graphdep.training.load_splits`.
    """
    masking = Masking.of_tokenizer(encoder.tokenizer, config.share_masked)
    corpora = {split: _corpus(config, split, encoder) for split in splits}
    samples = {
        split: PostTrainingDataset(
            positive_dialogues(corpus, short_context=config.short_context, trees=config.parser != "chain"),
            encoder.tokens,
            masking,
            short_context=config.short_context,
            max_length=config.max_length,
            seed=config.seed,
        )
        for split, corpus in corpora.items()
    }
    return PostTrainingSplits(
        datasets=dict(corpora),
        vocab=NO_WORDS,
        relations=RelationVocab(),
        settings=config.data_settings(),
        encoder=fingerprint_of(encoder),
        samples=samples,
    )


def _corpus(config: PostTrainingConfig, split: str, encoder: PretrainedEncoder) -> SelectionDataset:
    task = resolve_task(config.corpus)
    options: dict[str, Any] = {"limit": config.limit_train if split == "train" else None}
    corpus = task.corpus(
        config.corpus_root,
        split,
        parser=config.parser,
        raw_from=config.raw_from,
        tokens=encoder.tokens,
        max_length=config.max_length,
        **{**options, **config.dataset_options(split), **task.options},
    )
    assert isinstance(corpus, SelectionDataset)
    return corpus
