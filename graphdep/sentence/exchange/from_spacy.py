"""spaCy's documents as columns of sentences."""

from __future__ import annotations

from typing import Any

from graphdep.sentence.exchange.found import Found, is_from, shown


def read_spacy(parsed: Any) -> Found:
    """The sentences of a ``Doc``, or the one of a ``Span``.

    Raises:
        TypeError: If it is neither.
        ValueError: If it is not parsed, or the ``Span`` is not one tree.
    """
    if not is_spacy(parsed):
        raise TypeError(f"from_spacy takes a Doc or a Span of spaCy (got {shown(parsed)})")
    single = is_from(parsed, "spacy.tokens", "Span")
    doc = parsed.doc if single else parsed
    if len(doc) and not doc.has_annotation("DEP"):
        raise ValueError(f"the Doc {doc.text[:60]!r} has no parse: give it to a pipeline with a parser")
    spans = [parsed] if single else list(doc.sents) if len(doc) else []
    if single:
        _check_tree(parsed)
    sentences = [[token for token in span if not token.is_space] for span in spans]
    columns = [
        {**word_columns(tokens, text=True), **tree_columns(tokens, one_root=True)}
        for tokens in sentences
        if tokens
    ]
    return Found(columns, single, frozenset(token.dep_ for token in doc))


def is_spacy(parsed: object) -> bool:
    """Whether something is spaCy's ``Doc`` or ``Span``."""
    return is_from(parsed, "spacy.tokens", "Doc", "Span")


def word_columns(tokens: list[Any], *, text: bool) -> dict[str, Any]:
    """What a sentence has beside its tree; with ``text`` also what was between its words."""
    columns: dict[str, Any] = {
        "form": [token.text for token in tokens],
        "lemma": _column([token.lemma_ for token in tokens]),
        "upos": _column([token.pos_ for token in tokens]),
        "xpos": _column([token.tag_ for token in tokens]),
        "feats": _column([str(token.morph) for token in tokens]),
    }
    if text:
        columns["misc"] = _column(["_" if _space_after(token) else "SpaceAfter=No" for token in tokens])
        line = "".join(token.text + (" " if _space_after(token) else "") for token in tokens)
        columns["comments"] = [f"# text = {' '.join(line.split())}"]
    return columns


def tree_columns(tokens: list[Any], *, one_root: bool) -> dict[str, Any]:
    """Governors and relations; ``ROOT`` is ``root``."""
    head = token_heads(tokens, one_root)
    labels = [
        "root" if governor == 0 else token.dep_ if token.dep_ not in ("", "ROOT") else "dep"
        for governor, token in zip(head, tokens)
    ]
    return {"head": head, "deprel": labels}


def token_heads(tokens: list[Any], one_root: bool) -> list[int]:
    """The governor of each of some tokens of a sentence, from 1, 0 for a root; what is left out hands its
    dependents to its governor, and with ``one_root`` further roots depend on the first one.
    """
    number = {token.i: i for i, token in enumerate(tokens, start=1)}
    head = [number.get(_governor(token, number).i, 0) for token in tokens]
    head = [0 if governor == i else governor for i, governor in enumerate(head, start=1)]
    # Where white space was the root, its dependents have lost their governor.
    for other in [i for i, governor in enumerate(head) if governor == 0][1:] if one_root else []:
        head[other] = head.index(0) + 1
    return head


def _governor(token: Any, number: dict[int, int]) -> Any:
    """The governor, or the nearest one above that was not left out."""
    governor = token.head
    while governor.i not in number and governor.head.i != governor.i:
        governor = governor.head
    return governor


def _check_tree(span: Any) -> None:
    """A Span may be a sentence or a part that hangs together."""
    words = [token for token in span if not token.is_space]
    tops = [t.text for t in span if t.head.i == t.i or not span.start <= t.head.i < span.end]
    if not words:
        raise ValueError("the Span has no word")
    if len(tops) > 1:
        raise ValueError(
            f"the Span {span.text[:60]!r} is not one tree: {', '.join(map(repr, tops[:5]))} hang from "
            "nothing in it (a sentence is one of doc.sents)"
        )


def _space_after(token: Any) -> bool:
    last = token.i + 1 == len(token.doc)
    return bool(token.whitespace_) or last or token.doc[token.i + 1].is_space


def _column(values: list[str]) -> list[str] | None:
    filled = [value or "_" for value in values]
    return None if set(filled) == {"_"} else filled
