"""Faster implementations of parts of stanza's models, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MethodType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence


def best_trees(scores: Tensor, lengths: Tensor) -> Tensor:
    r"""The tree with one root and the highest sum of arc scores, for each sentence.

    .. math::
        \hat{h} = \operatorname*{arg\,max}_{h \in T} \sum_{i=1}^{n} s_{i, h_i} \qquad (1)

    For most sentences the best governors of all words already form a tree with one root, which is then
    optimal. The others get stanza's implementation of the Chu-Liu-Edmonds algorithm; if its tree has several
    roots, the scores of root arcs are reduced, as in `A Root of a Problem
    <https://aclanthology.org/2021.emnlp-main.823/>`_ (Stanojević and Cohen, EMNLP 2021).

    Args:
        scores: Scores [B, n + 1, n + 1] of word ``i`` (row) with governor ``j`` (column); 0 is the root.
        lengths: Number [B] of words of each sentence, plus 1 for the root.

    Returns:
        Governors [B, n + 1]; 0 for the root and after the end of a sentence.

    Example:
        >>> import torch
        >>> scores = torch.tensor([[[0.0, 0.0, 0.0], [1.0, 0.0, 5.0], [3.0, 4.0, 0.0]]])
        >>> best_trees(scores, torch.tensor([3]))
        tensor([[0, 2, 0]])
    """
    size = scores.size(1)
    real = torch.arange(size) < lengths[:, None]
    nowhere = ~real[:, None] | torch.eye(size, dtype=torch.bool)
    scores = scores.masked_fill(nowhere, -torch.inf)
    heads = scores.argmax(2).masked_fill(~real, 0)
    heads[:, 0] = 0
    up = heads
    for _ in range(size.bit_length()):  # ancestors at distance 1, 2, 4, ...
        up = up.gather(1, up)
    roots = ((heads == 0) & real).sum(1) - 1
    for number in ((up != 0).any(1) | (roots != 1)).nonzero().flatten().tolist():
        places = int(lengths[number])
        heads[number, :places] = _best_tree(scores[number, :places, :places])
    return heads


def _best_tree(scores: Tensor) -> Tensor:
    from stanza.models.common.chuliu_edmonds import chuliu_edmonds, chuliu_edmonds_one_root

    # A constant added to all scores of a word does not change the tree.
    logarithms = scores.log_softmax(1).double().numpy()
    tree = chuliu_edmonds(logarithms.copy())
    if (tree[1:] == 0).sum() != 1:
        tree = chuliu_edmonds_one_root(logarithms)
    return torch.as_tensor(tree)


_STANZA = ("1.15.",)
# Words whose relations are scored at once; a word needs 20 KB in the bundled model.
_WORDS = 512
# Words and tags in a cache, at most 60 MB.
_CACHE_SIZE = 50_000
_BATCHES = {"tokenize": 256, "depparse": 1500}  # texts, words


def take_shortcuts(pipeline: Any) -> None:
    """Makes the models of a stanza pipeline faster.

    These methods are replaced, on these objects only and only if they have exactly the expected classes:

    - the graph parser's prediction: stanza scores every relation of every pair of words and searches the best
      tree in Python; here the tree comes first (:func:`best_trees`), and relations are scored for each word
      and its governor only;
    - the character model: each distinct word is read once;
    - the tokenizer: padding is not computed;
    - vocabularies: look-ups are cached, since features are looked up in a Python loop.

    This depends on the implementation of stanza 1.15; other versions are left unchanged. Sums are computed in
    another order, so scores differ in their last digits, as they do between batch sizes. A second call has no
    effect.

    Args:
        pipeline: The pipeline.
    """
    import stanza

    processors = getattr(pipeline, "processors", {}) if stanza.__version__.startswith(_STANZA) else {}
    for name in ("tokenize", "pos", "depparse"):
        processor = processors.get(name)
        if hasattr(getattr(processor, "trainer", None), "model"):
            _speed_up(processor)


def _speed_up(processor: Any) -> None:
    from stanza.models.common.char_model import CharacterModel
    from stanza.models.depparse.model import GraphParser
    from stanza.models.pos.trainer import Trainer as TaggerTrainer
    from stanza.models.tokenization.model import Tokenizer

    trainer, model = processor.trainer, processor.trainer.model
    if type(model) is Tokenizer and model.charmodel is None and model.args["conv_res"] is None:
        model.forward = MethodType(_tokenizer_forward, model)
        trainer.args["batch_size"] = _BATCHES["tokenize"]
    if type(model) is GraphParser and not _other_scores(model.args):
        model.predict = MethodType(_predict_arcs, model)
        processor.config["batch_size"] = _BATCHES["depparse"]
    if type(trainer) is TaggerTrainer:
        trainer.predict = MethodType(_predict_tags, trainer)
    for name in getattr(trainer.vocab, "keys", tuple)():
        if not hasattr(trainer.vocab[name].unit2id, "cache_info"):
            trainer.vocab[name].unit2id = lru_cache(_CACHE_SIZE)(trainer.vocab[name].unit2id)
    characters: Any = getattr(model, "charmodel", None)
    done = isinstance(getattr(characters, "forward", None), _CachedWords)
    if type(characters) is CharacterModel and not characters.pad and not done:
        characters.forward = _CachedWords(characters.forward)


def _other_scores(args: dict[str, Any]) -> bool:
    return any(args.get(key) for key in ("use_arc_embedding", "linearization", "distance"))


class _CachedWords:
    """The forward pass of a character model with a cache of words."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        self.forward = forward
        self.places: dict[bytes, int] = {}
        self.known: Tensor | None = None

    def __call__(
        self, chars: Tensor, mask: Tensor, order: Sequence[int], sentences: Sequence[int], lengths: list[int]
    ) -> PackedSequence:
        rows = chars.cpu().numpy()
        names = [row[:length].tobytes() for row, length in zip(rows, lengths)]
        if len(self.places) > _CACHE_SIZE:
            self.places, self.known = {}, None
        # Words, and so new words, are sorted by length, the longest first.
        new: dict[bytes, int] = {}
        for row, name in enumerate(names):
            if name not in self.places:
                new.setdefault(name, row)
        if new:
            first = [*new.values()]
            short = [lengths[row] for row in first]
            read = self.forward(chars[first], mask[first], range(len(first)), [len(first)], short).data
            # In this order, so that no word has a wrong row after an interrupt between the two.
            start = 0 if self.known is None else len(self.known)
            self.known = read if self.known is None else torch.cat([self.known, read])
            self.places.update({name: place for place, name in enumerate(new, start)})
        assert self.known is not None
        words = self.known.new_empty(len(names), self.known.size(1))
        words[torch.as_tensor(order)] = self.known[torch.as_tensor([self.places[name] for name in names])]
        return pack_sequence(words.split(list(sentences)))


def _tokenizer_forward(
    model: Any, units: Tensor, features: Tensor, lengths: list[int], raw: Any = None
) -> Tensor:
    """``Tokenizer.forward``: for each character the log-probabilities of the units that may end there."""

    def packed(data: Tensor) -> PackedSequence:
        return PackedSequence(data, states.batch_sizes)

    inputs = torch.cat([model.embeddings(units), features], 2)
    states = pack_padded_sequence(inputs, lengths, batch_first=True)
    data = model.rnn(states)[0].data
    ends = [layer(data) for layer in _layers(model, "")]
    if model.args["hierarchical"]:
        sharp = model.args["hier_invtemp"]
        data = data * (1 - torch.sigmoid(-ends[0] * sharp)) if sharp > 0 else data
        data = model.rnn2(packed(data))[0].data
        ends = [end + layer(data) for end, layer in zip(ends, _layers(model, "2"))]
    (no, yes), (same, new), *mwt = ((F.logsigmoid(-end), F.logsigmoid(end)) for end in ends)
    kinds = [no]
    for word in mwt[0] if mwt else [torch.zeros_like(yes)]:
        kinds += [yes + same + word, yes + new + word]
    return pad_packed_sequence(packed(torch.cat(kinds, 1)), batch_first=True)[0]


def _layers(model: Any, level: str) -> list[Any]:
    kinds = ["tok", "sent", "mwt"] if model.args["use_mwt"] else ["tok", "sent"]
    return [getattr(model, f"{kind}_clf{level}") for kind in kinds]


def _predict_tags(trainer: Any, batch: Any, unsort: bool = True, extra_columns: bool = False) -> Any:
    """``Trainer.predict`` of the tagger: the tags of each word of each sentence."""
    if extra_columns or not unsort:
        return type(trainer).predict(trainer, batch, unsort, extra_columns)
    from stanza.models.pos.trainer import unpack_batch

    trainer.model.eval()
    device = next(trainer.model.parameters()).device
    inputs, order, word_order, lengths, word_lengths, text = unpack_batch(batch, device)
    found = trainer.model(*inputs, word_order, lengths, word_lengths, text)[1]
    real = torch.arange(found[0].size(1)) < torch.as_tensor(lengths)[:, None]
    columns = [
        _tag_names(trainer.vocab[column.name], tags.cpu()[real])
        for column, tags in zip(trainer.model.tag_columns, found)
        if column.output
    ]
    words = [list(word) for word in zip(*columns)]
    sentences: list[Any] = [None] * len(lengths)
    for place, (start, end) in zip(order, pairwise([0, *torch.as_tensor(lengths).cumsum(0).tolist()])):
        sentences[place] = words[start:end]
    return sentences


def _tag_names(vocab: Any, tags: Tensor) -> list[str]:
    """The tags of words; the names of features, a row of ids, are looked up once per distinct row."""
    if tags.dim() == 1:
        return vocab.unmap(tags.tolist())
    different, number = tags.unique(dim=0, return_inverse=True)
    names = vocab.unmap(different.tolist())
    return [names[i] for i in number.tolist()]


def _predict_arcs(model: Any, *batch: Any, resolve_head_constraints: bool = False) -> list[list[list[Any]]]:
    """``GraphParser.predict``: governor and relation of each word of each sentence."""
    if resolve_head_constraints:
        return type(model).predict(model, *batch, resolve_head_constraints=True)
    lengths = torch.as_tensor(batch[12])
    words = model.embed(*batch)
    scores = model.unlabeled(words, words).squeeze(3)
    heads = best_trees(scores.cpu(), lengths)
    real = torch.arange(words.size(1)) < lengths[:, None]
    real[:, 0] = False
    sentence, place = real.nonzero(as_tuple=True)
    governors = heads[sentence, place]
    names = model.vocab["deprel"].unmap(_relations(model.deprel, words, sentence, place, governors))
    pairs = [[head, name] for head, name in zip(governors.tolist(), names)]
    return [pairs[start:end] for start, end in pairwise([0, *(lengths - 1).cumsum(0).tolist()])]


def _relations(scorer: Any, words: Tensor, sentence: Tensor, place: Tensor, governors: Tensor) -> list[int]:
    """Ids of the best relations of words to their governors."""
    from stanza.models.common.vocab import VOCAB_PREFIX_SIZE

    bilinear = scorer.scorer.W_bilin
    left, right = (_with_one(scorer.hidden_func(layer(words))) for layer in (scorer.W1, scorer.W2))
    best: list[int] = []
    for start in range(0, len(place), _WORDS):
        some = slice(start, start + _WORDS)
        dependents = left[sentence[some], place[some]]
        heads = right[sentence[some], governors[some]]
        products = (dependents @ bilinear.weight.flatten(1)).view(len(dependents), heads.size(1), -1)
        scores = (heads[:, None] @ products).squeeze(1) + bilinear.bias
        best += (scores.argmax(1) + VOCAB_PREFIX_SIZE).tolist()
    return best


def _with_one(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_ones(*x.shape[:-1], 1)], -1)
