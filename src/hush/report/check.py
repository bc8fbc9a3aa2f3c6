"""Python lines that recompute a claim. They contain the mechanisms and need only hush."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from hush.errors import HushError, shown
from hush.ledger.entry import Cap, Entry
from hush.ledger.series import Turn
from hush.noise.catalogue import family_of
from hush.privacy.charge import Charge
from hush.privacy.compose import compose

__all__ = ["composed", "delta_of", "replayed", "replayed_in_turn"]


def _literal(charge: Charge) -> str:
    rate = "" if charge.rate is None else f", rate={charge.rate}{', fixed=True' if charge.fixed else ''}"
    keys = "" if charge.keys is None else ", keys=" + repr(charge.keys)
    noise, sensitivity = repr(charge.noise), repr(charge.sensitivity)
    return f"Charge({noise}, {sensitivity}, times={charge.times}{rate}{keys})"


def _noises(noise: Any) -> Iterable[Any]:
    """The noise, and the noises inside it."""
    while noise is not None:
        yield noise
        noise = getattr(noise, "noise", None)


def _home(kind: type) -> str:
    """The module to import a class from: hush if the class is a public name."""
    row = family_of(kind)
    return "hush" if row is None else row.home


def _imports(charges: Sequence[Charge], *words: str) -> list[str]:
    kinds = {type(one) for charge in charges for one in _noises(charge.noise)}
    names = {kind.__name__ for kind in kinds if _home(kind) == "hush"} | {"Charge", "Sensitivity", *words}
    names |= {"Keys"} if any(charge.keys is not None for charge in charges) else set()
    public = sorted(names, key=lambda name: (name.islower(), name))
    inside = sorted(f"from {_home(kind)} import {kind.__name__}" for kind in kinds if _home(kind) != "hush")
    return [f"from hush import {', '.join(public)}", *inside, ""]


def _listed(charges: Sequence[Charge]) -> list[str]:
    return ["charges = [", *(f"    {_literal(charge)}," for charge in charges), "]"]


def composed(charges: Sequence[Charge], delta: float) -> str:
    """Lines that print the epsilon of all charges together, at delta."""
    return "\n".join(
        [*_imports(charges, "compose"), *_listed(charges), f"print(compose(charges).epsilon({delta}))", ""]
    )


def replayed(charges: Sequence[Charge], cap: Cap, extra: float) -> str:
    """Lines that charge everything to a new ledger in memory, under the same rule, and print the epsilon spent."""
    charge = "ledger.spend(charges" + (f", extra_delta={extra})" if extra else ")")
    return "\n".join(
        [
            *_imports(charges, "Ledger"),
            *_listed(charges),
            f"ledger = Ledger(None, {_rule(cap)})",
            charge,
            "print(ledger.spent.epsilon)",
            "",
        ]
    )


def replayed_in_turn(entries: Sequence[Entry], cap: Cap) -> str:
    """Lines that charge one entry after the other to a new ledger in memory, under the same rule, and print the epsilon
    spent. Equal entries that follow each other are one line.
    """
    rows = [(entry.charges, entry.extra_delta, entry.epsilon, entry.delta, entry.turn) for entry in entries]
    lines, turns = ["releases = ["], any(entry.turn is not None for entry in entries)
    for (charges, extra, epsilon, delta, turn), group in itertools.groupby(rows):
        given = {"extra_delta": extra or None, "epsilon": epsilon, "delta": delta}
        options = repr({name: value for name, value in given.items() if value is not None})[1:-1]
        if turn is not None:
            options += f"{', ' * bool(options)}'turn': {_turn(turn)}"
        parts = ", ".join(map(_literal, charges))
        lines.append(f"    ({len(list(group))}, [{parts}], {{{options}}}),")
    every = [charge for entry in entries for charge in entry.charges]
    return "\n".join(
        [
            *_imports([*every, *(charge for entry in entries if entry.turn for charge in entry.turn.later)], "Ledger"),
            *["from hush.ledger.series import Turn", ""] * turns,
            *lines,
            "]",
            f"ledger = Ledger(None, {_rule(cap)})",
            "for times, charges, options in releases:",
            "    for _ in range(times):",
            "        ledger.spend(charges, **options)",
            "print(ledger.spent.epsilon)",
            "",
        ]
    )


def _turn(turn: Turn) -> str:
    """The place of a release in its series; the name of the series is shortened."""
    later = f", ({', '.join(map(_literal, turn.later))},)" if turn.later else ""
    return f"Turn({shown(turn.series[:8])}, {turn.release}, {turn.times}{later})"


def _rule(cap: Cap) -> str:
    """The arguments of a ledger with this cap."""
    if cap.kind != "epsilon":
        return f"{cap.kind}={cap.rho or cap.mu}, delta={cap.delta}"
    alone = f", order={cap.order}" if cap.order is not None and cap.first is None else ""
    return f'epsilon={cap.epsilon}, delta={cap.delta}, mode="{cap.mode}"{alone}'


def delta_of(charges: Sequence[Charge], epsilon: float) -> tuple[str, float | None]:
    """Lines that print the delta of all charges together, at epsilon, and that number; None if no theorem gives it."""
    lines = "\n".join(
        [*_imports(charges, "compose"), *_listed(charges), f"print(compose(charges).delta({epsilon}))", ""]
    )
    try:
        return lines, float(compose(charges).delta(epsilon))
    except HushError:
        return lines, None
