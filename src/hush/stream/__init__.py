"""Streams: counts that are published period by period, with the least noise for all periods together.

`hush.stream` is this package and can be called: `hush.stream(horizon=365)` is `hush.stream.stream(horizon=365)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from hush.stream.answer import StreamAnswer
from hush.stream.asked import Stream, stream
from hush.stream.people import people_between
from hush.stream.plan import StreamPlan
from hush.stream.running import RunningStream, opened
from hush.stream.strategy import StreamStrategy

__all__ = ["RunningStream", "Stream", "StreamAnswer", "StreamPlan", "StreamStrategy", "opened"]
__all__ += ["people_between", "stream"]


class _Callable(ModuleType):
    """A package that is called like its function `stream`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Stream:
        return stream(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
