from __future__ import annotations

import json
import lzma

ENGLISH = """\
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\t_\tARG0
2\tcome\tcome\tVERB\tVBP\t_\t0\troot\t_\t_\tcome.01\tV
3\tat\tat\tADP\tIN\t_\t4\tcase\t_\t_\t_\t_
4\tnight\tnight\tNOUN\tNN\t_\t2\tobl:tmod\t_\t_\t_\tARGM-TMP
"""
GERMAN = """\
1\tSie\tsie\tPRON\tPPER\t_\t3\tnsubjpass\tY\tbe.01\tA1\t_
2\twird\twerden\tVERB\tVAFIN\t_\t3\tauxpass\t_\t_\t_\tR-A1
3\tgesehen\tsehen\tVERB\tVVPP\t_\t0\troot\tY\tsee.01\t_\t_
4\tund\tund\tCONJ\tKON\t_\t3\tcc\t_\t_\t_\tAM-DIS
5\tgesucht\tsuchen\tVERB\tVVPP\t_\t3\tconj\t_\t_\t_\t_
"""


def test_words_are_tags_and_labels_are_those_that_both_treebanks_have(example, scripts, tmp_path):
    english, others, output = (tmp_path / name for name in ("english", "others", "output"))
    english.mkdir()
    others.mkdir()
    (english / "en_ewt-up-dev.conllu").write_text(ENGLISH)
    (english / "en_ewt-up-test.conllu").write_text("# propbank = no-up\n" + ENGLISH)
    (others / "de-up-dev.conllu.xz").write_bytes(lzma.compress(GERMAN.encode()))
    (others / "de-up-test.conllu").write_text(GERMAN)
    out = example("transfer_roles.py", english, others, output).stdout
    assert "en-train: 0 sentences without annotation left out, 1 predicates, 2 arguments" in out
    assert "en-val: 1 sentences without annotation left out" in out
    (row,) = map(json.loads, (output / "en-train.jsonl").read_text().splitlines())
    assert row == {
        "words": ["NOUN", "VERB", "ADP", "NOUN"],
        "head": [2, 0, 4, 2],
        "deprel": ["nsubj", "root", "case", "nmod"],
        "labels": ["ARG0", None, "O", "ARGM-TMP"],
        "mark": 1,
    }
    rows = [*map(json.loads, (output / "de-test.jsonl").read_text().splitlines())]
    assert rows[:2] == rows[2:]
    assert rows[0] == {
        "words": ["PRON", "AUX", "VERB", "CCONJ", "VERB"],
        "head": [3, 3, 0, 5, 3],
        "deprel": ["nsubj:pass", "aux:pass", "root", "cc", "conj"],
        "labels": [None, "O", "O", "O", "O"],
        "mark": 0,
    }
    assert rows[1]["labels"] == ["O", "R-ARG1", None, "ARGM-DIS", "O"]
