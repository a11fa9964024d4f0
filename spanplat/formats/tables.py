"""Tables of figures as CSV, JSON and LaTeX: the rows of the page, with full precision in CSV and JSON."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spanplat.errors import NotFound
from spanplat.formats.spreadsheets import needs_apostrophe

Cell = str | int | float | None
"""None for a value that is undefined or does not apply."""


@dataclass(frozen=True)
class Table:
    """Named columns and rows of cells."""

    name: str
    """File name without extension."""
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    """Content of the table, and how it was computed."""


def to_csv(table: Table) -> str:
    r"""Write CSV; an undefined cell is empty, and text that a spreadsheet would run gets an apostrophe in front.

    >>> to_csv(Table("t", ["campaign", "F1"], [["=cmd", -0.25], ["b", None]]))
    "campaign,F1\r\n'=cmd,-0.25\r\nb,\r\n"
    """
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\r\n")
    writer.writerow([_guarded(column) for column in table.columns])
    writer.writerows([[_guarded(cell) for cell in row] for row in table.rows])
    return lines.getvalue()


def to_json(table: Table) -> str:
    """Write one JSON document: the caption, the columns, and the rows as objects; an undefined cell is null.

    >>> json.loads(to_json(Table("t", ["campaign", "F1"], [["b", None]])))["rows"]
    [{'campaign': 'b', 'F1': None}]
    """
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    document = {"name": table.name, "caption": table.caption, "columns": list(table.columns), "rows": rows}
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def to_latex(table: Table) -> str:
    r"""Write a LaTeX table (package booktabs); figures have three decimals, an undefined one is a dash.

    >>> print(to_latex(Table("t", ["campaign", "F1"], [["o3_mini", 0.29179]])))
    \begin{table}
      \centering
      \begin{tabular}{lr}
        \toprule
        campaign & F1 \\
        \midrule
        o3\_mini & 0.292 \\
        \bottomrule
      \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    alignment = "".join("r" if _is_numeric(table, place) else "l" for place in range(len(table.columns)))
    lines = [
        r"\begin{table}",
        r"  \centering",
        *([rf"  \caption{{{_escaped(table.caption)}}}"] if table.caption else []),
        rf"  \begin{{tabular}}{{{alignment}}}",
        r"    \toprule",
        f"    {_latex_row(table.columns)}",
        r"    \midrule",
        *(f"    {_latex_row(row)}" for row in table.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


class TableDownload(NamedTuple):
    """A file format for the download of a table."""

    name: str
    """Value of ``format`` in the download's address."""
    title: str
    extension: str
    media_type: str
    write: Callable[[Table], str]


TABLE_DOWNLOADS: tuple[TableDownload, ...] = (
    TableDownload("csv", "CSV", "csv", "text/csv", to_csv),
    TableDownload("json", "JSON", "json", "application/json", to_json),
    TableDownload("latex", "LaTeX", "tex", "application/x-tex", to_latex),
)
"""In the order on pages; the first is the default."""


def find_table_download(name: str) -> TableDownload:
    """Return the download format with a name.

    Raises
    ------
    NotFound
        There is none; the message lists the names.
    """
    for entry in TABLE_DOWNLOADS:
        if entry.name == name:
            return entry
    raise NotFound(f"there is no download as {name!r}; choose one of {', '.join(e.name for e in TABLE_DOWNLOADS)}")


def _guarded(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and needs_apostrophe(cell) else cell


def _is_numeric(table: Table, place: int) -> bool:
    cells = [row[place] for row in table.rows if row[place] is not None]
    return bool(cells) and all(isinstance(cell, int | float) for cell in cells)


def _latex_row(cells: Sequence[Cell]) -> str:
    return " & ".join(_latex_cell(cell) for cell in cells) + r" \\"


def _latex_cell(cell: Cell) -> str:
    if cell is None:
        return "--"
    if isinstance(cell, float):
        text = f"{cell:.3f}"
        return f"${text}$" if text.startswith("-") else text  # a minus sign in math mode, not a hyphen
    return _escaped(str(cell))


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "γ": r"$\gamma$",
        "τ": r"$\tau$",
        "ρ": r"$\rho$",
        "Δ": r"$\Delta$",
        "∅": r"$\emptyset$",
        "\n": " ",
    }
)


def _escaped(text: str) -> str:
    return text.translate(_LATEX)
