"""The column "published" holds what is printed: numbers, formulas, and words only as quotations that are found in the
source.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXTS = Path(__file__).resolve().parents[3] / "shared" / "papers"
#: report -> how the texts of its sources begin; the slides belong to OSGT, and "beyond" quotes the flipped Huber paper
SOURCES = {"osgt": ("000", "002"), "zhao": ("001",), "sas": ("003",), "flipped_huber": ("004",), "beyond": ("004",)}
#: all that formulas and places are made of; any other word is prose
FORMULA = {
    *(
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "eps",
        "sigma",
        "zeta",
        "rho",
        "omega",
        "eta",
        "theta",
        "Delta",
        "Gamma",
        "Theta",
        "Phi",
    ),
    *("sqrt", "exp", "log", "sin", "sinh", "sgn", "int", "min", "max", "infinity", "zCDP", "App"),
}
#: letters that the extraction writes in several ways
GREEK = (
    (r"\\varepsilon|\\epsilon|[\u03f5\u01eb\u03b5]", "epsilon"),
    (r"\\delta|\u03b4", "delta"),
    (r"\\alpha|\u03b1", "alpha"),
    (r"\\gamma|\u03b3", "gamma"),
    (r"\\sigma|\u03c3", "sigma"),
)


def plain(text: str) -> str:
    """The text without broken words, markup, spaces and capitals, which an extraction may change."""
    text = re.sub(r"-\n", "", text)
    for pattern, name in GREEK:
        text = re.sub(pattern, name, text)
    return re.sub(r"[$*{}\\]|\s+", "", text).lower()


def published(built) -> list[tuple[str, str, str]]:
    return [
        (key, c.what, c.published)
        for key, items in built.items.items()
        for item in items.values()
        for c in item.comparisons
    ]


def test_words_are_in_quotation_marks(built):
    for key, what, text in published(built):
        assert text.count('"') % 2 == 0 and text.strip(), (key, what)
        prose = set(re.findall(r"[^\W\d_]{3,}", re.sub(r'"[^"]*"', "", text))) - FORMULA
        assert not prose, (key, what, text)


def test_quotations_are_found_in_the_source(built):
    if not TEXTS.is_dir():
        pytest.skip("the texts of the papers are not here: put shared/papers beside the repository")
    sources = {
        key: [plain(path.read_text()) for start in starts for path in TEXTS.glob(f"{start}_*.txt")]
        for key, starts in SOURCES.items()
    }
    quoted = {
        (key, words)
        for key, _, text in published(built)
        for words in re.findall(r'"([^"]*)"', text)
        if key != "newer"  # quotations of abstracts, whose texts are not among the sources
    }
    assert len(quoted) >= 50 and all(sources.values())
    assert not [
        (key, words) for key, words in sorted(quoted) if not any(plain(words) in source for source in sources[key])
    ]


def test_a_changed_word_would_be_seen():
    source = plain("the OSGT mechanism may achieve\nsmaller $\\delta(\\varepsilon)$ than the Gaus-\nsian mechanism")
    assert plain("may achieve smaller delta(epsilon) than the Gaussian mechanism") in source
    assert plain("will achieve smaller delta(epsilon)") not in source
