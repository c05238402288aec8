"""The splits of a corpus, and the batches made of them."""

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
#: Worker processes of a loader at most, where the settings do not say how many.
MOST_WORKERS = 8
#: Bytes of shared memory that a worker may need for the batches it has made.
WORKER_BYTES = 2**25
#: Whether worker processes can inherit the model of the process that starts them.
CAN_FORK = "fork" in get_all_start_methods()
# The vocabulary of a pretrained encoder is its tokenizer's.
NO_WORDS = Vocab([])


def epoch_seed(seed: int, epoch: int) -> int:
    """A seed of its own for each epoch, as if no other had been run before."""
    generator = torch.Generator().manual_seed(seed)
    return int(torch.randint(2**62, (epoch + 1,), generator=generator)[-1])


class SharedBatches(Sampler[list[int]]):
    """The part of each batch that this process has: of a batch's examples every ``n``-th one, where there are
    ``n`` processes. Alone, or before they have met, a process has them all.

    Together they so have the batches of one process. One for which nothing is left, of a batch with fewer
    examples than processes, gets the first example, which then does not count (:meth:`counts`): all must
    take the same number of steps.

    Args:
        batches: The batches of one process.

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
        """The order of the examples, which Lightning tells the epoch."""
        return self.batches.sampler  # type: ignore[union-attr]

    def counts(self, number: int) -> bool:
        """Whether what this process had of a batch was its own."""
        return number not in self._idle

    def count(self, epochs: int) -> int:
        """The number of batches of all epochs, as of batches by tokens."""
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

    An example that is larger than that is a batch of its own. How many batches there are depends on the
    order, and each epoch has its own. So this has no length: by that of the first epoch Lightning would end
    all epochs, and drop examples.

    Args:
        sampler: Gives the order of the examples; with ``set_epoch``, that of an epoch.
        sizes: Tokens of each example, ``[num_examples]``.
        max_tokens: Tokens a batch at most.
        max_examples: Examples a batch at most. (default: any number)

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
        """The number of batches of all epochs."""
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
        kept: What has been computed of them and is kept for others, such as a floor. (default: nothing)

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
        """The names of the classes by their numbers; :obj:`None` where targets are no classes."""
        names = getattr(self.datasets["train"], "labels", ())
        if not isinstance(names, Sequence) or not names or self.targets("train").is_floating_point():
            return None
        return list(names)

    def example_digests(self, split: str) -> list[str]:
        """What tells each example of a split apart, whatever parses and reads it."""
        return self.datasets[split].example_digests()

    def same_examples(self, other: Splits) -> bool:
        """Whether runs on these and on others are compared on the same examples, with the same classes."""
        if self is other or self.labels() != other.labels():
            return self is other
        return self.example_digests(self.compared) == other.example_digests(other.compared)

    def limited(self, limit: int) -> Splits:
        """The splits with so many examples each at most, those to train on aside."""
        datasets, notes = dict(self.datasets), []
        for name in self.datasets.keys() - {"train"}:
            whole = self.in_memory(name)
            if limit < len(whole):
                # A copy has no more than these, for those who count in all that a split has.
                part = whole.index_select(spread_rows(range(len(whole)), limit)).copy()
                datasets[name] = cast(ParsedDataset, part)
                notes.append(f"{name}: {limit} of {len(whole)} examples, spread over the split (limit_eval)")
        return dataclasses.replace(self, datasets=datasets, notes=tuple(sorted(notes)), kept={})

    @property
    def compared(self) -> str:
        """The split that runs are compared on: for testing, or where there is none, for validation."""
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
        """Batches of a split; shuffled, in an order that each epoch has its own; shared, the part of each
        batch that this process has among those that have met.

        They have their edges already where these are given, are graphdep's alone, and fit in memory with a
        corpus that does (2 GB a split): then they are built here, and in no epoch again. With
        :obj:`flatten`, edges of graphdep's alone are built in any case, and batches are filled, prepared and
        written into one buffer, where that can be done: in the loader's worker processes, of which there are
        eight at most where the settings do not say how many.
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
        # A generator of its own: the loader would draw from the global one, and change the dropout after it.
        batches["generator"] = torch.Generator().manual_seed(config.seed)
        known = edges is not None and len(dataset) > 0 and is_repeatable(edges)
        # Other edges may draw numbers, which are those of this process.
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
        """Digest of all examples: trees, words and targets; of the names of classes, where they are learned;
        and of the pretrained encoder that is trained on them.
        """
        sha = hashlib.sha256((self.encoder or "").encode())
        for split, dataset in sorted(self.datasets.items()):
            sha.update(split.encode())
            dataset.update_digest(sha)
        return sha.hexdigest()[:16]

    def describe(self) -> dict[str, object]:
        """Sizes, what the parser failed on, the relations, and what of words and labels is unknown or cut;
        what a dataset says beside these in a ``"note"`` is among the ``"notes"``.
        """
        sizes = {split: len(dataset) for split, dataset in self.datasets.items()}
        chains = {split: dataset.parser_failures for split, dataset in self.datasets.items()}
        described = {split: dataset.describe() for split, dataset in self.datasets.items()}
        notes = [f"{split}: {about['note']}" for split, about in described.items() if "note" in about]
        for split, dataset in self.datasets.items():
            rare = dataset.relations.note(dataset.arc_labels)
            if rare and described[split].get("unknown_relations"):  # a part of a split does not count them
                notes.append(f"{split}: {rare}")
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
    """The worker processes of a loader: as many as the settings say. By default none; where batches are
    flattened, one for eight batches, but fewer than there are cores and at most eight.
    """
    workers = config.num_workers
    if workers is None:
        batches = 0 if flatten is None else num_examples // config.batch_size
        workers = min(batches // 8, _spare_processes())
    options: dict[str, Any] = {"num_workers": workers, "persistent_workers": workers > 0}
    if flatten is not None:
        options["pin_memory"] = flatten.device.type == "cuda"
        if workers:
            options["multiprocessing_context"] = "fork"  # else the model would be sent to each
    return options


def _spare_processes() -> int:
    """Workers that a loader may have, by the cores and by the memory that processes share."""
    if not CAN_FORK or not hasattr(os, "sched_getaffinity") or current_process().daemon:
        return 0
    memory = shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else 0
    return min(MOST_WORKERS, len(os.sched_getaffinity(0)) - 1, memory // WORKER_BYTES)


class _Flat:
    """Makes a batch with a function, gives it edges and flattens it, if it can be."""

    def __init__(self, collate: Callable[[Any], Batch], edges: Any, flatten: Flattener) -> None:
        self.collate, self.edges, self.flatten = collate, edges, flatten

    def __call__(self, examples: Any) -> Batch | FlatBatch | ValueError:
        batch = self.collate(examples)
        try:
            if not getattr(batch, "_is_transformed", False):
                batch = self.edges(batch)
                batch._is_transformed = True
            return batch if self.flatten.stopped else self.flatten(batch)
        except ValueError as error:  # raised where it is read: here it would get the trace of the worker
            return error
        except UnservedPairsError:  # which the step finds out, too, and says why
            return batch
        except NotStaticError:
            self.flatten.stop()
            return batch


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
        if dataset.learns_labels:  # else further splits would read the training files for them
            labels = cast(Any, dataset).labels
        if getattr(dataset, "decided_scheme", "auto") != "auto":  # of further splits, which may be small, too
            own["tree_scheme"] = cast(Any, dataset).decided_scheme
        if getattr(dataset, "span_end", None):  # which all files have told
            own["span_end"] = cast(Any, dataset).span_end
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
