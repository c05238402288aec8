"""Whether anything waits for a GPU, found out on a machine without one, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

# Their results have sizes or are numbers that only the data tells: on a GPU they wait for it.
_ALWAYS = (
    "_local_scalar_dense bincount equal is_nonzero masked_select nonzero unique_consecutive unique_dim "
    "_unique _unique2"
).split()


@contextmanager
def no_waits(device: torch.device | str) -> Iterator[None]:
    """Raises :class:`RuntimeError` where something within it waits for the GPU.

    On CUDA that is torch's own check. On the CPU it is one of the operators that would wait there: numbers
    read from tensors, sizes that depend on values, masks as indices. ``tolist()`` and copies from one device
    to another are not seen there.

    Args:
        device: Where the tensors are.

    Example:
        >>> import torch
        >>> from graphdep.testing.no_waits import no_waits
        >>> with no_waits("cpu"):
        ...     torch.ones(3).sum().item()
        Traceback (most recent call last):
        RuntimeError: aten._local_scalar_dense would wait for the GPU
    """
    if torch.device(device).type != "cuda":
        with _Refused():
            yield
        return
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


class _Refused(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        sized = name == "repeat_interleave" and (kwargs or {}).get("output_size") is None
        if name in _ALWAYS or (sized and func._overloadname != "self_int") or _has_mask(name, args):
            raise RuntimeError(f"aten.{name} would wait for the GPU")
        return func(*args, **(kwargs or {}))


def _has_mask(name: str, args: tuple[Any, ...]) -> bool:
    """Whether something is indexed by a mask, except to write one value to all its places."""
    if name not in ("index", "index_put", "index_put_", "_index_put_impl_"):
        return False
    masked = any(isinstance(x, Tensor) and x.dtype in (torch.bool, torch.uint8) for x in args[1])
    return masked and (name == "index" or args[2].numel() != 1)
