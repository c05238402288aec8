"""From settings to the splits of a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphdep.datasets.parsed_dataset import ParsedDataset
from graphdep.datasets.selection_dataset import SelectionDataset
from graphdep.tasks import resolve_task
from graphdep.training.build_selection import load_pretrained
from graphdep.training.post_training_config import PostTrainingConfig
from graphdep.training.post_training_splits import load_post_training_splits
from graphdep.training.selection_config import SelectionConfig
from graphdep.training.splits import NO_WORDS, SPLITS, Splits
from graphdep.training.train_config import TrainConfig
from graphdep.vocab import RelationVocab, Vocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def load_splits(
    config: TrainConfig,
    splits: tuple[str, ...] = SPLITS,
    vocab: Vocab | None = None,
    pretrained: PretrainedEncoder | None = None,
) -> Splits:
    """Loads and, the first time, parses splits of the task's corpus.

    Args:
        config: The settings.
        splits: Which. (default: all)
        vocab: Vocabulary, e.g. a checkpoint's; :obj:`None` builds it from the training split. (default:
            :obj:`None`)
        pretrained: The encoder whose pieces the words have, e.g. a checkpoint's; :obj:`None` for the one that
            the settings name, if they do. (default: :obj:`None`)

    Raises:
        ValueError: If the task is unknown, or a raw file is damaged.
        FileNotFoundError: If a raw file is missing.
    """
    task = resolve_task(config.task)
    if config.pretrained:
        pretrained, vocab = pretrained or load_pretrained(config), NO_WORDS
        assert isinstance(config, (SelectionConfig, PostTrainingConfig))
        if config.max_length > pretrained.max_length:
            raise ValueError(
                f"'max_length' must be at most {pretrained.max_length}, the positions of the encoder (got "
                f"{config.max_length})"
            )
    if isinstance(config, PostTrainingConfig):
        assert pretrained is not None
        return load_post_training_splits(config, splits, pretrained)
    datasets: dict[str, ParsedDataset | SelectionDataset] = {}
    for split in splits:
        options: dict[str, Any] = {
            "parser": config.parser,
            "raw_from": config.raw_from,
            "min_freq": config.min_freq,
            "limit": config.limit_train if split == "train" else None,
            **({"vocab": vocab} if pretrained is None else {"tokens": pretrained.tokens}),
            **task.options,
            **config.dataset_options(split),
        }
        datasets[split] = dataset = task.dataset(config.root or task.root, split, **options)
        vocab = vocab or dataset.vocab
    assert vocab is not None
    return Splits(datasets, vocab, RelationVocab(), config.data_settings())
