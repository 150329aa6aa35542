"""The localizer: repeats to the bit, survives the store, spends what it says, never peeks."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
import torch

from validation_core import keys, sampling, statistics
from validation_core.benchmarks.boundary import Boundary
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.spiral import Spiral
from validation_core.learn import perceptron
from validation_core.methods import CoLT
from validation_core.rng import stream
from validation_core.scores import localizer_networks, localizer_training, trained_scores
from validation_core.scores.localizer import FEWEST, Anchors, Localizer, recipe
from validation_core.scores.localizer_networks import LocalizerFrame
from validation_core.scores.localizer_training import (
    CHECKS,
    anchors_in_frame,
    distances_from_centre,
    train_localizer,
)
from validation_core.scores.trained_localizer import TrainedLocalizer
from validation_core.types import PosteriorTable, TableScore

EMBEDDINGS = ("identity", "mlp", "residual", "fourier")
SHIFTED = Gaussian()
SHORT = Localizer(
    anchors=60, draws=20, steps=30, batch=32, draws_step=8, hidden=16, lr=1e-2, blur_steps=10
)


def _table(n=60, k=20, gamma=0.3, benchmark=SHIFTED, seed=0):
    return sampling.table(benchmark, gamma, n, k, stream(seed, "table"))


def _short(embedding="identity", **changes):
    return dataclasses.replace(SHORT, embedding=embedding, **changes)


def _learnt(embedding="identity", seed=0, table=None, **changes):
    chosen = _short(embedding, **changes)
    table = _table() if table is None else table
    return train_localizer(chosen.of_table(table, stream(0, "split")), chosen, seed)


FITTED = localizer_training.CENTRE_FIT_STEPS


@pytest.fixture(autouse=True, scope="module")
def _short_fit():
    """A fifth of the steps that fit a centre to q's mean, but where that start is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(localizer_training, "CENTRE_FIT_STEPS", FITTED // 5)
        yield


@pytest.fixture(scope="module", params=EMBEDDINGS)
def trained(request):
    return _learnt(request.param)


def _finite(localizer, draws):
    """Scores, the history but for starts that were not tried, parameters."""
    made = localizer.at().table(draws)
    assert np.isfinite(made.truth).all()
    assert np.isfinite(made.draws).all()
    for name, array in localizer.arrays().items():
        assert np.isfinite(array).all() or name.startswith("history.start_"), name


def test_same_seed_same_bits_other_seed_other_network(trained):
    again, other = _learnt(trained.embedding), _learnt(trained.embedding, seed=1)
    named = again.arrays()
    for name, array in trained.arrays().items():
        np.testing.assert_array_equal(named[name], array)
    assert not np.array_equal(trained.centre["weight0"], other.centre["weight0"])


def test_learn_all_is_each_alone():
    sets = [_short().of_table(_table(seed=s), stream(s, "split")) for s in (0, 1)]
    for one, data, seed in zip(_short().learn_all(sets, [3, 4]), sets, (3, 4), strict=True):
        alone = train_localizer(data, _short(), seed)
        np.testing.assert_array_equal(one.centre["weight1"], alone.centre["weight1"])


def test_arrays_read_back(trained):
    rows = _table(seed=5)
    again = _short(trained.embedding).read(trained.arrays(), seconds=1.0, device="cpu")
    assert isinstance(again, TrainedLocalizer)
    assert (again.kept, again.checks, again.embedding) == (
        trained.kept, trained.checks, trained.embedding,
    )  # fmt: skip
    for beta in (0.0, 0.3, 1.0):
        before, after = trained.at(beta).table(rows), again.at(beta).table(rows)
        np.testing.assert_array_equal(after.truth, before.truth)
        np.testing.assert_array_equal(after.draws, before.draws)
    film = again.at_checkpoint(2), trained.at_checkpoint(2)
    np.testing.assert_array_equal(*(one(rows.theta, rows.x) for one in film))
    assert again.summary == trained.summary


def test_the_store_keeps_every_bit(trained, tmp_path):
    from validation_core.store import Store

    store, rows = Store(tmp_path), _table(seed=5)
    source = trained_scores.Simulated(benchmark=SHIFTED, gamma=0.3)
    training = trained_scores.Training(source=source, recipe=_short(trained.embedding), seed=2)
    assert keys.read(keys.canonical_text(training)) == training
    made = trained_scores.trained(store, training)
    found = trained_scores.load(store, training)
    np.testing.assert_array_equal(
        found.at(0.2)(rows.theta, rows.x), made.at(0.2)(rows.theta, rows.x)
    )
    assert found.summary == made.summary
    meta = store.load("models", keys.key(training)).meta
    assert meta["held"] == pytest.approx(float(made.history["held"][made.kept]))


def test_a_table_is_its_rows(trained):
    """One pass over the centres gives what n K calls would, but for the last bits."""
    rows = _table(n=23, k=7, seed=6)
    score = trained.at()
    assert isinstance(score, TableScore)
    made = score.table(rows)
    assert made.truth.shape == (1, 23)
    assert made.draws.shape == (1, 23, 7)
    np.testing.assert_allclose(made.truth[0], score(rows.theta, rows.x), rtol=1e-4, atol=1e-5)
    for i in range(len(rows)):
        one = score(rows.q[i], np.repeat(rows.x[i : i + 1], 7, axis=0))
        np.testing.assert_allclose(made.draws[0, i], one, rtol=1e-4, atol=1e-5)


def test_a_large_table_is_its_parts(trained):
    """Pieces of thousands of rows, whatever their boundaries."""
    rows = _table(n=450, k=300, seed=7)
    whole = trained.at().table(rows)
    part = trained.at().table(PosteriorTable(rows.theta[420:], rows.x[420:], rows.q[420:]))
    np.testing.assert_allclose(whole.draws[:, 420:], part.draws, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(whole.truth[:, 420:], part.truth, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5, 300])
def test_a_draw_that_is_the_truth_ties_with_it(trained, n):
    """A product of one row rounds otherwise than that of many: a tie must not hang on it."""
    rows = _table(n=n, k=50, seed=8)
    rows.q[:, 17] = rows.theta
    made = trained.at().table(rows)
    np.testing.assert_array_equal(made.draws[0, :, 17], made.truth[0])
    _, equal = statistics.count(made.truth, made.draws)
    assert (equal == 1).all()


def test_distance_is_the_length_between_the_embedded(trained):
    rows, score = _table(seed=9), trained.at()
    centre = score.centre(rows.x)
    assert centre.shape == (60, 3)
    gap = score.embed(rows.theta) - score.embed(centre)
    np.testing.assert_allclose(
        score(rows.theta, rows.x), np.linalg.norm(gap, axis=1), rtol=1e-3, atol=1e-4
    )
    assert score(centre, rows.x).max() < 1e-3, "the centre is at distance 0 of itself"


def test_field_is_the_distance_of_places(trained):
    rows, score = _table(n=5, seed=9), trained.at()
    places = stream(1).standard_normal((11, 3))
    field = score.field(places, rows.x)
    assert field.shape == (5, 11)
    for i in range(5):
        row = score(places, np.repeat(rows.x[i : i + 1], 11, axis=0))
        np.testing.assert_allclose(field[i], row, rtol=1e-4, atol=1e-5)
    own = score.field(np.repeat(places[None], 5, axis=0), rows.x)
    np.testing.assert_allclose(own, field, rtol=1e-5)


def test_beta_interpolates_all_parameters(trained):
    """psi_beta = (1 - beta) psi + beta psi_initial, the frame left alone."""
    rows = _table(seed=10)
    ends = {0.0: (trained.centre, trained.phi), 1.0: (trained.initial_centre, trained.initial_phi)}
    for beta, (centre, phi) in ends.items():
        alone = dataclasses.replace(
            trained, centre=centre, phi=phi, initial_centre=centre, initial_phi=phi
        )
        np.testing.assert_array_equal(
            trained.at(beta)(rows.theta, rows.x), alone.at()(rows.theta, rows.x)
        )
    mixed = trained.at(0.4)
    for made, last, first in (
        (mixed.centre_parameters, trained.centre, trained.initial_centre),
        (mixed.phi_parameters, trained.phi, trained.initial_phi),
    ):
        assert set(made) == set(last)
        for name, array in made.items():
            np.testing.assert_allclose(array, 0.6 * last[name] + 0.4 * first[name], atol=1e-6)
            assert array.dtype == np.float32


def test_identity_has_no_phi_the_others_begin_as_it():
    """residual and fourier add nothing at first: all measure plain distances in the frame."""
    rows, distances = _table(seed=11), {}
    for embedding in ("identity", "residual", "fourier"):
        made = _learnt(embedding, start="origin", steps=5)
        assert bool(made.phi) == (embedding != "identity")
        distances[embedding] = made.at(1.0)(rows.theta, rows.x)
    np.testing.assert_allclose(distances["residual"], distances["identity"], rtol=1e-5)
    np.testing.assert_allclose(distances["fourier"], distances["identity"], rtol=1e-5)
    z = _learnt(start="origin", steps=5)
    z = np.linalg.norm(z.frame.theta(rows.theta) - z.frame.theta(z.at(1.0).centre(rows.x)), axis=1)
    np.testing.assert_allclose(distances["identity"], z, rtol=1e-5)


@pytest.mark.parametrize("steps", [0, 1, 7, 15, 16, 100])
def test_history_and_film(steps):
    made = _learnt("residual", steps=steps, start="origin")
    step = made.history["step"]
    assert step[0] == 0
    assert step[-1] == steps
    assert len(step) <= CHECKS + 1
    assert (np.diff(step) > 0).all()
    assert made.checks == len(step)
    for name in ("train", "held", "w2"):
        assert made.history[name].shape == step.shape
    assert all((made.history[name] >= 0).all() for name in ("train", "held", "w2"))
    assert made.history["w2"].max() <= 1 / 3
    names = {f"centre.{n}" for n in made.centre} | {f"phi.{n}" for n in made.phi}
    assert set(made.checkpoints) == names
    for name, film in made.checkpoints.items():
        part, key = name.split(".")
        assert film.shape == (len(step), *getattr(made, part)[key].shape)
        np.testing.assert_allclose(film[0], getattr(made, f"initial_{part}")[key], atol=1e-3)
        np.testing.assert_allclose(film[made.kept], getattr(made, part)[key], atol=1e-3)


def test_without_its_film_a_localizer_is_at_its_kept_check(trained):
    still = TrainedLocalizer.read(
        trained.without_film().arrays(), embedding=trained.embedding, seconds=0.0, device="cpu"
    )
    assert still.checks == 1
    assert still.summary == trained.summary
    rows = _table(seed=13)
    for beta in (0.0, 0.7):
        one, other = (localizer.at(beta)(rows.theta, rows.x) for localizer in (still, trained))
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(
        still.at_checkpoint(0)(rows.theta, rows.x), still.at()(rows.theta, rows.x)
    )


def test_stages_follow_one_another(trained):
    """The centre alone while phi is the identity, then both: one course of steps, one film."""
    stages, steps = _short(trained.embedding).stages, trained.history["step"]
    assert stages == (2 if trained.embedding in ("residual", "fourier") else 1)
    assert steps[-1] == stages * SHORT.steps
    assert (np.diff(steps) >= 0).all()
    assert (np.diff(steps) == 0).sum() == stages - 1
    assert trained.checks == len(steps) <= stages * (CHECKS + 1)
    for name, film in trained.checkpoints.items():
        part, key = name.split(".")
        np.testing.assert_allclose(
            film[trained.kept], getattr(trained, part)[key], rtol=1e-3, atol=1e-3
        )
    rows = _table(seed=13)
    alone = trained.at_checkpoint(trained.checks // 2 - 1)
    if stages == 2:
        np.testing.assert_allclose(
            alone.embed(rows.theta), alone.frame.theta(rows.theta), atol=1e-3
        )


def test_history_says_what_was_measured():
    """The ranks of the held-out anchors at the step that was kept, among all their draws."""
    chosen = _short("fourier", start="origin", keep_best=False)
    table = _table()
    data = Anchors(PosteriorTable(table.theta[:45], table.x[:45], table.q[:45]),
                   PosteriorTable(table.theta[45:], table.x[45:], table.q[45:]))  # fmt: skip
    made = train_localizer(data, chosen, 0)
    for part, name in ((data.learn, "train"), (data.watch, "held")):
        scored = made.at().table(part)
        below, equal = statistics.count(scored.truth[0], scored.draws[0])
        u = (below + equal / 2 + 0.5) / (part.q.shape[1] + 1)
        assert made.history[name][-1] == pytest.approx(float(statistics.ks(u).statistic), abs=1e-3)


def test_film_shows_the_training(trained):
    rows = _table(seed=12)
    last = trained.at_checkpoint(trained.kept)(rows.theta, rows.x)
    np.testing.assert_allclose(last, trained.at()(rows.theta, rows.x), rtol=0.05, atol=0.02)
    first = _learnt(trained.embedding, start="origin", steps=3)
    np.testing.assert_allclose(
        first.at_checkpoint(0)(rows.theta, rows.x), first.at(1)(rows.theta, rows.x),
        rtol=0.05, atol=0.02,
    )  # fmt: skip


def test_starts_are_told():
    made = _learnt("fourier")
    tried = [float(made.history[f"start_{name}"][0]) for name in ("origin", "mean", "blur")]
    assert np.isfinite(tried).all()
    plain = _learnt("fourier", start="origin")
    assert np.isfinite(plain.history["start_origin"]).all()
    assert np.isnan([plain.history[f"start_{name}"][0] for name in ("mean", "blur")]).all()
    assert plain.history["start_origin"][0] == tried[0]


@pytest.mark.parametrize("embedding", ["identity", "fourier"])
def test_report_is_told_of_every_step(embedding):
    """Those that the third start takes come first, where there is one."""
    said = []
    chosen = _short(embedding)
    data = chosen.of_table(_table(), stream(0))
    made = train_localizer(data, chosen, 0, lambda fraction, now: said.append((fraction, now)))
    steps = 30 * chosen.stages + (10 if embedding == "fourier" else 0)
    assert [f for f, _ in said] == pytest.approx(np.arange(1, steps + 1) / steps)
    live = [now for _, now in said if now]
    assert all(set(now) == {"step", "train", "held"} for now in live)
    # Each stage's first look comes before any of its steps, and is not told.
    assert len(live) == made.checks - chosen.stages
    assert [now["held"] for now in live][-1] == pytest.approx(float(made.history["held"][-1]))


def _halves(table, n=45):
    return (
        PosteriorTable(table.theta[:n], table.x[:n], table.q[:n]),
        PosteriorTable(table.theta[n:], table.x[n:], table.q[n:]),
    )


def test_anchors_are_a_tables_rows_each_once():
    table = _table(n=41)
    made = _short().of_table(table, stream(0))
    assert len(made.watch) == 10
    rows = np.concatenate([made.learn.theta, made.watch.theta])
    np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(table.theta, axis=0))
    assert made.more is None
    for part in (made.learn, made.watch):
        row = np.flatnonzero((table.theta == part.theta[0]).all(1))[0]
        np.testing.assert_array_equal(part.q[0], table.q[row])
        np.testing.assert_array_equal(part.x[0], table.x[row])


def test_too_few_anchors_say_how_many_are_needed():
    with pytest.raises(ValueError, match=rf"at least {FEWEST} simulations.*got {FEWEST - 1}\."):
        _short().of_table(_table(n=FEWEST - 1), stream(0))
    made = _learnt("fourier", table=_table(n=FEWEST))
    assert made.checks > 1
    with pytest.raises(ValueError, match="at least"):
        dataclasses.replace(SHORT, anchors=4).sample(SHIFTED, 0.3, stream(0))


def test_a_step_is_chosen_by_held_out_anchors_alone():
    """Other held-out anchors: the same steps, another choice among them."""
    table, other = _table(), _table(benchmark=Gaussian(perturbation="blind_prior"), seed=1)
    chosen = _short("residual", start="origin", steps=60, lr=3e-3, lr_embedding=3e-3)
    learn_on, watch = _halves(table)
    first = train_localizer(Anchors(learn_on, watch), chosen, 0)
    second = train_localizer(Anchors(learn_on, _halves(other)[1]), chosen, 0)
    for name, film in first.checkpoints.items():
        np.testing.assert_array_equal(second.checkpoints[name], film)
    np.testing.assert_array_equal(second.history["train"], first.history["train"])
    assert not np.array_equal(second.history["held"], first.history["held"])
    for one in (first, second):
        assert one.kept in (0, int(one.history["held"].argmax()))


@pytest.mark.parametrize("seed", range(3))
def test_the_start_stays_unless_a_step_clearly_beats_it(seed):
    """Where q is right nothing does but by luck; where q is blind to x the first steps do."""
    benchmark = Gaussian(perturbation="blind_prior")
    blind = _table(100, 50, benchmark=benchmark, seed=seed)
    made = _learnt(table=blind, steps=60, hidden=64, seed=seed, lr=3e-3)
    assert made.kept == made.history["held"].argmax() > 0
    assert made.history["held"][made.kept] > made.history["held"][0] + 0.1
    margin = 0.5 / np.sqrt(25)
    right = _learnt(table=_table(100, 50, gamma=0.0, seed=seed), steps=60, seed=seed)
    gain = right.history["held"].max() - right.history["held"][0]
    assert right.kept == 0 or gain > margin / 2


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_no_truth_shapes_a_start(embedding):
    """Whitening, centre at q's mean, an embedding of q's detail: from draws of q and x alone."""
    chosen, table = _short(embedding), _table()
    centre = localizer_networks.build_initial_centre(chosen, 3, 3, stream(0))
    phi = localizer_networks.build_initial_embedding(embedding, 3, stream(1))
    made = []
    for theta in (table.theta, np.full_like(table.theta, np.nan)):
        parts = _halves(PosteriorTable(theta, table.x, table.q))
        frame = LocalizerFrame.fit(parts[0], whiten=True)
        learn_on, watch = (anchors_in_frame(frame, part, "cpu") for part in parts)
        at_mean = localizer_training.fit_centre_to_median(centre, learn_on, watch, stream(2))
        arrays = [vars(frame), at_mean]
        if phi:
            arrays += localizer_training.train_on_blurred_draws(
                chosen, at_mean, phi, learn_on, stream(3), lambda *_: None
            )
        made.append({f"{i}{n}": a for i, part in enumerate(arrays) for n, a in part.items()})
    assert all(np.isfinite(array).all() for array in made[0].values())
    for name, array in made[0].items():
        np.testing.assert_array_equal(made[1][name], array, err_msg=name)


@pytest.mark.parametrize("bend", [0.0, 3.0], ids=["linear", "bent"])
def test_the_mean_start_is_at_qs_middle(bend, monkeypatch):
    """A linear middle is found by the ridge, a bent one by the network; truths there give it away.

    With no step taken the start is what is kept; beta = 1 is the network before any start.
    """
    monkeypatch.setattr(localizer_training, "CENTRE_FIT_STEPS", FITTED)
    rng = stream(4)
    x = rng.standard_normal((400, 2))
    middle = np.stack([x[:, 0], x[:, 1] + bend * np.sin(2 * x[:, 0])], axis=1)
    q = middle[:, None] + 0.3 * rng.standard_normal((400, 60, 2))
    table = PosteriorTable(middle, x, q)
    made = _learnt(table=table, steps=0, hidden=64)
    assert made.history["start_mean"] > made.history["start_origin"] + 0.1
    error = np.sqrt(((made.at().centre(x) - middle) ** 2).mean(0))
    assert (error < 0.3 * middle.std(0)).all()
    origin = _learnt(table=table, steps=0, hidden=64, start="origin")
    np.testing.assert_array_equal(made.at(1)(middle, x), origin.at()(middle, x))


class Counted:
    """A benchmark that counts what is drawn from it."""

    def __init__(self, benchmark):
        self.benchmark, self.drawn = benchmark, Counter()

    def x(self, n, rng):
        return self.benchmark.x(n, rng)

    def theta(self, x, gamma, rng):
        self.drawn["p"] += len(x)
        return self.benchmark.theta(x, gamma, rng)

    def q(self, x, gamma, rng):
        self.drawn["q"] += len(x)
        return self.benchmark.q(x, gamma, rng)


@pytest.mark.parametrize("embedding", ["identity", "fourier"])
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("draws_step", [8, 0, 50])
def test_spent_is_what_was_drawn(embedding, fresh, draws_step):
    counted = Counted(SHIFTED)
    chosen = _short(embedding, fresh=fresh, draws_step=draws_step, steps=12)
    train_localizer(chosen.sample(counted, 0.3, stream(0)), chosen, 0)
    assert (counted.drawn["p"], counted.drawn["q"]) == chosen.spent()
    if not fresh:
        assert chosen.spent() == (60, 1200)


def test_fresh_anchors_are_new_at_every_step():
    seen = []

    class Watching(Counted):
        def theta(self, x, gamma, rng):
            seen.append(x)
            return super().theta(x, gamma, rng)

    chosen = _short(fresh=True, steps=6)
    train_localizer(chosen.sample(Watching(SHIFTED), 0.3, stream(0)), chosen, 0)
    assert [len(x) for x in seen] == [60] + 6 * [32]
    assert len(np.unique(np.concatenate(seen)[:, 0])) == 60 + 6 * 32


def test_paper_preset():
    """Table 2, full batches, every draw, no frame but scales, the last step."""
    chosen = recipe("paper", "identity", 50, 40, SHIFTED)
    assert (chosen.steps, chosen.lr, chosen.lr_embedding) == (25, 1e-5, 1e-5)
    assert (chosen.batch, chosen.draws_step, chosen.hidden, chosen.layers) == (50, 0, 256, 3)
    assert (chosen.start, chosen.whiten, chosen.keep_best) == ("origin", False, False)
    table_2 = {
        ("additional_mode", 1000, 5e-5), ("blind_prior", 1000, 1e-3), ("heavy_tail", 1000, 1e-5)
    }  # fmt: skip
    for perturbation, steps, lr in table_2:
        other = recipe("paper", "mlp", 50, 40, Gaussian(perturbation=perturbation))
        assert (other.steps, other.lr) == (steps, lr)
    counted = Counted(SHIFTED)
    data = chosen.sample(counted, 0.2, stream(0))
    assert len(data.learn) == 50
    assert chosen.spent() == (50, 2000)
    made = train_localizer(data, chosen, 0)
    assert made.kept == made.checks - 1
    assert made.history["step"][made.kept] == 25
    linear = made.frame.linear
    np.testing.assert_array_equal(linear, np.diag(np.diag(linear)))


@pytest.mark.parametrize("embedding", ["identity", "mlp"])
def test_paper_preset_learns_nothing_from_the_watched(embedding):
    chosen = recipe("paper", embedding, 40, 20, None, steps=12, lr=1e-3, lr_embedding=1e-3)
    learn_on, watch = _halves(_table(), 40)
    other = PosteriorTable(watch.theta + 5, watch.x - 3, watch.q * 2)
    made, again = (train_localizer(Anchors(learn_on, part), chosen, 0) for part in (watch, other))
    for name, film in made.checkpoints.items():
        np.testing.assert_array_equal(again.checkpoints[name], film)
    for name, array in made.centre.items():
        np.testing.assert_array_equal(again.centre[name], array)
    assert (made.kept, again.kept) == (made.checks - 1, made.checks - 1)
    np.testing.assert_array_equal(again.history["train"], made.history["train"])
    assert not np.array_equal(again.history["held"], made.history["held"])


def test_presets_take_changes():
    chosen = recipe("interactive", "fourier", 77, 33, None, divergence="sinkhorn", fresh=True)
    assert (chosen.anchors, chosen.draws, chosen.divergence, chosen.fresh) == (
        77, 33, "sinkhorn", True,
    )  # fmt: skip
    assert chosen.keep_best
    assert chosen.whiten


def test_test_rows_are_none_that_it_learnt_from(tmp_path):
    from validation_core.store import Store

    source, store = trained_scores.Simulated(benchmark=SHIFTED, gamma=0.3), Store(tmp_path)
    data = source.training_set(_short(), 0, store)
    tested = source.test_table(500, 5, stream(0, "trial"), seed=0, store=store)
    for part in (data.learn, data.watch):
        assert not np.isin(part.x, tested.x).any()
        assert not np.isin(part.theta, tested.theta).any()


@pytest.mark.parametrize(("draws_step", "batch"), [(8, 32), (8, 100), (0, 32), (50, 32)])
def test_a_step_takes_some_anchors_and_some_of_their_draws(monkeypatch, draws_step, batch):
    """As many as the recipe says or as there are, others at each step, each anchor's own."""
    table, seen = _table(), []

    def spy(recipe, centre, phi, rows):
        if torch.is_grad_enabled():  # a step, not a check
            seen.append(rows)
        return distances_from_centre(recipe, centre, phi, rows)

    monkeypatch.setattr(localizer_training, "distances_from_centre", spy)
    made = _learnt(table=table, draws_step=draws_step, batch=batch, steps=4, start="origin")
    n, k = min(batch, 45), 8 if draws_step == 8 else 20
    theta, q = (made.frame.theta(a) for a in (table.theta, table.q))
    for rows in seen:
        assert tuple(rows.q.shape) == (n, k, 3)
        own = [int(np.flatnonzero((theta == row).all(1))[0]) for row in rows.theta.numpy()]
        assert len(set(own)) == n
        for row, drawn in zip(own, rows.q.numpy(), strict=True):
            places = np.flatnonzero(np.isin(q[row, :, 0], drawn[:, 0]))
            assert len(places) == k
    if draws_step == 8:
        assert len({rows.q[0].numpy().tobytes() for rows in seen}) == 4


@pytest.mark.parametrize("draws_step", [1, 8, 20, 50, 0])
def test_draws_of_a_step(draws_step):
    """Fewer than there are, as many, more, and 0 for all: the last three are one training."""
    made = _learnt(draws_step=draws_step, start="origin")
    _finite(made, _table(seed=1))
    every = _learnt(draws_step=0, start="origin")
    same = np.array_equal(made.checkpoints["centre.weight1"], every.checkpoints["centre.weight1"])
    assert same == (draws_step in (0, 20, 50))


@pytest.mark.parametrize(
    ("embedding", "divergence"), [*((e, "w2") for e in EMBEDDINGS), ("identity", "sinkhorn")]
)
@pytest.mark.parametrize(
    "shape",
    ["one theta", "one draw", "two draws", "no x", "constant theta", "constant x", "all constant"],
)
def test_odd_tables(embedding, divergence, shape):
    """Few columns, few draws, columns without any spread: a localizer all the same."""
    table = _table(n=30, k=8)
    cut = {
        "one theta": lambda: PosteriorTable(table.theta[:, :1], table.x, table.q[..., :1]),
        "one draw": lambda: PosteriorTable(table.theta, table.x, table.q[:, :1]),
        "two draws": lambda: PosteriorTable(table.theta, table.x, table.q[:, :2]),
        "no x": lambda: PosteriorTable(table.theta, table.x[:, :0], table.q),
        "constant theta": lambda: _constant(table, theta=1, value=0.5),  # its sd is exactly 0
        "constant x": lambda: PosteriorTable(table.theta, np.full_like(table.x, 0.1), table.q),
        "all constant": lambda: _constant(table, theta=slice(None)),
    }[shape]()
    steps = {"steps": 6, "blur_steps": 4, "divergence": divergence}
    made = _learnt(embedding, table=cut, **steps)
    _finite(made, cut)
    scored = made.at().table(cut)
    assert scored.draws.shape == (1, *cut.q.shape[:2])
    if shape == "all constant":
        assert (scored.draws[0] == scored.truth[0][:, None]).all()


def _constant(table, theta, value=0.1):
    truth, q = table.theta.copy(), table.q.copy()
    truth[:, theta] = q[..., theta] = value
    return PosteriorTable(truth, table.x, q)


def test_ties_earn_nothing_in_training():
    """Every draw is the truth: all ranks are one half, at every step, and the start is kept."""
    for embedding in EMBEDDINGS:
        made = _learnt(embedding, table=_table(gamma=0, benchmark=Spiral()))
        np.testing.assert_allclose(made.history["train"], 0.5)
        np.testing.assert_allclose(made.history["held"], 0.5)
        assert (made.history["w2"] < 1 / 12).all()
        assert made.history["step"][made.kept] == 0


def test_learns_without_x():
    """One posterior for all x: a shifted q is still found."""
    rng = stream(3)
    table = PosteriorTable(
        rng.standard_normal((80, 2)), np.zeros((80, 0)), rng.standard_normal((80, 50, 2))
    )
    table.q[..., 0] += 1.5
    made = _learnt(table=table)
    assert made.history["held"][made.kept] > 0.25
    assert made.at().centre(table.x).shape == (80, 2)


def test_one_dimension():
    made = _learnt("fourier", table=_table(160, gamma=1.0, benchmark=Boundary()))
    assert made.frame.linear.shape == (1, 1)
    assert made.history["held"][made.kept] > 0.2


def test_heavy_tails_do_not_break_it():
    table = _table(benchmark=Gaussian(perturbation="heavy_tail"), gamma=1.0)
    table.q[0, 0] = 1e30
    for embedding in EMBEDDINGS:
        made = _learnt(embedding, table=table)
        _finite(made, table)
        far = np.array([[1e300, -1e300, 0.0]])
        assert np.isfinite(made.at()(far, np.full((1, 3), 1e300))).all()


def _spread(frame, draws):
    """Covariance of q's draws within x, in the frame, and its condition number."""
    z = frame.theta(draws.q).astype(float)
    off = (z - np.median(z, axis=1, keepdims=True)).reshape(-1, z.shape[-1])
    off = off[(np.abs(off) < 10).all(1)]
    return np.cov(off.T), np.linalg.cond(np.cov(off.T))


def test_whitening_makes_qs_spread_a_sphere():
    """Correlations of .9 and units a factor of 1000 apart: gone, the mean size kept."""
    draws = _table(200, 100)
    draws = PosteriorTable(draws.theta * [1, 1000, 0.1], draws.x, draws.q * [1, 1000, 0.1])
    scaled, raw = _spread(LocalizerFrame.fit(draws, whiten=False), draws)
    whitened, condition = _spread(LocalizerFrame.fit(draws, whiten=True), draws)
    assert raw > 15
    assert condition < 1.5
    assert np.trace(whitened) == pytest.approx(np.trace(scaled), rel=0.2)
    np.testing.assert_allclose(
        whitened, np.eye(3) * np.trace(whitened) / 3, atol=0.1 * np.trace(whitened)
    )


@pytest.mark.parametrize("gamma", [0.6, 1.0])
def test_heavy_tails_do_not_ruin_the_whitening(gamma):
    """nu = 1 / gamma below 2: no variance, at 1 no mean; the bulk still becomes a sphere."""
    draws = _table(200, 100, gamma=gamma, benchmark=Gaussian(perturbation="heavy_tail"))
    plain = _table(200, 100, gamma=0.0)
    frame = LocalizerFrame.fit(draws, whiten=True)
    _, condition = _spread(frame, plain)
    assert condition < 2
    size = np.median(
        np.abs(frame.theta(draws.q) - np.median(frame.theta(draws.q), axis=1)[:, None])
    )
    assert 0.05 < size < 2
    assert np.abs(frame.theta(draws.q)).max() <= 30


def test_a_frame_is_affine_and_invertible():
    draws = _table(50, 30)
    frame = LocalizerFrame.fit(draws, whiten=True)
    np.testing.assert_allclose(frame.back(frame.theta(draws.theta)), draws.theta, atol=1e-5)
    x = frame.x(draws.x)
    np.testing.assert_allclose(x.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(x.std(0), 1, atol=1e-6)


def test_units_change_nothing():
    """The same table in other units: the same ranks, to rounding."""
    table, seen = _table(), []
    other = PosteriorTable(table.theta * 1024 + 4096, table.x * 8 - 16, table.q * 1024 + 4096)
    for draws in (table, other):
        made = _learnt("identity", table=draws, steps=0)
        scored = made.at().table(draws)
        seen.append(statistics.count(scored.truth[0], scored.draws[0])[0])
    assert np.abs(seen[0] - seen[1]).max() <= 1


def test_a_constant_column_weighs_nothing():
    table = _constant(_table(), theta=1)
    frame = LocalizerFrame.fit(table, whiten=True)
    assert np.isfinite(frame.linear).all()
    z = frame.theta(table.q)
    fewer = PosteriorTable(table.theta[:, ::2], table.x, table.q[..., ::2])
    two = LocalizerFrame.fit(fewer, whiten=True)
    lengths = [
        np.linalg.norm(one.theta(q), axis=-1)
        for one, q in ((frame, table.q), (two, table.q[..., ::2]))
    ]
    assert np.corrcoef(*(a.ravel() for a in lengths))[0, 1] > 0.99
    assert np.isfinite(z).all()


@pytest.mark.parametrize("embedding", ["mlp", "residual", "fourier"])
def test_phi_may_have_another_dimension_than_theta(embedding):
    """Those that begin as the identity do so in any number of dimensions."""
    phi = localizer_networks.build_initial_embedding(embedding, 3, stream(1), 5)
    z = stream(2).standard_normal((4, 3)).astype(np.float32)
    placed = localizer_networks.embed_theta(
        embedding, perceptron.tensors(phi, "cpu"), torch.from_numpy(z)
    )
    assert placed.shape == (4, 5)
    if embedding != "mlp":
        np.testing.assert_array_equal(placed[:, :3], z)
        assert not placed[:, 3:].any()
    made = _learnt(steps=2, embedding=embedding, outputs=5)
    table = _table()
    assert made.at().embed(table.theta).shape == (len(table), 5)
    assert made.at().centre(table.x).shape == (len(table), 3)
    assert np.isfinite(made.at().table(table).draws).all()


def test_phi_of_too_few_dimensions_is_refused():
    small = localizer_networks.build_initial_embedding("mlp", 3, stream(1), 2)
    assert [weights.shape[-1] for weights in small.values()][-1] == 2
    with pytest.raises(ValueError, match="begins as the identity"):
        localizer_networks.build_initial_embedding("fourier", 3, stream(1), 2)
    for wrong in ({"embedding": "identity", "outputs": 3}, {"outputs": -1}):
        with pytest.raises(ValueError, match="dimensions of a learnt phi"):
            CoLT(**wrong)
    assert CoLT(outputs=8).recipe(100, 50).outputs == 8
    assert CoLT(outputs=8).label == "CoLT fourier in 8 dimensions"
