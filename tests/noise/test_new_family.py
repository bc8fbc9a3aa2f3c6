"""A family that hush does not have, as one class and its descriptor. Registered with one line, it works everywhere like
the built-in families.
"""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import hush
from hush.noise import catalogue
from hush.noise.region import Region

CHANCE = 1e-6  # of a false alarm
_CATALAN = 0.915965594177219


@dataclass(frozen=True)
class Secant(hush.Law):
    """The hyperbolic secant law: f(x) = sech(a x) a/pi with a = pi/(2 scale); the scale is its standard deviation.

    f(x)/f(x - s) = cosh(a s) - tanh(a x) sinh(a s), so the loss falls with x and stays below a s.
    """

    FAMILY: ClassVar[hush.Family]
    relative_error: ClassVar[float] = 1e-11

    scale: float

    @property
    def rate(self) -> float:
        return 0.5 * math.pi / self.scale

    def log_density(self, x: Any) -> Any:
        y = np.abs(x) * self.rate
        return math.log(2.0 * self.rate / math.pi) - y - np.log1p(np.exp(-2.0 * y))

    def log_tail(self, x: Any) -> Any:
        with np.errstate(under="ignore", divide="ignore"):
            return np.log(np.arctan(np.exp(-x * self.rate)) * 2.0 / math.pi)

    def inverse_tail(self, v: Any) -> Any:
        return np.maximum(-np.log(np.tan(0.5 * math.pi * np.asarray(v))), 0.0) / self.rate

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon, d = np.asarray(epsilon, dtype=np.float64), self.rate * shift
        inside = epsilon < d
        # (1 + t)/(1 - t) with t = (cosh d - e^epsilon)/sinh d, written so that nothing cancels
        e = np.where(inside, epsilon, 0.0)
        share = (np.exp(d) - np.exp(e)) / (np.exp(e) - np.exp(-d))
        end = np.where(inside, 0.5 * np.log(share), -np.inf) / self.rate
        lower = np.where(inside, end - 90.0 / self.rate, 0.0)  # the mass beyond is e^-90 of the mass inside
        return Region(lower[..., None], np.where(inside, end, 0.0)[..., None])

    def error_at(self, epsilon: Any, shift: float) -> Any:
        """The loss has an error of 1e-14; near the pure epsilon this is a large part of loss - epsilon."""
        gap = np.maximum(self.max_loss(shift) - np.asarray(epsilon), 1e-30)
        return self.relative_error + np.minimum(1e-13 / gap, 0.9)

    @property
    def variance(self) -> float:
        return self.scale * self.scale

    @property
    def fisher_information(self) -> float:
        return math.pi**2 / (8.0 * self.scale**2)

    @property
    def mean_abs(self) -> float:
        return 8.0 * _CATALAN / math.pi**2 * self.scale

    def max_loss(self, shift: float) -> float:
        return self.rate * shift

    def scaled(self, k: float) -> Secant:
        return dataclasses.replace(self, scale=self.scale * k)


def _tail(noise: Secant) -> Any:
    def beyond(x: Any) -> Any:
        from flint import arb

        return (-x * arb.pi() / (2 * arb(noise.scale))).exp().atan() * 4 / arb.pi()

    return beyond


Secant.FAMILY = hush.Family(
    "secant",
    Secant,
    paper="Fischer 2013",
    cites=(
        "@book{fischer2013,\n  author = {M. J. Fischer},\n"
        "  title = {Generalized Hyperbolic Secant Distributions},\n  year = {2013},\n}",
    ),
    unit=lambda: Secant(1.0),
    tail=_tail,
    reference=(Secant(1.0), 0.5, 0.3084341973481447),
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with catalogue.restored():
        hush.register(Secant)
        yield


def test_the_class_is_what_its_density_says() -> None:
    found = hush.check(Secant)
    assert found.passed and all(row.state == "ok" for row in found.rows), str(found)


# -- calibration ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "bound"), [(1.0, 1e-6, 1.0), (2.0, 0.0, 3.0), (1.0, 1e-5, hush.Sensitivity(linf=1.0, l0=5))]
)
def test_it_is_calibrated_by_name_to_the_least_scale(epsilon: float, delta: float, bound: Any) -> None:
    plan = hush.calibrate(epsilon, delta, bound, family="secant")
    assert plan.family == "secant" and isinstance(plan.noise, Secant)
    assert hush.delta(plan.noise, epsilon, bound) <= delta
    assert hush.delta(plan.noise.scaled(1.0 - 1e-5), epsilon, bound) > delta


def test_it_is_ranked() -> None:
    choice = next(choice for choice in hush.calibrate(1.0, 1e-6).ranking if choice.family == "secant")
    assert isinstance(choice.noise, Secant) and choice.loss == choice.noise.variance < math.inf
    assert hush.calibrate(1.0, 1e-6).family == "staircase"


def test_on_a_lattice_it_is_absent_with_a_reason() -> None:
    """Its class does not derive from LogConcave, so it has no lattice version."""
    choice = next(choice for choice in hush.calibrate(1.0, 1e-6, step=1.0).ranking if choice.family == "secant")
    assert choice.noise is None and "log-concave" in choice.reason


# -- draws ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.8, 40.0, 5e6])
def test_draws_have_the_law_and_no_other(scale: float) -> None:
    """The empirical distribution agrees with the law, and rejects 2/3 and 3/2 of the scale.

    Dvoretzky, Kiefer and Wolfowitz with Massart's constant; the false-alarm rate is 1e-6.
    """
    count = 100_000
    values, counts = np.unique(hush.draw(Secant(scale), count), return_counts=True)
    reached = np.cumsum(counts) / count
    allowed = math.sqrt(math.log(2.0 / CHANCE) / (2.0 * count))
    assert np.abs(reached - Secant(scale).cdf(values + 0.5)).max() <= allowed
    for wrong in (2.0 / 3.0, 3.0 / 2.0):
        assert np.abs(reached - Secant(scale * wrong).cdf(values + 0.5)).max() > allowed


# -- ledgers -------------------------------------------------------------------------------------------------


def _fresh(code: str, *arguments: str) -> str:
    """Return the last line that a new process prints; it can import this file. An exception is its last line."""
    head = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nimport hush\n"
    done = subprocess.run(
        [sys.executable, "-c", head + code, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    return (done.stdout or done.stderr).strip().splitlines()[-1]


def test_a_ledger_file_holds_it_here_and_in_another_process(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    ledger = hush.Ledger(path, epsilon=2.0, delta=1e-5)
    hush.release(3.0, hush.calibrate(1.0, 1e-6, family="secant"), ledger=ledger)
    spent = ledger.spent.epsilon
    assert hush.Ledger(path).spent.epsilon == spent > 0.0
    read = "print(hush.Ledger(sys.argv[1]).spent.epsilon)"
    assert float(_fresh("from test_new_family import Secant\nhush.register(Secant)\n" + read, path)) == spent
    said = _fresh(read, path)
    assert said.startswith(
        "hush.errors.UnknownFamily: the noise family 'secant' is not known here; "
        "import its module and call hush.register"
    )


def test_plain_values_carry_the_version_where_it_is_not_one() -> None:
    assert catalogue.plain_values(Secant(2.0)) == {"family": "secant", "scale": 2.0}
    hush.register(dataclasses.replace(Secant.FAMILY, version=2))
    written = json.loads(json.dumps(catalogue.plain_values(Secant(2.0))))
    assert written == {"family": "secant", "version": 2, "scale": 2.0}
    assert catalogue.from_plain_values(written) == Secant(2.0)
    with pytest.raises(hush.UnknownFamily, match="written by version 1 of its family; version 2 is known here"):
        catalogue.from_plain_values({"family": "secant", "scale": 2.0})


# -- citations, explorer, command line ------------------------------------------------------------------------


def test_it_is_cited() -> None:
    for what in ("secant", Secant, Secant(1.0), hush.calibrate(1.0, 1e-6, family="secant")):
        assert hush.cite(what).startswith("@book{fischer2013,")


def test_the_explorer_calibrates_it_live() -> None:
    from hush.explorer.state import START, State
    from hush.explorer.view import answer

    state = State.read(START.query.replace("show=", "show=secant,"))
    found = answer(state)
    row = next(row for row in found["ranking"] if row["family"] == "secant")
    assert (
        row["delta"] <= START.delta
        and "secant" in found["densities"]["series"]
        and found["best"]["family"] == "staircase"
    )


def test_doctor_completion_and_the_command_line_know_it(capsys: pytest.CaptureFixture[str]) -> None:
    from hush.cli import main
    from hush.cli.selftest import checks

    assert next(row for row in checks() if (row.area, row.name) == ("numerics", "secant")).state == "ok"
    assert main(["curve", "--family", "secant", "--scale", "2", "--epsilon", "0.5"]) == 0
    assert f"{hush.delta(Secant(2.0), 0.5):.4g}" in capsys.readouterr().out
    assert main(["calibrate", "--epsilon", "1", "--delta", "1e-6", "--family", "secant"]) == 0
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out.count("secant") >= 3


# -- registering ---------------------------------------------------------------------------------------------


def test_registering_twice_is_fine_and_a_taken_name_is_refused() -> None:
    before = catalogue.families()
    assert hush.register(Secant) is hush.register(Secant.FAMILY) is Secant.FAMILY
    assert catalogue.families() == before

    @dataclass(frozen=True)
    class Other(Secant):
        pass

    for name in ("secant", "laplace"):
        with pytest.raises(hush.InvalidParameter, match=f"the name '{name}' is taken by .*; give Other another name"):
            hush.register(hush.Family(name, Other))
    with pytest.raises(hush.InvalidParameter, match="FAMILY of Other describes Secant"):
        hush.register(Other)
    with pytest.raises(hush.InvalidParameter, match="Laplace is the built-in family 'laplace'"):
        hush.register(hush.Family("my_laplace", hush.Laplace))
    assert catalogue.families() == before


@pytest.mark.parametrize("given", [3, "secant", Secant(1.0), int, hush.Law])
def test_other_things_are_not_registered(given: Any) -> None:
    with pytest.raises(hush.InvalidParameter, match="register takes a Family, or a noise class"):
        hush.register(given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Secant", Secant), "name must consist of small letters"),
        (("secant", int), "type must be a frozen dataclass"),
        (("secant", hush.Law), "type must be a frozen dataclass"),
        (("secant", Secant, ("sigma",)), "parameters must be those of Secant, scale; got sigma"),
    ],
)
def test_a_wrong_descriptor_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=message):
        hush.Family(*arguments)


def test_a_family_without_a_rule_is_absent_with_a_reason() -> None:
    hush.register(dataclasses.replace(Secant.FAMILY, unit=None))
    with pytest.raises(hush.Unsupported, match="its Family needs calibrate, shape or unit"):
        hush.calibrate(1.0, 1e-6, family="secant")


def test_what_is_not_registered_is_not_known() -> None:
    with catalogue.restored():
        catalogue._Registry.rows = catalogue._BUILT_IN
        with pytest.raises(hush.InvalidParameter, match="family must be one of"):
            hush.calibrate(1.0, 1e-6, family="secant")
        with pytest.raises(hush.Unsupported, match="not registered, so it has no exact draw"):
            hush.draw(Secant(3.5), 3)
