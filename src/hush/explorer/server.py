"""The server of the explorer: one page and its answers, by default for this machine only.

It answers GET only, reads six files by name and no others, stores nothing, and rejects a Host header that is not one
of its addresses. Therefore a foreign web page whose name points to this machine (DNS rebinding) gets no answer.
"""

from __future__ import annotations

import html
import ipaddress
import json
import socket
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from hush.errors import HushError, InvalidParameter, whole
from hush.explorer.example import OWN, drawn
from hush.explorer.published import marks
from hush.explorer.sentences import about
from hush.explorer.state import MONTHLY, NUMBERS, START, STOPS, State, joint_names, names
from hush.explorer.view import answer, distance
from hush.explorer.wording import chance, power

__all__ = ["Server", "page"]

#: The files of the page; no other file is read.
_FILES = {
    "/style.css": "text/css; charset=utf-8",
    "/app.js": "text/javascript; charset=utf-8",
    "/chart.js": "text/javascript; charset=utf-8",
    "/own.js": "text/javascript; charset=utf-8",
    "/icon.svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
_QUESTIONS = {"/answer": answer, "/draw": drawn, "/limit": distance}


def _file(name: str) -> str:
    return files("hush.explorer").joinpath(name).read_text(encoding="utf-8")


def _label(slider: str, stop: float) -> str:
    """The text of a stop."""
    return power(stop) + ", monthly for a year" * (slider == "releases" and stop == MONTHLY)


def page() -> str:
    """The page, which contains the stops of the sliders."""
    sliders = STOPS | {"numbers": NUMBERS}
    facts = {
        "stops": {name: list(stops) for name, stops in sliders.items()},
        "labels": {name: [_label(name, stop) for stop in stops] for name, stops in sliders.items()},
        "spoken": {"delta": [chance(stop) for stop in STOPS["delta"]]},
        "start": START.query,
        "families": [*names(), *joint_names()],
        "about": about(),
        "published": marks(),
        "own": OWN,
    }
    return _file("page.html").replace("{{facts}}", html.escape(json.dumps(facts)))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "hush"
    sys_version = ""
    wbufsize = 1 << 16  # head and body in one packet: two packets would wait for an acknowledgement
    disable_nagle_algorithm = True
    timeout = 60  # seconds after which a silent connection is closed
    server: Server

    def do_GET(self) -> None:
        if not self.server.is_own(self.headers.get_all("Host", [])):
            self._send(
                HTTPStatus.MISDIRECTED_REQUEST,
                "text/plain; charset=utf-8",
                "this server answers requests to its own address only.\n",
            )
            return
        try:
            address = urlsplit(self.path)
        except ValueError:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        if address.path == "/":
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", page())
        elif address.path in _FILES:
            self._send(HTTPStatus.OK, _FILES[address.path], _file(address.path[1:]))
        elif address.path in _QUESTIONS:
            self._answer(address.path, address.query)
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", "not found; the page is at /.\n")

    def _answer(self, path: str, query: str) -> None:
        try:
            state = State.read(query)
            with self.server.lock:  # one at a time: two threads would slow each other down
                status, document = HTTPStatus.OK, _QUESTIONS[path](state)
        except HushError as failure:
            bad = isinstance(failure, InvalidParameter)
            status = HTTPStatus.BAD_REQUEST if bad else HTTPStatus.UNPROCESSABLE_ENTITY
            document = {"error": str(failure), "field": str(failure).split(" ", 1)[0] if bad else ""}
        self._send(status, "application/json", json.dumps(document))

    def send_error(self, code: int, *_: Any, **__: Any) -> None:
        """Errors that the standard library detects: with the headers of every answer, as plain text."""
        self.close_connection = True  # the start of the next request is not known
        self.request_version = "HTTP/1.1"  # an unreadable first line is treated as HTTP/0.9, which has no headers
        status = HTTPStatus(code)
        self._send(status, "text/plain; charset=utf-8", f"{status.phrase.lower()}.\n")

    def _refuse(self) -> None:
        self.close_connection = True  # the body of the request is not read
        self._send(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", "this server only answers GET.\n")

    def __getattr__(self, name: str) -> Any:
        """Every other method (do_POST, do_HEAD and so on) is rejected."""
        if name.startswith("do_"):
            return self._refuse
        raise AttributeError(name)

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        # browsers request the icon after every change of the address
        kept = {"Cache-Control": "max-age=3600"} if kind == _FILES["/icon.svg"] else {}
        for name, value in {**_HEADERS, **kept, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


class Server(ThreadingHTTPServer):
    """The explorer at an address of this machine; port 0 chooses a free port.

    >>> with Server("127.0.0.1", 0) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int) -> None:
        if whole("port", port, 0, "write port=0 for a free one") > 65535:
            raise InvalidParameter(
                f"port must be a whole number from 0 to 65535, got {port}; write port=0 for a free one."
            )
        self.host = host.lower()  # browsers send it in lower case
        self.lock, self.closed = threading.Lock(), False
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except OSError as failure:
            reason = failure.strerror or str(failure)
            raise InvalidParameter(
                f"host and port must be free to listen on, got {host}:{port} ({reason}); 127.0.0.1 and 0 are."
            ) from failure

    def warm(self) -> None:
        """Compute the first answer in advance, so that modules are imported before the page asks."""
        with self.lock:
            answer(START)
            drawn(START)

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        shown = "127.0.0.1" if self.host in ("", "0.0.0.0") else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.server_address[1]}/"

    def server_close(self) -> None:
        """Close after the current answer, so that no thread is computing when the process ends."""
        super().server_close()
        if not self.closed:
            self.closed = self.lock.acquire()  # never released: no other answer starts

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore closed connections; show other errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def is_own(self, hosts: list[str]) -> bool:
        """Whether a Host header has our port and is localhost, an IP address, or the host name of this server."""
        if len(hosts) != 1:
            return False
        try:
            parts = urlsplit(f"//{hosts[0]}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        return (
            port == self.server_address[1]
            and parts.netloc == hosts[0]
            and "@" not in hosts[0]
            and (name in (self.host, "localhost") or _is_number(name))
        )


def _is_number(name: str) -> bool:
    """Whether this is an IP address: it cannot be the name of a foreign site."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
