"""The frame of the benchmarks: lines become JSON, JSON becomes pages, pages keep their place between markers. No
speed is asserted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import hush

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"
#: Files of the frame itself, and a study of its own with the page it writes: everything else must be run by
#: bench/run.py.
FRAME = {
    "journeys",
    "quantiles",
    "record",
    "marker",
    "page",
    "facts",
    "run",
    "environment",
    "learn_ball",
    "learn_page",
    "learn_peers",
    "museum",
    "learn_table",
    "learn_sets",
    "learn_wide",
    "learn_methods",
    "learn_classes",
    "learn_components",
    "learn_few",
    "learn_level",
    "learn_coverage",
    "learn_neighbours",
    "learn_rivals",
    "learn_libraries",
    "learn_tables",
    "learn_unseen",
    "coverage",
    "keys",
    "ledgers",
    "stream",
    "workload",
    "health",
    "synthetic",
    "adult",
}  # the last ones: measurements that are run by hand, and their data


@pytest.fixture
def frame(monkeypatch) -> SimpleNamespace:
    """The modules of the frame that need no benchmark to be loaded."""
    monkeypatch.syspath_prepend(str(BENCH))
    import environment
    import marker
    import page
    import record

    return SimpleNamespace(record=record, marker=marker, page=page, environment=environment)


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    folder = str(Path(hush.__file__).parents[1])
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=ROOT, env=known
    )


@pytest.fixture
def toy(frame):
    """A benchmark of two cells and a note."""

    def measure(quick: bool) -> Iterator[object]:
        yield frame.record.Note("A peer is not installed here.")
        yield frame.record.Line("small", "times the yardstick", 1.25, "times", "lower", extra="5 ms and 4 ms")
        if not quick:
            yield frame.record.Line("large", "times another", 1234567.0, "times", "higher")

    return frame.record.Benchmark("toy", "A toy", "nothing", "both sides are made up", "size", 0.1, measure)


def test_lines_survive_json_and_become_a_page(frame, toy, tmp_path, capsys):
    """What one file measures, another reads back and shows: rows, columns, empty cells, notes, texts, environment."""
    out = tmp_path / "lines.jsonl"
    assert frame.record.main([toy], ["--out", str(out)]) == 0
    assert "1.250 (5 ms and 4 ms)" in capsys.readouterr().out
    entries = [json.loads(line) for line in out.read_text().splitlines()]
    lines = [frame.record.from_json(entry) for entry in entries]
    assert lines == list(toy.measure(False)) and {entry["benchmark"] for entry in entries} == {"toy"}
    text = frame.page.page([toy], {"toy": lines}, {"cores": "2"})
    for part in (
        "## A toy",
        "Measures: nothing",
        "Fair because: both sides",
        "A peer is not installed",
        "| cores | 2 |",
    ):
        assert part in text
    assert "| size | times the yardstick | times another |" in text
    assert "| small | 1.250 (5 ms and 4 ms) |  |" in text and "| large |  | 1.23e+06 |" in text
    assert "--quick" not in text and "--quick" in frame.page.page([toy], {"toy": lines}, {}, quick=True)


def test_quick_and_only_reach_the_benchmark(frame, toy, capsys):
    assert frame.record.main([toy], ["--quick", "--only", "toy"]) == 0
    shown = capsys.readouterr().out
    assert "small" in shown and "large" not in shown
    with pytest.raises(SystemExit):
        frame.record.main([toy], ["--only", "another"])
    with pytest.raises(ValueError, match="better = 'more'"):
        frame.record.Line("a", "b", 1.0, "times", "more")


def test_text_goes_between_its_markers_and_nowhere_else(frame):
    page = "a\n<!-- bench:x -->\nold\n<!-- /bench:x -->\nb\n<!-- y -->\nold\n<!-- end -->\n"
    once = frame.marker.insert(page, "bench:x", r"new \1")
    assert once == page.replace("old", r"new \1", 1)
    assert frame.marker.insert(once, "bench:x", r"new \1") == once
    assert frame.marker.insert(page, "y", "new").endswith("<!-- y -->\nnew\n<!-- end -->\n")
    with pytest.raises(LookupError, match="bench:z"):
        frame.marker.insert(page, "bench:z", "new")


def test_the_readme_tables_pick_the_rows_and_the_better_noise_of_a_peer(frame):
    Line = frame.record.Line
    name = "epsilon = 1, delta = 1e-6, 3 groups"
    lines = [
        Line(name, "hush: variance", 17.83, "variance", "lower"),
        Line(name, "Peer, Laplace / hush", 3.0, "times", "higher"),
        Line(name, "Peer, Gaussian / hush", 2.0, "times", "higher"),
        Line("epsilon = 3, delta = 1e-6, 3 groups", "hush: variance", 99.0, "variance", "lower"),
    ]
    text = frame.page.utility(lines, "epsilon = 1, delta = 1e-6")
    assert "| 3 | 17.83 | 2.000 |" in text and "99" not in text
    assert "Nothing was measured" in frame.page.utility(lines, "epsilon = 2, delta = 1e-6")
    fast = {"learn_defaults": [Line("Ridge", "CPU time, times scikit-learn", 3.94, "times", "lower")]}
    shown = frame.page.speed(fast)
    assert "| task | compared with | speed" in shown and "| scikit-learn | takes 3.9 times as long |" in shown


def test_both_sides_take_turns(frame):
    """An alternated race sees ours, theirs, ours, theirs; its ratio is of the least times."""
    seen: list[str] = []
    made = frame.record.race(lambda: seen.append("ours"), lambda: seen.append("theirs"), 3)
    assert seen == ["ours", "theirs"] * 4  # one round warms up
    assert made.slower == pytest.approx(made.ours / made.theirs) and made.faster == pytest.approx(1.0 / made.slower)
    assert frame.record.exponent([1, 10, 100], [3.0, 300.0, 30_000.0]) == pytest.approx(2.0)
    lines = list(frame.record.growth("column", "size", [10, 1000], lambda size: size**0.5))
    assert [line.value for line in lines] == pytest.approx([1.0, 10.0, 0.5])
    late = list(frame.record.growth("column", "size", [1, 10, 100, 1000], lambda size: max(1.0, size / 100)))
    assert (
        late[-1].what == "growth exponent, upper half" and late[-1].value == pytest.approx(1.0) and late[-2].value < 0.5
    )


_LISTED = """
import json, sys
sys.path.insert(0, "bench")
import page, run
whole = run.all_benchmarks()
fields = "key title measures fair rows minutes".split()
listed = [[file, *(getattr(each, name) for name in fields)] for file, each in whole.values()]
file, one = whole["amounts"]
found, failed = run.run([("no_such_file", one), (file, one)], quick=True)
print(json.dumps([run.FILES, page.SPEED, listed, failed, [type(made).__name__ for made in found["amounts"]]]))
"""


def test_every_benchmark_is_run_and_says_what_and_why():
    """Every file of bench is part of the frame or exposes benchmarks that run.py finds; one that fails is told and
    stops nothing.
    """
    done = _run("-c", _LISTED)
    assert done.returncode == 0, done.stderr
    files, speed, found, failed, made = json.loads(done.stdout.splitlines()[-1])
    assert set(files) == {path.stem for path in BENCH.glob("*.py")} - FRAME
    assert {entry[0] for entry in found} == set(files)
    for _, key, title, measures, fair, rows, minutes in found:
        assert title and rows and len(measures) > 40 and len(fair) > 40, key
        assert 0.0 < minutes <= 10.0
    assert sum(entry[6] for entry in found) <= 30.0, "the guesses for a whole run: half an hour, as the Makefile says"
    assert {row[0] for row in speed} <= {entry[1] for entry in found}
    assert failed == ["amounts"] and "FAILED" in done.stdout and made == ["Line"], (
        "the first failed, the second still ran"
    )


def test_run_writes_results_page_and_readme(tmp_path):
    """`run.py --quick --only utility` in one go; hush is no larger than any rival, and the README's other text
    stays.
    """
    readme = tmp_path / "README.md"
    readme.write_text(
        "before\n<!-- bench:utility -->\nold\n<!-- /bench:utility -->\nafter\n"
        "<!-- bench:speed -->\n<!-- /bench:speed -->\n"
    )
    done = _run("bench/run.py", "--quick", "--only", "utility", "--root", str(tmp_path))
    assert done.returncode == 0, done.stderr + done.stdout
    kept = json.loads((tmp_path / "docs" / "results" / "bench.json").read_text())
    values = {(entry["what"], entry["against"]): entry["value"] for entry in kept["results"] if "value" in entry}
    one = "epsilon = 1, delta = 1e-6, 1 group"
    assert values[one, "hush: variance"] == pytest.approx(1.8413, abs=1e-4)
    assert 0.999 < values[one, "limit / hush"] <= 1.0
    rivals = {pair: value for pair, value in values.items() if pair[1] not in ("hush: variance", "limit / hush")}
    assert rivals and all(value >= 1.0 - 1e-12 for value in rivals.values())
    assert kept["environment"]["hush"] == hush.__version__ and int(kept["environment"]["cores"]) >= 1
    page = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert "## Noise of a grouped count" in page and "Fair because:" in page
    text = readme.read_text()
    assert (
        text.startswith("before\n<!-- bench:utility -->\n")
        and "old" not in text
        and "| 1 | 1.841 |" in text
        and "\nafter\n" in text
    )


def test_environments_are_told_apart(frame, monkeypatch, tmp_path):
    """diffprivlib is used from the environment named, from the one made for it once it is ready, or not at all."""
    monkeypatch.setenv(frame.environment.VARIABLE, "somewhere")
    assert frame.environment.diffprivlib_python() == "somewhere"
    monkeypatch.delenv(frame.environment.VARIABLE)
    monkeypatch.setattr(frame.environment, "APART", tmp_path)
    assert frame.environment.diffprivlib_python() is None
    (tmp_path / "ready").write_text("diffprivlib")
    assert frame.environment.diffprivlib_python() == str(frame.environment.python_of(tmp_path))
    why = frame.environment.install(Path(sys.executable), ["--no-index", "no-such-package-of-hush"])
    assert why is not None and "no-such-package-of-hush" in why


@pytest.mark.parametrize("key", ["curves", "sampling", "release", "learn-errors"])
def test_a_benchmark_that_needs_no_peer_runs_with_the_present_names(key, tmp_path):
    """The cheap benchmarks at their small sizes: a renamed argument or a moved package stops them."""
    done = _run("bench/run.py", "--quick", "--only", key, "--root", str(tmp_path))
    assert done.returncode == 0 and "1 of 1 benchmarks finished" in done.stdout, done.stdout + done.stderr
