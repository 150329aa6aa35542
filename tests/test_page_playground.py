"""The home page under AppTest: alive at the first visit, no button in the way."""

from urllib.parse import parse_qs

import pytest

from pages.ui.services import services
from tests.conftest import ROOT
from validation_core.explorers.conformal.study import Learned
from validation_core.explorers.playground.study import PlaygroundStudy, named

pytestmark = pytest.mark.usefixtures("_new_server")

PAGE = str(ROOT / "pages" / "main.py")


def _drawn(page):
    """Strip, pictures, and the button that copies the link."""
    return [part for part in page.get("bidi_component") if part.key != "drawer"]


def test_a_first_visit_has_pictures_and_no_button(page):
    page.run()
    assert not page.exception
    assert page.title[0].value == "Is a learned posterior right?"
    assert len(_drawn(page)) == 3
    assert [button.key for button in page.button] == ["share"]
    assert not services().engine.jobs()


@pytest.mark.parametrize("name", ["tree", "blind_prior", "heavy_tail-curved", "trained"])
def test_a_link_opens_its_benchmark(page, name):
    page.query_params["benchmark"] = name
    page.run()
    assert not page.exception
    assert page.query_params["benchmark"] in (name, [name])
    assert len(_drawn(page)) == 3
    assert len(page.get("page_link")) == 2


@pytest.mark.parametrize(
    ("name", "drag"),
    [
        ("tree", ", drag γ: who"),
        ("blind_prior", "benchmarks: who"),
        ("trained", "drag Simulations:"),
    ],
)
def test_the_introduction_names_the_slider_that_there_is(page, name, drag):
    page.query_params["benchmark"] = name
    page.run()
    said = page.caption[0].value
    assert drag in said
    assert ("γ" in said) == (name == "tree")
    assert ("KL(p‖q) in nats: after 400 simulations" in said) == (name == "trained")


@pytest.mark.parametrize("name", ["mode_collapse", "anisotropic-curved", "tree"])
def test_its_workbench_opens_where_its_own_slider_has_a_place(page, name):
    page.query_params["benchmark"] = name
    page.run()
    link, benchmark = page.get("page_link")[0].proto, named()[name]
    gamma = float(parse_qs(link.query_string)["gamma"][0])
    workbench = link.page == "conformal-c2st"
    places = Learned(benchmark=benchmark).gammas if workbench else benchmark.gammas
    assert min(abs(gamma - place) for place in places) < 1e-6
    assert gamma > 0


def test_an_unknown_benchmark_opens_the_first(page):
    page.query_params["benchmark"] = "nonsense"
    page.run()
    assert not page.exception
    assert "The link says benchmark = nonsense" in page.caption[1].value


def test_trials_open_below_their_wall(page):
    page.query_params["view"] = "p-values over trials"
    page.query_params["test"] = "SBC"  # learns nothing: its trial is made here at once
    page.run()
    page.run()
    assert not page.exception
    assert len(_drawn(page)) == 4


def test_every_benchmark_is_shipped():
    store = services().store
    assert all(PlaygroundStudy(benchmark=one).done(store) for one in named().values())
