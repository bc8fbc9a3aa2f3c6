"""Text tables, paragraphs and notebook tables: exact text, whatever the terminal is."""

from __future__ import annotations

import random

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


@pytest.mark.parametrize("seed", range(200))
def test_the_quick_way_makes_the_same_table(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of plain characters are aligned without rich, to the same text."""
    chance = random.Random(seed)
    count = chance.randint(0, 4)

    def line() -> list[str]:
        return ["".join(chance.choices("ab 1,#[]|%", k=chance.randint(0, 8))) for _ in range(count)]

    heads, rows = line() if seed % 3 else [], [line() for _ in range(chance.randint(0, 4))]
    given = {"right": set(chance.sample(range(count), count // 2)), "indent": seed % 3}
    quick = text_table(heads, rows, **given)
    monkeypatch.setattr("hush.releasing.text._is_simple", lambda cell: False)
    assert text_table(heads, rows, **given) == quick


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
