"""What all tests share: where the reference values are, and how hypothesis runs."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

HERE = Path(__file__).resolve().parent
os.environ["HUSH_CACHE"] = ""  # no test reads or writes the calibrations of the user
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))  # tests/reference.py is shared by several rooms

pytest.register_assert_rewrite("tables.compare", "tables.reference", "reference")  # helpers say what differs

import effort  # noqa: E402

FOUND_IS_ENOUGH = (Phase.explicit, Phase.generate)  # shrinking costs minutes; HYPOTHESIS_PROFILE=shrink asks for it
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "ci", deadline=None, derandomize=True, database=None, phases=FOUND_IS_ENOUGH, suppress_health_check=QUIET
)
settings.register_profile("shrink", deadline=None, derandomize=True, database=None, suppress_health_check=QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
# hypothesis also tries numbers it finds in those of our modules that happen to be imported, which differ from worker
# to worker; without
# them a pass stays a pass
with contextlib.suppress(AttributeError):
    providers._get_local_constants = lambda: providers._local_constants

#: rooms above the calibration: a test there may use the calibrations that other tests of the same run have found.
#: Each is checked against the demand when it is read. Tests of calibrations themselves search every time.
SHARING = re.compile(r"tests/(tables|engines|learn|federated|explorer|report|releasing|cli|papers|test_docs)")
FOUND = "HUSH_TESTS_CALIBRATIONS"  # the environment variable that tells the workers where they are kept


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--engine-messages` prints what an engine said when a query failed. Users never see it: it may quote a row."""
    parser.addoption("--engine-messages", action="store_true", help="show errors of engines as the cause of hush's")


def pytest_configure(config: pytest.Config) -> None:
    effort.choose(config.option.markexpr)
    if config.option.engine_messages:
        from hush.tables.engines.contract import FAILURES_SHOWN

        FAILURES_SHOWN.set(True)
    if FOUND not in os.environ:
        os.environ[FOUND] = tempfile.mkdtemp(prefix="hush-tests-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(FOUND), ignore_errors=True))


def pytest_collection_finish(session: pytest.Session) -> None:
    """The tests themselves are no garbage: the collector need not look at them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_unconfigure(config: pytest.Config) -> None:
    gc.unfreeze()  # DuckDB says at the end what was not freed


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    os.environ["HUSH_CACHE"] = os.environ[FOUND] if SHARING.match(item.nodeid) else ""


#: tests that need something slow to make (a report, a site, a server, a Java machine) go to one worker, which makes it
#: once
TOGETHER = {
    "papers": r"tests/papers/",
    "site": r"tests/test_site\.py",
    "spark": r"tests/engines/(.*pyspark|test_sources\.py)",
    "postgres": r"tests/engines/.*postgres",
}
#: a file of at least so many tests goes to one worker, which makes its fixtures once; the tests of the other files,
#: which are long, come last and go one by one to whichever worker is free
MANY_TESTS = 25


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers take a group, a file or one test at a time. xdist's own groups write into names that newer pytests do
    not read.
    """
    from xdist.scheduler import LoadScopeScheduling

    class InGroups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if not hasattr(self, "sizes"):
                self.sizes = Counter(name.partition("::")[0] for name in self.collection)
            group = next((name for name, pattern in TOGETHER.items() if re.match(pattern, nodeid)), "")
            file = nodeid.partition("::")[0]
            return group or (file if self.sizes[file] >= MANY_TESTS else nodeid)

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0.0) -> None:
            super().mark_test_complete(node, item_index, duration)
            scope = self._split_scope(self.registered_collections[node][item_index])
            if all(self.assigned_work[node][scope].values()):  # xdist counts all that it keeps after every test
                del self.assigned_work[node][scope]

    return InGroups(config, log)


def oracle_dir() -> Path | None:
    """The folder of reference values: HUSH_ORACLE if set, else shared/oracle beside the repository, else None."""
    named = os.environ.get("HUSH_ORACLE")
    folder = Path(named) if named else HERE.parents[1] / "shared" / "oracle"
    return folder if folder.is_dir() else None


def oracle_entries() -> list[dict[str, Any]]:
    """Every entry of both files, in order; empty where the folder is missing."""
    folder = oracle_dir()
    if folder is None:
        return []
    return [entry for name in ("gauss_osgt.json", "fh_sas.json") for entry in json.loads((folder / name).read_text())]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The oracle folder, or a skip that says how to get it."""
    folder = oracle_dir()
    if folder is None:
        pytest.skip("no reference values: set HUSH_ORACLE or put shared/oracle beside the repository")
    return folder
