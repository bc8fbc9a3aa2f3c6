"""Is a text plain? Short sentences, known words, no formulas: for texts that people without mathematics read."""

from __future__ import annotations

import re
from html.parser import HTMLParser

__all__ = ["complaints", "page_text"]

#: The longest sentence, and the longest sentence on average, in words.
LONGEST, AVERAGE = 28, 17
#: Words for specialists, and words of offices and of other times.
HARD = frozenset(
    re.findall(
        r"\S+",
        "adversary aforementioned asymptotic convex distribution-free divergence e.g. herein hereby heretofore i.e. "
        "i.i.d. iid infimum inter l0 l1 l2 leverage linf lipschitz marginalise "
        "monotone norm notwithstanding orthogonal parametrise post-processing quantile rényi semantics stochastic "
        "supremum thereof thus utilise utilize viz whence whereby wherein whoever zcdp ",
    )
)
_BLOCKS = {"p", "li", "td", "th", "h1", "h2", "h3", "summary", "label", "legend", "caption", "span", "div", "button"}


class _Text(HTMLParser):
    """The text of a page, each block as a sentence of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.quiet = 0

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.quiet += tag in ("script", "style", "code", "pre", "title")
        self.parts.append("\n" if tag in _BLOCKS else "")

    def handle_endtag(self, tag: str) -> None:
        self.quiet -= tag in ("script", "style", "code", "pre", "title")
        self.parts.append("\n" if tag in _BLOCKS else "")

    def handle_data(self, text: str) -> None:
        if not self.quiet:
            self.parts.append(re.sub(r"\s+", " ", text))


def page_text(page: str) -> str:
    """The words of an HTML page, one block on each line, without code."""
    reader = _Text()
    reader.feed(page)
    return "\n".join(line.strip() for line in "".join(reader.parts).splitlines() if line.strip())


def complaints(text: str) -> list[str]:
    """What is not plain in a text; every line ends a sentence."""
    found = [part for line in text.splitlines() for part in re.split(r"(?<=[.!?;])\s+(?=[A-Z\"(])", line)]
    counts = [len(re.findall(r"[\w'-]+", part)) for part in found]
    wrong = [f"{count} words: {part}" for part, count in zip(found, counts, strict=True) if count > LONGEST]
    whole = [count for count in counts if count > 3]  # headings and labels are no sentences
    if whole and sum(whole) / len(whole) > AVERAGE:
        wrong.append(f"{sum(whole) / len(whole):.1f} words in a sentence on average")
    words = set(re.findall(r"[\w.-]+", text.lower()))
    wrong += [f"a hard word: {word}" for word in sorted(words | {word.rstrip(".") for word in words}) if word in HARD]
    return wrong + [f"a formula: {part}" for part in re.findall(r"\\\(|\$[^$]+\$|<=|>=|\bexp\(", text)]


def _tries_itself() -> None:
    """The checks find what they are for."""
    assert complaints("Noise hides each person. More privacy needs more noise.") == []
    assert complaints("word " * 29)[0].startswith("29 words")
    assert complaints("one two three four five six " * 3)[0].startswith("18.0 words in a sentence")
    assert complaints("It is Lipschitz, i.e. thus so.") == [f"a hard word: {w}" for w in ("i.e.", "lipschitz", "thus")]
    assert complaints("Here x <= 1.") == ["a formula: <="]
    assert page_text("<p>One <b>two</b></p><code>no</code><li>three") == "One two\nthree"


_tries_itself()
