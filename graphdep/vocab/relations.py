"""Relation labels and their ids."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import ClassVar, Self
from unicodedata import category

import torch
from torch import Tensor

from graphdep.io.limits import check_between, check_choice, check_least, plural
from graphdep.sentence.sentence import Sentence
from graphdep.vocab.vocab import check_once, check_state, load_vocab_file, save_vocab_file

# Unicode categories of control characters, surrogates, line and paragraph separators.
_FORBIDDEN = ("Cc", "Cs", "Zl", "Zp")
# Universal Dependencies v2: the universal relations, then subtypes documented for its treebanks.
# Ids follow this order, so entries are only ever appended to the learned labels, never inserted here.
_UNIVERSAL = """acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct
reparandum root vocative xcomp""".split()
_SUBTYPES = """acl:adv acl:attr acl:cleft acl:cmpr acl:fixed acl:inf acl:relat acl:relcl acl:tmod advcl:abs
advcl:cau advcl:cleft advcl:cmpr advcl:cond advcl:coverb advcl:eval advcl:lcl advcl:lto advcl:mcl
advcl:objective advcl:pred advcl:purp advcl:relcl advcl:svc advcl:sp advcl:tcl advmod:adj advmod:arg
advmod:cau advmod:comp advmod:deg advmod:det advmod:df advmod:dir advmod:emph advmod:eval advmod:fixed
advmod:foc advmod:freq advmod:lfrom advmod:lmod advmod:lmp advmod:lto advmod:mmod advmod:mode advmod:neg
advmod:obl advmod:que advmod:tfrom advmod:tlocin advmod:tmod advmod:to advmod:tto amod:att amod:attlvc
amod:flat appos:trans aux:aff aux:aspect aux:caus aux:clitic aux:cnd aux:exhort aux:imp aux:mood aux:neg
aux:nec aux:opt aux:part aux:pass aux:pot aux:q aux:tense case:acc case:adv case:aff case:det
case:dislocated case:gen case:loc case:pred case:voc cc:nc cc:preconj ccomp:cleft ccomp:obj ccomp:obl
ccomp:pmod ccomp:pred clf:det compound:a compound:adj compound:affix compound:amod compound:apr
compound:atov compound:dir compound:ext compound:lvc compound:n compound:nn compound:preverb compound:pron
compound:prt compound:quant compound:redup compound:smixut compound:svc compound:v compound:vo compound:vv
compound:z conj:expl conj:extend conj:svc cop:expl cop:identity cop:locat cop:own csubj:asubj csubj:cleft
csubj:cop csubj:outer csubj:pass csubj:pred csubj:vsubj dep:alt dep:aff dep:ana dep:comp dep:conj dep:cop
dep:infl dep:iobj dep:mark dep:mod dep:obj dep:prt dep:redup dep:ss det:adj det:noun det:numgov det:nummod
det:poss det:predet det:pron det:pmod det:rel discourse:emo discourse:filler discourse:intj
discourse:otherwise discourse:q discourse:sp dislocated:cleft dislocated:csubj dislocated:nsubj
dislocated:obj dislocated:subj dislocated:vo expl:comp expl:impers expl:pass expl:poss expl:pv expl:subj
flat:abs flat:dist flat:foreign flat:frac flat:gov flat:name flat:num flat:number flat:range flat:redup
flat:repeat flat:sibl flat:time flat:title flat:vv iobj:agent iobj:appl iobj:caus iobj:patient mark:adv
mark:advmod mark:aff mark:plur mark:pcomp mark:prt mark:q mark:rel nmod:abl nmod:agent nmod:appos nmod:arg
nmod:att nmod:attlvc nmod:attr nmod:bahuv nmod:cau nmod:comp nmod:desc nmod:det nmod:flat nmod:fixed
nmod:gen nmod:gobj nmod:gsubj nmod:lfrom nmod:lmod nmod:lmp nmod:npmod nmod:obj nmod:obl nmod:obllvc
nmod:part nmod:pass nmod:periph nmod:poss nmod:pmod nmod:pred nmod:prep nmod:prp nmod:range nmod:relat
nmod:subj nmod:tmod nmod:unmarked nsubj:advmod nsubj:aff nsubj:appos nsubj:bfoc nsubj:caus nsubj:cleft
nsubj:cop nsubj:expl nsubj:ifoc nsubj:lfoc nsubj:lvc nsubj:nc nsubj:nn nsubj:obj nsubj:outer nsubj:pass
nsubj:periph nsubj:quasi nsubj:x nsubj:xsubj nummod:det nummod:entity nummod:flat nummod:gov nummod:mod
nummod:pref obj:advmod obj:advneg obj:agent obj:appl obj:caus obj:lvc obj:nn obj:obl obj:patient obj:periph
obl:abl obl:ad obl:adj obl:adv obl:advmod obl:agent obl:appl obl:arg obl:cau obl:cmp obl:cmpr obl:comp
obl:dat obl:freq obl:grad obl:inst obl:iobj obl:lfrom obl:lmod obl:lmp obl:lto obl:lvc obl:mcl obl:mod
obl:npmod obl:obj obl:orphan obl:own obl:part obl:path obl:patient obl:periph obl:pmod obl:poss obl:pred
obl:prep obl:sentcon obl:smod obl:soc obl:subj obl:tmod obl:unmarked obl:with orphan:missing parataxis:appos
parataxis:conj parataxis:coord parataxis:deletion parataxis:discourse parataxis:hashtag parataxis:insert
parataxis:mod parataxis:newsent parataxis:nsubj parataxis:obj parataxis:parenth parataxis:rel parataxis:rep
parataxis:restart parataxis:rt parataxis:sentence parataxis:trans parataxis:url punct:hyph vocative:cl
vocative:mention xcomp:adj xcomp:cleft xcomp:ds xcomp:obj xcomp:pred xcomp:subj xcomp:vcomp""".split()

RELATIONS = ("auto", "ud", "learned")
"""Ways to choose the relations of a corpus, see :meth:`RelationVocab.of_arcs`."""
UD_SHARE = 0.95
"""Share of arcs with a label in the UD table from which ``"auto"`` uses the table."""
_MAX_NAMED = 5  # largest number of labels in a message
_MIN_TREE_COUNT = 2  # least count of a learned tree label
GRAPH_MIN_FREQ = 5
"""Least count of a learned label in enhanced graphs, whose labels contain words; as in DAM's paper."""


class RelationVocab:
    r"""Ids of relations, the same for every graph, corpus and run.

    ======================  ==========================================================================
    id                      meaning
    ======================  ==========================================================================
    ``NONE`` = 0            no relation: no score, gate 0
    ``SELF`` = 1            a node and itself, path code (0, 0)
    ``UNK`` = 2             reserved: no arc gets it, one without a label is ``dep``
    3 ...                   universal relations and their subtypes, each followed by its inverse
    ...                     path codes (a, b) with 1 <= a + b <= :obj:`max_path`
    ...                     learned labels, each followed by its inverse
    ======================  ==========================================================================

    An unknown label falls back to its base (``nmod:in_front_of`` to ``nmod``, ``obl:agent:by`` to
    ``obl:agent``), then to ``dep``; :obj:`fallbacks` counts them by label. ``ROOT`` is ``root``. Labels of
    enhanced graphs and of other schemes are learned from a training split (:meth:`of_arcs`).

    Args:
        learned: Further labels, appended after the fixed block. (default: none)
        used: The known labels of the fixed block, for trees of another scheme; others fall back, since labels
            that are absent from training would keep random embeddings. Ids stay the same. (default: all)

    Raises:
        ValueError: If a label occurs twice, is in the fixed block, has no name (``""``, ``":"``) or a
            control character, line break or unpaired surrogate; or one of :obj:`used` is not in the block.

    Example:
        >>> from graphdep import RelationVocab
        >>> relations = RelationVocab()
        >>> relations.label(relations["nmod:in_front_of"]), relations.label(RelationVocab.path(1, 1))
        ('nmod', 'path(1,1)')
        >>> RelationVocab.learn(["obl:in_front_of"] * 5).learned
        ['obl:in_front_of']
        >>> relations = RelationVocab.of_arcs(["SBJ", "OBJ", "root"] * 2)
        >>> relations.learned, relations.used, "nsubj" in relations
        (['OBJ', 'SBJ'], ['root'], False)
    """

    NONE, SELF, UNK = 0, 1, 2
    max_path = 8
    _FIRST = 3
    _FIXED = (*_UNIVERSAL, *_SUBTYPES)
    _PATHS = tuple((a, s - a) for s in range(1, max_path + 1) for a in range(s + 1))
    _FIRST_PATH = _FIRST + 2 * len(_FIXED)
    _FIRST_LEARNED = _FIRST_PATH + len(_PATHS)
    _IDS: ClassVar[Mapping[str, int]] = dict(zip(_FIXED, range(_FIRST, _FIRST_PATH, 2)))

    def __init__(self, learned: Iterable[str] = (), used: Iterable[str] | None = None) -> None:
        self.learned = list(learned)
        self.used = None if used is None else list(used)
        check_once("learned", [*self._FIXED, *self.learned])
        check_once("used", self.used or [])
        for label in self.used or []:
            if label not in self._IDS:
                raise ValueError(f"'used' has a label that is not in the fixed block (got {label[:80]!r})")
        for label in self.learned:
            if not _is_relation(label):
                wrong = "'learned' has a label without a name or with a forbidden character"
                raise ValueError(f"{wrong} (got {label[:80]!r})")
        self._ids = {label: self._IDS[label] for label in (self._FIXED if self.used is None else self.used)}
        self._ids["dep"] = self._IDS["dep"]  # any label may fall back to it
        self._ids |= {label: self._FIRST_LEARNED + 2 * i for i, label in enumerate(self.learned)}
        if "root" in self._ids:  # the form in spaCy, CoreNLP and older schemes
            self._ids.setdefault("ROOT", self._ids["root"])
        self.fallbacks: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._FIRST_LEARNED + 2 * len(self.learned)

    def __getitem__(self, label: str) -> int:
        if label in self._ids:
            return self._ids[label]
        self.fallbacks[label] += 1
        return self._ids.get(self._base(label), self._ids["dep"])

    def _base(self, label: str) -> str:
        """The longest known prefix of a label before a colon, or else its first part."""
        while label not in self._ids and ":" in label:
            label = label.rpartition(":")[0]
        return label

    def __contains__(self, label: str) -> bool:
        return label in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RelationVocab) and self.state_dict() == other.state_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        used = "" if self.used is None else f", {len(self.used)} of the fixed block"
        return f"{type(self).__name__}({len(self)} relations, {len(self.learned)} learned{used})"

    def copy(self) -> Self:
        """The same relations, with their own count of fallbacks."""
        return type(self)(self.learned, self.used)

    def unknown(self, labels: Mapping[str, int]) -> Counter[str]:
        """The labels, with their counts, that are read as ``dep``, since no prefix is known."""
        return Counter({label: n for label, n in labels.items() if self._base(label) not in self._ids})

    def note(self, labels: Mapping[str, int]) -> str:
        """A sentence on the number of arcs whose label has no id of its own; empty if there are none."""
        rare = Counter({label: n for label, n in labels.items() if label not in self._ids})
        if not rare:
            return ""
        count, total, plain = rare.total(), sum(labels.values()), self.unknown(rare).total()
        read = {"'dep'": plain, "the part before ':'": count - plain}
        named = [f"{label} ({n})" for label, n in rare.most_common(_MAX_NAMED)]
        return (
            f"{count} of {plural(total, 'arc')} ({count / total:.0%}) have unknown labels, read as "
            f"{' or '.join(part for part, n in read.items() if n)}: "
            f"{', '.join([*named, *(['...'] if len(rare) > _MAX_NAMED else [])])}"
        )

    @classmethod
    def of_arcs(cls, labels: Iterable[str], how: str = "auto", *, graph_min_freq: int | None = None) -> Self:
        """The relations for trees or graphs whose arcs have these labels.

        Args:
            labels: One label per arc of the training split, or their counts.
            how: ``"ud"``: the table of Universal Dependencies. ``"learned"``: only labels of at least two
                arcs. ``"auto"``: the table if the labels of at least 95% of the arcs, or their parts before a
                colon, are in it; else ``"learned"``. (default: ``"auto"``)
            graph_min_freq: For enhanced graphs, whose labels contain words of the text: the least count of a
                label to be learned besides the table. (default: :obj:`None`, for other arcs)

        Raises:
            ValueError: If :obj:`how` is unknown, or :obj:`graph_min_freq` is less than 1.
        """
        check_choice("relations", how, RELATIONS)
        counts = _counted(labels)
        enhanced = graph_min_freq is not None
        least = _MIN_TREE_COUNT if graph_min_freq is None else graph_min_freq
        if how == "ud":
            return cls()
        if how == "auto" and cls._ud_share(counts) >= UD_SHARE:
            return cls.learn(counts, least) if enhanced else cls()
        often = [label for label in cls._FIXED if counts[label] >= least]
        return cls(cls.learn(counts, least).learned, often)

    @classmethod
    def _ud_share(cls, counts: Counter[str]) -> float:
        return 1 - cls().unknown(counts).total() / max(1, counts.total())

    def types(self, labels: Iterable[str]) -> int:
        """Number of relations as which arcs with these labels are read."""
        known = {self._base(label) for label in _counted(labels)}
        return len({label if label in self._ids else "dep" for label in known})

    def about(self, labels: Iterable[str]) -> str:
        """A description of these relations, and of the share of training arcs (given by their labels) in the
        table of Universal Dependencies.
        """
        counts = _counted(labels)
        share = f"{self._ud_share(counts):.0%} of the arcs"
        if self.used is not None:
            known = plural(len(self.used) + len(self.learned), "label")
            return f"{known} learned from the training trees; {share} are in Universal Dependencies' table"
        known = plural(sum(label in self._IDS for label in counts), "label")
        learned = ""
        if self.learned:
            learned = f", and {len(self.learned)} learned from training: {self.types(counts)} relation types"
        return f"{known} of Universal Dependencies, {share}{learned}"

    @classmethod
    def learn(cls, labels: Iterable[str], min_count: int = 5) -> Self:
        """Counts labels, e.g. those of all arcs of a training split, and learns new ones.

        Order: by count, then alphabetically, so that the same corpus always gives the same ids. Enhanced
        labels contain words of the text, so they may contain any character: a label with a forbidden
        character is not learned, but falls back and is counted there.

        Args:
            labels: One label per arc, or their counts.
            min_count: Rarer labels are not learned, so they fall back. (default: :obj:`5`)

        Raises:
            ValueError: If :obj:`min_count` is less than 1.
        """
        check_least("min_count", min_count, 1)
        counts = _counted(labels)
        often = [label for label, n in counts.items() if n >= min_count and label not in cls._IDS]
        kept = filter(_is_relation, often)
        return cls(sorted(kept, key=lambda label: (-counts[label], label)))

    @classmethod
    def path(cls, a: int, b: int) -> int:
        """Id of the path that goes ``a`` arcs up to the lowest common ancestor, then ``b`` arcs down.

        Raises:
            ValueError: If ``a`` or ``b`` is negative or their sum exceeds :obj:`max_path`.
        """
        if a < 0 or b < 0 or a + b > cls.max_path:
            raise ValueError(f"path ({a}, {b}) is outside 0 <= a + b <= {cls.max_path}")
        return cls.SELF if a + b == 0 else cls._FIRST_PATH + cls._PATHS.index((a, b))

    @classmethod
    def inverse(cls, relation: Tensor) -> Tensor:
        """Ids of the inverse relations, element by element: the same arc seen from its other end.

        Path codes (a, b) become (b, a); NONE, SELF and UNK are their own inverse.
        """
        table = torch.arange(cls._FIRST_LEARNED)
        table[cls._FIRST : cls._FIRST_PATH] = _swap_pairs(cls._FIRST, cls._FIRST_PATH)
        table[cls._FIRST_PATH :] = torch.tensor([cls.path(b, a) for a, b in cls._PATHS])
        learned = (relation - cls._FIRST_LEARNED).clamp(min=0).bitwise_xor(1) + cls._FIRST_LEARNED
        fixed = table.to(relation.device)[relation.clamp(max=cls._FIRST_LEARNED - 1)]
        return torch.where(relation < cls._FIRST_LEARNED, fixed, learned)

    @classmethod
    def merge(cls, relation: Tensor, *, labels: bool = True, directions: bool = True) -> Tensor:
        """Ids with merged relations, element by element.

        Args:
            relation: Ids.
            labels: Keep labels apart; otherwise all are ``dep``, or its inverse. (default: :obj:`True`)
            directions: Keep a relation and its inverse apart; otherwise both have the id of the relation, and
                path codes (a, b) and (b, a) the id of the one with the smaller a. (default: :obj:`True`)
        """
        if not labels:
            dep = cls._FIRST + 2 * cls._FIXED.index("dep")
            fixed = (relation >= cls._FIRST) & (relation < cls._FIRST_PATH)
            odd = torch.where(fixed, relation - cls._FIRST, relation - cls._FIRST_LEARNED) % 2
            relation = torch.where(fixed | (relation >= cls._FIRST_LEARNED), dep + odd, relation)
        return relation if directions else torch.minimum(relation, cls.inverse(relation))

    def label(self, relation: int) -> str:
        """The name of an id, for figures and messages; an inverse relation ends in ``^-1``."""
        check_between("relation", relation, 0, len(self) - 1)
        if relation < self._FIRST:
            return ("[NONE]", "[SELF]", "[UNK]")[relation]
        if self._FIRST_PATH <= relation < self._FIRST_LEARNED:
            return f"path{self._PATHS[relation - self._FIRST_PATH]}".replace(" ", "")
        labels, first = (
            (self._FIXED, self._FIRST) if relation < self._FIRST_PATH else (self.learned, self._FIRST_LEARNED)
        )
        number, inverted = divmod(relation - first, 2)
        return labels[number] + ("^-1" if inverted else "")

    def state_dict(self) -> dict:
        """Plain values, for JSON and checkpoints. ``fixed`` detects another version of the fixed block."""
        used = {} if self.used is None else {"used": self.used}
        return {"fixed": self._FIRST_LEARNED, "learned": self.learned, **used}

    @classmethod
    def from_state_dict(cls, state: dict) -> RelationVocab:
        used = {"used": list} if isinstance(state, dict) and "used" in state else {}
        state = check_state(state, fixed=int, learned=list, **used)
        if state["fixed"] != cls._FIRST_LEARNED:
            raise ValueError(
                f"saved with {state['fixed']} fixed relations, this version has {cls._FIRST_LEARNED}"
            )
        return cls(state["learned"], state.get("used"))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a JSON file; one that is there is replaced only if :obj:`overwrite`."""
        save_vocab_file(self.state_dict(), path, overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RelationVocab:
        return load_vocab_file(path, cls.from_state_dict)


def label_counts(trees: Iterable[Sentence], arcs: str = "basic") -> Counter[str]:
    """The number of arcs with each label: of the trees, or of their enhanced graphs, if any, and of the
    user's own graphs in addition.
    """
    found: Counter[str] = Counter()
    for tree in trees:
        graph = arcs != "basic" and tree.deps is not None
        if graph:
            found.update(label for *_, label in tree.enhanced_arcs)
        if not graph or arcs == "own":
            found.update(tree.deprel)
    return found


def _counted(labels: Iterable[str]) -> Counter[str]:
    """The count of each label; ``ROOT`` is ``root``."""
    counts = Counter(labels)
    if "ROOT" in counts:
        counts["root"] += counts.pop("ROOT")
    return counts


def _is_relation(label: str) -> bool:
    """Whether a label has a name, and no control character, line break or unpaired surrogate."""
    return bool(label.strip(": ")) and not any(category(character) in _FORBIDDEN for character in label)


def _swap_pairs(start: int, end: int) -> Tensor:
    return (torch.arange(end - start) ^ 1) + start
