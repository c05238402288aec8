"""The splits of a corpus, in memory, and the batches made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Sampler, SequentialSampler
from torch_geometric.loader import DataLoader

from graphdep.datasets.parsed_dataset import ParsedDataset
from graphdep.tasks import resolve_task
from graphdep.tasks.learning_task import epoch_seed
from graphdep.training.token_batches import TokenBatchSampler
from graphdep.training.train_config import TrainConfig
from graphdep.vocab import RelationVocab, Vocab

SPLITS = ("train", "val", "test")


class EpochSampler(Sampler[int]):
    """A random order for each epoch that depends on seed and epoch alone, not on what was drawn before.

    Args:
        size: Number of examples.
        seed: Seed.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed, self.epoch = size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(epoch_seed(self.seed, self.epoch))
        yield from torch.randperm(self.size, generator=generator).tolist()


@dataclass(frozen=True)
class Splits:
    """The splits of a corpus that share a vocabulary.

    Args:
        datasets: Datasets by split.
        vocab: Their words.
        relations: Their relations.
        settings: What :meth:`TrainConfig.data_settings` says of them; :obj:`None` where nobody knows.
            (default: :obj:`None`)
    """

    datasets: dict[str, ParsedDataset]
    vocab: Vocab
    relations: RelationVocab
    settings: Mapping[str, Any] | None = None

    def __getitem__(self, split: str) -> ParsedDataset:
        return self.datasets[split]

    def targets(self, split: str) -> Tensor:
        return self.datasets[split].y

    def loader(self, split: str, config: TrainConfig, *, shuffle: bool = False) -> DataLoader:
        """Batches of a split; shuffled, in an order that each epoch has its own."""
        dataset = self.datasets[split]
        order: Sampler[int] = (
            EpochSampler(len(dataset), config.seed) if shuffle else SequentialSampler(dataset)
        )
        batches: dict[str, Any] = {"batch_size": config.batch_size, "sampler": order}
        if config.batch_tokens is not None:
            batches = {"batch_sampler": TokenBatchSampler(order, example_sizes(dataset), config.batch_tokens)}
        # A generator of its own: the loader would draw from the global one, and change the dropout after it.
        generator = torch.Generator().manual_seed(config.seed)
        return DataLoader(
            dataset,
            generator=generator,
            num_workers=config.num_workers,
            follow_batch=["target_ids"] if "target_ids" in dataset._data else None,
            **batches,
        )

    def digest(self) -> str:
        """Digest of all examples: trees, words and targets."""
        sha = hashlib.sha256()
        for split, dataset in sorted(self.datasets.items()):
            for key, value in sorted(dataset._data.to_dict().items()):
                if isinstance(value, Tensor):
                    sha.update(f"{split} {key} {tuple(value.shape)} {value.dtype}".encode())
                    sha.update(value.contiguous().numpy().tobytes())
        return sha.hexdigest()[:16]

    def describe(self) -> dict[str, object]:
        """Sizes, and what the parser failed on."""
        sizes = {split: len(dataset) for split, dataset in self.datasets.items()}
        chains = {split: dataset.parser_failures for split, dataset in self.datasets.items()}
        unknown = {split: dataset.describe()["unknown_words"] for split, dataset in self.datasets.items()}
        parser = next(iter(self.datasets.values())).parser_fingerprint
        return {
            "examples": sizes,
            "vocabulary": len(self.vocab),
            "parser": parser,
            "chain_trees": chains,
            "unknown_words": unknown,
        }


def load_splits(config: TrainConfig, splits: tuple[str, ...] = SPLITS, vocab: Vocab | None = None) -> Splits:
    """Loads and, the first time, parses splits of the task's corpus.

    Args:
        config: The settings.
        splits: Which. (default: all)
        vocab: Vocabulary, e.g. a checkpoint's; :obj:`None` builds it from the training split. (default:
            :obj:`None`)

    Raises:
        ValueError: If the task is unknown, or a raw file is damaged.
        FileNotFoundError: If a raw file is missing.
    """
    task = resolve_task(config.task)
    datasets: dict[str, ParsedDataset] = {}
    for split in splits:
        datasets[split] = dataset = task.dataset(
            config.root or task.root,
            split,
            parser=config.parser,
            raw_from=config.raw_from,
            vocab=vocab,
            min_freq=config.min_freq,
            limit=config.limit_train if split == "train" else None,
            **task.options,
            **config.dataset_options(split),
        )
        vocab = vocab or dataset.vocab
    assert vocab is not None
    return Splits(datasets, vocab, RelationVocab(), config.data_settings())


def example_sizes(dataset: ParsedDataset) -> Tensor:
    """Nodes and target tokens of every example, ``[num_examples]``."""
    sizes = sum(dataset.slices[key].diff() for key in ("node_type", "target_ids") if key in dataset.slices)
    return sizes[list(dataset.indices())]
