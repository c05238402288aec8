"""What a transform is, in a text that another process gives it again."""

from __future__ import annotations

import functools
import hashlib
import re
from typing import Any

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.data import to_data
from graphdep.sentence import Sentence
from graphdep.vocab import RelationVocab, Vocab


def identity(edges: BaseTransform) -> str:
    """How a transform prints, and eight digits of what it does to a small batch: ``"Window(2) [5a0b1c2d]"``.

    Many classes print without their options, and none prints its code, so that a name alone would take two
    transforms for one. What differs on no tree of the probe is not told apart.

    Raises:
        ValueError: If it does not print, or fails on the probe.
    """
    return f"{printed(edges)} [{_behaviour(edges)}]"


def same_behaviour(mine: str, other: str) -> bool:
    """Whether two identities are of transforms that do the same, however they print."""
    return mine.rpartition(" ")[2] == other.rpartition(" ")[2]


def printed(edges: BaseTransform) -> str:
    """The transform's ``repr`` in one line, without addresses in memory.

    Raises:
        ValueError: If there is none.
    """
    try:
        text = repr(edges)
    except AttributeError as error:  # that of our bases prints each argument
        raise ValueError(
            f"{type(edges).__name__} does not print ({error}): keep each argument of its __init__ as an "
            "attribute of that name, or define __repr__"
        ) from None
    return " ".join(re.sub(r" at 0x[0-9a-fA-F]+", "", text).split())


def _behaviour(edges: BaseTransform) -> str:
    before, after = _tried(edges)
    sha = hashlib.sha256()
    for key, value in sorted(after.items()):
        # What it leaves alone is no part of it.
        if not isinstance(value, torch.Tensor) or (key in before and _equal(value, before[key])):
            continue
        # The last digits of a float are the machine's.
        value = value.double().mul(1e4).round() if value.is_floating_point() else value.long()
        sha.update(f"{key} {[*value.shape]} ".encode() + value.contiguous().numpy().tobytes())
    return sha.hexdigest()[:8]


def _tried(edges: BaseTransform) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a transform is given and what it gives: the probe, or with marks what reads them."""
    errors = []
    # Marks on all probes would change the identity of whatever hands them on.
    for batch in (probe(), with_marks(probe()), with_marks(phrase_probe())):
        try:
            return dict(batch.to_dict()), _applied(edges, batch)
        except Exception as error:  # of code that is not ours
            errors.append(error)
    first, *_ = errors
    raise ValueError(
        f"{printed(edges)} fails on a batch of two examples: {type(first).__name__}: {first}"
    ) from first


def _applied(edges: BaseTransform, batch: Batch) -> dict[str, Any]:
    # Neither to draw from the run's random numbers nor to depend on them.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return edges(batch.clone()).to_dict()


def with_marks(data: Data) -> Data:
    """A copy in which the first word of each utterance is one span, and words from the sixth on are another;
    where an utterance has no sixth, the second one is.
    """
    data, word = data.clone(), data.word
    second = word >= (5 if int(word.max()) >= 5 else 1)
    data.mark = (word == 0).long() + 2 * second.long()
    return data


def _equal(value: torch.Tensor, other: object) -> bool:
    return isinstance(other, torch.Tensor) and torch.equal(value, other)


@functools.cache
def phrase_probe() -> Batch:
    """The probe with constituents, for what reads them: each utterance is one, and so are the words up to the
    middle and those after it.
    """
    examples = []
    for data in probe().to_data_list():
        spans = []
        for utterance in data.utterance.unique():
            words = ((data.utterance == utterance) & (data.word >= 0)).nonzero().view(-1).tolist()
            middle = len(words) // 2
            spans += [
                (words[0], words[-1], 20),
                (words[0], words[middle], 13),
                (words[middle + 1], words[-1], 26),
            ]
        table = torch.tensor(spans)
        data.phrase_index, data.phrase_type = table[:, :2].t().contiguous(), table[:, 2].contiguous()
        examples.append(data)
    return Batch.from_data_list(examples)


@functools.cache
def probe() -> Batch:
    """Three utterances whose words differ in depth, place and relation. Another probe would give each run on
    edges of one's own another digest.
    """
    first = Sentence(
        ["I", "'d", "like", "to", "reserve", "a", "hotel", "room", "by", "the", "sea", "."],
        [3, 3, 0, 5, 3, 8, 8, 5, 11, 11, 8, 3],
        "nsubj aux root mark xcomp det compound obj case det nmod punct".split(),
    )
    second = Sentence(["Which", "one", "?"], [2, 0, 2], ["det", "root", "punct"])
    third = Sentence(["The", "last", "one"], [3, 3, 0], ["det", "amod", "root"])
    examples = [[first, second], [third]]
    words = Vocab.build(sentence.form for example in examples for sentence in example)
    made = [to_data(example, vocab=words, relations=RelationVocab()) for example in examples]
    return Batch.from_data_list(made)
