"""`hush explore`: the explorer in a browser."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading

from hush.cli.text import Command

__all__ = ["register"]

_EXAMPLES = """examples:
  hush explore                         opens a page at an address of this machine; Ctrl-C ends it
  hush explore --port 8000 --no-open   prints the address and waits
  hush explore --host 0.0.0.0          for others on the network too; the page holds no data

Sliders for epsilon, delta, sensitivity, groups and releases; the least noise, an attacker's odds, error bars and the lines to copy."""

_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


def _has_display() -> bool:
    """Is there a screen to open a browser on? Windows and macOS have one; elsewhere the session says so."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _explore(options: argparse.Namespace) -> None:
    from hush.explorer import Server

    with Server(options.host, options.port) as server:
        if options.json:
            print(json.dumps({"address": server.address}), flush=True)
        else:
            print(f"The explorer is at {server.address} (Ctrl-C ends it).", flush=True)
        if options.host not in _THIS_MACHINE:
            print("hush: whoever can reach this machine can open the page; it holds no data.", file=sys.stderr)
        threading.Thread(target=server.warm, daemon=True).start()
        if options.open if options.open is not None else _has_display():
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nhush: the explorer has ended.", file=sys.stderr)


def register(command: Command) -> None:
    """Add the command."""
    explore = command("explore", _explore, "what a budget buys, live in the browser", _EXAMPLES)
    explore.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    explore.add_argument("--port", type=int, default=0, help="port to listen on (default: 0, a free one)")
    explore.add_argument(
        "--open", action=argparse.BooleanOptionalAction, help="open a browser (default: where there is a display)"
    )
