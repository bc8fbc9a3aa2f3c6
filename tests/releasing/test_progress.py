"""Progress is drawn on a terminal only, and leaves standard output alone."""

from __future__ import annotations

import time

import pytest

from hush.releasing.progress import _LateLine, counting, working


def test_nothing_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    with working("start") as show, working(otherwise=heard.append) as tell, counting("drawing", 10) as count:
        show("one")
        tell("two")
        count(5)
    assert capsys.readouterr() == ("", "") and heard == ["two"]


def test_a_terminal_shows_the_text_and_the_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("hush.releasing.progress._SOON", 0.01)
    err, until = "", time.monotonic() + 60.0
    with working("finding [noise]") as show:
        show("adding [noise]")
        print("a result")
        while "adding [noise]" not in err and time.monotonic() < until:
            time.sleep(0.01)
            out, more = capsys.readouterr()
            err += more
            assert out in ("a result\n", "")
    err += capsys.readouterr().err
    assert "adding [noise]" in err and "0:00:0" in err


def test_quick_work_is_not_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that nobody can read is not drawn: quick work loads no display and leaves no thread."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("hush.releasing.progress._SOON", 3600.0)
    with working("finding noise") as show:
        show("adding noise")
    assert capsys.readouterr() == ("", "")


def test_a_line_that_has_not_begun_when_the_work_ends_never_begins(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = _LateLine("finding noise")
    line.end()
    line.begin()
    assert line.live is None and capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("total", "shown"), [(4, "pass 4 of 4"), (None, "pass 4")])
def test_a_kept_bar_is_printed_also_without_a_terminal(
    total: int | None, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with counting("Ridge", total, noun="pass", keep=True) as count:
        count(2)
        count(4)
    out, err = capsys.readouterr()
    assert out == "" and err.endswith(f"{shown}\n") and err.count("\n") == 1


def test_the_line_is_ended_when_the_work_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        with counting("Ridge", 4, noun="pass", keep=True) as count:
            count(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert capsys.readouterr().err.endswith("pass 1 of 4\n")
