"""Charts as files: PNG, SVG or a page that opens offline. No browser, no network."""

from __future__ import annotations

import html
import json
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from hush.errors import HushError, InvalidParameter, needs, reject
from hush.report.chart_style import altair
from hush.report.snapshot import spare

__all__ = ["ready", "save_chart"]

_ENDINGS = (".png", ".svg", ".html")
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,">
<style>body {{ margin: 0; background: #fff; color: #333; font: 16px/1.5 sans-serif; }} main {{ padding: 1rem; overflow-x: auto; }}
h1 {{ position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }}</style>
<script>{library}</script></head>
<body><main><h1>{title}</h1><div id="chart"></div><noscript><p>{description}</p></noscript></main>
<script>vegaEmbed("#chart", {spec}, {{"renderer": "svg", "actions": false}}).catch(console.error);</script></body></html>
"""


def save_chart(chart: Any, path: str | os.PathLike[str]) -> Path:
    """Write a chart to a .png (twice the screen's resolution), .svg or .html file, and return its path.

    Guarantees: needs no browser and no network. The HTML page holds everything it shows, script included, and asks
    for nothing.
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
            place.write_bytes(vl_convert.vegalite_to_png(spec, version, scale=2.0))
        elif place.suffix.lower() == ".svg":
            place.write_text(vl_convert.vegalite_to_svg(spec, version), encoding="utf-8")
        else:
            place.write_text(_page(spec, _library(version)), encoding="utf-8")
    except OSError as failure:
        raise InvalidParameter(
            f"{place} cannot be written: {failure.strerror or failure}; choose another file."
        ) from failure
    except ValueError as failure:
        raise HushError(f"this chart cannot be drawn: {str(failure).splitlines()[0]}.") from failure
    return place


def ready(path: Any) -> Path:
    """A path that a chart can be saved to, and everything installed that saving needs; else the sentence that says
    what to do.
    """
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
    """The Vega-Lite that the chart was written for, if it is there; else the newest."""
    found = re.search(r"/v(\d+\.\d+)", str(spec.get("$schema", "")))
    return found[1] if found is not None and found[1] in known else None


@lru_cache(maxsize=2)
def _library(version: str | None) -> str:
    """All of Vega as one script; put together anew it takes seconds."""
    import vl_convert

    bundle = cast("Any", vl_convert.javascript_bundle)  # may be called without a snippet, though its types say no
    return str(bundle(vl_version=version))


def _page(spec: dict[str, Any], library: str) -> str:
    title = spec.get("title", "chart")
    title = title["text"] if isinstance(title, dict) else title
    # inside a script nothing may look like the end of one, nor like a comment, which would hide the end
    return _PAGE.format(
        title=html.escape(str(title)),
        description=html.escape(str(spec.get("description", ""))),
        spec=json.dumps(spec).replace("<", "\\u003c"),
        library=library.replace("</script", "<\\/script"),
    )
