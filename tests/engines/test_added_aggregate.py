"""The aggregate of docs/add_an_aggregate.md: the same integers on every engine, and as in Python."""

from __future__ import annotations

from tables.added import exact, share
from tables.compare import SALT

FLOORS = [0, -3, 2**31 - 1, None]
ALL = 10_000  # rows per person: more than there are, so that none is left out


def test_shares(engine, visits, rows):
    """A condition of a column and one of an expression; null conditions count neither way."""
    query = visits.group_by("floor", keys=FLOORS, groups_per_unit=len(FLOORS)).aggregate(
        urgent=share()("urgent", rows_per_unit=ALL), dear=share()(visits["cost"] > 10, rows_per_unit=ALL)
    )
    found = query.aggregates(salt=SALT).to_arrow().to_pylist()
    assert [row["floor"] for row in found] == FLOORS
    urgent = exact(rows, "who", "floor", lambda row: row["urgent"])
    dear = exact(rows, "who", "floor", lambda row: None if row["cost"] is None else _above(row["cost"], 10.0))
    assert urgent and dear
    for row in found:
        assert (row["urgent.sum"], row["urgent.count"]) == urgent.get(row["floor"], (0, 0))
        assert (row["dear.sum"], row["dear.count"]) == dear.get(row["floor"], (0, 0))


def test_a_limit_on_rows_is_kept(engine, visits):
    """No person counts more than twice in a group."""
    query = visits.group_by("floor", keys=FLOORS, groups_per_unit=2).aggregate(
        s=share()("urgent", rows_per_unit=2), n=share()("urgent", rows_per_unit=1)
    )
    for row in query.aggregates(salt=SALT).to_arrow().to_pylist():
        assert abs(row["s.sum"]) <= row["s.count"] <= 2 * row["n.count"]


def _above(x: float, limit: float) -> bool:
    """x > limit as SQL engines order numbers: NaN is larger than any other."""
    return x != x or x > limit
