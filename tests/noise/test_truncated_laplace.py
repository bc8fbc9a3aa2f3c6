"""Truncated Laplace noise with a bound far below its scale."""

from __future__ import annotations

import pytest

from hush import TruncatedLaplace


def test_the_quantile_with_a_tiny_bound():
    noise = TruncatedLaplace(1.0, 1e-20)
    assert noise.isf(0.25) == pytest.approx(5e-21, rel=1e-12) and noise.isf(1e-9) == pytest.approx(1e-20, rel=1e-8)
