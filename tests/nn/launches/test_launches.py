"""What training steps ask of a GPU, against a table whose numbers only become smaller."""

from __future__ import annotations

import subprocess
import sys

from tests.nn.launches.count import COLUMNS, ROOT, TABLE, WRITE, read_table


def test_steps_ask_for_what_the_table_says(tmp_path):
    # In a process of its own: a device that is not there would be one of all other tests.
    command = [sys.executable, "-m", "tests.nn.launches.count", "--output", str(tmp_path / "table.csv")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table, counted = read_table(TABLE), read_table(tmp_path / "table.csv")
    assert table.keys() == counted.keys(), f"rows have come or gone: {WRITE}"
    more, less = [], []
    for row, numbers in table.items():
        for column, before, now in zip(COLUMNS, numbers, counted[row]):
            if now != before:
                (more if now > before else less).append(f"{' '.join(row)}: {column} {before} -> {now}")
    assert not more, "\n".join(["steps ask the GPU for more:", *more])
    assert not less, "\n".join([f"steps ask the GPU for less, which the table is to say: {WRITE}", *less])
