"""Sums of clipped gradients in whole numbers, with noise of the exact law, for tensors of PyTorch on the CPU.

A sum in floating point is rounded, and the roundings depend on every row. Neighbouring data can then move the sum by
more than the clip (Casacuberta, Shoemate, Vadhan and Wagaman 2022), and the last bits of noise in floating point tell
more than its law allows (Mironov 2012). Here every row becomes a vector of whole numbers with a norm of at most the
clip (lattice.py), the sum is exact, and the noise is a whole number of steps: Gaussian noise rounded to the lattice.
The result is a Gaussian release that is rounded, so the account of the Gaussian release holds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, NotPaid, Unsupported, needs, positive, reject
from hush.learn.torch.lattice import Lattice
from hush.ledger.payment import Payment, must_be_payment, unaccounted
from hush.noise.gaussian import Gaussian
from hush.privacy.charge import Charge
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.entropy import Entropy
from hush.sampling.exact import draw
from hush.sampling.mechanism import Mechanism

__all__ = ["Lattice", "add_noise", "noise_like", "private_sum", "sum_of_clipped"]

Steps = NDArray[np.int64]

_WIDEST = 2.0**55  # steps: a draw of this standard deviation reaches 2^61 with probability below 1e-890
_BLOCK, _WIDE = 1 << 16, 1 << 12  # gradients that are converted to float64 at once, and columns of them
_MOVES = {"add-remove": 1.0, "replace": 2.0}  # how far neighbouring data move the sum, in clips
_PER_THREAD = 1 << 17  # draws for which another thread is worth its start


def _torch() -> Any:
    with needs("PyTorch", "hush.torch", extra="torch"):
        import torch
    return torch


def noise_like(tensor: Any, sigma: float, *, step: float = 1.0, entropy: Entropy | None = None) -> Any:
    """Gaussian noise of standard deviation sigma in the shape of a tensor, in whole steps (int64), drawn exactly.

    Add it to whole steps, and multiply the sum by the step at the end: both are exact. Noise that is added to floats
    would lose its law.

    Guarantees: the law is that of Gaussian noise rounded to multiples of the step, from secure random bits (see
    `hush.draw`). Adding it to data is not charged to any ledger; `private_sum` takes a payment.
    """
    torch = _torch()
    if not isinstance(tensor, torch.Tensor):
        raise reject("tensor", type(tensor).__name__, "a tensor of PyTorch", "write noise_like(torch.zeros(3), 1.0)")
    sigma, step = positive("sigma", sigma, "write sigma=1.0"), positive("step", step, "write step=1.0")
    if not sigma / step <= _WIDEST:
        raise Unsupported(
            f"noise of sigma = {sigma:g} in steps of {step:g} does not fit into int64; choose a step of at least "
            "sigma/2^55."
        )
    drawn = _in_threads(lambda count, _: draw(Gaussian(sigma), count, step, entropy), tensor.numel())
    return torch.from_numpy(drawn).reshape(tensor.shape)


def private_sum(
    gradients: Any, *, clip: float, sigma: float, payment: Payment | None = None, entropy: Entropy | None = None
) -> Any:
    """The sum of the rows of `gradients`, each clipped to l2 norm `clip`, plus Gaussian noise of standard deviation
    sigma * clip. `gradients` has one row for each example: one tensor, or a list with one tensor for each parameter.
    The result has the same form without rows.

    payment: what `Ledger.spend` returned for `hush.subsample(hush.Gaussian(sigma), rate, times=steps)`; each call takes
    one step of it. Without it nothing is charged, and an accountant has to count the step. For batches of a fixed size
    the sensitivity of the charge is `hush.Sensitivity(l2=2.0, neighbours="replace")`: two rows change.

    A row with a NaN or an infinity counts as zeros. So does a finite row whose squared norm overflows in float64.

    Guarantees: one row more or less moves the exact sum by at most `clip` in the l2 norm, and the noise has the exact
    law, so a call is a Gaussian release with noise multiplier sigma. docs/deep_learning.md has the proof.
    """
    torch = _torch()
    sigma = positive("sigma", sigma, "write sigma=1.1")
    alone = isinstance(gradients, torch.Tensor)
    tensors = _checked(torch, [gradients] if alone else gradients)
    lattice = Lattice(clip, max(sum(math.prod(one.shape[1:]) for one in tensors), 1))
    noisy = add_noise(sum_of_clipped(tensors, lattice), lattice, sigma, payment, entropy)
    made = [one.to(tensor.dtype) for one, tensor in zip(noisy, tensors, strict=True)]
    return made[0] if alone else made


def _checked(torch: Any, tensors: Any) -> list[Any]:
    """Tensors of floats with the same number of rows. Messages do not show their values."""
    hint = "write private_sum([p.grad_sample for p in model.parameters()], clip=1.0, sigma=1.1)"
    if not isinstance(tensors, Sequence) or not tensors or not all(isinstance(one, torch.Tensor) for one in tensors):
        raise InvalidParameter(f"gradients must be a tensor or a list of tensors; {hint}.")
    if not all(one.is_floating_point() and one.dim() > 0 and one.device.type == "cpu" for one in tensors):
        raise InvalidParameter("gradients must be tensors of floats on the CPU with one row for each example.")
    if len({len(one) for one in tensors}) > 1:
        raise InvalidParameter("all tensors of gradients must have the same number of rows, one for each example.")
    return [one.detach() for one in tensors]


def sum_of_clipped(tensors: Sequence[Any], lattice: Lattice) -> list[Any]:
    """The sums of the clipped rows in whole steps (int64), one for each tensor."""
    torch = _torch()
    rows = len(tensors[0])
    lattice.must_hold(rows)
    flat = [_as_array(torch, one).reshape(rows, math.prod(one.shape[1:])) for one in tensors]
    squares = np.zeros(rows)
    with np.errstate(all="ignore"):  # rows that are not finite, or whose squares overflow, are left out below
        for one in flat:
            for down, _, part in _blocks(one):
                squares[down] += np.multiply(part, part, out=part).sum(axis=1)
        finite = np.isfinite(squares)
        factors = np.where(finite, np.minimum(lattice.room / np.sqrt(squares), 1.0) / lattice.step, 0.0)
        sums = [_sum_of_steps(one, finite, factors) for one in flat]
    return [torch.from_numpy(one).reshape(tensor.shape[1:]) for one, tensor in zip(sums, tensors, strict=True)]


def _as_array(torch: Any, tensor: Any) -> NDArray[Any]:
    """The same numbers for numpy, which has no bfloat16."""
    known = tensor if tensor.dtype in (torch.float16, torch.float32, torch.float64) else tensor.to(torch.float32)
    return np.asarray(known.detach().numpy())


def _sum_of_steps(rows: NDArray[Any], finite: NDArray[np.bool_], factors: NDArray[np.float64]) -> Steps:
    """The sum of the rows, each multiplied by its factor and rounded towards zero."""
    total, all_finite = np.zeros(rows.shape[1]), bool(finite.all())
    for down, across, part in _blocks(rows):
        if not all_finite:
            part[~finite[down]] = 0.0  # 0 times NaN would be NaN
        np.multiply(part, factors[down, None], out=part)
        total[across] += np.trunc(part, out=part).sum(axis=0)
    return total.astype(np.int64)


def _blocks(rows: NDArray[Any]) -> Iterator[tuple[slice, slice, NDArray[np.float64]]]:
    """The gradients in small parts: which rows, which columns, and a copy in float64. Every copy uses the same memory,
    which stays in the processor cache.
    """
    wide = min(rows.shape[1], _WIDE)
    high = _BLOCK // max(wide, 1)
    memory = np.empty(_BLOCK)
    for left in range(0, rows.shape[1], _WIDE):
        for top in range(0, rows.shape[0], high):
            down, across = slice(top, top + high), slice(left, left + wide)
            part = memory[: rows[down, across].size].reshape(rows[down, across].shape)
            np.copyto(part, rows[down, across])
            yield down, across, part


def add_noise(
    sums: Sequence[Any], lattice: Lattice, sigma: float, payment: Payment | None = None, entropy: Entropy | None = None
) -> list[Any]:
    """The sums in whole steps with one draw of the noise, as float64 in units of the gradients."""
    torch = _torch()
    steps = np.concatenate([one.reshape(-1).numpy() for one in sums])
    paid, charge = _paid(payment, sigma)
    noise, bound = Gaussian(lattice.noise(sigma)), Sensitivity(l2=lattice.reach)

    def noisy(count: int, start: int) -> Steps:
        mechanism = Mechanism(noise, bound, 1.0, integers=True, coordinates=max(count, 1), part_of=charge)
        own = steps[start : start + count]
        return paid.noise(mechanism, own, part=_part(start), entropy=entropy)

    drawn = torch.from_numpy(_in_threads(noisy, steps.size))
    parts = torch.split(drawn, [one.numel() for one in sums])
    return [(part.to(torch.float64) * lattice.step).reshape(one.shape) for part, one in zip(parts, sums, strict=True)]


def _part(start: int) -> str:
    """The name of the part of a step that starts at this gradient. Every step has a part that starts at 0."""
    return f"gradients from {start}"


def _paid(payment: Payment | None, sigma: float) -> tuple[Payment, Charge]:
    """The payment, and the one of its charges that is for steps with this noise. One row more or less moves the sum by
    the clip, and one row that replaces another by twice the clip.
    """
    if payment is None:
        charge = Charge(Gaussian(sigma), Sensitivity.of(1.0))
        return unaccounted(charge), charge
    must_be_payment(payment)
    same = [charge for charge in payment.charges if charge.once.noise == Gaussian(sigma)]
    fitting = [charge.once for charge in same if charge.sensitivity.l2_bound == _MOVES.get(charge.neighbours)]
    if fitting:  # the first with steps left, or else one that is used up, which the payment refuses
        return payment, next((charge for charge in fitting if payment.left(charge, part=_part(0)) > 0), fitting[0])
    if same:
        raise NotPaid(
            f"the payment has steps with noise multiplier {sigma:g} for another sensitivity, so nothing was drawn; "
            "in units of the clip it must be Sensitivity(l2=1.0), or Sensitivity(l2=2.0, neighbours='replace')."
        )
    raise NotPaid(
        f"the payment has no steps with noise multiplier {sigma:g}, so nothing was drawn; "
        f"write ledger.spend(hush.subsample(hush.Gaussian({sigma:g}), rate, times=steps))."
    )


def _in_threads(one: Any, size: int) -> Steps:
    """one(count, start) for parts of `size` draws, in as many threads as PyTorch uses, joined in order."""
    threads = max(min(_torch().get_num_threads(), size // _PER_THREAD), 1)
    ends = [size * place // threads for place in range(threads + 1)]
    parts = [(end - start, start) for start, end in itertools.pairwise(ends)]
    if threads == 1:
        return np.asarray(one(*parts[0]), dtype=np.int64)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(lambda part: one(*part), parts)))
