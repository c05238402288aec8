"""A tokenizer and the embedding table that it is for."""

from __future__ import annotations

from typing import Any

import torch

# Tables are made larger than the vocabulary to be a multiple of 64 or 128. One with more rows to spare, or
# most of its rows, is another tokenizer's.
_SPARE_ROWS = 256


def fit_vocabulary(model: Any, tokenizer: Any, eou: str) -> None:
    """Checks that tokenizer and model belong together, and adds :obj:`eou` to both where it is unknown.

    Its row is the mean of the table plus noise of a hundredth of the table's standard deviation, the same in
    every run: near to all symbols and equal to none. The table never shrinks.

    Raises:
        ValueError: If the ids of the tokenizer do not fit the table.
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
        return
    tokenizer.add_tokens([eou], special_tokens=True)
    row = tokenizer.convert_tokens_to_ids(eou)
    mean, std = table.detach().mean(dim=0), table.detach().std()
    noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(0)).to(mean)
    if row >= table.size(0):
        model.resize_token_embeddings(row + 1, mean_resizing=False)
    with torch.no_grad():
        model.get_input_embeddings().weight[row] = mean + 0.01 * std * noise
