"""Tasks of post-training and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from graphdep.metrics.metric import Metric
from graphdep.parsing.enhanced import LEVELS
from graphdep.training.config import ModelPreset
from graphdep.training.encoder_config import NodeConfig
from graphdep.training.settings import DATA, setting
from graphdep.training.task import Task, resolve_task

LOSS = Metric(
    "loss",
    lambda prediction, target: float(prediction.mean()),
    None,
    "loss: mean cross entropy of the masked pieces of the split + mean cross entropy of the relevance of its "
    "samples|without dropout|samples of epoch 0",
    maximize=False,
    weighted=lambda prediction, target, weight: weight @ prediction / weight.sum(axis=1),
)


@dataclass(frozen=True)
class PostTraining(Task):
    """Masked words and relevance of responses on the dialogues of a corpus.

    Example:
        >>> from graphdep.datasets import Ubuntu
        >>> from graphdep.tasks import PostTraining
        >>> task = PostTraining("Post-training", Ubuntu, "datasets/ubuntu")
        >>> sorted(task.signatures)
        ['loss', 'mlm_accuracy', 'mlm_perplexity', 'relevance_accuracy']
    """

    kind: ClassVar[str] = "post-training"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (LOSS,)

    @property
    def signatures(self) -> dict[str, str]:
        return super().signatures | {
            "mlm_perplexity": "exp of the mean loss over the masked pieces of the split",
            "mlm_accuracy": "share of masked pieces that are predicted correctly",
            "relevance_accuracy": "share of correct relevance labels; floor: the most frequent label",
        }


TASKS: dict[str, Task] = {
    # The corpus is chosen by a setting.
    "post-train": PostTraining("Post-training", "graphdep.datasets:Ubuntu", "datasets/ubuntu"),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "post-train": ("test_loss", "test_mlm_perplexity", "test_relevance_accuracy", "val_loss")
}
"""The scores in tables, the paper's first."""


CORPORA = ("ubuntu", "ubuntu-irc", "douban", "ecommerce", "dailydialog-selection")
POST_TRAINING_MODELS: dict[str, ModelPreset] = {
    "bert-fp": ModelPreset("masked words and the relevance of responses to short contexts", "transformer"),
    "bert-fp-dam-basic": ModelPreset(
        "bert-fp over DAM's edges: a node per arc of the basic tree",
        "dam",
        overrides={"parser": "bundled"},
    ),
}


class PostTrainingConfig(NodeConfig, kind="post-training"):
    """Settings of the post-training of "Fine-grained Post-training for Improving Retrieval-based Dialogue
    Systems" (BERT-FP). The defaults are those of its code, except that the learning rate is constant or
    linear instead of multiplied by 0.9 whenever the loss does not fall.

    The trained encoder is written to the folder ``encoder`` of the run in the format of Hugging Face; use it
    with ``--set encoder=FOLDER``. Sizes of encoders from scratch are not read.

    Args:
        **settings: The settings of :class:`~graphdep.training.encoder_config.NodeConfig` and of
            post-training.

    Raises:
        ValueError: If a value has the wrong type or is out of range; the message names key and value.
    """

    task: str = "post-train"
    model: str = "bert-fp"
    encoder: str = setting("bert-base-uncased", "Encoder: a folder, or a name on the Hugging Face hub.")
    corpus: str = setting(
        "ubuntu",
        "Task whose contexts with right responses are the dialogues.",
        choices=CORPORA,
        defines=True,
    )
    edges: str | None = "transformer"
    parser: str = setting("chain", "Parser; chain is enough for edges without trees.")
    max_distance: int = 2
    min_freq: int = 1
    max_epochs: int = 25
    patience: int | None = None
    batch_size: int = 50
    optimizer: str = "adamw"
    lr: float = 1.5e-5
    weight_decay: float = 0.01
    hidden_channels: int = setting(768, "Not read: the encoder has its own.")
    num_layers: int = setting(12, "Not read: the encoder has its own.")
    heads: int = setting(12, "Not read: the encoder has its own.")
    ff_channels: int = setting(3072, "Not read: the encoder has its own.")
    dropout: float = setting(0.1, "Not read: the encoder has its own.")
    short_context: int = setting(3, "Number of utterances in a context.", defines=True)
    max_length: int = setting(240, "Longest sample in tokens.", least=4)
    share_masked: float = setting(0.15, "Share of masked pieces.", above=0, below=1, defines=True)
    limit_eval: int | None = setting(
        None, "Number of pairs of the validation and of the test split, spread over the split.", panel=DATA
    )

    models: ClassVar[Mapping[str, ModelPreset]] = POST_TRAINING_MODELS
    encoders: ClassVar[Mapping[str, bool]] = {}
    any_encoder: ClassVar[bool] = True
    headed: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        super().check()
        if self.vectors is not None or self.batch_tokens is not None:
            raise ValueError("'vectors' and 'batch_tokens' are not for post-training")
        if self.arcs in LEVELS and self.relations != "ud":
            raise ValueError(
                f"labels of enhanced graphs would reveal masked words: arcs={self.arcs!r} needs "
                "relations='ud', which reads only the part before a colon"
            )
        if self.parser == "chain" and self.edges != "transformer":
            raise ValueError(
                f"edges={self.edges!r} need trees, which parser='chain' does not give: use another parser"
            )

    @property
    def pretrained(self) -> bool:
        return True

    def dataset_options(self, split: str) -> dict[str, Any]:
        options = super().dataset_options(split)
        return options if split == "train" else {**options, "limit": self.limit_eval}

    def data_settings(self) -> dict[str, Any]:
        own = ("encoder", "corpus", "short_context", "max_length", "share_masked", "seed")
        return super().data_settings() | {name: getattr(self, name) for name in own}

    @property
    def corpus_root(self) -> str:
        """The folder of the corpus."""
        return self.root or resolve_task(self.corpus).root
