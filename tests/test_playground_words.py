"""The playground's sentences on every shipped benchmark: nothing is claimed where q is p, and each
number said is the number drawn."""

import re

import numpy as np
import pytest

from tests.picture_reading import Picture
from tests.test_live import unpacked
from validation_core import text
from validation_core.drawing.over_sliders import freeze_sliders
from validation_core.explorers.playground import headline, pictures, pvalue_bricks, theta_panels
from validation_core.explorers.playground.sizes import PlaygroundRates
from validation_core.explorers.playground.study import (
    METHODS,
    POWER_BETAS,
    PlaygroundStudy,
    betas_of,
    named,
    shipped,
)
from validation_core.gallery import FOLDER
from validation_core.statistics import higher_rate_pvalue
from validation_core.store import Store

LEVEL = 0.05
UNIFORM = [method.name for method in METHODS].index("uniform")


@pytest.fixture(scope="module", params=shipped(), ids=lambda study: study.benchmark.label)
def picture(request, tmp_path_factory):
    """A shipped result, its sliders' sizes, and what is said and drawn at places of them."""
    seen = request.param.load(Store(tmp_path_factory.mktemp("own"), gallery=FOLDER))
    head, numbers = unpacked(pictures.payload(request.param, seen))
    return Drawn(seen, head, numbers)


class Drawn:
    """A payload as a reader sees it where the sliders stand."""

    def __init__(self, seen, head, numbers):
        self.seen, self.head, self.numbers = seen, head, numbers
        self.sizes = {slider["name"]: len(slider["values"]) for slider in head["sliders"]}
        self.names = list(self.sizes)
        self.panels = {panel["title"]: panel for panel in head["panels"]}

    def at(self, packed, **places):
        """The part of an array that belongs to these places."""
        values = self.numbers(packed)
        return values[tuple(places.get(self.names[i], 0) for i in packed["by"])]

    def said(self, words, **places):
        """A sentence there."""
        if isinstance(words, str):
            return words
        if "strings" in words:
            return words["strings"][int(self.at(words, **places))]
        parts = {name: self.said(part, **places) for name, part in words["parts"].items()}
        return words["template"].format_map(parts)

    def headline(self, **places):
        return self.said(self.head["headline"], **places)

    def rates(self, **places):
        """Every test's rejection rate as drawn over beta."""
        lines = [m for m in self.panels["Power over beta"]["marks"] if m["kind"] == "line"]
        return np.array([self.at(line["y"], **places)[places["beta"]] for line in lines])

    def right(self):
        """Places of gamma at which q is p."""
        return np.flatnonzero(self.seen.gammas == 0)


def alike(percent, share):
    """Whether a per cent is a share, rounded, and 0 or 100 only where the share is."""
    return abs(percent - 100 * share) < 0.501 and (percent in (0, 100)) == (
        round(share, 4) in (0, 1)
    )


def percents(words):
    return [float(number) for number in re.findall(r"([\d.]+)%", words)]


def test_no_sentence_claims_a_difference_where_q_is_the_truth(picture):
    for gamma in picture.right():
        for beta in range(picture.sizes["beta"]):
            rates = picture.rates(gamma=gamma, beta=beta)
            for sample in range(picture.sizes["sample"]):
                places = {"gamma": gamma, "beta": beta, "sample": sample}
                words = picture.headline(**places)
                assert words.startswith("At γ = 0 q is the truth"), words
                bad_luck = picture.seen.ranks.pvalues[sample, gamma, beta] <= LEVEL
                assert ("one correct q in twenty looks this bad" in words) == bad_luck, words
                assert ("Uniform finds nothing" in words) == (not bad_luck), words
                alarms = words[words.index("The five tests") :]
                assert alike(percents(alarms)[0], rates.min()), words
                assert alike(percents(alarms)[-2], rates.max()), words
        every = {picture.headline(gamma=gamma, x=x) for x in range(picture.sizes["x"])}
        assert len(every) == 1, "it is the truth at every x"


def test_shares_in_the_region_agree_with_qs_where_q_is_the_truth(picture):
    where = picture.seen.where
    for gamma in picture.right():
        _, low, high = where.inside[gamma]
        assert low - 0.005 <= where.u_star <= high + 0.005
        error = np.sqrt(where.u_star * (1 - where.u_star))
        assert np.abs(where.inside_at[gamma] - where.u_star).max() < 4.5 * error / np.sqrt(500)
        assert np.abs(where.difference[gamma]).max() < 4.5 * error / np.sqrt(200)


def test_numbers_said_are_the_numbers_drawn(picture):
    """At places all over the sliders: shares of the region, p-values, rates."""
    where, rng = picture.seen.where, np.random.default_rng(0)
    for _ in range(60):
        places = {name: int(rng.integers(size)) for name, size in picture.sizes.items()}
        words = picture.headline(**places)
        gamma, x = places["gamma"], places["x"]
        p = picture.seen.ranks.pvalues[places["sample"], gamma, places["beta"]]
        assert f"(p {text.said_equals(p)})" in words
        caption = picture.panels["Are they uniform? ECDF less the diagonal"]["caption"]
        assert f"p-value {text.said_equals(p)}." in picture.said(caption, **places)
        if picture.seen.gammas[gamma] == 0:
            continue
        rates, (region, tests) = picture.rates(**places), words.split(" Uniform ", 1)
        told = percents(tests)
        assert alike(told[0], rates[UNIFORM])
        assert alike(max(told), rates.max())
        assert alike(min(told), rates.min())
        assert ("notices" in tests) == (p <= LEVEL)
        shares = [where.u_star]
        if not headline.one_point(where)[gamma, x]:
            shares.append(where.inside_at[gamma, x])
        assert len(percents(region)) == len(shares)
        assert all(map(alike, percents(region), shares))


def test_every_panel_has_something_to_show(picture):
    for title, panel in picture.panels.items():
        shown = [
            mark for mark in panel["marks"] if mark["kind"] in ("line", "points", "bars", "heat")
        ]
        assert shown, title
    assert ("Power of each test" in picture.panels) == (len(picture.seen.gammas) == 1)


def test_a_wall_claims_nothing_where_q_is_the_truth(picture):
    """The share said is that of the bricks left of the level."""
    pvalues = picture.seen.trial_pvalues[UNIFORM].astype(float)
    head, numbers = unpacked(
        pvalue_bricks.pvalue_bricks(picture.seen, METHODS[UNIFORM], POWER_BETAS)
    )
    wall = Drawn(picture.seen, head, numbers)
    for gamma in picture.right():
        for beta in range(len(POWER_BETAS)):
            words = wall.headline(gamma=gamma, beta=beta)
            assert re.search("where q is correct.*by chance", words)
            assert alike(percents(words)[0], (pvalues[beta, gamma] <= LEVEL).mean())


def test_a_wall_that_is_not_level_even_if_q_is_correct_says_why(picture):
    for name, why in (
        ("sbc", "peak at 1 comes from the Bonferroni correction"),
        ("c2st", "a column may stay empty"),
        ("uniform", "the wall would be level"),
    ):
        method = next(method for method in METHODS if method.name == name)
        head, _ = unpacked(pvalue_bricks.pvalue_bricks(picture.seen, method, betas_of(method)))
        single = name == "sbc" and picture.seen.where.p.shape[-1] == 1
        assert (why in head["panels"][0]["caption"]) != single


def test_a_benchmark_without_gamma_is_not_placed_on_it():
    study = PlaygroundStudy(benchmark=named()["blind_prior"])
    seen = study.load(Store(None, gallery=FOLDER))
    payload = pvalue_bricks.pvalue_bricks(seen, METHODS[UNIFORM], POWER_BETAS)
    assert Picture(payload).headline().startswith("Uniform rejects this q in 100% of 200 trials")


def test_a_test_is_named_the_most_only_with_those_it_is_not_told_from(picture):
    """Who may tie with the most or with the fewest by chance alone, of 200 trials, is named."""
    right = picture.seen.gammas == 0
    rates = pictures.measured_rates(picture.seen)
    words = headline.repeats_text(rates, right)
    titles = np.array([headline.short_title(method) for method in METHODS])
    for gamma, beta in np.argwhere(~np.broadcast_to(right[:, None], words.shape)):
        rate, said = rates.rate[:, beta, gamma], words[gamma, beta]
        if "no two of the five" in said or "all five" in said:
            continue
        ties = [
            higher_rate_pvalue(rate.max(), rate, rates.trials) > 0.05 / 20,
            higher_rate_pvalue(rate, rate.min(), rates.trials) > 0.05 / 20,
        ]
        for title, tied in zip(titles, np.any(ties, axis=0), strict=True):
            assert title == "Uniform" or (title in said) == tied, said


def test_equal_tests_are_seldom_told_apart():
    """Five tests of one rate: who is named the most, or the fewest, is named by chance."""
    rng = np.random.default_rng(0)
    for rate in (0.05, 0.5, 0.95):
        counts = rng.binomial(200, rate, (5, 1, 400)) / 200
        said = headline.repeats_text(PlaygroundRates(counts, 200), np.zeros(400, bool))
        assert sum(" most" in words or " least" in words for words in said.flat) <= 20


def test_equally_good_tests_are_told_as_such():
    """Of five tests in the order C2ST, Multiple, Uniform, CoLT, SBC."""
    for rate, words in (
        (
            [0.2, 0.3, 0.9, 0.4, 0.1],
            "90% of repeats, the most of five tests; SBC (10%) and C2ST (20%) would",
        ),
        (
            [1, 1, 1, 1, 0.05],
            "100% of repeats, with CoLT, Multiple and C2ST (100% each) the most of five tests; "
            "SBC (5%) would notice least.",
        ),
        (
            [0.2, 0.3, 0.06, 0.87, 0.1],
            "6% of repeats, with SBC (10%) the fewest of five tests; CoLT (87%) would notice "
            "most.",
        ),
        (
            [0.2, 0.3, 0.5, 0.87, 0.1],
            "50% of repeats; CoLT (87%) would notice most, SBC (10%) and C2ST (20%) least.",
        ),
        (
            [0.2, 0.3, 0.06, 1, 1],
            "6% of repeats, the fewest of five tests; SBC and CoLT (100% each) would notice most.",
        ),
        (
            [0.9, 0.49, 0.7, 1, 0.44],
            "70% of repeats; CoLT (100%) would notice most, SBC (44%) and Multiple (49%) least.",
        ),
        (
            [0.1, 0.3, 0.5, 0.87, 0.1],
            "50% of repeats; CoLT (87%) would notice most, C2ST and SBC (10% each) least.",
        ),
        (
            [0.4, 0.29, 0.35, 0.45, 0.29],
            "35% of repeats; CoLT (45%) would notice most, Multiple and SBC (29% "
            "each) least, but neither is told from Uniform (35%) and C2ST (40%).",
        ),
        ([1, 1, 1, 1, 1], "100% of repeats, as would all five tests."),
        (
            [0.2, 0.3, 1, 0.995, 0.005],
            "100% of repeats, with CoLT (99.5%) the most of five tests; SBC (0.5%) would notice "
            "least.",
        ),
        (
            [0.135, 0.16, 0.145, 0.13, 0.035],
            "14% of repeats, with Multiple (16%), C2ST (14%) and CoLT (13%) the most of five "
            "tests; SBC (3.5%) would notice least.",
        ),
        (
            [0.04, 0.05, 0.04, 0.045, 0.03],
            "4% of repeats, and 200 repeats tell no two of the five tests apart (3% to 5%).",
        ),
    ):
        rates = PlaygroundRates(np.array(rate, float)[:, None, None], 200)
        said = headline.repeats_text(rates, np.array([False]))[0, 0]
        assert said.startswith(words), said


def test_an_open_rim_is_cut_outside_the_frame():
    """A region that goes on beyond the picture has no line along its edge."""
    study = PlaygroundStudy(benchmark=named()["tree"])
    seen = study.load(Store(None, gallery=FOLDER))
    panel = theta_panels.theta_panel(seen.where, np.zeros((0, 2)))
    for gamma in (0, len(seen.gammas) - 1):
        region, *_ = freeze_sliders(panel, {"gamma": gamma, "x": 7}).marks
        for values, axis in ((region.x, panel.x), (region.y, panel.y)):
            low, high = axis.limits
            near = np.isclose(values, low, atol=1e-3) | np.isclose(values, high, atol=1e-3)
            assert not (near[1:] & near[:-1]).any()
