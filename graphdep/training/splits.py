"""The splits of a corpus, and the batches made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, Sampler, SequentialSampler
from torch_geometric.loader import DataLoader as GraphLoader

from graphdep.data.stored_batches import StoredBatches
from graphdep.datasets.base.parsed import ParsedDataset
from graphdep.datasets.base.rows import Label
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.training.build import fingerprint_of, load_pretrained
from graphdep.training.config import TrainConfig
from graphdep.training.learning_task import SharedBatches, TokenBatchSampler, epoch_seed
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import Vocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


SPLITS = ("train", "val", "test")
# The vocabulary of a pretrained encoder is its tokenizer's.
NO_WORDS = Vocab([])


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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, seed={self.seed}, epoch={self.epoch})"


@dataclass(frozen=True)
class Splits:
    """The splits of a corpus that share a vocabulary.

    Args:
        datasets: Datasets by split.
        vocab: Their words.
        relations: Their relations.
        settings: What :meth:`TrainConfig.data_settings` says of them; :obj:`None` where nobody knows.
            (default: :obj:`None`)
        encoder: Digest of the pretrained encoder that they are for. (default: :obj:`None`)
        notes: What there is to say of them beside what the datasets say. (default: nothing)

    Example:
        >>> from graphdep.training import TrainConfig, load_splits
        >>> config = TrainConfig.of(task="sst", root="datasets/mini", parser="chain", limit_train=100)
        >>> splits = load_splits(config)
        >>> len(splits["train"]), len(splits["val"]), len(splits["test"])
        (100, 60, 120)
    """

    datasets: dict[str, ParsedDataset | SelectionDataset]
    vocab: Vocab
    relations: RelationVocab
    settings: Mapping[str, Any] | None = None
    encoder: str | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, split: str) -> ParsedDataset | SelectionDataset:
        return self.datasets[split]

    def in_memory(self, split: str) -> ParsedDataset:
        """A split of a corpus that is not on disk."""
        dataset = self.datasets[split]
        assert isinstance(dataset, ParsedDataset)
        return dataset

    def targets(self, split: str) -> Tensor:
        return self.in_memory(split).y

    def labels(self) -> list[Label] | None:
        """The names of the classes by their numbers; :obj:`None` where targets are no classes."""
        names = getattr(self.datasets["train"], "labels", ())
        return None if self.targets("train").is_floating_point() else list(names) or None

    @property
    def compared(self) -> str:
        """The split that runs are compared on: for testing, or where there is none, for validation."""
        return "test" if "test" in self.datasets else "val"

    def loader(
        self, split: str, config: TrainConfig, *, shuffle: bool = False, shared: bool = False
    ) -> DataLoader:
        """Batches of a split; shuffled, in an order that each epoch has its own; shared, the part of each
        batch that this process has among those that have met.
        """
        dataset = self.datasets[split]
        order: Sampler[int] = (
            EpochSampler(len(dataset), config.seed) if shuffle else SequentialSampler(dataset)
        )
        batches: dict[str, Any] = {"batch_size": config.batch_size, "sampler": order}
        if config.batch_tokens is not None:
            sizes = example_sizes(self.in_memory(split))
            batches = {"batch_sampler": TokenBatchSampler(order, sizes, config.batch_tokens)}
        elif (most := config.most_pieces) is not None:
            sizes = example_sizes(self.in_memory(split))
            if int(sizes.topk(min(config.batch_size, sizes.numel())).values.sum()) > most:
                batches = {"batch_sampler": TokenBatchSampler(order, sizes, most, config.batch_size)}
        if shared:
            whole = batches.get("batch_sampler") or BatchSampler(order, config.batch_size, drop_last=False)
            batches = {"batch_sampler": SharedBatches(whole)}
        batches |= {"num_workers": config.num_workers, "persistent_workers": config.num_workers > 0}
        # A generator of its own: the loader would draw from the global one, and change the dropout after it.
        batches["generator"] = torch.Generator().manual_seed(config.seed)
        if StoredBatches.serves(dataset):
            cut = StoredBatches(dataset, dataset.follow_batch)
            return DataLoader(_Numbered(dataset), collate_fn=cut, **batches)
        return GraphLoader(dataset, follow_batch=dataset.follow_batch, **batches)

    def digest(self) -> str:
        """Digest of all examples: trees, words and targets; of the names of classes, where they are learned;
        and of the pretrained encoder that is trained on them.
        """
        sha = hashlib.sha256((self.encoder or "").encode())
        for split, dataset in sorted(self.datasets.items()):
            sha.update(split.encode())
            dataset.update_digest(sha)
        return sha.hexdigest()[:16]

    def describe(self) -> dict[str, object]:
        """Sizes, what the parser failed on, and what of words and labels is unknown or cut; what a dataset
        says beside these in a ``"note"`` is among the ``"notes"``.
        """
        sizes = {split: len(dataset) for split, dataset in self.datasets.items()}
        chains = {split: dataset.parser_failures for split, dataset in self.datasets.items()}
        described = {split: dataset.describe() for split, dataset in self.datasets.items()}
        notes = [f"{split}: {about['note']}" for split, about in described.items() if "note" in about]
        notes += self.notes
        parser = next(iter(self.datasets.values())).parser_fingerprint
        # A pretrained encoder has no words of ours: then the different ones of the first split.
        words = len(self.vocab) if self.vocab is not NO_WORDS else next(iter(described.values()))["forms"]
        return {
            "examples": sizes,
            "vocabulary": words,
            "parser": parser,
            "chain_trees": chains,
            "unknown_words": {split: about["unknown_words"] for split, about in described.items()},
            **{
                key: {split: about[key] for split, about in described.items() if key in about}
                for key in ("unknown_relations", "cut_words", "num_spans", "marked")
            },
            **({"notes": notes} if notes else {}),
        }


class _Numbered(Dataset[Any]):
    """A dataset of which a batch is given the numbers of its examples."""

    def __init__(self, dataset: ParsedDataset | SelectionDataset) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, number: int) -> Any:
        return self.dataset[number]

    def __getitems__(self, numbers: list[int]) -> list[int]:
        return numbers


def example_sizes(dataset: ParsedDataset) -> Tensor:
    """Nodes and target tokens of every example, ``[num_examples]``."""
    keys = [key for key in ("node_type", "target_ids") if key in dataset._data]
    if dataset.slices is None:  # PyG has no bounds of a single example
        return torch.tensor([sum(dataset._data[key].numel() for key in keys)])
    return sum(dataset.slices[key].diff() for key in keys)[list(dataset.indices())]


def load_corpus(
    config: TrainConfig,
    splits: tuple[str, ...],
    vocab: Vocab | None = None,
    pretrained: PretrainedEncoder | None = None,
    relations: RelationVocab | None = None,
    labels: Sequence[Label] | None = None,
) -> Splits:
    """Splits of the corpus that the task names; arguments and errors as of :func:`load_splits`."""
    task = config.spec
    if config.pretrained:
        pretrained, vocab = pretrained or load_pretrained(config), NO_WORDS
        check_length(config, pretrained)
    datasets: dict[str, ParsedDataset | SelectionDataset] = {}
    for split in splits:
        options: dict[str, Any] = {
            "parser": "gold" if config.trees == "gold" else config.parser,
            "raw_from": config.raw_from,
            "min_freq": config.min_freq,
            "limit": config.limit_train if split == "train" else None,
            **({"vocab": vocab} if pretrained is None else {"tokens": pretrained.tokens}),
            **(getattr(config, "vocab_options", {}) if vocab is None else {}),
            **({} if relations is None else {"relations": relations}),
            **({} if labels is None else {"labels": labels}),
            **task.options,
            **config.dataset_options(split),
        }
        datasets[split] = dataset = task.corpus(config.root or task.root, split=split, **options)
        vocab = vocab or dataset.vocab
        relations = relations or dataset.relations
        if dataset.learns_labels:  # else further splits would read the training files for them
            labels = cast(Any, dataset).labels
    assert vocab is not None
    assert relations is not None
    encoder = None if pretrained is None else fingerprint_of(pretrained)
    return Splits(datasets, vocab, relations, config.data_settings(), encoder)


def check_length(config: Any, encoder: PretrainedEncoder) -> None:
    """Raises :class:`ValueError` if examples may be longer than a pretrained encoder takes."""
    if config.max_length > encoder.max_length:
        raise ValueError(
            f"'max_length' must be at most {encoder.max_length}, the positions of the encoder (got "
            f"{config.max_length})"
        )
