"""What the paper on response selection reports."""

from __future__ import annotations

from graphdep.training.family import Published

_SIA = "Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
_SELECTION_SIZES: dict[str, dict[str, int]] = {  # pairs of a context and a candidate
    "ubuntu": {"train": 1_000_000, "val": 500_000, "test": 500_000},
    "douban": {"train": 1_000_000, "val": 50_000, "test": 10_000},
    "ecommerce": {"train": 1_000_000, "val": 10_000, "test": 10_000},
}
# R10@1; for Douban MAP, which counts several right candidates.
_SELECTION_ROWS: dict[str, dict[str, float]] = {
    "ubuntu": {
        "smn": 0.726,
        "dua": 0.752,
        "dam-2018": 0.767,
        "ioi": 0.796,
        "bert": 0.808,
        "bert-sia": 0.821,
        "bert-ums": 0.843,
        "bert-ss-da": 0.826,
        "bert-spider": 0.831,
    },
    "douban": {
        "smn": 0.529,
        "dua": 0.551,
        "dam-2018": 0.550,
        "ioi": 0.573,
        "bert": 0.591,
        "bert-sia": 0.597,
        "bert-ums": 0.597,
        "bert-ss-da": 0.602,
        "bert-spider": 0.598,
    },
    "ecommerce": {
        "smn": 0.453,
        "dua": 0.501,
        "dam-2018": 0.526,
        "ioi": 0.563,
        "bert": 0.610,
        "bert-vanilla": 0.616,
        "bert-intra": 0.623,
        "bert-inter": 0.651,
        "bert-sia": 0.655,
        "bert-ums": 0.674,
        "bert-ss-da": 0.627,
        "bert-spider": 0.626,
    },
}
_SELECTION_OTHERS: dict[str, tuple[float, float, float]] = {
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
        "code of BERT-FP leaves out only those without a right candidate (filter=negative); its bert-ss-da "
        "is over RoBERTa",
    )


PAPER: dict[str, Published] = {
    task: _of_selection(place, task) for place, task in enumerate(_SELECTION_SIZES)
}
