"""The explorer in a real browser, for the tests of its pages."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from browser import Visit, visit

from hush.explorer import Server


@pytest.fixture(scope="module")
def opened() -> Iterator[tuple[Visit, Server]]:
    """One browser for all tests of a file: a server in a thread, a page at the start."""
    with Server("127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        with visit(server.address) as made:
            yield made, server
        server.shutdown()
        thread.join()
