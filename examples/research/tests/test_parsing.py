from __future__ import annotations

import json
from types import ModuleType

import pytest

from graphdep.io import write_conllu
from graphdep.sentence import Sentence


def test_both_ways_give_the_same_parses(bench: ModuleType, tmp_path, capsys):
    words = "The dog that barked saw a cat , which ran away .".split()
    sentences = [Sentence(words[: 3 + i], list(range(3 + i)), ["dep"] * (3 + i)) for i in range(6)]
    write_conllu(sentences, tmp_path / "en_x-ud-test.conllu")
    bench.main(["--raw-from", str(tmp_path), "--rounds", "1", "--output", str(tmp_path / "speed.json")])
    result = json.loads((tmp_path / "speed.json").read_text())
    assert [result[mode]["different"] for mode in ("words", "raw text")] == [0, 0]
    assert min(result["words"]["plain"], result["raw text"]["shortcuts"]) > 0
    assert "| words |" in capsys.readouterr().out


def test_a_folder_without_a_test_split(bench: ModuleType, tmp_path):
    with pytest.raises(SystemExit):
        bench.main(["--raw-from", str(tmp_path)])
