"""Ctrl-C on Spark: the jobs of the query are cancelled, and a job that somebody cancels is a KeyboardInterrupt."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

import hush.tables
from hush.tables import count
from hush.tables.engines.spark_jobs import Tag, settings_of_thread, was_cancelled
from hush.tables.interrupt import still_working

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(os.name == "nt", reason="signals are sent as POSIX sends them"),
]

HANG = 60  # seconds


@pytest.fixture
def endless(spark) -> Iterator[hush.tables.Table]:
    """10^12 rows, each of a unit of its own."""
    query = "SELECT id AS who, CAST(id % 10 AS STRING) AS ward FROM range(1000000000000)"
    yield hush.tables.table(spark.sql(query), unit="who")
    while active(spark):  # a test that fails must not leave a job behind that blocks every test after it
        spark.sparkContext.cancelAllJobs()
        time.sleep(0.1)
    gc.collect()  # Spark's client leaves sockets to the garbage collector, which warns: here, where that is ignored


def active(spark: Any) -> list[int]:
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


@contextmanager
def once_running(spark: Any, act: Callable[[], object]) -> Iterator[None]:
    """Another thread does `act` once a job runs."""

    def wait() -> None:
        until = time.monotonic() + HANG
        while not active(spark) and time.monotonic() < until:
            time.sleep(0.1)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def must_be_idle(spark: Any) -> None:
    """No job runs any more, and the session works."""
    until = time.monotonic() + HANG
    while active(spark) and time.monotonic() < until:
        time.sleep(0.1)
    assert active(spark) == []
    assert spark.sql("SELECT 1 AS one").collect()[0].one == 1


def ask(t: hush.tables.Table) -> Any:
    return t.group_by("ward", keys="private", groups_per_unit=1).aggregate(n=count()).aggregates().to_arrow()


def test_ctrl_c_cancels_the_jobs_of_the_query(spark, endless):
    """Without Spark's own handler, which cancels the jobs of everybody and is there in a main thread only."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with once_running(spark, lambda: os.kill(os.getpid(), signal.SIGINT)), pytest.raises(KeyboardInterrupt):
            ask(endless)
    finally:
        signal.signal(signal.SIGINT, before)
    must_be_idle(spark)


def test_a_job_that_somebody_cancels(spark, endless):
    with once_running(spark, spark.sparkContext.cancelAllJobs), pytest.raises(KeyboardInterrupt) as caught:
        ask(endless)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    must_be_idle(spark)
    assert not still_working()


def test_the_other_jobs_of_a_query_end_with_the_one_that_failed(spark):
    def run() -> None:
        with suppress(Exception):  # cancelled
            spark.sql("SELECT count(id % 7) AS n FROM range(1000000000000)").collect()

    def fail_beside_it() -> None:
        with Tag(spark).on_jobs():
            other = threading.Thread(target=settings_of_thread(spark)(run))
            other.start()
            while not active(spark):
                time.sleep(0.1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_beside_it()
    must_be_idle(spark)


def test_a_cancelled_job_behind_other_errors():
    """Whoever waited for the job raises an error of their own, with the cancelled job as its cause."""

    class Java:
        def __init__(self, message: str | None, cause: Java | None = None) -> None:
            self.message, self.cause = message, cause

        def getMessage(self) -> str | None:
            return self.message

        def getCause(self) -> Java | None:
            return self.cause

    def failure(java: Java) -> Exception:
        made = RuntimeError("An error occurred while calling o1.getResult.")
        made.java_exception = java  # type: ignore[attr-defined]
        return made

    cancelled = Java("[SPARK_JOB_CANCELLED] Job 4 cancelled")
    assert was_cancelled(failure(Java("Exception thrown in awaitResult: ", Java(None, cancelled))))
    assert not was_cancelled(failure(Java("[CAST_INVALID_INPUT] The value '[SPARK_JOB_CANCELLED]' is none")))
    assert not was_cancelled(ValueError("anything"))


def test_writing_on_the_executors(spark, endless, tmp_path):
    plan = (
        endless.group_by("ward", keys="private", groups_per_unit=1)
        .aggregate(n=count())
        .plan(1.0, 1e-6, family="laplace")
    )
    with once_running(spark, spark.sparkContext.cancelAllJobs), pytest.raises(KeyboardInterrupt):
        plan.write(tmp_path / "answer.parquet", ledger=None)
    must_be_idle(spark)
