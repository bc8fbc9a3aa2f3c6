"""Progress is drawn on a terminal only, and leaves standard output alone."""

from __future__ import annotations

import pytest

from hush.releasing.progress import counting, working


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
    with working("finding [noise]") as show:
        show("adding [noise]")
        print("a result")
    out, err = capsys.readouterr()
    assert out == "a result\n" and "adding [noise]" in err and "0:00:0" in err


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
