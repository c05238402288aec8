"""Enhanced graphs: what UD's guidelines and the paper on enhanced++ graphs have, by both engines."""

from __future__ import annotations

import dataclasses
import importlib.util
import random
import re
import sys
from importlib.metadata import PackageNotFoundError
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing import enhance, enhance_fingerprint
from graphdep.parsing import enhanced as pybart_rules
from graphdep.parsing.enhanced import PybartConverter
from graphdep.parsing.enhancing import RuleEnhancer, WorkingTree
from graphdep.sentence.sentence import check_tree
from tests.kit.trees import random_sentence

needs_pybart = pytest.mark.skipif(importlib.util.find_spec("pybart") is None, reason="needs pybart-nlp")
LEVELS, ENGINES = ("enhanced", "enhanced++"), ("rules", "pybart")
# Words with tag, head and relation, and of some of them (with ' of a copy) the labels and governors.
EVERYWHERE = {
    "prepositions and markers are on labels": [
        ("go/VB/0/root by/IN/3/case bus/NN/1/obl to/TO/5/mark see/VB/1/advcl it/PRP/5/obj",
         {"go": "root(-)", "by": "case(bus)", "bus": "obl:by(go)", "to": "mark(see)", "see": "advcl:to(go)",
          "it": "obj(see)"}),
    ],
    "an owner is no preposition": [
        ("eat/VB/0/root at/IN/3/case Kim/NNP/1/obl 's/POS/3/case", {"Kim": "obl:at(eat)"}),
    ],
    "relations that say more have no words": [
        ("seen/VBN/0/root by/IN/3/case us/PRP/1/obl:agent Kim/NNP/6/nmod:poss 's/POS/4/case dog/NN/1/obj",
         {"us": "obl:agent(seen)", "Kim": "nmod:poss(dog)"}),
    ],
    "conjunctions": [
        ("tea/NN/0/root &/SYM/3/cc milk/NN/1/conj", {"milk": "conj(tea)"}),
        # That of the next one where it has none.
        ("Kim/NNP/2/nsubj grows/VBZ/0/root and/CC/4/cc sells/VBZ/2/conj beans/NNS/4/obj ,/,/7/punct "
         "peas/NNS/5/conj or/CC/9/cc figs/NNS/5/conj in/IN/12/case small/JJ/12/amod towns/NNS/4/obl",
         {"Kim": "nsubj(grows) nsubj(sells)", "sells": "conj:and(grows)", "beans": "obj(sells)",
          "peas": "obj(sells) conj:or(beans)", "figs": "obj(sells) conj:or(beans)", "towns": "obl:in(sells)",
          "in": "case(towns)"}),
        ("pens/NNS/0/root &/CC/3/cc ink/NN/1/conj //SYM/5/cc paper/NN/1/conj as/RB/9/cc well/RB/6/fixed "
         "as/IN/6/fixed glue/NN/1/conj",
         {"ink": "conj(pens)", "paper": "conj(pens)", "glue": "conj:as_well_as(pens)"}),
    ],
    "conjuncts share their governor": [
        ("Kim/NNP/4/nsubj and/CC/3/cc Lee/NNP/1/conj sing/VBP/0/root",
         {"Kim": "nsubj(sing)", "Lee": "conj:and(Kim) nsubj(sing)"}),
        ("in/IN/2/case Rome/NNP/6/obl or/CC/4/cc Bonn/NNP/2/conj we/PRP/6/nsubj live/VBP/0/root",
         {"Bonn": "conj:or(Rome) obl:in(live)"}),
        ("buy/VB/0/root tea/NN/1/obj ,/,/4/punct milk/NN/2/conj ,/,/6/punct gin/NN/4/conj",
         {"gin": "conj(milk) obj(buy)"}),
    ],
    "but not the root, nor what joins loosely, nor a governor between them": [
        ("sit/VB/0/root and/CC/3/cc wait/VB/1/conj", {"wait": "conj:and(sit)"}),
        ("go/VB/0/root wait/VB/1/parataxis and/CC/4/cc see/VB/2/conj", {"see": "conj:and(wait)"}),
        ("tea/NN/2/nsubj sells/VBZ/0/root and/CC/4/cc gin/NN/1/conj", {"gin": "conj:and(tea)"}),
    ],
    "the antecedent takes the place of the pronoun": [
        ("the/DT/2/det boy/NN/0/root who/WP/4/nsubj lived/VBD/2/acl:relcl",
         {"the": "det(boy)", "boy": "root(-) nsubj(lived)", "who": "ref(boy)", "lived": "acl:relcl(boy)"}),
        ("the/DT/2/det boat/NN/0/root that/WDT/6/nsubj they/PRP/5/nsubj say/VBP/6/parataxis "
         "sank/VBD/2/acl:relcl where/WRB/9/advmod rocks/NNS/9/nsubj hide/VBP/6/advcl",
         {"boat": "root(-) nsubj(sank)", "sank": "acl:relcl(boat)", "that": "ref(boat)",
          "hide": "advcl:where(sank)"}),
    ],
    "with the preposition of the pronoun": [
        ("by/IN/2/case house/NN/0/root in/IN/4/case which/WDT/6/obl she/PRP/6/nsubj lives/VBZ/2/acl:relcl",
         {"house": "root(-) obl:in(lives)", "in": "case(which)"}),
        ("He/PRP/2/nsubj sat/VBD/0/root by/IN/4/case house/NN/2/obl which/WDT/7/obl she/PRP/7/nsubj "
         "lives/VBZ/4/acl:relcl in/IN/5/case",
         {"house": "obl:by(sat) obl:in(lives)", "which": "ref(house)", "in": "case(which)",
          "by": "case(house)"}),
        ("sat/VBD/0/root by/IN/3/case house/NN/1/obl where/WRB/6/advmod she/PRP/6/nsubj "
         "lives/VBZ/3/acl:relcl",
         {"house": "obl:by(sat) obl(lives)", "where": "ref(house)"}),
        ("sat/VBD/0/root by/IN/3/case house/NN/1/obl or/CC/5/cc garden/NN/3/conj in/IN/7/case "
         "which/WDT/9/obl she/PRP/9/nsubj lives/VBZ/3/acl:relcl",
         {"house": "obl:by(sat) obl:in(lives)", "garden": "obl:by(sat) obl:in(lives) conj:or(house)"}),
    ],
    "adverbs": [
        (f"house/NN/0/root {adverb}/WRB/4/advmod she/PRP/4/nsubj lives/VBZ/1/acl:relcl",
         {"house": "root(-) obl(lives)", adverb: "ref(house)"})
        for adverb in ("where", "why", "how")
    ],
    "pronouns below a word of the clause": [
        ("house/NN/0/root whose/WP$/3/nmod:poss roof/NN/4/nsubj leaks/VBZ/1/acl:relcl",
         {"house": "root(-) nmod:poss(roof)", "whose": "ref(house)"}),
        ("friends/NNS/0/root most/JJS/5/nsubj of/IN/4/case whom/WP/2/nmod left/VBD/1/acl:relcl",
         {"friends": "root(-) nmod:of(most)", "whom": "ref(friends)"}),
        # A question inside the clause is none of it.
        ("those/DT/0/root who/WP/3/nsubj asked/VBD/1/acl:relcl whose/WP$/5/nmod:poss roof/NN/3/obj",
         {"whose": "nmod:poss(roof)"}),
    ],
    "several antecedents and several clauses": [
        ("house/NN/0/root or/CC/3/cc garden/NN/1/conj that/WDT/5/nsubj pleases/VBZ/1/acl:relcl and/CC/8/cc "
         "which/WDT/8/nsubj lasts/VBZ/5/conj",
         {"house": "root(-) nsubj(pleases) nsubj(lasts)",
          "garden": "conj:or(house) nsubj(pleases) nsubj(lasts)", "that": "ref(house)",
          "which": "ref(house)"}),
        ("left/VBD/0/root it/PRP/3/nsubj hurt/VBD/1/advcl:relcl", {"left": "root(-)"}),
        ("day/NN/0/root that/WDT/3/nsubj came/VBD/1/acl:relcl", {"that": "ref(day)"}),
    ],
    "conjoined predicates share a subject": [
        ("Kim/NNP/2/nsubj grows/VBZ/0/root and/CC/4/cc sells/VBZ/2/conj figs/NNS/4/obj",
         {"Kim": "nsubj(grows) nsubj(sells)", "figs": "obj(sells)"}),
        ("Kim/NNP/2/nsubj grows/VBZ/0/root but/CC/5/cc Lee/NNP/5/nsubj sells/VBZ/2/conj",
         {"Kim": "nsubj(grows)"}),
        ("Kim/NNP/2/nsubj bakes/VBZ/0/root and/CC/4/cc tea/NN/2/conj", {"Kim": "nsubj(bakes)"}),
    ],
    "a shared subject is passive where its verb is": [
        ("it/PRP/3/nsubj:pass was/VBD/3/aux:pass cut/VBN/0/root and/CC/5/cc dried/VBN/3/conj",
         {"it": "nsubj:pass(cut) nsubj:pass(dried)"}),
        ("it/PRP/2/nsubj fell/VBD/0/root and/CC/5/cc was/VBD/5/aux:pass cut/VBN/2/conj",
         {"it": "nsubj(fell) nsubj:pass(cut)"}),
        ("cars/NNS/3/nsubj:pass were/VBD/3/aux:pass washed/VBN/0/root ,/,/5/punct dried/VBN/3/conj "
         "and/CC/7/cc left/VBD/3/conj", {"were": "aux:pass(washed)"}),  # is not shared as an arc
        ("he/PRP/3/nsubj:pass was/VBD/3/aux:pass told/VBN/0/root but/CC/6/cc might/MD/6/aux forget/VB/3/conj",
         {"he": "nsubj:pass(told) nsubj(forget)"}),
    ],
    "an open complement has the object of its governor, else its subject": [
        ("Lee/NNP/2/nsubj wants/VBZ/0/root to/TO/4/mark help/VB/2/xcomp us/PRP/4/obj feel/VB/4/xcomp "
         "safe/JJ/6/xcomp",
         {"Lee": "nsubj(wants) nsubj:xsubj(help)", "us": "obj(help) nsubj:xsubj(feel) nsubj:xsubj(safe)"}),
        ("we/PRP/2/nsubj want/VBP/0/root to/TO/4/mark sit/VB/2/xcomp and/CC/6/cc eat/VB/4/conj",
         {"eat": "conj:and(sit) xcomp(want)", "we": "nsubj(want) nsubj:xsubj(sit) nsubj:xsubj(eat)"}),
    ],
}  # fmt: skip
# What the rules of graphdep take from the guidelines, and pybart's do not.
RULES = {
    "the last of several and all words of an expression": [
        ("way/NN/0/root for/IN/4/mark to/TO/4/mark go/VB/1/acl because/IN/7/case of/IN/5/fixed us/PRP/4/obl",
         {"go": "acl:to(way)", "us": "obl:because_of(go)"}),
    ],
    "clauses take their adverb where they have no marker": [
        ("sat/VBD/0/root when/WRB/4/advmod she/PRP/4/nsubj left/VBD/1/advcl", {"left": "advcl:when(sat)"}),
        ("sat/VBD/0/root why/WRB/4/advmod she/PRP/4/nsubj left/VBD/1/advcl", {"left": "advcl(sat)"}),
        ("talk/VB/0/root about/IN/5/mark when/WRB/5/advmod she/PRP/5/nsubj left/VBD/1/advcl",
         {"left": "advcl:about(talk)"}),
    ],
    "conjunctions of several words, also of the one before": [
        ("tea/NN/0/root ,/,/3/punct milk/NN/1/conj or/CC/6/cc else/RB/4/fixed gin/NN/1/conj rum/NN/1/conj",
         {"milk": "conj:or_else(tea)", "gin": "conj:or_else(tea)", "rum": "conj:or_else(tea)"}),
        ("tea/NN/0/root and/CC/5/cc slash/SYM/4/punct or/CC/2/conj milk/NN/1/conj",
         {"milk": "conj:and_or(tea)"}),
    ],
    "adverbs of time": [
        ("house/NN/0/root when/WRB/4/advmod she/PRP/4/nsubj lives/VBZ/1/acl:relcl",
         {"house": "root(-) obl:unmarked(lives)"}),
    ],
    "gapping": [
        ("Kim/NNP/2/nsubj likes/VBZ/0/root tea/NN/2/obj and/CC/5/cc Lee/NNP/2/conj gin/NN/5/orphan",
         {"Kim": "nsubj(likes)", "likes": "root(-)", "tea": "obj(likes)", "and": "cc(likes')",
          "Lee": "nsubj(likes')", "gin": "obj(likes')", "likes'": "conj:and(likes)"}),
        ("I/PRP/2/nsubj lost/VBD/0/root tea/NN/2/obj today/NN/2/obl and/CC/6/cc gin/NN/2/conj "
         "then/RB/6/orphan",
         {"I": "nsubj(lost) nsubj(lost')", "gin": "obj(lost')", "then": "advmod(lost')"}),
        ("I/PRP/2/nsubj found/VBD/0/root it/PRP/2/obj good/JJ/2/xcomp and/CC/6/cc tea/NN/2/conj "
         "hot/JJ/6/orphan", {"tea": "obj(found') nsubj:xsubj(hot)", "hot": "xcomp(found')"}),
        ("some/DT/2/nsubj:pass used/VBN/0/root and/CC/4/cc others/NNS/2/conj as/IN/6/case urns/NNS/4/orphan",
         {"others": "nsubj:pass(used')", "urns": "obl:as(used')"}),
        ("hire/VB/0/root me/PRP/1/obj and/CC/4/cc Bill/NNP/1/conj to/TO/6/mark cook/VB/4/orphan",
         {"cook": "advcl:to(hire')"}),
    ],
    "clauses without a pronoun": [
        (f"house/NN/0/root {clause}", {"house": f"root(-) {arc}"})
        for clause, arc in (
            ("they/PRP/3/nsubj saw/VBD/1/acl:relcl", "obj(saw)"),
            ("she/PRP/3/nsubj lives/VBZ/1/acl:relcl in/IN/3/obl", "obl(lives)"),
            ("they/PRP/3/nsubj wanted/VBD/1/acl:relcl to/TO/5/mark buy/VB/3/xcomp", "obj(buy)"),
            ("has/VBZ/3/aux fallen/VBN/1/acl:relcl", "nsubj(fallen)"),
            ("was/VBD/3/aux:pass sold/VBN/1/acl:relcl", "nsubj:pass(sold)"),
            ("that/WDT/6/obj I/PRP/4/nsubj want/VBP/1/acl:relcl to/TO/6/mark buy/VB/4/xcomp", "obj(buy)"),
        )
    ],
    "times and ways are no objects": [
        ("way/NN/0/root it/PRP/3/nsubj works/VBZ/1/acl:relcl", {"way": "root(-) obl(works)"}),
        ("where/WRB/0/root it/PRP/3/nsubj lies/VBZ/1/advcl:relcl", {"where": "root(-) advmod(lies)"}),
        ("day/NN/0/root I/PRP/3/nsubj heard/VBD/1/acl:relcl that/DT/3/obj",
         {"that": "obj(heard)", "day": "root(-) obl(heard)"}),
    ],
    "subjects of nouns, of active verbs and of what is left out": [
        ("Kim/NNP/4/nsubj is/VBZ/4/cop a/DT/4/det cook/NN/0/root and/CC/6/cc poet/NN/4/conj",
         {"Kim": "nsubj(cook) nsubj(poet)"}),
        ("Kim/NNP/2/nsubj sings/VBZ/0/root and/CC/5/cc is/VBZ/5/cop poet/NN/2/conj",
         {"Kim": "nsubj(sings) nsubj(poet)"}),
        ("it/PRP/3/nsubj:pass was/VBD/3/aux:pass cut/VBN/0/root and/CC/5/cc fell/VBD/3/conj",
         {"it": "nsubj:pass(cut) nsubj(fell)"}),
        ("all/DT/5/nsubj:outer he/PRP/3/nsubj does/VBZ/1/acl:relcl is/VBZ/5/cop get/VB/0/root fat/JJ/5/xcomp",
         {"all": "nsubj:outer(get) obj(does)"}),
        ("they/PRP/2/nsubj need/VBP/0/root to/TO/2/xcomp", {"they": "nsubj(need)"}),
        ("singing/VBG/2/csubj seems/VBZ/0/root good/JJ/2/xcomp",
         {"singing": "csubj(seems) csubj:xsubj(good)"}),
    ],
}  # fmt: skip
PHRASES = (
    "she/PRP/2/nsubj walked/VBD/0/root over/IN/4/case bridges/NNS/2/obl and/CC/7/cc through/IN/7/case "
    "parks/NNS/4/conj"
)
BUNCH = "a/DT/2/det bunch/NN/5/nsubj of/IN/4/case friends/NNS/2/nmod came/VBD/0/root"
LOTS = "saw/VBD/0/root lots/NNS/1/obj of/IN/4/case snow/NN/2/nmod"
BOTH = "Both/DT/5/nsubj of/IN/4/case the/DT/4/det twins/NNS/1/nmod won/VBD/0/root"
CYCLES = "cycles/VBZ/0/root to/IN/5/case and/CC/4/cc from/IN/2/conj work/NN/1/obl"
# What enhanced++ adds, by both engines.
PLUS = {
    "conjoined prepositional phrases copy their governor": [
        (PHRASES, {"she": "nsubj(walked) nsubj(walked')", "bridges": "obl:over(walked)",
                   "parks": "obl:through(walked')", "walked'": "conj:and(walked)"}),
        ("trips/NNS/10/nsubj to/IN/3/case Rome/NNP/1/nmod ,/,/6/punct from/IN/6/case Oslo/NNP/3/conj "
         "or/CC/9/cc via/IN/9/case Bonn/NNP/3/conj end/VBP/0/root",
         {"Oslo": "nmod:from(trips')", "Bonn": "nmod:via(trips'')", "trips'": "conj:or(trips) nsubj(end)",
          "trips''": "conj:or(trips) nsubj(end)"}),
    ],
    "conjoined prepositions": [
        (CYCLES, {"work": "obl:to(cycles) obl:from(cycles')", "cycles'": "conj:and(cycles)",
                  "from": "conj:and(to)"}),
    ],
    "one preposition of two nouns copies nothing": [
        ("thanks/NNS/0/root for/IN/3/case tea/NN/1/nmod and/CC/5/cc help/NN/3/conj",
         {"help": "nmod:for(thanks) conj:and(tea)"}),
    ],
    "two words of which one governs the noun": [
        ("it/PRP/3/nsubj is/VBZ/3/cop close/JJ/0/root to/IN/5/case home/NN/3/obl",
         {"it": "nsubj(home)", "is": "cop(home)", "close": "case(home)", "to": "fixed(close)",
          "home": "root(-)"}),
        ("sat/VBD/0/root close/RB/1/advmod to/IN/4/case us/PRP/2/obl", {"us": "obl:close_to(sat)"}),
        ("ran/VBD/0/root out/IN/4/case of/IN/4/case barn/NN/1/obl",
         {"barn": "obl:out_of(ran)", "out": "case(barn)", "of": "fixed(out)"}),
    ],
    "three words": [
        ("sat/VBD/0/root in/IN/3/case front/NN/1/obl of/IN/5/case us/PRP/3/nmod",
         {"us": "obl:in_front_of(sat)", "in": "case(us)", "front": "fixed(in)", "of": "fixed(in)"}),
        ("go/VB/0/root in/IN/3/case spite/NN/1/obl of/IN/5/mark raining/VBG/3/acl",
         {"raining": "advcl:in_spite_of(go)"}),
        ("trip/NN/0/root in/IN/3/case spite/NN/1/obl of/IN/5/mark raining/VBG/3/acl",
         {"raining": "acl:in_spite_of(trip)"}),
        ("it/PRP/2/nsubj sat/VBD/0/root in/IN/4/case front/NN/2/obl of/IN/6/case us/PRP/4/nmod but/CC/8/cc "
         "close/RB/4/conj to/IN/10/case them/PRP/8/obl",
         {"us": "obl:in_front_of(sat)", "them": "obl:close_to(sat')", "sat'": "conj:but(sat)"}),
    ],
    "light nouns, quantities and partitives": [
        (BUNCH, {"friends": "nsubj(came)", "a": "det:qmod(friends)", "bunch": "fixed(a)", "of": "fixed(a)",
                 "came": "root(-)"}),
        (LOTS, {"snow": "obj(saw)", "lots": "det:qmod(snow)", "of": "fixed(lots)"}),
        (BOTH, {"twins": "nsubj(won)", "Both": "det:qmod(twins)", "of": "fixed(Both)", "the": "fixed(Both)"}),
        # What modified the word modifies the noun, and a conjunct keeps its conjunction.
        ("with/IN/3/case a/DT/3/det lot/NN/6/obl of/IN/5/case luck/NN/3/nmod won/VBD/0/root",
         {"luck": "obl:with(won)", "with": "case(luck)"}),
        ("some/DT/8/nsubj of/IN/3/case them/PRP/1/nmod and/CC/5/cc many/JJ/1/conj of/IN/7/case us/PRP/5/nmod "
         "left/VBD/0/root",
         {"them": "nsubj(left)", "us": "nsubj(left) conj:and(them)", "many": "det:qmod(us)"}),
    ],
}  # fmt: skip
PLUS_RULES = {
    "two words at the noun, in capitals": [
        ("ran/VBD/0/root Out/IN/5/case of/IN/5/case our/PRP$/5/nmod:poss barn/NN/1/obl",
         {"barn": "obl:out_of(ran)", "Out": "case(barn)", "of": "fixed(Out)"}),
    ],
    "the conjunction is of the copy": [
        (PHRASES, {"and": "cc(walked')", "through": "case(parks)", "over": "case(bridges)",
                   "walked": "root(-)"}),
    ],
}  # fmt: skip
ENHANCED = {
    "the enhanced level has none of enhanced++": [
        (PHRASES, {"parks": "conj:and(bridges) obl:through(walked)"}),
        (BUNCH, {"friends": "nmod:of(bunch)"}),
        ("ran/VBD/0/root out/IN/4/case of/IN/4/case barn/NN/1/obl", {"of": "case(barn)"}),
        ("sat/VBD/0/root in/IN/3/case front/NN/1/obl of/IN/5/case us/PRP/3/nmod", {"us": "nmod:of(front)"}),
        ("in/IN/2/case Rome/NNP/7/obl or/CC/5/cc near/IN/5/case Bonn/NNP/2/conj we/PRP/7/nsubj "
         "live/VBP/0/root",
         {"Bonn": "conj:or(Rome) obl:near(live)"}),
    ],
}  # fmt: skip
CASES = [
    pytest.param(
        rows, level, engine, id=f"{title} [{level} {engine}]", marks=[needs_pybart] * (engine == "pybart")
    )
    for tables, levels, engines in (
        (EVERYWHERE, LEVELS, ENGINES),
        (RULES, LEVELS, ["rules"]),
        (PLUS, ["enhanced++"], ENGINES),
        (PLUS_RULES, ["enhanced++"], ["rules"]),
        (ENHANCED, ["enhanced"], ENGINES),
    )
    for level, engine, (title, rows) in product(levels, engines, tables.items())
]


def tree(text: str) -> Sentence:
    rows = [word.rsplit("/", 3) for word in text.split()]
    lines = [
        f"{i}\t{w}\t{w}\t_\t{tag}\t_\t{head}\t{rel}\t_\t_" for i, (w, tag, head, rel) in enumerate(rows, 1)
    ]
    return parse_conllu("\n".join(lines))[0]


def graph(text: str, level: str = "enhanced++", engine: str = "rules") -> dict[str, set[str]]:
    """Per word or copy (``walked'``) its labels and governors, after a trip through CoNLL-U."""
    sentence = tree(text)
    (done,) = enhance([sentence], level, engine)
    assert parse_conllu(format_conllu(done)) == [done]
    assert dataclasses.replace(done, deps=None, empty=[]) == sentence
    names = {"0": "-"} | {str(i): form for i, form in enumerate(done.form, 1)}
    copies = dict.fromkeys(done.form, 0)
    for row in done.empty:
        copies[row[1]] += 1
        names[row[0]] = row[1] + "'" * copies[row[1]]
    found: dict[str, set[str]] = {name: set() for name in names.values()}
    for head, node, label in done.enhanced_arcs:
        found[names[node]].add(f"{label}({names[head]})")
    return found


@pytest.mark.parametrize(("rows", "level", "engine"), CASES)
def test_graphs(rows, level, engine):
    for text, expected in rows:
        found = graph(text, level, engine)
        assert {word: found[word] for word in expected} == {
            w: {*arcs.split()} for w, arcs in expected.items()
        }


@pytest.mark.parametrize("engine", ["rules", pytest.param("pybart", marks=needs_pybart)])
def test_other_words_are_unchanged(engine):
    for text in (
        "out/IN/4/case very/RB/1/advmod of/IN/4/case it/PRP/0/root",
        "of/IN/2/case it/PRP/0/root of/IN/2/case",
        "front/NN/0/root of/IN/3/case us/PRP/1/nmod",
        "in/IN/2/case front/NN/0/root of/IN/2/advmod",
        "the/DT/2/det bunch/NN/0/root of/IN/4/case friends/NNS/2/nmod",
        "lots/NNS/0/root of/IN/4/case the/DT/4/det snow/NN/1/nmod",
        "lots/NNS/0/root of/IN/3/case eating/VBG/1/nmod",
        "roof/NN/0/root of/IN/3/case houses/NNS/1/nmod",
    ):
        arcs = " ".join(arc for arcs in graph(text, "enhanced++", engine).values() for arc in arcs)
        assert "fixed" not in arcs
        assert "det:qmod" not in arcs
    for text in (BUNCH, BOTH, LOTS, PHRASES, CYCLES):
        (done,) = enhance([tree(text)], "enhanced", engine)
        assert done.empty == []
        assert not any(label in ("det:qmod", "fixed") for *_, label in done.enhanced_arcs)


def test_a_preposition_is_named_by_its_lemma():
    tagged = Sentence(
        ["go", "b/c", "them"],
        [0, 3, 1],
        ["root", "case", "obl"],
        lemma=["go", "because", "they"],
        upos=["VERB", "ADP", "PRON"],
    )
    assert enhance([tagged], "enhanced")[0].deps[2] == [("1", "obl:because")]
    verb = dataclasses.replace(
        tagged, form=["go", "given", "them"], lemma=["go", "give", "they"], upos=["VERB"] * 3
    )
    assert enhance([verb], "enhanced")[0].deps[2] == [("1", "obl:given")]


# -- whatever the input ------------------------------------------------------------------------------------

LABELS = (
    "nsubj nsubj:pass csubj obj obl nmod nmod:poss conj cc case mark xcomp advcl acl acl:relcl advcl:relcl "
    "aux:pass cop det fixed advmod parataxis orphan root"
).split()
PLAIN = ("nsubj", "obj", "det", "amod", "advmod", "punct", "ccomp")
FORMS = (
    "of in front out the a bunch lots both to and from who whose which where by walked way [COPY] _ | 3.1"
).split()
TAGS = ["NN", "VB", "VBN", "IN", "TO", "WRB", "JJ", "POS", "_"]


def random_parse(seed: int, words: int, labels: tuple[str, ...] = tuple(LABELS)) -> Sentence:
    source = random.Random(seed)
    shape = random_sentence(source, words, multiroot=True)
    return dataclasses.replace(
        shape,
        form=[source.choice(FORMS) for _ in range(words)],
        deprel=[source.choice(labels) for _ in range(words)],
        xpos=source.choice([None, [source.choice(TAGS) for _ in range(words)]]),
    )


seeds, sizes, levels = st.integers(0, 2**32), st.integers(1, 12), st.sampled_from(LEVELS)


@settings(max_examples=100, deadline=None)
@given(st.builds(random_parse, seeds, sizes), levels)
def test_every_word_is_reached_from_the_root_and_none_governs_itself(sentence, level):
    done = RuleEnhancer(level)(sentence)
    assert done == RuleEnhancer(level)(sentence)
    assert dataclasses.replace(done, deps=None, empty=[]) == sentence
    assert parse_conllu(format_conllu(done), multiroot=True)[0].deps == done.deps
    arcs = done.enhanced_arcs
    assert len(set(arcs)) == len(arcs)
    assert not [arc for arc in arcs if arc[0] == arc[1]]
    assert not any(node == "0" for _, node, _ in arcs)
    reached, waiting = {"0"}, ["0"]
    while waiting:
        head = waiting.pop()
        found = {node for governor, node, _ in arcs if governor == head} - reached
        reached |= found
        waiting += found
    assert reached == {str(node) for node in range(len(sentence) + 1)} | {row[0] for row in done.empty}


@settings(max_examples=50, deadline=None)
@given(st.builds(random_parse, seeds, sizes, st.just(PLAIN)))
def test_a_tree_in_which_nothing_is_to_be_enhanced_is_its_graph(sentence):
    done = RuleEnhancer("enhanced")(sentence)
    assert done.deps == [[(str(head), label)] for head, label in zip(sentence.head, sentence.deprel)]
    assert done.empty == []


@needs_pybart
@settings(max_examples=20, deadline=None)
@given(st.lists(st.builds(random_parse, seeds, st.integers(1, 9)), min_size=1, max_size=3), levels)
def test_any_tree_by_pybart(sentences, level):
    done = enhance(sentences, level, "pybart")
    assert done == [enhance([sentence], level, "pybart")[0] for sentence in sentences]
    for sentence, result in zip(sentences, done):
        kept = [line for line in result.comments if not line.startswith("# basic_deps")]
        assert dataclasses.replace(result, deps=None, empty=[], comments=kept) == sentence
        assert parse_conllu(format_conllu(result), multiroot=True)[0].deps == result.deps
        assert not any("[" in label for pairs in result.deps for _, label in pairs)


def test_long_chains_and_coordinations_take_no_recursion():
    for label in ("conj", "xcomp", "acl:relcl", "nmod"):
        chain = Sentence(["a"] * 1200, list(range(1200)), ["root", *[label] * 1199])
        assert len(RuleEnhancer("enhanced++")(chain).deps) == 1200


def test_a_copy_is_an_empty_node_after_its_word_or_where_it_is_elided():
    columns = (
        ["Kim", "likes", "tea", "and", "Lee", "gin"],
        [2, 0, 2, 5, 2, 5],
        ["nsubj", "root", "obj", "cc", "conj", "orphan"],
    )
    lemma, xpos = ["Kim", "like", "tea", "and", "Lee", "gin"], ["NNP", "VBZ", "NN", "CC", "NNP", "NN"]
    (row,) = RuleEnhancer("enhanced")(Sentence(*columns, lemma=lemma, xpos=xpos)).empty
    assert row == ("5.1", "likes", "like", "_", "VBZ", "_", "_", "_", "2:conj:and", "CopyOf=2")


@pytest.mark.parametrize("engine", ["rules", pytest.param("pybart", marks=needs_pybart)])
def test_no_sentence_one_word_and_sentences_with_a_graph(engine, caplog):
    assert enhance([], engine=engine) == []
    (done,) = enhance([Sentence(["Yes"], [0], ["root"])], engine=engine)
    assert done.deps == [[("0", "root")]]
    bunch, phrases = tree(BUNCH), tree(PHRASES)
    other = dataclasses.replace(phrases, deps=[[("0", "root")]] + [[] for _ in phrases.form[1:]])
    done = enhance([bunch, other], "enhanced++", engine)
    assert done[1] is other
    assert done[0].deps != bunch.deps
    # Empty nodes without arcs are no graph to build on.
    row = ("1.1", "x", "_", "_", "_", "_", "_", "_", "_", "_")
    (done,) = enhance([dataclasses.replace(bunch, empty=[row])], engine=engine)
    assert done.empty == [row]
    assert "the sentence has 1 empty nodes already" in caplog.text


@needs_pybart
def test_a_sentence_that_the_rules_fail_on_keeps_its_basic_arcs(monkeypatch, caplog):
    convert = PybartConverter.__call__

    def refuse(self, sentence):
        if "boom" in sentence.deprel:
            raise RuntimeError("no such\nlabel")
        return convert(self, sentence)

    monkeypatch.setattr(PybartConverter, "__call__", refuse)
    bunch, bad = tree(BUNCH), Sentence(["ah", "oh"], [2, 0], ["boom", "root"])
    first, second, third = enhance([bunch, bad, bad], "enhanced++", "pybart")
    assert first == enhance([bunch], "enhanced++", "pybart")[0]
    assert second == third
    assert second.deps == [[("2", "boom")], [("0", "root")]]
    assert second.comments == ["# basic_deps = RuntimeError: no such label"]
    assert caplog.messages == [
        "2 of 3 sentences kept their basic arcs (the first: sentence 2, 'ah oh': RuntimeError: no such label)"
    ]


@needs_pybart
def test_rules_that_do_not_converge(monkeypatch, caplog):
    monkeypatch.setattr(pybart_rules.load_pybart().Convert, "convert_sentence", lambda *_: 10**6)
    (done,) = enhance([tree(BUNCH)], "enhanced++", "pybart")
    assert done.deps[0] == [("2", "det")]
    assert "did not converge within 25 rounds" in caplog.text


@needs_pybart
def test_pybart_itself_is_not_imported():
    enhance([tree(BUNCH)], "enhanced++", "pybart")  # else it would ask for spaCy
    assert "pybart" not in sys.modules


@needs_pybart
def test_the_fingerprint_names_what_changes_the_graphs(monkeypatch):
    assert re.fullmatch(r"ud-rules-\d+", enhance_fingerprint())
    before = enhance_fingerprint("pybart")
    assert re.fullmatch(r"pybart-[\d.]+/rules-\d+", before)
    monkeypatch.setattr(pybart_rules, "RULES_VERSION", 10**6)
    assert enhance_fingerprint("pybart") != before

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(pybart_rules, "version", missing)
    assert enhance_fingerprint("pybart") is None


def test_without_the_package(no_pybart):
    bunch = tree(BUNCH)
    assert enhance([bunch]) == enhance(
        [bunch], "enhanced++"
    )  # the default works wherever graphdep is installed
    with pytest.raises(ImportError, match=r"comes with graphdep\[enhanced\] .* Engine 'rules' "):
        enhance([bunch], "enhanced++", "pybart")
    done = dataclasses.replace(bunch, deps=[[("2", "det")], [("5", "nsubj")], [], [], []])
    assert enhance([done], "enhanced++", "pybart") == [done]


def test_unknown_options():
    for call in (lambda: enhance([], level="basic"), lambda: RuleEnhancer("basic")):
        with pytest.raises(ValueError, match=r"'level' must be one of .* \(got 'basic'\)"):
            call()


# -- the tree that is worked on ----------------------------------------------------------------------------


def below(tree: WorkingTree, node: int) -> set[int]:
    return {node}.union(*(below(tree, child) for child in tree.children(node)))


@given(seeds, st.integers(2, 9), st.integers(1, 8))
def test_any_operation_keeps_the_tree(seed, words, steps):
    source = random.Random(seed)
    tree = WorkingTree(random_sentence(source, words))
    for _ in range(steps):
        node = source.randrange(1, len(tree.head))
        others = sorted(set(range(1, len(tree.head))) - below(tree, node))
        children = tree.children(node)
        if children and source.random() < 0.5:
            tree.replace(node, source.choice(children), "nsubj")
        elif others and source.random() < 0.7:
            tree.move(node, source.choice(others), "obl")
        else:
            tree.copy(node, node, "conj")
        check_tree(tree.head[1:], multiroot=True)
        for head in range(len(tree.head)):
            assert tree.children(head) == [n for n in range(1, len(tree.head)) if tree.head[n] == head]


def test_a_dependent_replaces_its_governor():
    tree = WorkingTree(random_sentence(random.Random(0), 4))
    for node, head in ((2, 0), (1, 2), (3, 2), (4, 3)):
        tree.head[node] = head
    tree._children = [[2], [], [1, 3], [4], []]
    tree.replace(2, 3, "root")
    assert tree.head == [0, 3, 3, 0, 3]
    assert [tree.relation[node] for node in (2, 3)] == ["dep", "root"]
