"""What the paper on response selection reports."""

from __future__ import annotations

from graphdep.training.family.published import Published

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


PAPER: dict[str, Published] = {
    task: _of_selection(place, task) for place, task in enumerate(_SELECTION_SIZES)
}
