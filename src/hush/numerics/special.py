"""The special functions and Fourier transforms of scipy, loaded when the first of them is called.

`scipy.special` takes about as long to load as numpy and hush together, and many answers need no special function. So
the modules of hush write `special.gammaln(x)`, and the function is found at its first call.
"""

from __future__ import annotations

from typing import Any

#: The names that come from scipy.fft; all others come from scipy.special.
_TRANSFORMS = ("irfft", "next_fast_len", "rfft")


def __getattr__(name: str) -> Any:
    """The function of scipy with this name. It is kept, so that this is called once for each name."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    if name in _TRANSFORMS:
        import scipy.fft as home
    else:
        import scipy.special as home
    found = globals()[name] = getattr(home, name)
    return found
