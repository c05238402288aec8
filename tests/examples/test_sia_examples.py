"""The examples of SIA run on pools that are made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from graphdep import Sentence
from graphdep.io import write_conllu

ROOT = Path(__file__).parents[2]
NAMES = ("ann", "bob", "cid", "dan", "eve")
Run = Callable[..., CompletedProcess[str]]
SPLITS = {"train": (6, 2), "valid": (2, 10), "test": (2, 10)}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pools in the layout of Ubuntu's first version, and their trees."""
    root = tmp_path_factory.mktemp("corpus")
    folder = root / "raw" / "ubuntu-v1"
    folder.mkdir(parents=True)
    texts = [f"{a} {verb} {b}" for a in NAMES for verb in ("saw", "met") for b in NAMES]
    for split, (pools, size) in SPLITS.items():
        rows = []
        for pool in range(pools):
            context = "\t".join(texts[7 * pool + turn] for turn in range(1 + pool % 3))
            rows += [f"{int(n == 0)}\t{context}\t{texts[(3 * pool + n) % len(texts)]}" for n in range(size)]
        (folder / f"{split}.txt").write_text("".join(f"{row}\n" for row in rows))
    trees = [Sentence(text.split(), [2, 0, 2], ["nsubj", "root", "obj"]) for text in texts]
    write_conllu(trees, root / "trees.conllu")
    return root


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "saw", "me", "##t", *NAMES]
    (folder / "vocab.txt").write_text("\n".join(words))
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    transformers.BertModel(transformers.BertConfig(vocab_size=len(words), **sizes)).save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("edges", ["sia", "none"])
def test_selection_from_scratch(example: Run, corpus: Path, edges: str) -> None:
    sizes = ("--hidden-channels", 8, "--heads", 2, "--epochs", 2)
    where = ("--root", corpus, "--parser", f"conllu:{corpus / 'trees.conllu'}")
    *epochs, last = example("sia_selection.py", *where, "--edges", edges, *sizes).stdout.splitlines()
    assert [line[:9] for line in epochs] == ["Epoch: 01", "Epoch: 02"]
    assert last.startswith(f"{edges}, seed 0, test at best validation: R10@1 ")
    assert "no skill: R10@1 0.100, R10@2 0.200, R10@5 0.500" in last


def test_selection_with_a_pretrained_encoder(example: Run, corpus: Path, pretrained: Path) -> None:
    where = ("--root", corpus, "--parser", f"conllu:{corpus / 'trees.conllu'}")
    assert "no skill" in example("sia_selection.py", *where, "--encoder", pretrained, "--epochs", 1).stdout


def test_attention(example: Run, corpus: Path, pretrained: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "maps.png"
    parser = ("--parser", f"conllu:{corpus / 'trees.conllu'}")
    texts = ("--context", "ann saw bob", "--context", "bob met cid", "--response", "dan met ann")
    done = example("sia_attention.py", "--encoder", pretrained, *parser, *texts, "--output", path)
    assert done.stdout.splitlines()[-1] == str(path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_examples_stay_short() -> None:
    for name in ("sia_selection.py", "sia_attention.py"):
        assert len((ROOT / "examples" / name).read_text().splitlines()) <= 115
