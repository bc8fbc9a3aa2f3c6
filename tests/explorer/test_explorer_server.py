"""The explorer's server and its command: headers, hosts, methods, files, and a polite end."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import hush
from hush.cli import main
from hush.cli.explore import _has_display
from hush.errors import InvalidParameter
from hush.explorer import Server, precomputed
from hush.explorer.server import page
from hush.explorer.state import START
from hush.explorer.view import answer


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("127.0.0.1", 0) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(
    server: Server, path: str, *, method: str = "GET", host: str | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    port = server.server_address[1]
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as line:
        line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name in (f"127.0.0.1:{port}" if host is None else host.format(port=port)).split("|"):
            if name:
                line.putheader("Host", name)
        line.endheaders()
        response = line.getresponse()
        return response, response.read()


@pytest.mark.parametrize(
    "path", ["/", "/?" + START.query, "/style.css", "/app.js", "/chart.js", "/icon.svg", "/answer?epsilon=3", "/none"]
)
def test_every_answer_carries_the_security_headers(server, path):
    response, body = ask(server, path)
    assert response.status == (400 if "answer" in path else 404 if path == "/none" else 200)
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    kept = "max-age=3600" if path == "/icon.svg" else "no-store"
    for name, value in (
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", kept),
    ):
        assert response.headers[name] == value
    assert int(response.headers["Content-Length"]) == len(body)
    assert response.headers["Server"].strip() == "hush"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("[::1]:{port}", 200),
        ("evil.example:{port}", 421),
        ("127.0.0.1.evil.example:{port}", 421),
        ("127.0.0.1", 421),
        ("127.0.0.1:1", 421),
        ("a@127.0.0.1:{port}", 421),
        ("127.0.0.1:{port}/x", 421),
        ("[::1:{port}", 421),
        ("127.0.0.1:none", 421),
        ("127.0.0.1:{port}|evil.example:{port}", 421),
        ("", 421),
    ],
)
def test_a_foreign_host_header_is_refused(server, host, status):
    """DNS rebinding: a name of somebody else that points here is not answered."""
    response, body = ask(server, "/answer?" + START.query, host=host)
    assert response.status == status
    assert (b"staircase" in body) == (status == 200)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET http://[/ HTTP/1.1", 400),
        ("GET / HTTP/1.1 more", 400),
        ("nonsense", 400),
        ("GET / HTTP/9.1", 505),
        (f"GET /{'a' * 70_000} HTTP/1.1", 414),
    ],
)
def test_a_request_that_cannot_be_read_is_answered_like_any_other(server, line, status, capfd):
    host, port = server.server_address[:2]
    with socket.create_connection((host, port), timeout=60) as wire:
        wire.sendall(f"{line}\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        response = http.client.HTTPResponse(wire)
        response.begin()
        body = response.read()
    assert response.status == status
    assert response.headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["Connection"] == "close"
    assert len(body) < 60
    assert b"<" not in body
    assert capfd.readouterr().err == ""


def test_a_host_in_capitals_gets_its_own_page(monkeypatch):
    """Browsers send a name back in small letters."""
    bind = Server.server_bind

    def here(self: Server) -> None:
        self.server_address = ("127.0.0.1", 0)  # as if the name led here
        bind(self)

    monkeypatch.setattr(Server, "server_bind", here)
    with Server("Box.Example", 0) as made:
        port = made.server_address[1]
        assert made.address == f"http://box.example:{port}/"
        assert made.is_own([f"box.example:{port}"])
        assert made.is_own([f"BOX.example:{port}"])
        assert not made.is_own([f"other.example:{port}"])


@pytest.mark.parametrize(
    "path",
    ["/../state.py", "/state.py", "/precomputed.json", "/app.js/../precomputed.py", "/%2e%2e/state.py", "/page.html"],
)
def test_no_other_file_is_served(server, path):
    assert ask(server, path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_only_get_is_answered(server, method):
    response, body = ask(server, "/answer?" + START.query, method=method)
    assert response.status == 405
    assert response.headers["Allow"] == "GET"
    assert b"staircase" not in body


def test_answers_over_the_wire_are_the_library_s(server):
    response, body = ask(server, "/answer?" + START.query)
    assert json.loads(body) == json.loads(json.dumps(answer(START)))
    response, body = ask(server, "/draw?" + START.query)
    assert len(json.loads(body)["rows"]) == 8
    response, body = ask(server, "/answer?" + START.query.replace("groups=1", "groups=7"))
    assert response.status == 400
    assert json.loads(body)["field"] == "groups"
    assert json.loads(body)["error"].startswith("groups must be one of the slider's stops")


def test_the_page_holds_the_stops_and_asks_nobody_else():
    text = page()
    assert "{{" not in text
    assert "0.001" in text
    for name in ("page.html", "style.css", "app.js", "chart.js", "icon.svg"):
        source = Path(precomputed.__file__).with_name(name).read_text()
        assert "http://" not in source.replace("http://www.w3.org/2000/svg", "")  # the one name space
        assert "https://" not in source
        assert "eval(" not in source


def test_the_server_says_what_is_wrong_with_an_address(server):
    with pytest.raises(InvalidParameter, match="must be free to listen on"):
        Server("127.0.0.1", server.server_address[1])
    with pytest.raises(InvalidParameter, match="port must be a whole number from 0 to 65535"):
        Server("127.0.0.1", 70000)


def test_the_command_prints_its_address_and_ends_politely(monkeypatch, capsys):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def interrupted(self: Server, poll_interval: float = 0.5) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", interrupted)
    assert main(["explore", "--no-open"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("The explorer is at http://127.0.0.1:")
    assert "the explorer has stopped" in shown.err
    assert not opened
    assert "whoever" not in shown.err
    assert main(["explore", "--no-open", "--host", "0.0.0.0"]) == 0
    assert "everyone who can reach this machine can open the page" in capsys.readouterr().err
    assert main(["explore", "--open", "--json"]) == 0
    assert opened == [json.loads(capsys.readouterr().out)["address"]]


def test_a_browser_opens_only_where_there_is_a_display(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not _has_display()
    monkeypatch.setenv("DISPLAY", ":0")
    assert _has_display()


def test_the_explorer_needs_no_extra():
    """Neither Altair nor anything else beyond the core is loaded."""
    extras = ("altair", "vl_convert", "matplotlib", "sklearn")
    code = f"import sys, hush.explorer.server; print([m for m in {extras} if m in sys.modules])"
    environment = {"PYTHONPATH": str(Path(hush.__file__).parents[1])}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert shown.stdout.strip() == "[]"
