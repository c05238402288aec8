"""The text of the kernels obeys rules that the interpreter does not check."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest
import torch

from graphdep.nn.attention.dispatch import TILE_ROWS
from graphdep.nn.attention.fused import fused_attention as launch
from graphdep.nn.attention.fused import kernels
from graphdep.nn.attention.fused.fused_attention import FLASH_SHAPES, TILE_WARPS

SOURCE = ast.parse(Path(kernels.__file__).read_text(encoding="utf-8"))


def calls(prefix: str) -> list[tuple[int, set[str]]]:
    """Line and keywords of every call of ``tl.<prefix>...``."""
    return [
        (node.lineno, {keyword.arg for keyword in node.keywords})
        for node in ast.walk(SOURCE)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(f"tl.{prefix}")
    ]


def test_all_kernels_stand_in_this_file():
    folder = Path(kernels.__file__).parent
    assert [path.name for path in folder.glob("*.py") if "tl.load" in path.read_text(encoding="utf-8")] == [
        "kernels.py"
    ]


def test_a_masked_load_says_what_it_gives_elsewhere():
    """The interpreter gives 0 there, a GPU anything."""
    found = calls("load")
    assert found
    assert not [line for line, keywords in found if "mask" in keywords and "other" not in keywords]


def test_every_number_has_one_writer():
    assert not calls("atomic")


def test_products_say_their_precision():
    """Else those of 32 bits have 10 on a GPU."""
    assert not [line for line, keywords in calls("dot") if "input_precision" not in keywords]


# -- launch ----------------------------------------------------------------------------------------------


POINTERS = {"SLOT": "*u8", "SEED": "*i64"}
POINTERS |= dict.fromkeys(("LSE", "DELTA", "ALPHA", "DALPHA", "BIAS", "SCALE", "DBIAS", "DSCALE"), "*fp32")
POINTERS |= dict.fromkeys(("TILE", "ROWPTR", "EDGE", "FLASH", "USED"), "*i32")
NUMBERS = {"keep_scale": "fp32", "sm_scale": "fp32"}
# What a program is compiled for where a layer has all that it may have; 48 channels lie in 64 columns.
MOST = {"H": 16, "D": 48, "BLOCK_D": 64, "PRECISION": "ieee", "HAS_EDGE": True}
MOST |= {"HAS_BIAS": True, "HAS_SCALE": True, "DROPOUT": True, "WEIGHTS": False}
# Bytes that ptxas may put aside with the weights of edges on top, which edge values alone ask for.
WITH_WEIGHTS = 128


def configurations() -> dict[str, tuple[str, dict[str, int], int]]:
    """Of every shipped one: kernel, shape, warps."""
    found = {}
    for rows, warps in TILE_WARPS.items():
        for way, count in zip(("forward", "backward"), warps):
            found[f"tile_{way} {rows}"] = (f"tile_{way}", {"BLOCK": rows}, count)
    for name, (step, warps) in FLASH_SHAPES.items():
        kernel = "flash_forward" if name == "forward" else f"flash_backward_{name}"
        found[kernel] = (kernel, {"TILE": TILE_ROWS, "STEP": step}, warps)
    return found


CONFIGURATIONS = configurations()
# Most registers that a thread may have: where they are few, more programs share a multiprocessor.
REGISTERS = {"tile_forward 16": 128, "tile_backward 16": 128, "tile_forward 32": 64, "tile_backward 32": 128}
# The kernels that need most, on the other architectures.
TIGHT = ("tile_forward 64", "tile_backward 64", "flash_backward_rows", "flash_backward_columns")
CASES = [(name, 90) for name in CONFIGURATIONS] + [(name, arch) for name in TIGHT for arch in (80, 120)]


def report(name: str, arch: int, **changes: object) -> tuple[int, int]:
    """Registers a thread and bytes spilled, as ptxas says."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel_name, shape, warps = CONFIGURATIONS[name]
    kernel = getattr(launch, kernel_name)
    constants = {key: value for key, value in (MOST | shape | changes).items() if key in kernel.arg_names}
    absent = {"ALPHA", "DALPHA"} if not constants["WEIGHTS"] else set()
    absent |= {"BIAS", "SCALE", "DBIAS", "DSCALE"} if not constants["HAS_BIAS"] else set()
    constants |= dict.fromkeys(absent & {*kernel.arg_names})
    signature = {
        arg: "constexpr"
        if arg in constants
        else POINTERS.get(arg) or NUMBERS.get(arg) or ("i32" if arg.islower() else "*bf16")
        for arg in kernel.arg_names
    }
    aligned = [["tt.divisibility", 16]]
    source = ASTSource(
        fn=kernel,
        signature=signature,
        constexprs={(kernel.arg_names.index(arg),): value for arg, value in constants.items()},
        attrs={
            (i,): aligned
            for i, (arg, kind) in enumerate(signature.items())
            if kind.startswith("*") or arg.startswith("stride")
        },
    )
    options = {"num_warps": warps, "num_stages": 1}
    ptx = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options).asm["ptx"]
    target = re.search(r"\.target (\w+)", ptx)[1]
    assembler = "ptxas-blackwell" if arch >= 100 else "ptxas"
    program = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / assembler
    done = subprocess.run(
        [program, f"-arch={target}", "-v", "-o", os.devnull, "-"], input=ptx, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    spilled = re.search(r"(\d+) bytes spill stores", done.stderr)
    return int(re.search(r"Used (\d+) registers", done.stderr)[1]), int(spilled[1])


needs_compiler = [
    pytest.mark.triton,
    pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="the interpreter compiles nothing"),
]


def marks(function):
    for mark in needs_compiler:
        function = mark(function)
    return function


@marks
@pytest.mark.parametrize(("name", "arch"), CASES)
def test_compiles_without_spills(name: str, arch: int) -> None:
    registers, spilled = report(name, arch)
    assert spilled == 0
    assert registers <= REGISTERS.get(name, 255)


@marks
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("name", ["tile_forward 64", "tile_backward 64"])
def test_weights_on_top_spill_little(name: str, arch: int) -> None:
    assert report(name, arch, WEIGHTS=True)[1] <= WITH_WEIGHTS


@pytest.mark.parametrize(
    ("channels", "padded"), [(1, 16), (16, 16), (17, 32), (48, 64), (64, 64), (128, 128)]
)
def test_channels_are_padded_to_what_tensor_cores_take(channels: int, padded: int) -> None:
    assert launch.padded_channels(channels) == padded


def test_products_are_exact_unless_torch_is_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch.precision(torch.float32) == "ieee"
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
    assert launch.precision(torch.float32) == "tf32"
    assert launch.precision(torch.bfloat16) == "ieee"
