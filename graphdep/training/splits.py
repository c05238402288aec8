"""Splits of a corpus and their batches."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import current_process, get_all_start_methods
from typing import TYPE_CHECKING, Any, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, Sampler, SequentialSampler
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.data.stored_batches import StoredBatches
from graphdep.datasets.base.parsed import ParsedDataset
from graphdep.datasets.base.rows import Label, spread_rows
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.io.limits import check_least
from graphdep.nn.static_batch import FlatBatch, Flattener, NotStaticError, UnservedPairsError
from graphdep.training.build import fingerprint_of, load_pretrained
from graphdep.training.config import TrainConfig
from graphdep.transforms.fingerprint import is_repeatable
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import Vocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


SPLITS = ("train", "val", "test")
#: Largest default number of worker processes of a loader.
MOST_WORKERS = 8
#: Bytes of shared memory that a worker may need for its batches.
WORKER_BYTES = 2**25
#: Whether worker processes can inherit the model.
CAN_FORK = "fork" in get_all_start_methods()
# With a pretrained encoder, whose tokenizer has the vocabulary.
NO_WORDS = Vocab([])


def epoch_seed(seed: int, epoch: int) -> int:
    """The seed of an epoch, independent of earlier epochs."""
    generator = torch.Generator().manual_seed(seed)
    return int(torch.randint(2**62, (epoch + 1,), generator=generator)[-1])


class SharedBatches(Sampler[list[int]]):
    """The share of this process in each batch: every ``n``-th example with ``n`` processes; all examples
    without ``torch.distributed``.

    All processes must take the same number of steps: if a batch has fewer examples than there are processes,
    the others get its first example, which does not count (:meth:`counts`).

    Args:
        batches: The whole batches.

    Example:
        >>> from torch.utils.data import BatchSampler
        >>> from graphdep.training.splits import SharedBatches
        >>> [*SharedBatches(BatchSampler(range(5), batch_size=2, drop_last=False))]
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, batches: BatchSampler | Sampler[list[int]]) -> None:
        self.batches = batches
        self._idle: set[int] = set()

    @property
    def sampler(self) -> Any:
        """The sampler of examples, whose epoch Lightning sets."""
        return self.batches.sampler  # type: ignore[union-attr]

    def counts(self, number: int) -> bool:
        """Whether the examples of this process in a batch count."""
        return number not in self._idle

    def count(self, epochs: int) -> int:
        """The number of batches in all epochs, for batches by tokens."""
        return int(self.batches.count(epochs))  # type: ignore[union-attr]

    def __iter__(self) -> Iterator[list[int]]:
        self._idle = set()
        many = dist.is_available() and dist.is_initialized()
        rank, count = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
        for number, batch in enumerate(self.batches):
            if len(batch) <= rank:
                self._idle.add(number)
            yield batch[rank::count] or batch[:1]

    def __len__(self) -> int:
        return len(self.batches)  # type: ignore[arg-type]


class TokenBatchSampler(Sampler[list[int]]):
    """Batches of examples in the order of a sampler, each with at most :obj:`max_tokens` tokens.

    A larger example is a batch of its own. The sampler has no length, since the number of batches depends on
    the order of each epoch: with the length of the first epoch Lightning would drop examples of later ones.

    Args:
        sampler: Order of the examples, perhaps with ``set_epoch``.
        sizes: Number of tokens of each example, ``[num_examples]``.
        max_tokens: Largest number of tokens per batch.
        max_examples: Largest number of examples per batch. (default: no limit)

    Raises:
        ValueError: If a limit is below 1.
    """

    def __init__(
        self, sampler: Sampler[int], sizes: Tensor, max_tokens: int, max_examples: int | None = None
    ) -> None:
        check_least("max_tokens", max_tokens, 1)
        check_least("max_examples", max_examples, 1)
        self.sampler, self.sizes, self.max_tokens = sampler, sizes.tolist(), max_tokens
        self.max_examples = max_examples or len(self.sizes) or 1

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        tokens = 0
        for example in self.sampler:
            full = len(batch) == self.max_examples
            if batch and (full or tokens + self.sizes[example] > self.max_tokens):
                yield batch
                batch, tokens = [], 0
            batch.append(example)
            tokens += self.sizes[example]
        if batch:
            yield batch

    def count(self, epochs: int) -> int:
        """The number of batches in all epochs."""
        set_epoch, now = getattr(self.sampler, "set_epoch", None), getattr(self.sampler, "epoch", 0)
        if set_epoch is None:
            return epochs * sum(1 for _ in self)
        total = 0
        for epoch in range(epochs):
            set_epoch(epoch)
            total += sum(1 for _ in self)
        set_epoch(now)
        return total

    def __repr__(self) -> str:
        limits = f"max_tokens={self.max_tokens}, max_examples={self.max_examples}"
        return f"{type(self).__name__}({len(self.sizes)} examples, {limits})"


class EpochSampler(Sampler[int]):
    """A random order for each epoch, which depends only on seed and epoch.

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
        vocab: Their vocabulary.
        relations: Their relations.
        settings: :meth:`TrainConfig.data_settings` of their configuration; :obj:`None` if unknown. (default:
            :obj:`None`)
        encoder: Digest of the pretrained encoder that has their tokenizer. (default: :obj:`None`)
        notes: Notes for reports, besides those of the datasets. (default: none)
        kept: Cache of computed values such as floors. (default: empty)

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
    kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

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
        """The names of the classes by number; :obj:`None` if targets are not classes."""
        split, dataset = next(iter(self.datasets.items()))  # all have the same classes
        names = getattr(dataset, "labels", ())
        if not isinstance(names, Sequence) or not names or self.targets(split).is_floating_point():
            return None
        return list(names)

    def example_digests(self, split: str) -> list[str]:
        """A digest of each example of a split, independent of parser and tokenizer."""
        return self.datasets[split].example_digests()

    def same_examples(self, other: Splits) -> bool:
        """Whether both have the same examples in the compared split, with the same classes."""
        if self is other or self.labels() != other.labels():
            return self is other
        return self.example_digests(self.compared) == other.example_digests(other.compared)

    def limited(self, limit: int) -> Splits:
        """The splits with at most ``limit`` examples in each but the training split."""
        datasets, notes = dict(self.datasets), []
        for name in self.datasets.keys() - {"train"}:
            whole = self.in_memory(name)
            if limit < len(whole):
                # A copy, so that statistics of the dataset count only these.
                part = whole.index_select(spread_rows(range(len(whole)), limit)).copy()
                datasets[name] = cast(ParsedDataset, part)
                notes.append(f"{name}: {limit} of {len(whole)} examples, spread over the split (limit_eval)")
        return dataclasses.replace(self, datasets=datasets, notes=tuple(sorted(notes)), kept={})

    @property
    def compared(self) -> str:
        """The split that runs are compared on: the test split, or without one the validation split."""
        return "test" if "test" in self.datasets else "val"

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
        """Batches of a split; with :obj:`shuffle` in a random order for each epoch, with :obj:`shared` the
        share of this process in each batch.

        If :obj:`edges` are all graphdep's and fit into memory together with the corpus (2 GB per split), they
        are built once, here. With :obj:`flatten` they are always built by the loader or its workers (by
        default at most eight), which also fill and prepare batches and write each into one buffer, if
        possible.
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
        # Without it the loader would use the global generator and change the dropout.
        batches["generator"] = torch.Generator().manual_seed(config.seed)
        known = edges is not None and len(dataset) > 0 and is_repeatable(edges)
        # Other edges may use the random numbers of this process.
        flatten = flatten if known and (CAN_FORK or not config.num_workers) else None
        batches |= loader_options(config, len(dataset), flatten)
        collate: Any = partial(Batch.from_data_list, follow_batch=dataset.follow_batch)
        given: Any = dataset
        if StoredBatches.serves(dataset):
            given, collate = _Numbered(dataset), StoredBatches(dataset, dataset.follow_batch)
            if known:
                collate = collate.transformed(edges) or collate
        if flatten is not None:
            collate = _Flat(collate, edges, flatten)
        return DataLoader(given, collate_fn=collate, **batches)

    def digest(self) -> str:
        """Digest of all examples (trees, words, targets), of the names of learned classes, and of the
        pretrained encoder.
        """
        sha = hashlib.sha256((self.encoder or "").encode())
        for split, dataset in sorted(self.datasets.items()):
            sha.update(split.encode())
            dataset.update_digest(sha)
        return sha.hexdigest()[:16]

    def describe(self) -> dict[str, object]:
        """Sizes, counts of parser failures, of relations, and of unknown or cut words and labels, and all
        ``"notes"``.
        """
        sizes = {split: len(dataset) for split, dataset in self.datasets.items()}
        chains = {split: dataset.parser_failures for split, dataset in self.datasets.items()}
        described = {split: dataset.describe() for split, dataset in self.datasets.items()}
        notes = [f"{split}: {about['note']}" for split, about in described.items() if "note" in about]
        for split, dataset in self.datasets.items():
            rare = dataset.relations.note(dataset.arc_labels)
            if rare and described[split].get("unknown_relations"):  # limited splits have no such count
                notes.append(f"{split}: {rare}")
        notes += self.notes
        parser = next(iter(self.datasets.values())).parser_fingerprint
        # With a pretrained encoder, the number of distinct words in the first split.
        words = len(self.vocab) if self.vocab is not NO_WORDS else next(iter(described.values()))["forms"]
        return {
            "examples": sizes,
            "vocabulary": words,
            "parser": parser,
            "chain_trees": chains,
            "unknown_words": {split: about["unknown_words"] for split, about in described.items()},
            **{
                key: {split: about[key] for split, about in described.items() if key in about}
                for key in (
                    "unknown_relations",
                    "relation_types",
                    "cut_words",
                    "num_spans",
                    "marked",
                    "key",
                    "own_trees",
                    "tree_scheme",
                    "span_end",
                    "without_phrase",
                )
            },
            "relations": described.get("train", {}).get("relations", ""),
            **({"notes": notes} if notes else {}),
        }


def loader_options(config: TrainConfig, num_examples: int, flatten: Flattener | None) -> dict[str, Any]:
    """Options of a loader about worker processes. Their number is that of the settings, by default none, or
    for flattened batches one per eight batches, at most eight and fewer than there are cores.
    """
    workers = config.num_workers
    if workers is None:
        batches = 0 if flatten is None else num_examples // config.batch_size
        workers = min(batches // 8, _spare_processes())
    options: dict[str, Any] = {"num_workers": workers, "persistent_workers": workers > 0}
    if flatten is not None:
        options["pin_memory"] = flatten.device.type == "cuda"
        if workers:
            options["multiprocessing_context"] = "fork"  # to share the model
    return options


def _spare_processes() -> int:
    """Largest number of workers by cores and shared memory."""
    if not CAN_FORK or not hasattr(os, "sched_getaffinity") or current_process().daemon:
        return 0
    memory = shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else 0
    return min(MOST_WORKERS, len(os.sched_getaffinity(0)) - 1, memory // WORKER_BYTES)


class _Flat:
    """Collates a batch, builds its edges and flattens it, if possible."""

    def __init__(self, collate: Callable[[Any], Batch], edges: Any, flatten: Flattener) -> None:
        self.collate, self.edges, self.flatten = collate, edges, flatten

    def __call__(self, examples: Any) -> Batch | FlatBatch | ValueError:
        batch = self.collate(examples)
        try:
            if not getattr(batch, "_is_transformed", False):
                batch = self.edges(batch)
                batch._is_transformed = True
            return batch if self.flatten.stopped else self.flatten(batch)
        except ValueError as error:  # raised by the reader, without the traceback of the worker
            return error
        except UnservedPairsError:  # the step raises it again and reports it
            return batch
        except NotStaticError:
            self.flatten.stop()
            return batch


class _Numbered(Dataset[Any]):
    """A dataset that gives batches of the numbers of examples."""

    def __init__(self, dataset: ParsedDataset | SelectionDataset) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, number: int) -> Any:
        return self.dataset[number]

    def __getitems__(self, numbers: list[int]) -> list[int]:
        return numbers


def example_sizes(dataset: ParsedDataset) -> Tensor:
    """The number of nodes and target tokens of each example, ``[num_examples]``."""
    keys = [key for key in ("node_type", "target_ids") if key in dataset._data]
    if dataset.slices is None:  # PyG has no slices for a single example
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
    """Splits of the task's corpus; see :func:`load_splits`."""
    task = config.spec
    if config.pretrained:
        pretrained, vocab = pretrained or load_pretrained(config), NO_WORDS
        check_length(config, pretrained)
    datasets: dict[str, ParsedDataset | SelectionDataset] = {}
    own: dict[str, Any] = {}
    for split in splits:
        options: dict[str, Any] = {
            "parser": "gold" if config.trees == "gold" else config.parser,
            "raw_from": config.raw_from,
            "min_freq": config.min_freq,
            "limit": config.limit_train if split == "train" else None,
            **({"vocab": vocab} if pretrained is None else {"tokens": pretrained.tokens}),
            **(getattr(config, "vocab_options", {}) if vocab is None else {}),
            "relations": relations or config.relations,
            **({} if labels is None else {"labels": labels}),
            **task.options,
            **config.dataset_options(split),
            **own,
        }
        datasets[split] = dataset = task.corpus(config.root or task.root, split=split, **options)
        vocab = vocab or dataset.vocab
        relations = relations or dataset.relations
        if dataset.learns_labels:  # spares further splits reading the training files
            labels = cast(Any, dataset).labels
        if getattr(dataset, "decided_scheme", "auto") != "auto":  # further splits may be too small to decide
            own["tree_scheme"] = cast(Any, dataset).decided_scheme
        if getattr(dataset, "span_end", None):  # all splits have the same format
            own["span_end"] = cast(Any, dataset).span_end
    assert vocab is not None
    assert relations is not None
    encoder = None if pretrained is None else fingerprint_of(pretrained)
    return Splits(datasets, vocab, relations, config.data_settings(), encoder)


def check_length(config: Any, encoder: PretrainedEncoder) -> None:
    """Raises :class:`ValueError` if ``max_length`` exceeds the positions of a pretrained encoder."""
    if config.max_length > encoder.max_length:
        raise ValueError(
            f"'max_length' must be at most {encoder.max_length}, the positions of the encoder (got "
            f"{config.max_length})"
        )
