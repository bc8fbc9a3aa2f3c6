"""A sensitivity in words: how far one person changes an answer."""

from __future__ import annotations

from hush.privacy.sensitivity import Sensitivity

__all__ = ["moves_in_words"]


def moves_in_words(bound: Sensitivity) -> str:
    """How far one person changes the answer.

    >>> moves_in_words(Sensitivity(linf=1.0, l0=3, dimension=11, one_sided=True))
    'at most 3 of 11 numbers by at most 1 each, all in the same direction'
    """
    if bound.columns is not None:
        return _in_groups(bound)
    if not bound.is_box:
        return _by_norms(bound)
    if isinstance(bound.linf, tuple):
        text = f"at most {bound.moving} numbers, each by its bound, {min(bound.linf):.6g} to {max(bound.linf):.6g}"
    elif bound.moving == 1:
        return f"one number by at most {bound.linf:.6g}"
    else:
        of = f" of {bound.dimension}" if bound.dimension not in (None, bound.moving) else ""
        text = f"at most {bound.moving}{of} numbers by at most {bound.linf:.6g} each"
    return text + _directions(bound)


def _in_groups(bound: Sensitivity) -> str:
    assert bound.columns is not None
    least, most, count = min(bound.columns), max(bound.columns), len(bound.columns)
    by = f"at most {most:.6g} each" if least == most else f"their bounds, {least:.6g} to {most:.6g}"
    of = "" if bound.groups is None else f" of {bound.groups}"
    columns = "one column" if count == 1 else f"{count} columns"
    return f"in at most {bound.l0}{of} group{'s' * (bound.l0 != 1)} {columns} by {by}{_directions(bound)}"


def _directions(bound: Sensitivity) -> str:
    """Which numbers move in the same direction, and which one counts people."""
    flags = bound.each_one_sided
    people = (
        "" if bound.people is None else f"; number {bound.people + 1} counts people and moves whenever one of them does"
    )
    if all(flags):
        return f", all in the same direction{people}"
    return f", {sum(flags)} of them in the same direction{people}" if any(flags) else people


def _by_norms(bound: Sensitivity) -> str:
    known = [f"{bound.l1:.6g} in the l1 norm"] if bound.l1 is not None else []
    known += [f"{bound.l2:.6g} in the l2 norm"] if bound.l2 is not None else []
    if bound.linf is not None:
        known.append(f"{max(bound.linf) if isinstance(bound.linf, tuple) else bound.linf:.6g} in each number")
    over = f", over at most {bound.moving} numbers" if bound.moving is not None else ""
    return f"the answer by at most {' and '.join(known)}{over}"
