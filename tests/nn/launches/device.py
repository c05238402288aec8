"""A CUDA device that is not there: tensors that say they are on it, and a count of what it is asked for.

The numbers of such a tensor lie on the CPU, where each operation is done, so that code which reads them goes
on as it would on a GPU. The fused kernels of the library, of which the CPU has none, give zeros.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import torch.optim.optimizer as optimizers
import torch.utils._foreach_utils as foreach
from torch import Tensor
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
)
from torch.utils._pytree import tree_flatten, tree_unflatten

import graphdep
from graphdep.nn.attention.fused import fused_attention

PACKAGE = f"{Path(graphdep.__file__).parent}{os.sep}"
DEVICE = torch.device("cuda", 0)
PHASES = ("forward", "backward", "optimizer")
# Views of what is there, memory that nobody has written to, and what is for a profiler.
_FREE = {
    "_unsafe_view",
    "lift_fresh",
    "empty",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
}
_FREE |= {"_record_function_enter_new", "_record_function_exit"}
# Their result, or its size, is known when the device has computed it.
_READS = {"_local_scalar_dense", "equal", "nonzero", "masked_select", "bincount"}
_READS |= {"_unique", "_unique2", "unique_consecutive", "unique_dim"}
# The lengths of sequences stay on the CPU, as cuDNN wants them.
_PACKED = {"_pack_padded_sequence", "_pack_padded_sequence_backward", "_pad_packed_sequence"}
_INDEXED = {"index", "_unsafe_index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put"}


def install() -> None:
    """Gives this process the device, for as long as it lives."""
    torch.cuda._lazy_init = lambda: None  # which torch calls before it moves anything to CUDA
    for types in (foreach._foreach_supported_types, optimizers._foreach_supported_types):
        types.append(OnDevice)
    fused_attention.INSTALLED, fused_attention.INTERPRETED = True, False  # the kernels are not run
    F.scaled_dot_product_attention = torch.nn.functional.scaled_dot_product_attention = _at_once(
        "scaled_dot_product_attention", F.scaled_dot_product_attention
    )
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell"):
        setattr(torch._VF, name, _at_once(name, getattr(torch._VF, name)))


class OnDevice(Tensor):
    """A tensor on the device."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: Tensor) -> OnDevice:
        made: OnDevice = Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=DEVICE,
        )
        made.held = held
        return made

    def tolist(self) -> Any:
        _note("read", "tolist")
        return self.held.tolist()

    def __repr__(self, **kwargs: Any) -> str:
        return f"OnDevice({self.held})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _Calls().__torch_dispatch__(func, types, args, kwargs)


class _Calls(TorchDispatchMode):
    """Does what the device is asked for, and tells :meth:`note` of it."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled, and to import what compiles takes seconds

    def note(self, kind: str, name: str) -> None:
        """Called for each: ``"launch"``, ``"copy"`` to the device, ``"read"``, or ``"cpu"``, an operation of
        the CPU.
        """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name, free = _about(func)
        tensors = [*_tensors(args), *_tensors(kwargs.values())]
        on = [x for x in tensors if isinstance(x, OnDevice)]
        asked = kwargs.get("device")
        cuda = bool(on) if asked is None else torch.device(asked).type == "cuda"
        if not on and not cuda:
            kwargs = {key: value for key, value in kwargs.items() if key != "pin_memory"}
            if not free:
                self.note("cpu", name)
            return args[0] if name == "_pin_memory" else func(*args, **kwargs)
        if name == "copy_":
            cuda = isinstance(args[0], OnDevice)
        away = len(on) < len(tensors) and any(x.dim() for x in tensors if not isinstance(x, OnDevice))
        if not free:
            self._note(name, args, kwargs, cuda, away)
        if asked is not None:
            kwargs = {**kwargs, "device": torch.device("cpu")}
        run = _FUSED.get(name, func)
        found = run(*map(_held, args), **{key: _held(value) for key, value in kwargs.items()})
        if name == "copy_" or not cuda:
            return args[0] if name == "copy_" else found
        known = {id(x.held): x for x in on}
        if name in _PACKED and isinstance(found, tuple):
            return _wrapped(found[0], known), *found[1:]
        return _wrapped(found, known)

    def _note(self, name: str, args: Any, kwargs: Any, cuda: bool, away: bool) -> None:
        if name in ("_to_copy", "copy_") and not cuda:
            return self.note("read", name)
        if name in ("_to_copy", "copy_") and not isinstance(args[1 if name == "copy_" else 0], OnDevice):
            return self.note("copy", name)
        if name in _INDEXED:
            indices = [x for x in args[1] if x is not None]
            for index in indices:
                if index.dtype in (torch.bool, torch.uint8):
                    self.note("read", f"{name} by a mask")
                    self.note("launch", "nonzero")
                elif not isinstance(index, OnDevice):
                    self.note("copy", name)
        elif away and name not in _PACKED:
            raise RuntimeError(f"{name} has tensors on the CPU and on the device")
        if name in _READS or (name == "repeat_interleave" and kwargs.get("output_size") is None):
            self.note("read", name)
        if name != "_local_scalar_dense":
            self.note("launch", name)


class Calls(_Calls):
    """Counts what the device and the CPU are asked for while it is on.

    Attributes:
        static: Whether the batch has lain in static memory, as a CUDA graph needs it.
        counts: How many by (phase, kind).
        names: How many by (phase, kind, name of the operation).
        places: How many by (phase, kind, name, place in the library).
    """

    def __init__(self) -> None:
        super().__init__()
        self.phase, self.static = "", False
        self.counts: Counter[tuple[str, str]] = Counter()
        self.names: Counter[tuple[str, str, str]] = Counter()
        self.places: Counter[tuple[str, str, str, str]] = Counter()

    def note(self, kind: str, name: str) -> None:
        self.counts[self.phase, kind] += 1
        self.names[self.phase, kind, name] += 1
        if kind != "launch":
            self.places[self.phase, kind, name, _place()] += 1

    @property
    def numbers(self) -> tuple[int, ...]:
        """Copies that bring the batch to the device; launches of forward, backward and optimizer; copies,
        operations of the CPU and reads in these three; and 1 for a step that is no CUDA graph.
        """
        moved = self.counts["moved", "copy"]
        launches = (self.counts[phase, "launch"] for phase in PHASES)
        copies, cpu, reads = (
            sum(self.counts[phase, kind] for phase in PHASES) for kind in ("copy", "cpu", "read")
        )
        return moved, *launches, copies, cpu, reads, int(not self.static or copies + reads > 0)

    def __str__(self) -> str:
        lines = []
        for phase in ("moved", *PHASES):
            kinds = (f"{self.counts[phase, kind]} {kind}" for kind in ("launch", "copy", "cpu", "read"))
            names = {
                name: n for (part, kind, name), n in self.names.items() if (part, kind) == (phase, "launch")
            }
            ordered = sorted(names.items(), key=lambda item: -item[1])
            lines.append(f"{phase}: {', '.join(kinds)}; {', '.join(f'{n} {name}' for name, n in ordered)}")
        for (phase, kind, name, place), number in sorted(self.places.items()):
            if phase in PHASES:
                lines.append(f"  {phase}: {number} x {kind} {name} at {place}")
        return "\n".join(lines)

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Counts, as a part of a step."""
        self.phase = phase
        lifted = torch._C._only_lift_cpu_tensors()
        torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(..., device="cuda") then is a copy
        try:
            with self:
                yield
        finally:
            torch._C._set_only_lift_cpu_tensors(lifted)


@cache
def _about(func: Any) -> tuple[str, bool]:
    """The name of an operation, and whether nothing is launched for it."""
    name = func._schema.name.rpartition("::")[2]
    if torch.Tag.inplace_view in func.tags:
        raise NotImplementedError(f"{name} on the device of tests/nn/launches")
    views = (x.alias_info is not None and not x.alias_info.is_write for x in func._schema.returns)
    return name, name in _FREE or any(views)


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _held(value: Any) -> Any:
    if isinstance(value, OnDevice):
        return value.held
    return type(value)(map(_held, value)) if type(value) in (list, tuple) else value


def _wrapped(value: Any, known: dict[int, OnDevice]) -> Any:
    if isinstance(value, Tensor):
        return known[id(value)] if id(value) in known else OnDevice(value)
    return type(value)(_wrapped(x, known) for x in value) if type(value) in (list, tuple) else value


def _place() -> str:
    """The innermost line of the library that is being run."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            return f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{frame.f_lineno}"
        frame = frame.f_back
    return "outside"


def _forward(query: Tensor, *args: Any) -> tuple[Tensor, ...]:
    return tuple(x.zero_() for x in fused_attention._forward_shapes(query, *args))


def _backward(*args: Any) -> tuple[Tensor, ...]:
    return tuple(x.zero_() for x in fused_attention._backward_shapes(*args))


_FUSED: dict[str, Callable[..., Any]] = {
    "fused_attention": _forward,
    "fused_attention_backward": _backward,
}


class _AtOnce(torch.autograd.Function):
    """A function that CUDA has as one operation, and the CPU as many."""

    @staticmethod
    def forward(ctx: Any, name: str, function: Callable[..., Any], *tensors: Any) -> Any:
        ctx.name = name
        _note("launch", name)
        held = [x.held.detach().requires_grad_(x.requires_grad) for x in tensors]
        with _disable_current_modes(), torch.enable_grad():
            found = function(*held)
        ctx.held, ctx.found = held, found if isinstance(found, tuple) else (found,)
        made = tuple(OnDevice(x.detach()) for x in ctx.found)
        return made if isinstance(found, tuple) else made[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        _note("launch", f"{ctx.name}_backward")
        wanted = [x for x in ctx.held if x.requires_grad]
        given = [(x, g.held) for x, g in zip(ctx.found, grads) if g is not None and x.requires_grad]
        with _disable_current_modes():
            outputs, incoming = zip(*given)
            found = iter(torch.autograd.grad(outputs, wanted, incoming, allow_unused=True))
            made = [next(found) if x.requires_grad else None for x in ctx.held]
        return None, None, *(x if x is None else OnDevice(x) for x in made)


def _note(kind: str, name: str) -> None:
    mode = _get_current_dispatch_mode()
    if isinstance(mode, _Calls):
        mode.note(kind, name)


def _at_once(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        on = [place for place, x in enumerate(leaves) if isinstance(x, OnDevice)]
        if not on:
            return function(*args, **kwargs)

        def with_held(*held: Tensor) -> Any:
            values = dict(enumerate(leaves)) | dict(zip(on, held))
            args, kwargs = tree_unflatten([*values.values()], spec)
            return function(*args, **kwargs)

        return _AtOnce.apply(name, with_held, *(leaves[place] for place in on))

    return call
