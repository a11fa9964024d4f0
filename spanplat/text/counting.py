"""Numbers with their noun, such as "2 batches", for English messages of the program. Translated pages use gettext instead."""

_IRREGULAR = {"person": "people", "batch": "batches"}


def count_of(number: float, noun: str) -> str:
    """Return a number with its noun in the singular or plural.

    >>> count_of(1, "annotator"), count_of(2000, "batch"), count_of(0, "person")
    ('1 annotator', '2,000 batches', '0 people')
    """
    return f"1 {noun}" if number == 1 else f"{_number(number)} {_IRREGULAR.get(noun, noun + 's')}"


def _number(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,g}"
