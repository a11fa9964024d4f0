"""Protection against formula injection: exported cells that no spreadsheet runs as a formula."""

import csv
import io
from collections.abc import Iterable, Sequence

# Characters with which spreadsheets begin a formula, with full-width forms and the white space that they skip.
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠|%")


def needs_apostrophe(text: str) -> bool:
    """Tell whether a cell with this text needs an apostrophe in front.

    A spreadsheet would run a formula. It would also drop an apostrophe that is part of the text.

    >>> needs_apostrophe("=1+1"), needs_apostrophe("'tis"), needs_apostrophe("1+1")
    (True, True, False)
    """
    return text.startswith(("'", *FORMULA_STARTS))


def write_csv(rows: Iterable[Sequence[str]]) -> str:
    r"""Write rows of texts as CSV, with an apostrophe in front of each text that needs one.

    >>> write_csv([("id", "amount"), ("=1+1", "0.50")])
    "id,amount\n'=1+1,0.50\n"
    """
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows([f"'{cell}" if needs_apostrophe(cell) else cell for cell in row] for row in rows)
    return lines.getvalue()
