"""The jobs of one query on Spark: they have a tag, and they end together."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hush.tables.interrupt import PATIENCE, POLL

__all__ = ["Tag", "settings_of_thread", "was_cancelled"]

#: The start of Spark's messages when a job (Spark Connect: an operation) was cancelled.
CANCELLED = ("[SPARK_JOB_CANCELLED]", "[OPERATION_CANCELED]")


class Tag:
    """A tag for the jobs of one query, so that only these can be cancelled."""

    def __init__(self, session: Any) -> None:
        self.name = f"hush-{uuid.uuid4().hex}"
        context = getattr(session, "_sc", None)
        if context is None:  # in Spark Connect the session tags operations, not jobs
            self.add, self.remove, self.interrupt = session.addTag, session.removeTag, session.interruptTag
        else:
            self.add, self.remove, self.interrupt = context.addJobTag, context.removeJobTag, context.cancelJobsWithTag

    @contextmanager
    def on_jobs(self) -> Iterator[None]:
        """Tag the jobs that this thread starts. If one of them fails or is cancelled, the others are cancelled too."""
        self.add(self.name)
        try:
            yield
        except Exception:
            self.cancel_the_rest()
            raise
        finally:
            self.remove(self.name)

    def cancel(self) -> None:
        """Cancel the tagged jobs, from any thread."""
        self.interrupt(self.name)

    def cancel_the_rest(self) -> None:
        """Cancel the tagged jobs for a while. One query may have several jobs at a time, for example one for each side
        of a join. Spark lets the others run if one ends with an error, and one may start only then.
        """
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with suppress(Exception):  # the caller gets the error of the query, not this one
                self.cancel()
            time.sleep(POLL)


def settings_of_thread(session: Any) -> Any:
    """A wrapper that gives a new thread what Spark stores per thread: the caller's scheduler pool, job group and
    tags.
    """
    from pyspark.util import inheritable_thread_target

    wrapper = inheritable_thread_target(session)
    # Spark returns the session itself if all Python threads share one Java thread
    return wrapper if wrapper is not session else lambda work: work


def was_cancelled(failure: Exception) -> bool:
    """Did somebody cancel the job? Only the start of each message is read: the rest may quote the data."""
    java = getattr(failure, "java_exception", None)
    if java is None:
        return str(failure).startswith(CANCELLED)
    while java is not None:  # the cancellation may be the cause of the error of a waiting job
        if str(java.getMessage()).startswith(CANCELLED):
            return True
        java = java.getCause()
    return False
