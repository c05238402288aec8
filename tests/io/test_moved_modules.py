from __future__ import annotations

import importlib
import sys

import pytest

from graphdep.io.moved_modules import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_leads_to_what_it_had(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"^{old} is now {MOVED[old][0]}"):
        module = importlib.import_module(old)
    for name in MOVED[old]:
        new = importlib.import_module(name)
        names = getattr(new, "__all__", None) or [key for key in vars(new) if not key.startswith("_")]
        assert names
        assert all(getattr(module, key) is getattr(new, key) for key in names)


def test_other_missing_modules_stay_missing():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("graphdep.no_such_module")
