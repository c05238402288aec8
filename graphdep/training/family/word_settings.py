"""Settings of tasks on words, and what small models of words are trained with unless a run says otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.training.family.encoder_settings import EncoderSettings
from graphdep.training.family.lookup import resolve_task
from graphdep.training.family.scratch_settings import HEADED, OF_WORDS, SCRATCH_ENCODERS
from graphdep.training.family.setting import setting


@dataclass(frozen=True, kw_only=True)
class WordSettings(EncoderSettings):
    """Defaults of a :class:`TrainConfig` whose model reads states of words, for it to inherit from as well:
    two layers of 128 channels, Adam at 1e-3, gradients clipped at 1, at most 20 epochs.

    Args:
        limit_eval: Validate and test on so many examples each at most, spread evenly over their splits, the
            same for every seed, which tables say; all are read and parsed. (default: :obj:`None`, all)
        **others: As in :class:`~graphdep.training.family.encoder_settings.EncoderSettings` and
            :class:`TrainConfig`.
    """

    limit_eval: int | None = setting(None, free=True)
    edges: str | None = "dt"
    max_distance: int = 2
    min_freq: int = 2
    max_epochs: int = 20
    patience: int | None = 5
    batch_size: int = 32
    optimizer: str = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    clip: float | None = 1.0
    hidden_channels: int = 128
    num_layers: int = 2
    heads: int = 4
    ff_channels: int = 256
    dropout: float = 0.1
    max_length: int = 256

    encoders: ClassVar[Mapping[str, bool]] = SCRATCH_ENCODERS
    of_words: ClassVar[tuple[str, ...]] = OF_WORDS
    headed: ClassVar[tuple[str, ...]] = HEADED
    corpus_options: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Settings that only some corpora take, and what these call them; at :obj:`None` a corpus has its own
    default.
    """

    if TYPE_CHECKING:  # of the other base
        task: str
        places: ClassVar[tuple[str, ...]]

    @property
    def marked(self) -> bool:
        """Whether words of an example are marked."""
        return True

    @property
    def about_data(self) -> str:
        said = [f"{name} {value}" for name, value in self._given().items() if name not in self.places]
        said += [] if self.limit_eval is None else [f"at most {self.limit_eval} examples of val and test"]
        return ", ".join(said)

    def dataset_options(self, split: str) -> dict[str, Any]:
        own = {self.corpus_options[name]: value for name, value in self._given().items()}
        return super().dataset_options(split) | own

    def data_settings(self) -> dict[str, Any]:
        own = {} if self.limit_eval is None else {"limit_eval": self.limit_eval}
        return super().data_settings() | own

    def check_corpus_options(self) -> None:
        """Raises :class:`ValueError` where an option is not one of the corpus."""
        task = resolve_task(self.task)
        for name, value in self._given().items():
            usual = self.__dataclass_fields__[name].default
            if value != usual and not task.takes(self.corpus_options[name]):
                raise ValueError(f"{name!r} is not for task {self.task!r} (got {value!r})")

    def _given(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in self.corpus_options}
        return {name: value for name, value in given.items() if value is not None}

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        yield from super()._readers()
        yield ("word_state",), "a pretrained encoder", self.pretrained
