"""Items of the papers: sentences, registry, and links that open what they say."""

import ast
import re

import numpy as np
import pytest
from scipy.stats import binom

from pages.ui.services import services
from tests import page_links
from tests.conftest import ROOT, leave_waiting
from validation_core import BENCHMARKS, METHODS
from validation_core.benchmarks import SphereFlow
from validation_core.explorers.highdim.images import study as images_study
from validation_core.explorers.highdim.sphere_flow.study import BETAS, SphereStudy, other_tests
from validation_core.explorers.papers import ITEMS, STATES
from validation_core.published import PAPERS
from validation_core.store import Store
from validation_core.sweep import presets, progress

ALL = [item for items in ITEMS.values() for item in items]
LINKS = sorted({(link.page, *sorted(link.query.items())) for item in ALL for link in item.links})
OWN = ("comparison", "own")  # a comparison of one's own takes its page seconds to plan
AUTHORS = {"Bansal, Chen, Scott", "Chen, Bansal, Scott", "Domke"}


def files():
    """Path in the address -> the page's file, as pages/main.py registers them."""
    calls = [
        node
        for node in ast.walk(ast.parse((ROOT / "pages" / "main.py").read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Page"
    ]
    options = [
        {key.arg: getattr(key.value, "value", "") for key in call.keywords} for call in calls
    ]
    return {
        given.get("url_path", ""): call.args[0].value
        for call, given in zip(calls, options, strict=True)
    }


@pytest.fixture(scope="module")
def _shipped(tmp_path_factory):
    """Pages show what ships, and work nothing out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NPTLAB_CACHE", str(tmp_path_factory.mktemp("papers")))
        leave_waiting(patch)
        services.clear()
        yield
    services.clear()


@pytest.mark.parametrize("item", ALL, ids=lambda item: item.section)
def test_an_item_has_its_sentences(item):
    assert item.section
    assert item.state in STATES
    for sentence in (item.text, item.why):
        assert sentence.endswith(".")
        assert not re.search(r"  | ,| \.(?!\d)", sentence)
    assert item.links or item.state == "not_built"
    assert set(item.names) <= {*METHODS, *BENCHMARKS}


def test_each_is_said_once():
    assert set(ITEMS) == set(PAPERS)
    assert len({item.text for item in ALL}) == len(ALL)


def test_what_comes_from_these_papers_is_named():
    named = {name for item in ALL for name in item.names}
    registered = {**METHODS, **BENCHMARKS}
    ours = {name for name, kind in registered.items() if kind.paper.authors in AUTHORS}
    assert len(ours) > 10
    assert ours <= named


def test_what_is_said_of_an_additional_mode_and_of_mode_collapse_is_what_ships():
    def power(figure):
        sweep = presets.by_name(figure).sweep
        shown = progress.collect(sweep, Store.usual()).cells
        return {cell.label: cell.rejections / cell.trials for cell in shown if cell.gamma == least}

    (said,) = (item.why for item in ALL if item.text.endswith("mode and for mode collapse."))
    least = 0.05
    mode = power("conformal_additional_mode")
    assert all(mode[f"DC {net}"] == 1 for net in ("authors' net", "our features"))
    assert mode["AutoML-style"] == 1
    for test in ("Uniform(50)", "Multiple"):
        assert f"in {mode[test]:.0%} by {test}" in said
    least = 0.1
    collapsed = power("conformal_mode_collapse")
    assert {test for test, rate in collapsed.items() if rate < 0.7} == {
        "TARP",
        "MMD-FUSE 250 rows",
    }


def test_what_is_said_of_a_degraded_classifier_is_what_ships():
    (said,) = (item.why for item in ALL if item.text.startswith("As the classifier is degraded"))
    sweep = presets.by_name("conformal_beta_mean_shift").sweep
    cells = progress.collect(sweep, Store.usual()).cells
    at = {cell.label: cell for cell in cells if cell.beta == 0.95}
    c2st, uniform, multiple = (at[name] for name in ("C2ST", "Uniform(50)", "Multiple"))
    assert (
        f"C2ST finds the mean shift in {c2st.rate:.0%} of trials, Uniform(50) in "
        f"{uniform.rate:.0%}, but Multiple in {multiple.rate:.0%}"
    ) in said
    lost = [network.rejections < 0.05 * network.trials for network in multiple.networks]
    assert (sum(lost), len(lost)) == (2, 3)


def test_what_is_said_of_m_on_images_is_what_ships():
    for study in images_study.shipped():
        hits, _ = images_study.pool_rejections(study.load(Store.usual()))
        twenty, five, two = hits[0, 2:].sum(-1)  # over beta and gamma, with the label
        assert twenty.sum() > five.sum() > two.sum()
        assert five.sum() - two.sum() > twenty.sum() - five.sum()


def test_what_is_said_of_the_sphere_flow_is_what_ships():
    """Tests that read the noisy score against those that read none, at gammas above 0."""
    (said,) = (item.why for item in ALL if item.section == "Appendix C, Figure 5")
    study = SphereStudy(benchmark=SphereFlow())
    seen = study.load(Store.usual())
    score = seen.rejections / seen.trials  # (tests, betas, gammas)
    cells = progress.collect(other_tests(), Store.usual()).cells
    rates = {
        label: [c.rate for c in cells if c.label == label] for label in {c.label for c in cells}
    }
    best = np.max(list(rates.values()), axis=0)
    assert {len(rate) for rate in rates.values()} == {len(seen.gammas)}
    little, at_half = BETAS.index(0.1), BETAS.index(0.5)
    assert "With beta up to 0.1" in said
    assert (score[:, : little + 1, 1:] >= best[1:]).all()
    assert (score[:, : little + 1, 1:5] > best[1:5]).all()
    assert "at beta 0.5 DC on our features passes them" in said
    assert (np.array(rates["DC our features"])[2:6] > score[:, at_half, 2:6]).all()
    for net in ("DC authors' net", "DC our features"):
        at_zero = next(cell for cell in cells if cell.label == net and cell.gamma == 0)
        assert at_zero.rejections <= binom.isf(1e-3, at_zero.trials, 0.05)


def test_words_are_found_in_any_order():
    found = [item for item in ALL if item.matches("SINKHORN climbs")]
    assert [item.section for item in found] == ["Section 3"]
    assert not any(item.matches("sinkhorn nowhere") for item in ALL)
    assert all(item.matches(" ") for item in ALL)


@pytest.mark.usefixtures("_shipped")
@pytest.mark.parametrize(
    "link",
    [pytest.param(link, marks=pytest.mark.slow) if OWN in link else link for link in LINKS],
    ids=lambda link: f"{link[0]}?{link[1:]}",
)
def test_a_link_opens_what_it_says(link):
    """The page knows each name of the query, and has no note about its values."""
    name, *query = link
    page = page_links.opened(files()[name], {key: [value] for key, value in query})
    assert not page.exception
    known = page.session_state["address"].shown
    assert dict(query).keys() <= known.keys(), "a setting of the page"
    notes = [caption.value for caption in page.caption if "The link says" in caption.value]
    assert notes == []
