from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphdep import RelationVocab, Sentence
from graphdep.sentence import check_tree, clear_to_ud, is_clear
from graphdep.sentence.clear import CLEAR_TO_UD, ClearTree
from tests.kit.strategies import sentences

# The labels of spaCy's English models (meta.json of en_core_web_sm 3.8.0).
OF_SPACY = """ROOT acl acomp advcl advmod agent amod appos attr aux auxpass case cc ccomp compound conj
csubj csubjpass dative dep det dobj expl intj mark meta neg nmod npadvmod nsubj nsubjpass nummod oprd
parataxis pcomp pobj poss preconj predet prep prt punct quantmod relcl xcomp""".split()


def tree(text: str) -> Sentence:
    """``form/tag/head/label`` for each word."""
    form, tag, head, label = zip(*(word.split("/") for word in text.split()))
    return Sentence([*form], [*map(int, head)], [*label], xpos=[*tag])


# Pairs of trees written down by hand: CLEAR's by its guidelines, UD's by https://universaldependencies.org.
PAIRS = {
    "a preposition of a verb and one of a noun": (
        "She/PRP/2/nsubj looked/VBD/0/ROOT at/IN/2/prep the/DT/5/det "
        "dogs/NNS/3/pobj of/IN/5/prep Ann/NNP/6/pobj",
        "2/nsubj 0/root 5/case 5/det 2/obl 7/case 5/nmod",
    ),
    "two prepositions": (
        "It/PRP/2/nsubj fell/VBD/0/ROOT out/IN/2/prep of/IN/3/prep bed/NN/4/pobj",
        "2/nsubj 0/root 5/case 5/case 2/obl",
    ),
    "two words that are one preposition": (
        "He/PRP/2/nsubj left/VBD/0/ROOT because/IN/2/prep of/IN/3/pcomp rain/NN/4/pobj",
        "2/nsubj 0/root 5/case 3/fixed 2/obl",
    ),
    "an agent": (
        "It/PRP/3/nsubjpass was/VBD/3/auxpass seen/VBN/0/ROOT by/IN/3/agent him/PRP/4/pobj",
        "3/nsubj:pass 3/aux:pass 0/root 5/case 3/obl:agent",
    ),
    "a clause under a preposition": (
        "He/PRP/2/nsubj left/VBD/0/ROOT without/IN/2/prep seeing/VBG/3/pcomp her/PRP/4/dobj",
        "2/nsubj 0/root 4/mark 2/advcl 4/obj",
    ),
    "a clause under the preposition of a noun": (
        "ideas/NNS/0/ROOT of/IN/1/prep going/VBG/2/pcomp there/RB/3/advmod",
        "0/root 3/mark 1/acl 3/advmod",
    ),
    "prepositions that are joined": (
        "It/PRP/2/nsubj rains/VBZ/0/ROOT in/IN/2/prep and/CC/3/cc around/IN/3/conj Rome/NNP/3/pobj",
        "2/nsubj 0/root 6/case 5/cc 3/conj 2/obl",
    ),
    "prepositions that are joined with their objects": (
        "It/PRP/2/nsubj rains/VBZ/0/ROOT in/IN/2/prep Rome/NNP/3/pobj "
        "and/CC/3/cc in/IN/3/conj Bari/NNP/6/pobj",
        "2/nsubj 0/root 4/case 2/obl 7/cc 7/case 4/conj",
    ),
    "a preposition without an object": (
        "what/WP/3/pobj look/VB/0/ROOT at/IN/2/prep",
        "2/obl 0/root 1/case",
    ),
    "a predicate noun": (
        "She/PRP/2/nsubj is/VBZ/0/ROOT not/RB/2/neg a/DT/5/det doctor/NN/2/attr ././2/punct",
        "5/nsubj 5/cop 5/advmod 5/det 0/root 5/punct",
    ),
    "a predicate adjective within a clause": (
        "He/PRP/2/nsubj says/VBZ/0/ROOT she/PRP/5/nsubj will/MD/5/aux be/VB/2/ccomp happy/JJ/5/acomp",
        "2/nsubj 0/root 6/nsubj 6/aux 6/cop 2/ccomp",
    ),
    "a place": (
        "She/PRP/2/nsubj is/VBZ/0/ROOT in/IN/2/prep Paris/NNP/3/pobj",
        "4/nsubj 4/cop 4/case 0/root",
    ),
    "a place that is an adverb": ("She/PRP/2/nsubj is/VBZ/0/ROOT here/RB/2/advmod", "3/nsubj 3/cop 0/root"),
    "a question for a place": ("Where/WRB/2/advmod is/VBZ/0/ROOT she/PRP/2/nsubj", "0/root 1/cop 1/nsubj"),
    "what there is": (
        "There/EX/2/expl is/VBZ/0/ROOT hope/NN/2/attr here/RB/2/advmod",
        "2/expl 0/root 2/nsubj 2/advmod",
    ),
    "a clause that somebody is": (
        "The/DT/2/det aim/NN/3/nsubj is/VBZ/0/ROOT to/TO/5/aux win/VB/3/xcomp",
        "2/det 5/nsubj:outer 5/cop 5/mark 0/root",
    ),
    "be as a verb of its own": ("I/PRP/3/nsubj should/MD/3/aux be/VB/0/ROOT", "3/nsubj 3/aux 0/root"),
    "become": ("He/PRP/2/nsubj became/VBD/0/ROOT king/NN/2/attr", "2/nsubj 0/root 2/xcomp"),
    "a bare clause": (
        "Let/VB/0/ROOT him/PRP/3/nsubj go/VB/1/ccomp",
        "0/root 1/obj 1/xcomp",
    ),
    "a clause with tense": (
        "I/PRP/2/nsubj know/VBP/0/ROOT he/PRP/4/nsubj went/VBD/2/ccomp",
        "2/nsubj 0/root 4/nsubj 2/ccomp",
    ),
    "conjuncts": (
        "tea/NN/0/ROOT ,/,/1/punct milk/NN/1/conj and/CC/3/cc eggs/NNS/3/conj",
        "0/root 3/punct 1/conj 5/cc 1/conj",
    ),
    "both": (
        "both/CC/2/preconj tea/NN/0/ROOT and/CC/2/cc milk/NN/2/conj",
        "2/cc:preconj 0/root 4/cc 2/conj",
    ),
    "two objects": (
        "Give/VB/0/ROOT me/PRP/1/dative all/PDT/5/predet the/DT/5/det eggs/NNS/1/dobj",
        "0/root 1/iobj 5/det:predet 5/det 1/obj",
    ),
    "a recipient with a preposition": (
        "Give/VB/0/ROOT it/PRP/1/dobj to/IN/1/dative me/PRP/3/pobj",
        "0/root 1/obj 4/case 1/obl",
    ),
    "a relative clause and a possessor": (
        "John/NNP/3/poss 's/POS/1/case dog/NN/0/ROOT which/WDT/5/nsubj barks/VBZ/3/relcl",
        "3/nmod:poss 1/case 0/root 5/nsubj 3/acl:relcl",
    ),
    "time, measure, particle, exclamation": (
        "Well/UH/3/intj he/PRP/3/nsubj gave/VBD/0/ROOT up/RP/3/prt yesterday/NN/3/npadvmod",
        "3/discourse 3/nsubj 0/root 3/compound:prt 3/obl:unmarked",
    ),
    "quotes, brackets and a final mark": (
        "He/PRP/3/nsubj ,/,/3/punct said/VBD/0/ROOT “/``/6/punct "
        "I/PRP/6/nsubj go/VBP/3/ccomp ”/''/3/punct ././6/punct",
        "3/nsubj 1/punct 0/root 6/punct 6/nsubj 3/ccomp 6/punct 3/punct",
    ),
}


def test_trees_by_hand():
    for name, (clear, expected) in PAIRS.items():
        made = clear_to_ud(tree(clear))
        assert [f"{head}/{label}" for head, label in zip(made.head, made.deprel)] == expected.split(), name


def test_every_label_of_spacy_is_in_the_table_and_every_relation_is_known():
    assert not {label.lower() for label in OF_SPACY} - CLEAR_TO_UD.keys()
    relations = RelationVocab()
    assert all(relation in relations for relation in CLEAR_TO_UD.values())


@given(sentences(max_words=9), st.data())
def test_any_tree_stays_a_tree_over_the_same_words(sentence, data):
    labels = st.sampled_from([*OF_SPACY, *CLEAR_TO_UD])
    tags = st.sampled_from(["NN", "VB", "VBD", "JJ", "RB", "IN", "TO", "CC", ",", "POS", ""])
    words = st.sampled_from(["be", "is", "to", "there", "here", ",", "(", ")", '"', "dog", "because", "of"])
    size = len(sentence)
    made = Sentence(
        data.draw(st.lists(words, min_size=size, max_size=size)),
        sentence.head,
        data.draw(st.lists(labels, min_size=size, max_size=size)),
        xpos=data.draw(st.none() | st.lists(tags, min_size=size, max_size=size)),
    )
    after = clear_to_ud(made)  # checks that it is a tree
    assert after.form == made.form
    assert after.xpos == made.xpos
    known = RelationVocab()
    assert all(label in known or label in ("csubj:outer", "nsubj:outer") for label in after.deprel)
    assert [label == "root" for label in after.deprel] == [head == 0 for head in after.head]


def test_a_long_sentence_takes_no_long():
    size = 5_000
    flat = Sentence(["be"] * size, [0, *[1] * (size - 1)], ["ROOT", *["conj"] * (size - 1)])
    deep = Sentence(["in"] * size, list(range(size)), ["ROOT", *["prep", "pobj"] * size][:size])
    assert len(clear_to_ud(flat)) == len(clear_to_ud(deep)) == size


def test_without_tags_the_labels_do():
    made = clear_to_ud(Sentence(["go", "to", "Rome"], [0, 1, 2], ["ROOT", "prep", "pobj"]))
    assert (made.head, made.deprel) == ([0, 3, 1], ["root", "case", "obl"])


def test_labels_that_only_clear_has():
    for label in ("prep", "pobj", "attr", "relcl", "poss", "meta"):
        assert is_clear(["nsubj", label])
    assert not is_clear(set(RelationVocab()._FIXED))


def test_enhanced_arcs_are_left_out():
    made = clear_to_ud(
        Sentence(["a", "b"], [2, 0], ["dobj", "ROOT"], deps=[[("2", "dobj")], [("0", "root")]])
    )
    assert made.deps is None


@given(sentences(max_words=8), st.data())
def test_moves_keep_a_tree_and_its_lists_of_dependents(sentence, data):
    tree = ClearTree.of(sentence)
    for _ in range(3):
        word = data.draw(st.sampled_from(tree.words))
        if tree.head[word]:
            above, label = tree.head[tree.head[word]], tree.label[tree.head[word]]
            governor = tree.head[word]
            tree.lift(word)
            assert (tree.head[word], tree.label[word], tree.head[governor]) == (above, label, word)
            assert tree.dependents(governor) == []
        check_tree(tree.head[1:])
        for each in range(len(tree.head)):
            assert tree.dependents(each) == [w for w in tree.words if tree.head[w] == each]
    order = tree.from_above()
    assert sorted(order) == [*tree.words]
    assert all(tree.head[w] == 0 or order.index(tree.head[w]) < order.index(w) for w in tree.words)


def test_what_stays_with_the_lowered_word():
    tree = ClearTree(["a"] * 4, ["a"] * 4, [""] * 4, [0, 1, 1, 1], ["root", "x", "y", "z"])
    tree.lift(2, 3)
    assert tree.head[1:] == [2, 0, 1, 2]
    assert tree.root == 2


def test_kinds_by_tag():
    tags = ["NNS", "PRP$", "VBZ", "MD", "JJR", "WRB", "TO", "NOUN", "AUX", "ADP", ",", ""]
    tree = ClearTree(tags, tags, tags, [0, *[1] * 11], tags)
    kinds = ["nominal", "nominal", "verb", "verb", "adjective", "adverb", "preposition"]
    assert [tree.kind(word) for word in tree.words] == [*kinds, "nominal", "verb", "preposition", "", ""]
