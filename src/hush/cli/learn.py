"""`hush learn`: a private linear model of a table whose rows are people."""

from __future__ import annotations

import argparse
from typing import Any

import hush
from hush.cli.ledger import opened
from hush.cli.text import Command, emit, number, table
from hush.errors import HushError, InvalidParameter

__all__ = ["register"]

_MODELS = {"logistic": "LogisticRegression", "ridge": "Ridge", "lasso": "Lasso", "elastic-net": "ElasticNet"}
_EXAMPLES = """examples:
  hush learn people.csv --unit person_id --model ridge --target spending:0:5000 --feature age:18:100 --feature children:0:10 \\
      --epsilon 1 --delta 1e-6
  hush learn people.csv --unit person_id --model logistic --target smoker --classes no,yes --feature age:18:100 --feature bmi:12:60 \\
      --epsilon 1 --delta 1e-6 --ledger people.ledger --json

One row must be one person: neighbours are tables with one row exchanged, so somebody with many rows (a table of visits) is not protected.
--unit names the column that says who a row is about, and a table where anyone has two is refused. Ranges are yours to declare, as
column:low:high; values beyond them are moved to the nearest end. --model logistic needs a target of 0 and 1, or --classes."""


def _ranged(text: str, flag: str) -> tuple[str, tuple[float, float]]:
    parts = text.rsplit(":", 2)
    if len(parts) != 3:
        raise InvalidParameter(f"--{flag} needs column:low:high, such as age:18:100, got {text!r}.")
    try:
        return parts[0], (number(parts[1]), number(parts[2]))
    except argparse.ArgumentTypeError as failure:
        raise InvalidParameter(f"--{flag}: {failure}.") from failure


def _columns(path: str, names: list[str]) -> Any:
    """The named columns of a file, as an Arrow table."""
    from hush.tables.expression import must_have
    from hush.tables.source import open_source

    rows = open_source(path).relation
    for name in names:
        must_have(rows.columns, name, "a feature or the target")
    found = rows.select(names).to_pyarrow()
    if found.num_rows == 0:
        raise InvalidParameter(f"{path} has no rows to learn from.")
    for name in names:
        if found[name].null_count:
            raise InvalidParameter(
                f"column {name!r} has empty values; fill them by a public rule, or drop them, before learning."
            )
    return found


def _one_row_each(values: Any, unit: str) -> None:
    """A promise for one row is one for a person only if nobody has two."""
    if len(values.unique()) < len(values):
        raise InvalidParameter(
            f"someone has more than one row by {unit!r}; aggregate to one row per person first, then learn."
        )


def _plain(column: Any) -> Any:
    """Numbers and booleans; a date is none, though it could be read as one."""
    if str(column.type).startswith(("date", "time", "duration")):
        raise TypeError
    return column


def _numbers(rows: Any, names: list[str]) -> Any:
    """Columns of finite numbers, side by side."""
    import numpy as np

    try:
        found = np.column_stack([_plain(rows[name]).to_numpy().astype(np.float64) for name in names])
    except (TypeError, ValueError) as failure:
        raise InvalidParameter("features, and the target of a regression, must be numbers.") from failure
    for name, column in zip(names, found.T, strict=True):
        if not np.isfinite(column).all():
            raise InvalidParameter(
                f"column {name!r} must hold finite numbers; fill or drop what is not one, by a public rule, before learning."
            )
    return found


def _labels(values: Any, classes: str | None) -> tuple[Any, Any]:
    """The labels, and the classes in their type."""
    import numpy as np

    floats = str(values.type) in ("float", "double", "halffloat")
    if classes == "private" and floats:
        raise InvalidParameter(
            f"--classes private finds labels, and a target of type {values.type} holds measurements; write --classes a,b."
        )
    labels = np.empty(
        len(values), dtype=np.float64 if floats else object
    )  # the file's type, or label by label: never one chosen from the data
    labels[:] = values.to_pylist()
    if str(values.type) == "bool":  # a file's yes and no, read as booleans: there are no others to declare
        return labels.astype(bool) if not values.null_count else labels, None
    if classes is None or classes == "private":
        return labels, classes
    return np.array([str(label) for label in labels], dtype=object), tuple(classes.split(","))


def _learn(options: argparse.Namespace) -> None:
    logistic = options.model == "logistic"
    ranged = [_ranged(text, "feature") for text in options.feature]
    target, span = (options.target, None) if logistic else _ranged(options.target, "target")
    features = dict(ranged)
    used = [*(name for name, _ in ranged), target, *([] if options.unit is None else [options.unit])]
    for name in used:
        if used.count(name) > 1:
            raise InvalidParameter(
                f"column {name!r} is given twice; a feature, the target and the unit are a column each."
            )
    rows = _columns(options.table, used)
    if options.unit is not None:
        _one_row_each(rows[options.unit], options.unit)
    X = _numbers(rows, list(features))
    y = None if logistic else _numbers(rows, [target])[:, 0]
    ledger = opened(options.ledger) if options.ledger else None
    common: dict[str, Any] = {
        "epsilon": options.epsilon,
        "delta": options.delta,
        "bounds": list(features.values()),
        "ledger": ledger,
    }
    common |= {"solver": options.solver, "noise": options.noise, "verbose": 0 if options.json else options.verbose}
    if logistic:
        y, classes = _labels(rows[target], options.classes)
        common |= {"classes": classes} | ({} if options.penalty is None else {"C": options.penalty})
    else:
        common |= {"target_bounds": span} | ({} if options.penalty is None else {"alpha": options.penalty})
    try:
        model = getattr(hush.learn, _MODELS[options.model])(**common).fit(X, y)
    except HushError:
        raise
    except ValueError as failure:  # scikit-learn's own checks
        raise InvalidParameter(str(failure).strip().splitlines()[0]) from failure
    _show(options, model, list(features))


def _show(options: argparse.Namespace, model: Any, names: list[str]) -> None:
    import numpy as np

    coefficients = [float(value) for value in np.ravel(model.coef_)]
    intercept = float(np.ravel(model.intercept_)[0])
    document = {
        "unit": options.unit or "row",
        "coefficients": dict(zip(names, coefficients, strict=True)),
        "intercept": intercept,
        "receipt": dict(model.receipt_),
    }
    shown = [{"name": name, "value": value} for name, value in zip(names, coefficients, strict=True)]
    lines = [
        table(
            [*shown, {"name": "(intercept)", "value": intercept}], {"name": "feature", "value": "coefficient"}, left=1
        )
    ]
    lines.append(
        f"\n{type(model).__name__}, {model.receipt_['rows']} rows, solver {model.receipt_['solver']}: {model.guarantee_}."
    )
    known = "every row counts as one person" if options.unit is None else f"one row per {options.unit}, as was checked"
    lines.append(f"The promise is for one row: {known}.")
    emit(options, document, "\n".join(lines))


def register(command: Command) -> None:
    """Add the group's commands."""
    learn = command("learn", _learn, "a private linear model of a table", _EXAMPLES)
    learn.add_argument("table", help="CSV, Parquet or DuckDB file, one row per person")
    learn.add_argument(
        "--unit", metavar="COLUMN", help="who a row is about; refuses a table where anyone has more than one row"
    )
    learn.add_argument("--model", required=True, choices=sorted(_MODELS))
    learn.add_argument(
        "--target", required=True, metavar="COLUMN[:LOW:HIGH]", help="what to predict; with its range for a regression"
    )
    learn.add_argument(
        "--feature", action="append", required=True, metavar="COLUMN:LOW:HIGH", help="repeat for every feature"
    )
    learn.add_argument("--epsilon", type=number, required=True)
    learn.add_argument("--delta", type=number, required=True)
    learn.add_argument(
        "--classes", metavar="A,B", help="the two labels, or private to find them with part of the budget"
    )
    learn.add_argument("--penalty", type=number, help="alpha of a regression, C of logistic (as in scikit-learn)")
    learn.add_argument("--solver", default="auto", choices=["auto", "cd", "gd", "statistics"])
    learn.add_argument("--noise", default="auto", help="a family's name, or auto for the least noise")
    learn.add_argument("--ledger", help="charge this ledger (made by `hush ledger new`)")
    learn.add_argument("--verbose", type=int, default=0, help="1 for a progress bar, 2 for a line per pass")
