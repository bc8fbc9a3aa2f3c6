"""`hush explore`: open the explorer in a browser."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading

from hush.cli.text import Command

__all__ = ["register"]

_EXAMPLES = """examples:
  hush explore                         opens the page from a server on this machine; Ctrl-C stops it
  hush explore --port 8000 --no-open   prints the address and waits
  hush explore --host 0.0.0.0          others on the network can open the page too; it contains no data

The page has sliders for epsilon, delta, sensitivity, groups and releases. It shows the least noise, an attacker's
chance of success, error bars, and the Python lines and the command for the same result."""

_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


def _has_display() -> bool:
    """Whether a browser can be opened: always on Windows and macOS, elsewhere if the session has a display."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _explore(options: argparse.Namespace) -> None:
    from hush.explorer import Server

    with Server(options.host, options.port) as server:
        if options.json:
            print(json.dumps({"address": server.address}), flush=True)
        else:
            print(f"The explorer is at {server.address} (Ctrl-C stops it).", flush=True)
        if options.host not in _THIS_MACHINE:
            print("hush: everyone who can reach this machine can open the page; it contains no data.", file=sys.stderr)
        threading.Thread(target=server.warm, daemon=True).start()
        if options.open if options.open is not None else _has_display():
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nhush: the explorer has stopped.", file=sys.stderr)


def register(command: Command) -> None:
    """Add the command."""
    explore = command("explore", _explore, "explore privacy and error in the browser", _EXAMPLES)
    explore.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    explore.add_argument("--port", type=int, default=0, help="port to listen on (default: 0, any free port)")
    explore.add_argument(
        "--open", action=argparse.BooleanOptionalAction, help="open a browser (default: if there is a display)"
    )
