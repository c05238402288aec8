"""From settings to the splits of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from graphdep.datasets.base.parsed import ParsedDataset
from graphdep.datasets.base.rows import Label
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.training.family.lookup import resolve_task
from graphdep.training.family.pretrained import fingerprint_of, load_pretrained
from graphdep.training.family.splits import NO_WORDS, Splits
from graphdep.training.family.train_config import TrainConfig
from graphdep.vocab import RelationVocab, Vocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


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
