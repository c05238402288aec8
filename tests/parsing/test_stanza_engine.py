from __future__ import annotations

import pytest
import stanza

from graphdep.parsing import BundledParser, ParserUnavailableError, StanzaParser


@pytest.mark.parametrize("make", [BundledParser, lambda: StanzaParser("en")], ids=["bundled", "stanza"])
@pytest.mark.parametrize("version", ["1.14.0", "1.9.2"])
def test_an_old_stanza_loads_nothing(monkeypatch, make, version):
    monkeypatch.setattr(stanza, "__version__", version)
    monkeypatch.setattr(stanza, "Pipeline", lambda *args, **kwargs: pytest.fail("loaded"))
    with pytest.raises(ParserUnavailableError, match=f"stanza {version} is installed.*install 1.15 or later"):
        make().parse(["A dog barks."])


@pytest.mark.parametrize("version", ["1.15", "1.20.1rc1", "2.0"])
def test_a_later_one_does(monkeypatch, version):
    monkeypatch.setattr(stanza, "__version__", version)
    monkeypatch.setattr(BundledParser, "_load", lambda self: "loaded")
    assert BundledParser()._engine.pipeline == "loaded"
