"""Files on the server's machine: those of one folder alone, whatever a path says."""

import os

import pytest

from tests.files import N, npz, table
from validation_core import tables
from validation_core.tables import server_files


@pytest.fixture
def shelf(tmp_path):
    """A folder with a table, a folder in it, and a secret beside it."""
    allowed = tmp_path / "allowed"
    (allowed / "deep").mkdir(parents=True)
    (tmp_path / "secret.npz").write_bytes(npz(table()))
    (allowed / "a.npz").write_bytes(npz(table()))
    (allowed / "deep" / "b.CSV").write_bytes(b"p\n1\n")
    (allowed / "notes.txt").write_text("no table")
    return allowed


def test_files_within_the_folder(shelf):
    assert tables.read(server_files.resolve_in_folder(shelf, "a.npz")).n == N
    assert server_files.resolve_in_folder(shelf, "deep/../a.npz") == (shelf / "a.npz").resolve()
    assert server_files.resolve_in_folder(shelf, str(shelf / "deep" / "b.CSV")).name == "b.CSV"


@pytest.mark.parametrize(
    "text",
    ["", " ", "..", "../secret.npz", "deep", "none.npz", "/etc/passwd", "a.npz/..", "a\x00.npz",
     "~", "deep/../../secret.npz", "x" * 5000],
)  # fmt: skip
def test_nothing_outside_the_folder_is_named(shelf, text):
    with pytest.raises(ValueError, match="; got") as caught:
        server_files.resolve_in_folder(shelf, text)
    assert "\n" not in str(caught.value)


def test_links_do_not_lead_out(shelf):
    (shelf / "link.npz").symlink_to(shelf.parent / "secret.npz")
    (shelf / "folder").symlink_to(shelf.parent)
    (shelf / "inside.npz").symlink_to(shelf / "a.npz")
    for text in ("link.npz", "folder/secret.npz"):
        with pytest.raises(ValueError, match="folder that this server allows"):
            server_files.resolve_in_folder(shelf, text)
    assert server_files.resolve_in_folder(shelf, "inside.npz") == (shelf / "a.npz").resolve()
    assert server_files.list_files(shelf).files == ("a.npz", "deep/b.CSV")


def test_what_is_no_regular_file_is_refused(shelf):
    os.mkfifo(shelf / "pipe.npz")
    with pytest.raises(ValueError, match="must name a file"):
        server_files.resolve_in_folder(shelf, "pipe.npz")
    assert "pipe.npz" not in server_files.list_files(shelf).files


def test_a_long_list_is_cut_and_says_so(shelf, monkeypatch):
    assert server_files.list_files(shelf).cut is None
    for i in range(10):
        (shelf / f"run{i}.npz").touch()
    monkeypatch.setattr(server_files, "MOST_FILES_LISTED", 5)
    shown = server_files.list_files(shelf)
    assert len(shown.files) == 5
    assert "first 5 files" in shown.cut


def test_the_folder_is_off_until_it_is_named(shelf, monkeypatch):
    monkeypatch.delenv("NPTLAB_FILES", raising=False)
    assert server_files.data_folder() is None
    monkeypatch.setenv("NPTLAB_FILES", str(shelf))
    assert server_files.data_folder() == shelf.resolve()
    monkeypatch.setenv("NPTLAB_FILES", str(shelf / "a.npz"))
    with pytest.raises(ValueError, match="must name a folder"):
        server_files.data_folder()
