from __future__ import annotations

import pytest

from graphdep.parsing import ParserUnavailableError, StanzaParser


def test_missing_models_say_what_to_do(tmp_path):
    parser = StanzaParser("zh", directory=tmp_path, download=False)
    with pytest.raises(
        ParserUnavailableError, match=r"stanza\.download\('zh', package='default'\).*'bundled'"
    ):
        parser.parse(["我"])
    with pytest.raises(ParserUnavailableError, match="not to be had"):
        _ = parser.fingerprint


def test_no_network_says_what_to_do(tmp_path, monkeypatch):
    import requests

    def refuse(*args, **kwargs):
        raise requests.exceptions.ConnectionError("no route")

    monkeypatch.setattr(requests.Session, "request", refuse)
    with pytest.raises(ParserUnavailableError, match=r"ConnectionError: no route.*Where there is a network"):
        StanzaParser("en", directory=tmp_path).parse(["hello"])


def test_language_and_options_reach_stanza(monkeypatch):
    import stanza

    seen = {}

    def pipeline(language, **options):
        seen.update(options, language=language)
        raise ValueError("enough")

    monkeypatch.setattr(stanza, "Pipeline", pipeline)
    with pytest.raises(ParserUnavailableError, match="enough"):
        StanzaParser("de", package="gsd", use_gpu=False).parse(["hallo"])
    assert seen["language"] == "de"
    assert seen["package"] == "gsd"
    assert seen["use_gpu"] is False
    assert seen["depparse_resolve_head_constraints"] is False


def test_an_empty_call_loads_nothing():
    assert StanzaParser("xx").parse([]) == []
    assert repr(StanzaParser("xx")) == "StanzaParser('xx', package='default')"
