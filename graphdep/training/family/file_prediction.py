"""What is asked of a trained model for a file, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphdep.parsing import Parser
from graphdep.parsing.parser import WordLimit


@dataclass(frozen=True)
class FileRequest:
    """A file, or some lines of text, to predict something for.

    Args:
        source: The file.
        checkpoint: What the model is called in messages.
        state: What its checkpoint knows beside the weights, a :class:`~graphdep.training.RunState`.
        parser: Parser, or its name; :obj:`None` for the checkpoint's, if it may choose it. (default:
            :obj:`None`)
        text_columns: Names of the columns with texts, joined by commas. (default: :obj:`None`)
        batch_size: Examples a batch at most. (default: :obj:`64`)
        limit: Words of a text at most, and whether a longer one is cut.
        lines: Texts without columns, an example a line, of pairs with a tab between the two; then
            :obj:`source` is what they are called in messages, and may be no file. (default: :obj:`None`)
        output: Of :obj:`lines` the suffix of the new file: ``".csv"``, ``".tsv"`` or ``".jsonl"``. (default:
            ``".csv"``)
    """

    source: Path
    checkpoint: str
    state: Any
    parser: str | Parser | None = None
    text_columns: str | None = None
    batch_size: int = 64
    limit: WordLimit = WordLimit()  # noqa: RUF009  # cannot be changed
    lines: Sequence[str] | None = None
    output: str = ".csv"

    @property
    def kind(self) -> str:
        """The kind of the new file, by its suffix: as :obj:`source` is, and of :obj:`lines` a table."""
        return self.source.suffix.lower() if self.lines is None else self.output


@dataclass(frozen=True)
class FilePrediction:
    """A file with predictions.

    Args:
        text: The content of the new file, of the kind of the old one.
        summary: What was done as plain values.
        notes: What was done, for people; the last line is a summary.
    """

    text: str
    summary: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
