"""Ids of words' pieces from a Hugging Face tokenizer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# The words of a large corpus would fill the memory of every worker of a loader.
MAX_CACHED = 1 << 18


class SubwordTokens:
    r"""The ids of a fast Hugging Face tokenizer, word by word, as with ``is_split_into_words=True``.

    - Every word has a piece: one that the tokenizer leaves nothing of (a control or zero-width character)
      becomes the unknown token.
    - Text cannot forge structure: a word such as ``[SEP]`` is split like any other text, and where an id of
      a special token still comes out of a text, the unknown token takes its place.
    - With byte-level BPE (RoBERTa) every word has its space in front, as ``add_prefix_space=True`` asks for;
      the tokenizer need not be made with it.

    Works on a copy of the tokenizer's backend, with neither truncation nor padding: later changes of the
    tokenizer have no effect. Words are encoded once and remembered, up to ``MAX_CACHED`` = 262,144 of them;
    then all are forgotten.

    Args:
        tokenizer: A fast tokenizer with [CLS], [SEP] and an unknown token (or what stands for them).
        eou: The token after each utterance of a context; the tokenizer must have it. (default: ``"[EOU]"``)

    Raises:
        ValueError: If the tokenizer is not fast, or a token is missing.

    Example:
        >>> from transformers import AutoTokenizer
        >>> from graphdep.vocab import SubwordTokens
        >>> tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
        >>> tokens = SubwordTokens(tokenizer, eou="[SEP]")
        >>> [len(pieces) > 0 for pieces in tokens.encode(["She", "sings", "[SEP]"])]
        [True, True, True]
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, eou: str = "[EOU]") -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(f"'tokenizer' must be a fast one (got {type(tokenizer).__name__})")
        self.eou = eou
        self.cls_id = _special_id(tokenizer, "cls_token")
        self.sep_id = _special_id(tokenizer, "sep_token")
        self.unk_id = _special_id(tokenizer, "unk_token")
        self.eou_id = _eou_id(tokenizer, eou)
        serialised = tokenizer.backend_tokenizer.to_str()
        self.fingerprint = _fingerprint(serialised, self)
        self._backend = _word_backend(serialised)
        self._structure = {self.eou_id, *tokenizer.all_special_ids} - {self.unk_id}
        self._cache: dict[str, list[int]] = {}

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        """The ids of each word's pieces, at least one a word. Do not change the lists."""
        new = [word for word in dict.fromkeys(words) if word not in self._cache]
        if not new:
            return [self._cache[word] for word in words]
        if len(self._cache) + len(new) > MAX_CACHED:
            self._cache.clear()
            new = list(dict.fromkeys(words))
        self._cache |= zip(new, self._encode(new))
        return [self._cache[word] for word in words]

    def _encode(self, words: list[str]) -> list[list[int]]:
        encoding = self._backend.encode(words, is_pretokenized=True, add_special_tokens=False)
        pieces: list[list[int]] = [[] for _ in words]
        for piece, word in zip(encoding.ids, encoding.word_ids):
            pieces[word].append(self.unk_id if piece in self._structure else piece)
        return [ids or [self.unk_id] for ids in pieces]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fingerprint}, eou={self.eou!r})"


def _special_id(tokenizer: PreTrainedTokenizerBase, name: str) -> int:
    number = getattr(tokenizer, f"{name}_id", None)
    if number is None:
        raise ValueError(f"'tokenizer' has no {name!r} ({type(tokenizer).__name__})")
    return number


def _eou_id(tokenizer: PreTrainedTokenizerBase, eou: str) -> int:
    vocab = tokenizer.get_vocab()
    if eou not in vocab:
        raise ValueError(
            f"'tokenizer' has no token {eou!r} ('eou'): name one that it has, or add it with "
            "add_special_tokens and make the encoder's table as long"
        )
    return vocab[eou]


def _fingerprint(serialised: str, tokens: SubwordTokens) -> str:
    parts = [serialised, tokens.eou, tokens.cls_id, tokens.sep_id, tokens.unk_id]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _word_backend(serialised: str) -> Any:
    """A tokenizer of single words, made of another's JSON text."""
    from tokenizers import Tokenizer

    settings = json.loads(serialised)
    settings["truncation"] = settings["padding"] = None
    _add_prefix_space(settings["pre_tokenizer"])
    backend = Tokenizer.from_str(json.dumps(settings))
    backend.encode_special_tokens = True  # as text, not as the special id
    return backend


def _add_prefix_space(pre_tokenizer: dict[str, Any] | None) -> None:
    """Has byte-level BPE put a space before each word, also where that is one step of several."""
    if pre_tokenizer is None:
        return
    if pre_tokenizer["type"] == "ByteLevel":
        pre_tokenizer["add_prefix_space"] = True
    for step in pre_tokenizer.get("pretokenizers", []):
        _add_prefix_space(step)
