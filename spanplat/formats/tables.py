"""A table of figures as CSV, JSON and LaTeX: the same rows as on the page, in full precision where a program reads them."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from spanplat.formats.spreadsheets import needs_apostrophe

Cell = str | int | float | None
"""None is undefined or does not apply."""


@dataclass(frozen=True)
class Table:
    """Named columns and rows of cells."""

    name: str
    """Stem of the file's name."""
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    """What the table shows and how it was computed."""


def to_csv(table: Table) -> str:
    r"""Write CSV; an undefined cell is empty, and text that a spreadsheet would run has an apostrophe in front.

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


WRITERS: Mapping[str, tuple[Callable[[Table], str], str, str]] = {
    "csv": (to_csv, "text/csv", "csv"),
    "json": (to_json, "application/json", "json"),
    "latex": (to_latex, "application/x-tex", "tex"),
}
"""By format: how to write it, its media type, and the ending of its files."""


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
        return f"${text}$" if text.startswith("-") else text
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
