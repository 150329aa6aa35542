"""The tables of two visitors: whoever deletes his takes none from the other."""

import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import kept, own_story, recent, visitor_registry
from pages.ui.services import services
from tests import files
from tests.conftest import ROOT
from validation_core.diagnosis import tasks
from validation_core.tables import read

MAIN = str(ROOT / "pages" / "main.py")
TABLE = files.npz(files.table())

pytestmark = pytest.mark.usefixtures("_idle")


@pytest.fixture(autouse=True)
def _operated(monkeypatch):
    """A server for others, where each has his own tables."""
    monkeypatch.setenv("NPTLAB_ADMIN", "open sesame, please")
    monkeypatch.setattr(visitor_registry, "registry", visitor_registry.VisitorRegistry())


@pytest.fixture
def digest():
    return read(io.BytesIO(TABLE), name="table.npz").digest


def opened(name, page):
    """A page in a browser of this visitor."""
    at = AppTest.from_file(MAIN, default_timeout=60)
    at.session_state["visitor"] = name
    return at.run().switch_page(page).run()


def bring(name, content=TABLE, page="diagnose/page.py"):
    at = opened(name, page)
    at.file_uploader[0].upload("table.npz", content).run()
    assert not at.exception
    return at


def own(name):
    return [text.value for text in opened(name, "models/page.py").text]


def delete(name, digest):
    at = opened(name, "models/page.py")
    at.button(key=f"delete-{digest}").click().run()
    assert not at.exception
    assert not [button for button in at.button if button.label == "Delete"]


def is_kept(digest):
    return services().store.has("tables", digest)


def test_the_table_goes_with_the_last_who_has_it(digest):
    for name in ("a", "b"):
        bring(name)
    visitor_registry.registry.tables.clear()  # both have closed their pages
    delete("a", digest)
    assert is_kept(digest)
    assert own("a") == []
    assert own("b") == ["table, 60 rows"]
    assert tasks.load_upload(services().store, digest).n == 60
    delete("b", digest)
    assert not is_kept(digest)
    assert own("b") == []


def test_a_table_of_one_goes_at_once_and_his_others_stay(digest):
    other = files.npz(files.table(seed=1))
    bring("a", other)
    bring("a")
    opened("a", "models/page.py").button(key=f"delete-{digest}").click().run()
    assert not is_kept(digest)
    assert own("a") == ["table, 60 rows"]


def test_whoever_deletes_and_brings_it_again_has_it_again(digest):
    bring("a")
    delete("a", digest)
    assert not is_kept(digest)
    bring("a")
    assert is_kept(digest)
    assert own("a") == ["table, 60 rows"]


def test_a_table_that_another_compares_at_the_moment_stays(digest):
    """The page that compares posteriors lists none, and works on what it has open."""
    bring("a")
    comparing = bring("b", page="posteriors.py")
    delete("a", digest)
    assert is_kept(digest)
    assert own("b") == []
    assert not comparing.run().exception


def test_nobody_deletes_what_is_not_his(digest):
    bring("a")
    at = opened("b", "models/page.py")
    assert not [button for button in at.button if button.label == "Delete"]
    assert is_kept(digest)


def test_lists_that_another_version_wrote_break_no_page(digest, monkeypatch):
    """With fields that this one does not know, without some that it does, and of other kinds."""
    bring("a")
    load = kept.load
    correction = {"name": "thin=5", "finding": "f", "code": "c", "done": "d", "since": 3}

    def other(name):
        values = dict(load(name))
        entries = values.get("tables", [])
        more = [{**entry, "new": [1], "corrected": [correction]} for entry in entries]
        return {**values, "tables": [*more, {"digest": digest}, 5, None, "table"],
                "scenes": [["models", "", "Mine", "more"], ["short"], 7]}  # fmt: skip

    monkeypatch.setattr(recent.kept, "load", other)
    monkeypatch.setattr(own_story.kept, "load", other)
    assert own("a") == ["table, 60 rows"]
    at = opened("a", "diagnose/page.py")
    assert not at.exception


def test_a_table_of_the_same_numbers_opens_under_its_own_names(digest):
    """Another file has the numbers of the first, and other names of its parameters."""
    named = files.npz({**files.table(), "theta_names": np.array(["mass", "spin"])})
    at = opened("a", "diagnose/page.py")
    for content, names in ((TABLE, ("theta_1", "theta_2")), (named, ("mass", "spin"))):
        at.file_uploader[0].upload("table.npz", content).run()
        at.switch_page("models/page.py").run().switch_page("diagnose/page.py").run()
        assert at.session_state["recent"][1].names == names
