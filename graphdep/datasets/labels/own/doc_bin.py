"""spaCy's binary files of documents: words, trees and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphdep.datasets.labels.bio import OUTSIDE
from graphdep.datasets.labels.column import Column
from graphdep.datasets.labels.labelled_words import LabelledWords
from graphdep.sentence import Sentence
from graphdep.sentence.exchange import token_heads

_COLUMNS = {"lemma": "lemma_", "upos": "pos_", "xpos": "tag_", "feats": "morph"}
_ENTITIES = {"": None, "O": OUTSIDE}


def read_doc_bin(path: Path, column: Column | None) -> list[LabelledWords]:
    """The sentences of a ``.spacy`` file, as spaCy's ``DocBin`` writes them, with their trees if they are
    parsed. Tokens of white space are left out, with their dependents handed to their governor. A document
    that nobody has split into sentences is one.

    Args:
        path: The file. It is data, and no code in it is run.
        column: Where the labels are, in the columns that CoNLL-U would have; :obj:`None` for the entities,
            in BIO, where a word of which nothing is known is not scored.

    Raises:
        ImportError: If spaCy is not installed.
        ValueError: If it is no such file, has no sentence, or one of its trees is none.
    """
    found = []
    for number, document in enumerate(_documents(path), 1):
        parsed = document.has_annotation("DEP")
        for span in document.sents if document.has_annotation("SENT_START") else [document]:
            if tokens := [token for token in span if not token.is_space]:
                found.append(_labelled(tokens, column, parsed, f"{path}: document {number}"))
    if not found:
        raise ValueError(f"{path}: no sentence in the file")
    return found


def _documents(path: Path) -> list[Any]:
    try:
        import spacy
        from spacy.tokens import DocBin
    except ImportError as error:
        raise ImportError(
            f"{path}: spaCy is not installed ({error}): pip install 'graphdep[spacy]'"
        ) from error
    try:
        return list(DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))
    except Exception as error:  # a damaged file makes it raise anything
        raise ValueError(f"{path}: no DocBin of spaCy, or damaged ({str(error)[:120]})") from None


def _labelled(tokens: list[Any], column: Column | None, parsed: bool, place: str) -> LabelledWords:
    words = [token.text for token in tokens]
    columns: Any = {
        name: [str(getattr(token, key)) or "_" for token in tokens] for name, key in _COLUMNS.items()
    }
    head = token_heads(tokens, one_root=True) if parsed else list(range(len(words)))
    relations = (token.dep_ if token.dep_ not in ("", "ROOT") else "dep" for token in tokens)
    deprel = [label if governor else "root" for governor, label in zip(head, relations)]
    try:
        tree = Sentence(words, head, deprel, **columns)
    except ValueError as error:
        raise ValueError(f"{place}: no tree: {error} (got {' '.join(words)[:60]!r})") from None
    labels = column.labels(tree) if column else [_entity(token) for token in tokens]
    return LabelledWords(words, labels, tree=tree if parsed else None, place=place)


def _entity(token: Any) -> str | None:
    return _ENTITIES.get(token.ent_iob_, f"{token.ent_iob_}-{token.ent_type_}")
