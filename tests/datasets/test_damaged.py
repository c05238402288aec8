"""Errors of damaged raw files have file, line and value: a table of all readers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from graphdep import Sentence
from graphdep.datasets.base.rows import read_text_rows
from graphdep.datasets.dialogues import _add_emotion, read_daily_dialog, read_published
from graphdep.datasets.glue import read_part
from graphdep.datasets.labels.agreement import bracket_tree, read_agreement
from graphdep.datasets.labels.bio import bio_of
from graphdep.datasets.labels.cogs import original, variable_free
from graphdep.datasets.labels.own import read_own_sentences
from graphdep.datasets.labels.propbank import read_skeletons, read_up
from graphdep.datasets.labels.words import Column, LabelledWords
from graphdep.datasets.selection.corpora import read_log, read_test_csv, read_train_csv
from graphdep.datasets.selection.dataset import read_rows
from graphdep.datasets.sentences import (
    MRPC_COLUMNS,
    SICK_COLUMNS,
    TRAIN,
    Paraphrase,
    read_dev_ids,
    read_mrpc,
    read_sick,
    read_sst,
    read_sst_trees,
)
from graphdep.datasets.spans.corpora import read_aspect_terms, read_conll04, read_semeval2010
from graphdep.datasets.spans.rows import SpanExample
from graphdep.sentence.intake import Intake


def read_acts(path):
    (path.parent / "dialogues_train.txt").write_text("A __eou__\nB __eou__\nC __eou__\n", encoding="utf-8")
    return read_daily_dialog(path.parent / "dialogues_train.txt", path)


def read_reviews(path):
    return read_sst(path, "sentence")


def read_ids(path):
    return read_dev_ids(path, [Paraphrase(1, (11, 12), ("A dog runs", "A dog ran"))])


def named(name, read):
    """The reader, given the file under another name."""

    def read_it(path):
        other = path.with_name(name)
        other.write_bytes(path.read_bytes())
        try:
            return read(other)
        except ValueError as error:
            raise ValueError(str(error).replace(str(other), str(path))) from None

    read_it.__name__ = name
    return read_it


def read_links(path):
    log = path.with_name("a.ascii.txt")
    log.write_text("[10:00] <ann> hello\n[10:01] <bob> hi\n", encoding="utf-8")
    path.rename(path.with_name("a.annotation.txt"))
    try:
        return read_log(log)
    except ValueError as error:
        raise ValueError(str(error).replace("a.annotation.txt", path.name)) from None


def read_messages(path):
    path.with_name("a.annotation.txt").write_text("0 1 -\n")
    path.rename(path.with_name("a.ascii.txt"))
    try:
        return read_log(path.with_name("a.ascii.txt"))
    except ValueError as error:
        raise ValueError(str(error).replace("a.ascii.txt", path.name)) from None


def agreement(path):
    return read_agreement(path, "tense", brackets=False)


def published(path):
    return read_published(path, candidates=True)


def emotion(path):
    found = {"c": ["a turn of another file"]}
    _add_emotion(path, found)
    return found


def glue(name):
    return named(f"{name}.tsv", lambda path: read_part([path], name, "train"))


def csv_rows(path):
    return read_text_rows(path, ["text", "label"])


def own_words(path):
    return read_own_sentences(path, Column("upos"), Intake())


LONG = "word " * 10_001
SICK = "\t".join(SICK_COLUMNS) + "\n"
PAIR = "1\tA dog runs\tA cat runs\t3.5\tNEUTRAL\n"
MRPC = "\t".join(MRPC_COLUMNS) + "\n"
PARAPHRASE = "1\t11\t12\tA dog runs\tA dog ran\n"
TASK8 = '7\t"The <e1>dog</e1> bit the <e2>man</e2>."\nOther\nComment: none\n\n'
PUBLISHED = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"
EMOTION = "Dialog_ID,Type,Actor,Text\n"
RTE, ENTAILS = "index\tsentence1\tsentence2\tlabel\n", "0\tA dog ran\tA dog runs\tentailment\n"
SKELETON = (
    "d 0 0 [WORD] A (S* - - (A*\nd 0 1 [WORD] gave - - *)\n".replace("gave", "B *")
    + "d 0 2 [WORD] V *) give give.01 (V*)\n"
)
UP = "1\tAnn\t_\t_\t_\t_\t2\tnsubj\t_\t_\t_\tARG0\n2\twants\t_\t_\t_\t_\t0\troot\t_\t_\twant.01\tV\n"
UP_LISTED = (
    "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC UP:PRED UP:ARGHEADS UP:ARGSPANS\n"
    + UP.replace("ARG0\n", "_\t_\n").replace("\tV\n", "\tARG0:1\t_\n")
)
ASPECTS = (
    "<sentences><sentence id='1'><text>A dish.</text><aspectTerms>\n"
    '<aspectTerm term="dish" polarity="neutral" from="2" to="6"/>\n'
    "</aspectTerms></sentence></sentences>\n"
)


def news(**changed):
    entities = [{"type": "Peop", "start": 0, "end": 1}, {"type": "Loc", "start": 1, "end": 2}]
    return json.dumps([{"tokens": ["Ann", "Bern"], "entities": entities, "relations": [], **changed}])


# Reader, file name, content, and the message after the file name.
DAMAGED = {
    read_sick: {
        "": "1: the file is empty",
        "\n": "1: no column 'pair_ID'",
        SICK: "1: no row below the header",
        PAIR: "1: no column 'pair_ID'; the columns are 1, A dog runs",
        SICK + PAIR + "2\tA dog\t3.5\tNEUTRAL\n": "3: 4 columns instead of 5 (got '2\\tA dog",
        SICK + PAIR + "\n" + PAIR: "3: a blank line",
        SICK + PAIR.replace("1", "x", 1): "2: 'pair_ID' must be a number (got 'x')",
        SICK + PAIR + PAIR: "3: the pair_ID is also in line 2 (got 1)",
        SICK + PAIR + "0" + PAIR: "3: the pair_ID is also in line 2",
        SICK + PAIR.replace("A dog runs", " "): "2: 'sentence_A' must be a text of 1 to 10000",
        SICK + PAIR.replace("A cat runs", "a " * 10_001): "2: 'sentence_B' must be a text of 1 to 10000",
        SICK + PAIR.replace("3.5", "3,5"): "2: 'relatedness_score' must be a number within 1",
        SICK + PAIR.replace("3.5", "0.9"): "2: 'relatedness_score' must be",
        SICK + PAIR.replace("3.5", "5.1"): "2: 'relatedness_score' must be",
        SICK + PAIR.replace("NEUTRAL", "NEUTR"): "2: 'entailment_judgment' must be one of",
        SICK + PAIR.replace("dog", "d\x07g"): "2: a control character (got '\\x07')",
    },
    read_mrpc: {
        PARAPHRASE: "1: no column 'Quality'; the columns are",
        MRPC + PARAPHRASE.replace("1", "2", 1): "2: 'Quality' must be one of 0, 1 (got '2')",
        MRPC + PARAPHRASE.replace("12", "-2"): "2: '#2 ID' must be a number (got '-2')",
        MRPC + PARAPHRASE.replace("A dog runs", " "): "2: '#1 String' must be a text of",
        MRPC + PARAPHRASE + PARAPHRASE: "3: the pair of IDs is also in line 2 (got (11, 12))",
        MRPC + PARAPHRASE.replace("dog", "d\x13g"): "2: a control character (got '\\x13')",
    },
    read_ids: {
        "11\t12\n11\t13\n": f"2: {TRAIN} has no such pair (got '11 13')",
        "11\t12\n11\t12\n": "2: the pair of IDs is also in line 1 (got (11, 12))",
        "#1 ID\t#2 ID\n": "1: '#1 ID' must be a number (got '#1 ID')",
        "11\n": "1: 1 columns instead of 2",
    },
    read_reviews: {
        "sentence\tlabel\nfine\t1\n": "1: 'label' must be one of 0, 1; the layout 'glue' has a header (got",
        "fine\t1\nfine\n": "2: 1 columns instead of 2 (got 'fine')",
        "fine\t1\nfine\t1\t1\n": "2: 3 columns instead of 2",
        "fine\t1\n \t1\n": "2: 'sentence' must be a text of",
    },
    read_acts: {
        "1\n1 x\n1\n": "2: 'labels' must be whole numbers (got '1 x')",
        "1\n1\n": "2: the last line, but dialogues_train.txt has 3 lines",
    },
    read_semeval2010: {
        TASK8.replace("\t", " "): "1: no number, tab and sentence in quotation marks",
        TASK8.replace("Other", "Others"): "2: 'label' must be one of the 19 labels (got 'Others')",
        TASK8.replace("Comment", "Remark"): "3: 'line after a label' must be a comment or blank",
        TASK8 + TASK8: "5: the number is also in line 1 (got '7')",
        TASK8.replace("</e2>", ""): "1: not two spans:",
    },
    read_sst_trees: {
        f"(3 fine)\n{tree}\n": f"2: {message}"
        for tree, message in {
            "": "'sentence' must be a text of 1 to 10000 words",
            "(3 (2 a) (2 b)": "1 brackets are never closed (got '(3 (2 a) (2 b)')",
            "(3 a))": "')' is outside of all phrases",
            "(3 a) (2 b)": "a phrase beside the whole or beside a word",
            "(3 a (2 b))": "a phrase beside the whole or beside a word",
            "(3 (2 b) a)": "the word 'a' is not alone in its phrase",
            "(3 a b)": "the word 'b' is not alone in its phrase",
            "(5 a)": "a grade must be 0, 1, 2, 3 or 4, and not '5'",
            "(3 (2 a) (2 ))": "a phrase has no word",
            "(": "a grade must be 0, 1, 2, 3 or 4, and not ''",
        }.items()
    },
    read_daily_dialog: {
        "A __eou__ B": "1: a dialogue must be turns that each end with __eou__ (got 'A __eou__ B')",
        "A __eou__  __eou__ B __eou__": "1: 'turn 2' must be a text of 1 to 10000 words",
        "\n": "1: a dialogue must be turns",
    },
    published: {
        PUBLISHED: "1: no row below the header",
        "conv_id,utterance\n": "1: no column 'utterance_idx'; the columns are conv_id, utterance",
        f"{PUBLISHED}c,1,afraid,A dog,1,Oh": "2: 6 columns instead of 8 (got 'c,1,",
        f"{PUBLISHED}c,1,afraid,A,dog,1,Oh,5,,": "2: 10 columns instead of 8",
        f"{PUBLISHED}c,1,afraid,A, dog,1,Oh,5,": "2: 'speaker_idx' must be a whole number (is there",
        f"{PUBLISHED}c,1,afraid,A dog,1,Oh, no,5,": "2: 'selfeval' must be digits, | and _",
        f"{PUBLISHED}c,1,afraid,A dog,1,Oh,5,\nd,1,afraid,A dog,1,Oh,5,\nc,2,afraid,A dog,1,Oh,5,": (
            "4: the rows of a dialogue must follow one another"
        ),
        f"{PUBLISHED}c,2,afraid,A dog,1,Oh,5,": "2: utterance_idx must be 1 in c (got '2')",
        f"{PUBLISHED}c,1,afraid,A dog,1, ,5,": "2: 'utterance' must be a text of",
    },
    emotion: {
        f"{EMOTION}a,utterance,speaker": "2: 3 columns instead of 4 (got 'a,utterance,speaker')",
        f"{EMOTION}a,remark,speaker,x": "2: 'Type' must be one of situation, utterance (got 'remark')",
        f"{EMOTION}a,utterance,speaker, ": "2: 'Text' must be a text of",
        f"{EMOTION}c,utterance,speaker,x": "2: the rows of a dialogue must follow one another",
        f"{EMOTION}a,utterance,x,y\nb,utterance,x,y\na,utterance,x,y": "4: the rows of a dialogue",
        f'{EMOTION}a,utterance,speaker,"x"y': "2: bad quotes (",
    },
    read_rows: {
        "1\ta\tb\n2\ta\tb\n": "2: 'label' must be one of 0, 1 (got '2')",
        "\n": "1: 'label' must be one of 0, 1 (got '')",
        "1\ta b\n": "1: 2 tab-separated columns instead of a label, utterances and a response",
        f"1\ta\tb\n0\ta\t{LONG}\tc\n": "2: 'utterance 2' must be a text of at most 10000 words",
    },
    read_train_csv: {
        "Context,Utterance\na,b\n": "1: no column 'Label'; the columns are Context, Utterance",
        "Context,Utterance,Label\na,b,1\na,b\n": "3: 2 columns instead of 3 (got 'a,b')",
        'Context,Utterance,Label\n"a\nb",c,2\n': "2: 'Label' must be one of 1, 1.0, 0, 0.0 (got '2')",
        'Context,Utterance,Label\n"a,b,1\n': "2: bad quotes (unexpected end of data",
        f"Context,Utterance,Label\na __eot__ {LONG},b,1\n": "2: 'Context' must be turns of at most",
    },
    read_test_csv: {
        f"Context,Ground Truth Utterance,{','.join(f'Distractor_{n}' for n in range(9))}\na,{LONG}"
        + ",c" * 9: "2: 'Ground Truth Utterance' must be turns of at most 10000 words",
    },
    read_messages: {f"[10:00] <ann> hello\n[10:01] <bob> {LONG}\n": "2: 'message' must be turns of at most"},
    read_links: {
        "1 2": "1: not 'number number -' of lines from 0 to 1 (got '1 2')",
        "1 2 -": "1: not 'number number -' of lines from 0 to 1 (got '1 2 -')",
        "1 " + "9" * 5000 + " -": "1: not 'number number -' of lines from 0 to 1 (got '1 99",
        "1 \u0662 -": "1: not 'number number -'",
    },
    glue("rte"): {
        RTE: "1: no row below the header",
        RTE.replace("label", "gold") + ENTAILS: "1: no column 'label'; the columns are index, sentence1",
        RTE + ENTAILS + '1\t"A dog ran\n': "3: 2 columns instead of 4 (got '1\\t\"A dog",
        RTE
        + ENTAILS.replace(
            "A dog runs", " "
        ): "2: 'sentence2' must be a text of 1 to 10000 words (it is blank)",
        RTE + ENTAILS.replace("ent", "Ent"): "2: 'label' must be one of entailment, not_entailment (got 'Ent",
    },
    glue("cola"): {
        "x\t1\t\tA dog ran\nx\t2\t\tA dog\n": "2: 'label' must be one of 0, 1 (got '2')",
        "x\t1\tA dog ran\n": "1: 3 columns instead of 4",
    },
    glue("stsb"): {
        f"index\tsentence1\tsentence2\tscore\n0\ta\tb\t{score}\n": "2: 'score' must be a number"
        for score in ("5.001", "-1", "nan")
    },
    named("sample10k-train.json", lambda path: read_part([path], "rte", "train")): {
        "[]": " not an object (got [])",
        "{": " no JSON: ",
        '{"0": {}, "0": {}}': " no JSON: the key '0' occurs 2 times",
        '{"3": {"text_a": "a", "text_b": "b"}}': " entry '3': 'label' must be one of",
        '{"3": {"text_a": "a", "text_b": 1, "label": "entailment"}}': " entry '3': 'text_b' must be",
        '{"3": {"text_a": "a", "text_b": " ", "label": "entailment"}}': " entry '3': 'text_b' must be",
    },
    named("x.csv", csv_rows): {
        "text,label\n": "1: no row below the header",
        "text,y\na,b\n": "1: no column 'label'; the columns are text, y",
        "texts,label\na,b\n": "1: no column 'text'; the columns are texts, label (name yours: --text-columns",
        "text,labels\na,b\n": "1: no column 'label'; the columns are text, labels (did you mean 'labels'?)",
        "text\tlabel\na\tb\n": "1: no column 'text'; the columns are 'text\\tlabel' (one column: is the "
        "separator '\\t'? save with commas, or as .tsv)",
        "text;label\na;b;c\n": "2: 3 columns instead of 2 (got 'a;b;c')",
        f"{','.join(f'c{i}' for i in range(12))}\n": "1: no column 'text'; the columns are c0, c1, c2, c3, "
        "c4, c5, c6, c7, c8, c9 and 2 more",
        "\ufeff\ufefftext,label\na,b\n": "1: no column 'text'; the columns are '\\ufefftext', label",
        "text,label,text\na,b,c\n": "1: a column occurs twice (got 'text')",
        "text,label\na,b\na,b,c\n": "3: 3 columns instead of 2 (got 'a,b,c')",
        "text,label\na,b\n\na,b\n": "3: a blank line",
        'text,label\n"a,b\n': "2: bad quotes",
    },
    named("x.jsonl", csv_rows): {
        '{"text": "a", "label": 1}\n\n': "2: a blank line",
        '{"text": "a", "label": 1}\n{"text": "a"}\n': "2: no column 'label'; the columns are text",
        "[1]\n": "1: not an object (got 1)",
        '{"text": "a", "text": "b", "label": 1}\n': "1: no JSON: the key 'text' occurs 2 times",
        '{"text": "\\ud800", "label": 1}\n': "1: half a character",
    },
    own_words: {
        "a O\nb c O\n": "2: 3 columns instead of 2, as the first row has (got 'b c O')",
        "word\n": "1: 1 columns instead of 2 or more (got 'word')",
        "a\tO\n\u00a0\tO\n": "2: 'word' must be a text: the first column",
        "a\tO\nb\t\n": "2: 'label' must be a text: the first column is the word, the last its label",
        "a O\n# a comment in a sentence\n": "2: 6 columns instead of 2",
        "\n\n# x\n": "1: no sentence in the file",
    },
    agreement: {
        "the cook sang .\tthe cook sings .\n": "1: 'flag' must be one of PRESENT, PAST (got '.')",
        "PRESENT\tthe cook sings .\n": "1: 'input' must be a text of",
        "the cook sang . PRESENT\t \n": "1: 'output' must be a text of",
        "the cook sang . PRESENT\n": "1: 1 columns instead of 2",
    },
    read_skeletons: {
        SKELETON.replace("B * - - *)", "B * - -"): "2: 8 columns instead of 9, as the first row has",
        SKELETON.replace("d 0 1", "d 0 2"): "2: sentence and token must be numbers, here 0 and 1 (got '0 2')",
        SKELETON.replace("d 0", "d -1"): "1: sentence and token must be numbers, here -1 and 0",
        SKELETON.replace("give.01", "-"): "1: 0 predicates in the sentence, but 1 columns for them",
        SKELETON.replace("- - (A*", "- x.01 (A*"): "3: 2 predicates in the sentence, but 1 columns for them",
        SKELETON.replace(
            "(A*", "(A"
        ): "1: column 9 must have *, (LABEL*) or (LABEL*, or *) in a span (got '(A')",
        SKELETON.replace("(A*", "*"): "2: column 9 must have",
        SKELETON.replace("*)\n", "*\n"): "3: column 9 has a span V that does not end",
        SKELETON.replace("(V*)", "(V*"): "3: column 9 has a span V that does not end",
        SKELETON.replace("(V*)", "*"): "1: column 9 has no span V, which is the predicate",
        SKELETON
        + "\n"
        + SKELETON: "5: the sentence's number must be above 0, that of the one before (got '0')",
    },
    read_up: {
        UP.replace("want.01", "_"): "1: 0 predicates in the sentence, but 1 columns for them",
        UP.replace("\tV", ""): "2: 11 columns instead of 12, as the first row has",
        UP.replace("\t_\tARG0", "").replace("\twant.01\tV", ""): "1: 10 columns instead of 11 or more",
        f"# global.columns = ID LEMMA\n{UP}": "1: the columns of CoNLL-U must come first",
        UP_LISTED.replace("UP:PRED ", ""): "1: no column 'UP:PRED'",
        UP_LISTED.replace("ARG0:1", "ARG0:3"): "3: UP:ARGHEADS must be LABEL:WORD of 2 words (got 'ARG0:3')",
        UP_LISTED.replace("ARG0:1", "_:1"): "3: UP:ARGHEADS must be LABEL:WORD",
        UP_LISTED.replace("ARG0:1", "ARG0:1|"): "3: UP:ARGHEADS must be LABEL:WORD of 2 words (got '')",
        UP_LISTED.replace("want.01", "_"): "3: arguments of a word that is not a predicate (got 'ARG0:1')",
        UP.replace("0\troot", "1\troot"): "1: ",
        UP.replace("\twants", "\t"): "2: column FORM is empty",
    },
    read_conll04: {
        "{": " no JSON: ",
        "{}": " 'the file' must be a list",
        "[1]": " sentence 1: not an object",
        news(tokens="Ann"): " sentence 1: 'tokens' must be a list of 1 to 10000 words",
        news(entities=[3]): " sentence 1: entity 0: not an object (got 3)",
        news(
            entities=[{"start": "0", "end": 1}]
        ): " sentence 1: entity 0: 'start' must be a whole number (got '0')",
        news(entities=[{"start": 1, "end": 9}]): " sentence 1: entity 0: span 1 reaches beyond the 2 words",
        news(
            relations=[{"type": "A", "head": 0, "tail": 2}]
        ): " sentence 1: relation 0: 'tail' must be one of 2",
        news(
            relations=[{"type": "A", "head": True, "tail": 0}]
        ): " sentence 1: relation 0: 'head' must be one",
        news(
            relations=[{"type": "A", "head": 1, "tail": 1}]
        ): " sentence 1: relation 0: entity 1 with itself",
        news(
            relations=[{"type": "none", "head": 0, "tail": 1}]
        ): " sentence 1: relation 0: 'type' must be the name",
    },
    read_aspect_terms: {
        ASPECTS.replace(' to="6"', ' to="-1"'): "2: 'to' must be a number (got '-1')",
        ASPECTS.replace(' to="6"', ""): "2: 'to' must be a number (got 'nothing')",
        ASPECTS.replace("neutral", "mixed"): "2: 'polarity' must be one of",
        ASPECTS.replace("A dish.", " "): "1: 'text' must be a text of",
        ASPECTS.replace("</sentences>", ""): "4: no XML: no element found",
        f"<!DOCTYPE x [<!ENTITY a 'b'>]>{ASPECTS}": "1: a document type, which no file of the corpus has",
        ASPECTS.replace("dish.", "<b>dish</b>."): "1: <b> in <sentences><sentence><text>",
        ASPECTS.replace("A dish.", "A dish.</text><text>"): "1: <text> in <sentences><sentence>",
        f"<?xml version='1.0' encoding='big5'?>{ASPECTS}": "1: the encoding is not one of",
        ASPECTS.replace("sentences", "reviews"): "1: <reviews> in the file",
        "<sentences/>": "1: no <sentence> in <sentences>",
    },
}


@pytest.mark.parametrize("read", DAMAGED)
def test_damaged_files(tmp_path, read):
    for number, (content, message) in enumerate(DAMAGED[read].items()):
        path = tmp_path / str(number) / "raw.txt"
        path.parent.mkdir()
        path.write_text(content, encoding="utf-8", newline="")
        with pytest.raises(ValueError, match=f"^{re.escape(f'{path}:{message}')}"):
            list(read(path))
    if read is not read_aspect_terms:
        (tmp_path / "raw.txt").write_bytes(b"a\xff\n")
        with pytest.raises(ValueError, match=r"raw\.txt:1: not UTF-8 at byte 1 \(got 'ff"):
            list(read(tmp_path / "raw.txt"))


def test_invalid_spans():
    for spans in [
        [(0, 2, "X"), (1, 3, "Y")],
        [(0, 2, "X"), (0, 2, "X")],
        [(2, 2, "X")],
        [(-1, 1, "X")],
        [(2, 4, "X")],
        [(0, 1, "")],
    ]:
        with pytest.raises(ValueError, match=re.escape(f"none in two (got {spans[-1]})")):
            bio_of(spans, 3)


MAKERS = [
    lambda **options: SpanExample(spans=[(0, 1)], **options),
    lambda **options: LabelledWords(labels=["A", "B"], **options),
]


@pytest.mark.parametrize("make", MAKERS, ids=["spans", "labels"])
def test_a_tree_with_other_words(make):
    with pytest.raises(ValueError, match=r"^file:7: the tree has other words \(got 'a cat'\)"):
        make(words=["a", "dog"], tree=Sentence.chain(["a", "cat"]), place="file:7")


def test_damaged_forms_and_trees():
    for read, text, message in [
        (variable_free, "like ( agent = cook", "',' is missing at the end of the form"),
        (variable_free, "like ( agent cook )", "'=' is missing before 'cook', token 4 of the form"),
        (variable_free, "like ( = cook )", "a role is missing before '=', token 3 of the form"),
        (variable_free, "like ( agent = )", "a word is missing before ')', token 5 of the form"),
        (variable_free, "like ( agent = cook ) )", "')' follows the end of the form"),
        (original, "cook ( x _ 1 ) AND like", "'like' is not a term of a logical form"),
        (original, "like . agent ( x _ 2 , x _ 1 )", "every x must have a word, and exactly one x no role"),
        (original, "like . agent ( x _ 2 , x _ 1 ) AND see . agent ( x _ 2 , Ann )", "x _ 2 is 'like'"),
        (original, "cook ( x _ 1 ) AND pilot ( x _ 2 )", "every x must have a word, and exactly"),
        (original, "LAMBDA a . cook ( a )", "'LAMBDA a . cook ( a )' is not a term of a logical form"),
        (bracket_tree, "[ [ the cook ] sang", "1 '[' are never closed (got '[ [ the cook ] sang')"),
        (bracket_tree, "[ the cook ] ] [ sang ]", "a ']' closes nothing"),
        (bracket_tree, "[ the cook ] sang", "2 parts outside of all brackets instead of one sentence"),
        (bracket_tree, "[ [ the cook ] [ ] ]", "no head rule for nothing in brackets (got '[ ]')"),
        (bracket_tree, "[ [ the cook ] [ the pilot ] ]", "no head rule for np and np in brackets"),
    ]:
        with pytest.raises(ValueError, match=f"^{re.escape(f'gen.tsv:2: {message}')}"):
            read(Path("gen.tsv"), 2, text)
