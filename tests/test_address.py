"""Settings in the address: by name, from links old and wrong, through menus, hidden or shown."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import address, forms
from tests.conftest import ROOT

MAIN = str(ROOT / "pages" / "main.py")


def _page():
    import streamlit as st

    from pages.ui import address, forms

    address.arrive("settings")
    kinds = {"file": "Upload files", "exact": "Sample: exact", "mean_shift": "Mean shift"}
    st.session_state["values"] = {
        "source": forms.segmented("Source", kinds, "source"),
        "kind": forms.choice("Kind", list(kinds), "kind", words=kinds.__getitem__),
        "level": forms.level(),
        "dims": forms.choice("Dimensions", ((2, 2), (50, 10)), "dims"),
        "iterations": forms.choice("Up to", (300, 3000), "iterations", words="{:,}".format),
        "seed": forms.seed(),
        "gain": forms.number("Gain", 0.5, 5.0, 1.0, "gain", draw=st.slider, step=0.5),
        "count": forms.number("Count", 1, None, 99, "count"),
        "more": forms.several("More", list(kinds), "more", words=kinds.__getitem__),
        "models": forms.several("Models", ("a", "b"), "models", first=("a", "b")),
        "curved": forms.flag("Curved", "curved"),
        "shape": forms.text_field("Shape", "shape"),
    }
    if st.session_state["values"]["curved"]:
        forms.choice("Bend", ("little", "much"), "bend")
    st.session_state["link"] = address.settings()
    address.write()


USUAL = {
    "source": "file", "kind": "file", "level": 0.05, "dims": (2, 2), "iterations": 300, "seed": 0,
    "gain": 1.0, "count": 99, "more": [], "models": ["a", "b"], "curved": False, "shape": "",
}  # fmt: skip


def opened(**query):
    page = AppTest.from_function(_page, default_timeout=120)
    page.query_params.update(query)
    page.run()
    assert not page.exception
    return page


def values(page):
    return page.session_state["values"]


def says(page):
    """What the address says: lists, whatever AppTest makes of them."""
    given = dict(page.query_params)
    return {n: [text] if isinstance(text, str) else list(text) for n, text in given.items()}


def notes(page):
    return [caption.value.replace("\\", "") for caption in page.caption]


def test_usual_values_stay_out():
    page = opened()
    assert values(page) == USUAL
    assert says(page) == {}


def test_values_stand_by_their_names():
    page = opened()
    page.segmented_control(key="source").set_value("exact")
    page.selectbox(key="kind").set_value("mean_shift")
    page.select_slider(key="level").set_value(0.1)
    page.selectbox(key="dims").set_value((50, 10))
    page.selectbox(key="iterations").set_value(3000)
    page.number_input(key="seed").set_value(7)
    page.slider(key="gain").set_value(2.5)
    page.multiselect(key="more").set_value(["mean_shift", "exact"])
    page.multiselect(key="models").set_value([])
    page.toggle(key="curved").set_value(True)
    page.text_input(key="shape").set_value("16 x 16").run()
    wanted = {
        "source": ["exact"], "kind": ["mean_shift"], "level": ["0.1"], "dims": ["50x10"],
        "iterations": ["3000"], "seed": ["7"], "gain": ["2.5"], "more": ["mean_shift", "exact"],
        "models": [""], "curved": ["true"], "shape": ["16 x 16"],
    }  # fmt: skip
    assert says(page) == wanted
    again = opened(**wanted)
    assert values(again) == values(page)
    assert notes(again) == []
    assert says(again) == wanted


@pytest.mark.parametrize(
    ("name", "label", "value"),
    [
        ("source", "Sample: exact", "exact"), ("kind", "Mean shift", "mean_shift"),
        ("level", "1%", 0.01), ("level", "0.010", 0.01), ("dims", "(50, 10)", (50, 10)),
        ("iterations", "3,000", 3000), ("more", ["Mean shift"], ["mean_shift"]),
        ("curved", "True", True), ("seed", "7.0", 7), ("gain", "1.2345678901234", 1.23456789012),
    ],
)  # fmt: skip
def test_old_links_hold_labels(name, label, value):
    page = opened(**{name: label})
    assert values(page)[name] == value
    assert notes(page) == []
    assert says(page)[name] == ([label] if isinstance(label, str) else label), "until a change"
    texts = [forms.name_of(part) for part in (value if isinstance(value, list) else [value])]
    link = {name: list(texts) for name, texts in page.session_state["link"].items()}
    assert link == {name: texts}, "what is copied"
    page.text_input(key="shape").set_value("1 x 1").run()
    assert says(page) == {name: texts, "shape": ["1 x 1"]}


@pytest.mark.parametrize(
    ("name", "text", "instead"),
    [
        ("source", "foo", "Upload files"), ("kind", "<b>*x*", "Upload files"),
        ("level", "2", "5%"),
        ("dims", "0x9", "(2, 2)"), ("seed", "-1", "0"), ("seed", "1.5", "0"), ("seed", "x", "0"),
        ("seed", "1e999", "0"), ("seed", "inf", "0"), ("seed", "1_0", "0"), ("seed", "１２", "0"),
        ("seed", "0x10", "0"), ("count", "9007199254740992", "99"), ("count", "1e300", "99"),
        ("gain", "nan", "1.0"), ("gain", "1e9", "1.0"), ("curved", "maybe", "no"),
        ("models", ["c"], "a, b"),
    ],
)  # fmt: skip
def test_what_a_page_does_not_know_falls_back_and_says_so(name, text, instead):
    page = opened(**{name: text})
    assert values(page) == USUAL
    word = text if isinstance(text, str) else text[0]
    said = f"The link says {name} = {word}, which this page does not have; it shows {instead} "
    assert notes(page) == [f"{said}instead."]
    page.selectbox(key="kind").set_value("exact").run()
    assert says(page) == {"kind": ["exact"]}, "what is on screen"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 100_000, "x" * 60 + "…"), ("\u202e5\x07\x00", "�5��"), ("\n\n# a", "��# a"),
        (" ", "a blank"), ("<b>x", "<b>x"),
    ],
)  # fmt: skip
def test_a_note_repeats_a_line_of_a_link_and_nothing_that_turns_it(text, shown):
    said = f"The link says seed = {shown}, which this page does not have; it shows 0 instead."
    assert notes(opened(seed=text)) == [said]


def test_of_several_names_the_known_ones_stay():
    page = opened(more=["exact", "foo"])
    assert values(page)["more"] == ["exact"]
    assert notes(page) == [
        "The link says more = foo, which this page does not have; it is left out."
    ]


def test_a_note_goes_with_its_value():
    page = opened(source="foo")
    page.segmented_control(key="source").set_value("exact").run()
    assert notes(page) == []
    assert says(page) == {"source": ["exact"]}


def test_an_empty_value_is_as_good_as_none():
    page = opened(source="", level="", seed="", curved="", gain="", more="", dims="")
    assert values(page) == USUAL
    assert notes(page) == []


def test_what_is_hidden_leaves_the_address_with_the_next_change():
    page = opened(curved="true", bend="much", campaign="mail")
    assert page.selectbox(key="bend").value == "much"
    page.toggle(key="curved").set_value(False).run()
    assert says(page) == {"campaign": ["mail"]}, "what no setting has said stays"


def test_a_page_opens_again_as_it_was_left():
    page = AppTest.from_file(MAIN, default_timeout=120).run()
    page.switch_page("weak/page.py").run()
    page.select_slider(key="n").set_value(200).run()
    assert says(page) == {"n": ["200"]}
    page.query_params.clear()  # so does a browser whose user presses another page in the menu
    page.switch_page("catalogue.py").run()
    page.query_params.clear()
    page.switch_page("weak/page.py").run()
    assert page.select_slider(key="n").value == 200
    assert says(page) == {"n": ["200"]}


def test_a_link_says_all():
    """What a page was left with does not mix with what a link brings."""
    page = AppTest.from_file(MAIN, default_timeout=120).run()
    page.switch_page("weak/page.py").run()
    page.select_slider(key="n").set_value(200).run()
    page.query_params.clear()
    page.switch_page("catalogue.py").run()
    page.query_params["m"] = "10"
    page.switch_page("weak/page.py").run()
    assert (page.select_slider(key="n").value, page.select_slider(key="m").value) == (100, 10)
    assert says(page) == {"m": ["10"]}


@pytest.mark.usefixtures("_idle")
@pytest.mark.parametrize("query", [{}, {"level": "0.1", "seed": "3"}])
def test_back_brings_what_the_address_says(monkeypatch, query):
    """A run that Back asked for reads every setting anew."""
    page = AppTest.from_file(MAIN, default_timeout=120).run()
    page.switch_page("diagnose/page.py").run()
    page.select_slider(key="level").set_value(0.01).run()
    page.number_input(key="seed").set_value(9).run()
    monkeypatch.setattr(address, "arrived_by_history", lambda: True)
    page.query_params.clear()
    page.query_params.update(query)
    page.run()
    level, seed = page.select_slider(key="level").value, page.number_input(key="seed").value
    assert (f"{level:g}", str(seed)) == (query.get("level", "0.05"), query.get("seed", "0"))
    assert says(page) == {name: [text] for name, text in query.items()}


@pytest.mark.usefixtures("_idle")
def test_a_table_that_is_not_here_is_told():
    page = AppTest.from_file(MAIN, default_timeout=120).run()
    page.query_params.update({"table": "0123456789ab", "level": "0.1", "more": ["dc"]})
    page.switch_page("diagnose/page.py").run()
    assert not page.exception
    said = " ".join(info.value for info in page.info)
    assert "uploaded in another browser, or is no longer kept here. Upload the file again" in said
    assert page.select_slider(key="level").value == 0.1
    page.number_input(key="seed").set_value(2).run()
    assert says(page)["table"] == ["0123456789ab"]
    assert says(page)["more"] == ["dc"], "they wait for the table"


def test_only_one_module_reads_and_writes_the_address():
    users = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "pages").rglob("*.py"))
        if re.search(r"st\.query_params|\bbind=", path.read_text())
    ]
    assert users == ["pages/ui/address.py"]


@pytest.mark.usefixtures("_idle")
def test_gamma_of_one_system_is_not_that_of_the_next():
    page = AppTest.from_file(MAIN, default_timeout=120).run()
    page.query_params.clear()
    page.query_params.update({"system": "digits", "gamma": "5", "beta": "0.1"})
    page.switch_page("highdim/page.py").run()
    assert not page.exception
    assert says(page)["gamma"] == ["5"], "a link opens what it says"
    for system in ("sphere", "lensing", "images"):
        page.segmented_control(key="system").set_value(system).run()
        assert not page.exception
        assert says(page).keys() <= {"system"}
        assert not any("The link says" in caption.value for caption in page.caption)


@pytest.mark.usefixtures("_idle")
def test_a_system_says_which_gamma_of_a_link_it_lacks():
    page = AppTest.from_file(MAIN, default_timeout=120).run()
    page.query_params.clear()
    page.query_params.update({"system": "sphere", "gamma": "5"})
    page.switch_page("highdim/page.py").run()
    assert any("The link says gamma = 5, which is not on" in each.value for each in page.caption)
