"""Opacus: an engine whose rate, number of steps and divisor are public, hush as its accountant, and exact noise."""

from __future__ import annotations

import warnings
from types import MethodType
from typing import Any

from hush.errors import InvalidParameter, Unsupported, needs, positive, reject, whole
from hush.learn.torch.accountant import NAME, Accountant
from hush.learn.torch.batches import poisson_loader, public_rate
from hush.learn.torch.sums import Lattice, add_noise, sum_of_clipped

__all__ = ["engine", "exact_noise"]


def engine(*, batches: int, divisor: float, exact: bool = True) -> Any:
    """A `PrivacyEngine` of Opacus for which every number but the noisy sums is public.

    batches: the number of batches of an epoch. Each row is in each batch with probability 1/batches.
    divisor: the number by which the noisy sum of a batch is divided, for example the size of a batch that you expect.
    exact: exact sums and exact noise (`exact_noise`). Write False for a model on a GPU, and for ghost clipping: then
    the roundings of floating-point sums and noise are not covered.

    Opacus' own engine computes both numbers from the number of rows: one row more or less can change the divisor, and a
    single published gradient shows which it was. Choose them without a look at the data; a number of rows that everyone
    may know, such as a count released with noise, is fine. Call `make_private` or `make_private_with_epsilon` as ever.

    Guarantees: `get_epsilon` is a proved upper bound for one row more or less, for the model after any number of steps.
    """
    with needs("Opacus", "engine()", extra="torch"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # packages that Opacus imports warn
        from opacus import PrivacyEngine
    batches = whole("batches", batches)
    divisor = positive("divisor", divisor, "write the size of a batch that you expect, such as divisor=50")
    _register()

    class PublicEngine(PrivacyEngine):
        """Opacus' engine with a public rate, number of steps and divisor."""

        def __init__(self) -> None:
            with warnings.catch_warnings():
                if exact:  # the noise is not that of PyTorch
                    warnings.filterwarnings("ignore", message="Secure RNG turned off")
                super().__init__(accountant=NAME)
            self.accountant.public_rate = public_rate(batches)

        def make_private(self, **options: Any) -> Any:
            _must_be_covered(options)
            loader = poisson_loader(options.pop("data_loader"), batches)
            made = super().make_private(data_loader=loader, **{**options, "poisson_sampling": False})
            made[0].forbid_grad_accumulation()
            made[1].expected_batch_size = divisor
            if exact:
                exact_noise(made[1], divisor=divisor)
            return made

        def make_private_with_epsilon(self, **options: Any) -> Any:
            _must_be_covered(options)
            loader = poisson_loader(options.pop("data_loader"), batches)
            return super().make_private_with_epsilon(data_loader=loader, **options)

    return PublicEngine()


def _register() -> None:
    """Make hush's accountant known to Opacus."""
    from opacus.accountants import IAccountant
    from opacus.accountants.registry import register_accountant

    IAccountant.register(Accountant)  # so that isinstance(accountant, IAccountant) holds
    register_accountant(Accountant.mechanism(), Accountant, force=True)


def _must_be_covered(options: dict[str, Any]) -> None:
    """Raise for options of `make_private` under which the epsilon would not hold."""
    if "data_loader" not in options:
        raise InvalidParameter("make_private() needs data_loader=, a DataLoader of PyTorch; write DataLoader(rows).")
    if not options.get("poisson_sampling", True):
        raise Unsupported(
            "poisson_sampling=False takes batches from a list of rows, for which no epsilon is proved; leave it out."
        )
    if options.get("noise_generator") is not None:
        raise Unsupported(
            "noise from a generator with a seed can be drawn again and removed; leave noise_generator= out."
        )
    if options.get("clipping", "flat") not in ("flat", "per_layer"):
        raise Unsupported(
            "clipping='adaptive' divides by the number of rows in the batch, which is private; write clipping='flat'."
        )
    if type(options.get("module")).__name__ in (
        "DistributedDataParallel",
        "DifferentiallyPrivateDistributedDataParallel",
    ):
        raise Unsupported("engine() trains in one process; give it the model without DistributedDataParallel.")


def exact_noise(optimizer: Any, *, divisor: float) -> Any:
    """Let a `DPOptimizer` of Opacus sum gradients in whole numbers and add noise of the exact law; returns it.

    Opacus sums clipped gradients in floating point and adds floating-point noise. After this call the same optimizer
    clips to whole steps, sums exactly and draws as `private_sum` does. Virtual batches work as before.

    divisor: a public number, by which the noisy sum is divided in place of the one that Opacus computed from the number
    of rows. It is not used with loss_reduction="sum".

    Guarantees: the step is a Gaussian release with sensitivity max_grad_norm, as the accountant assumes, divided by a
    number that does not depend on the rows.
    """
    with needs("Opacus", "exact_noise()", extra="torch"):
        from opacus.optimizers import DPOptimizer
    if type(optimizer) is not DPOptimizer:
        raise reject(
            "optimizer",
            type(optimizer).__name__,
            "a DPOptimizer of Opacus",
            "write make_private(...)[1], clipping='flat'",
        )
    optimizer.expected_batch_size = positive(
        "divisor", divisor, "write the size of a batch that you expect: divisor=50"
    )
    optimizer.clip_and_accumulate = MethodType(_clip_and_accumulate, optimizer)
    optimizer.add_noise = MethodType(_add_noise, optimizer)
    return optimizer


def _lattice(optimizer: Any) -> Lattice:
    return Lattice(optimizer.max_grad_norm, sum(p.numel() for p in optimizer.params))


def _clip_and_accumulate(self: Any) -> None:
    """In place of the optimizer's method: whole steps are added to `p.summed_grad`."""
    from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed

    for p in self.params:
        _check_processed_flag(p.grad_sample)
    for p, steps in zip(self.params, sum_of_clipped(self.grad_samples, _lattice(self)), strict=True):
        p.summed_grad = steps if p.summed_grad is None else p.summed_grad + steps
        _mark_as_processed(p.grad_sample)


def _add_noise(self: Any) -> None:
    """In place of the optimizer's method: one draw for all gradients, and the noisy sum in `p.grad`."""
    from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed

    if not self.noise_multiplier > 0.0:
        raise Unsupported("exact noise needs a noise multiplier above 0; write noise_multiplier=1.0.")
    for p in self.params:
        _check_processed_flag(p.summed_grad)
    noisy = add_noise([p.summed_grad for p in self.params], _lattice(self), self.noise_multiplier)
    for p, value in zip(self.params, noisy, strict=True):
        p.grad = value.to(p.dtype).view_as(p)
        _mark_as_processed(p.summed_grad)
