"""What training steps ask of a GPU, against a table whose numbers only become smaller."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

from tests.nn.launches.count import COLUMNS, ROOT, TABLE, WRITE, read_table

needed = ("transformers", "pybart")
pytestmark = [
    pytest.mark.skipif(None in map(find_spec, needed), reason=f"{' or '.join(needed)} is not installed"),
    pytest.mark.skipif(torch.version.cuda is not None, reason="torch has a CUDA of its own"),
    pytest.mark.skipif(torch.__version__.split("+")[0] != "2.13.0", reason="the table is of torch 2.13.0"),
]


def run(*arguments: str) -> str:
    # In a process of its own: a device that is not there would be one of all other tests.
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_steps_ask_for_what_the_table_says(tmp_path):
    run("-m", "tests.nn.launches.count", "--output", str(tmp_path / "table.csv"))
    table, counted = read_table(TABLE), read_table(tmp_path / "table.csv")
    assert table.keys() == counted.keys(), f"rows have come or gone: {WRITE}"
    more, less = [], []
    for row, numbers in table.items():
        for column, before, now in zip(COLUMNS, numbers, counted[row]):
            if now != before:
                (more if now > before else less).append(f"{' '.join(row)}: {column} {before} -> {now}")
    assert not more, "\n".join(["steps ask the GPU for more:", *more])
    assert not less, "\n".join([f"steps ask the GPU for less, which the table is to say: {WRITE}", *less])


# What each is counted as; `x` and `n` are on the device, `c` is on the CPU.
OPERATIONS = {
    "x + x": {"launch": 1},
    "x.add_(1)": {"launch": 1},
    "x.view(-1)[1:].detach()": {},
    "torch.empty_like(x)": {},
    "torch.zeros(3, device=x.device)": {"launch": 1},
    "c.to(x.device)": {"copy": 1},
    "torch.tensor([1, 2], device=x.device)": {"copy": 1},
    "x.copy_(c)": {"copy": 1},
    "x.double()": {"launch": 1},
    "x.cpu()": {"read": 1},
    "c.copy_(x)": {"read": 1},
    "x.sum().item()": {"launch": 1, "read": 1},
    "bool((n > 0).any())": {"launch": 2, "read": 1},
    "n.tolist()": {"read": 1},
    "n.nonzero()": {"launch": 1, "read": 1},
    "n.unique()": {"launch": 1, "read": 1},
    "torch.equal(n, n)": {"launch": 1, "read": 1},
    "x[n > 1]": {"launch": 3, "read": 1},
    "x[n]": {"launch": 1},
    "x[torch.tensor([0])]": {"launch": 1, "copy": 1},
    "x.masked_fill(n > 1, 0)": {"launch": 2},
    "n.repeat_interleave(n, output_size=3)": {"launch": 2},
    "n.repeat_interleave(n)": {"launch": 2, "read": 1},
    "c + 1": {"cpu": 1},
    "F.scaled_dot_product_attention(q, q, q)": {"launch": 1},
    "q.exp().sum().backward()": {"launch": 4},
    "x + c": "tensors on the CPU and on the device",
    "x.t_()": "t_ on the device",
}
_SCRIPT = """
import json, sys
from tests.nn.launches.count import load_guard
load_guard()
import torch, torch.nn.functional as F
from tests.nn.launches.device import Calls, OnDevice, install
install()
found = {}
for text in json.load(sys.stdin):
    x, n, c = OnDevice(torch.ones(3)), OnDevice(torch.arange(3)), torch.ones(3)
    q = OnDevice(torch.ones(1, 2, 3, 4)).requires_grad_()
    calls = Calls()
    try:
        with calls.during("step"):
            eval(text)
        found[text] = {kind: number for (_, kind), number in calls.counts.items()}
    except (RuntimeError, NotImplementedError) as error:
        found[text] = str(error)
print(json.dumps(found))
"""


def test_operations_are_counted_as_cuda_does_them():
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        cwd=ROOT,
        input=json.dumps([*OPERATIONS]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for text, expected in OPERATIONS.items():
        same = expected in found[text] if isinstance(expected, str) else found[text] == expected
        assert same, f"{text}: {found[text]}"
