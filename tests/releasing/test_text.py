"""Text tables, paragraphs and notebook tables: exact text, whatever the terminal is."""

from __future__ import annotations

import pytest

from hush.releasing.text import fact_lines, html_table, text_table, wrapped


def test_columns_are_aligned_and_nothing_is_interpreted() -> None:
    """Square brackets are no markup, leading spaces are kept, and a wide character takes two columns."""
    assert text_table(["name", "n"], [["[red]a", "1"], ["日本", "20"]], right={1}) == [
        "name     n",
        "[red]a   1",
        "日本    20",
    ]
    assert text_table((), [["  a", "b"], ["c", ""]], indent=2) == ["    a  b", "  c"]
    assert text_table(["a", "b"], []) == ["a  b"] and text_table((), []) == []


def test_a_table_does_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["word " * 60, "1"]]
    plain = text_table(["text", "n"], rows)
    for name, value in (("COLUMNS", "20"), ("FORCE_COLOR", "1"), ("TERM", "dumb"), ("NO_COLOR", "")):
        monkeypatch.setenv(name, value)
        assert text_table(["text", "n"], rows) == plain
    assert len(plain) == 2 and plain[1].endswith("1")


def test_paragraphs_have_100_columns_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = wrapped("word " * 60, hang=4)
    assert 95 <= max(map(len, lines)) <= 100 and all(line.startswith("    ") for line in lines[1:])
    assert fact_lines([("noise", "Laplace")]) == ["noise:     Laplace"]


def test_a_notebook_table_is_escaped() -> None:
    made = html_table(["<a>", "b", "c"], [["1", "2", "&"]], [("x", "<script>")])
    assert "<script" not in made and "&lt;script&gt;" in made and "colspan=2" in made and "&amp;" in made
