"""What a fit publishes, in words, for the entries of a ledger; public facts only."""

from __future__ import annotations

from collections.abc import Sequence

from hush.ledger.entry import LONGEST_TEXT

__all__ = ["ROWS", "about_arrays", "about_search", "about_table"]

#: The words about a number of rows that is released first.
ROWS = "the number of rows of the data, which the noise of the model needs"
_NAMES = 6  # columns that are named


def about_arrays(model: object, columns: int) -> str:
    """The words about a fit on arrays.

    >>> about_arrays(object(), 3)
    'the coefficients of a model (object) of 3 columns; one row is one person'
    """
    return f"the coefficients of a model ({type(model).__name__}) of {columns} columns; one row is one person"


def about_search(model: object, settings: int) -> str:
    """The words about a private search over so many settings of a model.

    >>> about_search(object(), 4)
    'the coefficients of a model (object) with the best of 4 settings, chosen privately; one row is one person'
    """
    return (
        f"the coefficients of a model ({type(model).__name__}) with the best of {settings} settings, chosen privately; "
        "one row is one person"
    )


def about_table(model: object, names: Sequence[str], target: str, rows: int) -> str:
    """The words about a fit on a table, of which at most so many rows of a person count.

    >>> about_table(object(), ["age", "bmi"], "cost", 2)
    'the coefficients of a model (object) that predicts cost from age, bmi; at most 2 rows of a person'
    """
    shown = ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more columns" if len(names) > _NAMES else "")
    most = f"at most {rows} row{'s' * (rows > 1)} of a person"
    return f"the coefficients of a model ({type(model).__name__}) that predicts {target} from {shown}; {most}"[
        :LONGEST_TEXT
    ]
