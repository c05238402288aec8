from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import ConlluError, Sentence
from graphdep.io import parse_conllu

conllu = pytest.importorskip("conllu", reason="conllu is not installed")

TEXT = """# sent_id = 1
# newdoc
# text = Don't sing it!
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp|VerbForm=Fin\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_
3\tsing\tsing\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root|3.1:conj\t_
3.1\tsing\tsing\tVERB\tVB\t_\t_\t_\t3:conj\tCopyOf=3
4\tit\tit\tPRON\tPRP\t_\t3\tobj\t3:obj|3.1:obj\tSpaceAfter=No
5\t!\t!\tPUNCT\t.\t_\t3\tpunct\t3:punct\t_

"""


def test_all_of_it_there_and_back():
    [tokens] = conllu.parse(TEXT)
    sentence = Sentence.from_conllu(tokens)
    assert sentence == parse_conllu(TEXT)[0]
    assert sentence.to_conllu() == TEXT
    assert conllu.parse(sentence.to_conllu())[0].serialize() == tokens.serialize()


@given(st.data())
def test_what_the_package_reads_of_ours_is_the_same(data):
    from tests.kit.strategies import sentences

    sentence = data.draw(sentences())
    read = conllu.parse(sentence.to_conllu())
    assert Sentence.from_conllu(read) == [sentence]
    assert Sentence.from_conllu(read[0]) == sentence


def test_one_gives_a_sentence_and_several_a_list():
    read = conllu.parse(TEXT * 2)
    assert isinstance(Sentence.from_conllu(read[0]), Sentence)
    assert len(Sentence.from_conllu(read)) == 2
    assert len(Sentence.from_conllu(token for token in read)) == 2
    assert Sentence.from_conllu([]) == []


def test_a_list_made_by_hand_needs_no_more_than_words_and_a_tree():
    words = [{"form": "She", "head": 2, "deprel": "nsubj"}, {"form": "sings", "head": 0, "deprel": "root"}]
    tokens = conllu.TokenList([conllu.models.Token(word) for word in words])
    assert Sentence.from_conllu(tokens) == Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])


def test_labels_of_clear_are_converted():
    read = conllu.parse(TEXT.replace("\tobj\t", "\tdobj\t"))
    assert Sentence.from_conllu(read[0]).deprel[3] == "obj"
    assert Sentence.from_conllu(read[0], clear="keep").deprel[3] == "dobj"


def test_errors():
    with pytest.raises(TypeError, match="text is for graphdep.io.parse_conllu"):
        Sentence.from_conllu(TEXT)
    with pytest.raises(TypeError, match="takes a TokenList of the package conllu"):
        Sentence.from_conllu([1])
    with pytest.raises(TypeError, match="takes a TokenList of the package conllu"):
        Sentence.from_conllu(None)
    loop = conllu.parse(TEXT.replace("\t0\troot", "\t4\troot"))
    with pytest.raises(ConlluError, match="sentence 0:"):
        Sentence.from_conllu(loop)
