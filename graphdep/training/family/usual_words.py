"""What others call settings, for hints."""

from __future__ import annotations

USUAL_WORDS: dict[str, str] = {
    "learning_rate": "lr",
    "epochs": "max_epochs",
    "num_epochs": "max_epochs",
    "num_train_epochs": "max_epochs",
    "per_device_train_batch_size": "batch_size",
    "train_batch_size": "batch_size",
    "bs": "batch_size",
    "model_name": "encoder",
    "model_name_or_path": "encoder",
    "pretrained": "encoder",
    "hidden_size": "hidden_channels",
    "hidden_dim": "hidden_channels",
    "d_model": "hidden_channels",
    "ffn_dim": "ff_channels",
    "intermediate_size": "ff_channels",
    "layers": "num_layers",
    "num_hidden_layers": "num_layers",
    "num_heads": "heads",
    "num_attention_heads": "heads",
    "wd": "weight_decay",
    "max_grad_norm": "clip",
    "gradient_clip_val": "clip",
    "max_seq_length": "max_length",
    "embeddings": "vectors",
    "glove": "vectors",
    "random_state": "seed",
    "device": "accelerator",
    "early_stopping": "patience",
}
"""The setting that each word stands for elsewhere."""
