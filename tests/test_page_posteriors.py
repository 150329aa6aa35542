"""The page that compares posteriors, under AppTest: files in, differences out."""

import io
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import address, comparison_link
from pages.ui.services import services
from tests.conftest import ROOT
from validation_core.diagnosis import examples
from validation_core.tables import read

PAGE = str(ROOT / "pages" / "posteriors.py")


@pytest.fixture(autouse=True)
def _small(monkeypatch, quick_training, _new_server):
    monkeypatch.setattr(examples, "flows", list)  # what a first visit shows: test_first_visits


def packed(*, width=1.0, rows=0, n=80, k=12, names=("theta", "x", "theta_q")):
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((n, 2))
    theta = x + rng.standard_normal((n, 2))
    q = x[:, None] + width * rng.standard_normal((n, k, 2))
    file = io.BytesIO()
    np.savez(file, **dict(zip(names, (theta, x, q), strict=True)))
    return file.getvalue()


@pytest.fixture
def page():
    at = AppTest.from_file(PAGE, default_timeout=90).run()
    assert not at.exception
    return at


def send(at, files):
    at.file_uploader[0].set_value([(name, content, "application/octet-stream")
                                   for name, content in files]).run()  # fmt: skip
    assert not at.exception
    return at


def texts(at):
    parts = [*at.title, *at.subheader, *at.markdown, *at.caption, *at.warning, *at.error, *at.info]
    return "\n".join(part.value for part in parts)


def opened(at, key):
    """The page with a fold open."""
    at.session_state[key] = True
    at.run()
    assert not at.exception
    return at


def finished(at):
    """Run until nothing is worked on any more."""
    for _ in range(200):
        engine = services().engine
        jobs = [job for job in engine.jobs() if job.snapshot().active]
        for job in jobs:
            engine.wait(job.key, "test", timeout=60)
        at.run()
        if not jobs:
            return at
    raise AssertionError("the work never ended")


def test_two_tables_are_compared(page):
    at = finished(send(page, [("wide.npz", packed(width=3.0)), ("exact.npz", packed())]))
    assert at.header[0].value == "Nearest to the true posterior\\: exact."
    assert "lower than that of wide" in texts(at)
    assert len(at.get("plotly_chart")) == 1
    assert not at.dataframe
    opened(at, "every-measure")
    assert "is nearer than" in texts(at)
    frame = at.dataframe[0].value
    assert {"energy score", "distance of ranks"} <= set(frame["Measure"])
    assert (frame[frame["Measure"] == "energy score"]["Nearer"] == "yes").any()


def test_the_nearest_is_said_to_be_wrong_where_its_tests_reject_it(page):
    files = [("wide.npz", packed(width=4.0)), ("less.npz", packed(width=2.5))]
    at = finished(send(page, files))
    assert "tests of it alone reject it (p " in texts(at)


def test_a_comparison_is_kept_on_reload_and_opens_by_its_link(page):
    files = [("wide.npz", packed(width=3.0)), ("exact.npz", packed())]
    at = finished(send(page, files))
    assert [button.label for button in at.get("download_button")] == ["export.py", "Report"]
    link = [
        f"{read(io.BytesIO(content), name=name).digest}~{name[:-4]}" for name, content in files
    ]
    assert at.session_state["address"].shown["tables"] == link
    other = AppTest.from_file(PAGE, default_timeout=90)
    other.query_params["tables"] = link
    assert not other.run().exception
    assert other.header[0].value == at.header[0].value
    other = next(b for b in other.button if b.label == "Close wide and exact").click().run()
    assert not other.header
    gone = AppTest.from_file(PAGE, default_timeout=90)
    gone.query_params["tables"] = ["0" * 32 + "~lost", "not a table"]
    assert "2 tables of this link are no longer kept here" in gone.run().info[0].value


def test_tables_of_the_same_numbers_keep_their_own_names(monkeypatch):
    link = {}
    monkeypatch.setattr(address, "say", lambda name, texts: link.update({name: texts}))
    monkeypatch.setattr(address, "asked", lambda name: link.get(name, []))
    monkeypatch.setattr(comparison_link.st, "session_state", {})
    table = read(io.BytesIO(packed()), name="a.npz")
    first, second = (replace(table, names=names) for names in (("m", "r"), ("mass", "radius")))
    assert first.digest == second.digest
    comparison_link.remember([("a", first), ("b", second)])
    found, lost = comparison_link.addressed()
    assert [(label, upload.names) for label, upload in found] == [
        ("a", ("m", "r")), ("b", ("mass", "radius")),
    ]  # fmt: skip
    assert not lost


def test_other_simulations_are_not_compared(page):
    at = send(page, [("a.npz", packed()), ("b.npz", packed(rows=1))])
    assert "cannot be compared" in texts(at)
    assert not at.header


def test_the_tables_that_are_alike_are_compared(page):
    files = [("odd.npz", packed(rows=1)), ("a.npz", packed(width=3.0)), ("b.npz", packed())]
    at = finished(send(page, files))
    assert at.warning[0].value.startswith("odd cannot be compared with a")
    assert at.header[0].value == "Nearest to the true posterior\\: b."
    opened(at, "in-order")
    assert len(at.get("plotly_chart")) == 6


def test_a_table_that_looks_mistaken_is_left_out_until_it_is_decided(page):
    wide, exact = packed(width=3.0, n=200), packed(n=200)
    arrays, file = dict(np.load(io.BytesIO(exact))), io.BytesIO()
    np.savez(file, **{**arrays, "theta_q": arrays["theta_q"][..., ::-1]})
    files = [("cols.npz", file.getvalue()), ("exact.npz", exact), ("wide.npz", wide)]
    at = finished(send(page, files))
    assert "cols is left out. Columns of theta\\_q are not in theta's order" in texts(at)
    assert len(at.header) == 1
    digest = read(io.BytesIO(files[0][1]), name="cols.npz").digest
    at.session_state["as-saved"] = (digest,)  # as My posterior keeps it
    assert "cols is left out" not in texts(finished(at.run()))
    at.session_state["corrections"] = {digest: ("columns",)}
    assert "cols and exact hold the same draws" in texts(finished(at.run()))


def test_without_two_draws_nothing_is_ranked(page):
    files = [("a.npz", packed(k=1)), ("b.npz", packed(k=1, width=2.0))]
    at = finished(send(page, files))
    assert "the energy score takes two draws of q at each x" in texts(at)
    assert not at.header


def test_arrays_of_other_names_are_asked_about(page):
    at = send(page, [(f"{name}.npz", packed(width=width, names=("params", "obs", "post")))
                     for name, width in (("wide", 3.0), ("exact", 1.0))])  # fmt: skip
    assert "Which is which?" in texts(at)
    guesses = {box.label.partition(":")[0]: box.value for box in at.selectbox}
    guesses["x"] = at.multiselect[0].value[0]
    assert guesses["theta_q"] == "post"
    assert {guesses["theta"], guesses["x"]} == {"params", "obs"}
    assert at.selectbox[0].options == ["params (80, 2)", "obs (80, 2)", "post (80, 12, 2)"]
    (button,) = [button for button in at.button if button.label == "Read the table"]
    at = finished(button.click().run())
    assert at.header[0].value == "Nearest to the true posterior\\: exact."
    at.multiselect[0].set_value(["params"])
    (button,) = [button for button in at.button if button.label == "Read the table"]
    at = button.click().run()
    assert "theta = params, x = params" in at.error[0].value


def test_one_table_asks_for_another(page):
    at = send(page, [("a.npz", packed())])
    assert "add another one" in texts(at)


def test_ranks_alone_are_not_asked_for_another(page):
    file = io.BytesIO()
    np.savez(file, ranks=np.random.default_rng(0).integers(0, 21, (80, 2)), max_rank=20)
    send(page, [("ranks.npz", file.getvalue())])
    assert "got ranks alone" in texts(page)
    assert "add another one" not in texts(page)


def test_a_refusal_is_said_in_a_line(page):
    at = send(page, [("a.npz", b"not an archive"), ("b.npz", packed())])
    assert len(at.error) == 1
    assert "got" in at.error[0].value
