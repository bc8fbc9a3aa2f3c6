"""The special functions of scipy and the Fourier transforms of numpy, loaded when the first of them is called.

`scipy.special` takes about as long to load as numpy and hush together, and many answers need no special function. So
the modules of hush write `special.gammaln(x)`, and the function is found at its first call. The functions are ufuncs of
one compiled module. The command line loads that module without the rest of the package (see `hush.cli.deferred`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_TRANSFORMS = ("irfft", "rfft")
#: Functions that have another name in the compiled module. hush calls zeta with one argument.
_COMPILED = {"zeta": "_riemann_zeta"}


def __getattr__(name: str) -> Any:
    """The function with this name. It is kept, so that this is called once for each name."""
    if name.startswith("_"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'", name=name)
    found = globals()[name] = getattr(import_module("numpy.fft"), name) if name in _TRANSFORMS else _function(name)
    return found


def _function(name: str) -> Any:
    """A function of the compiled module; of the package if it is elsewhere, or if scipy has moved its compiled
    functions.
    """
    try:
        home = import_module("scipy.special._ufuncs")
    except ImportError:
        home = None
    found = getattr(home, _COMPILED.get(name, name), None)
    return getattr(import_module("scipy.special"), name) if found is None else found


def next_fast_len(least: int) -> int:
    """The smallest number from `least` on that has no prime factor above 5: lengths for which a transform is fast.

    >>> next_fast_len(7), next_fast_len(1000), next_fast_len(1025)
    (8, 1000, 1080)
    """
    best = 1 << max(least - 1, 0).bit_length()
    fives = 1
    while fives < best:
        threes = fives
        while threes < best:
            twos = threes << max(-(-least // threes) - 1, 0).bit_length()
            best = min(best, twos)
            threes *= 3
        fives *= 5
    return best
