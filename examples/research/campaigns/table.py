"""The table of all campaigns: ``results/campaigns.csv`` and the page made of it."""

from __future__ import annotations

import csv
import fcntl
import tempfile
from pathlib import Path

from harness import COLUMNS, TABLE, Tally, read_table

PAGE = TABLE.with_suffix(".md")
START, END = "<!-- counts -->\n", "<!-- end of counts -->\n"


def write_table(tallies: list[Tally], table: Path = TABLE, page: Path = PAGE) -> None:
    """Puts the counts in the place of those of the same campaign and kind, and the page's table anew."""
    with open(Path(tempfile.gettempdir(), "graphdep-campaigns.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # campaigns run side by side
        _write_table(tallies, table, page)


def _write_table(tallies: list[Tally], table: Path, page: Path) -> None:
    rows = {(row["campaign"], row["kind"]): row for row in read_table(table)}
    for tally in tallies:
        row = {name: str(getattr(tally, name)) for name in COLUMNS}
        rows[tally.campaign, tally.kind] = row | {"seconds": f"{tally.seconds:.0f}"}
    ordered = [rows[key] for key in sorted(rows)]
    with open(table, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)
    if page.exists():
        before, rest = page.read_text(encoding="utf-8").split(START)
        page.write_text(before + START + markdown(ordered) + END + rest.split(END)[1], encoding="utf-8")


def markdown(rows: list[dict[str, str]]) -> str:
    """The table of the page, with a sum for each campaign."""
    header = "| campaign | kind | cases | documented errors | valid results | crashes | hangs | losses |"
    lines = ["", header, "|---|---|--:|--:|--:|--:|--:|--:|"]
    counts = ("cases", "documented", "valid", "crashes", "hangs", "losses")
    for campaign in sorted({row["campaign"] for row in rows}):
        own = [row for row in rows if row["campaign"] == campaign]
        for row in own:
            lines.append(
                "| " + " | ".join([campaign, row["kind"], *(f"{int(row[n]):,}" for n in counts)]) + " |"
            )
        sums = [sum(int(row[name]) for row in own) for name in counts]
        lines.append("| " + " | ".join([f"**{campaign}**", "all", *(f"**{n:,}**" for n in sums)]) + " |")
    return "\n".join([*lines, "", ""])


if __name__ == "__main__":
    write_table([])
