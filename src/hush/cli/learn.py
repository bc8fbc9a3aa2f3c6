"""`hush learn`: fit a private linear model to a table with one row per person."""

from __future__ import annotations

import argparse
from typing import Any

import hush
from hush.cli.learn_classes import classes_of_table, labels_of, shown_classes, typed
from hush.cli.learn_intervals import coefficient_table, fitted, intervals_of, sentences
from hush.cli.learn_options import about_neighbours, about_the_fit
from hush.cli.learn_rows import LEFT_OUT, REPLACED, numbers, one_row_each
from hush.cli.learn_words import in_words
from hush.cli.ledger import opened
from hush.cli.paid_output import paid_output
from hush.cli.text import Command, emit, number
from hush.errors import HushError, InvalidParameter, shown

__all__ = ["register"]

_MODELS = {"logistic": "LogisticRegression", "ridge": "Ridge", "lasso": "Lasso", "elastic-net": "ElasticNet"}
_EXAMPLES = """examples:
  hush learn people.csv --unit person_id --model ridge --target spending:0:5000 \\
      --feature age:18:100 --feature children:0:10 --epsilon 1 --delta 1e-6
  hush learn people.csv --unit person_id --model logistic --target smoker --classes no,yes \\
      --feature age:18:100 --feature bmi:12:60 --epsilon 1 --delta 1e-6 --ledger people.ledger --json

Without --rows-per-unit each person should have one row. The guarantee is for one replaced row; without --unit, a person
with many rows (for example in a table of visits) is not protected. --unit is the column that identifies the person: the
first row of each person counts. No row makes a fit fail. The number of rows is public, so a row is not dropped: a
missing value counts as the middle of its range, another label as the first class, and a second row of a person as both.
With --neighbours add-remove the guarantee is for one row more or less: the noise of gradients is half as large, such
rows are left out, and the number of rows is released first, with 3 % of epsilon, unless it is public and given as
--n-rows. With --rows-per-unit at most so many rows of each person are used, the guarantee is for one person who is
added or removed, and the table is read in blocks, so it may be larger than memory; it leaves such rows out too.
You must give the range of each column, as column:low:high, from public knowledge. Values outside
a range are moved to the nearest end. --model logistic needs a target of 0 and 1, or --classes with
two or more labels."""


def _ranged(text: str, flag: str) -> tuple[str, tuple[float, float]]:
    parts = text.rsplit(":", 2)
    if len(parts) != 3:
        raise InvalidParameter(f"--{flag} needs column:low:high, such as age:18:100, got {shown(text)}.")
    try:
        low, high = number(parts[1]), number(parts[2])
    except argparse.ArgumentTypeError as failure:
        raise InvalidParameter(f"--{flag}: {failure}.") from failure
    if low == high:
        raise InvalidParameter(f"--{flag} {text} must have low below high; write --{flag} {parts[0]}:0:100.")
    if low > high:
        right = f"{parts[0]}:{parts[2]}:{parts[1]}"
        raise InvalidParameter(f"--{flag} {text} must have low below high; write --{flag} {right}.")
    return parts[0], (low, high)


def _columns(path: str, names: list[str], types: dict[str, str], *, hidden: bool) -> Any:
    """The named columns of a file, as an Arrow table; `types` are those of a text file. If the number of rows is
    `hidden`, an empty file is no error.
    """
    from hush.tables.expression import must_have
    from hush.tables.source import is_text_file, open_source
    from hush.tables.source_label import without_password

    known = dict.fromkeys(names, "text") | types
    rows = open_source(path, types=known if is_text_file(path) else None).relation
    for name in names:
        must_have(rows.columns, name, "a feature or the target")
    found = rows.select(names).to_pyarrow()
    if found.num_rows == 0 and not hidden:
        raise InvalidParameter(f"{without_password(path)} has no rows.")
    return found


def _type_of_target(options: argparse.Namespace, target: str) -> dict[str, str]:
    """The type of the target in a text file: text with declared classes, truth values without, else numbers."""
    if options.model != "logistic":
        return {target: "number"}
    return {} if options.classes is not None else {target: "boolean"}


def _must_differ(used: list[str]) -> None:
    """Refuse a column that is given twice."""
    for name in used:
        if used.count(name) > 1:
            raise InvalidParameter(
                f"column {shown(name)} is given twice; each feature, the target and --unit must be different columns."
            )


def _learn(options: argparse.Namespace) -> None:
    logistic = options.model == "logistic"
    if options.classes is not None and not logistic:
        raise InvalidParameter("--classes is for --model logistic; leave it out.")
    ranged = [_ranged(text, "feature") for text in options.feature]
    target, span = (options.target, None) if logistic else _ranged(options.target, "target")
    features = dict(ranged)
    used = [*(name for name, _ in ranged), target, *([] if options.unit is None else [options.unit])]
    _must_differ(used)
    if options.rows_per_unit is not None:
        _learn_by_person(options, features, target, span)
        return
    types = dict.fromkeys(features, "number") | _type_of_target(options, target)
    rows = _columns(options.table, used, types, hidden=options.neighbours == "add-remove")
    used_rows = one_row_each(rows, options.unit)
    X, fits = numbers(rows, features, used_rows)
    y = None
    if span is not None:  # the target is a number
        found, known = numbers(rows, {target: span}, used_rows)
        y, fits = found[:, 0], fits & known
    ledger = opened(options.ledger) if options.ledger else None
    common: dict[str, Any] = {"epsilon": options.epsilon, "delta": options.delta, "ledger": ledger}
    common |= {"solver": options.solver, "family": options.family, "verbose": 0 if options.json else options.verbose}
    common |= _steps(options) | {"neighbours": options.neighbours, "bounds": list(features.values())}
    if logistic:
        y, classes, known = labels_of(rows[target], target, options.classes, used_rows)
        fits &= known
        common |= {"classes": classes} | ({} if options.penalty is None else {"C": options.penalty})
    else:
        common |= {"target_bounds": span} | ({} if options.penalty is None else {"alpha": options.penalty})
    if options.neighbours == "add-remove":  # the number of rows is not public
        X, y = X[fits & used_rows], y[fits & used_rows]  # type: ignore[index]
    try:
        made = getattr(hush.learn, _MODELS[options.model])(**common)
        model = fitted(made, options, lambda one: one.fit(X, y, n_rows=options.n_rows))
    except HushError:
        raise
    except ValueError as failure:  # raised by scikit-learn's checks
        raise InvalidParameter(str(failure).strip().splitlines()[0]) from failure
    _show(options, model, list(features))


def _steps(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of the steps before the fit."""
    keep = int(options.keep) if options.keep.isdecimal() else options.keep
    return {"refine_bounds": options.refine_bounds, "n_features_to_keep": keep}


def _learn_by_person(
    options: argparse.Namespace, features: dict[str, tuple[float, float]], target: str, span: Any
) -> None:
    """Fit on a table in which a person has several rows; the table is read in blocks."""
    from hush.tables import table as open_table
    from hush.tables.source import is_text_file

    if options.unit is None:
        raise InvalidParameter("--rows-per-unit needs --unit, the column that identifies the person.")
    if options.neighbours == "replace":
        raise InvalidParameter("--neighbours replace cannot be used with --rows-per-unit; leave one of them out.")
    typed = _type_of_target(options, target) if is_text_file(options.table) else None
    people = open_table(options.table, unit=options.unit, types=typed or None)
    chosen: dict[str, Any] = {"epsilon": options.epsilon, "delta": options.delta, "bounds": features}
    chosen |= {"solver": options.solver, "family": options.family, "verbose": 0 if options.json else options.verbose}
    chosen |= _steps(options) | {"ledger": opened(options.ledger) if options.ledger else None}
    chosen["neighbours"] = options.neighbours
    if options.model == "logistic":
        chosen["classes"] = classes_of_table(people, target, options.classes)
    else:
        chosen["target_bounds"] = span
    if options.penalty is not None:
        chosen["C" if options.model == "logistic" else "alpha"] = options.penalty
    model = getattr(hush.learn, _MODELS[options.model])(**chosen)
    known = {"rows_per_unit": options.rows_per_unit, "n_rows": options.n_rows}
    model = fitted(model, options, lambda one: one.fit(people, target, **known))
    _show(options, model, list(features))


def _models(model: Any, names: list[str]) -> dict[str, dict[str, float]]:
    """The coefficients and the intercept by name: those of each of three or more classes, or one set of them."""
    import numpy as np

    rows = np.column_stack([np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)]).tolist()
    of = ["coefficient"] if len(rows) == 1 else shown_classes(model, None)
    return {one: dict(zip([*names, "(intercept)"], row, strict=True)) for one, row in zip(of, rows, strict=True)}


def _parts(found: dict[str, float]) -> dict[str, Any]:
    """The coefficients of one model, or of one class, for JSON."""
    return {
        "coefficients": {name: value for name, value in found.items() if name != "(intercept)"},
        "intercept": found["(intercept)"],
    }


def _show(options: argparse.Namespace, model: Any, names: list[str]) -> None:
    found = _models(model, names)
    document: dict[str, Any] = {"unit": options.unit or "row"}
    if len(found) == 1:
        document |= _parts(found["coefficient"])
    else:
        document["classes"] = {one: _parts(values) for one, values in found.items()}
    known = intervals_of(model, names, options.level)
    document |= {"intervals": known, "receipt": dict(model.receipt_)}
    lines = [coefficient_table(found, known, options.level)]
    about = model.receipt_
    if len(found) == 1 and hasattr(model, "classes_"):
        first, second = shown_classes(model, typed(options))
        document |= {"log_odds_of": second, "against": first}
        lines.append(f"The coefficients are for the log odds of {shown(second)} against {shown(first)}.")
    lines.append(f"\n{type(model).__name__}, {about['rows']} rows, solver {about['solver']}: {model.guarantee_}.")
    if options.rows_per_unit is not None:
        used = (
            "1 row of each person is"
            if options.rows_per_unit == 1
            else f"{options.rows_per_unit} rows of each person are"
        )
        lines.append(f"The guarantee is for one person: at most {used} used.")
    else:
        row = "one row more or less" if model.guarantee_.neighbours == "add-remove" else "one row"
        if options.unit is None:
            lines.append(f"The guarantee is for {row}: each row is assumed to be one person.")
        else:
            lines.append(f"The guarantee is for {row}, and one row of each person (column {options.unit}) counts.")
        lines.append(LEFT_OUT if model.guarantee_.neighbours == "add-remove" else REPLACED)
    paid = model.receipt_["ledger"]
    with paid_output({"ledger": None if paid is None else {"ledger": options.ledger, "number": paid["number"]}}):
        emit(options, document, "\n".join([*lines, *sentences(model)]))


def register(command: Command) -> None:
    """Add the group's commands."""
    learn = command("learn", _learn, "fit a private linear model to a table", _EXAMPLES)
    learn.set_defaults(in_words=in_words)
    learn.add_argument("table", help="CSV, Parquet or DuckDB file, one row per person")
    learn.add_argument(
        "--unit", metavar="COLUMN", help="the column that identifies the person; the first row of each person counts"
    )
    learn.add_argument(
        "--rows-per-unit",
        type=int,
        metavar="R",
        help="use at most R rows of each person; the guarantee is then for one person, added or removed",
    )
    about_neighbours(learn)
    learn.add_argument("--model", required=True, choices=sorted(_MODELS))
    learn.add_argument(
        "--target",
        required=True,
        metavar="COLUMN[:LOW:HIGH]",
        help="the column to predict; a regression also needs its range",
    )
    learn.add_argument(
        "--feature",
        action="append",
        required=True,
        metavar="COLUMN:LOW:HIGH",
        help="a feature and its range; repeat the option for every feature",
    )
    learn.add_argument("--epsilon", type=number, required=True)
    learn.add_argument("--delta", type=number, required=True)
    learn.add_argument(
        "--classes", metavar="A,B,...", help="the labels, two or more; 'private' finds two with a part of the budget"
    )
    about_the_fit(learn)
    learn.add_argument("--ledger", help="the ledger file to charge (create it with `hush ledger new`)")
    learn.add_argument("--verbose", type=int, default=0, help="1 shows a progress bar, 2 a line per pass")
