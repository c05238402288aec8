"""Rows of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from graphdep.datasets.base.column_names import check_header


def read_parquet(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file with their numbers, from 1; no more than a batch of them is in memory.

    Args:
        path: The file.
        columns: Columns that it must have, among others.

    Raises:
        ValueError: If it is no Parquet file, a text is not UTF-8, or a column is missing or there twice.
        ImportError: If pyarrow is not there.
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportError(f"{path} is read by pyarrow: pip install 'graphdep[parquet]'") from None
    try:
        with ParquetFile(path) as file:
            check_header(path, file.schema_arrow.names, columns)
            rows = chain.from_iterable(batch.to_pylist() for batch in file.iter_batches())
            yield from enumerate(rows, start=1)
    except UnicodeDecodeError as error:  # nothing checks that what is called text in such a file is some
        raise ValueError(f"{path}: a text or a name that is not UTF-8 (got {error.object[:100]!r})") from None
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path}: no Parquet file that can be read: {error}") from None
