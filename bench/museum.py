"""The attacks of the museum on other libraries, where they are installed.

    python bench/museum.py PYTHON...    run the attacks in each of these interpreters and write docs/results/museum.json
    python bench/museum.py --here       run what can be imported here, and print the results as JSON

Each check calls a public function of the library as its documentation shows. True means that the attack succeeds.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import io
import json
import math
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results" / "museum.json"
DRAWS = 4000
#: (check, package) and the attack; it returns whether it succeeds, and a fact about it.
Attack = Callable[[], tuple[bool, str]]
ATTACKS: dict[tuple[str, str], Attack] = {}


def attack(check: str, package: str) -> Callable[[Attack], Attack]:
    def kept(function: Attack) -> Attack:
        ATTACKS[check, package] = function
        return function

    return kept


def finer_bits(release: Callable[[float], float]) -> tuple[bool, str]:
    """The precision attack: bits that 0 + noise has and 1 + noise never has."""
    import numpy as np

    def lowest(value: float) -> Any:
        made = np.array([release(value) for _ in range(DRAWS)], dtype=np.float64)
        fraction, exponent = np.frexp(made)
        whole = (np.abs(fraction) * 2.0**53).astype(np.int64)
        whole[whole == 0] = 1 << 53
        return exponent.astype(np.int64) - 53 + np.log2(whole & -whole).astype(np.int64)

    zero, one = lowest(0.0), lowest(1.0)
    share = float((zero < one.min()).mean())
    return share > 0.01, f"{share:.0%} of outputs tell 0 from 1"


# -- diffprivlib -------------------------------------------------------------------------------------------------


@attack("laplace", "diffprivlib")
def diffprivlib_laplace() -> tuple[bool, str]:
    from diffprivlib.mechanisms import Laplace

    return finer_bits(Laplace(epsilon=1.0, sensitivity=1.0).randomise)


@attack("gaussian", "diffprivlib")
def diffprivlib_gaussian() -> tuple[bool, str]:
    from diffprivlib.mechanisms import Gaussian

    return finer_bits(Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1.0).randomise)


@attack("regression", "diffprivlib")
def diffprivlib_regression() -> tuple[bool, str]:
    import diffprivlib.models.linear_regression as module
    import numpy as np

    asked: list[float] = []
    real = module.LaplaceFolded

    def recorded(*args: Any, **kwargs: Any) -> Any:
        asked.append(float(kwargs["sensitivity"]))
        return real(*args, **kwargs)

    module.LaplaceFolded = recorded
    try:
        X = np.random.default_rng(0).uniform(0, 100, (50, 1))
        model = module.LinearRegression(epsilon=1.0, bounds_X=(0, 100), bounds_y=(0, 1), fit_intercept=False)
        model.fit(X, X[:, 0] / 100)
    finally:
        module.LaplaceFolded = real
    return min(asked) == 0.0, f"least sensitivity of a square in [0, 100]: {min(asked):g}"


@attack("labels", "diffprivlib")
def diffprivlib_labels() -> tuple[bool, str]:
    import numpy as np
    from diffprivlib.models import LogisticRegression

    X, y = np.random.default_rng(0).uniform(size=(50, 2)), [0] * 25 + [1] * 24 + [2]
    found = [len(LogisticRegression(epsilon=1.0, data_norm=2.0).fit(X[:n], y[:n]).classes_) for n in (50, 49)]
    return found[0] != found[1], f"{found[0]} classes with a person, {found[1]} without"


@attack("quantile", "diffprivlib")
def diffprivlib_quantile() -> tuple[bool, str]:
    import numpy as np
    from diffprivlib.tools import quantile

    random = np.random.RandomState(0)
    rows = np.concatenate([np.full(80_000, 65_000), random.randint(0, 500_000, 20_000)])
    try:
        quantile(rows, 0.5, epsilon=0.5, bounds=(0, 500_000))
    except RuntimeError as failure:
        return True, f"RuntimeError: {str(failure).partition('.')[0]}"
    return False, "answered"


@attack("bounds", "diffprivlib")
def diffprivlib_bounds() -> tuple[bool, str]:
    from diffprivlib.tools import mean

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        mean([1.0, 2.0, 50.0], epsilon=1.0)
    return True, f"answers with {warned[0].category.__name__}" if warned else "answers"


@attack("nan", "diffprivlib")
def diffprivlib_nan() -> tuple[bool, str]:
    import numpy as np
    from diffprivlib.tools import mean

    found = float(mean(np.array([1.0, np.nan]), epsilon=1.0, bounds=(0, 5)))
    return math.isnan(found), "the mean with one NaN is NaN" if math.isnan(found) else "a number"


@attack("overflow", "diffprivlib")
def diffprivlib_overflow() -> tuple[bool, str]:
    import numpy as np
    from diffprivlib.tools import sum as private_sum

    rows = np.array([2**31 - 1, 1], dtype=np.int32)
    found = [float(private_sum(rows[:n], epsilon=1e6, bounds=(0, 2**31 - 1), dtype=np.int32)) for n in (2, 1)]
    moved = abs(found[0] - found[1])
    return moved > 2**30, f"one row with the value 1 moves a sum of 32-bit integers by {moved:.3g}"


@attack("tiny", "diffprivlib")
def diffprivlib_tiny() -> tuple[bool, str]:
    from diffprivlib import BudgetAccountant
    from diffprivlib.utils import BudgetError

    accountant = BudgetAccountant(epsilon=1.0, delta=0.0)
    accountant.spend(1.0, 0.0)
    try:
        for _ in range(100):
            accountant.spend(1e-17, 0.0)
    except (BudgetError, ValueError):
        return False, "refused"
    return True, "100 spends of 1e-17 beyond the cap accepted"


# -- OpenDP --------------------------------------------------------------------------------------------------------


def opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return dp


@attack("laplace", "opendp")
def opendp_laplace() -> tuple[bool, str]:
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return finer_bits(dp.m.make_laplace(*space, scale=1.0))


@attack("gaussian", "opendp")
def opendp_gaussian() -> tuple[bool, str]:
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return finer_bits(dp.m.make_gaussian(*space, scale=1.0))


@attack("sampler", "opendp")
def opendp_sampler() -> tuple[bool, str]:
    import numpy as np

    dp, scale, size = opendp(), 3.0, 100_000
    release = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=scale)
    places = np.arange(-60, 61)
    law = np.exp(-np.abs(places) / scale)
    drawn = np.clip(np.array(release([0] * size)), -60, 60)
    counts = np.bincount(drawn + 60, minlength=121) / size
    distance = float(np.abs(np.cumsum(counts) - np.cumsum(law / law.sum())).max())
    limit = math.sqrt(math.log(2e6) / (2.0 * size))
    return distance > limit, f"largest difference to the law {distance:.4f}, by chance up to {limit:.4f}"


@attack("bitvec", "opendp")
def opendp_bitvec() -> tuple[bool, str]:
    dp = opendp()
    release = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=1.0)
    sent = [int.from_bytes(release(bytes([0, 0, 0, 0])), "little") for _ in range(64)]
    constant = [bit for bit in range(32) if len({word >> bit & 1 for word in sent}) == 1]
    return bool(constant), f"{len(constant)} of 32 bits never change"


@attack("overflow", "opendp")
def opendp_overflow() -> tuple[bool, str]:
    dp, most = opendp(), 2**31 - 1
    space = dp.vector_domain(dp.atom_domain(bounds=(-most, most), T="i32")), dp.symmetric_distance()
    total = space >> dp.t.then_sum()
    moved = abs(total([most, 1]) - total([most])), abs(total([most, most, -most]) - total([most, -most, most]))
    return max(moved) > total.map(1), f"moves of {moved[0]} by a row and of {moved[1]} by the order"


@attack("rounding", "opendp")
def opendp_rounding() -> tuple[bool, str]:
    dp, large = opendp(), 2.0**53
    space = dp.vector_domain(dp.atom_domain(bounds=(0.0, large), T=float, nan=False), size=4), dp.symmetric_distance()
    total = space >> dp.t.then_sum()
    moved = abs(total([large, 1.0, 1.0, 1.0]) - total([0.0, 1.0, 1.0, 1.0]))
    stated = total.map(2)
    return moved > stated, f"a replaced row moves the sum by {moved:.17g}; stated, with rounding: {stated:.17g}"


@attack("nan", "opendp")
def opendp_nan() -> tuple[bool, str]:
    dp = opendp()
    try:
        dp.t.make_clamp(dp.vector_domain(dp.atom_domain(T=float)), dp.symmetric_distance(), bounds=(0.0, 5.0))
    except dp.OpenDPException:
        return False, "a clamp refuses a domain with NaN"
    return True, "a clamp accepts a domain with NaN"


@attack("noisy_max", "opendp")
def opendp_noisy_max() -> tuple[bool, str]:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    release = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=1.0)
    size, order = 20_000, 2.0
    shares = [sum(release(scores) == 0 for _ in range(size)) / size for scores in ([0, 0], [1, -1])]
    p, q = ([share, 1.0 - share] for share in shares)
    found = math.log(sum(a**order * b ** (1.0 - order) for a, b in zip(p, q, strict=True))) / order
    stated = float(release.map(1))
    return found > 1.1 * stated, f"states rho {stated:g}, measured at least {found:.2f} at order 2"


@attack("amplified", "opendp")
def opendp_amplified() -> tuple[bool, str]:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(bounds=(0, 1), T=int), size=100), dp.symmetric_distance()
    one = dp.c.make_population_amplification(space >> dp.t.then_sum() >> dp.m.then_laplace(1.0), 1000)
    both = dp.c.make_composition([one, one]).map(2)
    fact = f"two releases on one sample are accepted at the sum of their amplified epsilons, {both:.3f}"
    return both < 2.001 * one.map(2), fact


@attack("codes", "opendp")
def opendp_codes() -> tuple[bool, str]:
    import polars as pl

    dp = opendp()
    query = pl.LazyFrame(schema={"x": pl.Float64}).select(
        pl.col("x").cut([1.0]).to_physical().dp.sum((0, 1), scale=1.0)
    )
    domain = dp.lazyframe_domain([dp.series_domain("x", dp.atom_domain(T=float, nan=False))])
    domain = dp.with_margin(domain, dp.polars.Margin(max_length=101))
    distance = dp.frame_distance(dp.symmetric_distance())
    made = dp.m.make_private_lazyframe(domain, distance, dp.max_divergence(), query)
    sums = [made(pl.LazyFrame({"x": x})).collect().item() for x in ([0.5] * 100, [2.0] + [0.5] * 100)]
    return abs(sums[1] - sums[0]) > 50, f"one row more moves a sum of values in [0, 1] from {sums[0]} to {sums[1]}"


@attack("redefined", "opendp")
def opendp_redefined() -> tuple[bool, str]:
    import polars as pl

    dp = opendp()
    counts = (
        pl.LazyFrame(schema={"id": pl.Int64, "g": pl.Int64})
        .filter(pl.int_range(pl.len()).over("id", "g") < 1)
        .filter(pl.struct("g").rank("dense").over("id") < 101)
        .with_columns(g=pl.lit(0, dtype=pl.Int64))
        .group_by("g")
        .agg(dp.len(scale=1.0))
    )
    query = pl.LazyFrame({"g": [0]}).join(counts, on="g", how="left")
    names = [dp.series_domain(name, dp.atom_domain(T="i64")) for name in ("id", "g")]
    distance = dp.symmetric_id_distance(identifier=pl.col("id"))
    made = dp.m.make_private_lazyframe(dp.lazyframe_domain(names), distance, dp.zero_concentrated_divergence(), query)
    both = pl.LazyFrame({"id": [0] * 100 + [1] * 100, "g": list(range(100)) * 2})
    one = pl.LazyFrame({"id": [1] * 100, "g": list(range(100))})
    moved = abs(made(both).collect()["len"].item() - made(one).collect()["len"].item())
    rho = float(made.map(1))
    fact = f"states rho {rho:g}; one person moves a count with noise of scale 1 by {moved}"
    return moved**2 / 2.0 > 10.0 * rho and moved > 50, fact


# -- others --------------------------------------------------------------------------------------------------------


@attack("laplace", "python-dp")
def pydp_laplace() -> tuple[bool, str]:
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    return finer_bits(LaplaceMechanism(1.0, 1.0).add_noise)


@attack("gaussian", "python-dp")
def pydp_gaussian() -> tuple[bool, str]:
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    return finer_bits(GaussianMechanism(1.0, 1e-6, 1.0).add_noise)


@attack("nan", "python-dp")
def pydp_nan() -> tuple[bool, str]:
    from pydp.algorithms.laplacian import BoundedSum

    found = float(BoundedSum(epsilon=10.0, lower_bound=0, upper_bound=5, dtype="float").quick_result([1.0, math.nan]))
    return math.isnan(found), "the sum with one NaN is NaN" if math.isnan(found) else "the sum with one NaN is a number"


@attack("laplace", "pipeline-dp")
def pipeline_laplace() -> tuple[bool, str]:
    from pipeline_dp import dp_computations

    return finer_bits(lambda value: dp_computations.apply_laplace_mechanism(value, 1.0, 1.0))


@attack("laplace", "tmlt.core")
def tumult_laplace() -> tuple[bool, str]:
    from tmlt.core.random.laplace import laplace

    return finer_bits(lambda value: laplace(value, 1.0))


@attack("odometer", "smartnoise-sql")
def smartnoise_odometer() -> tuple[bool, str]:
    from snsql import Privacy
    from snsql.sql.odometer import OdometerHeterogeneous

    spent = OdometerHeterogeneous(Privacy(epsilon=0.05, delta=1e-6))
    for _ in range(500):
        spent.spend()
    found = float(spent.spent[0])
    tolerance, steps, one = 0.5e-6, 500, 0.05
    left = steps * one * (math.exp(one) - 1.0) / (math.exp(one) + 1.0)
    right = left + one * math.sqrt(2.0 * steps * math.log(1.0 / tolerance))
    return found > 1.2 * right, f"500 releases of epsilon 0.05: {found:.2f}; the theorem gives {right:.2f}"


@attack("divisor", "opacus")
def opacus_divisor() -> tuple[bool, str]:
    import opacus
    import torch

    found = []
    for rows in (1000, 999):
        module = torch.nn.Linear(2, 2)
        data = torch.utils.data.TensorDataset(torch.zeros(rows, 2), torch.zeros(rows))
        _, optimizer, _ = opacus.PrivacyEngine().make_private(
            module=module,
            optimizer=torch.optim.SGD(module.parameters(), 0.1),
            data_loader=torch.utils.data.DataLoader(data, batch_size=50),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )
        found.append(optimizer.expected_batch_size)
    return found[0] != found[1], f"1,000 rows are divided by {found[0]}, 999 by {found[1]}"


# ------------------------------------------------------------------------------------------------------------------


def here() -> Iterator[dict[str, Any]]:
    """The results of every attack whose package is installed in this interpreter."""
    for (check, package), function in ATTACKS.items():
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        row: dict[str, Any] = {"check": check, "package": package, "version": version}
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                found, fact = function()
            yield row | {"succeeds": bool(found), "fact": fact}
        except Exception as failure:
            yield row | {"succeeds": None, "fact": f"not run: {type(failure).__name__}"}


def main(interpreters: list[str]) -> None:
    rows: list[dict[str, Any]] = []
    for python in interpreters:
        done = subprocess.run([python, __file__, "--here"], capture_output=True, text=True, timeout=900, check=True)
        rows += json.loads(done.stdout)
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:  # the newest version of a package that is installed anywhere
        key = row["check"], row["package"]
        if key not in best or newer(row["version"], best[key]["version"]):
            best[key] = row
    text = {"date": datetime.date.today().isoformat(), "results": [best[key] for key in sorted(best)]}
    RESULTS.write_text(json.dumps(text, indent=1) + "\n")
    for row in text["results"]:
        print(f"{row['check']:12} {row['package']:16} {row['version']:9} {row['succeeds']!s:6} {row['fact']}")


def newer(one: str, other: str) -> bool:
    def parts(version: str) -> list[int]:
        return [int(part) for part in version.split(".") if part.isdigit()]

    return parts(one) > parts(other)


if __name__ == "__main__":
    if sys.argv[1:] == ["--here"]:
        print(json.dumps(list(here())))
    elif sys.argv[1:]:
        main(sys.argv[1:])
    else:
        raise SystemExit(__doc__)
