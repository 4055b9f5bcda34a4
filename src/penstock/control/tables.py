"""Small tables, as plain text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["html_of", "text_table"]


def text_table(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table: columns as wide as their widest cell, numbers to the right."""
    cells = [[*row] for row in rows]
    shown = [[_text(cell) for cell in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(heading, *shown, strict=True)]
    right = [bool(cells) and all(_is_number(row[place]) for row in cells) for place in range(len(heading))]
    return [
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in ([*heading], *shown)
    ]


def html_of(
    headline: str, heading: Sequence[str], rows: Iterable[Sequence[object]], remarks: Iterable[str] = ()
) -> str:
    """A headline, a table and remarks. What users have named or raised is never taken for markup."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heading)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    notes = "".join(f"<div>{html.escape(remark)}</div>" for remark in remarks)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><strong>{html.escape(headline)}</strong></div>{table}{notes}"


def _html_cell(cell: object) -> str:
    align = "right" if _is_number(cell) else "left"
    return f'<td style="text-align: {align}">{html.escape(_text(cell))}</td>'


def _text(cell: object) -> str:
    if cell is None:
        return ""
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.1f}" if isinstance(cell, float) else str(cell)


def _is_number(cell: object) -> bool:
    return cell is None or isinstance(cell, int | float)
