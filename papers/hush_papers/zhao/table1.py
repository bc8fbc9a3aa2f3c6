"""Zhao, Table I: twelve papers, the amount of noise they used, the amount they needed, and their true delta."""

from __future__ import annotations

from dataclasses import dataclass

import hush
from hush_papers.item import Comparison, Context, Figure, Grid, Item, Series, claim, compare
from hush_papers.zhao.amounts import LABELS

__all__ = ["ROWS", "Row", "table1"]


@dataclass(frozen=True)
class Row:
    """One setting with its numbers as printed; the two slips say why a printed amount does not hold."""

    paper: str
    method: str
    epsilon: float
    delta: str
    used: str
    least: str
    used_slip: str = ""
    least_slip: str = ""


_SWAPPED = "the two least amounts of this row are printed in the wrong order"

ROWS = (
    Row("Imtiaz and Sarwate [12]", "dwork2014", 10.0, "0.01", "0.3108", "0.3501"),
    Row("Liu et al. [13]", "dwork2014", 6.0, "0.1", "0.3746", "0.3813"),
    Row("Liu et al. [13]", "dwork2014", 10.0, "0.1", "0.2248", "0.2818"),
    Row("Wang et al. [14]", "dwork2014", 8.87, "1e-5", "0.5462", "0.5172", least_slip=_SWAPPED),
    Row("Wang et al. [14]", "dwork2014", 9.59, "1e-5", "0.5052", "0.5513", least_slip=_SWAPPED),
    Row("Ermis and Cemgil [15]", "dwork2014", 10.0, "1e-2", "0.3108", "0.3501"),
    Row("Ermis and Cemgil [15]", "dwork2014", 10.0, "1e-5", "0.4845", "0.4999"),
    Row("Liu et al. [16]", "dwork2014", 8.0, "1e-1", "0.2809", "0.3215"),
    Row("Imtiaz and Sarwate [17]", "dwork2014", 10.0, "1e-2", "0.3108", "0.3501"),
    Row("Jälkö et al. [7]", "dwork2014", 10.0, "1e-3", "0.3776", "0.4061"),
    Row("Heikkilä et al. [8]", "dwork2014", 10.0, "1e-4", "0.4344", "0.1976", least_slip=_SWAPPED),
    Row(
        "Heikkilä et al. [8]",
        "dwork2014",
        31.62,
        "1e-4",
        "0.1374",
        "0.4553",
        least_slip=_SWAPPED + ", and 0.1976, which should be this one, is wrong",
    ),
    Row(
        "Imtiaz and Sarwate [18]",
        "dwork2006",
        10.0,
        "1e-2",
        "0.3325",
        "0.3501",
        used_slip="a slip of a digit: the formula gives 0.3255",
    ),
    Row("Pyrgelis et al. [19]", "dwork2006", 10.0, "1e-1", "0.2448", "0.2818"),
    Row("Wang et al. [21]", "dwork2006", 10.0, "1e-1", "0.2448", "0.2818"),
    Row(
        "Jain and Thakurta [20]",
        "dwork2006",
        10.0,
        "1e-3",
        "0.3898",
        "0.4061",
        used_slip="cut off, not rounded: 0.389895",
    ),
)


def _check(row: Row) -> hush.gaussian.Check:
    amount = hush.gaussian.sigma(row.epsilon, float(row.delta), method=row.method, allow_invalid=True)
    return hush.gaussian.check(row.epsilon, float(row.delta), amount)


def _compared(row: Row, found: hush.gaussian.Check) -> list[Comparison]:
    at = f"{row.paper}, epsilon = {row.epsilon:g}, delta = {row.delta}"
    short = f"the noise used is {found.sigma / found.sigma_needed:.3f} of what the claim needs"
    return [
        compare(
            f"{at}: {LABELS[row.method]} amount used",
            row.used,
            found.sigma,
            function="hush.gaussian.sigma",
            why=row.used_slip,
        ),
        compare(
            f"{at}: least amount", row.least, found.sigma_needed, function="hush.gaussian.sigma", why=row.least_slip
        ),
        claim(
            f"{at}: delta really given",
            f"> {row.delta}",
            found.true_delta,
            holds=not found.private,
            function="hush.gaussian.check",
            why=short,
        ),
    ]


def table1(context: Context) -> Item:
    """Table I."""
    found = [_check(row) for row in ROWS]
    compared = [c for row, one in zip(ROWS, found, strict=True) for c in _compared(row, one)]
    cells = tuple(
        (
            row.paper,
            LABELS[row.method],
            row.epsilon,
            float(row.delta),
            one.sigma,
            one.sigma_needed,
            one.true_delta,
            one.true_pdp_delta,
        )
        for row, one in zip(ROWS, found, strict=True)
    )
    head = ("paper", "amount", "epsilon", "claimed delta", "sigma used", "sigma needed", "true delta", "true pDP delta")
    picture = _claimed_and_given(found)
    text = (
        "Twelve papers used a Dwork amount at an epsilon where it is too small, sensitivity 1. The statement of the "
        "table holds in every row: the true delta is larger than the claimed one. Two rows have their least amounts "
        "swapped, one of which is also wrong, and two amounts used are misprinted. The last column is ours: the "
        "delta for probabilistic privacy."
    )
    return Item(
        "zhao-table1",
        "Table I",
        "Misuse of the classical amounts",
        text,
        tuple(compared),
        (picture,),
        (Grid(head=head, caption="Table I, recomputed", rows=cells),),
    )


def _claimed_and_given(found: list[hush.gaussian.Check]) -> Figure:
    lines = []
    for method in ("dwork2014", "dwork2006"):
        points = sorted(
            {(float(r.delta), f.true_delta) for r, f in zip(ROWS, found, strict=True) if r.method == method}
        )
        lines.append(Series(LABELS[method], [x for x, _ in points], [y for _, y in points], points=True))
    lines.append(Series("as claimed", [5e-6, 0.2], [5e-6, 0.2], dashed=True))
    return Figure(
        "zhao-table1",
        "Table I: what the twelve papers claimed and what they gave",
        "claimed delta",
        "delta really given",
        tuple(lines),
        "Every point lies above the dashed line of equality: for 1e-5 by a factor of up to 2.5, and at claimed delta "
        "1e-4 one point, epsilon 31.62, is near 0.2.",
        log_x=True,
        log_y=True,
    )
