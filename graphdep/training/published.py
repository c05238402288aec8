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
        pairs: Sizes of the splits it was measured on; on other data the figures say nothing.
        others: Other systems that the paper lists, for orientation. (default: none)
    """

    source: str
    metric: str
    rows: Mapping[str, float]
    pairs: Mapping[str, int]
    others: Mapping[str, float] = field(default_factory=dict)


_DT = "Integrating Dependency Tree into Self-attention for Sentence Representation"

_SICK = {"train": 4500, "val": 500, "test": 4927}

PAPER: dict[str, Published] = {
    "sick-r": Published(
        f'"{_DT}", Table 3 (means over five runs); others: its Table 1, where DT itself has .2428',
        "mse",
        {"transformer": 0.2833, "dt-lr": 0.2545, "dt-rg": 0.2526, "dt": 0.2428},
        _SICK,
        {
            "LSTM": 0.2831,
            "BiLSTM": 0.2736,
            "Tree-LSTM (dependency)": 0.2734,
            "Tree-LSTM (constituency)": 0.2532,
        },
    ),
    "sick-e": Published(
        f'"{_DT}", Table 3 (means over five runs); others: its Table 1, where DT itself has .8510',
        "accuracy",
        {"transformer": 0.8334, "dt-lr": 0.8476, "dt-rg": 0.8493, "dt": 0.8513},
        _SICK,
        {"LSTM": 0.7680, "BiLSTM": 0.8211, "Tree-LSTM (dependency)": 0.8200, "TagHyperTreeLSTM": 0.8390},
    ),
}
