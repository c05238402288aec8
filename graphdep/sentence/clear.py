"""Trees of the CLEAR scheme, which spaCy's English models give, as trees of Universal Dependencies."""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphdep.sentence.clear_steps import STEPS
from graphdep.sentence.clear_tree import ClearTree

if TYPE_CHECKING:
    from graphdep.sentence import Sentence

logger = logging.getLogger("graphdep.sentence")

CLEAR_TO_UD: Mapping[str, str] = MappingProxyType(
    {
        "acl": "acl",
        "acomp": "xcomp",
        "advcl": "advcl",
        "advmod": "advmod",
        "agent": "case",
        "amod": "amod",
        "appos": "appos",
        "attr": "xcomp",
        "aux": "aux",
        "auxpass": "aux:pass",
        "case": "case",
        "cc": "cc",
        "ccomp": "ccomp",
        "complm": "mark",
        "compound": "compound",
        "conj": "conj",
        "csubj": "csubj",
        "csubjpass": "csubj:pass",
        "dative": "iobj",
        "dep": "dep",
        "det": "det",
        "dobj": "obj",
        "expl": "expl",
        "hmod": "compound",
        "hyph": "punct",
        "infmod": "acl",
        "intj": "discourse",
        "iobj": "iobj",
        "mark": "mark",
        "meta": "dep",
        "neg": "advmod",
        "nmod": "nmod",
        "nn": "compound",
        "npadvmod": "obl:unmarked",
        "nsubj": "nsubj",
        "nsubjpass": "nsubj:pass",
        "num": "nummod",
        "number": "compound",
        "nummod": "nummod",
        "oprd": "xcomp",
        "parataxis": "parataxis",
        "partmod": "acl",
        "pcomp": "advcl",
        "pobj": "obl",
        "poss": "nmod:poss",
        "possessive": "case",
        "preconj": "cc:preconj",
        "predet": "det:predet",
        "prep": "case",
        "prt": "compound:prt",
        "punct": "punct",
        "quantmod": "advmod",
        "rcmod": "acl:relcl",
        "relcl": "acl:relcl",
        "root": "root",
        "xcomp": "xcomp",
    }
)
"""What becomes of each label; :func:`clear_to_ud` says where the tree around it decides otherwise."""

# In CLEAR's table with the same name, or with another meaning that a tree of UD may have.
_SHARED = frozenset(label for label, relation in CLEAR_TO_UD.items() if label == relation)
# Labels for which Universal Dependencies have nothing.
_WITHOUT = frozenset({"meta"})


def is_clear(labels: Iterable[str]) -> bool:
    """Whether some labels of trees can only be CLEAR's: ``dobj``, ``prep``, ``pobj``, ``attr``, ...

    Where all labels are of both schemes, as in *She sings.*, it says no, and there is little to convert.

    Example:
        >>> from graphdep.sentence import is_clear
        >>> is_clear(["nsubj", "ROOT", "dobj"]), is_clear(["nsubj", "root", "obj"])
        (True, False)
    """
    return not {label.lower() for label in labels}.isdisjoint(CLEAR_TO_UD.keys() - _SHARED)


def clear_to_ud(sentence: Sentence) -> Sentence:
    """A tree of the CLEAR scheme as one of Universal Dependencies, version 2: labels and structure.

    CLEAR is the scheme of "Guidelines for the Clear Style Constituent to Dependency Conversion" (Choi and
    Palmer, Technical Report 01-12, University of Colorado Boulder, 2012), in which spaCy's English models
    parse. :data:`~graphdep.sentence.clear.CLEAR_TO_UD` is the table of labels; the tree changes where
    the schemes differ (https://universaldependencies.org/u/overview/syntax.html):

    ===========================  =========================================================================
    CLEAR                        Universal Dependencies
    ===========================  =========================================================================
    ``prep`` over ``pobj``       the object hangs from what the preposition hung from, as ``nmod`` of a
                                 nominal, else ``obl``; the preposition is its ``case``
    ``agent`` over ``pobj``      the same with ``obl:agent``
    ``prep`` over ``pcomp``      a clause as ``acl`` or ``advcl``, the preposition its ``mark``
    *be* over ``attr, acomp``    the predicate takes the place of *be*, which is its ``cop``; so does a
                                 place (*is in Paris*, *is here*) and a clause, whose outer subject is
                                 ``nsubj:outer``; not *there is*, whose ``attr`` is ``nsubj``
    ``ccomp`` without tense      *let him go*: the subject is ``obj`` of the upper verb, the clause ``xcomp``
    ``conj`` of a ``conj``       all hang from the first; ``cc`` and commas from the one that follows
    *to* as ``aux``              ``mark``
    ``npadvmod``                 ``nmod:unmarked`` of a nominal, else ``obl:unmarked``
    ``compound, nmod``           ``amod`` where the tag is an adjective's
    ``prep, pcomp`` alone        a preposition without an object: ``obl`` of a verb, else ``advmod``
    ``punct``                    under the sentence's root at its end, else as high as nothing crosses it
    ===========================  =========================================================================

    Names stay ``compound`` (UD has ``flat`` for persons), since the labels alone do not tell persons apart.
    Labels that are not in the table stay. Enhanced arcs, which CLEAR does not have, are left out. The rules
    read the columns XPOS (Penn Treebank), else UPOS, and LEMMA, as far as they are there.
    ``examples/research/results/parser.md`` has the scores on UD English EWT.

    Args:
        sentence: The tree. One that is not CLEAR's loses its structure.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.sentence import clear_to_ud
        >>> tree = clear_to_ud(
        ...     Sentence(["She", "looks", "at", "him"], [2, 0, 2, 3], ["nsubj", "ROOT", "prep", "pobj"])
        ... )
        >>> tree.head, tree.deprel
        ([2, 0, 4, 2], ['nsubj', 'root', 'case', 'obl'])
    """
    tree = ClearTree.of(sentence)
    for step in STEPS:
        step(tree)
    labels = [CLEAR_TO_UD.get(label, label) for label in tree.label[1:]]
    deprel = [
        "root" if governor == 0 else label if label != "root" else "dep"
        for governor, label in zip(tree.head[1:], labels)
    ]
    return dataclasses.replace(sentence, head=tree.head[1:], deprel=deprel, deps=None, empty=[])


def converted(sentences: list[Sentence], clear: str, labels: frozenset[str] = frozenset()) -> list[Sentence]:
    """The sentences of a text, converted if they are CLEAR's and ``clear`` says so; a warning says how many
    labels became ``dep``.

    Args:
        sentences: The sentences.
        clear: ``"convert"`` or ``"keep"``.
        labels: What tells the scheme beside their own labels. (default: nothing)

    Raises:
        ValueError: If ``clear`` is unknown.
    """
    if clear not in ("convert", "keep"):
        raise ValueError(f"'clear' must be 'convert' or 'keep' (got {clear!r})")
    own = [label for sentence in sentences for label in sentence.deprel]
    if clear == "keep" or not is_clear([*labels, *own]):
        return sentences
    lost = Counter(label for label in own if label.lower() in _WITHOUT)
    if lost:
        logger.warning(
            "%d of %d labels of the CLEAR scheme became 'dep', since Universal Dependencies have none for "
            "them: %s",
            lost.total(),
            len(own),
            ", ".join(f"{label} ({count})" for label, count in lost.most_common(10)),
        )
    return [clear_to_ud(sentence) for sentence in sentences]
