"""Write the measured tables into docs/learn_results.md, between its markers.

    python bench/learn_page.py            uses stored runs, and computes the savings table again

The runs come from `python -m hush_papers.flipped_huber.table3 --data FOLDER --out
papers/hush_papers/flipped_huber/table3.jsonl` (about 20 minutes on one core) and from `python bench/learn_rivals.py
--data FOLDER --out docs/results/learn_rivals.jsonl` (about ten minutes), with `--part unseen` to
learn_rivals_unseen.jsonl, with `--part one` to learn_rivals_one.jsonl and `--part dense --seeds 20` to
learn_rivals_dense.jsonl.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import learn_tables
from hush_papers.flipped_huber.table3 import KINDS, PUBLISHED, stored
from marker import insert, table
from record import Line, from_json

import hush
from hush.learn import zcdp

ROOT = Path(__file__).resolve().parents[1]
PAGE, RESULTS = ROOT / "docs" / "learn_results.md", ROOT / "docs" / "results"
TITLES = {
    "houses": "Houses",
    "wine": "Wine",
    "pumpkin": "Pumpkin",
    "heart": "Heart",
    "california": "California",
    "boston": "Boston",
    "airfoil": "Airfoil",
    "diabetes": "Diabetes",
}


def _read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def savings() -> str:
    """Variance per update for sensitivity 1: exact accounting against the paper's route, for the two noises of the
    paper, and the best.
    """
    rows = []
    for epsilon, delta in ((1.0, 1e-6), (1.0, 1e-8)):
        for times in (1, 5, 10, 13, 20, 50, 100, 500):
            plain = {
                name: getattr(zcdp, name)(epsilon, delta, times).variance for name in ("gaussian", "flipped_huber")
            }
            exact = {name: hush.calibrate(epsilon, delta, family=name, times=times).variance for name in plain}
            best = hush.calibrate(epsilon, delta, times=times)
            saved = [f"{100.0 * (1.0 - exact[name] / plain[name]):.1f} %" for name in plain]
            row = [f"{delta:g}", str(times), f"{plain['gaussian']:.4g}", f"{exact['gaussian']:.4g}", saved[0]]
            row += [f"{plain['flipped_huber']:.4g}", f"{exact['flipped_huber']:.4g}", saved[1]]
            rows.append([*row, f"{best.variance / exact['gaussian']:.4f} ({best.family})"])
    head = [
        "delta",
        "updates T",
        "Gaussian, zCDP",
        "exact",
        "saved",
        "flipped Huber, zCDP",
        "exact",
        "saved",
        "best noise / exact Gaussian",
    ]
    return table(head, rows)


def _by_set() -> dict[str, dict[str, dict]]:
    found: dict[str, dict[str, dict]] = {}
    for row in _read(stored()):
        found.setdefault(row["name"], {})[row["kind"]] = row
    return {name: found[name] for name in TITLES if name in found}


def _short(value: float) -> str:
    return f"{value:.3g}"


def table3() -> str:
    rows = []
    for name, kinds in _by_set().items():
        printed = " / ".join(_short(pair[0]) for pair in PUBLISHED[name])
        cells = [
            f"{_short(kinds[kind]['squared_error'])} ({_short(kinds[kind]['fresh_squared_error'])})"
            for kind, _, _ in KINDS
        ]
        rows.append([TITLES[name], printed, *cells])
    return table(["set", "published: Gaussian / flipped Huber", *(kind for kind, _, _ in KINDS)], rows)


def test_errors() -> str:
    rows = []
    for name, kinds in _by_set().items():
        printed = " / ".join(f"{pair[1]:.4f}" for pair in PUBLISHED[name])
        cells = [
            f"{kinds[kind]['fresh_test_error']:.3f} ± {kinds[kind]['fresh_deviation']:.3f}" for kind, _, _ in KINDS
        ]
        rows.append([TITLES[name], printed, f"{next(iter(kinds.values()))['exact_error']:.3f}", *cells])
    return table(["set", "published: Gaussian / flipped Huber", "not private", *(kind for kind, _, _ in KINDS)], rows)


def chosen() -> str:
    """How often the best flipped Huber noise of the zCDP accounting was Gaussian."""
    kinds = [row for row in _read(stored()) if row["kind"] == "flipped Huber, zCDP"]
    gaussian = sum(row["family"] == "Gaussian" for row in kinds)
    pairs = (
        ("flipped Huber, zCDP", "Gaussian, zCDP"),
        ("Gaussian, exact", "Gaussian, zCDP"),
        ("flipped Huber, exact", "Gaussian, exact"),
        ("auto, exact", "Gaussian, exact"),
        ("auto, exact", "Gaussian, zCDP"),
    )
    sets, rows = _by_set(), []
    for first, second in pairs:
        cells = []
        for key in ("fresh_squared_error", "squared_error"):
            ratios = [kinds_of[first][key] / kinds_of[second][key] for kinds_of in sets.values()]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            cells.append(f"{mean:.3f}, {sum(r < 1.0 for r in ratios)} of {len(ratios)}")
        rows.append([f"{first} / {second}", *cells])
    head = ["squared error ratio: geometric mean, and on how many sets below 1", "fresh trials", "best of the grid"]
    return (
        f"On {gaussian} of {len(kinds)} sets the flipped Huber noise of the zCDP accounting was the Gaussian at the "
        "chosen point.\n\n" + table(head, rows)
    )


def rivals() -> str:
    """The default beside published methods: geometric means, missed bars, and every cell."""
    lines = _read(RESULTS / "learn_rivals.jsonl")
    bars = "; ".join(learn_tables.missed(lines)) or "none"
    told = (
        "Cells in which hush has more than 1.10 times the error of the best rival by more than a standard error, or "
        f"more than 1.02 times that of no features: {bars}."
    )
    return "\n\n".join([learn_tables.ratios(lines), told, learn_tables.cells(lines)])


def unseen() -> str:
    """The same on sets that had no part in the choice of constants: geometric means, missed bars, the worst cells."""
    lines = _read(RESULTS / "learn_rivals_unseen.jsonl")
    tasks = len({line["set"] for line in lines})
    splits = " and ".join(str(count) for count in sorted({len(line["errors"]["hush"]) for line in lines}))
    bars = "; ".join(learn_tables.missed(lines)) or "none"
    told = (
        f"{tasks} tasks, {splits} splits. Cells that miss a bar, with the same bars as above: {bars}. The eight cells "
        "with the largest ratio to the best rival:"
    )
    return "\n\n".join([learn_tables.ratios(lines), told, learn_tables.worst(lines, 8)])


def one_column() -> str:
    """Single columns beside OpenDP."""
    return learn_tables.columns(_read(RESULTS / "learn_rivals_one.jsonl"), ("hush", "OpenDP", "no features"))


def dense() -> str:
    """Many independent columns."""
    names = ("hush", "row-clipped GD", "row-clipped GD, 10 steps", "boosted AdaSSP")
    return learn_tables.excesses(_read(RESULTS / "learn_rivals_dense.jsonl"), names)


def _measured(benchmark: str) -> list[Line]:
    """The lines of one benchmark in the last whole run of all of them."""
    path = RESULTS / "bench.json"
    if not path.is_file():
        raise SystemExit(f"{path.relative_to(ROOT)} is missing: run `make bench` first.")
    stored = json.loads(path.read_text())["results"]
    return [line for one in stored if one["benchmark"] == benchmark and isinstance(line := from_json(one), Line)]


def speed() -> str:
    """Fits with default options."""
    head = ["model", "times scikit-learn", "hush and scikit-learn"]
    return table(head, [[line.what, f"{line.value:.1f}", line.extra] for line in _measured("learn_defaults")])


def speed_of_descents() -> str:
    """Fits by solvers that are not the default."""
    return table(["model", "times scikit-learn"], [[line.what, f"{line.value:.1f}"] for line in _measured("learn")])


def tables() -> str:
    """Logistic fits over Parquet files: the last run of every size."""
    stored = {(line["rows"], line["columns"]): line for line in _read(RESULTS / "learn_table.jsonl")}
    rows = []
    for (count, columns), line in sorted(stored.items()):
        ours, squares, sums = (line[f"{name}_cpu_seconds"] for name in ("fit", "sums_and_squares", "sums"))
        row = [
            f"{count:,} x {columns}",
            str(line["passes"]),
            f"{ours:.0f} s",
            f"{squares:.1f} s",
            f"{ours / squares:.0f}",
        ]
        row += [f"{ours / sums:.0f}", f"{line['peak_mib']} MiB", f"{line['peak_before_fit_mib']} MiB"]
        rows.append([*row, f"{line['temporary_file_gb']:.1f} GB"])
    head = ["rows x columns", "gradients", "fit", "sums and squares", "fit / sums and squares", "fit / sums alone"]
    return table([*head, "largest memory", "before the fit", "temporary file"], rows)


def main() -> int:
    text = PAGE.read_text()
    for made in (
        savings,
        table3,
        test_errors,
        chosen,
        rivals,
        unseen,
        one_column,
        dense,
        speed,
        speed_of_descents,
        tables,
    ):
        text = insert(text, made.__name__, made())
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
