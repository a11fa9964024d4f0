"""Simple model of assignment for the state machine: places on batches, and the annotators who have or had them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

LEASE = timedelta(minutes=60)

Place = tuple[int, str | None]
"""A batch by its number, and the group whose places on it are meant."""


@dataclass
class Save:
    """Last acknowledged save of one item."""

    revision: int
    status: str
    mark: float
    """Number that is different for every save."""


@dataclass
class Seat:
    """Seat that a person has or had on a batch."""

    place: Place
    person: str
    visit: str
    lease: datetime
    extra: bool
    status: str = "held"
    saved: dict[int, Save] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    """Positions whose last save came after the place went to somebody else."""

    @property
    def is_current(self) -> bool:
        """Whether it fills one of the promised places."""
        return self.status in ("held", "submitted")

    @property
    def is_taken(self) -> bool:
        """Whether it counts towards the number of batches that one person may do."""
        return self.status in ("held", "submitted", "rejected")


@dataclass
class Assignments:
    """Model of one campaign.

    Parameters
    ----------
    promised
        Number of places by batch and group.
    max_batches
        Number of batches that one person may do.
    redundancy
        Maximum number of extra annotators on a batch when every place is taken.
    items
        Number of items in a batch.
    """

    promised: dict[Place, int]
    max_batches: int
    redundancy: int
    items: int
    seats: list[Seat] = field(default_factory=list)
    """All seats, in the order in which they were taken."""
    groups: dict[str, str | None] = field(default_factory=dict)
    """Group of each person who has had a seat."""
    withdrawn: set[str] = field(default_factory=set)
    """Visits that ended because the person withdrew."""

    def current(self, place: Place, *, extra: bool = False) -> list[Seat]:
        """Return the seats that fill a place."""
        return [seat for seat in self.seats if seat.place == place and seat.is_current and seat.extra == extra]

    def open(self, place: Place) -> int:
        """Return the number of free seats of a place."""
        return self.promised[place] - len(self.current(place))

    def extras(self, batch: int) -> int:
        """Return the number of extra seats on a batch."""
        return sum(seat.extra and seat.is_current for seat in self.seats if seat.place[0] == batch)

    def seat_of(self, visit: str) -> Seat | None:
        """Return the seat that a visit has or had last."""
        return next((seat for seat in reversed(self.seats) if seat.visit == visit), None)

    def of(self, person: str) -> list[Seat]:
        """Return all seats that a person has or had."""
        return [seat for seat in self.seats if seat.person == person]

    def may_take(self, person: str) -> set[Place]:
        """Return the places that are free for a person, or that become free when leases are expired."""
        known = {seat.place[0] for seat in self.of(person)}
        mine = [place for place in self.promised if place[0] not in known and self._fits(person, place)]
        return {place for place in mine if self.open(place) > 0}

    def may_add(self, person: str) -> set[Place]:
        """Return the places where this person may get an extra seat."""
        known = {seat.place[0] for seat in self.of(person)}
        return {
            place
            for place in self.promised
            if place[0] not in known and self._fits(person, place) and self.extras(place[0]) < self.redundancy
        }

    def is_done(self, person: str) -> bool:
        """Return whether a person has done as many batches as allowed."""
        return sum(seat.is_taken for seat in self.of(person)) >= self.max_batches

    def held(self, person: str) -> Seat | None:
        """Return the seat that a person holds."""
        return next((seat for seat in self.of(person) if seat.status == "held"), None)

    def unfinished(self, person: str) -> Seat | None:
        """Return the seat with which a person would go on in any visit: the one held, or the one that lapsed last."""
        lapsed = next((seat for seat in reversed(self.of(person)) if seat.status == "expired"), None)
        return self.held(person) or (lapsed if lapsed is not None and self.can_go_back(lapsed) else None)

    def can_go_back(self, seat: Seat) -> bool:
        """Return whether a lapsed seat can be taken back."""
        if seat.status != "expired" or self.held(seat.person) or self.is_done(seat.person):
            return False
        return self.extras(seat.place[0]) < self.redundancy if seat.extra else self.open(seat.place) > 0

    def go_back(self, seat: Seat, now: datetime) -> None:
        """Give a lapsed seat back."""
        seat.status, seat.lease = "held", now + LEASE
        seat.late.clear()

    def lapsed(self, now: datetime) -> Iterator[Seat]:
        """Return the seats whose lease has run out."""
        return (seat for seat in self.seats if seat.status == "held" and seat.lease < now)

    def _fits(self, person: str, place: Place) -> bool:
        return self.groups.get(person) in (None, place[1])

    def rows(self) -> Counter[tuple[object, ...]]:
        """Return the expected rows of the database: every seat that anybody has or had, and the open ones."""
        rows: Counter[tuple[object, ...]] = Counter(
            (*seat.place, seat.person, seat.visit, seat.status, seat.extra) for seat in self.seats
        )
        return rows + Counter({(*place, None, None, "open", False): self.open(place) for place in self.promised})
