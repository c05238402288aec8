"""Pieces of words with fixed ids, learned from a corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from graphdep.vocab import SPECIALS, Vocab, load_vocab_file

# A byte has 256 values, each of which is a piece.
_BYTES = 256


class PieceVocab(Vocab):
    r"""Pieces of words by byte-pair encoding, from "Neural Machine Translation of Rare Words with Subword
    Units", over bytes: no word is unknown.

    The ids of the special symbols are those of :class:`~graphdep.Vocab`: ``[UNK]`` 0, ``[ROOT]`` 1,
    ``[CLS]`` 2, ``[SEP]`` 3, ``[EOU]`` 4; pieces follow. A piece that starts a word differs from one that
    does not, so that :meth:`decode` knows the words. Needs the package tokenizers (``graphdep[bpe]``).

    Args:
        bpe: The JSON text of a :class:`tokenizers.Tokenizer`, as :meth:`train` makes it.
        lower: Encode words in lower case. (default: :obj:`False`)

    Raises:
        ValueError: If the text is no tokenizer, or the package is missing.
    """

    def __init__(self, bpe: str, *, lower: bool = False) -> None:
        tokenizers = _tokenizers()
        try:
            self._bpe = tokenizers.Tokenizer.from_str(bpe)
        except Exception as error:  # the package raises nothing narrower
            raise ValueError(f"'bpe' is not the JSON text of a tokenizer ({error})") from None
        ids = self._bpe.get_vocab()
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
        by_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        tokenizer.pre_tokenizer = by_bytes
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size - len(SPECIALS),
            min_frequency=min_freq,
            initial_alphabet=sorted(by_bytes.alphabet()),
            show_progress=False,
        )
        words = (word.lower() if lower else word for words in sentences for word in words)
        tokenizer.train_from_iterator(words, trainer)
        return cls(tokenizer.to_str(), lower=lower)

    def __getitem__(self, word: str) -> int:
        if word not in SPECIALS:
            raise ValueError(f"{word!r} is no special symbol and may have several pieces: call encode()")
        return self._ids[word]

    def __contains__(self, word: str) -> bool:
        return bool(word)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} pieces, lower={self.lower})"

    def encode(self, word: str) -> list[int]:
        """The ids of a word's pieces, at least one.

        Raises:
            ValueError: If the word is empty.
        """
        if not word:
            raise ValueError("'word' is empty: it has no pieces")
        if word not in self._encoded:
            text = word.lower() if self.lower else word
            self._encoded[word] = [len(SPECIALS) + piece for piece in self._bpe.encode(text).ids]
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
        return cls(state["bpe"], lower=state["lower"])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PieceVocab:
        return load_vocab_file(path, {"bpe": str, "lower": bool}, cls.from_state_dict)


def vocab_from_state(state: dict) -> Vocab:
    """The vocabulary of words or of pieces that gave this ``state_dict()``."""
    return PieceVocab.from_state_dict(state) if "bpe" in state else Vocab.from_state_dict(state)


def _tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise ValueError(
            f"pieces of words need the package tokenizers ({error}): pip install 'graphdep[bpe]'"
        ) from error
    return tokenizers
