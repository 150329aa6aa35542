"""Every page of the power of tests where q is correct: no sentence calls it wrong, and the numbers
said are those drawn. From what is shipped.
"""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import pytest

from tests.picture_reading import ROUNDING, Picture, false_claims, percents
from validation_core.explorers.conformal import pictures as conformal
from validation_core.explorers.conformal import study as workbench
from validation_core.explorers.conformal import theory_panels, theory_study
from validation_core.explorers.conformal.view import ConformalView
from validation_core.explorers.highdim.digits import pictures as digits
from validation_core.explorers.highdim.digits import study as digits_study
from validation_core.explorers.highdim.images import pictures as images
from validation_core.explorers.highdim.images import study as images_study
from validation_core.explorers.highdim.lensing import pictures as lensing
from validation_core.explorers.highdim.lensing import table as lensing_table
from validation_core.explorers.highdim.sphere_flow import pictures as sphere
from validation_core.explorers.highdim.sphere_flow import study as sphere_study
from validation_core.localization import BallTheoryStudy
from validation_core.panels import power
from validation_core.panels.colt import ball_theory, training, where
from validation_core.panels.colt import power as colt_power
from validation_core.panels.colt.theta import ThetaAxes
from validation_core.store import SHIPPED, Store
from validation_core.sweep import colt_paper, presets
from validation_core.sweep.progress import collect


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("store"), gallery=SHIPPED)


def _of_correct_q(study):
    return study.benchmark.is_exact(study.gammas[0])


MAPS = [study for study in colt_paper.shipped_maps() if _of_correct_q(study)]
DIGITS = {study.benchmark.truth_is: study for study in digits_study.shipped()}


def _located(study, store, which=slice(1)):
    stored = study.load(store)
    return stored.each()[which], stored.rates[which], study.gammas[which]


@pytest.mark.parametrize("study", MAPS, ids=lambda study: study.benchmark.label)
def test_colt_calls_no_correct_q_wrong(study, store):
    maps, rates, gammas = _located(study, store)
    sight = ThetaAxes(around=study.benchmark.dims[0] > 2)
    shown = where.payload(maps, rates, sight, 0.05, gammas, gammas[0], [True])
    assert false_claims(Picture(shown).texts()) == []
    ranks = colt_power.ranks(maps, 0.05, gammas, gammas[0], [True])
    assert false_claims(Picture(ranks).texts()) == []


def test_colts_opening_page_says_that_its_low_pvalue_is_chance(store):
    maps, rates, gammas = _located(MAPS[0], store)
    shown = where.payload(maps, rates, ThetaAxes(), 0.05, gammas, gammas[0], [True])
    said = Picture(shown).headline()
    assert "KS p-value = 0.043" in said
    assert "one correct q in 20 looks this bad" in said
    blamed = where.payload(maps, rates, ThetaAxes(), 0.05, gammas, gammas[0])
    assert false_claims([Picture(blamed).headline()])


def test_colts_share_said_is_the_share_drawn(store):
    maps, rates, gammas = _located(MAPS[0], store, slice(None))
    start = gammas[3]
    said = Picture(where.payload(maps, rates, ThetaAxes(), 0.05, gammas, start)).headline()
    drawn = Picture(colt_power.ranks(maps, 0.05, gammas, start))
    (point,) = drawn.marks("points", 1)
    u, inside = float(point["x"][0]), float(point["x"][0] + point["y"][0])
    np.testing.assert_allclose(percents(said)[:2], [u, inside], atol=ROUNDING)


def test_power_of_colt_calls_no_correct_q_wrong(store):
    sweeps = defaultdict(list)
    for sweep in colt_paper.shipped_power():
        sweeps[sweep.benchmark].append(sweep)
    for benchmark, several in sweeps.items():
        cells = [cell for sweep in several for cell in collect(sweep, store).cells]
        if cells and benchmark.is_exact(0.0):
            named, design = colt_power.named(cells), several[0].design
            drawn = Picture(colt_power.power(named, benchmark, design, benchmark.gammas[3]))
            assert false_claims(drawn.texts(gamma=0.0)) == []


@pytest.mark.parametrize("one", presets.everything(), ids=lambda one: one.name)
def test_compare_says_what_it_draws(one, store):
    progress = collect(one.sweep, store)
    said = power.answer(one.sweep, progress)
    drawn = Picture(power.compare(one.sweep, progress))
    if one.sweep.gammas == (0.0,):
        assert false_claims([said, *drawn.texts()]) == []
        return
    rates = np.concatenate([np.atleast_1d(mark["y"]) for mark in drawn.marks("points", 0)])
    apart = np.abs(percents(said)[:, None] - rates[np.isfinite(rates)])
    assert (apart.min(1) < ROUNDING).all()


SYSTEMS = {
    **{f"images {s.benchmark.corruption} {seen}": (images, s, {"conditional": seen})
       for s in images_study.shipped() for seen in (True, False)},
    **{f"digits {name}": (digits, s, {}) for name, s in DIGITS.items()},
    **{f"sphere {i}": (sphere, s, {}) for i, s in enumerate(sphere_study.shipped())},
}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS)
def test_high_dimensions_call_no_correct_q_wrong_and_say_what_they_draw(name, store):
    pictures, study, options = SYSTEMS[name]
    drawn = Picture(pictures.payload(study, study.load(store), **options))
    if study.benchmark.is_exact(0.0):
        assert false_claims(drawn.texts(gamma=0.0)) == []
    else:
        assert "correct q" not in drawn.headline(gamma=0.0)
    panel = next(
        i for i, one in enumerate(drawn.head["panels"]) if str(one["title"]).startswith("Power")
    )
    gammas = drawn.head["sliders"][0]["values"]
    for i, gamma in enumerate(gammas):
        points = drawn.marks("points", panel, gamma=gamma)
        # C2ST, Multiple and the largest m of Uniform: smaller ones are in the picture alone.
        rates = [float(mark["y"][i]) for mark in points[:3]]
        said = percents(drawn.headline(gamma=gamma))[:3]
        np.testing.assert_allclose(said, rates, atol=ROUNDING)


def test_lensing_calls_no_correct_q_wrong(store):
    (study,) = lensing_table.shipped()
    seen = study.load(store)
    drawn = Picture(lensing.payload(seen))
    assert false_claims(drawn.texts(gamma=0.0)) == []
    for gamma, p in zip(seen.gammas, seen.pvalue, strict=True):
        (_, colt) = drawn.marks("heat", 3, gamma=float(gamma))
        empty = (colt["values"] == -128).all()
        assert empty == (p > 0.05 or gamma == 0), "no map where nothing is found"
        assert ("nothing found" in drawn.texts(gamma=float(gamma))) == empty


@pytest.mark.parametrize("view", ["Ranks", "Scores", "Other tests"])
def test_conformal_calls_no_correct_q_wrong(view, store):
    for study in workbench.shipped():
        if study.learned.benchmark.is_exact(study.learned.gammas[0]):
            look = ConformalView(study, view, 0.05)
            drawn = Picture(conformal.payload(look, study.load(store), None))
            assert false_claims(drawn.texts(gamma=0.0)) == []


def test_theory_of_conformal_calls_no_correct_q_wrong(store):
    for study in theory_study.shipped():
        if study.done(store) and study.learned.benchmark.is_exact(study.learned.gammas[0]):
            payload = theory_panels.theory_payload(study.learned, study.load(store))
            assert false_claims(Picture(payload).texts(gamma=0.0)) == []


PLANES = [s for s in MAPS if s.benchmark.dims == (2, 2) and not s.benchmark.label.count("curved")]


@pytest.mark.parametrize("study", PLANES, ids=lambda study: study.benchmark.label)
def test_theory_of_colt_calls_no_correct_q_wrong_and_says_what_it_draws(study, store):
    theory = BallTheoryStudy(maps=study).load(store)
    runs = [ball_theory.TrainingRun.of("fourier 0", study.load(store).each())]
    payload = ball_theory.theory_payload(theory, runs, study.benchmark.dims[0], 0.0)
    drawn = Picture(payload)
    assert false_claims(drawn.texts(gamma=0.0)) == []
    for i, gamma in enumerate(study.gammas):
        said = re.findall(r"(\d\.\d{3}) \[(\d\.\d{3}), (\d\.\d{3})\]", drawn.headline(gamma=gamma))
        points = [float(np.ravel(mark["y"])[i]) for mark in drawn.marks("points", 0)]
        assert [one[0] for one in said] == [f"{point:.3f}" for point in points]
        beyond = theory.distance[study.gammas.index(gamma)][1] > 0  # by one test of 5%, not two
        assert ("some region has another mass" in drawn.headline(gamma=gamma)) == (
            beyond and gamma > 0
        )


def test_the_film_of_training_says_what_it_draws(store):
    maps = colt_paper.shipped_training().load(store)
    drawn = Picture(training.training_film(maps, ThetaAxes(), 50))
    for frame in range(len(maps.film_step)):
        train, held = (
            float(np.ravel(m["y"])[0]) for m in drawn.marks("points", 1, frame=frame)[1:]
        )
        said = drawn.headline(frame=frame)
        assert f"{train:.3f} from uniform on the training anchors, {held:.3f} on held-out" in said
        assert "q is correct" not in said
    drawn = Picture(training.training_film(maps, ThetaAxes(), 50, correct=True))
    looks = f"of {len(maps.film_step)} looks at 50 held-out anchors the farthest is far by chance"
    assert f"q is correct here, so that no step has found an error: {looks}" in drawn.headline()
