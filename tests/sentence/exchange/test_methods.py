"""The examples in the docstrings of what Sentence takes and gives."""

from __future__ import annotations

import doctest
from importlib.util import find_spec
from inspect import cleandoc

import pytest

from graphdep import Sentence

METHODS = {
    "from_spacy": pytest.mark.spacy,
    "from_stanza": (),
    "from_conllu": pytest.mark.skipif(find_spec("conllu") is None, reason="conllu is not installed"),
    "from_dict": (),
    "to_conllu": (),
    "to_networkx": pytest.mark.skipif(find_spec("networkx") is None, reason="networkx is not installed"),
    "to_spacy": pytest.mark.spacy,
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks) for name, marks in METHODS.items()])
def test_the_example_runs(name):
    text = cleandoc(getattr(Sentence, name).__doc__)
    assert text.count("\nExample:\n") == 1
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    told: list[str] = []
    assert not doctest.DocTestRunner(verbose=False).run(example, out=told.append).failed, "".join(told)


def test_there_are_no_others():
    found = {name for name in dir(Sentence) if name.startswith(("from_", "to_"))}
    assert found == {*METHODS}
