"""The options by which a command asks within a policy: `--policy`, and the table, the unit and the ledger it allows.

What is given by hand beside a policy may only say the same, or less.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from hush.cli.text import listed
from hush.cli.text_file_options import reading_of_options
from hush.errors import InvalidParameter, shown

__all__ = ["add_policy", "ledger_paths", "opened_table"]


def add_policy(parser: Any) -> None:
    """Add --policy."""
    parser.add_argument(
        "--policy", metavar="FILE", help="the policy (hush.toml) that declares the tables; see `hush policy --help`"
    )


def opened_table(options: argparse.Namespace) -> Any:
    """The table of the options: by its policy, or by its source and unit. With a policy, `options.ledger` is then the
    policy's ledger.
    """
    from hush import tables

    if options.policy is None:
        if options.source is None:
            raise InvalidParameter("a source is needed, such as visits.parquet, or --policy hush.toml.")
        people = getattr(options, "population", None)
        read = reading_of_options(options, options.source)
        return tables.table(
            options.source, unit=_unit(options), name=options.table, engine=options.engine, population=people, **read
        )
    if getattr(options, "type", None) or getattr(options, "csv", None):
        raise InvalidParameter("the policy says how files are read (type and csv); leave --type and --csv out.")
    policy = tables.Policy.read(options.policy)
    if options.source is not None:
        raise InvalidParameter(
            f"the policy names the sources of its tables, so {shown(options.source)} is not opened; leave it out, and "
            f"choose a table with --table: {', '.join(policy.tables)}."
        )
    if options.engine != "duckdb":
        raise InvalidParameter(f"the policy chooses the engine of its tables; leave --engine {options.engine} out.")
    if options.population is not None:
        raise InvalidParameter("the policy names the people of its tables by their source; leave --population out.")
    name = _chosen(options, policy)
    _must_be_unit(options, policy.rule(name))
    table = policy.open(name)
    options.ledger = _ledger(options, policy.ledger_path(name))
    return table


def ledger_paths(options: argparse.Namespace) -> list[str]:
    """The ledgers that a command may charge: --ledger, or those of the policy's tables."""
    given = getattr(options, "ledger", None)
    if given or not getattr(options, "policy", None):
        return [given] if given else []
    from hush import tables

    policy = tables.Policy.read(options.policy)
    return sorted({path for name in policy.tables if (path := policy.ledger_path(name))})


def _unit(options: argparse.Namespace) -> Any:
    """The unit of --unit or --each-row; exactly one of the two must be given."""
    from hush import tables

    if options.each_row and options.unit is not None:
        raise InvalidParameter("--each-row means that each row is a person; leave --unit out.")
    if options.each_row:
        return tables.each_row
    if options.unit is None:
        raise InvalidParameter(
            "--unit is needed, the column that identifies the person each row belongs to, or --each-row where each "
            "row is a person."
        )
    names = listed(options.unit, "unit")
    return names[0] if len(names) == 1 else names


def _chosen(options: argparse.Namespace, policy: Any) -> str:
    """The table of --table, or the only table of the policy."""
    if options.table is not None:
        return str(options.table)
    private = [name for name, rule in policy.tables.items() if not rule.public]
    if len(private) != 1:
        raise InvalidParameter(f"the policy has {len(private)} tables; choose one with --table: {', '.join(private)}.")
    return str(private[0])


def _must_be_unit(options: argparse.Namespace, rule: Any) -> None:
    """Refuse another unit than the policy's."""
    declared = [rule.unit] if isinstance(rule.unit, str) else list(rule.unit or ())
    given = ["row"] if options.each_row else None if options.unit is None else listed(options.unit, "unit")
    if given is not None and given != declared:
        raise InvalidParameter(
            f"the unit is {' and '.join(given)}, but the policy declares {' and '.join(declared)}; leave --unit and "
            "--each-row out."
        )


def _ledger(options: argparse.Namespace, declared: str | None) -> str | None:
    """The ledger to charge. Another one than the policy's is refused; a policy without one accepts any."""
    given: str | None = options.ledger
    if declared is None:
        return given
    if given is not None and os.path.realpath(given) != os.path.realpath(declared):
        raise InvalidParameter(
            f"the ledger is {given}, but the policy charges every question to {declared}; leave --ledger out."
        )
    return declared
