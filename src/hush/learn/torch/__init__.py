"""Private training of neural networks: an accountant for Opacus, and exact noise for the sums of clipped gradients.

    engine = hush.torch.engine(batches=20, divisor=50)

    noisy = hush.torch.private_sum([p.grad_sample for p in model.parameters()], clip=1.0, sigma=1.1)

The package is also `hush.torch`. It needs the extra `hush[torch]`; `Accountant` alone needs nothing. See
docs/deep_learning.md.
"""

from __future__ import annotations

from hush.learn.torch.accountant import Accountant
from hush.learn.torch.opacus import engine, exact_noise
from hush.learn.torch.sums import noise_like, private_sum

__all__ = ["Accountant", "engine", "exact_noise", "noise_like", "private_sum"]
