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
    """

    source: str
    metric: str
    rows: Mapping[str, float]
    examples: Mapping[str, int]
    others: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


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


PAPER: dict[str, Published] = {
    task: Published(
        f'"{_DT}", Table 3 (means over five runs); baselines and others: its Table 1',
        metric,
        _column(_ROWS, place),
        sizes,
        _column(_OTHERS, place),
        _NOTES.get(task, ""),
    )
    for place, (task, metric, sizes) in enumerate(zip(_TASKS, _METRICS, _SIZES))
}
