from __future__ import annotations

from pathlib import Path

import pytest
from evidence import OpenClaim, read_open_claims

OURS = Path(__file__).parents[2] / "claims" / "open"
ONE = '[[claims]]\ntext = "t"\nsource = "Table 2"\npublished = "+.1"\nwhy = "w"\n'


def test_the_place_follows_the_paper(tmp_path):
    (tmp_path / "b.toml").write_text(f'source = "B"\n{ONE}')
    (tmp_path / "a.toml").write_text(f'source = "A"\n{ONE.replace("Table 2", "")}')
    rest = {"text": "t", "published": "+.1", "why": "w"}
    assert read_open_claims(tmp_path) == [OpenClaim(source=s, **rest) for s in ("A", "B, Table 2")]


def test_ours_can_be_read():
    assert {claim.source.split(",")[0] for claim in read_open_claims(OURS)} > {
        "Integrating Dependency Tree into Self-attention for Sentence Representation"
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ONE, "one.toml: the file must have 'source' and 'claims' .got claims"),
        (f'source = "A"\n{ONE}more = "x"\n', "one.toml: .*more"),
        (f'source = "A"\n{ONE.replace(chr(34) + "w" + chr(34), "3")}', "claim's 'why' must be a text .got 3"),
        (f'source = "A"\n{ONE.replace("+.1", " ")}', "claim's 'published' must be a text .got ' '"),
        ("source", "one.toml: "),
    ],
)
def test_errors(tmp_path, text, message):
    (tmp_path / "one.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_open_claims(tmp_path)
    with pytest.raises(FileNotFoundError, match="no open claims"):
        read_open_claims(tmp_path / "none")
