"""A tokenizer and the embedding table that it is for."""

from __future__ import annotations

import re
from typing import Any

import torch

# Tables are made larger than the vocabulary to be a multiple of 64 or 128. One with more rows to spare, or
# most of its rows, is another tokenizer's.
_SPARE_ROWS = 256
_SPECIAL = ("cls_token", "sep_token", "unk_token", "pad_token", "mask_token")


def fit_vocabulary(model: Any, tokenizer: Any, eou: str) -> None:
    """Checks that tokenizer and model belong together, and adds :obj:`eou` to both where it is unknown.

    Its row is the mean of the table plus noise of a hundredth of the table's standard deviation, the same in
    every run: near to all symbols and equal to none. The table never shrinks.

    Raises:
        ValueError: If the ids of the tokenizer do not fit the table, or :obj:`eou` is another special token
            or a piece of text.
    """
    name = f"the tokenizer {type(tokenizer).__name__}"
    table = model.get_input_embeddings().weight
    ids = tokenizer.get_vocab()
    size = max(ids.values()) + 1
    if size > table.size(0) or table.size(0) - size >= min(_SPARE_ROWS, size):
        raise ValueError(
            f"{name} (of {tokenizer.name_or_path!r}) does not belong to {type(model).__name__} (of "
            f"{model.config.name_or_path!r}): its ids end at {size - 1}, the model has {table.size(0)} rows"
        )
    if eou in ids:
        _check_eou(tokenizer, eou, ids[eou])
        return
    tokenizer.add_tokens([eou], special_tokens=True)
    row = tokenizer.convert_tokens_to_ids(eou)
    mean, std = table.detach().mean(dim=0), table.detach().std()
    noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(0)).to(mean)
    if row >= table.size(0):
        model.resize_token_embeddings(row + 1, mean_resizing=False)
    with torch.no_grad():
        model.get_input_embeddings().weight[row] = mean + 0.01 * std * noise


def _check_eou(tokenizer: Any, eou: str, number: int) -> None:
    """Raises :class:`ValueError` if the id means something else, too."""
    for name in _SPECIAL:
        if getattr(tokenizer, f"{name}_id", None) == number:
            raise ValueError(f"'eou' must have an id of its own (got {eou!r}, the {name!r} of the tokenizer)")
    # A name in brackets is a symbol, also to a tokenizer of whole words, which would find it in text.
    free = re.fullmatch(r"\[.+\]|<.+>", eou) or eou in tokenizer.get_added_vocab()
    if not free and tokenizer.is_fast and _in_text(tokenizer, eou, number):
        raise ValueError(f"'eou' must have an id of its own (got {eou!r}, which the tokenizer finds in text)")


def _in_text(tokenizer: Any, piece: str, number: int) -> bool:
    """Whether text gives a piece of the vocabulary; none gives an unused one such as ``madeupword0``."""
    backend = tokenizer.backend_tokenizer
    # A piece that stands only inside of words, such as "##s", is found when it is written twice.
    for text in (piece, backend.decode([number, number], skip_special_tokens=False)):
        if backend.normalizer is not None:
            text = backend.normalizer.normalize_str(text)
        splitter = backend.pre_tokenizer
        parts = [text] if splitter is None else [part for part, _ in splitter.pre_tokenize_str(text)]
        if any(token.id == number for part in parts for token in backend.model.tokenize(part)):
            return True
    return False
