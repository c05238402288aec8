"""Pieces of words with fixed ids, learned from a corpus."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from graphdep.vocab.files import load_vocab_file
from graphdep.vocab.words import SPECIALS, Vocab

# A word of thousands of characters would take the memory of a whole corpus.
MAX_PIECES = 50
# A byte has 256 values, each of which is a piece.
_BYTES = 256
# What else a tokenizer may have, and one of `train` has not.
_FOREIGN = ("truncation", "padding", "added_tokens", "normalizer", "post_processor")
_FOREIGN_BPE = (
    *("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges"),
)


class PieceVocab(Vocab):
    r"""Pieces of words by byte-pair encoding, from "Neural Machine Translation of Rare Words with Subword
    Units", over bytes: no word is unknown.

    The ids of the special symbols are those of :class:`~graphdep.Vocab`: ``[UNK]`` 0, ``[ROOT]`` 1,
    ``[CLS]`` 2, ``[SEP]`` 3, ``[EOU]`` 4; pieces follow. A piece that starts a word differs from one that
    does not, so that :meth:`decode` knows the words. Needs the package tokenizers (``graphdep[bpe]``).

    Args:
        bpe: The JSON text of a :class:`tokenizers.Tokenizer`, as :meth:`train` makes it. Of it only the
            pieces and merges are read.
        lower: Encode words in lower case. (default: :obj:`False`)

    Raises:
        ValueError: If the text is no tokenizer that :meth:`train` makes, or the package is missing.

    Example:
        >>> from graphdep.vocab import PieceVocab
        >>> vocab = PieceVocab.train([["low", "lower", "lowest"]] * 9, size=270)
        >>> vocab.decode([*vocab.encode("lowest"), *vocab.encode("low")])
        'lowest low'
    """

    def __init__(self, bpe: str, *, lower: bool = False) -> None:
        tokenizers = _tokenizers()
        alphabet = set(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        try:
            ids, merges = _read(bpe, alphabet)
        except (ValueError, RecursionError) as error:  # bad JSON is a ValueError, too
            raise ValueError(f"'bpe' is not the JSON text of a tokenizer ({str(error)[:200]})") from None
        self._bpe = _by_bytes(tokenizers.models.BPE(ids, merges))
        super().__init__(sorted(ids, key=ids.__getitem__), lower=lower)
        self._encoded: dict[str, list[int]] = {}

    @classmethod
    def train(
        cls, sentences: Iterable[Sequence[str]], size: int, *, min_freq: int = 1, lower: bool = False
    ) -> PieceVocab:
        """Learns the pieces from the words of ``sentences`` (word lists).

        Args:
            sentences: The words; merges do not cross them.
            size: The number of ids, special symbols and 256 bytes included; there are fewer where the corpus
                has nothing more to merge.
            min_freq: Pairs of pieces seen less often are not merged. (default: :obj:`1`)
            lower: Encode words in lower case. (default: :obj:`False`)

        Raises:
            ValueError: If :obj:`size` or :obj:`min_freq` is too small, or the package is missing.
        """
        smallest = len(SPECIALS) + _BYTES
        if size < smallest:
            raise ValueError(f"'size' must be at least {smallest}, special symbols and bytes (got {size})")
        if min_freq < 1:
            raise ValueError(f"'min_freq' must be at least 1 (got {min_freq})")
        tokenizers = _tokenizers()
        tokenizer = _by_bytes(tokenizers.models.BPE())
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size - len(SPECIALS),
            min_frequency=min_freq,
            initial_alphabet=sorted(tokenizer.pre_tokenizer.alphabet()),
            show_progress=False,
        )
        words = (word.lower() if lower else word for words in sentences for word in words)
        tokenizer.train_from_iterator(words, trainer)
        return cls(tokenizer.to_str(), lower=lower)

    def __getitem__(self, word: str) -> int:
        if word not in SPECIALS:
            raise ValueError(f"{word!r} is no special symbol and may have several pieces: call encode()")
        return self._ids[word]

    def id_of(self, word: str) -> int:
        raise ValueError(f"{word!r} may have several pieces: call encode()")

    def __contains__(self, word: str) -> bool:
        return bool(word)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} pieces, lower={self.lower})"

    def encode(self, word: str) -> list[int]:
        """The ids of a word's pieces, at least one. Of a long word they are the first ``MAX_PIECES`` = 50: a
        text of thousands of characters without a space is no word.

        Raises:
            ValueError: If the word is empty.
        """
        if not word:
            raise ValueError("'word' is empty: it has no pieces")
        if word not in self._encoded:
            text = word.lower() if self.lower else word
            self._encoded[word] = [len(SPECIALS) + piece for piece in self._bpe.encode(text).ids[:MAX_PIECES]]
        return self._encoded[word]

    def words_of(self, ids: Iterable[int]) -> list[str]:
        """The words of pieces; special symbols are left out."""
        return self.decode(ids).split()

    def decode(self, ids: Iterable[int]) -> str:
        """The words of pieces, with a space between them; special symbols are left out."""
        pieces = [piece - len(SPECIALS) for piece in ids if piece >= len(SPECIALS)]
        return self._bpe.decode(pieces).removeprefix(" ")

    def state_dict(self) -> dict:
        """Plain values, for JSON and for checkpoints."""
        return {"bpe": self._bpe.to_str(), "lower": self.lower}

    @classmethod
    def from_state_dict(cls, state: dict) -> PieceVocab:
        if not isinstance(state["bpe"], str):
            raise ValueError(f"'bpe' is not a text (got {type(state['bpe']).__name__})")
        return cls(state["bpe"], lower=state["lower"])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PieceVocab:
        return load_vocab_file(path, {"bpe": str, "lower": bool}, cls.from_state_dict)


def vocab_from_state(state: dict) -> Vocab:
    """The vocabulary of words or of pieces that gave this ``state_dict()``.

    Raises:
        ValueError: If none did.
    """
    if not isinstance(state, dict):
        raise ValueError(f"'vocab' must be a dict (got {type(state).__name__})")
    return PieceVocab.from_state_dict(state) if "bpe" in state else Vocab.from_state_dict(state)


def _read(bpe: str, alphabet: set[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The pieces with their numbers, and the merges.

    The package itself must not read a text from elsewhere: some make it end the process, or take very long.
    """
    tokenizer = json.loads(bpe)
    model = tokenizer.get("model") if isinstance(tokenizer, dict) else None
    if not isinstance(model, dict) or model.get("type") != "BPE":
        raise ValueError("no model of type 'BPE'")
    for part, names in ((tokenizer, _FOREIGN), (model, _FOREIGN_BPE)):
        for name in names:
            if part.get(name):
                raise ValueError(f"{name!r} must be empty (got {str(part[name])[:80]})")
    ids, merges = model.get("vocab"), model.get("merges")
    if not isinstance(ids, dict) or not isinstance(merges, list):
        raise ValueError("no dict under 'vocab', or no list under 'merges'")
    if any(type(number) is not int for number in ids.values()) or {*ids.values()} != {*range(len(ids))}:
        raise ValueError(f"the numbers of the {len(ids)} pieces must be 0 to {len(ids) - 1}")
    for piece in ids:
        if not piece or not alphabet.issuperset(piece):
            raise ValueError(f"a piece must be of characters that stand for bytes (got {piece[:80]!r})")
    if missing := alphabet - ids.keys():
        raise ValueError(f"{len(missing)} bytes have no piece")
    return ids, [_merge(merge, ids) for merge in merges]


def _merge(merge: Any, ids: dict[str, int]) -> tuple[str, str]:
    if not isinstance(merge, list) or len(merge) != 2 or not all(isinstance(piece, str) for piece in merge):
        raise ValueError(f"a merge must be of two pieces (got {str(merge)[:80]!r})")
    first, second = merge
    for piece in (first, second, first + second):
        if piece not in ids:
            raise ValueError(f"the piece {piece[:80]!r} of a merge is unknown")
    return first, second


def _by_bytes(model: Any) -> Any:
    """A tokenizer of words by their bytes."""
    tokenizers = _tokenizers()
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


def _tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise ValueError(
            f"pieces of words need the package tokenizers ({error}): pip install 'graphdep[bpe]'"
        ) from error
    return tokenizers
