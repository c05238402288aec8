"""Every choice of decoding."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import inf, isfinite

from graphdep.io.limits import LIMITS, check_whole

STRATEGIES = ("greedy", "beam", "sample")

_WHOLE = ("beams", "num_return", "max_length", "min_length", "top_k", "no_repeat_ngram", "seed")
_LEAST_TEMPERATURE = LIMITS["temperature"][0]
_LARGEST_SCORE = 3.4e38  # float32


@dataclass(frozen=True, kw_only=True)
class DecodeConfig:
    r"""How responses are drawn from a model.

    ``"greedy"`` takes the most probable token at every step. ``"beam"`` is the search of "Sequence to
    Sequence Learning with Neural Networks": of all continuations the :obj:`beams` best are kept, and one that
    ends leaves the beam and is set aside, which narrows the beam by one. Responses are ranked by

    .. math::
        \frac{\log p(y_1, \dots, y_t)}{t^{\alpha}}

    with the :obj:`length_penalty` :math:`\alpha` and :math:`t` tokens, ``[EOU]`` among them. ``"sample"``
    draws every token at random: the logits are divided by the temperature, then :obj:`top_k`, then
    :obj:`top_p` thin them out.

    Args:
        strategy: ``"greedy"``, ``"beam"`` or ``"sample"``. (default: ``"greedy"``)
        beams: Width of the beam, at most 10,000. (default: :obj:`1`)
        num_return: Responses a context: the best, or so many draws; at most 10,000. (default: :obj:`1`)
        max_length: Tokens at most, ``[EOU]`` included; a response that is longer is cut. At most
            100,000. (default: :obj:`50`)
        min_length: Words at least, unless nothing but ``[EOU]`` is allowed. (default: :obj:`0`)
        length_penalty: :math:`\alpha`: 0 prefers short responses, 1 ranks by the mean. ``max_length`` to its
            power must be a number of float32. (default: :obj:`1.0`)
        top_k: Draw from the so many most probable tokens; 0 for all. (default: :obj:`0`)
        top_p: Draw from the fewest most probable tokens that have this probability together.
            (default: :obj:`1.0`)
        temperature: Below 1 sharpens the distribution that is drawn from; at least 1e-06.
            (default: :obj:`1.0`)
        no_repeat_ngram: No run of so many words occurs twice in a response; 0 for no such rule.
            (default: :obj:`0`)
        allow_unk: Whether a response may have ``[UNK]``. (default: :obj:`False`)
        seed: Seed of the draws. (default: :obj:`0`)

    Raises:
        ValueError: If a value is outside its range; the message names it.

    Example:
        >>> from graphdep.decoding import DecodeConfig
        >>> config = DecodeConfig(strategy="beam", beams=4, num_return=2)
        >>> config.beams, config.max_length
        (4, 50)
    """

    strategy: str = "greedy"
    beams: int = 1
    num_return: int = 1
    max_length: int = 50
    min_length: int = 0
    length_penalty: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    temperature: float = 1.0
    no_repeat_ngram: int = 0
    allow_unk: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"'strategy' must be one of {', '.join(STRATEGIES)} (got {self.strategy!r})")
        for name in _WHOLE:
            check_whole(name, getattr(self, name))
        for name in ("length_penalty", "top_p", "temperature"):
            self._check_number(name)
        self._check_length_penalty()
        if not 0 < self.top_p <= 1:
            raise ValueError(f"'top_p' must be above 0 and at most 1 (got {self.top_p})")
        if not _LEAST_TEMPERATURE <= self.temperature <= sys.float_info.max:
            raise ValueError(
                f"'temperature' must be at least {_LEAST_TEMPERATURE} and finite (got {self.temperature})"
            )
        if not isinstance(self.allow_unk, bool):
            raise ValueError(f"'allow_unk' must be True or False (got {self.allow_unk!r})")
        if self.min_length >= self.max_length:
            raise ValueError(
                f"'min_length' must be below 'max_length' ({self.max_length}) (got {self.min_length})"
            )
        if self.strategy == "greedy" and (self.beams > 1 or self.num_return > 1):
            name = "beams" if self.beams > 1 else "num_return"
            raise ValueError(
                f"strategy='greedy' gives one response: {name!r} must be 1 (got {getattr(self, name)})"
            )
        if self.strategy == "beam" and self.num_return > self.beams:
            raise ValueError(f"'num_return' must be at most 'beams' ({self.beams}) (got {self.num_return})")

    def _check_number(self, name: str) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name!r} must be a number (got {value!r})")

    def _check_length_penalty(self) -> None:
        if not self.length_penalty >= 0:
            raise ValueError(f"'length_penalty' must be at least 0 (got {self.length_penalty})")
        try:
            largest = float(self.max_length) ** float(self.length_penalty)
        except OverflowError:
            largest = inf
        if largest > _LARGEST_SCORE or not isfinite(float(self.length_penalty)):
            raise ValueError(
                f"'length_penalty' is too large for max_length={self.max_length} (got {self.length_penalty})"
            )
