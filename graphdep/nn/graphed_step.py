"""A training step in a single launch: forward, backward and update as a CUDA graph."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch

from graphdep.data.filler import Filler
from graphdep.nn.prepared import prepare
from graphdep.nn.static_batch import FlatBatch, Flattener, NotStaticError, StaticBatch, UnservedPairsError

logger = logging.getLogger(__name__)

#: Largest number of batch sizes with a graph; batches of further sizes run eagerly.
MOST_GRAPHS = 128
#: Runs before a capture, which compile kernels and allocate the memory of libraries.
_WARM_UP = 3


class TrainingStep:
    """A training step: the gradients of a batch's loss, gradient clipping and the weight update.

    It uses only PyTorch, and never synchronizes with the device.

    Args:
        loss: The loss of a batch. It runs under the autocast of the caller; the other parts do not.
        optimizer: The optimizer.
        clip: The largest norm of all gradients together; :obj:`None` for no clipping. (default: :obj:`None`)
        scaler: Scales a half-precision loss, whose gradients would underflow; synchronizes. (default:
            :obj:`None`)

    Example:
        >>> import torch
        >>> from graphdep.nn.graphed_step import TrainingStep
        >>> weight = torch.ones(1, requires_grad=True)
        >>> step = TrainingStep(lambda x: (weight * x).sum(), torch.optim.SGD([weight], lr=0.1), clip=1.0)
        >>> step(torch.tensor([3.0]))
        tensor(3.)
        >>> weight
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        loss: Callable[[Any], Tensor],
        optimizer: torch.optim.Optimizer,
        *,
        clip: float | None = None,
        scaler: torch.amp.GradScaler | None = None,
    ) -> None:
        self.loss, self.optimizer, self.clip, self.scaler = loss, optimizer, clip, scaler

    def __call__(self, batch: Any) -> Tensor:
        """Runs the step of a batch and returns its loss."""
        self.zero_grad()
        loss = self.loss(batch)
        # Gradients have the types of the forward pass.
        with torch.autocast(loss.device.type, enabled=False):
            self.backward(loss)
            self.update()
        return loss.detach()

    def zero_grad(self) -> None:
        """Frees the gradients of the previous step."""
        for weight in self.weights():  # optimizer.zero_grad() is slower: it calls profiler hooks
            weight.grad = None

    def backward(self, loss: Tensor) -> None:
        """Computes the gradients."""
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def update(self) -> None:
        """Clips the gradients and updates the weights."""
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        self.clip_grad()
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def clip_grad(self) -> None:
        """Limits the norm of the gradients to :obj:`clip`."""
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.weights(), self.clip)

    def weights(self) -> list[Tensor]:
        """The weights of the optimizer, read each time, since callbacks may add some."""
        return [weight for group in self.optimizer.param_groups for weight in group["params"]]


class Graphed:
    """A function of batches that runs as a CUDA graph, one per batch size; see :func:`graphed`.

    Args:
        function: Computes tensors from a batch, without reading values from the device.
        model: The model for whose modules :func:`~graphdep.nn.prepare` prepares the batches.
        optimizer: The optimizer, if the function updates weights. (default: :obj:`None`)
        flatten: Fills and prepares batches; shared with a loader whose workers do so. (default: fills
            nothing)
        static: As in :func:`graphed`.
        state: Returns further tensors that the function changes, such as sums. (default: none)
    """

    def __init__(
        self,
        function: Callable[[Batch], Any],
        model: nn.Module,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        flatten: Flattener | None = None,
        static: bool | None = None,
        state: Callable[[], Sequence[Tensor]] = tuple,
    ) -> None:
        self.function, self.model, self.optimizer = function, model, optimizer
        self.state = state
        self.device = next(model.parameters()).device
        on_cuda = self.device.type == "cuda"
        self.flatten = flatten or Flattener(model, self.device)
        self.static = on_cuda if static is None else static
        self.captures = self.static and on_cuda
        self._held: dict[Any, tuple[StaticBatch, Any, Any, tuple[float, ...]]] = {}
        self._pool: Any = None
        if optimizer is not None:
            # A loaded state has other tensors than the graphs.
            optimizer.register_load_state_dict_post_hook(lambda _: self._held.clear())
            if self.captures and (reason := _uncapturable(optimizer)):
                self._run_eagerly(reason)

    def __call__(self, batch: Batch | FlatBatch) -> Any:
        """The function's output for a batch on the CPU with edges, or for the output of :meth:`flat`; the
        next call overwrites the output.
        """
        flat = self._flat(batch) if self.static and not isinstance(batch, FlatBatch) else batch
        if isinstance(flat, FlatBatch):
            held, graph, found, rates = self._of_size(flat)
            if graph is not None and rates == _constant_rates(self.optimizer):
                graph.replay()
                return found
            if self.static or batch is flat:
                held.renew()
                return self.function(held.batch)
        if self.device.type != "cpu":
            batch = prepare(self.model, cast(Batch, batch), self.device).to(self.device, non_blocking=True)
        return self.function(batch)

    def flat(self, batch: Batch) -> Batch | FlatBatch:
        """A batch with edges, filled, prepared and in one buffer; the batch itself if that is not possible.
        Workers of a loader can call it.
        """
        return batch if self.flatten.stopped else self._flat(batch)

    def _flat(self, batch: Batch) -> Batch | FlatBatch:
        try:
            return self.flatten(batch)
        except UnservedPairsError as error:
            _warn_once(f"a batch runs without a CUDA graph: {error}")
        except NotStaticError as error:
            self._run_eagerly(str(error))
        return batch

    def _of_size(self, flat: FlatBatch) -> tuple[StaticBatch, Any, Any, tuple[float, ...]]:
        """The static memory for batches of this size, with this batch loaded."""
        key = flat.size, self._mode()
        if key in self._held:
            self._held[key][0].load(flat)
            return self._held[key]
        held = StaticBatch(flat, self.device)
        if len(self._held) == MOST_GRAPHS:
            _warn_once(f"more than {MOST_GRAPHS} batch sizes: further ones run without CUDA graphs")
            return held, None, None, ()
        graph = found = None
        if self.captures:
            try:
                graph, found = self._captured(held)
            except Exception as error:  # an error of the function is raised again when it runs eagerly
                self._run_eagerly(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
        self._held[key] = held, graph, found, _constant_rates(self.optimizer)
        return self._held[key]

    def _mode(self) -> tuple[Any, ...]:
        """Everything besides the batch size that is fixed in a graph."""
        kind = self.device.type
        cast = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        weights = tuple((x.data_ptr(), x.requires_grad) for x in self.model.parameters())
        return self.model.training, cast, weights

    @property
    def num_sizes(self) -> int:
        """The number of batch sizes with static memory."""
        return len(self._held)

    def _run_eagerly(self, reason: str) -> None:
        _warn_once(f"batches run without CUDA graphs: {reason}")
        self.static = self.captures = False
        self.flatten.stop()
        self._held.clear()

    def _captured(self, held: StaticBatch) -> tuple[Any, Any]:
        """The captured graph of the function, before its first replay, and its output tensors."""
        if self.optimizer is not None:
            _make_capturable(self.optimizer, self.device)
        # The graph would skip the casts of weights in autocast's cache.
        cached = torch.is_autocast_cache_enabled()
        torch.set_autocast_cache_enabled(False)
        torch.clear_autocast_cache()
        try:
            with self._unchanged():
                self._warm_up(held)
                graph = torch.cuda.CUDAGraph()
                # Values derived from a layout in an earlier run belong to that batch only.
                held.renew()
                # Other threads may pin memory during the capture.
                with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                    found = self.function(held.batch)
        finally:
            torch.set_autocast_cache_enabled(cached)
        self._pool = self._pool or graph.pool()
        return graph, found

    def _warm_up(self, held: StaticBatch) -> None:
        side, main = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        side.wait_stream(main)
        try:
            with torch.cuda.stream(side):
                for run in range(_WARM_UP):
                    held.renew()
                    with _refusing_waits() if run else nullcontext():
                        self.function(held.batch)
        finally:
            main.wait_stream(side)

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Restores weights, optimizer, sums and random numbers afterwards, at the same addresses."""
        tensors = self._changed()
        kept = [x.detach().clone() for x in tensors]
        drawn = torch.cuda.get_rng_state(self.device)
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        safe = generator.clone_state()
        try:
            yield
        except BaseException:
            generator.graphsafe_set_state(safe)  # after a failed capture it would still be capturing
            raise
        finally:
            known = {id(x) for x in tensors}
            with torch.no_grad():
                for x, old in zip(tensors, kept):
                    x.copy_(old)
                for x in self._changed():  # tensors created meanwhile start at zero
                    if id(x) not in known:
                        x.zero_()
        torch.cuda.set_rng_state(drawn, self.device)

    def _changed(self) -> list[Tensor]:
        """All tensors that a call may change."""
        states = {} if self.optimizer is None else self.optimizer.state
        own = [x for state in states.values() for x in state.values() if isinstance(x, Tensor)]
        return [*self.model.parameters(), *self.model.buffers(), *own, *self.state()]


@cache
def _warn_once(message: str) -> None:
    logger.warning(message)


@contextmanager
def _refusing_waits() -> Iterator[None]:
    """Raises an error at any synchronization with the device, which would break a capture."""
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning that the mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(mode)


def graphed(
    model: nn.Module,
    loss: Callable[[nn.Module, Batch], Tensor],
    optimizer: torch.optim.Optimizer,
    filler: Filler | None = None,
    *,
    clip: float | None = None,
    static: bool | None = None,
) -> Graphed:
    """A training step for batches: zero gradients, forward, backward, clipping and update.

    On CUDA the whole step is captured as a CUDA graph, one per batch size, and replayed: an eager step has
    hundreds of launches of some 25 µs each, whatever their work. The filler pads batches, which come from the
    CPU with edges, to a few sizes; each is then copied to the GPU at once. On the CPU, and if the capture
    fails, the step runs eagerly; the reason is logged once. Call the step under autocast for a forward pass
    in 16 bits.

    Args:
        model: The model, on its training device.
        loss: ``loss(model, batch)``, to be minimised; must not read values from the device.
        optimizer: Adam or AdamW, or SGD or Adagrad with a constant learning rate.
        filler: Pads batches to a few sizes. Without a filler there is a graph for each batch size, up to 128.
            (default: :obj:`None`)
        clip: Largest gradient norm of all weights together. (default: :obj:`None`)
        static: Copy batches into static memory, as for a graph, even on the CPU, where the step then runs
            without a graph: for tests. (default: only on CUDA)

    Returns:
        A function of a batch on the CPU with edges. It returns the loss on the device of the model; the next
        step overwrites it, so sum it on the device and read the sum once per epoch.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Batch
        >>> from graphdep import RelationVocab, Sentence, Vocab, to_data
        >>> from graphdep.nn import graphed
        >>> from graphdep.nn.models import DependencyTransformer, SentenceModel
        >>> from graphdep.transforms import resolve
        >>> edges = resolve("dt", implicit=True)
        >>> data = to_data([Sentence.chain(["It", "rains"])], vocab=Vocab(["It", "rains"]))
        >>> batch = edges(Batch.from_data_list([data] * 3))
        >>> sizes = {"hidden_channels": 12, "heads": 2, "ff_channels": 12}
        >>> encoder = DependencyTransformer(10, len(RelationVocab()), **sizes)
        >>> model = SentenceModel(encoder, torch.nn.Linear(12, 1))
        >>> optimizer = torch.optim.AdamW(model.parameters())
        >>> step = graphed(model, lambda model, batch: model(batch).square().mean(), optimizer)
        >>> step(batch).shape
        torch.Size([])
    """
    step = TrainingStep(lambda batch: loss(model, batch), optimizer, clip=clip)
    flatten = Flattener(model, next(model.parameters()).device, filler=filler)
    return Graphed(step, model, optimizer, flatten=flatten, static=static)


def _uncapturable(optimizer: torch.optim.Optimizer) -> str | None:
    """Why the updates of an optimizer cannot be captured; :obj:`None` if they can."""
    name = type(optimizer).__name__
    for group in optimizer.param_groups:
        # SGD and Adagrad are not capturable: the graph keeps their numbers, so none of them may change.
        constant = name in ("Adagrad", "SGD") and not (group.get("lr_decay") or group.get("dampening"))
        if not constant and name not in ("Adam", "AdamW"):
            return f"updates of {name} cannot be captured"
    return None


def _make_capturable(optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    """Lets the optimizer keep its counts and learning rates on the device, where a schedule can change them,
    and save its state for any device.
    """
    if all(group.get("capturable", True) for group in optimizer.param_groups):
        return
    for group in optimizer.param_groups:
        group["capturable"] = True
        group["lr"] = torch.as_tensor(group["lr"], dtype=torch.float32, device=device)
        for weight in group["params"]:
            if "step" in (state := optimizer.state[weight]):
                state["step"] = state["step"].to(device, torch.float32)
    optimizer.register_state_dict_post_hook(_for_any_device)


def _for_any_device(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    for group in state["param_groups"]:
        group.update(capturable=False, lr=float(group["lr"]))


def _constant_rates(optimizer: torch.optim.Optimizer | None) -> tuple[float, ...]:
    """The learning rates that are fixed in a graph of the optimizer's updates."""
    groups = [] if optimizer is None else optimizer.param_groups
    return tuple(group["lr"] for group in groups if not isinstance(group["lr"], Tensor))
