from __future__ import annotations

import dataclasses
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphdep.io import parse_ptb, write_conllu

GOLD = "(S (NP (DT The) (NN dog)) (VP (VBD slept) (PRT (RP in))) (. .))"
FOUND = "(S (NP (DT The) (NN dog)) (VP (VBD slept)) (ADVP (RP in)) (. .))"
PIECES = ("(TOP(S(NP*", "*)", "(VP*", "(PRT*))", "*))")


SCRIPT = Path(__file__).parents[1] / "score_constituents.py"


@pytest.fixture
def script():
    return SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def test_scores_of_evalb_and_of_all_brackets(script):
    gold, found = parse_ptb(GOLD), parse_ptb(FOUND)
    f1, precision, recall, whole = script.scores(gold, found)
    # S, NP and ADVP = PRT are right; the VP is over one word, not two.
    assert (f1, precision, recall, whole) == pytest.approx((75, 75, 75, 0))
    assert script.scores(gold, found, evalb=False)[1:] == pytest.approx((50, 50, 0))
    assert script.scores(gold, gold) == pytest.approx((100, 100, 100, 100))


def test_it_puts_the_treebanks_words_below_the_skeletons_brackets(script, tmp_path, capsys):
    [sentence] = parse_ptb(GOLD)
    named = dataclasses.replace(sentence, constituents=None, comments=["# sent_id = weblog-d_ENG-0001"])
    write_conllu([named], tmp_path / "en-ud-test.conllu")
    rows = zip(PIECES, sentence.xpos)
    lines = [f"weblog/d_ENG.xml 0 {i} [WORD] {tag} {piece} - -" for i, (piece, tag) in enumerate(rows)]
    (tmp_path / "d_ENG.xml.gold_skel").write_text("\n".join(lines) + "\n")
    [pair], left_out = script.read_ewt([tmp_path / "en-ud-test.conllu"], [tmp_path / "d_ENG.xml.gold_skel"])
    assert not left_out.names
    assert pair.bracketed.constituents == sentence.constituents
    assert script.on_ewt(tmp_path, tmp_path, "test", "bundled:" + str(script.BUNDLED), False)
    assert "test: 1 sentences, 0 left out, 0 with a flat tree" in capsys.readouterr().out
    (tmp_path / "test.txt").write_text("(3 (2 The) (3 (2 dog) (2 slept)))\n")
    script.on_sst(Path(tmp_path), "bundled")
    assert "SST test: 1 sentences" in capsys.readouterr().out
