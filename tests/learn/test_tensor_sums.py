"""Sums of clipped gradients as whole numbers: the norm of every row is at most the clip, exactly; sums do not depend on
the order; the noise has its law; payments. Tests of the lattice need no PyTorch.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import hush
from hush.learn.torch.lattice import Lattice
from hush.learn.torch.sums import _paid, _part
from hush.ledger.payment import unaccounted
from hush.sampling.entropy import DeterministicTestEntropy
from hush.sampling.mechanism import Mechanism


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'hush[torch]'")


# -- the lattice ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [1.0, 0.1, 3.7, 1e-6, 1e9])
@pytest.mark.parametrize("numbers", [1, 7, 1000, 10**6, 10**9])
def test_the_step_is_a_power_of_two_and_the_noise_is_never_too_small(clip: float, numbers: int) -> None:
    lattice = Lattice(clip, numbers)
    assert math.frexp(lattice.step)[0] == 0.5
    typical = clip / math.sqrt(numbers)
    assert 2.0**-11 * typical <= lattice.step <= 2.0**-10 * typical * (1.0 + 1e-15)
    assert Fraction(lattice.reach) * Fraction(lattice.step) == Fraction(clip)
    for sigma in (0.3, 1.1, 7.0):
        assert Fraction(lattice.noise(sigma)) * Fraction(lattice.step) >= Fraction(sigma) * Fraction(clip)
        assert lattice.noise(sigma) * lattice.step <= sigma * clip * (1.0 + 1e-14)
    assert Fraction(lattice.room) <= Fraction(clip) * (1 - Fraction(numbers + 16, 2**52))


def test_bad_lattices_are_refused() -> None:
    for clip in (0.0, -1.0, math.nan, math.inf, "1", None):
        with pytest.raises(hush.InvalidParameter, match="clip"):
            Lattice(clip, 3)  # type: ignore[arg-type]
    for clip, numbers in ((1e-200, 3), (1e200, 3), (1.0, 2**41)):
        with pytest.raises(hush.Unsupported, match="clip"):
            Lattice(clip, numbers)
    with pytest.raises(hush.Unsupported, match="smaller batches"):
        Lattice(1.0, 10**6).must_hold(2**40)


# -- payments ------------------------------------------------------------------------------------------------


def batches(l2: float) -> hush.Charge:
    return hush.subsample(
        hush.Gaussian(1.1), batch=10, rows=1000, sensitivity=hush.Sensitivity(l2=l2, neighbours="replace")
    )


def test_a_replaced_row_is_paid_for_as_two_rows() -> None:
    """A row that replaces another moves the sum by twice the clip, so a charge for once the clip is not enough."""
    for charge in (batches(1.0), hush.subsample(hush.Gaussian(1.1), 0.1, hush.Sensitivity(l2=2.0))):
        with pytest.raises(hush.NotPaid, match="another sensitivity"):
            _paid(unaccounted(charge), 1.1)
    paid = unaccounted(batches(2.0))
    assert _paid(paid, 1.1) == (paid, batches(2.0))


def test_the_first_charge_with_steps_left_pays() -> None:
    rare, often = (hush.subsample(hush.Gaussian(1.1), rate) for rate in (0.01, 0.02))
    payment = unaccounted([rare, often])
    for expected in (rare, often):
        assert _paid(payment, 1.1)[1] == expected and payment.left(expected, part=_part(0)) == 1
        mechanism = Mechanism(hush.Gaussian(1.1), hush.Sensitivity(l2=1.0), 1.0, integers=True, part_of=expected)
        payment.noise(mechanism, np.zeros(1, dtype=np.int64), part=_part(0))
    assert _paid(payment, 1.1)[1] == rare  # used up: the draw raises
    with pytest.raises(hush.NotPaid, match="used up"):
        payment.noise(mechanism, np.zeros(1, dtype=np.int64), part=_part(0))


# -- tensors -------------------------------------------------------------------------------------------------


def squared_norm(steps: list[Any]) -> int:
    return sum(int(k) ** 2 for one in steps for k in one.reshape(-1).tolist())


def rows_of(torch: Any, kind: str, dtype: Any) -> list[Any]:
    """One row of hard cases for the norm: at the clip, huge, tiny, mixed sizes, zeros, not finite."""
    generator = torch.Generator().manual_seed(7)
    one = torch.randn(1, 4, 25, generator=generator, dtype=torch.float64)
    other = torch.randn(1, 11, generator=generator, dtype=torch.float64)
    factor = {"plain": 1.0, "huge": 1e30, "tiny": 1e-30}.get(kind, 1.0)
    if kind == "at the clip":
        factor = 1.0 / math.sqrt(float(one.square().sum() + other.square().sum()))
    if kind == "mixed":
        one *= 10.0 ** torch.arange(-50.0, 50.0, dtype=torch.float64).reshape(1, 4, 25).mul_(0.5)
    if kind == "zero":
        factor = 0.0
    if kind == "not finite":
        other[0, 3], one[0, 0, 0] = math.nan, math.inf
    return [(one * factor).to(dtype), (other * factor).to(dtype)]


@pytest.mark.parametrize("kind", ["plain", "at the clip", "huge", "tiny", "mixed", "zero", "not finite"])
@pytest.mark.parametrize("width", ["float32", "float64"])
@pytest.mark.parametrize("clip", [1.0, 0.3])
def test_the_exact_norm_of_a_row_is_within_the_clip(torch: Any, kind: str, width: str, clip: float) -> None:
    from hush.learn.torch.sums import sum_of_clipped

    rows, lattice = rows_of(torch, kind, getattr(torch, width)), Lattice(clip, 111)
    before = [one.clone() for one in rows]
    steps = sum_of_clipped(rows, lattice)
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(before, rows, strict=True))  # only read
    length = squared_norm(steps) * Fraction(lattice.step) ** 2
    assert length <= Fraction(clip) ** 2
    if kind in ("plain", "huge") or (kind == "at the clip" and clip < 1.0):
        assert length > Fraction(clip) ** 2 * Fraction(98, 100)  # rounding towards zero costs little
    if kind in ("zero", "tiny", "not finite"):
        assert length == 0
    if kind == "at the clip" and clip == 1.0:
        for one, row in zip(steps, rows, strict=True):
            away = (row[0].to(torch.float64) / lattice.step - one).abs().max()
            assert float(away) < 1.0 + 1e-6


def test_sums_are_exact_in_any_order_and_differ_by_one_row(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from hush.learn.torch import sums

    generator = torch.Generator().manual_seed(3)
    rows = torch.randn(300, 40, generator=generator) * 10.0 ** torch.randint(-3, 3, (300, 1), generator=generator)
    lattice = Lattice(1.0, 40)
    (whole,) = sums.sum_of_clipped([rows], lattice)
    (turned,) = sums.sum_of_clipped([rows[torch.randperm(300, generator=generator)]], lattice)
    (without,) = sums.sum_of_clipped([rows[1:]], lattice)
    (alone,) = sums.sum_of_clipped([rows[:1]], lattice)
    assert torch.equal(whole, turned) and torch.equal(whole - without, alone)
    assert squared_norm([whole - without]) * Fraction(lattice.step) ** 2 <= 1
    monkeypatch.setattr(sums, "_BLOCK", 90)
    monkeypatch.setattr(sums, "_WIDE", 15)  # six rows and fifteen columns at once
    assert torch.equal(sums.sum_of_clipped([rows], lattice)[0], whole)
    parts = sums.sum_of_clipped([rows[:, :13].reshape(300, 13), rows[:, 13:].reshape(300, 3, 9)], lattice)
    assert torch.equal(torch.cat([one.reshape(-1) for one in parts]), whole) and parts[1].shape == (3, 9)


def test_a_sum_in_floats_is_not_exact(torch: Any) -> None:
    """What is avoided: one row more moves a float32 sum by a vector that is longer than the clip."""
    many = torch.full((1, 1), 2.0**24 + 2.0)
    row = torch.ones(1, 1)
    moved = torch.cat([many, row]).sum() - many.sum()
    twice = torch.cat([many, row, row, row]).sum() - torch.cat([many, row, row]).sum()
    assert {float(moved), float(twice)} != {1.0}
    from hush.learn.torch.sums import sum_of_clipped

    lattice = Lattice(1.0, 1)
    counts = [int(sum_of_clipped([torch.ones(n, 1)], lattice)[0]) for n in (3, 4)]
    assert counts[1] - counts[0] <= lattice.reach


@pytest.mark.parametrize("factor", [1.0, 2.0 / 3.0, 1.5])
def test_the_noise_of_a_sum_has_its_law(torch: Any, factor: float) -> None:
    """The test of Kolmogorov and Smirnov on 20,000 numbers rejects the right law once in a million. It must reject
    scales of 2/3 and 3/2.
    """
    zeros = torch.zeros(5, 20_000)
    noisy = hush.torch.private_sum(zeros, clip=0.5, sigma=1.3)
    found = stats.kstest(noisy.to(torch.float64).numpy(), stats.norm(scale=0.65 * factor).cdf).pvalue
    assert (found > 1e-6) == (factor == 1.0)


@pytest.mark.parametrize("factor", [1.0, 2.0 / 3.0, 1.5])
def test_noise_like_has_its_law(torch: Any, factor: float) -> None:
    """The same; the step is a hundredth of sigma."""
    drawn = hush.torch.noise_like(torch.zeros(200, 100), 2.0, step=0.02)
    assert drawn.dtype == torch.int64 and drawn.shape == (200, 100)
    values = drawn.reshape(-1).numpy() * 0.02 + np.random.default_rng(1).uniform(-0.01, 0.01, drawn.numel())
    found = stats.kstest(values, stats.norm(scale=2.0 * factor).cdf).pvalue
    assert (found > 1e-6) == (factor == 1.0)


def test_many_draws_in_threads_are_as_many_and_all_different(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from hush.learn.torch import sums

    monkeypatch.setattr(sums, "_PER_THREAD", 100)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        drawn = hush.torch.noise_like(torch.zeros(1001), 1e9)
        summed = hush.torch.private_sum(torch.ones(2, 1001), clip=1.0, sigma=1e-6)
    finally:
        torch.set_num_threads(before)
    assert drawn.shape == (1001,) and len(set(drawn.tolist())) > 990
    assert torch.allclose(summed, torch.full((1001,), 2.0 / math.sqrt(1001.0)), rtol=2e-3)


def test_noise_that_does_not_fit_into_whole_numbers_is_refused(torch: Any) -> None:
    for sigma, step in ((2.0**56, 1.0), (1e20, 1e-3), (1e300, 1e-300)):
        with pytest.raises(hush.Unsupported, match="does not fit into int64"):
            hush.torch.noise_like(torch.zeros(4), sigma, step=step)
    assert int(hush.torch.noise_like(torch.zeros(100), 2.0**55).abs().max()) < 2**61


def test_the_form_of_the_result(torch: Any) -> None:
    rows = [torch.randn(6, 3, 2), torch.randn(6, 4, dtype=torch.float64), torch.randn(6)]
    found = hush.torch.private_sum(rows, clip=1.0, sigma=1.0)
    assert [one.shape for one in found] == [(3, 2), (4,), ()]
    assert [one.dtype for one in found] == [row.dtype for row in rows]
    alone = hush.torch.private_sum(torch.zeros(0, 3), clip=1.0, sigma=1.0)  # an empty Poisson sample
    assert alone.shape == (3,) and float(alone.abs().sum()) > 0.0


def test_a_payment_covers_its_steps_and_no_more(torch: Any) -> None:
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    payment = ledger.spend(hush.subsample(hush.Gaussian(1.1), 0.01, times=2), label="training")
    rows = torch.randn(8, 5)
    for _ in range(2):
        hush.torch.private_sum(rows, clip=1.0, sigma=1.1, payment=payment)
    with pytest.raises(hush.NotPaid, match="used up"):
        hush.torch.private_sum(rows, clip=1.0, sigma=1.1, payment=payment)
    two = unaccounted([hush.subsample(hush.Gaussian(1.1), rate) for rate in (0.01, 0.02)])
    for _ in range(2):
        hush.torch.private_sum(rows, clip=1.0, sigma=1.1, payment=two)
    with pytest.raises(hush.NotPaid, match="noise multiplier 2"):
        hush.torch.private_sum(rows, clip=1.0, sigma=2.0, payment=payment)
    with pytest.raises(hush.NotPaid, match="needs a payment"):
        hush.torch.private_sum(rows, clip=1.0, sigma=2.0, payment=ledger)  # type: ignore[arg-type]


def test_bad_gradients_are_refused_without_their_values(torch: Any) -> None:
    secret = torch.tensor([4711.0, 1.0])
    for bad in (
        None,
        4711.0,
        [],
        [[4711.0]],
        torch.tensor(4711.0),
        secret.to(torch.int64),
        [secret, torch.zeros(3, 2)],
        secret.numpy(),
    ):
        with pytest.raises(hush.InvalidParameter, match="gradients") as caught:
            hush.torch.private_sum(bad, clip=1.0, sigma=1.0)
        assert "4711" not in str(caught.value)
    for options in ({"clip": 0.0, "sigma": 1.0}, {"clip": 1.0, "sigma": 0.0}, {"clip": math.nan, "sigma": 1.0}):
        with pytest.raises(hush.InvalidParameter, match=r"clip|sigma"):
            hush.torch.private_sum(secret[:, None], **options)
    with pytest.raises(hush.InvalidParameter, match="tensor"):
        hush.torch.noise_like([1.0], 1.0)
    with pytest.raises(hush.Unsupported, match="secure entropy"):
        hush.torch.private_sum(secret[:, None], clip=1.0, sigma=1.0, entropy=DeterministicTestEntropy(1))
