"""docs/papers.md agrees with the report: this file writes its three tables, and checks them against the report."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from hush_papers.catalogue import PAPERS, paper
from hush_papers.item import VERDICTS, Item
from hush_papers.overview import counts

from papers import pins

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"
Items = dict[str, dict[str, Item]]

#: paper, item, start of the quantity's name, the finding
FINDINGS = (
    (
        *("zhao", "zhao-table1", "Heikkilä et al. [8], epsilon = 31.62, delta = 1e-4: delta really given"),
        "All sixteen settings of Table I have a larger delta than claimed; the worst claims a delta of 1e-4",
    ),
    (
        *(
            "zhao",
            "zhao-section5",
            "Section V iii): epsilon up to which Mechanism 1 is below Dwork-2014, delta = 1e-05",
        ),
        "Mechanism 1 does not stay below the classical amount up to the epsilon where that stops being private",
    ),
    (
        *("zhao", "zhao-tables", "Table II: Mechanism 1 over DP-OPT, largest of six points"),
        "Mechanism 1 is not close to the optimum for small epsilon: it grows without bound there, the optimum does not",
    ),
    (
        *("osgt", "osgt-fig5", "superior zCDP; exact divergence is smaller from order"),
        "OSGT's Renyi divergence is above that of the Gaussian of its variance at small orders",
    ),
    (
        *("osgt", "osgt-conjecture", "exact OSGT/Gaussian, "),
        "The conjecture that delta may be smaller in several dimensions holds for small delta and few coordinates, "
        "but not for many coordinates or moderate delta",
    ),
    (
        *("osgt", "osgt-fig6", "(21) at epsilon = 0.9, best order"),
        "The printed bound of Fig. 6 does not use the best order; the exact delta, which the paper could not "
        "compute, is smaller than both",
    ),
    (
        *("flipped_huber", "fh-table2", "flipped Huber, epsilon = 0.2: least variance by Theorem 8"),
        "Table II does not hold at its delta, 1e-8: flipped Huber noise of the printed variances has a delta of at "
        "least 6e-7 to 1e-6",
    ),
    (
        *("flipped_huber", "fh-fig4", "K = 5, epsilon = 0.3: least variance, exact condition"),
        "The printed optimum for five coordinates is impossible; the true optimum is nearly Laplace noise",
    ),
    (
        *("flipped_huber", "fh-fig3a", "OSGT variance, epsilon = 0.3, infimum"),
        "The OSGT noise in the comparison was not optimised: the best one needs the same variance as flipped Huber "
        "noise",
    ),
    (
        *("sas", "sas-equal-epsilon", "Sec. I: distortion compared with Laplace noise"),
        "At equal epsilon, which the paper never computes, the best stable noise has a larger error than Laplace noise",
    ),
    (
        *("newer", "newer-rank-one", "M = 100, epsilon = 1"),
        "The published calibration of rank-1 Gaussian noise (Ji and Li 2024) is not private",
    ),
)


#: 45222 and 15, which no other comparison of that paper prints
_PRINTED_IN_FIG5 = 2


def _pinned_verdicts(item: str) -> Counter[str]:
    with Path(__file__).with_name("expected_zhao.csv").open(newline="") as file:
        return Counter(row["verdict"] for row in csv.DictReader(file) if row["item"] == item)


def counted(items: Items) -> str:
    """Verdicts by paper, as a table; an item without its data has the pinned verdicts."""
    rows = [
        f"| paper | items | comparisons | distinct printed numbers | {' | '.join(VERDICTS)} |",
        "|---|---|---|---|---|---|---|",
    ]
    total = Counter()
    for key in PAPERS:
        number, compared, printed, *verdicts = counts(items[key].values())
        if key == "zhao" and not items[key]["zhao-fig5"].comparisons:
            missing = _pinned_verdicts("zhao-fig5")
            printed += _PRINTED_IN_FIG5
            compared, verdicts = (
                compared + missing.total(),
                [n + missing[v] for n, v in zip(verdicts, VERDICTS, strict=True)],
            )
        line = (number, compared, printed, *verdicts)
        total.update(dict(enumerate(line)))
        rows.append(f"| {paper(key).title} | {' | '.join(map(str, line))} |")
    rows.append(f"| **all** | {' | '.join(str(total[n]) for n in range(6))} |")
    return "\n".join(rows)


def found(items: Items) -> str:
    """The findings with their numbers, as a table."""
    rows = ["| finding | quantity in the report | published | ours | verdict |", "|---|---|---|---|---|"]
    for key, item, start, text in FINDINGS:
        (c,) = [c for c in items[key][item].comparisons if c.what.startswith(start)]
        rows.append(f"| {text} | {c.what} | {c.published} | {c.ours:.4g} | {c.verdict} |")
    return "\n".join(rows)


#: heads of the table about joint noise, after the printed value
JOINT = ("best independent", "cube", "limit of any noise", "counts: interval", "counts: limit")


def several(items: Items) -> str:
    """One budget of each result for several numbers, as a table: variances as printed, and those of joint noise."""
    rows = [f"| result | budget | the paper's | {' | '.join(JOINT)} |", "|---|---|---|---|---|---|---|---|"]
    six, four, two = (
        [dict(zip(grid.head, row, strict=True)) for grid in item.grids for row in grid.rows]
        for item in items["joint"].values()
    )
    last = {(row["noise"], row["the numbers move"]): row["variance for the budget"] for row in six}
    both, one = "up or down", "in one direction"
    names = (("best independent", both), ("cube, joint", both), ("limit of any noise", both))
    names += (("interval, joint", one), ("limit of any noise", one))
    variances = [last["OSGT, paper's bound (21)", both], *(last[name] for name in names)]
    lines = [("OSGT, Fig. 6, K = 8 | (0.9, 1.44e-14)", variances)]
    (five,) = [row for row in four if (row["K"], row["epsilon"]) == (5, 0.3)]
    (twenty,) = [row for row in two if row["epsilon"] == 1.0]
    for start, row in (("Fig. 4, K = 5 | (0.3, 1e-8)", five), ("Table II, K = 20 | (1, 1e-8)", twenty)):
        lines.append((f"flipped Huber, {start}", [row["flipped Huber, printed"], *(row[name] for name in JOINT)]))
    rows += [f"| {start} | {' | '.join(f'{value:.4g}' for value in values)} |" for start, values in lines]
    return "\n".join(rows)


def written(page: str, items: Items) -> str:
    for name, table in (("counts", counted(items)), ("findings", found(items)), ("joint", several(items))):
        head, rest = page.split(f"<!-- {name} -->")
        page = f"{head}<!-- {name} -->\n\n{table}\n\n<!-- /{name} -->{rest.split(f'<!-- /{name} -->')[1]}"
    return page


def test_the_page_agrees_with_the_report(built):
    page = PAGE.read_text()
    assert written(page, built.items) == page, (
        "PYTHONPATH=src:tests python tests/papers/test_docs_page.py writes the tables"
    )


def test_a_changed_number_would_be_noticed(built):
    page = PAGE.read_text()
    assert written(page.replace("| 555.5 |", "| 555.6 |"), built.items) == page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), {key: pins.quick_items(paper(key)) for key in PAPERS}))
