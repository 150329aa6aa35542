"""The diagnosis page under AppTest: upload, read, refuse, ask, answer."""

import ast
import base64
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.diagnose import rows, takeaway, view
from pages.ui.services import services
from tests.conftest import ROOT, nothing_worked_out
from tests.files import csv, npy
from validation_core import diagnosis
from validation_core.diagnosis import learning, plan, questions, tasks
from validation_core.methods import DC, MMDFuse
from validation_core.scores.upload_training import USUAL, trained_by
from validation_core.tables import Upload, server_files
from validation_core.text import equals

PAGE = str(ROOT / "pages" / "diagnose/page.py")


pytestmark = pytest.mark.usefixtures("_few_trials")


@pytest.fixture(autouse=True)
def _small(monkeypatch, tmp_path_factory, quick_training, _new_server):
    """Small networks, and one store: what is tested here is the page."""
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path_factory.getbasetemp() / "diagnose"))
    slots = learning.slot_recipe
    monkeypatch.setattr(learning, "slot_recipe", lambda upload: replace(slots(upload), trees=8))


@pytest.fixture
def _few_questions(monkeypatch):
    """For tests of what else is on the page, the ball after theta too: a new table asks all."""
    few = (questions.by_name("size"), questions.by_name("in_theta"))
    for module in (questions, rows, takeaway, view):
        monkeypatch.setattr(module, "QUESTIONS", few)


ROWS = (*(one.name for one in questions.QUESTIONS), "tests")


def fresh(*, opened=ROWS):
    """The page with these rows open, not yet run."""
    at = AppTest.from_file(PAGE, default_timeout=60)
    for name in opened:
        at.session_state[f"row-{name}"] = True
    return at


@pytest.fixture
def visited(tmp_path):
    """A function: the page with these rows open, on its example, which is left unanswered."""

    def visit(*, opened=ROWS):
        with nothing_worked_out(tmp_path / "example"):
            at = fresh(opened=opened).run()
        assert not at.exception
        return at

    return visit


@pytest.fixture
def page(visited):
    return visited()


def component(at, name):
    """What was sent to the one component of this name."""
    (sent,) = [
        item.proto for item in at.get("bidi_component") if item.proto.component_name == name
    ]
    return sent


def card(at):
    """The card's markup."""
    return json.loads(component(at, "nptlab_card").json)["html"]


def every_test(at):
    """The table of every test."""
    return next(item.value for item in at.table if "Statistic" in item.value.columns)


def title(at):
    return re.search("<h2>(.*?)</h2>", card(at)).group(1)


def lines(at):
    """The labels of the rows, by the name of the question."""
    labels = [item.label.replace("\\", "") for item in at.expander]
    return {label.partition("** · ")[0][2:]: label for label in labels if "** · " in label}


def table(n=60, k=8, **more):
    rng = np.random.default_rng(0)
    arrays = {
        "theta": rng.standard_normal((n, 2)),
        "x": rng.standard_normal((n, 3)),
        "theta_q": rng.standard_normal((n, k, 2)),
    }
    return arrays | more


def far():
    """The same with draws far from the truth, and names."""
    q = 3 + np.random.default_rng(1).standard_normal((60, 8, 2))
    return table(theta_q=q, theta_names=np.array(["mass", "spin"]))


def saved(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def upload(at, name="table.npz", **arrays):
    return send(at, saved(**arrays), name)


def send(at, content, name="table.npz"):
    at.file_uploader[0].upload(name, content).run()
    assert not at.exception
    return at


def texts(at):
    parts = [
        *at.title,
        *at.header,
        *at.subheader,
        *at.markdown,
        *at.caption,
        *at.warning,
        *at.error,
        *at.info,
    ]
    words = "\n".join(part.value for part in parts)
    return re.sub(r"\[([^\]]*)\]\(glossary#[^)]*\)", r"\1", words)


def choose(at, source):
    control = at.get("button_group")[0]
    control.set_value(source).run()
    assert not at.exception
    return at


def test_the_first_visit_shows_a_finished_diagnosis(monkeypatch):
    """Of the shipped example, from shipped results: nothing is worked out."""

    def refuse(*tasks):
        raise AssertionError(tasks)

    monkeypatch.undo()
    services.clear()
    monkeypatch.setattr(services().engine, "submit", refuse)
    with trained_by(USUAL):
        at = fresh(opened=()).run()
    assert not at.exception
    assert at.title[0].value == "Is my posterior right?"
    assert title(at) == "Problem found"
    assert not any("Being worked out" in line for line in lines(at).values())
    others = {"Row by row", "Each test"}
    assert {*lines(at)} == others | {one.title for one in questions.QUESTIONS}
    assert not at.table
    assert not at.get("plotly_chart")


def test_the_card_comes_first_and_rows_wait_to_be_opened(page, visited):
    closed = visited(opened=())
    upload(closed, **far())
    assert title(closed) == "Problem found"
    for label in ("How wrong", "Where", "Likely cause", "Next"):
        assert f"<dt>{label}</dt>" in card(closed)
    assert card(closed).count("<li>") == 3
    assert "spin" in card(closed) or "mass" in card(closed)
    assert not closed.get("plotly_chart")
    assert not closed.table
    upload(page, **far())
    assert len(page.get("plotly_chart")) > 15


def test_an_upload_gets_a_verdict(page):
    upload(page, **far())
    assert title(page) == "Problem found"
    assert "60 simulations with 8 draws" in texts(page)
    shown = every_test(page)
    assert set(shown.index) == {
        "Relabelling", "SBC", "TARP", "Within x", "Multiple", "C2ST", "Uniform(50)",
        "CoLT fourier", "Symmetric divergence",
    }  # fmt: skip
    # The verdict's own comes first, then those that ran.
    assert shown.index[0] == "Relabelling"
    assert set(shown.index[-2:]) == {"Uniform(50)", "Symmetric divergence"}
    values = [float(p.replace("\u2011", "-").strip("\\<\u00a0")) for p in shown["p-value"][1:-2]]
    assert values == sorted(values)
    assert "Uniform\\(50\\) was not run" in texts(page) or "Uniform(50) was not run" in texts(page)
    figures = page.get("plotly_chart")
    assert len(figures) > 15
    assert all(json.loads(figure.proto.spec)["data"] for figure in figures)


def test_log_densities_bring_the_symmetric_divergence(page):
    rng = np.random.default_rng(1)
    theta = rng.standard_normal((80, 1))
    x = theta + rng.standard_normal((80, 1))
    q = x[:, None] / 2 + 0.5 + rng.standard_normal((80, 10, 1))
    logs = {
        "log_q": -((theta - x / 2 - 0.5) ** 2).sum(-1) / 2 + 40,
        "log_joint": -(theta**2).sum(-1) / 2 - ((x - theta) ** 2).sum(-1) / 2,
        "log_q_draws": -((q - x[:, None] / 2 - 0.5) ** 2).sum(-1) / 2 + 40,
        "log_joint_draws": -(q**2).sum(-1) / 2 - ((x[:, None] - q) ** 2).sum(-1) / 2,
    }
    upload(page, theta=theta, x=x, theta_q=q, **logs)
    shown = every_test(page)
    assert "not run" not in str(shown.loc["Symmetric divergence"].tolist())
    said = texts(page).replace("\\", "")
    assert "Symmetric divergence KL(p || q) + KL(q || p), mean over x" in said
    assert "relabelings within x" in said
    assert "For comparison, an estimate without densities." in said
    captions = ["lie on the dashed 0", "any of the K + 1 values", "An upper bound on"]
    assert all(one in said for one in captions)


def test_the_questions_are_answered_in_their_order(page):
    rng = np.random.default_rng(1)
    theta = rng.standard_normal((120, 2))
    upload(page, theta=theta, x=theta + rng.standard_normal((120, 2)),
           theta_q=3 + rng.standard_normal((120, 20, 2)))  # fmt: skip
    said = lines(page)
    assert [*said][: len(questions.QUESTIONS)] == [one.title for one in questions.QUESTIONS]
    assert not any("orked out" in line for line in said.values())
    assert "is the worst" in said["How wrong"]


def test_what_will_run_is_said_before(page):
    upload(page, **table(n=30))
    (plan,) = [one.value for one in page.table if "Expected" in one.value.columns]
    assert plan.loc["Within x", "Expected"].startswith("not run: ")
    assert plan.loc["SBC", "Expected"].endswith(" s")
    assert "a worker will need about" in texts(page).replace("\\", "")


@pytest.mark.usefixtures("_few_questions")
def test_a_file_on_the_server(visited, tmp_path, monkeypatch):
    """Chosen from the list of the folder that the operator allows, and from nowhere else."""
    np.savez(tmp_path / "table.npz", **table(n=40))
    inside = tmp_path / "inside"
    inside.mkdir()
    np.savez(inside / "run.npz", **table(n=30))
    monkeypatch.setenv("NPTLAB_FILES", str(inside))
    page = choose(visited(), "path")
    box = page.selectbox(key="path")
    assert box.options == ["run.npz"]
    tricks = ("../table.npz", str(tmp_path / "table.npz"), "none.npz")
    with monkeypatch.context() as patch:  # what a visitor types stands beside the list
        patch.setattr(
            server_files,
            "list_files",
            lambda folder: server_files.FileListing(("run.npz", *tricks), None),
        )
        page.run()
        for trick in tricks:
            page.selectbox(key="path").set_value(trick).run()
            assert not page.exception
            assert "must name a file in the folder" in page.error[0].value
            assert not page.table
        page.selectbox(key="path").set_value("run.npz").run()
    assert "30 simulations with 8 draws" in texts(page)
    monkeypatch.setenv("NPTLAB_FILES", str(tmp_path / "gone"))
    assert "must name a folder" in texts(page.run())


@pytest.mark.usefixtures("_few_questions")
def test_a_p_value_is_never_zero(page):
    upload(page, **table(n=500, theta_q=np.full((500, 8, 2), 9.0)))
    shown = every_test(page)
    assert not any(value in ("0", "0.0") for value in [*shown["p-value"], *shown["adjusted"]])


@pytest.mark.slow
def test_samples_say_what_they_are(page):
    choose(page, "exact")
    assert "exact posterior of a straight line" in texts(page)
    assert title(page) == "No problem found"
    assert "would be found in 80 of 100 such tables" in card(page)
    choose(page, "narrow")
    assert title(page) == "Problem found"
    assert "infection rate" in card(page)


@pytest.mark.usefixtures("_few_questions")
def test_level_and_seed_are_asked(page):
    upload(page, **far())
    before = every_test(page)["Value"].tolist()
    page.number_input(key="seed").set_value(1).run()
    assert every_test(page)["Value"].tolist() != before
    page.select_slider(key="level").set_value(0.01).run()
    assert "level 1%" in re.sub("<[^>]*>", "", card(page))


@pytest.mark.usefixtures("_few_questions")
def test_another_parameter_can_be_looked_at(page):
    """Of more than two; two stand beside one another."""
    rng = np.random.default_rng(2)
    q = rng.standard_normal((80, 8, 3))
    q[..., 2] += 4
    names = np.array(["a", "b", "shifted"])
    upload(page, **table(n=80, theta=rng.standard_normal((80, 3)), theta_q=q, theta_names=names))
    box = page.selectbox(key="test")
    box.set_value(next(i for i, words in enumerate(box.options) if words.startswith("SBC"))).run()
    other = page.selectbox(key="parameter")
    assert other.value is None
    assert other.options[0].startswith("shifted: adjusted p")
    before = opened(page)
    assert all(name in before for name in names)
    other.set_value(1).run()
    after = opened(page)
    assert "b\\u003cbr\\u003ep = " in after
    assert "shifted" not in after
    upload(page, **far())
    assert not [box for box in page.selectbox if box.key == "parameter"]


def opened(at):
    """The specifications of the figures of the test that is open: the last on the page."""
    return " ".join(chart.proto.spec for chart in at.get("plotly_chart")[-2:])


def more(at, *names):
    tests = next(one for one in at.get("button_group") if one.label.startswith("Tests to run"))
    tests.set_value(list(names)).run()
    assert not at.exception
    return at


@pytest.mark.usefixtures("_few_questions")
def test_more_tests_are_asked_for(page, monkeypatch):
    cheap = dict(diagnosis.further_methods())
    cheap["dc"] = cheap["dc"]._replace(method=DC(m=3, permutations=39))
    cheap["mmd_fuse"] = cheap["mmd_fuse"]._replace(method=MMDFuse(points=30, permutations=39))
    monkeypatch.setattr(plan, "further_methods", lambda: cheap)
    upload(page, **table())
    told = texts(page).replace("\\", "")
    for one in cheap.values():
        assert f"{one.method.title}: {one.adds}; about {one.seconds:g} s" in told
    assert "These are shown for comparison" in told
    assert len(every_test(page)) == 9
    more(page, "mmd_fuse", "dc")
    assert {"DC our features", "MMD-FUSE 30 rows"} <= set(every_test(page).index)
    box = page.selectbox(key="test")
    box.set_value(next(i for i, words in enumerate(box.options) if "MMD-FUSE" in words)).run()
    assert not page.exception
    assert "from 39 relabelings" in texts(page)
    more(page)
    assert len(every_test(page)) == 9


@pytest.mark.usefixtures("_few_questions")
def test_no_test_is_offered_that_ranks_alone_cannot_have(page):
    upload(page, ranks=np.random.default_rng(0).integers(0, 21, (80, 2)), max_rank=np.array(20))
    assert len(every_test(page)) == 9
    assert "Tests to run" not in [one.label for one in page.get("button_group")]
    assert "These are shown for comparison" not in texts(page)


@pytest.mark.usefixtures("_few_questions")
def test_more_tests_stand_in_the_address(monkeypatch, tmp_path):
    cheap = dict(diagnosis.further_methods())
    cheap["mmd_fuse"] = cheap["mmd_fuse"]._replace(method=MMDFuse(points=30, permutations=39))
    monkeypatch.setattr(plan, "further_methods", lambda: cheap)
    at = fresh()
    at.query_params["more"] = ["MMD-FUSE"]
    with nothing_worked_out(tmp_path / "example"):
        at.run()
    upload(at, **table())
    assert "MMD-FUSE 30 rows" in every_test(at).index


@pytest.mark.usefixtures("_few_questions")
def test_dropped_rows_and_warnings_are_said(page):
    arrays = table()
    arrays["theta"][:3] = np.nan
    arrays["x"][:, 0] = 1.0
    upload(page, **arrays, extra=np.zeros(60))
    said = texts(page).replace("\\", "")
    assert "3 rows were left out: NaN or infinite values in theta" in said
    assert "x is constant in column 1" in said
    assert "'extra' was left unread" in said


@pytest.mark.usefixtures("_few_questions")
def test_a_table_is_looked_at_row_by_row_and_its_line_goes_on_as_it_grows(visited):
    """Where its rows have equal draws of their own, once the row is opened, beside the verdict."""
    page = visited(opened=())
    arrays = far()
    rows_of = {name: array[:45] for name, array in arrays.items() if name != "theta_names"}
    upload(page, **rows_of)
    assert "Row by row" in lines(page)
    assert "decided" not in texts(page)
    page.session_state["row-stream"] = True
    first = drawn_evidence(page.run())
    said = texts(page).replace("\\", "")
    assert re.search(r"q is wrong: decided after \d+ of 45 rows", said)
    assert "at its own level of 5%, not a second vote for it" in said
    assert "If q were correct, the line would ever reach 20 to 1 in at most 5% of streams" in said
    assert "nptlab diagnose --stream rows.jsonl" in [one.value for one in page.code]
    upload(page, **arrays)
    assert np.allclose(drawn_evidence(page)[:46], first)
    upload(page, **rows_of, log_w=np.zeros(45), log_w_draws=rows_of["theta_q"][..., 0] / 4)
    assert "Row by row" not in lines(page)


def paths_in(at):
    """What every script on the page reads, of those that import the library."""
    scripts = [ast.parse(one.value) for one in at.code if "import validation_core" in one.value]
    calls = [node for each in scripts for node in ast.walk(each) if isinstance(node, ast.Call)]
    reads = [call for call in calls if getattr(call.func, "attr", "") == "read"]
    return [ast.literal_eval(call.args[0]) for call in reads]


@pytest.mark.usefixtures("_few_questions")
@pytest.mark.parametrize("name", ["cols.npz", 'a"b.npz', "it's 2 ünï.npz", "x\\y.{table}.npz"])
def test_code_reads_the_file_by_the_name_it_came_by(name, visited):
    page = visited(opened=("stream", "size"))
    assert set(paths_in(page)) == {"your_table.npz"}
    assert set(paths_in(upload(page, name=name, **far()))) == {name}


@pytest.mark.usefixtures("_few_questions")
def test_code_reads_all_files_that_make_a_table(visited):
    page, arrays = visited(opened=("stream",)), table()
    for name in arrays:
        page.file_uploader[0].upload(f"{name}.npy", npy(arrays[name]))
    assert paths_in(page.run()) == [[f"{name}.npy" for name in arrays]]


@pytest.mark.usefixtures("_few_questions")
def test_code_reads_a_csv_and_says_which_parameter(visited):
    page = visited(opened=())
    shares = {f"prob_{c}": np.full(60, 0.5) for c in "ab"}
    send(page, csv({**shares, "label": np.array(["a", "b"] * 30)}), "classes.csv")
    (script,) = [one.value for one in page.code if "reliability" in one.value]
    compile(script, "script", "exec")
    assert "npt.reliability(npt.read('classes.csv'))" in script


def drawn_evidence(at):
    """Decades of evidence after each row, of the line that is drawn."""
    assert not at.exception
    (chart,) = at.get("plotly_chart")
    drawn = [line["y"] for line in json.loads(chart.proto.spec)["data"]]
    longest = max(drawn, key=lambda numbers: len(numbers["bdata"]))
    return np.frombuffer(base64.b64decode(longest["bdata"]), longest["dtype"])


@pytest.mark.usefixtures("_few_questions")
def test_the_order_is_asked_for_when_axes_are_equal(page):
    upload(page, **table(n=20, k=20))
    assert "N = K" in texts(page).replace("\\", "")
    assert not page.table
    page.radio[0].set_value("KND").run()
    assert not page.exception
    assert page.table
    page.radio[0].set_value("NKD").run()
    assert page.table


@pytest.mark.usefixtures("_few_questions")
def test_columns_of_other_names_are_asked_about_in_one_form(page):
    """Names that tell draws and simulations are chosen already; the rest is the user's."""
    arrays = table(n=20, k=12)
    rows = np.repeat(np.arange(20), 12)
    lines = ["event,draw,m,s,m_0,s_0,y1,y2,y3"]
    for i, k in zip(rows, np.tile(np.arange(12), 20), strict=True):
        numbers = (*arrays["theta_q"][i, k], *arrays["theta"][i], *arrays["x"][i])
        lines.append(",".join([str(i), str(k), *map(str, numbers)]))
    send(page, "\n".join(lines).encode(), "run.csv")
    assert "The names of these columns do not say what they are." in texts(page)
    assert not page.table
    assert page.selectbox(key=find(page.selectbox, "Simulation")).value == "event"
    chosen = {"True": ["m_0", "s_0"], "Draws of": ["m", "s"], "Data": ["y*"]}
    assert page.multiselect(key=find(page.multiselect, "Draw")).value == ["draw"]
    for label, columns in chosen.items():
        page.multiselect(key=find(page.multiselect, label)).set_value(columns)
    next(button for button in page.button if button.label == "Read the table").click().run()
    assert not page.exception
    assert page.table


def find(elements, label):
    """The key of the field whose label begins so."""
    return next(element.key for element in elements if element.label.startswith(label))


@pytest.mark.usefixtures("_few_questions")
def test_reversed_axes_are_asked_about_with_the_orders_that_fit(page):
    arrays = table(n=60, k=8, x=np.random.default_rng(3).standard_normal((60, 2)))
    upload(page, **{name: array.T for name, array in arrays.items()})
    assert "2 simulations of 60 parameters" in texts(page).replace("\\", "")
    assert [option[:10] for option in page.radio[0].options] == ["Simulation", "Parameters"]
    page.radio[0].set_value("DKN").run()
    assert not page.exception
    assert page.table


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\x00\x01\x02", "begins with"), (b"", "an empty file"), (b"PK\x03\x04", "truncated")],
)
@pytest.mark.usefixtures("_few_questions")
def test_bad_files_are_refused_and_the_page_goes_on(content, words, page):
    send(page, content)
    assert words in page.error[0].value.replace("\\", "")
    upload(page, "good.npz", **table())
    assert not page.error
    assert page.table


@pytest.mark.parametrize("sizes", [{"n": 4}, {"n": 30}, {"n": 80, "k": 1}])
def test_small_tables_are_answered(sizes, page):
    upload(page, **table(**sizes))
    assert page.table
    assert title(page) in ("Not enough data", "No problem found")


def test_two_samples(page):
    rng = np.random.default_rng(0)
    upload(page, p=rng.standard_normal((100, 2)), q=rng.standard_normal((100, 2)))
    assert "two samples, 100 points" in texts(page)
    assert "two samples p and q, which have no x" in texts(page)
    assert "Next" in card(page)


def test_names_are_shown_as_text(page):
    hostile = np.array(["<img src=x onerror=alert(1)>", "![a](http://b/c.png)"])
    upload(page, **far() | {"theta_names": hostile})
    said = texts(page) + "".join(item.label for item in page.expander)
    assert "\\<img src=x" in said
    assert " <img" not in said
    assert "![a](" not in said
    assert "<img" not in card(page)
    assert "&lt;img src=x" in card(page) or "![a]" in card(page)
    specs = [chart.proto.spec for chart in page.get("plotly_chart")]
    assert not any("<img" in spec for spec in specs)


def test_a_refresh_computes_nothing_again(page, visited):
    content = saved(**far())
    send(page, content).run()  # the second run begins what takes long
    first = worked_out()
    again = send(visited(), content)
    assert card(again) == card(page)
    assert worked_out() == first


def worked_out():
    """When each result was made; a browser's list of its tables is none."""
    entries = services().store.entries()
    return {entry.key: entry.created for entry in entries if entry.spec != "recent"}


def live(at):
    """The payload of the ball's picture."""
    return component(at, "nptlab_live")


def test_the_ball_is_shown_below_the_verdict(page):
    upload(page, **far())
    said = texts(page).replace("\\", "")
    assert "of its mass into the region around the learnt centre" in said
    assert "Estimate of the Kolmogorov distance d~ for the learned region" in said
    assert "as large as it takes to hold" in said
    assert "The region that CoLT found" in [part.value for part in page.subheader]
    sent = str(live(page))
    assert "mass" in sent
    assert "The region at this observation" in sent
    assert "Observations" in sent


@pytest.mark.usefixtures("_few_questions")
def test_parameters_of_the_ball_are_chosen(page):
    """The two that SBC finds worst come first, by their own names."""
    rng = np.random.default_rng(2)
    theta, q = rng.standard_normal((80, 4)), rng.standard_normal((80, 8, 4))
    q[..., 2] += 4
    q[..., 3] += 2
    names = np.array(["a", "b", "shifted", "moved"])
    upload(page, **table(n=80, theta=theta, theta_q=q, theta_names=names))
    shown = {box.label: box for box in page.selectbox}
    assert list(shown["Across"].options)[:2] == ["shifted", "moved"]
    assert (shown["Across"].value, shown["Up"].value) == (2, 3)
    assert "all 4 parameters" in texts(page)
    before = str(live(page))
    shown["Up"].set_value(0).run()
    assert not page.exception
    after = str(live(page))
    assert after != before
    shown = {box.label: box for box in page.selectbox}
    shown["Across"].set_value(0).run()  # the same on both axes
    assert not page.exception


@pytest.mark.usefixtures("_few_questions")
def test_axes_about_q(page):
    upload(page, **table())
    axes = next(group for group in page.get("button_group") if group.label == "Axes")
    before = str(live(page))
    axes.set_value("around").run()
    assert not page.exception
    assert str(live(page)) != before
    assert "drawn at its edge" in texts(page)


@pytest.mark.usefixtures("_few_questions")
def test_axes_about_q_where_no_rim_can_be_drawn(page):
    """More than two parameters: q's draws and the truth alone, in sds of q."""
    rng = np.random.default_rng(6)
    theta = rng.standard_normal((60, 3))
    q = theta[:, None] + 0.05 * rng.standard_normal((60, 8, 3))
    upload(page, theta=theta, x=theta, theta_q=q)
    axes = next(group for group in page.get("button_group") if group.label == "Axes")
    assert axes.value == "around"
    assert "in sd of q from its median" in str(live(page))


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.usefixtures("_few_questions")
def test_one_parameter_is_a_line(m, page):
    rng = np.random.default_rng(3)
    arrays = {
        "theta": rng.standard_normal(60),
        "x": rng.standard_normal((60, m)),
        "theta_q": rng.standard_normal((60, 8)),
        "theta_names": np.array(["rate"]),
    }
    upload(page, **arrays)
    sent = str(live(page))
    assert "rate" in sent
    assert ("Observations" in sent) == (m > 1)


@pytest.mark.usefixtures("_few_questions")
def test_tied_draws_are_remarked_on(page):
    rng = np.random.default_rng(4)
    upload(page, **table(theta=np.round(rng.standard_normal((60, 2))),
                         theta_q=np.round(rng.standard_normal((60, 8, 2)))))  # fmt: skip
    assert any("broken at random" in warning.value for warning in page.warning)


@pytest.mark.usefixtures("_few_questions")
def test_a_mistake_of_the_file_is_asked_about_first_and_corrected_by_a_button(page):
    rng = np.random.default_rng(3)
    theta = rng.standard_normal((60, 2))
    off = 0.2 * (rng.standard_normal((60, 8, 2)) + rng.standard_normal((60, 1, 2)))
    q = theta[:, None, ::-1] + off
    upload(page, theta=theta, x=theta, theta_q=q)
    assert title(page) == "Correct the file first"
    assert not page.table  # nothing is tested yet
    assert any("no test says anything" in warning.value for warning in page.warning)
    assert "theta_q = theta_q[..., [1, 0]]" in page.code[-1].value
    page.button(key="correct").click().run()
    assert title(page) != "Correct the file first"
    assert "Corrected: Columns of theta_q were put in" in re.sub("<[^>]*>", "", card(page))
    page.button(key="undo-correction").click().run()
    assert title(page) == "Correct the file first"
    page.button(key="as-it-is").click().run()
    assert page.table
    warned = [warning.value for warning in page.warning]
    assert any("Tested as saved" in one for one in warned)
    assert not any("no test says anything" in one for one in warned)


STATED = re.compile(r"\bp(?:-value)?\s*(?:=|<|&lt;)\s*\d[^,;)\s]*")


def stated(at):
    """All p-values that the page states: in sentences, rows, figures and on the card."""
    charts = [chart.proto.spec for chart in at.get("plotly_chart")]
    words = (texts(at), *lines(at).values(), *charts, re.sub(r"<[^>]*>", " ", card(at)))
    return STATED.findall("\n".join(words).replace("\\", "").replace("\u00a0", " "))


@pytest.mark.parametrize("arrays", [far(), table()], ids=["wrong", "right"])
def test_p_is_stated_once_it_is_exact_and_never_changes(arrays, tmp_path):
    """The engine waits; tests answer one by one, the page runs after each."""
    with nothing_worked_out(tmp_path / "store"):
        at = upload(fresh(opened=ROWS[:-1]).run(), **arrays)
        store, own = services().store, Upload.of(arrays)
        methods = diagnosis.default_methods()
        asked = questions.question_studies(questions.QUESTIONS, own, methods, 0)
        work = tasks.schedule_work([*tasks.tasks(own, methods, 0), *asked])
        titles = []
        while tasks.records(store, own, methods, 0)[1]:
            assert stated(at) == []
            titles.append(title(at))
            next(one for one in work if not one.done(store)).run(store, lambda *_: None)
            assert not at.run().exception
        exact = diagnosis.verdict(tasks.records(store, own, methods, 0)[0], own).pvalue
        for one in [None, *(one for one in work if not one.done(store))]:
            if one is not None:
                one.run(store, lambda *_: None)
            assert not at.run().exception
            (sure,) = re.findall(r"\(p[^,)]*, ", card(at).replace("\u00a0", " "))
            assert equals(exact) in sure.replace("&lt;", "<")
        assert stated(at)
    assert titles[-1] == ("Problem found" if arrays["theta_q"].mean() > 1 else "Testing")
