"""A dataset of given examples."""

from __future__ import annotations

from torch_geometric.data import Data, InMemoryDataset


class Stored(InMemoryDataset):
    """Examples as PyG stores them."""

    def __init__(self, examples: list[Data], transform=None) -> None:
        super().__init__(None, transform)
        self.data, self.slices = self.collate(examples)
