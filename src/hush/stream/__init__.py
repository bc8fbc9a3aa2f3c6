"""Streams: counts that are published period by period, with the least noise for all periods together.

`hush.stream` is this package and can be called: `hush.stream(horizon=365)` is `hush.stream.stream(horizon=365)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import cast

from hush.stream.answer import StreamAnswer
from hush.stream.asked import Stream, stream
from hush.stream.people import people_between
from hush.stream.plan import StreamPlan
from hush.stream.running import RunningStream, opened
from hush.stream.strategy import StreamStrategy

__all__ = ["RunningStream", "Stream", "StreamAnswer", "StreamPlan", "StreamStrategy", "opened"]
__all__ += ["people_between", "stream"]


class CalledPackage(ModuleType):
    """This package, which is called like its function `stream`. Type checkers read its functions here."""

    __call__ = staticmethod(stream)
    opened = staticmethod(opened)
    people_between = staticmethod(people_between)


sys.modules[__name__].__class__ = CalledPackage
package = cast(CalledPackage, sys.modules[__name__])  # what `hush.stream` is
