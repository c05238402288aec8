"""Examples that have no marks, for a model that reads them."""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.transforms import BaseTransform


class WithoutMarks(BaseTransform):
    """Writes that no node has a mark, where a batch has none, as all that is scored."""

    def forward(self, data: Any) -> Any:
        if "mark" not in data:
            data.mark = torch.zeros_like(data.input_ids)
        return data
