"""Models that differ in what they are told of a sentence's structure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StructureRows:
    """The rows that answer whether a task needs structure, by the names of models with controls.

    Args:
        plain: Words in their order, and no tree.
        trees: The same with the parser's trees.
        random: The same with random trees, that keep what words tell by their labels.
        shuffled: Words in random order. (default: :obj:`None`, none of the family's)
        unordered: Words without positions. (default: :obj:`None`)

    Example:
        >>> from graphdep.training.family.structure_rows import StructureRows
        >>> StructureRows("transformer", "dt", "dt@random-labels", "transformer@shuffled").rows
        ('transformer@shuffled', 'transformer', 'dt', 'dt@random-labels')
    """

    plain: str
    trees: str
    random: str
    shuffled: str | None = None
    unordered: str | None = None

    @property
    def rows(self) -> tuple[str, ...]:
        """All of them, from the least told on."""
        rows = (self.shuffled, self.unordered, self.plain, self.trees, self.random)
        return tuple(row for row in rows if row is not None)
