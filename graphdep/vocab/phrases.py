"""Labels of constituents and their ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

# The Penn Treebank's, with those of its releases for the web and for speech. Ids follow this order, so
# entries are only ever appended.
_PTB = """X ADJP ADVP CONJP EDITED EMBED FRAG INTJ LST META NAC NML NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV
SQ TYPO UCP VP WHADJP WHADVP WHNP WHPP ROOT CAPTION CIT HEADING HTML UNK WHX""".split()
_CUT = re.compile("[-=|+]")


class PhraseVocab:
    """Ids of the labels of constituents, the same for every graph, corpus and run: 0 is none, 1 is ``X``,
    which stands for all that is not known, and then the labels of the Penn Treebank.

    A label falls back to what stands before ``-``, ``=``, ``|`` and ``+``, without ``@``; ``NP-SBJ`` and
    ``@NP`` are ``NP``. :obj:`fallbacks` counts how often a label is not known.

    Args:
        further: Further labels, appended. (default: none)

    Raises:
        ValueError: If a label is known already, or twice there.

    Example:
        >>> from graphdep.vocab import PhraseVocab
        >>> phrases = PhraseVocab()
        >>> phrases.label(phrases["NP-SBJ"]), phrases.label(phrases["strange"])
        ('NP', 'X')
    """

    NONE, UNK = 0, 1

    def __init__(self, further: Iterable[str] = ()) -> None:
        self.further = [*further]
        self._labels = ["[NONE]", *_PTB, *self.further]
        label, count = Counter(self._labels).most_common(1)[0]
        if count > 1:
            raise ValueError(f"'further' repeats {label!r} or a known label ({count} times in all)")
        self._ids = {label: number for number, label in enumerate(self._labels) if number != self.NONE}
        self.fallbacks: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, label: str) -> int:
        if not isinstance(label, str):
            raise TypeError(f"'label' must be a text; the name of an id is label({label!r}) (got {label!r})")
        found = self._ids.get(label)
        if found is None:
            found = self._ids.get(_CUT.split(label.lstrip("@"), maxsplit=1)[0])
        if found is None:
            self.fallbacks[label] += 1
            return self.UNK
        return found

    def __contains__(self, label: str) -> bool:
        return label in self._ids

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} labels, {len(self.further)} further)"

    def label(self, phrase: int) -> str:
        """The name of an id."""
        if not 0 <= phrase < len(self):
            raise ValueError(f"'phrase' must be in 0..{len(self) - 1} (got {phrase})")
        return self._labels[phrase]
