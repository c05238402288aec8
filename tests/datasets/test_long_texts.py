"""A text that no corpus has, which would take all memory, is refused when its line is read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from graphdep.datasets.dialogues import _add_emotion, read_daily_dialog, read_published
from graphdep.datasets.glue import read_part
from graphdep.datasets.selection.corpora import read_log, read_test_csv, read_train_csv
from graphdep.datasets.selection.dataset import read_rows
from graphdep.datasets.sentences import read_mrpc, read_sick, read_sst

SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
MRPC = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
EMOTION = "Dialog_ID,Type,Actor,Text\n"
TEST = f"Context,Ground Truth Utterance,{','.join(f'Distractor_{number}' for number in range(9))}\n"


def read_irc(path: Path):
    path.with_name(path.name.replace(".ascii.", ".annotation.")).write_text("0 1 -\n")
    return read_log(path)


READERS = {
    "sick": ("a.txt", SICK + "1\ta\t{}\t3\tNEUTRAL\n", 2, "sentence_B", read_sick),
    "sst": ("a.tsv", "a\t1\n{}\t0\n", 2, "sentence", lambda path: read_sst(path, "sentence")),
    "mrpc": ("a.txt", MRPC + "1\t1\t2\t{}\tb\n", 2, "#1 String", read_mrpc),
    "glue": (
        *("train.tsv", "index\tsentence1\tsentence2\tlabel\n0\ta\t{}\tentailment\n", 2, "sentence2"),
        lambda path: read_part([path], "rte", "train"),
    ),
    "dailydialog": ("a.txt", "a __eou__ b __eou__\na __eou__ {} __eou__\n", 2, "turn 2", read_daily_dialog),
    "published": (
        *(
            "a.csv",
            "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\nhit:0_conv:1,1,sad,p,1,{},5|5|5_5|5|5,\n",
            2,
            "utterance",
        ),
        read_published,
    ),
    "emotion": (
        *("sad.csv", EMOTION + "d,utterance,x,{}\n", 2, "Text"),
        lambda path: _add_emotion(path, {}),
    ),
    "rows": ("train.txt", "1\ta\tb\n0\ta\t{}\tc\n", 2, "utterance 2", lambda path: list(read_rows(path))),
    "ubuntu train": (
        *("train.csv", "Context,Utterance,Label\na __eot__ {},b,1\n", 2, "Context"),
        lambda path: list(read_train_csv(path)),
    ),
    "ubuntu test": (
        *("test.csv", TEST + "a,{}" + ",c" * 9 + "\n", 2, "Ground Truth Utterance"),
        lambda path: list(read_test_csv(path)),
    ),
    "irc": ("a.ascii.txt", "[10:00] <ann> hello\n[10:01] <bob> {}\n", 2, "message", read_irc),
}


@pytest.mark.parametrize("name", READERS)
def test_a_long_text_has_its_file_and_line(tmp_path, name):
    file, content, line, what, read = READERS[name]
    path = tmp_path / file
    path.write_text(content.format(("word " * 9_900).strip()))
    read(path)
    path.write_text(content.format(("word " * 10_001).strip()))
    with pytest.raises(ValueError, match=re.escape(f"{path}:{line}: '{what}' must be ") + ".* 10000 words"):
        read(path)


def test_a_long_text_of_a_sample_has_its_entry(tmp_path):
    path = tmp_path / "sample10k-train.json"
    row = {"text_a": "a", "text_b": "word " * 10_001, "label": "entailment"}
    path.write_text(json.dumps({"3": row}))
    with pytest.raises(ValueError, match=r"entry '3': 'text_b' must be a text of 1 to 10000 words"):
        read_part([path], "rte", "train")
