"""A training step that is one launch: forward, backward and update as a CUDA graph."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch_geometric.data import Batch

from graphdep.data.filler import Filler
from graphdep.nn.prepare import prepare
from graphdep.nn.static_batch import NotStaticError, StaticBatch, padded_tensors

logger = logging.getLogger(__name__)

#: Sizes of batches that graphs are captured for; a batch of a further size runs without.
MOST_GRAPHS = 64
#: Runs before a capture, in which kernels are compiled and libraries take their memory.
_WARM_UP = 3


class Graphed:
    """A function of batches that runs as a CUDA graph, one for each size of a batch; see :func:`graphed`.

    Args:
        function: Computes tensors of a batch, without reading anything from the device.
        model: The model, whose modules :func:`~graphdep.nn.prepare` batches for it.
        optimizer: The optimizer, if the function updates weights. (default: :obj:`None`)
        filler, static: As in :func:`graphed`.
    """

    def __init__(
        self,
        function: Callable[[Batch], Any],
        model: nn.Module,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        filler: Filler | None = None,
        static: bool | None = None,
    ) -> None:
        self.function, self.model, self.optimizer, self.filler = function, model, optimizer, filler
        self.device = next(model.parameters()).device
        self.captures = self.device.type == "cuda"
        self.tiles = self.captures
        self.ragged = {"y"} if filler is None or filler.tokens is None else {"y", filler.tokens}
        self.static = self.captures if static is None else static
        self._held: dict[Any, tuple[StaticBatch, Any, Any]] = {}
        self._pool: Any = None
        self._rates: tuple[float, ...] = ()
        if self.captures and optimizer is not None and (reason := _uncapturable(optimizer)):
            self._give_up(reason)

    def __call__(self, batch: Batch) -> Any:
        """What the function gives for a batch on the CPU, with edges; the next call overwrites it."""
        if not self.static:
            return self._eagerly(batch)
        full = batch if self.filler is None else self.filler(batch)
        full = prepare(self.model, full, self.device)
        try:
            tensors = padded_tensors(full, self.tiles, self.ragged)
        except NotStaticError as error:
            self._give_up(str(error))
            return self._eagerly(batch)
        numbers = tuple((name, x) for name, x in full._store.items() if isinstance(x, int | float | str))
        key = numbers, tuple((name, tuple(x.shape), x.dtype) for name, x in tensors.items())
        if key in self._held:
            self._held[key][0].load(tensors)
        elif len(self._held) < MOST_GRAPHS:
            self._held[key] = self._captured(StaticBatch(full, tensors, self.device, self.tiles))
        else:
            return self._eagerly(batch)
        held, graph, found = self._held[key]
        if graph is None:
            return self.function(held.batch)
        if self._rates != _constant_rates(self.optimizer):
            self._give_up(f"the learning rate of {type(self.optimizer).__name__} changes")
            return self._eagerly(batch)
        graph.replay()
        return found

    @property
    def num_sizes(self) -> int:
        """The number of sizes of batches that there is static memory for."""
        return len(self._held)

    def _eagerly(self, batch: Batch) -> Any:
        if self.device.type != "cpu":
            batch = prepare(self.model, batch, self.device).to(self.device, non_blocking=True)
        return self.function(batch)

    def _give_up(self, reason: str) -> None:
        logger.warning("batches run without CUDA graphs: %s", reason)
        self.static = False
        self._held.clear()

    def _captured(self, held: StaticBatch) -> tuple[StaticBatch, Any, Any]:
        """The batch with the graph of the function, which has not run yet, and where its values will be."""
        if not self.captures:
            return held, None, None
        if self.optimizer is not None:
            _make_capturable(self.optimizer, self.device)
        with _unchanged(self.model, self.optimizer, self.device):
            side = torch.cuda.Stream(self.device)
            side.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(side):
                for _ in range(_WARM_UP):
                    self.function(held.batch)
            torch.cuda.current_stream(self.device).wait_stream(side)
            if self.optimizer is not None:
                self.optimizer.zero_grad(set_to_none=True)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool):
                found = self.function(held.batch)
        self._pool = self._pool or graph.pool()
        self._rates = _constant_rates(self.optimizer)
        return held, graph, found


def graphed(
    model: nn.Module,
    loss: Callable[[nn.Module, Batch], Tensor],
    optimizer: torch.optim.Optimizer,
    filler: Filler | None = None,
    *,
    clip: float | None = None,
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
    static: bool | None = None,
) -> Graphed:
    """A training step for batches: gradients to zero, forward, backward, clipping and update.

    On CUDA the whole step is captured as a CUDA graph, one for each size of a batch, and replayed: an eager
    step is hundreds of launches of some 25 µs each, whatever the GPU does. Batches come from the CPU, with
    edges, are brought to one of a few sizes by the filler, and copied to the GPU at once. On the CPU, and
    where a step cannot be captured, it runs as it is; the reason is logged once.

    Args:
        model: The model, on the device that it is trained on.
        loss: ``loss(model, batch)``, which the step makes smaller; reads nothing from the device.
        optimizer: Adam or AdamW, or with a constant learning rate SGD or Adagrad.
        filler: Brings batches to a few sizes. Without it there is a graph for each size that comes, up to
            64. (default: :obj:`None`)
        clip: Largest norm of the gradient of all weights together. (default: :obj:`None`)
        autocast: Makes the context of the forward pass, such as
            ``lambda: torch.autocast("cuda", torch.bfloat16)``. (default: none)
        static: Copy batches into static memory, as for a graph, on the CPU too, where the step then runs
            without a graph: for tests. (default: on CUDA alone)

    Returns:
        A function of a batch on the CPU, with edges, that gives the loss, a number on the device of the
        model, which the next step overwrites: add it up there and read the sum once an epoch.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Batch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.nn import graphed
        >>> from graphdep.nn.models import DependencyTransformer, SentenceModel
        >>> from graphdep.transforms import resolve
        >>> edges = resolve("dt", implicit=True)
        >>> batch = edges(Batch.from_data_list([to_data([Sentence.chain(["It", "rains"])])] * 3))
        >>> encoder = DependencyTransformer(10, 100, hidden_channels=12, heads=2, ff_channels=12)
        >>> model = SentenceModel(encoder, torch.nn.Linear(12, 1))
        >>> optimizer = torch.optim.AdamW(model.parameters())
        >>> step = graphed(model, lambda model, batch: model(batch).square().mean(), optimizer)
        >>> bool(step(batch) > step(batch))
        True
    """

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            value = loss(model, batch)
        value.backward()
        if clip is not None:
            clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return value.detach()

    return Graphed(step, model, optimizer, filler=filler, static=static)


def _uncapturable(optimizer: torch.optim.Optimizer) -> str | None:
    """Why the updates of an optimizer cannot be captured; :obj:`None`: they can."""
    for group in optimizer.param_groups:
        # Without the option the numbers of a capture stay: right where none of them changes.
        constant = type(optimizer).__name__ in ("Adagrad", "SGD") and not group.get("lr_decay")
        if "capturable" not in group and not constant:
            return f"updates of {type(optimizer).__name__} cannot be captured"
    return None


def _make_capturable(optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    """Lets the optimizer keep its counts and learning rates on the device, where a schedule changes them."""
    for group in optimizer.param_groups:
        if "capturable" not in group:
            continue
        group["capturable"] = True
        group["lr"] = torch.as_tensor(group["lr"], dtype=torch.float32, device=device)
        for weight in group["params"]:
            if "step" in (state := optimizer.state[weight]):
                state["step"] = state["step"].to(device, torch.float32)


def _constant_rates(optimizer: torch.optim.Optimizer | None) -> tuple[float, ...]:
    """The learning rates that a graph of the optimizer's updates has fixed."""
    groups = [] if optimizer is None else optimizer.param_groups
    return tuple(group["lr"] for group in groups if not isinstance(group["lr"], Tensor))


@contextmanager
def _unchanged(
    model: nn.Module, optimizer: torch.optim.Optimizer | None, device: torch.device
) -> Iterator[None]:
    """Leaves weights, optimizer and random numbers as they were, at the same addresses."""
    tensors = [*model.parameters(), *model.buffers(), *_states(optimizer)]
    kept = [x.detach().clone() for x in tensors]
    drawn = torch.cuda.get_rng_state(device)
    yield
    known = {id(x) for x in tensors}
    with torch.no_grad():
        for x, old in zip(tensors, kept):
            x.copy_(old)
        for x in _states(optimizer):
            if id(x) not in known:
                x.zero_()
    torch.cuda.set_rng_state(drawn, device)


def _states(optimizer: torch.optim.Optimizer | None) -> list[Tensor]:
    states = {} if optimizer is None else optimizer.state
    return [x for state in states.values() for x in state.values() if isinstance(x, Tensor)]
