"""What a cell may hold so that no spreadsheet runs it."""

# What spreadsheets take for the start of a formula, full-width forms and the blanks they skip included.
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠|%")


def needs_apostrophe(text: str) -> bool:
    """Tell whether a cell with this text needs an apostrophe in front: a formula would be run, and an apostrophe would be lost.

    >>> needs_apostrophe("=1+1"), needs_apostrophe("'tis"), needs_apostrophe("1+1")
    (True, True, False)
    """
    return text.startswith(("'", *FORMULA_STARTS))
