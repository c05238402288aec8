"""Random sentences and dialogues, with everything that the node table allows."""

from __future__ import annotations

import random

import torch
from torch_geometric.data import Data

from graphdep.data import NodeType
from graphdep.sentence import Sentence
from graphdep.vocab import PhraseVocab, RelationVocab

_DEPRELS = ("nsubj", "obj", "det", "amod", "obl", "nsubj:pass", "case", "punct")


def random_sentence(rng: random.Random, words: int, *, multiroot: bool = False) -> Sentence:
    """A sentence of ``words`` words over a tree of random shape: flat, deep or in between."""
    order = rng.sample(range(1, words + 1), words)
    reach = rng.choice((1, 2, words))  # 1 gives a chain, `words` a random recursive tree
    head = [0] * (words + 1)
    for place in range(1, words):
        head[order[place]] = order[rng.randrange(max(0, place - reach), place)]
        if multiroot and rng.random() < 0.3:
            head[order[place]] = 0
    deprel = [rng.choice(_DEPRELS) if governor else "root" for governor in head[1:]]
    form = [rng.choice("abcdefgh") for _ in range(words)]
    return Sentence(form, head[1:], deprel, multiroot=multiroot)


def random_data(
    rng: random.Random,
    sentences: list[Sentence],
    *,
    root: bool = True,
    pieces: bool = False,
    special: bool = False,
    empty: bool = False,
    input_ids: bool = True,
    phrases: bool = False,
) -> Data:
    r"""One example, built row by row and apart from :func:`graphdep.to_data`.

    Args:
        rng: Where chance comes from.
        sentences: The utterances.
        root: Put a ROOT node before each utterance. (default: :obj:`True`)
        pieces: Split words into one to three pieces. (default: :obj:`False`)
        special: [CLS] in front, [EOU] after each utterance, [SEP] at the end. (default: :obj:`False`)
        empty: Put an empty node after the words of some utterances. (default: :obj:`False`)
        input_ids: Write :obj:`input_ids`. (default: :obj:`True`)
        phrases: Write :obj:`phrase_index` and :obj:`phrase_type` of the sentences' constituents, without
            nodes for them. (default: :obj:`False`)
    """
    relations = RelationVocab()
    rows: list[dict[str, int]] = []

    def add(kind: NodeType, utterance: int, word: int = -1, depth: int = -1, deprel: int = 1) -> int:
        node = len(rows)
        row = {"node_type": kind, "governor_index": node, "deprel": deprel, "depth": depth, "word": word}
        place = {"utterance": utterance, "position": node, "segment": utterance % 2}
        rows.append(row | place | ({"input_ids": rng.randrange(50)} if input_ids else {}))
        return node

    arcs: list[tuple[int, int, int]] = []
    spans: list[tuple[int, int, int]] = []
    labels = PhraseVocab()
    if special:
        add(NodeType.CLS, 0)
    for utterance, sentence in enumerate(sentences):
        top = add(NodeType.ROOT, utterance, depth=0) if root else None
        nodes: list[list[int]] = []
        for word, (depth, label) in enumerate(zip(sentence.depth, sentence.deprel)):
            count = rng.randint(1, 3) if pieces else 1
            kind = relations[label]
            nodes.append([add(NodeType.WORD, utterance, word, depth, kind) for _ in range(count)])
        for label, start, end in (sentence.constituents or ()) if phrases else ():
            spans.append((nodes[start][0], nodes[end - 1][0], labels[label]))
        for word, head in enumerate(sentence.head):
            own = nodes[word][0] if top is None else top
            governor = nodes[head - 1][0] if head else own
            for node in nodes[word]:
                rows[node]["governor_index"] = governor
            if governor != nodes[word][0]:
                arcs.append((governor, nodes[word][0], relations[sentence.deprel[word]]))
        if empty and rng.random() < 0.7:
            extra = add(NodeType.WORD, utterance)
            arcs.append((nodes[-1][0], extra, relations["conj"]))
        if special:
            add(NodeType.EOU, utterance)
    if special:
        add(NodeType.SEP, len(sentences) - 1)
    data = Data(num_nodes=len(rows))
    for key in rows[0]:
        data[key] = torch.tensor([int(row[key]) for row in rows])
    table = torch.tensor(arcs, dtype=torch.long).view(-1, 3)
    data.arc_index, data.arc_type = table[:, :2].t().contiguous(), table[:, 2].contiguous()
    if phrases:
        found = torch.tensor(spans, dtype=torch.long).view(-1, 3)
        data.phrase_index, data.phrase_type = found[:, :2].t().contiguous(), found[:, 2].contiguous()
    return data
