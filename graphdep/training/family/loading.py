"""From settings to the splits of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphdep.datasets.base.parsed_dataset import ParsedDataset
from graphdep.datasets.base.text_rows import Label
from graphdep.datasets.selection.selection_dataset import SelectionDataset
from graphdep.training.family.lookup import family_of, resolve_task
from graphdep.training.family.pretrained import fingerprint_of, load_pretrained
from graphdep.training.family.splits import NO_WORDS, Splits
from graphdep.training.family.train_config import TrainConfig
from graphdep.vocab import RelationVocab, Vocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def load_splits(
    config: TrainConfig,
    splits: tuple[str, ...] | None = None,
    vocab: Vocab | None = None,
    pretrained: PretrainedEncoder | None = None,
    relations: RelationVocab | None = None,
    labels: Sequence[Label] | None = None,
) -> Splits:
    """Loads and, the first time, parses splits of the task's corpus.

    Args:
        config: The settings.
        splits: Which. (default: all that the settings have)
        vocab: Vocabulary, e.g. a checkpoint's; :obj:`None` builds it from the training split. (default:
            :obj:`None`)
        pretrained: The encoder whose pieces the words have, e.g. a checkpoint's; :obj:`None` for the one that
            the settings name, if they do. (default: :obj:`None`)
        relations: Relations, e.g. a checkpoint's; :obj:`None` learns those of enhanced arcs from the training
            split. (default: :obj:`None`)
        labels: The classes of the user's own texts, e.g. a checkpoint's; :obj:`None` learns them from the
            training split. (default: :obj:`None`)

    Raises:
        ValueError: If the task is unknown, or a raw file is damaged.
        FileNotFoundError: If a raw file is missing.
    """
    return family_of(config.task).load(config, splits or config.splits, vocab, pretrained, relations, labels)


def load_corpus(
    config: TrainConfig,
    splits: tuple[str, ...],
    vocab: Vocab | None = None,
    pretrained: PretrainedEncoder | None = None,
    relations: RelationVocab | None = None,
    labels: Sequence[Label] | None = None,
) -> Splits:
    """Splits of the corpus that the task names; arguments and errors as of :func:`load_splits`."""
    task = resolve_task(config.task)
    if config.pretrained:
        pretrained, vocab = pretrained or load_pretrained(config), NO_WORDS
        check_length(config, pretrained)
    datasets: dict[str, ParsedDataset | SelectionDataset] = {}
    for split in splits:
        options: dict[str, Any] = {
            "parser": config.parser,
            "raw_from": config.raw_from,
            "min_freq": config.min_freq,
            "limit": config.limit_train if split == "train" else None,
            **({"vocab": vocab} if pretrained is None else {"tokens": pretrained.tokens}),
            **({} if relations is None else {"relations": relations}),
            **({} if labels is None else {"labels": labels}),
            **task.options,
            **config.dataset_options(split),
        }
        datasets[split] = dataset = task.dataset(config.root or task.root, split=split, **options)
        vocab = vocab or dataset.vocab
        relations = relations or dataset.relations
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
