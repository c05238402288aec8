"""The explorer's live pages: of models that are trained while the site is built, and of phrases."""

from __future__ import annotations

from pathlib import Path

from graphdep import draw, explore
from graphdep.cli.demo import AGREEMENT_SETTINGS, EXPLORED, VERBS
from graphdep.parsing import resolve_parser
from graphdep.training import TrainConfig, train

ROOT = Path(__file__).parents[2]
MODELS = {"with the tree": "dt-nolevel-nopos", "without": "transformer"}
TITLE = "Is the subject of a verb singular or plural? A model with the tree, and one without"
PHRASES = "The old dog chased a cat."


def write(folder: Path, runs: Path) -> None:
    """Writes ``explorer.html`` and ``phrases.html``; a model that is there is not trained again."""
    checkpoints = [_checkpoint(model, runs / model) for model in MODELS.values()]
    page = explore(
        checkpoints[0],
        EXPLORED,
        against=checkpoints[1],
        edges=["dra"],
        asked=VERBS,
        names=[*MODELS],
        explain=["gradient"],
        parser="bundled",
        title=TITLE,
    )
    page.save(folder / "explorer.html")
    ((sentence,),) = resolve_parser("bundled", constituents=True).parse([PHRASES])
    draw(sentence, ["constituents", "same-constituent"], title=PHRASES).save(folder / "phrases.html")


def _checkpoint(model: str, run: Path) -> Path:
    """The model of the demo, some seconds of training."""
    found = run / "best.ckpt"
    if not found.is_file():
        root = str(ROOT / "datasets" / "mini" / "agreement")
        config = TrainConfig.of(model, task="agreement", root=root, accelerator="cpu", **AGREEMENT_SETTINGS)
        train(config, run)
    return found
