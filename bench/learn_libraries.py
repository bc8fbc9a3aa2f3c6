"""Models of other libraries for `bench/learn_rivals.py`: each library runs in a process of its own environment.

`bench/environment.py` makes the environments. A job is a file with arrays; the answer is a file with predictions.

- diffprivlib (pure epsilon): columns are scaled to [-1, 1] by the public ranges, all other options are its defaults.
- OpenDP (pure epsilon): Theil-Sen regression for one column. A replaced row is two added or removed rows.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import environment
import numpy as np
from hush_papers.flipped_huber.learning_data import LearningSet

__all__ = ["Library", "diffprivlib", "opendp"]

Array = np.ndarray

_LOOP = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
%s
for line in sys.stdin:
    with np.load(line.strip()) as job:
        try:
            found = fitted(job)
        except Exception as failure:
            print("failed:", type(failure).__name__, flush=True)
            continue
    np.save(line.strip() + ".npy", found)
    print("done", flush=True)
"""

_DIFFPRIVLIB = """
from diffprivlib import models
def fitted(job):
    X, y, epsilon = job["X"], job["y"], float(job["epsilon"])
    low, high = job["bounds"].T
    unit = lambda rows: np.clip((2.0 * rows - low - high) / (high - low), -1.0, 1.0)
    if job["logistic"]:
        made = models.LogisticRegression(epsilon=epsilon, data_norm=float(np.sqrt(X.shape[1])), max_iter=1000)
        return made.fit(unit(X), y).decision_function(unit(job["test"]))
    made = models.LinearRegression(epsilon=epsilon, bounds_X=(-1.0, 1.0), bounds_y=tuple(job["target_bounds"]))
    return made.fit(unit(X), y).predict(unit(job["test"]))
"""

_OPENDP = """
import opendp.prelude as dp
dp.enable_features("contrib", "honest-but-curious", "idealized-numerics", "floating-point")
def fitted(job):
    def model(scale):
        return dp.sklearn.linear_model.LinearRegression(
            dp.max_divergence(), [tuple(job["bounds"][0])], tuple(job["target_bounds"]), scale
        )
    epsilon, low, high = float(job["epsilon"]), 1e-3, 1e6
    while high > 1.001 * low:  # the least scale at which a replaced row costs epsilon
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if model(middle).measurement.map(2) <= epsilon else (middle, high)
    return model(high).fit(job["X"], job["y"]).predict(job["test"])
"""


class Library:
    """A process that fits models of one library."""

    def __init__(self, name: str, python: str, code: str, folder: Path) -> None:
        self.name, self._folder, self._jobs = name, folder, 0
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [python, "-c", _LOOP % code], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def predictions(self, data: LearningSet, X: Array, y: Array, test: Array, epsilon: float) -> Array | None:
        """The predictions for the test rows; None if the library raised an error."""
        self._jobs += 1
        path = self._folder / f"{self.name}{self._jobs}.npz"
        facts = {"bounds": np.array(data.bounds), "target_bounds": np.array(data.target_bounds or (0.0, 1.0))}
        np.savez(path, X=X, y=y, test=test, epsilon=epsilon, logistic=data.logistic, **facts)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        path.unlink()
        if answer != "done":
            return None
        made = path.with_name(path.name + ".npy")
        found = np.load(made)
        made.unlink()
        return found

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextlib.contextmanager
def _started(name: str, python: str | None, code: str) -> Iterator[Library | None]:
    if python is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        library = Library(name, python, code, Path(folder))
        try:
            yield library
        finally:
            library.close()


def diffprivlib() -> contextlib.AbstractContextManager[Library | None]:
    """diffprivlib, or None if it is not installed."""
    return _started("diffprivlib", environment.diffprivlib_python(), _DIFFPRIVLIB)


def opendp() -> contextlib.AbstractContextManager[Library | None]:
    """OpenDP, or None if it is not installed."""
    python = environment.python_of(environment.MAIN)
    has = (
        python.is_file()
        and subprocess.run([str(python), "-c", "import opendp"], capture_output=True, check=False).returncode == 0
    )
    return _started("OpenDP", str(python) if has else None, _OPENDP)
