"""Charts as files: PNG, SVG or an HTML page, made without a browser and without a network."""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from hush.errors import HushError, InvalidParameter, needs, reject
from hush.releasing.destination import part_file, spare
from hush.report.chart_style import altair
from hush.report.render import render

__all__ = ["ready", "save_chart"]

_ENDINGS = (".png", ".svg", ".html")


def save_chart(chart: Any, path: str | os.PathLike[str]) -> Path:
    """Write a chart to a .png (twice the resolution of a screen), .svg or .html file, and return its path.

    Guarantees: needs no browser and no network. The HTML page contains everything that it shows, including its
    script, and loads nothing.
    """
    if not callable(getattr(chart, "to_dict", None)) or not callable(getattr(chart, "to_json", None)):
        raise reject(
            "chart",
            chart,
            "a chart of hush.report",
            "write hush.report.save_chart(hush.report.curve_chart(noise), 'curve.png')",
        )
    place = ready(path)
    import vl_convert

    spec = chart.to_dict()
    version = _version(spec, vl_convert.get_vegalite_versions())
    try:
        if place.suffix.lower() == ".png":
            drawn: bytes = vl_convert.vegalite_to_png(spec, version, scale=2.0)
        elif place.suffix.lower() == ".svg":
            drawn = vl_convert.vegalite_to_svg(spec, version).encode()
        else:
            drawn = _page(spec, _library(version)).encode()
    except ValueError as failure:
        raise HushError(f"this chart cannot be drawn: {str(failure).splitlines()[0]}.") from failure
    with part_file(place) as part:
        part.write_bytes(drawn)
    return place


def ready(path: Any) -> Path:
    """The path, if a chart can be saved to it; raises if the path or an optional package is missing."""
    allowed = f"a file name that ends in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}"
    if not isinstance(path, str | os.PathLike) or Path(os.fspath(path)).suffix.lower() not in _ENDINGS:
        raise reject("path", path, allowed, "write 'chart.png'")
    place = Path(path)
    if not place.parent.is_dir():
        raise InvalidParameter(f"the folder {place.parent} does not exist; make it, or choose another file.")
    with needs("vl-convert", "saving a chart", extra="charts"):
        import vl_convert  # noqa: F401
    altair()
    spare(place)
    return place


def _version(spec: dict[str, Any], known: list[str]) -> str | None:
    """The Vega-Lite version of the chart, if it is installed; None for the newest."""
    found = re.search(r"/v(\d+\.\d+)", str(spec.get("$schema", "")))
    return found[1] if found is not None and found[1] in known else None


@lru_cache(maxsize=2)
def _library(version: str | None) -> str:
    """All of Vega as one script; cached, because bundling takes seconds."""
    import vl_convert

    bundle = cast("Any", vl_convert.javascript_bundle)  # its types require a snippet, the function does not
    return str(bundle(vl_version=version))


def _page(spec: dict[str, Any], library: str) -> str:
    title = spec.get("title", "chart")
    # inside a script nothing may look like the end of a script, nor like a comment, which would hide the end
    return render(
        "chart.html",
        title=str(title["text"] if isinstance(title, dict) else title),
        description=str(spec.get("description", "")),
        spec=json.dumps(spec).replace("<", "\\u003c"),
        library=library.replace("</script", "<\\/script"),
    )
