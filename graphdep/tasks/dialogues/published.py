"""What the papers on dialogues report."""

from __future__ import annotations

from graphdep.training.family import Published

_DRA = (
    "Incorporate Directed Dependency Relation Graph into Transformer Block for Multi-turn Dialogue Generation"
)
_DIALOGUES = ("dailydialog", "empathetic")
_DIALOGUE_SIZES: tuple[dict[str, int], ...] = (  # pairs of context and response
    {"train": 76053, "val": 7069, "test": 6740},
    {"train": 64663, "val": 9305, "test": 8423},
)
# Perplexity, BLEU-2 and Dist-2 of DailyDialog, then of EmpatheticDialogues.
_DIALOGUE_ROWS: dict[str, tuple[float, ...]] = {
    "recosa": (19.846, 20.538, 16.611, 34.450, 19.062, 7.619),
    "lisa": (18.378, 19.002, 17.011, 32.467, 19.169, 6.974),
    "constituent-transformer": (18.155, 20.035, 17.847, 31.862, 19.755, 7.870),
    "gate": (18.405, 19.142, 17.742, 32.273, 18.640, 7.452),
    "transformer": (18.278, 19.519, 17.381, 32.329, 18.553, 7.499),
    "transformer-dra": (17.628, 21.140, 18.396, 31.604, 19.966, 8.203),
    "dialogbert": (20.056, 18.069, 15.562, 35.643, 17.199, 5.064),
    "dialogbert-dra": (17.878, 21.786, 21.283, 32.785, 19.739, 9.601),
}
_FIRST_VERSION = {"hred": (37.005, None), "hran": (28.411, 40.901)}


def _of_dialogues(place: int) -> Published:
    return Published(
        f'"{_DRA}", final version, Table 1 (validation set)',
        "perplexity",
        {name: values[3 * place] for name, values in _DIALOGUE_ROWS.items()},
        _DIALOGUE_SIZES[place],
        {
            f"{name} in the first version, which does not name the split": value
            for name, values in _FIRST_VERSION.items()
            if (value := values[place]) is not None
        },
        "the paper does not say how it counts tokens, decodes, or computes BLEU-2 and Dist-2",
        split="val",
    )


PAPER: dict[str, Published] = {task: _of_dialogues(place) for place, task in enumerate(_DIALOGUES)}
