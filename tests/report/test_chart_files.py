"""Charts as files, without a browser; pages that open in one, without a network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser import visit

import hush
from hush import report
from hush.cli import main

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
SOURCE = Path(hush.__file__).parents[1]


@pytest.fixture(scope="module")
def chart() -> Any:
    return report.curve_chart({"a </script><b>": hush.Gaussian(4.0), "<!--<script>": hush.Laplace(1.0)})


def test_png_and_svg(chart: Any, tmp_path: Path) -> None:
    picture = report.save_chart(chart, tmp_path / "x.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 20_000
    width = int.from_bytes(picture[16:20], "big")
    assert width > 1000, "twice the resolution of a screen"
    drawing = report.save_chart(chart, tmp_path / "x.svg").read_text()
    assert drawing.count("<path") > 10 and "epsilon: the privacy loss allowed" in drawing and "#0072B2" in drawing
    chart.save(str(tmp_path / "own.svg"))  # Altair's own way works too
    assert (tmp_path / "own.svg").stat().st_size > 5000


def test_the_page_opens_offline_and_is_described(chart: Any, tmp_path: Path) -> None:
    page = report.save_chart(chart, tmp_path / "x.html")
    with visit(page.as_uri()) as seen:
        seen.page.wait_for_selector("#chart svg")
        assert seen.messages == [] and seen.requests == [page.as_uri()]
        assert seen.page.title() == "Privacy curves"
        label = seen.page.get_attribute("#chart", "aria-label")
        assert "falls from" in label
        assert seen.page.locator("#chart svg text", has_text="a </script><b>").count() >= 1
        assert seen.page.locator("#chart svg text", has_text="<!--<script>").count() >= 1


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("x.gif", "ends in .png, .svg or .html"),
        (3, "path must be"),
        ("nowhere/x.png", "the folder nowhere does not exist"),
        ("", "path must be"),
    ],
)
def test_a_bad_path_is_one_sentence(chart: Any, path: Any, words: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=words):
        report.save_chart(chart, path)


def test_a_chart_is_never_written_over_a_ledger(chart: Any, tmp_path: Path) -> None:
    place = tmp_path / "l.svg"
    hush.Ledger(place, epsilon=1.0, delta=1e-6).close()
    before = place.read_bytes()
    with pytest.raises(hush.InvalidParameter, match="is a ledger or another database"):
        report.save_chart(chart, place)
    assert place.read_bytes() == before


def test_what_is_no_chart_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hush.InvalidParameter, match="chart must be"):
        report.save_chart(hush.Gaussian(1.0), tmp_path / "x.png")


def test_a_missing_extra_is_the_command_that_installs_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['altair'] = None; sys.modules['vl_convert'] = None\n"
        "import hush\n"
        "for draw in (hush.report.curve_chart, hush.report.density_chart):\n"
        "    try: draw(hush.Gaussian(1.0))\n"
        "    except hush.MissingExtra as failure: print(failure)\n"
        "print(hush.report.statement(hush.Ledger(None, epsilon=1.0, delta=0)).title)\n"  # a statement needs no extra
    )
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(SOURCE)},
    )
    said = "a chart needs Altair, which is not installed; write: pip install 'hush[charts]'."
    assert shown.stdout.splitlines() == [said, said, "Privacy statement: a ledger in memory"]


def test_the_command_line_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    curve, ranking = tmp_path / "c.svg", tmp_path / "r.svg"
    assert (
        main(["curve", "--family", "gaussian", "--sigma", "4", "--delta", "1e-6", "--plot", str(curve), "--json"]) == 0
    )
    found = capsys.readouterr()
    assert json.loads(found.out)["points"] and "the chart is in" in found.err and "<svg" in curve.read_text()
    assert main(["calibrate", "--epsilon", "1", "--delta", "1e-6", "--family", "laplace", "--plot", str(ranking)]) == 0
    assert "laplace" in ranking.read_text() and "the chart is in" in capsys.readouterr().err
    assert main(["curve", "--family", "gaussian", "--sigma", "4", "--plot", "x.gif"]) == 2
    assert (
        capsys.readouterr().err
        == "hush: path must be a file name that ends in .png, .svg or .html, got 'x.gif'; write 'chart.png'.\n"
    )


def test_a_bad_plot_of_an_answer_spends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, ledger = tmp_path / "visits.csv", tmp_path / "l.ledger"
    source.write_text("person,ward\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(50)))
    hush.Ledger(ledger, epsilon=3.0, delta=1e-5).close()
    ask = [
        "answer",
        str(source),
        "--unit",
        "person",
        "--by",
        "ward",
        "--keys",
        "a,b",
        "--groups-per-unit",
        "1",
        "--count",
    ]
    ask += ["--epsilon", "1", "--delta", "1e-6", "--family", "laplace", "--ledger", str(ledger)]
    assert main([*ask, "--plot", str(tmp_path / "x.gif")]) == 2
    with hush.Ledger(ledger) as found:
        assert found.entries == ()
    assert main([*ask, "--plot", str(tmp_path / "x.svg")]) == 0
    assert "95 % noise intervals" in (tmp_path / "x.svg").read_text()
    with hush.Ledger(ledger) as found:
        assert len(found.entries) == 1
