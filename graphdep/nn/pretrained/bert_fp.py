"""The published checkpoints of BERT-FP."""

from __future__ import annotations

import logging
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from graphdep.io.files import check_archive
from graphdep.nn.pretrained._loading import check_dropout, load_config, load_part, loading, set_dropout
from graphdep.nn.pretrained.graph_attention import import_transformers
from graphdep.nn.pretrained.pretrained_encoder import Edges, PretrainedEncoder

logger = logging.getLogger("graphdep.nn.pretrained")

_WORDS = "embeddings.word_embeddings.weight"
# Not weights, or weights that are not read; older checkpoints have the former.
_UNREAD = ("embeddings.position_ids", "embeddings.token_type_ids", "pooler.")


def load_bert_fp(
    path: str | os.PathLike[str],
    base: str | os.PathLike[str],
    *,
    edges: Mapping[int, Edges] | None = None,
    eou: str = "[EOU]",
    dtype: torch.dtype | None = None,
    dropout: float | None = None,
    backend: str = "auto",
    windows: str = "own",
) -> PretrainedEncoder:
    """The encoder of a checkpoint that the public code of `"Fine-grained Post-training for Improving
    Retrieval-based Dialogue Systems" <https://aclanthology.org/2021.naacl-main.122/>`_ (BERT-FP) has written,
    in evaluation mode.

    The file is a state dict of PyTorch, read with ``weights_only=True`` and checked against its checksums; a
    file from before PyTorch 1.6 has none, about which there is a warning. It is of the BERT alone
    (``bert.pt`` of post-training) or of a model around it, whose other weights are left out with a warning.
    Its table has one row more than the tokenizer of :obj:`base`, that of ``[eos]``, the end of an utterance.
    Here that row has the name :obj:`eou`, by which :func:`load_encoder` knows it once
    :meth:`PretrainedEncoder.save_pretrained` has written the encoder. The pooler is not read.

    Args:
        path: The checkpoint.
        base: Folder or name of the BERT whose configuration and tokenizer it has: ``bert-base-uncased`` for
            Ubuntu, ``bert-base-chinese`` for Douban and E-commerce. Its weights are not read.
        edges, eou, dtype, dropout, backend, windows: As in :func:`load_encoder`.

    Raises:
        FileNotFoundError: If there is no checkpoint.
        ValueError: If it is no state dict, is damaged, or does not fit :obj:`base`: the message names what is
            missing, unexpected, of another shape or no floating-point numbers; or if the tokenizer has
            :obj:`eou` already.
        ImportError: If transformers is not installed.
    """
    transformers = import_transformers()
    check_dropout(dropout)
    state = _weights_of_bert(_read(path), os.fspath(path))
    name = os.fspath(base)
    config = load_config(name)
    if config.model_type != "bert":
        raise ValueError(f"'base' must be a BERT (got {config.model_type!r} in {name!r})")
    tokenizer = load_part(transformers.AutoTokenizer, name, "tokenizer")
    if eou in tokenizer.get_vocab():
        raise ValueError(f"'eou' must be new to the tokenizer of {name!r}, which has no [eos] (got {eou!r})")
    rows = state[_WORDS].size(0)
    if rows != len(tokenizer) + 1:
        raise ValueError(
            f"{os.fspath(path)}: the checkpoint has {rows} embeddings, which must be one more than the "
            f"tokenizer of {name!r} has tokens, that of [eos] (got {len(tokenizer)} tokens)"
        )
    tokenizer.add_tokens([eou], special_tokens=True)
    config.vocab_size = rows
    set_dropout(config, dropout)
    with loading(name, "encoder"):
        model = transformers.AutoModel.from_config(
            config, add_pooling_layer=False, attn_implementation="eager", trust_remote_code=False
        )
    _fill(model, state, os.fspath(path), name)
    model.to(torch.float32 if dtype is None else dtype).eval()
    return PretrainedEncoder(model, tokenizer, edges=edges, eou=eou, backend=backend, windows=windows)


def _read(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """A state dict, without running code that a file may hold."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"no checkpoint at {os.fspath(path)}")
    has_checksums = zipfile.is_zipfile(path)
    if has_checksums:
        check_archive(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file makes torch raise anything, from EOFError to KeyError
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{os.fspath(path)}: no state dict of PyTorch ({first[:120]})") from None
    if not isinstance(state, dict) or not all(map(_is_entry, state.items())):
        raise ValueError(f"{os.fspath(path)}: no state dict of PyTorch (got {_described(state)})")
    if not has_checksums:
        logger.warning("%s: an old file without checksums, so damage would not be seen", os.fspath(path))
    return dict(state)


def _is_entry(entry: tuple[Any, Any]) -> bool:
    return isinstance(entry[0], str) and isinstance(entry[1], Tensor)


def _weights_of_bert(state: dict[str, Tensor], path: str) -> dict[str, Tensor]:
    """The weights of the BERT in a checkpoint, under the names that they have in it alone."""
    prefixes = [key.removesuffix(_WORDS) for key in state if key.endswith(_WORDS)]
    if len(prefixes) != 1:
        raise ValueError(f"{path}: the checkpoint must have one {_WORDS!r} (got {len(prefixes)})")
    prefix = prefixes[0]
    others = [key for key in state if not key.startswith(prefix)]
    if others:
        logger.warning("%s: left out what is no part of the BERT: %s", path, _named(others))
    inside = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    weights = {key: value for key, value in inside.items() if not key.startswith(_UNREAD)}
    for key, value in weights.items():
        if not value.is_floating_point():
            raise ValueError(f"{path}: {prefix + key!r} must be floating-point numbers (got {value.dtype})")
    return weights


def _fill(model: Any, state: dict[str, Tensor], path: str, base: str) -> None:
    """Loads the weights, all of them and no others."""
    wanted = model.state_dict()
    wrong = {
        "missing": sorted(key for key in wanted if key not in state and not key.startswith(_UNREAD)),
        "unexpected": sorted(key for key in state if key not in wanted),
        "of another shape": [
            f"{key} {[*value.shape]} for {[*wanted[key].shape]}"
            for key, value in state.items()
            if key in wanted and value.shape != wanted[key].shape
        ],
    }
    if any(wrong.values()):
        found = "; ".join(f"{what}: {_named(keys)}" for what, keys in wrong.items() if keys)
        raise ValueError(f"{path}: the checkpoint does not fit {base!r}: {found}")
    model.load_state_dict(state, strict=False)


def _named(keys: list[str]) -> str:
    more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
    return ", ".join(keys[:5]) + more


def _described(state: Any) -> str:
    if not isinstance(state, dict):
        return type(state).__name__
    key = next(entry[0] for entry in state.items() if not _is_entry(entry))
    if not isinstance(key, str):
        return f"the {type(key).__name__} {str(key)[:80]} for a name"
    return f"{type(state[key]).__name__} under {str(key)[:80]!r}"
