"""The panel of an answer, and what is taken away from a diagnosis, under AppTest."""

import io
import json

import numpy as np
import pytest
import streamlit
import xarray
from streamlit.testing.v1 import AppTest

from pages.ui.services import services
from tests.reports import ANSWER, HOSTILE, diagnosed, table
from validation_core.report import numbers
from validation_core.tables import Upload

pytestmark = pytest.mark.usefixtures("_new_server")


@pytest.fixture
def downloads(monkeypatch):
    """What each button would give, by its label; nothing is made before it is asked for."""
    offered = {}

    def button(label, data, file_name, *more, **options):
        assert callable(data), "made when it is asked for"
        assert options["on_click"] == "ignore"
        offered[label] = (file_name, data)
        return False

    monkeypatch.setattr(streamlit, "download_button", button)
    return offered


def _panel(rows, said, captions, shown):
    from pages.ui.panel import panel
    from validation_core.drawing.drawn import Drawn
    from validation_core.drawing.marks import empty

    drawings = [
        Drawn(f"Title {i} *s*", empty("Nothing"), words) for i, words in enumerate(captions)
    ]
    panel(
        "How wrong",
        said,
        notes=["Got *thus*."],
        how="Read *so*.",
        table=rows,
        drawn=drawings,
        code="print('{seed}')",
        key="size",
        shown=shown,
    )


def shown(rows=(), said=("The answer.",), captions=(), *, figures=True):
    app = AppTest.from_function(_panel, args=(list(rows), list(said), list(captions), figures))
    app = app.run(timeout=120)
    assert not app.exception
    return app


def rows(count):
    return [
        {"Parameter": f"p{i}", "Coverage": 0.5 + i / 1000, "Bias": -i / 7} for i in range(count)
    ]


def table_of(app):
    (result,) = app.table
    frame = result.value.reset_index()
    return frame


def test_a_panel_says_shows_and_explains(downloads):
    app = shown(rows(3), ("The <b>answer</b> is *x*.", "More."), ("how it reads",))
    assert app.markdown[0].value == "The \\<b\\>answer\\</b\\> is \\*x\\*. More."
    assert [item.value for item in app.caption] == ["how it reads"]
    assert "Got \\*thus\\*." in [item.value for item in app.markdown]
    assert "Title 0 \\*s\\*" in app.markdown[1].value
    assert "Read \\*so\\*." in [item.value for item in app.markdown]
    assert app.code[0].value == "print('{seed}')"
    assert table_of(app)["Bias"].tolist() == ["0", "−0.143", "−0.286"]
    assert not app.text_input
    name, data = downloads["Data (CSV)"]
    assert name == "how-wrong.csv"
    assert b",-0.14285714285714285\r\n" in data()


def test_figures_stand_two_by_two():
    app = shown(captions=("a", "b", "c"))
    assert [len(item.children) for item in app.columns] == [3, 3, 3]
    assert len(app.get("plotly_chart")) == 3
    assert "Save figures" in [item.proto.popover.label for item in app.get("popover")]


def test_figures_that_show_nothing_wait_to_be_asked_for():
    app = shown(captions=("a",), figures=False)
    assert not app.get("plotly_chart")
    app.toggle[0].set_value(True).run()
    assert len(app.get("plotly_chart")) == 1


def test_a_long_table_shows_its_worst_rows_and_all_when_asked():
    app = shown(rows(40))
    assert table_of(app)["Parameter"].tolist() == [f"p{i}" for i in range(10)]
    assert app.caption[0].value == "10 of 40 rows, the worst first."
    app.toggle[0].set_value(True).run()
    assert not app.table
    assert app.dataframe[0].value["Parameter"].tolist() == [f"p{i}" for i in range(40)]


def test_a_long_table_is_searched_by_name():
    app = shown(rows(40))
    app.text_input[0].set_value(" P3 ").run()
    assert table_of(app)["Parameter"].tolist() == ["p3", *(f"p{i}" for i in range(30, 39))]
    app.toggle[0].set_value(True).run()
    assert len(app.dataframe[0].value) == 11
    app.text_input[0].set_value("nothing like it").run()
    assert not app.table
    assert "No row has these words." in [item.value for item in app.caption]


def test_hostile_names_are_text_in_a_panel():
    by_name = [{"Parameter": name or "-", "*n*": 1} for name in HOSTILE]
    app = shown(by_name, HOSTILE[:2])
    assert "\\<b\\>bold\\</b\\>" in app.markdown[0].value
    assert "\\<b\\>bold\\</b\\>" in table_of(app)["Parameter"].tolist()
    assert "\\*n\\*" in table_of(app).columns


def _section(found, answers, label):
    from pages.diagnose.known import Known
    from pages.diagnose.takeaway import section
    from validation_core.diagnosis import default_methods
    from validation_core.tables import LabelledTable

    known = Known(found, default_methods(), (label,))
    section(known, answers, LabelledTable(label, found.upload, ("run.csv",)))


def taken(found, label="run 7.npz", query=()):
    app = AppTest.from_function(_section, args=(found, {"size": ANSWER}, label))
    for name, value in dict(query).items():
        app.query_params[name] = value
    app = app.run(timeout=120)
    assert not app.exception
    return app


def test_what_can_be_taken_is_made_when_asked_for(downloads):
    result = diagnosed(table(names=["mass", "spin"]))
    taken(result)
    assert {label: name for label, (name, _) in downloads.items()} == {
        "Report": "run-7-report.html", "Card": "run-7-card.png", "JSON": "run-7.json",
        "DataTree (netCDF)": "run-7-prior-sbc.nc",
    }  # fmt: skip
    built = {label: make() for label, (_, make) in downloads.items()}
    assert "The raw draws are not in this file" in built["Report"]
    assert json.loads(built["JSON"])["answers"]["size"]["error"] == 0.25
    assert built["Card"].startswith(b"\x89PNG")
    with xarray.open_datatree(io.BytesIO(built["DataTree (netCDF)"]), engine="h5netcdf") as tree:
        assert list(tree["prior_sbc"].data_vars) == ["mass", "spin"]


def test_draws_are_in_the_report_when_the_box_says_so(downloads):
    app = taken(diagnosed(table()))
    app.checkbox[0].check().run()
    assert 'id="draws"' in downloads["Report"][1]()


def test_notes_are_kept_and_reach_the_report(downloads):
    result = diagnosed(table())
    app = taken(result)
    app.text_area[0].set_value("Trained <b>twice</b>.").run()
    assert numbers.load_notes(services().store, result.upload.digest) == "Trained <b>twice</b>."
    assert "Trained &lt;b&gt;twice&lt;/b&gt;." in downloads["Report"][1]()
    services.clear()  # another server, the same folder
    assert taken(result).text_area[0].value == "Trained <b>twice</b>."
    assert taken(diagnosed(table(seed=1))).text_area[0].value == ""


def test_notes_that_cannot_be_kept_are_told(monkeypatch, downloads):
    result = diagnosed(table())
    app = taken(result)

    def full(*args, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr(services().store, "save", full)
    app.text_area[0].set_value("lost").run()
    assert not app.exception
    assert "No space left" in services().store.notices[-1]


def test_two_samples_have_no_datatree(downloads):
    rng = np.random.default_rng(0)
    upload = Upload.of({"p": rng.random((50, 2)), "q": rng.random((60, 2))})
    app = taken(diagnosed(upload))
    assert "DataTree (netCDF)" not in downloads
    assert "no DataTree" in app.caption[0].value


def test_the_link_restores_settings_and_holds_no_data():
    result = diagnosed(table())
    query = {"level": "1%", "seed": "7", "file": "secret", "more": "DC"}
    (link,) = taken(result, query=query).code
    assert link.value.endswith("?level=1%25&seed=7&more=DC")
    assert "secret" not in link.value
    (usual,) = taken(result).code
    assert "=" not in usual.value
