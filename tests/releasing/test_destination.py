"""Files are checked first, appear whole or not at all, and a file system that refuses gives one sentence."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from disks import fill, mounted, refuse_to_synchronise

import hush
from hush.releasing.destination import must_be_writable, part_file, write_text


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    """While a file is written, its name has the earlier contents; after a failure too, and no part is left."""
    place = tmp_path / "a.txt"
    with part_file(place) as part:
        part.write_text("first")
        assert not place.exists()

    def half() -> None:
        with part_file(place) as part:
            part.write_text("half")
            assert place.read_text() == "first"
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert place.read_text() == "first" and os.listdir(tmp_path) == ["a.txt"]


def test_modes_and_links(tmp_path: Path) -> None:
    """A new file has the mode of any new file; an existing one keeps its mode, and a link stays a link."""
    place, link = tmp_path / "a.txt", tmp_path / "b.txt"
    write_text(place, "1")
    (tmp_path / "usual").touch()
    assert stat.S_IMODE(place.stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)
    place.chmod(0o640)
    link.symlink_to(place)
    write_text(link, "2")
    assert place.read_text() == "2" and link.is_symlink() and stat.S_IMODE(place.stat().st_mode) == 0o640


def test_a_device_is_written_to() -> None:
    with part_file("/dev/null") as part:
        assert part == Path("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with mounted(tmp_path / "full") as folder:
        write_text(folder / "a.txt", "earlier")
        fill(folder)
        with pytest.raises(hush.NotWritten, match=r"a\.txt cannot be written: No space left on device; choose another"):
            write_text(folder / "a.txt", "x" * 10_000)
        assert (folder / "a.txt").read_text() == "earlier" and sorted(os.listdir(folder)) == ["a.txt", "zeros"]


def test_a_quota_that_is_found_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own error text is not shown: a library may put data into it."""
    refuse_to_synchronise(monkeypatch)
    with pytest.raises(hush.NotWritten, match=r"cannot be written: Disk quota exceeded; choose") as caught:
        write_text(tmp_path / "a.txt", "x")
    assert isinstance(caught.value, OSError) and os.listdir(tmp_path) == []


def test_a_folder_that_vanished(tmp_path: Path) -> None:
    with pytest.raises(hush.NotWritten, match="No such file or directory"):
        write_text(tmp_path / "gone" / "a.txt", "x")


def test_what_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    """A folder that is missing, a file that exists, and a ledger."""
    place, book = tmp_path / "a.csv", tmp_path / "b.csv"
    must_be_writable(place, fresh=True)
    with pytest.raises(hush.InvalidParameter, match="not a writable folder; nothing was spent"):
        must_be_writable(tmp_path / "gone" / "a.csv")
    place.touch()
    must_be_writable(place)
    with pytest.raises(hush.InvalidParameter, match=r"exists already; .* --overwrite .*; nothing was spent"):
        must_be_writable(place, role="--out", fresh=True)
    hush.Ledger(book, epsilon=1.0, delta=0.0).close()
    with pytest.raises(hush.InvalidParameter, match="is a ledger or another database"):
        must_be_writable(book)
