"""One observation: its own p-values, warnings where no row is near, networks kept for the next."""

import json
import math
import tracemalloc
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.conftest import in_turn
from tests.fixed_claims import CLAIMED, FixedClaims
from tests.reports import code_of
from validation_core import codec, diagnosis, keys, statistics, tables
from validation_core.diagnosis import learning, method_runs
from validation_core.diagnosis import tasks as diagnoses
from validation_core.diagnosis.questions import Names, by_name, observation
from validation_core.diagnosis.questions.calibration.words import at_least
from validation_core.diagnosis.questions.observation.ensemble import LC2STEnsemble
from validation_core.diagnosis.questions.observation.nearby import (
    NearbyRanks,
    NearbyRankTest,
    nearby_rank_test,
)
from validation_core.diagnosis.questions.observation.study import AtObservation
from validation_core.diagnosis.questions.observation.words import ends_text, nearby_text
from validation_core.localization import neighbours
from validation_core.methods import SBC, CoLT, Omnibus
from validation_core.scores.lc2st import LC2STClassifier
from validation_core.tables import Upload
from validation_core.text import equals, interval_text
from validation_core.types import Interval, PosteriorTable

NAMES = ("mass", "<b>spin</b>")
QUICK = LC2STEnsemble(local=LC2STClassifier(nulls=39, hidden=8, epochs=5))
NOTHING_LEARNT = (SBC(),)
QUESTION = by_name("observation")


pytestmark = pytest.mark.usefixtures("quick_training")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(observation, "LC2STEnsemble", lambda: QUICK)


def say(result, *names):
    return QUESTION.describe(result, Names(*names), CLAIMED)


def note(result, *names):
    (only,) = QUESTION.notes(result, Names(*names))
    return only


def normals(n=200, k=20, d=2, m=2, seed=0):
    rng = np.random.default_rng(seed)
    return PosteriorTable(
        rng.standard_normal((n, d)), rng.standard_normal((n, m)), rng.standard_normal((n, k, d))
    )


def upload_of(table, **more):
    return Upload.of({"theta": table.theta, "x": table.x, "theta_q": table.q, **more})


def run(upload, store, where=None, methods=NOTHING_LEARNT, seed=0):
    diagnoses.register_upload(upload)
    founds = []
    for task in QUESTION.studies(upload, methods, seed, where):
        task.run(store, lambda done, live: None)
        founds.append(task.load(store))
    return QUESTION.gather(founds)


def test_the_p_of_the_rows_nearby_keeps_its_level():
    tables, rejected = 400, 0
    for seed in range(tables):
        table = normals(n=60, k=4, seed=seed)
        rejected += nearby_rank_test(table, np.arange(2), table.x[0], seed).pvalue <= 0.05
    low, high = statistics.binomial_bounds(tables, 0.05, 0.999)
    assert low <= rejected <= high


@in_turn(80, 150)
def test_lc2st_keeps_its_level_where_q_is_right_everywhere(store, monkeypatch, trials):
    least = replace(QUICK, local=LC2STClassifier(nulls=39, hidden=4, epochs=2))
    monkeypatch.setattr(observation, "LC2STEnsemble", lambda: least)
    rejected = 0
    for seed in range(trials):
        upload = upload_of(normals(n=60, k=5, d=1, m=1, seed=seed))
        rejected += run(upload, store, where=0, seed=seed).local.test.pvalue <= 0.05
    low, high = statistics.binomial_bounds(trials, 0.05, 0.999)
    assert low <= rejected <= high


def wrong_on_the_right(n=800, seed=1):
    table = normals(n=n, k=40, d=2, m=1, seed=seed)
    theta = table.theta.copy()
    theta[:, 1] += 1.5 * (table.x[:, 0] > 0.5)
    return upload_of(PosteriorTable(theta, table.x, table.q))


def test_q_is_found_wrong_where_it_is_and_not_elsewhere(store):
    upload = wrong_on_the_right()
    there, elsewhere = (run(upload, store, where=[at]) for at in (1.2, -1.2))
    assert there.local.test.pvalue == 1 / 40
    assert there.local.nearby.pvalue == 1 / 1000
    assert elsewhere.local.nearby.pvalue > 0.01
    worst = there.local.nearby.worst[0]
    assert worst.parameter == 1
    assert worst.shift.high >= -1.5 - 0.2
    assert worst.shift.estimate < -1  # q sits too low there
    assert QUESTION.rows(there, Names(("a", "b")), CLAIMED)[0] == {
        "parameter": "b",
        "bias nearby, posterior sd (+ is too high)": (
            f"−{-worst.shift.estimate:.2f} [−∞, −{-worst.shift.high:.2f}]"
        ),
        "width / needed width": "",
        "p, adjusted": 0.001,
    }
    assert there.local.test.parameter == 1
    assert there.local.test.little[0] > there.local.test.much[0]
    said = say(there, ("a", "b"), ("dose",))
    verdict, chance, nearby, where = said
    much, little = ends_text(there.local.test.much, there.local.test.little)
    assert verdict == (
        "Near this observation q looks wrong (L-C2ST, p = 0.025): too much mass for b between "
        f"{much}, too little between {little}."
    )
    assert chance.startswith("The learned chance that a draw is the true value runs from 0.")
    assert "q's b sits" in nearby
    assert nearby.endswith("too low (p = 0.001).")
    assert "dose = " in where
    assert "with 39 null classifiers" in note(there, ("a", "b"))
    assert QUESTION.finds(there, CLAIMED)


def test_a_q_that_is_too_wide_nearby_is_told_so():
    """Also that the interval turns with the ratio."""
    table = normals(n=800, k=40, m=1, seed=3)
    q = table.q.copy()
    q[np.abs(table.x[:, 0]) < 1, :, 0] *= 2.0
    nearby = nearby_rank_test(
        PosteriorTable(table.theta, table.x, q), np.arange(2), np.zeros(1), 0
    )
    worst = nearby.worst[0]
    assert worst.parameter == 0
    assert 1.4 < worst.width.low < worst.width.estimate < worst.width.high < 3
    assert worst.width.low <= 2 <= worst.width.high
    said = nearby_text(nearby, NAMES, 0.05, claimed=True)
    assert f"q's mass is {interval_text(worst.width)} times as wide as it should be" in said
    assert said.endswith("(too wide) (p = 0.001).")


def nearby_of(*ranks, p=0.001):
    return NearbyRankTest(
        rows=50, worth=40.0, of=400, pvalue=p, nulls=999, all=len(ranks), parameters=ranks
    )


OFF = NearbyRanks(0, Interval(0.9, 0.6, 1.2), Interval(1.01, 0.96, 1.06), 0.001)
EXACT = NearbyRanks(1, Interval(-0.2, -0.39, -0.01), Interval(1.0, 0.8, 1.3), 0.4)


def test_nearby_only_parameters_that_are_off_are_named_by_sizes_that_are_told():
    said = nearby_text(nearby_of(OFF, EXACT), ("inclination", "phase"), 0.05, claimed=True)
    assert "q's inclination sits 0.90 [0.60, 1.20] posterior sd too high (p" in said
    assert "phase" not in said
    assert "1.01" not in said
    unsized = replace(OFF, shift=Interval(0.1, -0.1, 0.3))
    said = nearby_text(nearby_of(unsized, EXACT), ("inclination", "phase"), 0.05, claimed=True)
    assert "the true values' ranks in inclination are not those of a correct q" in said
    quiet = nearby_text(nearby_of(OFF, EXACT, p=0.3), ("inclination", "phase"), 0.05, claimed=True)
    assert "inclination" not in quiet


def test_nearby_nothing_is_said_of_q_beyond_the_level_nor_beside_a_test_that_claims_nothing():
    less = nearby_of(replace(OFF, pvalue=0.02), EXACT, p=0.02)
    strict = nearby_text(less, ("inclination", "phase"), 0.01, claimed=True)
    assert "ranks show no error (p = 0.02, " in strict
    alone = nearby_text(less, ("inclination", "phase"), 0.05, claimed=False)
    assert "by themselves have p = 0.02 " in alone
    assert alone.endswith("of which nothing is claimed.")
    assert "inclination" not in strict + alone
    assert "inclination" in nearby_text(less, ("inclination", "phase"), 0.05, claimed=True)


def test_the_level_that_is_asked_for_is_that_of_every_sentence(store):
    """L-C2ST of 39 nulls has p = .025 at least: it claims at 5%, and at 1% nothing is called
    wrong."""
    upload = wrong_on_the_right()
    found = run(upload, store, where=[1.2], methods=(CoLT(),))
    assert found.ball.low > 0 or found.ball.high < 0
    names = Names(("a", "b"))
    usual, strict = FixedClaims(), FixedClaims(alpha=0.01)
    assert QUESTION.finds(found, usual)
    assert not QUESTION.finds(found, strict)
    said, less = (" ".join(QUESTION.describe(found, names, one)) for one in (usual, strict))
    for wrong in ("looks wrong", "q's b sits", "than q gives it"):
        assert wrong in said
        assert wrong not in less
    assert "L-C2ST finds nothing against q at this observation (p = 0.025)" in less
    assert "of which nothing is claimed" in less


def test_nearby_says_among_which_rows_it_looked():
    apart = nearby_text(nearby_of(OFF, EXACT), ("inclination", "phase"), 0.05, claimed=True)
    assert apart.startswith("At the 50 nearest in x of 400 rows, ")
    assert apart.endswith(" (p = 0.001).")
    own = nearby_text(
        nearby_of(OFF, EXACT), ("inclination", "phase"), 0.05, claimed=True, own=True
    )
    assert own.startswith("At the 50 nearest in x of 400 rows (its own with them)")


def test_nearby_a_bias_beyond_all_draws_is_a_bound(store):
    table = normals(n=400, k=40, m=1, seed=3)
    far = PosteriorTable(table.theta + np.array([6.0, 0.0]), table.x, table.q)
    nearby = nearby_rank_test(far, np.arange(2), np.zeros(1), 0)
    said = nearby_text(nearby, NAMES, 0.05, claimed=True)
    assert "q's mass sits at least 2." in said
    assert said.endswith("too low (p = 0.001).")
    result = AtObservation(local=LocalOnly(nearby))
    row = QUESTION.rows(result, Names(NAMES), CLAIMED)[0]
    assert row["bias nearby, posterior sd (+ is too high)"].startswith("−2.")
    assert "[−∞, −2." in row["bias nearby, posterior sd (+ is too high)"]
    assert row["width / needed width"] == ""


class LocalOnly:
    """An answer that has ranks nearby alone."""

    def __init__(self, nearby):
        self.nearby = nearby


def test_the_headline_never_names_a_parameter_that_is_exact(store):
    """q misses a mode of the first parameter; L-C2ST's chance varies, by noise, over others."""
    rng = np.random.default_rng(0)
    n, k = 600, 40
    x = rng.standard_normal((n, 1))
    theta = x + 0.3 * rng.standard_normal((n, 2))
    theta[:, 0] += 3 * (rng.random(n) < 0.5)
    q = x[:, None] + 0.3 * rng.standard_normal((n, k, 2))
    found = run(upload_of(PosteriorTable(theta, x, q)), store, where=[0.0])
    test = found.local.test
    assert test.parameter == 0
    exact = replace(found.local, test=replace(test, parameter=None, much=(np.nan, np.nan)))
    first = say(replace(found, local=exact), NAMES)[0]
    assert first == "Near this observation q looks wrong (L-C2ST, p = 0.025)."
    # The chance varies most over the second, whose own ranks nearby are less clearly off.
    less = replace(test, parameter=1, much=(0.0, 1.0), little=(1.0, 2.0))
    ranks = {ranks.parameter: ranks for ranks in found.local.nearby.parameters}
    off = tuple(replace(ranks[i], pvalue=p) for i, p in ((0, 0.001), (1, 0.04)))
    nearby = replace(found.local.nearby, parameters=off)
    local = replace(found.local, test=less, nearby=nearby)
    assert say(replace(found, local=local), NAMES)[0] == first


def test_what_is_not_claimed_is_told_as_two_sentences(store):
    """The verdict's own p first, what the numbers here are by themselves next."""
    upload = wrong_on_the_right(n=300)
    relabelled = method_runs.run_relabelling(upload_of(normals(n=100)), Omnibus(), 0, {})
    claims = diagnosis.verdict([relabelled], upload).claims
    assert claims.pvalue > 0.05
    result = run(upload, store, where=[1.2])
    first, second, *_ = QUESTION.describe(result, Names(("a", "b")), claims)
    assert first.startswith("Nothing is claimed against q here: over everything that was looked")
    assert equals(claims.pvalue) in first
    assert second.startswith("By themselves, L-C2ST gives p = ")
    assert "posterior sd" not in second
    assert QUESTION.finds(result, CLAIMED)
    assert not QUESTION.finds(result, claims)


def test_classifiers_never_learn_from_the_row_that_is_looked_at(store):
    upload = upload_of(normals(n=80))
    diagnoses.register_upload(upload)
    for row in range(80):
        (task,) = QUESTION.studies(upload, (SBC(),), 0, row)
        source, recipe = task.trainings[0].source, task.trainings[0].recipe
        learnt = source.training_set(recipe, 0, store)
        assert len(learnt) == 40
        assert not (learnt.x == upload.data.x[row]).all(axis=1).any()


def test_another_observation_asks_the_same_networks(store, monkeypatch):
    upload = upload_of(normals(n=120))
    run(upload, store, where=[0.0, 0.0])
    kept = {row for row in learning.held_out_rows(upload, 0).tolist()}
    first = next(task for task in QUESTION.studies(upload, (), 0, [0.0, 0.0]))
    same = [row for row in range(120) if (row in kept) == (first.row in kept)]
    monkeypatch.setattr(type(QUICK), "learn_all", lambda *a, **k: pytest.fail("trained once more"))
    for row in same[:5]:
        assert run(upload, store, where=row).local.site.row == row


def test_networks_are_kept_as_they_were(store):
    table = normals(n=60, m=70)
    (trained,) = QUICK.learn_all([table], [0])
    again = QUICK.read(trained.arrays(), seconds=0, device="cpu")
    at = trained.logits(table.q[0], table.x[0])
    np.testing.assert_array_equal(at, again.logits(table.q[0], table.x[0]))
    assert at.shape == (40, 20)
    assert again.rows == trained.rows


def test_the_nearest_row_serves_a_typed_observation(store):
    upload = upload_of(normals(n=100))
    asked = upload.data.x[17] + 1e-3
    site = run(upload, store, where=asked).local.site
    assert (site.kind, site.row, site.standing.outside_count) == ("typed", 17, 0)
    assert site.standing.nearest < 2e-3
    assert site.asked == pytest.approx(asked.tolist())
    assert site.x == pytest.approx(upload.data.x[17].tolist())


def test_an_observation_like_no_simulation_is_warned_of(store):
    upload = upload_of(normals(n=100))
    found = run(upload, store, where=[0.0, 9.0])
    assert found.local.site.standing.outside == (1,)
    said = " ".join(say(found, NAMES, ("left", "right")))
    assert "outside the range of all rows in right" in said
    inside = " ".join(say(run(upload, store, where=[0.0, 0.0]), NAMES))
    assert "outside the range" not in inside


def test_a_hole_among_the_rows_is_warned_of(store):
    table = normals(n=300, seed=2)
    ring = table.x / np.linalg.norm(table.x, axis=1, keepdims=True) * 5
    found = run(upload_of(PosteriorTable(table.theta, ring, table.q)), store, where=[0.0, 0.0])
    assert found.local.site.standing.outside_count == 0
    assert "farther from every row" in " ".join(say(found, NAMES))


def test_the_uploads_own_observation_is_looked_at_with_its_own_draws(store):
    table = normals(n=100)
    own = {"x_o": np.array([0.3, -0.2]), "theta_o": 5 + np.random.default_rng(0).random((60, 2))}
    upload = upload_of(table, **own)
    (task,) = QUESTION.studies(upload, (SBC(),), 0)
    assert task.observed
    found = run(upload, store)
    assert found.local.site.kind == "observed"
    assert found.local.test.draws == 60
    assert found.local.test.theta.min() >= 5
    assert "came with the table" in " ".join(say(found, NAMES))
    assert QUESTION.studies(upload, (SBC(),), 0, 3)[0].row == 3


def test_without_a_place_the_middle_of_x_is_taken():
    table = normals(n=101, m=1)
    (task,) = QUESTION.studies(upload_of(table), (), 0)
    assert table.x[task.row, 0] == np.median(table.x)


@pytest.mark.parametrize("where", [-1, 100, [0.0], [0.0, np.nan], [0.0, 1.0, 2.0]])
def test_places_that_are_not_there_are_refused(where):
    with pytest.raises(ValueError, match="got"):
        QUESTION.studies(upload_of(normals(n=100)), (), 0, where)


def test_obstacles_say_what_to_do():
    rng = np.random.default_rng(0)
    two = Upload.of({"p": rng.standard_normal((90, 2)), "q": rng.standard_normal((90, 2))})
    assert "Upload theta, x and theta_q" in QUESTION.obstacle(two)
    assert "got 49" in QUESTION.obstacle(upload_of(normals(n=49)))
    assert QUESTION.studies(two, (), 0) == ()


@pytest.mark.parametrize(("d", "m", "k"), [(1, 1, 1), (1, 3, 9), (3, 1, 2), (2, 2, 30)])
def test_every_shape_is_told_drawn_and_listed(d, m, k, store):
    found = run(upload_of(normals(n=60, d=d, m=m, k=k)), store, methods=(CoLT(),))
    fields = QUESTION.to_json(found)
    json.dumps(fields, allow_nan=False)
    assert set(fields) == {"place", "local", "near", "ball"}
    assert sum(array.size for array in codec.dump(found)[0].values()) < 200_000
    figures = QUESTION.figures(found, Names(NAMES), CLAIMED)
    assert len(figures) == 4
    for one in figures:
        go.Figure(one.figure.to_dict())  # plotly's own validation
        assert "f q were correct" in one.caption
        assert "<b>" not in one.figure.to_json()
    assert len(QUESTION.rows(found, Names(NAMES), CLAIMED)) == d
    assert "CoLT's region here" in say(found, NAMES)[-1]


def test_either_part_can_be_shown_before_the_other(store):
    upload = upload_of(normals(n=60))
    diagnoses.register_upload(upload)
    for task in QUESTION.studies(upload, (CoLT(),), 0, 5):
        task.run(store, lambda done, live: None)
        alone = QUESTION.gather([task.load(store)])
        assert say(alone, NAMES)
        assert QUESTION.figures(alone, Names(NAMES), CLAIMED)
        assert isinstance(QUESTION.rows(alone, Names(NAMES), CLAIMED), list)


def test_the_ball_has_its_mass_and_its_interval(store):
    found = run(wrong_on_the_right(n=300), store, where=[1.0], methods=(CoLT(),)).ball
    assert 0 < found.u_star < 1
    assert found.low <= found.rate <= found.high
    assert found.low >= -found.u_star - 1e-9


def test_columns_that_never_vary_are_no_trouble(store):
    table = normals(n=80, m=3)
    x = table.x.copy()
    x[:, 1] = 4.0
    found = run(upload_of(PosteriorTable(table.theta, x, table.q)), store, where=3)
    assert np.isfinite(found.local.test.pvalue)
    still = run(upload_of(PosteriorTable(table.theta, 0 * x, table.q)), store, where=3)
    assert still.local.nearby.rows == 80


def test_distances_are_in_sds_a_column():
    x = np.array([[0.0, 0.0], [2.0, 20.0]])  # sds 1 and 10
    far = neighbours.distances(x, np.array([[1.0, 0.0]]))[0]
    np.testing.assert_allclose(far, [np.sqrt(0.5), np.sqrt((1 + 4) / 2)])


def test_few_components_of_many_columns_keep_what_varies():
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((300, 2))
    x = hidden @ rng.standard_normal((2, 500)) + 0.05 * rng.standard_normal((300, 500))
    fewer = neighbours.reduced(x)
    z = fewer(x)
    assert z.shape == (300, neighbours.COMPONENTS)
    together = np.linalg.lstsq(np.c_[z[:, :2], np.ones(300)], hidden, rcond=None)[1]
    assert (together < 0.01 * 300).all()
    np.testing.assert_allclose(fewer(x[:7]), z[:7])


def test_a_hundred_thousand_columns_fit_in_memory(store):
    n, m = 60, 100_000
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, m)).astype(np.float32)
    upload = upload_of(
        PosteriorTable(rng.standard_normal((n, 2)), x, rng.standard_normal((n, 5, 2)))
    )
    tracemalloc.start()
    found = run(upload, store)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * x.nbytes + 300e6
    assert "100,000 columns" in " ".join(say(found, NAMES))


def test_tasks_have_keys_of_their_own():
    upload = upload_of(normals(n=100))
    tasks = [
        *QUESTION.studies(upload, (CoLT(),), 0, 3), *QUESTION.studies(upload, (), 0, 4),
        *QUESTION.studies(upload, (), 1, 3), *QUESTION.studies(upload, (), 0, [0.0, 0.0]),
    ]  # fmt: skip
    assert len({task.key for task in tasks}) == len(tasks)
    assert keys.read(keys.canonical_text(tasks[0])) == tasks[0]
    assert replace(tasks[0], seed=0).key == tasks[0].key


def test_the_code_runs(tmp_path, capsys):
    table = normals(n=60, k=3)
    path = tmp_path / "a table.npz"
    np.savez(path, theta=table.theta, x=table.x, theta_q=table.q)
    exec(code_of(QUESTION, path, methods=()), {})
    assert "L-C2ST" in capsys.readouterr().out


def test_a_real_table(shared, store):
    upload = tables.read(shared / "data" / "sir_undertrained.npz")
    means = upload.data.q[:, :, 1].mean(1)
    found = run(upload, store, where=int(means.argmax()), methods=diagnosis.default_methods())
    assert found.local.nearby.pvalue <= 0.05
    assert found.local.nearby.worst[0].shift.low > 0  # q sits too high there


def test_neighbours_weigh_alike_where_all_are_about_as_far():
    """In many columns the row itself would be the only neighbour of its observation."""
    x = np.random.default_rng(0).standard_normal((300, 2000))
    weight = neighbours.weights(x, x[:1])[0]
    assert set(np.unique(weight)) == {0.0, 1.0}
    assert 20 < weight.sum() < 150
    plain = neighbours.weights(x[:, :2], x[:1, :2])[0]
    assert len(np.unique(plain)) > 20


def test_a_single_draw_is_not_said_to_lie_somewhere(store):
    found = run(upload_of(normals(n=60, k=1)), store, where=0)
    local = found.local
    nearby = replace(
        local.nearby, pvalue=0.5,
        parameters=(
            NearbyRanks(0, Interval(0.0, -0.2, 0.2), Interval(1.0, 0.8, 1.3), 0.5),
        ),
    )  # fmt: skip
    test = replace(local.test, pvalue=0.003)
    found = replace(found, local=replace(local, test=test, nearby=nearby))
    said = " ".join(say(found, NAMES))
    assert "too few draws (1) of q there" in said
    assert "between" not in said
    assert "looks at 1 draw of q" in note(found, NAMES)


def test_the_ends_of_narrow_ranges_far_from_0_are_told_apart():
    assert ends_text((1_000_312.0, 1_000_870.0), (998_123.0, 1_000_312.0)) == (
        "1000310 and 1000870",
        "998120 and 1000310",
    )
    assert ends_text((0.2, 1.4), (-0.3, 0.2)) == ("0.2 and 1.4", "−0.3 and 0.2")
    assert ends_text((3.0, 3.0), (1.0, 1.0)) == ("3 and 3", "1 and 1")


@pytest.mark.parametrize(("end", "size"), [(0.02, None), (-0.04, None), (-0.62, "0.6")])
def test_nearby_a_bound_that_says_nothing_is_not_told(end, size):
    """More true values than usual lie beyond all draws, in few rows."""
    open_ = NearbyRanks(1, Interval(-0.1, math.nan, end), Interval(*[math.nan] * 3), 0.019)
    said = nearby_text(
        nearby_of(EXACT, open_, p=0.019), ("inclination", "phase"), 0.05, claimed=True
    )
    if size is None:
        assert said.endswith("ranks in phase are not those of a correct q (p = 0.019).")
    else:
        assert f"q's phase sits at least {size} sd of a normal law too low" in said


@pytest.mark.parametrize(
    ("bound", "said"), [(1.97, "1.9"), (0.1, "0.1"), (0.047, "0.04"), (0.0031, "0.003")]
)
def test_a_bound_on_a_bias_is_never_nothing(bound, said):
    assert at_least(Interval(bound, bound, math.nan)) == f"at least {said} sd of a normal law"
