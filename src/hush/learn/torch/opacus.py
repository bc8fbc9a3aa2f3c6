"""Opacus: hush as its accountant, and exact noise in its optimizer."""

from __future__ import annotations

from types import MethodType
from typing import Any

from hush.errors import Unsupported, needs, reject
from hush.learn.torch.accountant import Accountant
from hush.learn.torch.sums import Lattice, add_noise, sum_of_clipped

__all__ = ["exact_noise", "register_accountant"]


def register_accountant() -> None:
    """Make hush's accountant known to Opacus, under the name "hush".

    Afterwards `PrivacyEngine(accountant="hush")`, `make_private_with_epsilon` and `get_noise_multiplier` use it.
    """
    with needs("Opacus", "register_accountant()", extra="torch"):
        from opacus.accountants import IAccountant
        from opacus.accountants.registry import register_accountant as register
    IAccountant.register(Accountant)  # so that isinstance(accountant, IAccountant) holds
    register(Accountant.mechanism(), Accountant, force=True)


def exact_noise(optimizer: Any) -> Any:
    """Let a `DPOptimizer` of Opacus sum gradients in whole numbers and add noise of the exact law; returns it.

    Opacus sums clipped gradients in floating point and adds floating-point noise. After this call the same optimizer
    clips to whole steps, sums exactly and draws as `private_sum` does. Virtual batches work as before.

    Guarantees: the step is a Gaussian release with sensitivity max_grad_norm, as the accountant assumes.
    """
    with needs("Opacus", "exact_noise()", extra="torch"):
        from opacus.optimizers import DPOptimizer
    if type(optimizer) is not DPOptimizer:
        raise reject("optimizer", type(optimizer).__name__, "a DPOptimizer of Opacus", "write make_private(...)[1]")
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
