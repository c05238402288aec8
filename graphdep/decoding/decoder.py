"""What decoding asks of a decoder and of what it reads."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor


class Memory(Protocol):
    """Encoded contexts, packed: the rows of ``x`` ``[num_rows, channels]``, example after example."""

    @property
    def x(self) -> Tensor: ...

    @property
    def num_examples(self) -> int: ...


class Decoder(Protocol):
    """Gives the logits of the next token, one step after the other, as
    :class:`~graphdep.nn.models.ResponseDecoder` does.
    """

    def start(self, memory: Any) -> Any:
        """The state before the first token."""

    def step(self, state: Any, tokens: Tensor) -> tuple[Tensor, Any]:
        """Logits ``[examples, beams, words]`` after ``tokens`` ``[examples, beams]``, and the new state."""

    def select(self, state: Any, example: Tensor, beam: Tensor) -> Any:
        """The state of some of the examples, and of those of their beams that go on."""
