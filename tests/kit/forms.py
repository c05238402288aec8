"""Two sentences in each file format of trees."""

from __future__ import annotations

import json
from typing import Any

from graphdep import Sentence

ANN = [
    Sentence(["Ann", "sees", "Bob", "."], [2, 0, 2, 2], ["nsubj", "root", "obj", "punct"]),
    Sentence(["It", "rains", "."], [2, 0, 2], ["expl", "root", "punct"]),
]


def _arc(label: str, governor: int, dependent: int) -> dict[str, Any]:
    return {"dep": label if governor else "ROOT", "governor": governor, "dependent": dependent}


def _corenlp(sentence: Sentence) -> dict[str, Any]:
    tokens = [{"index": i, "word": form, "after": " "} for i, form in enumerate(sentence.form, start=1)]
    arcs = zip(sentence.deprel, sentence.head, range(1, len(sentence) + 1))
    return {"index": 0, "tokens": tokens, "basicDependencies": [_arc(*arc) for arc in arcs]}


def _columns(sentence: Sentence) -> dict[str, Any]:
    return {"token": sentence.form, "head": [*map(str, sentence.head)], "deprel": sentence.deprel, "id": "7"}


def _tacred(sentence: Sentence) -> dict[str, Any]:
    heads = [*map(str, sentence.head)]
    return {
        "token": sentence.form,
        "stanford_head": heads,
        "stanford_deprel": sentence.deprel,
        "relation": "x",
    }


def _words(sentence: Sentence) -> list[dict[str, Any]]:
    rows = zip(sentence.form, sentence.head, sentence.deprel)
    return [{"id": i, "text": t, "head": h, "deprel": d} for i, (t, h, d) in enumerate(rows, start=1)]


def _spacy() -> dict[str, Any]:
    text, tokens, sents = "", [], []
    for sentence in ANN:
        start, first = len(text), len(tokens)
        for number, (form, head, label) in enumerate(zip(sentence.form, sentence.head, sentence.deprel)):
            governor = first + (head - 1 if head else number)
            label = label if head else "ROOT"
            place = {"id": len(tokens), "start": len(text), "end": len(text) + len(form)}
            tokens.append({**place, "dep": label, "head": governor, "tag": "", "lemma": "", "morph": ""})
            text += f"{form} "
        sents.append({"start": start, "end": len(text) - 1})
    return {"text": text.rstrip(), "ents": [], "sents": sents, "tokens": tokens}


def _xml() -> str:
    body = ""
    for number, sentence in enumerate(ANN, start=1):
        tokens = "".join(f'<token id="{i}"><word>{w}</word></token>' for i, w in enumerate(sentence.form, 1))
        arcs = "".join(
            f'<dep type="{label}"><governor idx="{head}">x</governor><dependent idx="{i}">y</dependent></dep>'
            for i, (head, label) in enumerate(zip(sentence.head, sentence.deprel), start=1)
        )
        graph = f'<dependencies type="basic-dependencies">{arcs}</dependencies>'
        body += f'<sentence id="{number}"><tokens>{tokens}</tokens>{graph}</sentence>'
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<?xml-stylesheet href="x.xsl" type="text/xsl"?>\n'
    return f"{start}<root><document><sentences>{body}</sentences></document></root>\n"


def _plus() -> str:
    lines = ["# global.columns = ID FORM DEPREL HEAD"]
    for sentence in ANN:
        rows = zip(sentence.form, sentence.deprel, sentence.head)
        lines += [*("\t".join(map(str, (i, *row))) for i, row in enumerate(rows, start=1)), ""]
    return "\n".join(lines) + "\n"


def _lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


FORMS = {
    "CoNLL-U": ("conllu", "".join(sentence.to_conllu() for sentence in ANN)),
    "CoNLL-U Plus": ("conllu-plus", _plus()),
    "CoreNLP's JSON": ("json", json.dumps({"sentences": [*map(_corenlp, ANN)]}, indent=1)),
    "CoreNLP's XML": ("xml", _xml()),
    "stanza's JSON": ("json", json.dumps([*map(_words, ANN)], indent=2)),
    "spaCy's JSON": ("json", json.dumps(_spacy())),
    "TACRED": ("json", json.dumps([*map(_tacred, ANN)])),
    "JSON of columns": ("json", json.dumps([*map(_columns, ANN)], indent=4)),
    "JSON Lines of columns": ("json", _lines([*map(_columns, ANN)])),
    "JSON Lines of words": ("json", _lines([*map(_words, ANN)])),
}
"""By a name: the recognised format, and the content of the file."""
