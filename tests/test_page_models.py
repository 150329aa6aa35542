"""The page Models and jobs, as a user meets it: empty, full, at work, after a restart."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import jobs
from pages.ui import services as shared
from tests.conftest import ROOT
from tests.test_engine import LONG_WAIT, eventually
from validation_core import keys
from validation_core.engine import SelfCheck
from validation_core.engine.pool import Future
from validation_core.engine.task import SerialExecutor
from validation_core.store import Store

PAGE = str(ROOT / "pages" / "models/page.py")
HTML = "<script>alert(1)</script>.npz"


class Held(SerialExecutor):
    """Keeps each task until a test lets it go, so that a job is under way."""

    slots = 1

    def __init__(self):
        self.go = threading.Event()

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_running_or_notify_cancel()

        def run():
            args[2](0.25, {})
            self.go.wait(LONG_WAIT)
            try:
                future.set_result(fn(*args))
            except Exception as error:
                future.set_exception(error)

        threading.Thread(target=run).start()
        return future


@pytest.fixture
def services():
    shared.services.clear()
    yield shared.services()
    shared.services().engine.close()
    shared.services.clear()


@pytest.fixture
def held(services):
    services.engine.executor = Held()
    yield services
    services.engine.executor.go.set()


def opened():
    page = AppTest.from_file(PAGE, default_timeout=120).run()
    assert not page.exception
    return page


def button(page, label):
    return next(item for item in page.button if item.label == label)


def labels(page):
    return [item.label for item in page.button]


def captions(page):
    return " ".join(item.value for item in page.caption)


def fill(store):
    spec = keys.canonical_text(SelfCheck(seed=3))
    meta = {"label": "Gaussian · gamma 0.1", "device": "cpu", "seconds": 3.2, "auc": 0.81}
    store.save("models", "m", {"w": np.zeros(500, np.float32)}, spec=spec, meta=meta)
    store.save("tables", "t", {"theta": np.zeros(9)}, spec=HTML, meta={"label": HTML})


def test_an_empty_store_is_said_in_a_sentence(services):
    page = opened()
    assert "0 files take 0 of 2 GiB" in page.markdown[0].value
    assert "Nothing is kept yet" in captions(page)
    assert "Nothing runs at the moment" in captions(page)
    assert not page.dataframe
    assert "Resume" not in labels(page)


def test_the_table_tells_what_is_kept(services):
    fill(services.store)
    page = opened()
    rows = page.dataframe[0].value.set_index("Kind")
    network = rows.loc["network"]
    assert network["Name"] == "Gaussian · gamma 0.1"
    assert network["Specification"] == "self check · rounds 20 · seed 3"
    assert (network["Device"], network["Seconds"], network["Held-out AUC"]) == ("cpu", 3.2, 0.81)
    assert network["Size"] > 2000
    assert rows.loc["uploaded table"]["Name"] == HTML
    assert not any("<script" in item.value for item in page.markdown)


def test_delete_all_leaves_nothing(services):
    fill(services.store)
    page = button(opened(), "Delete all 2 files").click().run()
    assert [entry for entry in services.store.entries() if not entry.shipped] == []
    assert "Nothing is kept yet" in captions(page)
    assert button(opened(), "Check the workers")


def test_only_chosen_files_can_be_deleted(services):
    fill(services.store)
    assert button(opened(), "Delete chosen (0)").disabled


@pytest.mark.parametrize("text", ["1000", "0", "-5", "9" * 400, "9" * 5000, "much"])
def test_whatever_the_file_of_the_bound_says_the_page_is_drawn(services, text):
    (services.store.root / "limit").write_text(text)
    value = opened().number_input(key="bound").value
    assert value == (1000 / 2**30 if text == "1000" else 2.0)
    (services.store.root / "limit").unlink()


def test_the_bound_can_be_lowered(services):
    fill(services.store)
    page = opened().number_input(key="bound").set_value(0.5).run()
    assert services.store.limit == 2**29
    assert "of 0.5 GiB" in page.markdown[0].value


def test_notices_of_the_store_are_shown_and_dismissed(services):
    services.store.note("A file of the store was damaged (models/<b>x</b>).")
    page = opened()
    assert "was damaged" in page.warning[0].value
    assert "<b>" not in page.warning[0].value.replace("\\<", "")
    page = button(page, "Dismiss notices").click().run()
    assert not page.warning


def test_a_job_is_watched_left_and_stopped(held):
    engine = held.engine
    job = engine.submit([SelfCheck(rounds=1)], "someone", "A check of <b>mine</b>")
    eventually(lambda: job.snapshot().fraction > 0)
    page = opened()
    assert {"Leave", "Cancel", "Stop for everyone"} & set(labels(page)) >= {"Stop for everyone"}
    page = button(page, "Stop for everyone").click().run()
    assert job.snapshot().state == "cancelled"
    assert not page.exception
    assert "Nothing runs at the moment" in captions(page)


def test_leaving_keeps_the_work_of_others(held):
    engine = held.engine
    checks = [SelfCheck(seed=0)]
    job = engine.submit(checks, "someone", "Shared")
    page = button(opened(), "Check the workers").click().run()
    assert job.snapshot().subscribers == 2
    assert not page.exception
    page = button(page, "Leave").click().run()
    assert not page.exception
    assert job.snapshot().subscribers == 1
    assert job.snapshot().active


def test_a_waiting_job_says_what_is_ahead_of_it(held):
    engine = held.engine
    first = engine.submit([SelfCheck(seed=0)], "someone", "Of another visitor")
    eventually(lambda: first.snapshot().state == "running")
    engine.submit([SelfCheck(seed=1)], "someone", "Behind it")
    page = opened()
    assert "Waiting behind 1 other job." in captions(page)
    assert "Behind it" in [bar.proto.text for bar in page.get("progress")]  # no time yet


def test_a_page_that_is_shut_lets_its_work_go(services):
    assert services.engine.patience <= 200


def test_the_time_left_never_rises():
    assert jobs.falling(float("inf"), 300) == 300
    assert jobs.falling(290, 320) == 290  # by progress more than was promised
    assert jobs.falling(290, 100) == 100
    assert jobs.falling(100, 500) is None
    assert jobs.falling(-1, 3) == 0


def test_interrupted_jobs_are_resumed_or_forgotten(services, tmp_path):
    store = services.store
    for seed, label in ((1, "Left over"), (2, "Not wanted")):
        spec = keys.canonical_text((SelfCheck(seed=seed, rounds=1),))
        meta = {"label": label, "owner": "gone", "created": float(seed)}
        store.save("jobs", f"k{seed}", {}, spec=spec, meta=meta)
    page = opened()
    assert "Left over · 0 of 1 done" in [item.value for item in page.text]
    page = page.button(key="resume-k1").click().run()
    assert SelfCheck(seed=1, rounds=1).done(store)
    page = page.button(key="forget-k2").click().run()
    assert "Resume" not in labels(page)
    assert not SelfCheck(seed=2, rounds=1).done(store)


def test_the_workers_are_checked(services):
    page = button(opened(), "Check the workers").click().run()
    assert "1 of 1 checks gave the same numbers" in page.markdown[-1].value
    page = button(page, "Check the workers").click().run()
    assert "1 of 1 checks gave the same numbers" in page.markdown[-1].value


def failing_page():
    from pages.ui import jobs
    from validation_core.engine import SelfCheck

    state = jobs.ensure([SelfCheck(rounds=0)], "A <b>check</b>", start=True)
    jobs.panel(state)


def test_a_failed_job_is_said_and_started_again_by_hand_only(services):
    page = AppTest.from_function(failing_page, default_timeout=120).run()
    assert "got 0" in page.error[0].value
    assert "\\<b\\>" in page.error[0].value
    first = services.engine.jobs()[0]
    page.run()
    assert services.engine.jobs()[0] is first
    page = button(page, "Start again").click().run()
    assert services.engine.jobs()[0] is not first
    assert not page.exception


def checking_page():
    from pages.ui import jobs
    from validation_core.engine import SelfCheck

    jobs.panel(jobs.ensure([SelfCheck(rounds=1)], "A check", start=True))


def test_what_somebody_stopped_starts_again_for_others_alone(held):
    page, other = (AppTest.from_function(checking_page, default_timeout=120) for _ in range(2))
    page = button(page.run(), "Cancel").click().run().run()
    assert "was stopped" in page.info[0].value
    assert labels(page) == ["Start again"]
    assert labels(other.run()) == ["Cancel"]


def offering_page():
    from pages.ui import jobs
    from validation_core.engine import SelfCheck

    jobs.offer(SelfCheck(rounds=1), "Check", key="check", icon=":material/check:")


def test_what_somebody_stopped_is_offered_to_others_as_at_first(held):
    page, beside, later = (
        AppTest.from_function(offering_page, default_timeout=120) for _ in range(3)
    )
    page = button(page.run(), "Check").click().run()
    assert labels(beside.run()) == ["Cancel"]
    page = button(page, "Cancel").click().run().run()
    assert labels(page) == labels(beside.run()) == ["Start again"]
    assert labels(later.run()) == ["Check"]


def watching_page():
    import streamlit as st

    from pages.ui import jobs
    from validation_core.engine import SelfCheck

    tasks = [SelfCheck(seed=1, rounds=1), SelfCheck(seed=2, rounds=1)]
    state = jobs.ensure(tasks, "Two checks", start=st.toggle("start"))
    jobs.panel(state, follow=True, draw=lambda now: st.text(f"drawn {now.done}"))
    if state is None:
        st.text("results" if all(task.done(st.session_state.store) for task in tasks) else "none")


def test_a_panel_follows_its_job_to_the_results(held):
    page = AppTest.from_function(watching_page, default_timeout=120)
    page.session_state["store"] = held.store
    assert page.run().text[0].value == "none"
    page = page.toggle[0].set_value(True).run()
    assert page.text[0].value == "drawn 0"
    assert labels(page) == ["Cancel"]
    job = held.engine.jobs()[0]
    held.engine.executor.go.set()
    eventually(lambda: not job.snapshot().active)
    assert page.run().text[0].value == "results"
    assert not page.exception


def test_stores_are_told_apart_by_the_environment(services, tmp_path):
    assert services.store.root == Path(os.environ["NPTLAB_CACHE"])
    assert isinstance(services.store, Store)


@pytest.fixture
def operated(monkeypatch):
    monkeypatch.setenv("NPTLAB_ADMIN", "open sesame, please")


@pytest.mark.usefixtures("operated")
def test_a_visitor_sees_and_stops_only_what_is_his(held):
    job = held.engine.submit([SelfCheck(rounds=1)], "someone", "A secret check")
    fill(held.store)
    held.store.note("The cache folder /srv/secret is full.")
    page = opened()
    assert job.snapshot().active
    shown = " ".join([captions(page), *labels(page), *(item.value for item in page.markdown)])
    assert "secret" not in shown
    assert "1 job of other visitors under way." in captions(page)
    assert not [label for label in labels(page) if "Stop" in label or "Delete" in label]
    assert not page.dataframe
    assert not page.number_input


@pytest.mark.usefixtures("operated")
def test_whoever_runs_the_server_says_so_by_a_token(held):
    job = held.engine.submit([SelfCheck(rounds=1)], "someone", "A check")
    page = opened().text_input(key="token").set_value("let me in").run()
    assert "not the token of this server" in page.error[0].value
    page = page.text_input(key="token").set_value("open sesame, please").run()
    assert not page.error
    page = button(page, "Stop for everyone").click().run()
    assert job.snapshot().state == "cancelled"
    assert "token" not in page.session_state


@pytest.mark.usefixtures("operated")
def test_interrupted_jobs_are_their_visitor_s(services):
    spec = keys.canonical_text((SelfCheck(seed=1, rounds=1),))
    page = opened()
    mine = page.session_state["visitor"]
    for name, whose in (("k1", mine), ("k2", "someone")):
        meta = {"label": name, "owner": "gone", "created": 1.0, "subscriber": whose}
        services.store.save("jobs", name, {}, spec=spec, meta=meta)
    page.run()
    assert [item.value for item in page.text] == ["k1 · 0 of 1 done"]
    assert [item.key for item in page.button if item.label == "Forget"] == ["forget-k1"]


@pytest.mark.usefixtures("operated")
def test_jobs_too_many_are_refused_in_words_and_begin_when_there_is_room(held, monkeypatch):
    monkeypatch.setenv("NPTLAB_LIMITS", "jobs=1/2")
    page = AppTest.from_function(limited_page, default_timeout=120).run()
    first, second = (job.state for job in page.session_state["states"])
    assert (first, second) == ("running", "failed")
    assert "may have 1 jobs at a time; got 2" in page.error[0].value
    held.engine.executor.go.set()
    (job,) = held.engine.jobs()
    eventually(lambda: not job.snapshot().active)
    page = button(page, "Start again").click().run()
    assert page.session_state["states"][1] is None or not page.error


def limited_page():
    import streamlit as st

    from pages.ui import jobs
    from validation_core.engine import SelfCheck

    st.session_state["states"] = [
        jobs.ensure([SelfCheck(seed=seed, rounds=1)], f"Check {seed}", start=True)
        for seed in (1, 2)
    ]
    for state in st.session_state["states"]:
        jobs.panel(state)
