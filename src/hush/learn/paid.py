"""The noise of a fit: drawn with its payment, from its entropy, and in no other way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotPaid
from hush.ledger.payment import Draws, Payment
from hush.sampling.entropy import Entropy
from hush.sampling.mechanism import Mechanism

__all__ = ["Paid"]


@dataclass(frozen=True)
class Paid:
    """A payment and the entropy that its draws come from. A fit without noise has no payment.

    Guarantees: noise without a payment, and a part's noise drawn a second time, raise `NotPaid`; nothing is drawn then.
    """

    payment: Payment | None
    entropy: Entropy | None = None

    def release(self, mechanism: Mechanism, values: Any, part: str) -> NDArray[np.float64]:
        """Values on the mechanism's lattice with the noise of one release; `part` names the part of the fit that it
        belongs to.
        """
        noisy = self._payment.noise(mechanism, mechanism.on_lattice(values), part=part, entropy=self.entropy)
        return np.asarray(mechanism.value_of(noisy), dtype=np.float64)

    def ahead(self, mechanism: Mechanism, part: str, count: int) -> Draws:
        """All noise of a part that is released number by number: `count` numbers, drawn in one call."""
        return self._payment.open(
            mechanism, part=part, times=count // mechanism.coordinates, entropy=self.entropy
        ).ahead(count)

    @property
    def _payment(self) -> Payment:
        if self.payment is None:
            raise NotPaid(
                "this fit adds noise that was not paid for, so nothing was drawn; call pay(plan, ledger, label) first."
            )
        return self.payment
