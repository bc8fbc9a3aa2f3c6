"""Run every benchmark and write the results.

    python bench/run.py                       all, full size: writes docs/results/bench.json, docs/benchmarks.md and
                                              the two tables of the README
    python bench/run.py --quick               small sizes, a smoke test: writes nothing in the repository
    python bench/run.py --only utility tables

Each benchmark runs in its own process, one after the other; one that fails is reported and does not stop the others.
With --only, the numbers of all other benchmarks in docs/results/bench.json are kept.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import page
from facts import facts
from marker import insert
from record import Benchmark, Line, Note, as_json, duration, from_json

ROOT = Path(__file__).resolve().parents[1]
os.environ["HUSH_CACHE"] = ""  # no calibration of an earlier run: searches are measured
#: In the order in which they run and are shown.
FILES = (
    "utility",
    "foundation",
    "accounting",
    "sampling",
    "tables",
    "peers",
    "learn",
    "learn_errors",
    "local",
    "latency",
    "explorer",
    "growth",
)
README_BUDGET = "epsilon = 1, delta = 1e-6"


def all_benchmarks() -> dict[str, tuple[str, Benchmark]]:
    """Every benchmark by its key, with the file it is in."""
    return {each.key: (name, each) for name in FILES for each in importlib.import_module(name).BENCHMARKS}


def measured(file: str, key: str, *, quick: bool) -> tuple[list[Line | Note], str | None]:
    """What one benchmark yields in its own process, shown as it comes; and why it failed, if it did."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lines.jsonl"
        command = [
            sys.executable,
            str(ROOT / "bench" / f"{file}.py"),
            "--only",
            key,
            "--out",
            str(out),
            *(["--quick"] if quick else []),
        ]
        done = subprocess.run(command, check=False, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        lines = [from_json(json.loads(line)) for line in out.read_text().splitlines()] if out.is_file() else []
    if done.returncode == 0:
        return lines, None
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return lines, said[-1] if said else f"it ended with code {done.returncode}"


def run(wanted: Sequence[tuple[str, Benchmark]], *, quick: bool) -> tuple[dict[str, list[Line | Note]], list[str]]:
    """All of them in turn, with the time that is left by the guesses so far; and the keys of those that failed."""
    found: dict[str, list[Line | Note]] = {}
    failed: list[str] = []
    start, guessed = time.perf_counter(), sum(each.minutes for _, each in wanted)
    for number, (file, each) in enumerate(wanted, 1):
        left = sum(later.minutes for _, later in wanted[number - 1 :])
        spent = (time.perf_counter() - start) / 60.0
        pace = spent / (guessed - left) if guessed - left > 1.0 and not quick else 1.0
        guess = "" if quick else f", about {left * pace:.0f} min left"
        print(f"\n[{number}/{len(wanted)}{guess}] {each.key}", flush=True)
        begun = time.perf_counter()
        lines, why = measured(file, each.key, quick=quick)
        if why is not None:
            failed.append(each.key)
            lines.append(Note(f"This benchmark did not finish: {why}"))
            print(f"  FAILED: {why}", flush=True)
        found[each.key] = lines
        print(f"  took {duration(time.perf_counter() - begun)}", flush=True)
    return found, failed


def stored(path: Path) -> tuple[dict[str, list[Line | Note]], dict[str, str]]:
    """The numbers of an earlier run, and where they were measured."""
    found: dict[str, list[Line | Note]] = {}
    kept = json.loads(path.read_text()) if path.is_file() else {"results": [], "environment": {}}
    for entry in kept["results"]:
        found.setdefault(entry["benchmark"], []).append(from_json(entry))
    return found, kept["environment"]


def write(
    root: Path, results: dict[str, list[Line | Note]], known: dict[str, str], *, quick: bool = False
) -> list[Path]:
    """The results file, the page, and the README's tables where it has the markers for them."""
    benchmarks = [each for _, each in all_benchmarks().values()]
    results = {each.key: results[each.key] for each in benchmarks if each.key in results}
    kept = root / "docs" / "results" / "bench.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join("  " + as_json(key, made) for key, several in results.items() for made in several)
    kept.write_text(f'{{"environment": {json.dumps(known, indent=1)},\n"results": [\n{lines}\n]}}\n')
    shown = root / "docs" / "benchmarks.md"
    shown.write_text(page.page(benchmarks, results, known, quick=quick))
    written, readme = [kept, shown], root / "README.md"
    tables = {
        "bench:utility": page.utility(results.get("utility", ()), README_BUDGET),
        "bench:speed": page.speed(results),
    }
    text = readme.read_text() if readme.is_file() else ""
    for name, made in tables.items():
        if f"<!-- {name} -->" in text:
            text = insert(text, name, made)
            written.append(readme)
        else:
            print(f"README.md has no markers <!-- {name} --> and <!-- /{name} -->: its table was left out")
    if readme in written:
        readme.write_text(text)
    return list(dict.fromkeys(written))


def _say(root: Path, written: Sequence[Path]) -> None:
    for path in written:
        print(f"wrote {path.relative_to(root)}")


def main(arguments: Sequence[str] | None = None) -> int:
    known = all_benchmarks()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test, not a result")
    parser.add_argument("--only", nargs="+", metavar="KEY", choices=list(known), help=", ".join(known))
    parser.add_argument("--data", help="folder of data sets for learn-errors (default: HUSH_DATA)")
    parser.add_argument(
        "--root", type=Path, help="write docs/ here (default: the repository; with --quick nothing is written)"
    )
    parser.add_argument(
        "--rewrite", action="store_true", help="measure nothing: write the pages anew from docs/results/bench.json"
    )
    options = parser.parse_args(arguments)
    if options.data:
        os.environ["HUSH_DATA"] = options.data
    root = options.root or (None if options.quick else ROOT)
    earlier, where = stored((root or ROOT) / "docs" / "results" / "bench.json")
    if options.rewrite:
        _say(root or ROOT, write(root or ROOT, earlier, where))
        return 0
    results, failed = run(
        [pair for key, pair in known.items() if not options.only or key in options.only], quick=options.quick
    )
    if root is not None:
        _say(root, write(root, {**(earlier if options.only else {}), **results}, facts(), quick=options.quick))
    print(
        f"{len(results) - len(failed)} of {len(results)} benchmarks finished"
        + (f"; failed: {', '.join(failed)}" if failed else "")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
