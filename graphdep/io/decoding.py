"""Lines of UTF-8 files, numbered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


def decoded_lines(
    lines: Iterable[bytes], path: str, error: Callable[[str, str, int, str], Exception]
) -> Iterator[tuple[int, str]]:
    """Number and text of each line, without its line break; a byte-order mark and CRLF are accepted.

    Args:
        lines: The lines of a file that was opened to read bytes.
        path: The file, for errors.
        error: Makes what is raised for a line that is not UTF-8, of message, path, line and value.
    """
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            yield number, line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as wrong:
            bad = line[wrong.start : wrong.start + 4].hex(" ")
            raise error(f"not UTF-8 at byte {wrong.start}", path, number, bad) from None
