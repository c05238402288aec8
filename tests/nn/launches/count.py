"""Counts what a training step asks of a GPU, without one: launches, copies, and reads of the device.

The step is that of ``graphdep train`` on small corpora, with models of a few channels, on the device of
:mod:`tests.nn.launches.device`. The counts of one model, and the places of all its reads, its copies and its
operations on the CPU::

    python -m tests.nn.launches.count --task sst --model dt

``--set batch_size=16`` and the like are settings as of ``graphdep train``. The table is written anew, when a
number has become lower, by::

    python -m tests.nn.launches.count --output tests/nn/launches/table.csv

Its columns: ``moved``, copies that bring a batch to the device; launches of ``forward``, ``backward`` and
``optimizer``; ``copies`` to the device, operations of the CPU (``cpu``) and ``reads`` in these three; and
``eager``, 1 for a step that is no CUDA graph, because it copies or reads, or its batches cannot lie in static
memory, or the optimizer's updates cannot be captured. An operation counts as one launch, of which CUDA may
make several kernels.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

COLUMNS = ("moved", "forward", "backward", "optimizer", "copies", "cpu", "reads", "eager")
ROOT = Path(__file__).parents[3]
TABLE = Path(__file__).with_name("table.csv")
WRITE = "python -m tests.nn.launches.count --output tests/nn/launches/table.csv"
# A row's name and its numbers.
Table = dict[tuple[str, str, str], tuple[int, ...]]


def read_table(path: Path) -> Table:
    """The rows of a table, by task, model and edges, with :data:`COLUMNS`."""
    with path.open(encoding="utf-8", newline="") as file:
        return {tuple(row[:3]): tuple(map(int, row[3:])) for row in [*csv.reader(file)][1:]}  # type: ignore[misc]


def write_table(path: Path, table: Table) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["task", "model", "edges", *COLUMNS])
        writer.writerows([*name, *numbers] for name, numbers in table.items())


def load_guard() -> None:
    """Builds ``guard.cpp`` and loads it, before PyTorch, which finds out about devices once.

    Raises:
        RuntimeError: If PyTorch has been imported, or there is no C++ compiler, or it fails.
    """
    if "torch" in sys.modules:
        raise RuntimeError("the device of tests/nn/launches must be loaded before torch is imported")
    named = (os.environ.get("CXX"), "c++", "g++", "clang++")
    compiler = next(filter(None, (shutil.which(name) for name in named if name)), None)
    if compiler is None:
        raise RuntimeError("launches are counted with a C++ compiler (CXX, c++, g++ or clang++): none found")
    spec = find_spec("torch")
    root = Path(str(spec and spec.origin)).parent
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "guard.so"
        command = [compiler, "-shared", "-fPIC", "-std=c++20", "-O0", f"-I{root / 'include'}"]
        command += [str(Path(__file__).with_name("guard.cpp")), "-o", str(library)]
        command += [f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{root / 'lib'}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{compiler} cannot build guard.cpp: {done.stderr.strip()[-1000:]}")
        ctypes.CDLL(str(library))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task")
    parser.add_argument("--model")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--output", type=Path, help="count all rows, and write the table to this file")
    args = parser.parse_args()
    if (args.output is None) == (args.task is None or args.model is None):
        parser.error("give --task and --model for one model, or --output for the table")
    warnings.simplefilter("ignore")  # of steps without a trainer
    load_guard()
    from graphdep.training.settings import parse_settings
    from tests.nn.launches.device import install
    from tests.nn.launches.steps import Workplace, count, count_table

    install()
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(Path(folder))
        if args.output is not None:
            table, wrong = count_table(place)
            write_table(args.output, table)
            if wrong:
                sys.exit("\n".join(["steps fail, and have no row:", *wrong]))
        else:
            config = place.config(args.task, args.model, **parse_settings(args.set, args.task))
            print(count(config, place))


if __name__ == "__main__":
    main()
