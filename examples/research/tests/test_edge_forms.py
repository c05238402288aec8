from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

from graphdep.transforms import resolve

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def forms() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield import_module("edge_forms")
        for name in ("edge_forms", "scaling", "attention"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("preset", ["transformer", "dt"])
def test_what_is_compared_is_the_same(forms: ModuleType, preset: str) -> None:
    layers, results = forms.build(preset), []
    for form in forms.FORMS:
        batch = forms.make_batch([5, 3], "cpu")
        batch.x = torch.randn(batch.num_nodes, 300, generator=torch.Generator().manual_seed(0))
        data = resolve(preset, implicit=form == "implicit, layout")(batch)
        results.append(forms.run(layers, data, form))
    for result in results[1:]:
        torch.testing.assert_close(result, results[0])


def test_all_rows_are_measured(
    forms: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parents[2]))
    monkeypatch.setattr(forms, "PRESETS", ["dt"])
    forms.main(["--lengths", "4", "--sentences", "2", "--rounds", "1"])
    rows = capsys.readouterr().out.splitlines()[-3:]
    assert [row.split(" | ")[2] for row in rows] == forms.FORMS
    assert all(float(row.split(" | ")[3]) > 0 for row in rows)
