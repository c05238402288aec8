"""A pretrained encoder from its name or folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import torch

from graphdep.nn.pretrained._loading import check_dropout, load_config, load_part, set_dropout
from graphdep.nn.pretrained.bert_fp import load_bert_fp
from graphdep.nn.pretrained.graph_attention import import_transformers
from graphdep.nn.pretrained.pretrained_encoder import Edges, PretrainedEncoder

logger = logging.getLogger("graphdep.nn.pretrained")


def load_encoder(
    name_or_folder: str | os.PathLike[str],
    *,
    base: str | os.PathLike[str] | None = None,
    edges: Mapping[int, Edges] | None = None,
    eou: str = "[EOU]",
    dtype: torch.dtype | None = None,
    dropout: float | None = None,
    backend: str = "auto",
    windows: str = "own",
) -> PretrainedEncoder:
    """A Hugging Face encoder with its tokenizer, ready to run over edges, in evaluation mode.

    Weights come from safetensors, or from a PyTorch file read with ``weights_only=True``; code from a folder
    or the hub is never run, and the attention is not what ``config.json`` asks for. Weights that the encoder
    has no place for, such as those of a head, are left out with a warning.

    Args:
        name_or_folder: A folder that ``save_pretrained`` wrote, or a name on the Hugging Face hub; with
            :obj:`base` a checkpoint of BERT-FP.
        base: The BERT that such a checkpoint is of, see
            :func:`~graphdep.nn.pretrained.bert_fp.load_bert_fp`. (default: :obj:`None`)
        edges: Edges of single layers, see :class:`PretrainedEncoder`. (default: :obj:`None`)
        eou: The symbol at the end of an utterance, added where it is unknown. (default: ``"[EOU]"``)
        dtype: Type of the weights. (default: ``torch.float32``, whatever the file has)
        dropout: Dropout probability of states and attention weights alike. (default: the model's own)
        backend: Backend of :func:`~graphdep.nn.attention.edge_attention`. (default: ``"auto"``)
        windows: ``"own"`` or ``"dropped"``, see :class:`PretrainedEncoder`. (default: ``"own"``)

    Raises:
        ValueError: If there is no such encoder or tokenizer, weights are missing, quantised or not finite,
            the model cannot run over edges, model and tokenizer do not belong together, or an option is
            wrong.
        ImportError: If transformers is not installed.
    """
    options: dict[str, Any] = {"edges": edges, "eou": eou, "backend": backend, "windows": windows}
    if base is not None:
        return load_bert_fp(name_or_folder, base, dtype=dtype, dropout=dropout, **options)
    transformers = import_transformers()
    check_dropout(dropout)
    name = os.fspath(name_or_folder)
    config = load_config(name)
    set_dropout(config, dropout)
    model, report = load_part(
        transformers.AutoModel,
        name,
        "encoder",
        config=config,
        attn_implementation="eager",
        dtype=torch.float32 if dtype is None else dtype,
        weights_only=True,
        output_loading_info=True,
    )
    _check_weights(report, name)
    tokenizer = load_part(transformers.AutoTokenizer, name, "tokenizer")
    return PretrainedEncoder(model, tokenizer, **options)


def _check_weights(report: Any, name: str) -> None:
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise ValueError(f"{name}: weights are missing, first {missing[0]!r} ({len(missing)} in all)")
    unused = sorted(key for key in report["unexpected_keys"] if not key.startswith("pooler."))
    if unused:
        what = f"{unused[0]!r} first ({len(unused)} in all)"
        logger.warning("%s: weights that are no part of the encoder are left out, %s", name, what)
