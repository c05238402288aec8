"""A sentence as spaCy's Doc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdep.sentence import Sentence


def spacy_doc(sentence: Sentence, vocab: Any) -> Any:
    """The ``Doc`` of one sentence.

    Raises:
        ImportError: If spaCy is not installed.
    """
    try:
        from spacy.tokens import Doc
        from spacy.vocab import Vocab
    except ImportError as error:
        raise ImportError(
            f"to_spacy needs spaCy, which is not installed ({error}): pip install 'graphdep[spacy]'"
        ) from error
    columns = {
        "lemmas": sentence.lemma,
        "pos": sentence.upos,
        "tags": sentence.xpos,
        "morphs": sentence.feats,
    }
    given = {name: ["" if v == "_" else v for v in values] for name, values in columns.items() if values}
    return Doc(
        Vocab() if vocab is None else vocab,
        words=sentence.form,
        spaces=_spaces(sentence),
        heads=[governor - 1 if governor else word for word, governor in enumerate(sentence.head)],
        deps=[
            label if governor or label != "root" else "ROOT"
            for label, governor in zip(sentence.deprel, sentence.head)
        ],
        **given,
    )


def _spaces(sentence: Sentence) -> list[bool]:
    """Whether a space follows each word: as MISC says, and not inside a multiword token whose words make it
    up, as in *do* + *n't*.
    """
    spaces = ["SpaceAfter=No" not in misc.split("|") for misc in sentence.misc or ["_"] * len(sentence)]
    for row in sentence.multiword:
        first, last = map(int, row[0].split("-"))
        whole = "".join(sentence.form[first - 1 : last]) == row[1]
        spaces[first - 1 : last - 1] = [not whole] * (last - first)
        spaces[last - 1] = "SpaceAfter=No" not in row[9].split("|")
    return spaces
