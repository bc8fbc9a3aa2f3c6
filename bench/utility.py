"""Variance of one grouped count at equal guarantee: hush beside what its peers would add, and beside the least that
any noise can have.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator

import environment
from record import Benchmark, Line, Note, main

import hush
from hush.calibration.linear_program import lattice_bound
from hush.noise.catalogue import in_words
from hush.noise.contract import Noise
from hush.tables.contribution import Part, Reach
from hush.tables.noise_choice import spending

BUDGETS = ((1.0, 1e-6), (0.5, 1e-8), (3.0, 1e-6))
GROUPS = (1, 3, 10, 20, 50)
Variance = Callable[[float, float, int], float]

_GEOMETRIC = """
import json, sys
from diffprivlib.mechanisms import Geometric
print(json.dumps([Geometric(epsilon=e, sensitivity=int(s)).variance(0) for e, s in json.loads(sys.argv[1])]))
"""


def row_name(epsilon: float, delta: float, groups: int) -> str:
    """How a case is called in the tables."""
    return f"epsilon = {epsilon:g}, delta = {delta:g}, {groups} group{'s' if groups > 1 else ''}".replace("e-0", "e-")


def by_pipeline_dp() -> dict[str, Variance]:
    """The square of the noise that PipelineDP itself says it adds to a count."""
    import pipeline_dp
    from pipeline_dp import dp_computations

    def variance(kind: object) -> Variance:
        def made(epsilon: float, delta: float, groups: int) -> float:
            params = dp_computations.ScalarNoiseParams(
                eps=epsilon,
                delta=delta,
                min_value=None,
                max_value=None,
                min_sum_per_partition=None,
                max_sum_per_partition=None,
                max_partitions_contributed=groups,
                max_contributions_per_partition=1,
                noise_kind=kind,
            )
            return float(dp_computations.compute_dp_count_noise_std(params)) ** 2

        return made

    kinds = pipeline_dp.NoiseKind
    return {"PipelineDP, Laplace": variance(kinds.LAPLACE), "PipelineDP, Gaussian": variance(kinds.GAUSSIAN)}


def by_opendp() -> dict[str, Variance]:
    """The least scale that OpenDP's own search finds and its privacy map accepts; it then draws from the discrete law
    of that scale.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int))

    def laplace(epsilon: float, delta: float, groups: int) -> float:
        made = dp.binary_search_param(
            lambda scale: dp.m.make_laplace(space, dp.l1_distance(T=int), scale=scale), d_in=groups, d_out=epsilon
        )
        return hush.Discrete(hush.Laplace(made)).variance

    def gaussian(epsilon: float, delta: float, groups: int) -> float:
        def release(scale: float) -> object:
            concentrated = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=scale)
            return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(concentrated), delta)

        made = dp.binary_search_param(release, d_in=groups**0.5, d_out=(epsilon, delta))
        return hush.Discrete(hush.Gaussian(made)).variance

    return {"OpenDP, integer Laplace": laplace, "OpenDP, integer Gaussian": gaussian}


def by_diffprivlib(cases: list[tuple[float, float, int]]) -> dict[str, Variance]:
    """The variance that diffprivlib's mechanism for counts (geometric, sensitivity = groups) states of itself."""
    python = environment.diffprivlib_python()
    if python is None:
        raise ImportError
    wanted = json.dumps([(epsilon, groups) for epsilon, _, groups in cases])
    done = subprocess.run(
        [python, "-W", "ignore", "-c", _GEOMETRIC, wanted], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ImportError(done.stderr)
    found = dict(zip(cases, json.loads(done.stdout), strict=True))
    return {"diffprivlib, geometric": lambda epsilon, delta, groups: found[epsilon, delta, groups]}


def peers(cases: list[tuple[float, float, int]]) -> Iterator[dict[str, Variance] | Note]:
    makers = (("PipelineDP", by_pipeline_dp), ("OpenDP", by_opendp), ("diffprivlib", lambda: by_diffprivlib(cases)))
    for name, make in makers:
        try:
            yield make()
        except ImportError:
            yield Note(f"{name} is not installed here and was left out.")


def _variance(reach: Reach, epsilon: float, delta: float) -> tuple[float, Noise]:
    """The variance of a count, with what the lattice adds, and the noise."""
    spent = spending(reach, epsilon, delta)
    (made,) = spent.sources.values()
    lattice = 0.0 if spent.joint is not None else made.rounding_loss  # the counts are on the lattice of joint noise
    return spent.plan.variance * (1.0 + lattice), spent.noise


def measure(quick: bool) -> Iterator[Line | Note]:
    cases = [
        (*budget, groups) for budget in BUDGETS[: 1 if quick else None] for groups in GROUPS[: 2 if quick else None]
    ]
    rivals: dict[str, Variance] = {}
    for found in peers(cases):
        if isinstance(found, Note):
            yield found
        else:
            rivals |= found
    for epsilon, delta, groups in cases:
        name = row_name(epsilon, delta, groups)
        part = Part("n", ("n",), 1, one_sided=True, people=True)
        ours, noise = _variance(Reach(groups, (part,), listed=groups), epsilon, delta)
        yield Line(name, "hush: variance", ours, "variance", "lower", extra=in_words(noise))
        if groups == 1:
            least = lattice_bound(epsilon, delta, 1, "variance", 0.5)
        else:
            body = hush.Sensitivity(linf=1.0, dimension=groups, one_sided=True)
            least = hush.limit(epsilon, delta, body, values="integer").lower
        yield Line(name, "limit / hush", least / ours, "times", "higher")
        if groups > 1:
            private, noise = _variance(Reach(groups, (part,)), epsilon, delta)
            yield Line(name, "hush, private keys / hush", private / ours, "times", "lower", extra=in_words(noise))
        for rival, variance in rivals.items():
            yield Line(name, f"{rival} / hush", variance(epsilon, delta, groups) / ours, "times", "higher")
        sigma = float(hush.gaussian.sigma(epsilon, delta, groups**0.5))
        yield Line(name, "Gaussian, least sigma / hush", sigma**2 / ours, "times", "higher")


BENCHMARKS = (
    Benchmark(
        key="utility",
        title="Noise of a grouped count",
        measures=(
            "The variance of the noise on every count of a table in which a person may be in all of the stated "
            "number of groups, whose keys are listed, and moves each count by at most 1: that of hush, and that of "
            "the others as multiples of it. Nothing is timed."
        ),
        fair=(
            "Every column has at least the same (epsilon, delta) for the same bound; below 1, hush adds more "
            "noise. The scales come from the peers: PipelineDP states its noise, OpenDP finds its least scale "
            "with its own privacy map, diffprivlib states the variance of its mechanism. Their Laplace and "
            "geometric noises give the stronger delta = 0. The number of hush includes what its lattice adds. The "
            "limit is a proved lower bound on the variance of any integer noise. The column for private keys is for "
            "groups that are not known in advance: there hush cannot draw the noise of all groups at once either. "
            "The last column is the least sigma of Balle and Wang (2018)."
        ),
        rows="budget and groups of one person",
        minutes=1.0,
        measure=measure,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
