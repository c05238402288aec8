"""Edges of your own as a row of an ablation, on texts of your own.

    python examples/own_edges.py train=reviews.csv test=heldout.csv text_columns=text label_column=stars

Further settings, such as max_epochs=5, stand beside them. Stopped, the same command goes on where it was.
"""

import sys
from pathlib import Path

import torch

from graphdep.training import parse_settings
from graphdep.training.ablation import ablate
from graphdep.training.table import write_report
from graphdep.transforms import EdgeConstructor, EdgeSet, Nodes, RootEdges, SelfLoops, register_edges


class Window(EdgeConstructor):
    """A word attends to the words of its utterance that are at most ``size`` places away."""

    def __init__(self, size: int = 2) -> None:
        self.size = size

    def build(self, nodes: Nodes) -> EdgeSet:
        word, steps = nodes.index[nodes.is_type(("WORD",))], range(1, self.size + 1)
        pairs = torch.cat([torch.stack([word[:-step], word[step:]]) for step in steps], dim=1)
        left, right = pairs[:, nodes.block[pairs[0]] == nodes.block[pairs[1]]]  # of one utterance
        return EdgeSet(nodes, torch.cat([left, right]), torch.cat([right, left]))


register_edges("window", Window() | RootEdges() | SelfLoops())  # ROOT, which is classified, sees all words

if __name__ == "__main__":
    folder, settings = Path("runs", "own_edges"), parse_settings(sys.argv[1:], "csv")
    rows = ["transformer", "dra", "window"]
    summary = ablate("csv", ["dt"], range(3), folder, edges=rows, settings=settings)
    print(Path(write_report(summary, folder)["table"]).read_text())
