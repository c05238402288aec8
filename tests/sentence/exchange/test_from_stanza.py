from __future__ import annotations

import pytest
from stanza.models.common.doc import Document
from stanza.models.constituency.tree_reader import read_trees
from stanza.utils.conll import CoNLL

from graphdep import Sentence, to_data
from graphdep.io import parse_conllu
from graphdep.parsing import BundledParser
from graphdep.testing import assert_same_data

TEXT = """# text = Don't sing it!
# sent_id = 1
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp|VerbForm=Fin\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_
3\tsing\tsing\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root\t_
3.1\tsing\tsing\tVERB\tVB\t_\t_\t_\t3:conj\tCopyOf=3
4\tit\tit\tPRON\tPRP\t_\t3\tobj\t3:obj|3.1:obj\tSpaceAfter=No
5\t!\t!\tPUNCT\t.\t_\t3\tpunct\t3.1:punct\t_

"""


def test_all_of_it():
    document = CoNLL.conll2doc(input_str=TEXT, ignore_gapping=False)
    [sentence] = Sentence.from_stanza(document)
    assert sentence == parse_conllu(TEXT)[0]
    assert Sentence.from_stanza(document.sentences[0]) == sentence


def test_arcs_from_nodes_that_stanza_left_out_become_basic_ones():
    [sentence] = Sentence.from_stanza(CoNLL.conll2doc(input_str=TEXT))
    assert sentence.deps[3:] == [[("3", "obj")], [("3", "punct")]]
    assert sentence.empty == []


def test_a_pipeline_gives_what_our_parser_with_the_same_models_gives():
    parser = BundledParser()
    text = "Ann didn't see the dogs of Bob. He sang (loudly)!"
    [ours] = parser.parse([text])
    theirs = Sentence.from_stanza(parser._engine.pipeline(text))
    assert [s.form for s in theirs] == [s.form for s in ours]
    assert [s.multiword[0][:2] for s in theirs[:1]] == [ours[0].multiword[0][:2]] == [("2-3", "didn't")]
    assert [s.text for s in theirs] == [s.text for s in ours]
    assert_same_data(to_data(theirs), to_data(ours))


def test_its_constituents():
    document = CoNLL.conll2doc(input_str=TEXT)
    tree = "(ROOT (S (VP (VB Do) (RB n't) (VP (VB sing) (NP (PRP it)))) (. !)))"
    [document.sentences[0].constituency] = read_trees(tree)
    [sentence] = Sentence.from_stanza(document)
    assert sentence.constituents == [("S", 0, 5), ("VP", 0, 4), ("VP", 2, 4), ("NP", 3, 4)]
    assert sentence.comments == ["# text = Don't sing it!", "# sent_id = 1"]


def test_labels_of_clear_are_converted():
    document = CoNLL.conll2doc(input_str=TEXT.replace("obj\t", "dobj\t"))
    assert Sentence.from_stanza(document)[0].deprel[3] == "obj"


def test_errors():
    with pytest.raises(TypeError, match="takes a Document or a Sentence of stanza"):
        Sentence.from_stanza("She sings.")
    with pytest.raises(ValueError, match="its pipeline needs 'depparse'"):
        Sentence.from_stanza(Document([[{"id": 1, "text": "She"}]]))
    loop = Document([[{"id": i, "text": "a", "head": 3 - i, "deprel": "x"} for i in (1, 2)]])
    with pytest.raises(ValueError, match="no root"):
        Sentence.from_stanza(loop)
