"""What the papers report, to stand beside our numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Published:
    """A paper's figures for one task.

    Args:
        source: Paper and table.
        metric: Which metric.
        rows: Figures of the models that we have, as fractions.
        examples: Sizes of the splits it was measured on; on other data the figures say nothing.
        others: Other systems that the paper lists, for orientation. (default: none)
        note: What to know before the figures are compared. (default: none)
        split: Which split they are of. (default: ``"test"``)
    """

    source: str
    metric: str
    rows: Mapping[str, float]
    examples: Mapping[str, int]
    others: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    split: str = "test"


_DT = "Integrating Dependency Tree into Self-attention for Sentence Representation"
_TASKS = ("sick-r", "sick-e", "sst", "mrpc")
_METRICS = ("mse", "accuracy", "accuracy", "accuracy")
_SICK = {"train": 4500, "val": 500, "test": 4927}
_SIZES = (
    _SICK,
    _SICK,
    {"train": 6920, "val": 872, "test": 1821},
    {"train": 3668, "val": 408, "test": 1725},  # the paper does not say what it chose its epoch on
)
# A column a task, in the order of _TASKS.
_ROWS: dict[str, tuple[float, ...]] = {
    # Table 3
    "transformer": (0.2833, 0.8334, 0.8719, 0.7241),
    "dt-lr": (0.2545, 0.8476, 0.8821, 0.7301),
    "dt-rg": (0.2526, 0.8493, 0.8853, 0.7311),
    "dt": (0.2428, 0.8513, 0.8877, 0.7358),
    # Table 1
    "lstm": (0.2831, 0.7680, 0.8490, 0.7170),
    "bilstm": (0.2736, 0.8211, 0.8750, 0.7270),
    "tree-lstm": (0.2734, 0.8200, 0.8570, 0.7207),
    "tree-transformer": (0.2774, 0.8295, 0.8312, 0.7034),
}
_OTHERS: dict[str, tuple[float | None, ...]] = {
    "RNTN": (None, 0.5942, 0.8540, 0.6691),
    "DT-RNN": (0.3848, 0.6338, 0.8660, 0.6751),
    "Tree-LSTM (constituency)": (0.2532, 0.8311, 0.8800, 0.7007),
    "DC-TreeLSTM": (None, 0.8230, 0.8780, None),
    "TagHyperTreeLSTM": (None, 0.8390, 0.9120, None),
    "USE": (None, 0.8115, 0.8538, 0.7496),
    "Tree-Transformer (constituency)": (0.3012, 0.8272, 0.8666, 0.7173),
    "BiTree-LSTM": (0.2736, None, 0.9030, None),  # over constituents; ours is over dependencies
    "DT in Table 1": (0.2428, 0.8510, 0.8870, 0.7358),
}
_NOTES = {
    "sick-r": "Tree-LSTM's own paper gives .2532 for dependency, .2734 for constituency trees, not the "
    "other way round",
    "sst": "the paper's models see the labels of all nodes, ours those of whole sentences",
}


def _column(rows: Mapping[str, tuple[float | None, ...]], place: int) -> dict[str, float]:
    return {name: value for name, values in rows.items() if (value := values[place]) is not None}


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


def _of_sentences(place: int) -> Published:
    task = _TASKS[place]
    return Published(
        f'"{_DT}", Table 3 (means over five runs); baselines and others: its Table 1',
        _METRICS[place],
        _column(_ROWS, place),
        _SIZES[place],
        _column(_OTHERS, place),
        _NOTES.get(task, ""),
    )


_SIA = "Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
_SELECTION_SIZES: dict[str, dict[str, int]] = {  # pairs of a context and a candidate
    "ubuntu": {"train": 1_000_000, "val": 500_000, "test": 500_000},
    "douban": {"train": 1_000_000, "val": 50_000, "test": 10_000},
    "ecommerce": {"train": 1_000_000, "val": 10_000, "test": 10_000},
}
# R10@1; for Douban MAP, which counts several right candidates.
_SELECTION_ROWS: dict[str, dict[str, float]] = {
    "ubuntu": {"bert": 0.808, "bert-sia": 0.821},
    "douban": {"bert": 0.591, "bert-sia": 0.597},
    "ecommerce": {
        "bert": 0.610,
        "bert-vanilla": 0.616,
        "bert-intra": 0.623,
        "bert-inter": 0.651,
        "bert-sia": 0.655,
    },
}
_SELECTION_OTHERS: dict[str, tuple[float, float, float]] = {
    "SMN": (0.726, 0.529, 0.453),
    "DUA": (0.752, 0.551, 0.501),
    "DAM": (0.767, 0.550, 0.526),
    "IOI": (0.796, 0.573, 0.563),
    "RoBERTa-SS-DA": (0.826, 0.602, 0.627),
    "BERT+SPIDER": (0.831, 0.598, 0.626),
    "UMS-BERT": (0.843, 0.597, 0.674),
    "BERT-FP": (0.911, 0.644, 0.870),
    "BERT-FP + SIA": (0.914, 0.648, 0.874),
}


def _of_selection(place: int, task: str) -> Published:
    return Published(
        f'"{_SIA}", Table 1; rows of E-commerce between: its Table 2',
        "MAP" if task == "douban" else "R10@1",
        _SELECTION_ROWS[task],
        _SELECTION_SIZES[task],
        {name: values[place] for name, values in _SELECTION_OTHERS.items()},
        "the paper says neither m, learning rate nor length, nor which pools of Douban it leaves out; the "
        "code of BERT-FP leaves out only those without a right candidate (filter=negative)",
    )


_DAM_ROWS = ("bert", "bert-dt", "bert-g2g", "bert-dam")
# Table 3 of the paper; of its sizes ours, a tenth of train for validation.
_DAM: dict[str, tuple[str, tuple[float, ...], dict[str, int]]] = {
    "cola": ("mcc", (0.5814, 0.5827, 0.2200, 0.5844), {"train": 7696, "val": 855, "test": 1043}),
    "glue-sst2": ("accuracy", (0.9232, 0.9254, 0.9094, 0.9289), {"train": 60615, "val": 6734, "test": 872}),
}


def _of_glue(task: str) -> Published:
    metric, figures, sizes = _DAM[task]
    return Published(
        '"Augmenting Transformers with Enhanced Dependency Structures by Treating Relations as New Words", '
        "Table 3",
        metric,
        dict(zip(_DAM_ROWS, figures)),
        sizes,
        note="its BERT is the base model; presumably it trains on all of train, and its figures are of the "
        "development set, on which it chose its models; here that set is for testing alone",
    )


PAPER: dict[str, Published] = {
    **{task: _of_sentences(place) for place, task in enumerate(_TASKS)},
    **{task: _of_dialogues(place) for place, task in enumerate(_DIALOGUES)},
    **{task: _of_selection(place, task) for place, task in enumerate(_SELECTION_SIZES)},
    **{task: _of_glue(task) for task in _DAM},
}
