"""The noise of a fit: it can be drawn only with the fit's payment and from its entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotPaid
from hush.ledger.payment import Draws, Payment
from hush.privacy.charge import Charge
from hush.sampling.entropy import Entropy
from hush.sampling.mechanism import Mechanism

__all__ = ["Paid"]


@dataclass(frozen=True)
class Paid:
    """A payment and the entropy source of its draws. A fit without noise has no payment.

    Guarantees: a draw without a payment, and a second draw of the same part, raise `NotPaid` and draw nothing.
    """

    payment: Payment | None
    entropy: Entropy | None = None

    def release(self, mechanism: Mechanism, values: Any, part: str) -> NDArray[np.float64]:
        """The values on the mechanism's lattice plus the noise of one release; `part` names a part of the fit."""
        noisy = self._payment.noise(mechanism, mechanism.on_lattice(values), part=part, entropy=self.entropy)
        return np.asarray(mechanism.value_of(noisy), dtype=np.float64)

    def ahead(self, mechanism: Mechanism, part: str, count: int) -> Draws:
        """Draw in one call the `count` noise values of a part whose numbers are released one after another."""
        return self._payment.open(
            mechanism, part=part, times=count // mechanism.coordinates, entropy=self.entropy
        ).ahead(count)

    def choose(self, charge: Charge, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of as many scores as the charge has choices, drawn exactly."""
        return self._payment.choose(charge, scores, entropy=self.entropy)

    @property
    def _payment(self) -> Payment:
        if self.payment is None:
            raise NotPaid(
                "this fit needs a payment before it draws noise, so nothing was drawn; call pay(plan, access) first."
            )
        return self.payment
