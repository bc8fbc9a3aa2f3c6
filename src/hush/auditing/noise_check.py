"""check: compare every method of a noise class with sums over its density."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.auditing.density_sums import DensitySums
from hush.auditing.joint_check import joint_rows
from hush.errors import HushError, InvalidParameter, NotCertified, Unsupported, shown
from hush.noise.catalogue import family_of, from_plain_values, in_words, plain_values
from hush.noise.contract import Law, Noise
from hush.noise.family import Family
from hush.numerics.rounding import CHECKED, up
from hush.privacy.compose import delta
from hush.releasing.text import text_table
from hush.sampling.exact import plain_law, sampler

__all__ = ["NoiseCheck", "NoiseCheckRow", "check"]

#: The largest relative difference between a result and a sum over the density; the sums are accurate to about 1e-9.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class NoiseCheckRow:
    """One comparison. `state` is "ok", "wrong" or "absent" (the class does not offer it)."""

    name: str
    state: str
    detail: str


@dataclass(frozen=True)
class NoiseCheck:
    """The result of `check`: one row for each comparison."""

    noise: str
    rows: tuple[NoiseCheckRow, ...]

    def __bool__(self) -> bool:
        return self.passed

    @property
    def passed(self) -> bool:
        """True if no comparison is wrong."""
        return all(row.state != "wrong" for row in self.rows)

    def must_pass(self) -> NoiseCheck:
        """This result, or a `NotCertified` that names what is wrong."""
        wrong = [f"{row.name}: {row.detail}" for row in self.rows if row.state == "wrong"]
        if wrong:
            raise NotCertified(f"{self.noise} does not agree with its density ({'; '.join(wrong)}).")
        return self

    def __str__(self) -> str:
        lines = text_table((), [(row.state, row.name, row.detail) for row in self.rows])
        return "\n".join([f"{self.noise}: {'all checks passed' if self.passed else 'some checks failed'}", *lines])


def check(noise: Noise | type) -> NoiseCheck:
    """Compare a noise with its density: mass, tails, moments, divergences, exact draws, stored values. A wrong noise
    does not raise; the result shows it.

    `noise` is a noise, or a class that is registered with a reference. For a joint noise the draws are compared with
    its covariance and its marginal law, with a total false alarm rate of 1e-6. Agreement at a few points is evidence,
    not a proof: the proof of the formulas of a family belongs in its documentation.

    >>> from hush import Laplace
    >>> check(Laplace(2.0)).passed
    True
    """
    row = family_of(noise) if isinstance(noise, type | Noise) else None
    if isinstance(noise, type):
        if row is None or row.reference is None:
            raise InvalidParameter(
                f"check takes a noise, or a registered class whose Family has a reference, got {shown(noise)}; "
                "write check(Laplace(1.0))."
            )
        noise = row.reference.noise
    if not isinstance(noise, Noise):
        raise InvalidParameter(f"check takes a noise, got {shown(noise)}; write check(Laplace(1.0)).")
    found = _law_rows(noise) if isinstance(noise, Law) else (NoiseCheckRow(*one) for one in joint_rows(noise))
    return NoiseCheck(in_words(noise), (*found, *_descriptor_rows(noise, row)))


def _tried(name: str, run: Callable[[], str]) -> NoiseCheckRow:
    """The row with the text that `run` returns; a `_Wrong` or any other failure of the class gives a wrong row."""
    try:
        return NoiseCheckRow(name, "ok", run())
    except _Absent as reason:
        return NoiseCheckRow(name, "absent", str(reason))
    except Exception as failure:  # the class under test may fail in any way
        kind = "" if isinstance(failure, HushError) else f"{type(failure).__name__}: "
        return NoiseCheckRow(name, "wrong", f"{kind}{failure}".rstrip("."))


class _Absent(Exception):
    """The class does not offer this."""


class _Wrong(HushError):
    """A comparison that failed."""


def _agree(what: str, stated: Any, found: Any, *, relative: float = TOLERANCE, absolute: float = 0.0) -> float:
    """The largest relative difference, if all are within the tolerance; raises `_Wrong` otherwise."""
    stated, found = np.asarray(stated, dtype=np.float64), np.asarray(found, dtype=np.float64)
    both = np.isinf(stated) & (stated == found)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.where(both, 0.0, np.abs(stated - found))
        bad = ~(apart <= relative * np.abs(found) + absolute)
        seen = float(np.max(np.where(apart > 0.0, apart / np.abs(found), 0.0), initial=0.0))
    if bad.any():
        at = int(np.argmax(bad))
        raise _Wrong(f"{what} is {stated.flat[at]:.9g}, but its density gives {found.flat[at]:.9g}")
    return seen


def _law_rows(noise: Law) -> Iterator[NoiseCheckRow]:
    try:
        sums = DensitySums.of(noise)
    except Exception as failure:  # without a quartile and a density nothing can be compared
        yield NoiseCheckRow("density", "wrong", str(failure))
        return
    for name, run in (
        ("density", _density),
        ("symmetry", _symmetry),
        ("tail", _tail),
        ("inverse tail", _inverse),
        ("variance", lambda s: _moment("E X^2", s.noise.variance, s.moment(2))),
        ("mean_abs", lambda s: _moment("E |X|", s.noise.mean_abs, s.moment(1))),
        ("fisher_information", _information),
        ("divergence", _divergence),
        ("max_loss", _max_loss),
        ("worst shift", _worst_shift),
        ("scaled", _scaled),
    ):
        yield _tried(name, lambda run=run: run(sums))  # type: ignore[misc]


def _density(sums: DensitySums) -> str:
    return f"integrates to 1 within {_agree('its integral', sums.moment(0), 1.0):.0e}"


def _symmetry(sums: DensitySums) -> str:
    x = sums.tails()[0] if not sums.noise.discrete else np.arange(1.0, 9.0) * sums.noise.step
    _agree("log f(-x)", sums.noise.log_density(-x), sums.noise.log_density(x), relative=1e-12, absolute=1e-12)
    return "f(-x) = f(x)"


def _tail(sums: DensitySums) -> str:
    x, beyond = sums.tails()
    seen = _agree("P(X > x)", sums.noise.sf(x), beyond)
    seen = max(seen, _agree("log P(X > x)", np.exp(sums.noise.logsf(x)), beyond))
    seen = max(seen, _agree("P(X <= -x)", sums.noise.cdf(-x), beyond))
    return f"is the integral of the density, within {seen:.0e} down to {beyond.min():.0e}"


def _inverse(sums: DensitySums) -> str:
    levels = np.array([0.45, 0.2, 1e-2, 1e-5, 1e-9])
    x = np.asarray(sums.noise.isf(levels))
    if not sums.noise.discrete:
        return f"inverts the tail within {_agree('P(X > isf(v))', sums.noise.sf(x), levels):.0e}"
    step: float = sums.noise.step
    if not ((sums.noise.sf(x) <= levels) & (levels < sums.noise.sf(x - step))).all():
        raise _Wrong("isf(v) is not the least lattice point x with P(X > x) <= v")
    return "is the least lattice point x with P(X > x) <= v"


def _moment(name: str, stated: float, found: float) -> str:
    _agree(name, stated, found)
    return f"{name} = {found:.6g}"


def _information(sums: DensitySums) -> str:
    try:
        stated = sums.noise.fisher_information
    except Unsupported as reason:
        raise _Absent(str(reason).rstrip(".")) from reason
    if math.isinf(stated):
        raise _Absent("infinite: the density jumps, or the law is on a lattice")
    return _moment("E (f'/f)^2", stated, sums.information())


def _asked(sums: DensitySums) -> Iterator[tuple[float, float]]:
    """Pairs (epsilon, shift): from 0 to beyond the loss of a typical point, below the largest loss."""
    for shift in sums.shifts():
        typical = float(sums.loss(np.array([-sums.unit]) if not sums.noise.discrete else np.array([-shift]), shift)[0])
        most = sums.noise.max_loss(shift)
        typical = typical if math.isfinite(typical) and typical > 0.0 else 0.5
        for share in (0.0, 0.3, 0.8, 1.5):
            if share * typical < 0.95 * most:
                yield share * typical, shift


def _divergence(sums: DensitySums) -> str:
    """delta of the class against the integral. If the class states an error of 1, delta must only be no smaller."""
    noise, seen = sums.noise, 0.0
    for epsilon, shift in _asked(sums):
        found = sums.divergence(epsilon, shift)
        at = np.asarray(epsilon)
        stated = float(np.asarray(noise.surplus(noise.exceeds(at, shift), at, shift)).sum())
        error = float(np.max(np.asarray(noise.error_at(at, shift))))
        what = f"delta at epsilon {epsilon:.4g} and shift {shift:.4g}"
        if error >= 1.0 and stated > found:
            continue
        seen = max(seen, _agree(what, stated, found, relative=max(TOLERANCE, error), absolute=1e-13))
    return f"max(f(x) - e^epsilon f(x - s), 0) integrates to delta, within {seen:.0e}"


def _max_loss(sums: DensitySums) -> str:
    for shift in sums.shifts():
        seen, stated = sums.largest_loss(shift), sums.noise.max_loss(shift)
        if seen > up(stated, CHECKED) + 1e-12:
            raise _Wrong(f"max_loss({shift:.4g}) is {stated:.9g}, but a loss of {seen:.9g} occurs")
    return "no point has a larger loss"


def _worst_shift(sums: DensitySums) -> str:
    """Smaller shifts are no worse than those that `worst_shifts` lists."""
    noise = sums.noise
    shift = sums.shifts()[-1]
    step: float = noise.step if noise.discrete else shift / 7.0
    listed = noise.worst_shifts(shift)
    if len(listed) > 20:
        raise _Absent("too many shifts are listed to compare them all")
    smaller = [k * step for k in range(1, round(shift / step))][:8]
    for epsilon, _ in [pair for pair in _asked(sums) if pair[1] == shift][::2]:
        worst = max(sums.divergence(epsilon, one) for one in listed)
        for one in smaller:
            found = sums.divergence(epsilon, one)
            if found > worst * (1.0 + TOLERANCE) + 1e-13:
                raise _Wrong(
                    f"a shift of {one:.4g} has delta {found:.6g} at epsilon {epsilon:.4g}, the listed shifts have at "
                    f"most {worst:.6g}"
                )
    return "no smaller shift is worse than the listed ones"


def _scaled(sums: DensitySums) -> str:
    noise, x = sums.noise, sums.tails()[0]
    try:
        wider = noise.scaled(2.0)
    except Unsupported as reason:
        if not noise.discrete:  # calibration needs the scales of a continuous law
            raise
        raise _Absent(str(reason).rstrip(".")) from reason
    _agree("the tail of scaled(2)", wider.sf(2.0 * x), noise.sf(x), relative=1e-9)
    if math.isfinite(noise.variance):
        _agree("the variance of scaled(2)", wider.variance, 4.0 * noise.variance, relative=1e-9)
    return "scaled(2) is the law of 2 X"


# -- the registered family -----------------------------------------------------------------------------------


def _descriptor_rows(noise: Noise, row: Family | None) -> Iterator[NoiseCheckRow]:
    if row is None:
        yield NoiseCheckRow(
            "registered", "absent", f"write hush.register({type(noise).__name__}) to draw it and to store it in ledgers"
        )
        return
    yield _tried("plain values", lambda: _plain_values(noise))
    if isinstance(noise, Law):
        yield _tried("exact draw", lambda: _exact(noise, row))
    if row.reference is not None and type(row.reference.noise) is type(noise):
        yield _tried("reference", lambda: _reference(row))


def _plain_values(noise: Noise) -> str:
    read = from_plain_values(json.loads(json.dumps(plain_values(noise), allow_nan=False)))
    if read != noise or hash(read) != hash(noise):
        raise _Wrong(f"reads back as {shown(read)}")
    return "the noise reads back from JSON unchanged"


def _exact(noise: Law, row: Family) -> str:
    if row.tail is None and row.counts is None and not noise.discrete:
        raise _Absent("its Family has no tail in ball arithmetic, so the noise cannot be drawn")
    own = noise.step if noise.discrete else float(np.asarray(noise.isf(0.25)))
    plain = plain_law(noise)
    # a table of thresholds, and polynomials or two uniforms
    for step in (own,) if noise.discrete else (own / 4.0, own / 2.0**20):
        sampler(plain, step)
    return "floats and ball arithmetic agree on the tail"


def _reference(row: Family) -> str:
    assert row.reference is not None
    noise, epsilon, truth = row.reference
    found = float(delta(noise, epsilon))
    if not truth <= found <= up(truth, CHECKED):
        raise _Wrong(f"delta of {in_words(noise)} at epsilon {epsilon:g} is {found:.15g}, not just above {truth:.15g}")
    return f"delta of {in_words(noise)} at epsilon {epsilon:g} is right"
