"""A cache folder that cannot be reached: the command line, every page and the engine go on."""

import errno
import os
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.services import services
from tests import rights
from tests.conftest import ROOT
from validation_core import engine
from validation_core.cli import main
from validation_core.engine import Engine, SelfCheck
from validation_core.engine.task import SerialExecutor
from validation_core.store import SHIPPED, Store

PAGES = sorted(
    str(path.relative_to(ROOT / "pages"))
    for path in [*(ROOT / "pages").glob("*/page.py"), *(ROOT / "pages").glob("*.py")]
    if path.stem != "main"
)
QUIET = {"catalogue.py", "glossary.py", "game/page.py"}  # they keep nothing
SAID = "must be writable; got: "


@pytest.fixture(params=["below a closed folder", "in a read-only folder", "below a file"])
def nowhere(request, tmp_path):
    """A cache folder that cannot be had."""
    if request.param == "below a file":
        (tmp_path / "file").write_text("a file where the folder should be")
        yield tmp_path / "file" / "cache"
        return
    with rights.closed(tmp_path / "shut", 0 if "closed" in request.param else 0o555) as folder:
        yield folder


@pytest.fixture
def unreadable(tmp_path, monkeypatch):
    """A cache folder on a broken disk: whatever is asked of it fails."""
    folder = tmp_path / "broken" / "cache"
    for name in ("stat", "lstat", "mkdir", "scandir", "listdir", "utime", "unlink", "replace"):
        real = getattr(os, name)

        def fails(path=".", *args, _real=real, **options):
            if isinstance(path, str | os.PathLike) and Path(path).is_relative_to(folder):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return _real(path, *args, **options)

        monkeypatch.setattr(os, name, fails)
    return folder


def everything(store):
    """Whatever a store and an engine are asked for."""
    assert SAID in store.notices[0]
    lab = Engine(store, SerialExecutor())
    try:
        task = SelfCheck(rounds=1)
        job = lab.submit([task], "me")
        assert job.snapshot().state == "done"
        assert task.done(store)
        assert lab.interrupted() == []
        lab.forget(job.key)
        shipped = Store(SHIPPED).counts()[0]
        assert store.counts() == (1, shipped)
        assert len(store.entries()) == 1 + shipped
        assert store.records() == {}
        assert store.size() == 0
        store.limit = 10**9
        assert store.limit == 10**9
        assert store.prune() == 0
        store.settle()
        store.delete("results", task.key)
        assert not task.done(store)
    finally:
        lab.close()
    assert len(store.notices) == 1


def test_a_store_and_an_engine_go_on_without_their_folder(nowhere):
    everything(Store(nowhere, gallery=SHIPPED))


def test_a_store_and_an_engine_go_on_where_nothing_can_be_asked_of_the_disk(unreadable):
    everything(Store(unreadable, gallery=SHIPPED))


def test_whoever_has_no_home_has_no_folder_and_is_told_so(monkeypatch):
    """A container's user of any number: nothing is written to a folder named `~`."""
    pwd = pytest.importorskip("pwd")

    def unknown(number):
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME", "NPTLAB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    everything(Store.usual())


def test_a_server_begins(nowhere, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(nowhere))
    started = engine.start()
    assert SAID in started.store.notices[0]
    started.engine.close()


def test_a_command_runs_and_says_so_in_one_line(nowhere, monkeypatch, capsys):
    monkeypatch.setenv("NPTLAB_CACHE", str(nowhere))
    assert main(["store", "ls", "--json", "-"]) == 0
    assert capsys.readouterr().out.count(SAID) == 1


@pytest.fixture(scope="module")
def titles():
    """Of the pages that were drawn: none twice."""
    return set()


@pytest.mark.usefixtures("_idle")
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_drawn_below_a_closed_folder(name, titles, tmp_path, monkeypatch):
    with rights.closed(tmp_path / "shut") as folder:
        monkeypatch.setenv("NPTLAB_CACHE", str(folder))
        services.clear()
        home = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=120)
        page = home.run().switch_page(name).run()
        assert not page.exception
        assert page.title[0].value not in titles
        titles.add(page.title[0].value)
        said = [warning.value for warning in page.warning if "Permission denied" in warning.value]
        assert len(said) == (name not in QUIET)
    services.clear()
