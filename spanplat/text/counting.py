"""Numbers with the thing that they count, in English messages of the program; pages have gettext for it."""

_IRREGULAR = {"person": "people", "batch": "batches"}


def count_of(number: float, noun: str) -> str:
    """Write how many there are of something.

    >>> count_of(1, "annotator"), count_of(2000, "batch"), count_of(0, "person")
    ('1 annotator', '2,000 batches', '0 people')
    """
    return f"1 {noun}" if number == 1 else f"{_number(number)} {_IRREGULAR.get(noun, noun + 's')}"


def _number(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,g}"
