"""Files of trees, told by their content: one sentence in all forms that people have."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu, read_conllu, read_trees
from graphdep.io.formats import recognise
from graphdep.parsing import ConlluParser
from graphdep.parsing.parser import ChainParser
from graphdep.sentence import Intake, as_sentences
from tests.kit.forms import ANN, FORMS

WORDS = (
    "1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t_\t_\t_\t_\n2\tel\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
)


def told(sentence):
    return sentence.form, sentence.head, sentence.deprel


@pytest.mark.parametrize("name", FORMS)
def test_each_form_gives_the_same_sentences(tmp_path, name):
    kind, text = FORMS[name]
    (tmp_path / "trees.txt").write_text(text, encoding="utf-8")
    assert recognise(text.split("\n")) == kind
    made = read_trees(tmp_path / "trees.txt")
    assert [told(sentence) for sentence in made] == [told(sentence) for sentence in ANN]
    [[looked_up]] = ConlluParser(tmp_path / "trees.txt").parse(["Ann sees Bob ."])
    assert told(looked_up) == told(ANN[0])
    if kind == "json" and "Lines" not in name:
        assert [told(sentence) for sentence in as_sentences(json.loads(text))] == list(map(told, ANN))


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (["She sings.", "1\tShe"], "text"),
        (["", "1\tone\ttwo"], "text"),
        (["# a hashtag", "# and more"], "text"),
        (["[Applause] She sings.", '{"a": 1}'], "text"),
        (["(NATO (North Atlantic Treaty) is", "a word )"], "text"),
        (["<e1>Ann</e1> sees <e2>Bob</e2>"], "text"),
        (["{curly} words"], "text"),
        ([], "text"),
        (["1 She _ _ _ _ 2 nsubj _ _"], "columns"),
        (["#begin document (bc/cctv)"], "columns"),
        (["#begin document nw/wsj"], "columns"),
        (["#begin documentation", "and a text"], "text"),
        (["1\tShe\tPRP\t2", "2\tsings\tVBZ\t0"], "columns"),
        (["1\tYes\tUH", "", "1\tNo\tUH"], "columns"),
        (["1\tShe sings.\tgood", "2\tIt rains.\tbad"], "text"),
        (["-DOCSTART- -X- O O", "", "She PRP O O"], "columns"),
        (["U.N. NNP B-ORG", "official NN O", "", "Ann NNP B-PER"], "columns"),
        (["She\tPRP", "sings\tVBZ", "", "It\tPRP", "rains\tVBZ", ".\t."], "columns"),
        (["1 She PRP 2", "2 sings VBZ 0", "3 . . 2"], "columns"),
        (["1 She has 2 cats", "2 He has a dog"], "text"),
        (["She (S(NP*) - (A0*)", "sings (VP*)) sing (V*)", "", "Yes (S*) - *"], "columns"),
        (["* She sings", "* It rains", "* It snows"], "text"),
        (["They had two B-52", "She sings a song"], "text"),
        (["1\tShe\tshe\tPRP\t2\tnsubj\t_\t_\t_\t_\t_\t_\t_\t_"], "columns"),
        (["# text = del", "", "1-2\tdel" + "\t_" * 8], "conllu"),
        (
            ["# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC", "1\ta" + "\t_" * 8],
            "conllu",
        ),
        (["# global.columns = ID FORM PARSEME:MWE", "1\ta\t*"], "conllu-plus"),
        (["(3 (2 It) (4 works))"], "ptb"),
        (["(s (np (det the) (n dog)) (vp (v barks)))"], "ptb"),
        (["(ROOT (S (NP (PRP I)) (VP see it)))"], "ptb"),  # damaged
        (["(ROOT (UH Yes))"], "ptb"),
        (["(see (figure 3))"], "text"),
        (["(CNN (US)) She sings."], "text"),
        (["(CNN (NATO troops) moved"], "text"),
        (["(A (B c) (D e)) and a text"], "text"),
        (["(", "(S", "(NP (PRP I)) (VP (VBP see))))"], "ptb"),
        (["{", ' "sentences": ['], "json"),
        (["[[", '{"id": 1, "text": "a"}'], "json"),
        (['["She", "sings"]'], "json"),
        (['[["She"], ["It", "rains"]]'], "json"),
        (['["Rain"] (a song)'], "text"),
        (['{"She": he said}'], "text"),
        (["<root>", "  <document>"], "xml"),
        (["<root> is a word"], "text"),
        (['<?xml version="1.0"?>'], "xml"),
    ],
)
def test_recognise(lines, kind):
    assert recognise(lines) == kind
    more = iter([*lines, *["A sentence."] * 1000])
    assert recognise(more) == kind
    assert len([*more]) >= 900  # no more lines are taken than tell it


GOOD = json.dumps({"words": ["a"], "head": [0], "deprel": ["root"]})
CORENLP = {"tokens": [{"word": "a"}], "basicDependencies": [{"dep": "ROOT", "governor": 0, "dependent": 1}]}
SPACY = {"text": "a b", "tokens": [{"id": 0, "start": 0, "end": 1, "head": 0, "dep": "ROOT"}]}

TWO = {"id": 1, "start": 2, "end": 3, "head": 1, "dep": "ROOT"}


def xml(body):
    tokens = "<tokens><token><word>a</word></token></tokens>"
    return f"<root><document><sentences><sentence>{tokens}{body}</sentence>"


BAD = {
    "text": ("She sings.\n", ":1: no tree in any known format.*docs/how-to/own-parse.md"),
    "no line": ("", ":1: no tree in any known format"),
    "other columns": (
        "\n1\ta\t_\t_\t_\t_\t_\n",
        ":2: a treebank of 7 columns, but CoNLL-U has 10, .*global.columns.*own-parse",
    ),
    "words and tags": ("-DOCSTART- O\n\nShe O\n", ":1: words in columns without trees: use --task labels"),
    "spaces": ("1 She _ _ _ _ 2 nsubj _ _\n", ":1: a treebank of columns without tabs"),
    "no heads": (WORDS, r":2: HEAD must be a word id or 0; graphdep parse --words"),
    "withheld": ("1\t_\t_\tX\t_\t_\t0\troot\t_\t_\n\n" * 20, r"20 of 20 words are _ or .WORD.: .* withheld"),
    "brackets": ("(ROOT (S (NP (PRP I)) (VP (VBP see))))", "brackets have no governors: a parser gives them"),
    "open bracket": ("(ROOT (S (NP (PRP I)) (VP (VBP see)))", ":1: "),
    "plus: a column is missing": (
        "# global.columns = ID HEAD\n1\t0\n",
        ":1: columns must be named once each",
    ),
    "plus: a short row": (
        "# global.columns = ID FORM HEAD\n1\ta\n",
        ":2: 2 tab-separated columns instead of 3",
    ),
    "half of JSON": ('{\n "words": ["a"],\n "head": [0\n', ":3: no JSON"),
    "half of a line": (f"{GOOD}\n{GOOD[:-1]}\n", ":2: no JSON"),
    "JSON without a tree": ('{"text": "a"}', "no 'form' among the keys .'text'.: .*own-parse.md"),
    "a row without a tree": (f'{GOOD}\n{{"text": "a"}}\n', ":2: no 'form' among the keys"),
    "no mapping": (f'{GOOD}\n"a"\n', ":2: from_dict takes"),
    "other words than heads": (
        '{"words": ["a"], "head": [0, 1], "deprel": ["root"]}',
        "'head' has 2 entries for 1",
    ),
    "an empty word": (
        '{"words": ["", "a"], "head": [0, 1], "deprel": ["x", "y"]}',
        "word 1: 'form' must be",
    ),
    "several roots": (
        f'{GOOD}\n{{"words": ["a", "b"], "head": [0, 0], "deprel": ["x", "y"]}}\n',
        ":2: .*more than one root",
    ),
    "CoreNLP: an arc of no word": (
        json.dumps({**CORENLP, "basicDependencies": [{"dep": "x", "governor": 0, "dependent": 2}]}),
        r"'basicDependencies\[0\]' must have governor",
    ),
    "CoreNLP: no word": (
        json.dumps({**CORENLP, "tokens": [{"word": None}]}),
        r"'tokens\[0\]' must have a text as its word and the index 1",
    ),
    "CoreNLP: another order": (
        json.dumps({**CORENLP, "tokens": [{"word": "a", "index": 2}]}),
        r"'tokens\[0\]' must have a text as its word and the index 1",
    ),
    "CoreNLP: not parsed": (
        json.dumps({"sentences": [{"tokens": [{"word": "a"}]}]}),
        "sentence 0: no 'basicDep",
    ),
    "CoreNLP: other constituents": (
        json.dumps({**CORENLP, "parse": "(S (X a) (X b))"}),
        "'parse' is not one tree",
    ),
    "spaCy: not parsed": (json.dumps({"text": "a", "tokens": [{"start": 0, "end": 1}]}), "has no parse"),
    "spaCy: beyond the text": (
        json.dumps({**SPACY, "tokens": [{**SPACY["tokens"][0], "end": 4}]}),
        r"'tokens\[0\]' is not in the text of 3 characters",
    ),
    "spaCy: no such governor": (
        json.dumps({**SPACY, "tokens": [{**SPACY["tokens"][0], "head": 1}]}),
        r"'tokens\[0\]': 'head' is not a token number",
    ),
    "CoreNLP: two governors": (
        json.dumps({**CORENLP, "basicDependencies": CORENLP["basicDependencies"] * 2}),
        "'basicDependencies' has several governors for word 1",
    ),
    "spaCy: no such sentence": (
        json.dumps({**SPACY, "sents": [0]}),
        r"'sents\[0\]' is not in the text",
    ),
    "spaCy: sentences that overlap": (
        json.dumps({**SPACY, "sents": [{"start": 0, "end": 1}] * 2}),
        r"'sents\[1\]' has tokens of another sentence",
    ),
    "spaCy: a token in no sentence": (
        json.dumps({**SPACY, "tokens": [*SPACY["tokens"], TWO], "sents": [{"start": 0, "end": 1}]}),
        r"'tokens\[1\]' is in none of 'sents' .got 'b'",
    ),
    "spaCy: two roots": (
        json.dumps({**SPACY, "tokens": [*SPACY["tokens"], TWO]}),
        "more than one root",
    ),
    "half of XML": (f"{xml('')}\n", ":1: no XML"),
    "other XML": (
        '<?xml version="1.0"?>\n<html/>',
        "XML without sentences of CoreNLP: docs/how-to/own-parse.md",
    ),
    "entities": (
        '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "b">]><root/>',
        "XML with a DOCTYPE or entities",
    ),
    "XML: no number": (
        xml('<dependencies type="basic-dependencies"><dep type="x"><governor/></dep></dependencies>')
        + "</sentences></document></root>",
        "sentence 1: a governor must have the number of a word",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_has_file_and_place(tmp_path, name):
    text, message = BAD[name]
    (tmp_path / "bad").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"bad.*{message}" if message[0] != ":" else f"bad{message}"):
        read_trees(tmp_path / "bad")


def test_a_sentence_of_too_many_words(tmp_path):
    (tmp_path / "rows").write_text(json.dumps({"words": ["a"] * 9, "head": [*range(9)], "deprel": ["x"] * 9}))
    assert len(read_trees(tmp_path / "rows")[0]) == 9
    with pytest.raises(ValueError, match=r"rows: sentence of more than max_words=8 words .got 9"):
        read_trees(tmp_path / "rows", max_words=8)


def test_words_of_a_file_are_parsed_and_the_rest_stays(tmp_path):
    (tmp_path / "words").write_text("# sent_id = 7\n" + WORDS, encoding="utf-8")
    [sentence] = read_trees(tmp_path / "words", words=True, parser=ChainParser())
    assert told(sentence) == (["de", "el"], [0, 1], ["root", "dep"])
    assert (sentence.lemma, sentence.upos) == (["de", "_"], ["ADP", "_"])
    assert sentence.comments == ["# sent_id = 7"]
    assert [row[:2] for row in sentence.multiword] == [("1-2", "del")]
    with pytest.raises(ValueError, match="words are parsed, and none is given"):
        read_trees(tmp_path / "words", words=True)
    [mended] = read_trees(tmp_path / "words", bad_trees="parse", parser=ChainParser())
    assert (mended.tree_from, replace(mended, tree_from=None)) == ("parser", sentence)
    (tmp_path / "rows").write_text(
        '{"words": ["a", "b"], "head": [2, 0], "deprel": ["x", "root"]}\n["a", "b"]\n'
    )
    made = read_trees(tmp_path / "rows", bad_trees="parse", parser=ChainParser())
    assert [each.head for each in made] == [[2, 0], [0, 1]]


def test_ends_of_lines(tmp_path):
    text = FORMS["CoNLL-U"][1]
    for end in ("\n", "\r\n", "\r"):
        (tmp_path / "trees").write_bytes(text.replace("\n", end).encode())
        assert read_trees(tmp_path / "trees") == read_conllu(tmp_path / "trees") == ANN
        assert parse_conllu(text.replace("\n", end)) == ANN


@pytest.mark.parametrize("words", [["It rains.", "She sings."], ["a", ""], [[["a b"]]]])
def test_lists_of_texts_are_no_words(tmp_path, words):
    (tmp_path / "rows").write_text(f'["a"]\n{json.dumps(words)}\n')
    with pytest.raises(ValueError, match="rows:2: a word of a list is blank or has white space: texts are"):
        read_trees(tmp_path / "rows", words=True, parser=ChainParser())


def test_brackets_get_governors_from_a_parser(tmp_path):
    (tmp_path / "brackets").write_text("(ROOT (S (NP (PRP I)) (VP (VBP see))))", encoding="utf-8")
    [sentence] = read_trees(tmp_path / "brackets", parser=ChainParser())
    assert (sentence.head, sentence.xpos) == ([0, 1], ["PRP", "VBP"])
    assert sentence.constituents == [("S", 0, 2), ("NP", 0, 1), ("VP", 1, 2)]


def test_further_columns_of_conllu_plus_go_to_misc(tmp_path):
    text = "# global.columns = ID FORM HEAD DEPREL MISC PARSEME:MWE\n# x\n1\tgive\t0\troot\tA=b\t1:LVC\n"
    (tmp_path / "plus").write_text(text + "2\tup\t1\tx\t_\t_\n", encoding="utf-8")
    [sentence] = read_trees(tmp_path / "plus")
    assert told(sentence) == (["give", "up"], [0, 1], ["root", "x"])
    assert (sentence.misc, sentence.comments) == (["A=b|PARSEME:MWE=1:LVC", "_"], ["# x"])


def test_graphs_and_brackets_of_corenlp():
    arcs = [("ROOT", 0, 2), ("nsubj", 2, 1)]
    edges = [dict(zip(("dep", "governor", "dependent"), arc)) for arc in arcs]
    row = {"tokens": [{"word": "She", "after": ""}, {"word": "sings"}], "basicDependencies": edges}
    hidden = [*edges, {"dep": "conj", "governor": 2, "dependent": 2}]  # a copy with the number of its word
    row |= {"enhancedPlusPlusDependencies": hidden, "enhancedDependencies": edges, "parse": "(S (X a) (X b))"}
    sentence = Sentence.from_dict(row)
    assert sentence.deps == [[("2", "nsubj")], [("0", "root")]]
    assert (sentence.constituents, sentence.misc) == ([("S", 0, 2)], ["SpaceAfter=No", "_"])
    copies = {
        **row,
        "enhancedPlusPlusDependencies": [*edges, {**hidden[2], "governorCopy": 0, "dependentCopy": 1}],
    }
    assert [row[0] for row in Sentence.from_dict(copies).empty] == ["2.1"]


def test_tags_are_known_by_their_set():
    row = {"token": ["She"], "stanford_head": ["0"], "stanford_deprel": ["ROOT"], "stanford_pos": ["PRP"]}
    assert Sentence.from_dict(row).xpos == ["PRP"]
    row = {"word": ["She"], "heads": ["0"], "deprel": ["root"]}
    assert Sentence.from_dict({**row, "pos": ["PRON"]}).upos == ["PRON"]
    assert Sentence.from_dict({**row, "pos": ["PRP"]}).xpos == ["PRP"]


def test_bad_trees_of_each_reader(tmp_path):
    bad = {"words": ["a", "b"], "head": [0, 0], "deprel": ["x", "y"]}
    (tmp_path / "rows").write_text(f"{GOOD}\n{json.dumps(bad)}\n", encoding="utf-8")
    assert read_trees(tmp_path / "rows", bad_trees="attach")[1].head == [0, 1]
    assert len(read_trees(tmp_path / "rows", bad_trees="skip")) == 1
    assert read_trees(tmp_path / "rows", multiroot=True)[1].head == [0, 0]
    parser = ConlluParser(tmp_path / "rows", bad_trees="attach")
    assert parser.parse(["a b"])[0][0].head == [0, 1]
    assert parser.fingerprint != ConlluParser(tmp_path / "rows", bad_trees="skip").fingerprint


def test_roots_of_spacy():
    blank = {"id": 1, "start": 1, "end": 2, "head": 1, "dep": "ROOT"}
    tokens = [{**SPACY["tokens"][0], "head": 1}, blank, {**TWO, "id": 2, "head": 1}]
    [lost_root] = as_sentences({**SPACY, "text": "a\nb", "tokens": tokens})
    assert (lost_root.form, lost_root.head) == (["a", "b"], [0, 1])
    intake = Intake(bad_trees="attach")
    [two_roots] = as_sentences({**SPACY, "tokens": [*SPACY["tokens"], TWO]}, intake=intake)
    assert (two_roots.head, intake.bad) == ([0, 1], {"several roots": 1})


def test_the_words_of_every_reader_must_be_there(tmp_path):
    (tmp_path / "a.conllu").write_text("1\t_\t_\tX\t_\t_\t0\troot\t_\t_\n\n" * 20)
    for read in (read_conllu, read_trees, ConlluParser):
        with pytest.raises(ValueError, match="are withheld"):
            read(tmp_path / "a.conllu")
    (tmp_path / "a.conllu").write_text(format_conllu(Sentence(["_", "a"], [0, 1], ["root", "x"])))
    assert read_conllu(tmp_path / "a.conllu")[0].form == ["_", "a"]


def test_the_scheme_is_that_of_the_whole_file(tmp_path):
    rows = [
        {"words": ["Sing", "it"], "head": [0, 1], "deprel": ["ROOT", label]} for label in ("dobj", "pobj")
    ]
    (tmp_path / "rows").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert {sentence.deprel[0] for sentence in read_trees(tmp_path / "rows")} == {"root", "case"}
    assert read_trees(tmp_path / "rows", scheme="as-is")[0].deprel == ["ROOT", "dobj"]
    assert Intake().decide(["ROOT", "dobj", "pobj"]) == "clear"
