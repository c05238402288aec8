"""Parses and their edges as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.data import to_data
from graphdep.explorer.explorer import Explorer
from graphdep.explorer.side import Side
from graphdep.sentence import Sentence, as_sentences
from graphdep.transforms import RandomBrackets, RandomTree, resolve
from graphdep.vocab import RelationVocab

Edges: TypeAlias = "str | BaseTransform | Sequence[str | BaseTransform] | Mapping[str, str | BaseTransform]"
"""Sets of edges: one, several, or by title."""


def draw(
    parsed: Any,
    edges: Edges = (),
    *,
    against: str | BaseTransform | None = None,
    words: Sequence[Sequence[str]] | None = None,
    relations: RelationVocab | None = None,
    root: bool | None = None,
    title: str = "",
) -> Explorer:
    """Draws trees, and the edges that a model would have on them; of sentences that all have constituents,
    those as brackets below the words. What it gives shows itself in a notebook, and is saved as a page,
    ``.svg``, ``.png`` or ``.pdf``.

    PyG's ``Data`` stays as it is, without a method of ours: ``draw(data)`` is its picture.

    Args:
        parsed: A sentence, several as the utterances of a dialogue, whatever :func:`graphdep.to_data` takes,
            or a ``Data`` of it without edges.
        edges: Sets of edges: a name of :func:`graphdep.transforms.resolve` or a transform, several of them,
            or a mapping from titles. (default: none)
        against: What to compare them with: ``"random"`` for the same edges on a random tree, or other edges.
            (default: :obj:`None`)
        words: Of a ``Data`` the words of each utterance. (default: their numbers)
        relations: Of a ``Data`` the names of relations. (default: a fresh :class:`~graphdep.RelationVocab`)
        root: Whether ROOT is a node; of a ``Data`` it is what it is. (default: if there are edges)
        title: What stands on top. (default: the words)

    Raises:
        TypeError: If :obj:`parsed` is nothing of this kind.
        ValueError: If edges are not known, there is nothing to compare, or the ``Data`` is a batch or has
            edges.

    Example:
        >>> from graphdep import Sentence, draw
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
        >>> draw(sentence, ["dra", "sia"], title="She sings.").save("edges.svg").name
        'edges.svg'
        >>> draw(sentence, "dra", against="random")
        Explorer('She sings', 2 sides, 3 nodes)
    """
    named = _named(edges)
    if against is not None and not named:
        raise ValueError("'against' compares 'edges', and there are none")
    if isinstance(parsed, Data):
        _check_data(parsed)
        data, texts = parsed, _checked_words(words)
    else:
        sentences: list[Sentence] = as_sentences(parsed)
        texts = [sentence.form for sentence in sentences]
        relations = RelationVocab.learn(_labels(sentences), min_count=1) if relations is None else relations
        bracketed = all(sentence.constituents is not None for sentence in sentences)
        phrases = "spans" if bracketed else False
        root = bool(named) if root is None else root
        data = to_data(sentences, relations=relations, root=root, phrases=phrases)
    first = Side.of("the parse" if against == "random" else "edges", data, texts, named, relations=relations)
    if against is None:
        return Explorer([first], title=title)
    if against == "random":
        made = RandomTree()(RandomBrackets()(data) if "phrase_index" in data else data)
        sides = [first, Side.of("a random tree", made, texts, named, relations=relations)]
    else:
        other = _named(against)
        pairs = [*named.items(), *other.items()]
        sides = [Side.of(name, data, texts, {name: made}, relations=relations) for name, made in pairs]
        if len(sides) != 2:
            raise ValueError(f"'against' compares one set of edges with another (got {len(named)})")
    return Explorer(sides, title=title)


def _named(edges: Edges) -> dict[str, BaseTransform]:
    if isinstance(edges, Mapping):
        return {str(name): resolve(value) for name, value in edges.items()}
    return named_edges([edges] if isinstance(edges, (str, BaseTransform)) else [*edges])


def named_edges(edges: Iterable[str | BaseTransform]) -> dict[str, BaseTransform]:
    """Sets of edges by a name for each: its own or that of its class; where another has that, all that it is
    made of, or its number too.
    """
    found: dict[str, BaseTransform] = {}
    for number, one in enumerate(edges, start=1):
        plain = one if isinstance(one, str) else type(one).__name__
        names = (plain,) if isinstance(one, str) else (plain, repr(one), f"{plain}, {number}")
        found[next((name for name in names if name not in found), plain)] = resolve(one)
    return found


def _checked_words(words: Sequence[Sequence[str]] | None) -> list[Sequence[str]]:
    texts = [] if words is None else [*words]
    for number, text in enumerate(texts, start=1):
        if isinstance(text, str):
            raise ValueError(
                f"'words' must be a list of words for each utterance (utterance {number} is {text!r})"
            )
    return texts


def _check_data(data: Data) -> None:
    if isinstance(data, Batch):
        raise ValueError("'parsed' is a batch: draw one of its examples, batch[0]")
    if "node_type" not in data:
        raise ValueError("'parsed' has no node table: graphdep.to_data() writes one")
    if "edge_index" in data or "clique" in data:
        raise ValueError("'parsed' has edges already: give the Data without, and the transform as 'edges'")


def _labels(sentences: Sequence[Sentence]) -> list[str]:
    enhanced = [label for sentence in sentences for _, _, label in sentence.enhanced_arcs]
    return [label for sentence in sentences for label in sentence.deprel] + enhanced
