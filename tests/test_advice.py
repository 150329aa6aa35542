"""The advisor: what it names follows from what is cheap and what is wanted."""

import itertools
import re
from functools import cache

import numpy as np
import pytest

from validation_core.diagnosis.plan import method_obstacle
from validation_core.store import Store
from validation_core.sweep import presets
from validation_core.sweep.advice import WANTS, Situation, advise, calibration
from validation_core.sweep.progress import collect
from validation_core.tables import TableUpload
from validation_core.text import list_text
from validation_core.types import PosteriorTable


def _named(**situation):
    return advise(Situation(**situation)).method


def test_cheap_pairs_buy_calibration_draws():
    method = _named(pairs=1000, more=30_000, want="verdict")
    assert method.name == "uniform"
    assert method.m == 30


@pytest.mark.parametrize(("more", "m"), [(0, 0), (999, 0), (5000, 5), (10**7, 50)])
def test_m_is_what_the_pairs_allow_and_no_more_than_helps(more, m):
    assert calibration(Situation(pairs=1000, more=more)) == m


def test_few_pairs_and_few_draws_leave_multiple():
    assert _named(pairs=500, draws=1).name == "multiple"


def test_what_is_said_of_weak_classifiers_is_what_ships():
    """Multiple holds where the order is right, and finds nothing where it is reversed."""
    sweep = presets.by_name("conformal_beta_mean_shift").sweep
    cells = {
        (cell.label, cell.beta): [f"{one.rejections / one.trials:.0%}" for one in cell.networks]
        for cell in collect(sweep, Store.usual()).cells
    }
    assert sweep.gammas == (0.15,)
    multiple, uniform = (list_text(cells[label, 0.9]) for label in ("Multiple", "Uniform(50)"))
    why = " ".join(advise(Situation(pairs=500, draws=1)).why)
    assert f"Multiple rejects with {multiple} power, Uniform(50) with {uniform}." in why


def test_few_pairs_and_many_draws_rank_within_x():
    assert _named(pairs=500, draws=200).name == "within_x"


def test_no_time_trains_nothing():
    for draws in (1, 200):
        method = _named(pairs=500, draws=draws, seconds=1.0)
        assert method.name in ("sbc", "tarp")


@pytest.mark.parametrize("draws", [1, 5, 200])
def test_an_exact_test_for_a_moment_trains_nothing(draws):
    method = _named(pairs=500, more=50_000, draws=draws, seconds=1.0, want="exact")
    assert not method.runs_network


@pytest.mark.parametrize("want", ["place", "observation"])
def test_time_too_short_for_what_is_wanted_is_said(want):
    for seconds, said in ((1.0, True), (60.0, False)):
        why = advise(Situation(pairs=500, seconds=seconds, want=want)).why
        assert any("longer than 1 s" in reason for reason in why) == said


@pytest.mark.parametrize("want", ["verdict", "exact"])
@pytest.mark.parametrize("draws", [1, 2, 200])
def test_five_pairs_teach_nothing(want, draws):
    """Half of them would have to train the network."""
    advice = advise(Situation(pairs=5, draws=draws, want=want))
    assert not advice.method.runs_network
    assert draws > 1 or advice.method.name == "sbc"


def test_many_pairs_are_not_called_few():
    words = " ".join(advise(Situation(pairs=1_000_000, draws=20)).why)
    assert "few" not in words


@pytest.mark.parametrize("want", WANTS)
def test_what_is_wanted(want):
    names = {"verdict": "within_x", "exact": "within_x", "place": "colt", "observation": "lc2st"}
    assert _named(pairs=1000, draws=100, want=want).name == names[want]


def test_an_asymptotic_test_is_not_called_exact():
    for pairs, more, draws in itertools.product((20, 1000), (0, 50_000), (1, 2, 100)):
        at = Situation(pairs=pairs, more=more, draws=draws, want="exact")
        assert advise(at).method.name in ("uniform", "within_x", "sbc")


@pytest.mark.parametrize("want", WANTS)
def test_advice_fits_the_budget(want):
    """The named method never asks for more true pairs than there are."""
    grid = itertools.product((5, 50, 1000), (0, 40_000), (1, 10, 500), (1.0, 600.0))
    for pairs, more, draws, seconds in grid:
        at = Situation(pairs=pairs, more=more, draws=draws, seconds=seconds, want=want)
        result = advise(at)
        assert result.method.budget(pairs, draws).p <= result.rows(at) <= pairs + more
        assert result.why
        assert all(result.why)
        assert result.limits
        assert result.instead is None or result.instead_why
        assert result.instead is None or result.instead.label != result.method.label
        assert not re.search(r"\b1 (draws|pairs)\b|\d{5}", " ".join((*result.why, result.limits)))


@pytest.fixture(scope="module")
def tables():
    """Uploads by their rows and draws: tables of standard normals, each made once."""

    @cache
    def table(rows, draws):
        truth, x, q = (np.random.default_rng(0).normal(size=size)
                       for size in ((rows, 2), (rows, 2), (rows, draws, 2)))  # fmt: skip
        return TableUpload(PosteriorTable(truth, x, q), ("a", "b"), "")

    return table


@pytest.mark.parametrize("want", WANTS)
def test_no_test_that_is_named_is_refused(want, tables):
    grid = itertools.product(
        (5, 9, 10, 39, 40, 45, 49, 50, 100), (0, 15, 500, 1500), (1, 2, 20), (1.0, 60.0)
    )
    for pairs, more, draws, seconds in grid:
        at = Situation(pairs=pairs, more=more, draws=draws, seconds=seconds, want=want)
        advice = advise(at)
        table = tables(advice.rows(at), draws)
        for method in filter(None, (advice.method, advice.instead)):
            assert method_obstacle(method, table) is None, (at, method)


def test_uniform_is_named_where_a_quarter_of_all_rows_can_calibrate_it():
    """Of 600 rows 150 calibrate, 3 for each of 50 tested draws; of 30 none do."""
    assert calibration(Situation(pairs=100, more=500)) == 3
    assert calibration(Situation(pairs=5, more=25)) == 0


@pytest.mark.parametrize(
    "wrong",
    [{"pairs": 4}, {"pairs": 9, "draws": 0}, {"pairs": 9, "more": -1}, {"pairs": 9, "seconds": 0}],
)
def test_a_situation_that_cannot_be(wrong):
    with pytest.raises(ValueError, match="at least 5 true pairs"):
        Situation(**wrong)
