"""A tiny encoder with random weights in a folder, to test the loading of pretrained encoders."""

from __future__ import annotations

import os
import string
from pathlib import Path

import torch

# Small letters, digits and signs, alone and inside of a word.
_SIGNS = string.ascii_lowercase + string.digits + ".,?!'"


def write_tiny_encoder(folder: str | os.PathLike[str], positions: int = 48, kind: str = "bert") -> str:
    """Writes model and tokenizer with transformers, and returns the folder.

    There are two layers of 8 channels, and each letter is a piece.

    Args:
        folder: The folder.
        positions: The largest number of nodes of an example. (default: :obj:`48`)
        kind: The ``model_type`` of the model. (default: ``"bert"``)
    """
    from transformers import AutoConfig, AutoModel, BertTokenizer

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_SIGNS, *(f"##{sign}" for sign in _SIGNS)]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=positions,
        **({"relative_attention": True, "pos_att_type": ["p2c", "c2p"]} if kind == "deberta-v2" else {}),
    )
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)
