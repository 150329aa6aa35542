"""From an upload to a verdict: level on exact posteriors, power on wrong ones, and the words."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom, rankdata

from validation_core import diagnosis, keys, tables
from validation_core.diagnosis import Record, learning, tasks
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.detectable_shift import (
    detectable_shift_by_ranks,
    detectable_shift_by_relabelling,
    detectable_shift_by_scores,
    detectable_shift_over_x,
)
from validation_core.diagnosis.learning import held_out_table
from validation_core.engine import Engine
from validation_core.engine.task import SerialExecutor
from validation_core.methods import C2ST, METHODS, SBC, TARP, CoLT, Multiple, Uniform, WithinX
from validation_core.panels.record import pictures
from validation_core.relabelling.pools import PoolSizes
from validation_core.relabelling.table_statistics import relabelled_pools, statistics_of
from validation_core.report import html
from validation_core.scores.classifier import Classifier
from validation_core.store import Store
from validation_core.tables import Upload, samples
from validation_core.text import SMALLEST, equals, pvalue_text
from validation_core.types import PosteriorTable, TableScores

QUICK = Classifier(epochs=4, lr=1e-2, batch=64, hidden=8, layers=2)
SMALL = {"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1, "start": "origin"}
METHODS_RUN = diagnosis.default_methods()


def quick(upload, method):
    """Recipes that cost little: what is tested here is the diagnosis."""
    how = learning.recipe(upload, method)
    if method.reads_classifier:
        return QUICK
    changes = {"colt": SMALL, "automl": {"seconds": 0.0}}.get(method.name)
    return replace(how, **changes) if changes else how


def shorter(upload, method):
    """An upload's own recipes, with fewer steps of its localizer."""
    how = learning.recipe(upload, method)
    return replace(how, steps=40, blur_steps=40) if method.localizes else how


def exact(n=60, k=10, seed=0, shift=0.0, width=1.0):
    """x = theta + noise with a normal prior: the posterior is N(x / 2, I / 2)."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, 2))
    x = theta + rng.standard_normal((n, 2))
    z = rng.standard_normal((n, k, 2))
    q = x[:, None] / 2 + math.sqrt(0.5) * (shift + width * z)
    return Upload.of({"theta": theta, "x": x, "theta_q": q})


def own_arrays(upload):
    """A table's arrays, copied: those of the table itself are locked."""
    return {name: array.copy() for name, array in upload.arrays().items()}


def two_samples(n=200, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return Upload.of({
        "p": rng.standard_normal((n, 2)), "q": shift + rng.standard_normal((2 * n, 2))
    })  # fmt: skip


def run(upload, store, methods=METHODS_RUN, seed=0, how=quick):
    tasks.register_upload(upload)
    for task in tasks.tasks(upload, methods, seed, how):
        task.run(store, lambda fraction, live: None)
    records, pending = tasks.records(store, upload, methods, seed, how)
    assert pending == 0
    return diagnosis.verdict(records, upload, seed=seed)


def by_name(found):
    return {record.name: record for record in found.records}


@pytest.mark.slow
def test_exact_posteriors_are_flagged_within_the_level(store):
    """The whole diagnosis, trained networks and Holm included."""
    repeats = 40
    flagged = sum(
        run(exact(seed=seed), store, seed=seed).verdict == "problem found"
        for seed in range(repeats)
    )
    assert flagged <= binom.isf(1e-3, repeats, 0.05)


@pytest.mark.parametrize("k", [1, 3, 20])
def test_sbc_keeps_its_level_on_exact_posteriors(k):
    trials, n = 2000, 50
    rng = np.random.default_rng(k)
    truth = rng.standard_normal((trials, 2, n)).astype(np.float32)
    draws = rng.standard_normal((trials, 2, n, k)).astype(np.float32)
    rejected = (SBC().test(TableScores(truth, draws), rng).pvalue <= 0.05).sum()
    assert rejected <= binom.isf(1e-3, trials, 0.05)
    assert rejected >= binom.ppf(1e-4, trials, 0.04)  # Bonferroni costs a little


def test_ties_keep_the_level():
    """Rounded draws: ranks with ties are randomised."""
    rng = np.random.default_rng(0)
    truth = np.round(rng.standard_normal((2000, 1, 50)))
    draws = np.round(rng.standard_normal((2000, 1, 50, 10)))
    rejected = (SBC().test(TableScores(truth, draws), rng).pvalue <= 0.05).sum()
    low, high = binom.ppf(1e-4, 2000, 0.05), binom.isf(1e-4, 2000, 0.05)
    assert low <= rejected <= high


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two_moons_undertrained", "sir_undertrained"])
def test_undertrained_estimators_are_found(name, shared, store):
    upload = tables.read(shared / "data" / f"{name}.npz")
    result = run(upload, store, how=shorter)
    assert result.verdict == "problem found"
    for method in ("sbc", "within_x", "multiple", "c2st", "colt"):
        assert result.adjusted[by_name(result)[method].label] < 1e-3
    assert by_name(result)["uniform"].status == "not run"


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("sample_well_trained", "no problem found"), ("sample_undertrained", "problem found")],
)
def test_samples(name, verdict, store):
    upload = tables.read(samples.sample_path(name))
    assert run(upload, store, how=shorter).verdict == verdict


@pytest.mark.parametrize(
    ("change", "reading"),
    [({"width": 0.5}, "too narrow"), ({"width": 2.0}, "too wide"), ({"shift": 0.5}, "too high"),
     ({"shift": -0.5}, "too low")],
)  # fmt: skip
def test_ranks_are_read_in_words(change, reading, store):
    result = run(exact(n=400, **change), store, [SBC()])
    assert result.verdict == "problem found"
    assert all(reading in parameter.reading for parameter in result.flagged)
    assert len(result.flagged) == 2
    assert reading in result.sentence


def test_two_samples(store):
    longer = Classifier(epochs=40, lr=1e-2, hidden=16)
    result = run(two_samples(shift=1.0), store, how=lambda upload, method: longer)
    status = {record.name: record.status for record in result.records}
    ran = {name for name, state in status.items() if state == "ran"}
    assert ran == {"multiple", "c2st"}
    assert set(status) == {method.name for method in METHODS_RUN}
    assert "have no x" in by_name(result)["colt"].reason
    assert result.verdict == "problem found"
    assert all(r.reason for r in result.records if r.status == "not run")
    silent = run(two_samples(n=1000), store)
    assert silent.verdict == "no problem found"
    assert "best possible classifier" in silent.sentence
    assert silent.to_json()["k"] == 0


@pytest.mark.parametrize(
    ("upload", "ran"),
    [
        (exact(n=49), {"omnibus", "sbc", "tarp", "colt"}),
        (exact(n=40, k=1), {"omnibus", "sbc", "tarp", "colt"}),
        (exact(n=39), {"omnibus", "sbc", "tarp"}),
        (exact(n=10, k=9), {"omnibus", "sbc", "tarp"}),
        (exact(n=9), {"omnibus", "sbc"}),
        (exact(n=5), {"omnibus", "sbc"}),
        (exact(n=4), set()),
        (exact(n=1), set()),
        (exact(n=50, k=1), {"omnibus", "sbc", "tarp", "within_x", "multiple", "c2st", "colt"}),
        (exact(n=51, k=2), {"omnibus", "sbc", "tarp", "within_x", "multiple", "c2st", "colt"}),
        (two_samples(n=20), set()),
    ],
)
def test_small_uploads_are_answered(upload, ran, store):
    result = run(upload, store)
    assert {record.name for record in result.records if record.status == "ran"} == ran
    assert {record.name for record in result.records} == {method.name for method in METHODS_RUN}
    assert result.verdict in ("not enough data", "no problem found", "problem found")
    json.dumps(result.to_json(), allow_nan=False)
    if not ran:
        assert result.verdict == "not enough data"


@pytest.mark.parametrize("value", [0.0, 1e30])
def test_columns_that_tell_nothing_do_no_harm(value, store):
    arrays = own_arrays(exact(n=200))
    arrays["theta"][:, 1], arrays["theta_q"][:, :, 1], arrays["x"][:] = value, value, value
    result = run(Upload.of(arrays), store)
    assert {r.status for r in result.records if r.name not in ("uniform", "skl")} == {"ran"}
    assert result.verdict == "no problem found"


def test_uniform_runs_where_rows_suffice(store):
    result = run(exact(n=400), store, [Uniform(m=1)])
    (record,) = result.records
    assert (record.status, record.draws_p, record.draws_q) == ("ran", 100, 100)
    assert diagnosis.method_obstacle(Uniform(m=50), exact(n=9999, k=1)) is not None
    assert diagnosis.method_obstacle(Uniform(m=50), exact(n=10_000, k=1)) is None


def test_methods_that_read_a_classifier_share_one(store):
    """TARP's references, CoLT's localizer, DC's score and the one within x are the others."""
    upload = exact()
    run(upload, store)
    assert len(list((store.root / "models").iterdir())) == 5


def test_a_result_does_not_depend_on_the_others(store, tmp_path):
    upload = exact()
    together = by_name(run(upload, store))
    for method in (TARP(), WithinX(), CoLT()):
        alone = run(upload, Store(tmp_path / method.name), [method]).records[0]
        assert alone.pvalue == together[method.name].pvalue
        np.testing.assert_array_equal(alone.arrays["u"], together[method.name].arrays["u"])


def test_the_engine_runs_a_diagnosis_from_the_store(store):
    """The table travels by the store, as to another process."""
    upload = exact(seed=7)
    tasks.save_upload(store, upload)
    digest, direct = upload.digest, run(exact(seed=7), Store(store.root / "direct"))
    wanted = tasks.tasks(upload, METHODS_RUN, 0, quick)
    assert digest not in tasks.live_uploads or tasks.live_uploads.pop(digest)
    engine = Engine(store, SerialExecutor())
    try:
        assert engine.submit(wanted, "test").snapshot().state == "done"
    finally:
        engine.close()
    records, _ = tasks.records(store, upload, METHODS_RUN, 0, quick)
    for record, same in zip(records, direct.records, strict=True):
        assert record.pvalue == same.pvalue


def test_a_record_of_an_earlier_version_reads_as_it_did(store):
    """Then the store had one mapping beside the arrays, which went by their own names."""
    task = tasks.DiagnoseTask(digest="0" * 32, method=SBC())
    effect = {"worst": 0.2, "k": 9, "heavy": False, "reading": "neither", "tied": 0.0,
              "relabelings": 99, "least_pvalue": 0.01, "row": 7, "x_o": [0.5, 1.0]}  # fmt: skip
    record = {"name": "sbc", "label": "SBC", "title": "SBC", "status": "ran", "reason": None,
              "about": "", "statistic": 0.1, "pvalue": 0.5, "draws_p": 3, "draws_q": 27,
              "seconds": 0.25, "effect": effect}  # fmt: skip
    meta, ranks = {"label": task.label, "record": record}, np.arange(3) / 3
    store.save("results", task.key, {"u": ranks}, spec=keys.canonical_text(task), meta=meta)
    read = task.load(store)
    assert read.to_json() == record
    assert (read.effect.row, read.effect.words) == (7, {"reading": "neither"})
    np.testing.assert_array_equal(read.arrays["u"], ranks)
    task.keep(store, read)
    assert task.load(store).to_json() == record


def test_a_table_that_has_gone_is_asked_for(store):
    with pytest.raises(ValueError, match="Upload it again"):
        tasks.load_upload(store, "0" * 32)


def record(name, p, *, status="ran"):
    method = METHODS[name]()
    reason = None if status == "ran" else "because"
    return Record(name, method.label, method.title, status, reason, method.statistic,
                  0.1, p if status == "ran" else None, 100, 100)  # fmt: skip


def test_holm_is_over_the_tests_that_ran():
    records = [
        record("multiple", 0.02),
        record("c2st", 0.5),
        record("uniform", 0, status="not run"),
    ]
    verdict = diagnosis.verdict(records, two_samples(n=1000))
    assert verdict.adjusted == {"Multiple": pytest.approx(0.04), "C2ST": pytest.approx(0.5)}
    assert verdict.verdict == "problem found"
    assert verdict.to_json()["methods"][2]["pvalue_adjusted"] is None


def test_pending_methods_count_as_silent():
    upload = two_samples(n=1000)
    early = diagnosis.verdict([record("multiple", 0.04)], upload, pending=1)
    assert early.verdict != "problem found"
    assert "so far" in early.sentence
    assert diagnosis.verdict([record("multiple", 0.01)], upload, pending=3).verdict == (
        "problem found"
    )
    assert diagnosis.verdict([], upload, pending=4).verdict == "no problem found"


@pytest.mark.parametrize("alpha", [0, 1, -1, float("nan")])
def test_the_level_is_a_level(alpha):
    with pytest.raises(ValueError, match="between 0 and 1"):
        diagnosis.verdict([], exact(), alpha=alpha)


def test_no_p_value_is_zero():
    outcome = Record.ran(C2ST(), _outcome(0.0), 0.1)
    assert outcome.pvalue == SMALLEST
    verdict = diagnosis.verdict([outcome], two_samples(n=1000))
    assert verdict.adjusted["C2ST"] > 0
    assert "< 1e-300" in verdict.sentence
    texts = {p: pvalue_text(p) for p in (1e-300, 3.2e-13, 0.00012, 0.034, 0.999, None)}
    assert list(texts.values()) == ["< 1e-300", "3.2e-13", "1.2e-4", "0.034", "1", "–"]


def _outcome(p):
    from validation_core.types import Budget, Outcome

    return Outcome(np.float64(0.9), np.float64(p), Budget(100, 100))


def test_words_never_say_that_q_is_right(store):
    for upload in (exact(n=400), exact(n=30), exact(n=3), exact(n=400, shift=2)):
        lower = run(upload, store, [SBC(), Multiple()]).sentence.lower()
        assert not any(
            word in lower for word in ("correct", "q is right", "pass", "accept", "valid")
        )


def test_what_json_holds(store):
    result = run(exact(), store).to_json()
    read = json.loads(json.dumps(result, allow_nan=False))
    assert {"verdict", "alpha", "seed", "n", "k", "dim_theta", "dim_x", "methods", "parameters",
            "where", "cause", "sensitivity", "version"} <= set(read)  # fmt: skip
    fields = {"name", "status", "reason", "statistic", "pvalue", "pvalue_adjusted", "draws_p",
              "draws_q", "seconds", "effect"}  # fmt: skip
    assert all(fields <= set(method) for method in read["methods"])
    assert [item["name"] for item in read["methods"] if item["counts"]] == ["omnibus"]
    assert read["pvalue"] == min(item["pvalue"] for item in read["families"])
    within = next(method for method in read["methods"] if method["name"] == "within_x")
    assert (within["draws_p"], within["draws_q"]) == (30, 300)


@pytest.mark.parametrize(("n", "k"), [(1000, 200), (200, 5), (100, 1)])
def test_the_shift_that_would_have_been_caught(n, k):
    """Fresh tables with that shift are rejected about 80 times in 100."""
    level = 0.01
    size = detectable_shift_by_ranks(n, k, level)
    rng = np.random.default_rng(5)
    truth = size + rng.standard_normal((300, 1, n))
    draws = rng.standard_normal((300, 1, n, k)).astype(np.float32)
    power = (SBC().test(TableScores(truth, draws), rng).pvalue <= level).mean()
    assert abs(power - 0.8) < 0.12


def test_the_shift_shrinks_with_rows():
    sizes = [detectable_shift_by_ranks(n, 50, 0.01) for n in (50, 200, 1000, 4000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] / sizes[3] == pytest.approx(2)
    assert detectable_shift_by_ranks(5, 50, 0.01) <= 4
    assert detectable_shift_by_scores(2, 2, 1e-9) == 4
    assert detectable_shift_by_scores(500, 500, 0.05) == pytest.approx(0.161, abs=0.01)


@pytest.mark.parametrize(
    ("pools", "rows", "k"), [(1, 300, 50), (30, 10, 50), (3, 100, 5), (300, 1, 3), (200, 1, 50)]
)
def test_the_shift_that_relabelling_finds_where_rows_share_their_draws(pools, rows, k):
    """A shared set of draws is off alike for all of its rows."""
    sizes = PoolSizes(np.full(pools, rows), np.full(pools, k))
    sd = np.sqrt(k / (rows + k - 1))  # of a mean that is standardised as if rows were independent
    critical = 3 * sd
    shift = detectable_shift_by_relabelling(sizes, critical)
    rng = np.random.default_rng(0)
    slots = rng.standard_normal((400, pools, rows + k))
    slots[..., :rows] += shift
    score = ndtri((rankdata(slots, axis=2) - 0.5) / (rows + k))
    z = score[..., :rows].sum(axis=(1, 2)) / (score[0, 0].std() * np.sqrt(pools * rows))
    assert abs((z >= critical).mean() - 0.8) < 0.09  # four sds; the rest is of the first order


def test_rows_that_share_their_draws_tell_no_more_than_their_draws():
    shifts = [
        detectable_shift_by_relabelling(PoolSizes(np.array([rows]), np.array([50])), 0)
        for rows in (1, 10, 300, 100_000)
    ]
    assert shifts == sorted(shifts, reverse=True)
    assert shifts[-1] == pytest.approx(ndtri(0.8) / np.sqrt(50), rel=0.02)


@pytest.mark.parametrize(("d", "grouped"), [(2, True), (60, True), (60, False)])
def test_the_pools_of_the_shift_are_those_that_are_tested(d, grouped):
    n, k = 40, 12
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2, 3], [20, 15, 4, 1]) if grouped else None
    q = rng.standard_normal((4 if grouped else n, k, d))
    table = PosteriorTable(
        rng.standard_normal((n, d)), np.zeros((n, 0)), q[groups] if grouped else q
    )
    training = rng.permutation(n)[: n // 2]
    held = relabelled_pools(n, k, d, 0, groups=groups, training=training)
    battery = statistics_of(table, 0, groups=groups, training=training).battery
    rows = battery.parts[0].block.rows
    assert held.truths.sum() == len(rows) == (n if d == 2 else n // 2)
    _, at, truths = np.unique(battery.pools.first[rows], return_index=True, return_counts=True)
    assert held.truths.tolist() == truths.tolist()
    assert (held.truths + held.draws).tolist() == battery.pools.size[rows[at]].tolist()


def test_half_of_the_rows_choose_among_many_parameters():
    """A shift that half of the rows find, and almost no larger: the others do not miss it."""

    def shift(n, d):
        return detectable_shift_by_relabelling(relabelled_pools(n, 20, d, 0), 3.5, d)

    assert shift(300, 51) == pytest.approx(shift(150, 50), rel=0.01)
    assert shift(300, 10_000) == pytest.approx(shift(150, 50), rel=0.1)
    assert shift(300, 10_000) > shift(300, 300) > shift(300, 51)
    # Where q errs in a fifth of x, its mean over all of x shows little to the rows that choose.
    one, many = (detectable_shift_over_x(150, 20, 4.0, 3.0, d) for d in (50, 1000))
    assert many > 1.1 * one


def test_an_even_number_of_draws_hides_no_parameter_that_is_shifted():
    """The true value in the very middle of ten draws is no outlier of the widths."""
    n, k, d, shift, found = 80, 10, 300, 0.8, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        theta, q = rng.standard_normal((n, d)), rng.standard_normal((n, k, d))
        theta[:, 0] += shift
        table = PosteriorTable(theta, np.zeros((n, 0)), q)
        found += 0 in statistics_of(table, seed).parameters
    assert found >= 11


def test_a_set_of_draws_that_all_rows_share_is_not_enough_data(store):
    rng = np.random.default_rng(0)
    q = np.broadcast_to(rng.standard_normal((1, 10, 1)), (300, 10, 1))
    theta, x = rng.standard_normal((2, 300, 1))
    found = run(Upload.of({"theta": theta, "x": x, "theta_q": q}), store)
    assert found.verdict == "not enough data"
    assert found.shift.size > 1
    assert "rows, each with draws of its own, would show one of 0.5" in found.sentence
    steps = diagnosis_card(found, {}).next_steps
    assert "simulations, each with draws of its own: then a bias of 0.5" in steps[0]


def test_a_report_escapes_names(store):
    arrays = exact(n=100, shift=2).arrays()
    hostile = np.array(["<script>alert(1)</script>", "<b>b"])
    result = run(Upload.of({**arrays, "theta_names": hostile}), store)
    document = html(result)
    assert "<script>alert" not in document
    assert "<b>b" not in document
    assert document.count("&lt;script&gt;") > 1
    assert "Problem found" in document


def test_progress_is_told_and_can_stop_a_training(store):
    upload = exact()
    tasks.register_upload(upload)

    class Enough(Exception):
        pass

    def stop(fraction, live):
        raise Enough

    for method in (WithinX(), CoLT()):
        network = tasks.tasks(upload, [method], 0, quick)[0]
        with pytest.raises(Enough):
            network.run(store, stop)
        assert not network.done(store)


def test_what_a_localizer_learns_from_is_not_tested(store):
    upload = exact(n=101, k=7)
    anchors = learning.build_training_set(upload, learning.recipe(upload, CoLT()), 3)
    test = held_out_table(upload, 3)
    learnt, watched = len(anchors.learn), len(anchors.watch)
    assert (learnt + watched, len(test)) == (50, 51)
    together = np.concatenate([anchors.learn.theta, anchors.watch.theta, test.theta])
    assert len(np.unique(together[:, 0])) == 101
    # Each row keeps its x and its draws.
    rows = {float(t): i for i, t in enumerate(upload.data.theta[:, 0])}
    which = [rows[float(t)] for t in anchors.learn.theta[:, 0]]
    np.testing.assert_array_equal(anchors.learn.x, upload.data.x[which])
    np.testing.assert_array_equal(anchors.learn.q, upload.data.q[which])


@pytest.mark.parametrize(
    ("n", "k", "d"), [(40, 1, 1), (1000, 200, 2), (1000, 200, 100), (50_000, 60, 3), (60, 4000, 2)]
)
def test_a_localizer_is_offered_what_time_and_memory_allow(n, k, d):
    shape = (n, k, d)
    upload = Upload.of({
        "theta": np.zeros((n, d)), "x": np.arange(n, dtype=float)[:, None],
        "theta_q": np.zeros((k, 1, 1), np.float32).reshape(1, k, 1).repeat(n, 0).repeat(d, 2),
    }, order="NKD")  # fmt: skip
    assert upload.data.q.shape == shape
    how = learning.recipe(upload, CoLT())
    assert how.anchors <= n // 2
    assert how.draws <= k
    assert how.anchors * how.draws <= 50_000
    assert how.anchors * how.draws * d <= 4_000_000
    assert how.anchors >= min(n // 2, 400)
    paper = learning.recipe(upload, CoLT(preset="paper"))
    assert (paper.anchors, paper.draws, paper.batch) == (how.anchors, how.draws, how.anchors)


def test_fresh_anchors_need_a_simulator(store):
    result = run(exact(n=100), store, [CoLT(fresh=True)])
    assert result.records[0].status == "not run"
    assert "simulator" in result.records[0].reason


def test_colt_says_where(store):
    """A narrow q about the right mean: the ball around it holds less truth than q gives it."""
    upload = exact(n=400, k=50, width=0.5)
    result = run(upload, store, [CoLT()], how=shorter)
    (record,) = result.records
    effect = record.effect.to_json()
    assert {"u_star", "inside", "inside_low", "inside_high", "low", "high", "tied",
            "localizer_distance", "training_seconds"} <= set(effect)  # fmt: skip
    assert effect["inside_high"] < effect["u_star"]
    assert 0 < effect["low"] < record.statistic < effect["high"]
    (where,) = result.to_json()["where"]
    assert where["method"] == "colt"
    assert where["label"] == record.label
    assert where["inside"] == effect["inside"]
    assert where["distance"] == record.statistic
    assert [item["parameter"] for item in where["centre"]] == ["theta_1", "theta_2"]
    # The posterior mean at an x near the median is near 0.
    assert all(abs(item["value"]) < 0.5 for item in where["centre"])
    assert np.abs(where["x"]).max() < 0.5
    text = " ".join(record.kind.findings(record))
    assert f"q puts {effect['u_star']:.0%} of its mass" in text
    assert "Kolmogorov distance d~ for the learned region" in text
    assert "ACLD" not in html(result)
    assert html(result).count("Kolmogorov distance d~") == 1
    histogram, cumulated = pictures(record)
    assert "peak at the left" in histogram.caption
    assert "u*" in cumulated.caption
    marked = [shape.x0 for shape in cumulated.figure.layout.shapes if shape.line.dash == "dot"]
    assert marked == [effect["u_star"]]


def test_where_is_empty_without_colt(store):
    assert run(exact(), store, [SBC()]).to_json()["where"] == []
    assert run(exact(n=39), store, [CoLT()]).to_json()["where"] == []
    assert diagnosis.findings(record("sbc", 0.5)) == ()
    assert diagnosis.findings(record("colt", 0, status="not run")) == ()


def test_two_localizers_are_two_tests(store):
    """Each with its own network, and Holm over both."""
    methods = [CoLT(), CoLT(embedding="identity")]
    result = run(exact(n=100), store, methods)
    assert len(list((store.root / "models").iterdir())) == 2
    assert [item["label"] for item in result.to_json()["where"]] == [m.label for m in methods]
    assert set(result.adjusted) == {m.label for m in methods}


@pytest.mark.parametrize("embedding", ["identity", "fourier"])
def test_a_map_shows_the_ball_of_the_record(embedding, store):
    upload, method = exact(n=101, k=9, width=0.5), CoLT(embedding=embedding)
    result = run(upload, store, [method], seed=2).records[0]
    (task,) = tasks.maps(upload, [SBC(), method], 2, quick)
    task.run(store, lambda fraction, live: None)
    stored = task.load(store)
    assert float(stored.u_star) == pytest.approx(result.effect.numbers["u_star"], abs=1e-12)
    assert float(stored.inside) == result.effect.numbers["inside"]
    assert len(list((store.root / "models").iterdir())) == 1
    remaining = held_out_table(upload, 2)
    assert set(stored.truth[:, 0, 0]) <= set(remaining.theta[:, 0].astype(np.float32))


def test_no_map_without_a_localizer():
    assert tasks.maps(exact(), [SBC(), WithinX()], 0) == ()
    assert tasks.maps(two_samples(), METHODS_RUN, 0) == ()
    assert tasks.maps(exact(n=39), METHODS_RUN, 0) == ()


def test_ties_are_remarked_on(store):
    arrays = exact(n=200).arrays()
    rounded = Upload.of({name: np.round(array) for name, array in arrays.items()})
    result = run(rounded, store, [SBC(), CoLT(embedding="identity")])
    colt = by_name(result)["colt"]
    assert colt.effect.numbers["tied"] > 0.01
    remark = diagnosis.remark(colt)
    assert "broken at random" in remark
    assert result.to_json()["methods"][1]["remark"] == remark
    assert "broken at random" in html(result)
    assert diagnosis.remark(by_name(result)["sbc"]) is None
    direct = run(exact(n=200), store, [CoLT(embedding="identity")]).records[0]
    assert diagnosis.remark(direct) is None


@pytest.mark.parametrize("n", [60, 200])
def test_one_parameter(n, store):
    rng = np.random.default_rng(n)
    theta = rng.standard_normal((n, 1))
    x = theta + rng.standard_normal((n, 1))
    q = x[:, None] / 2 + math.sqrt(0.5) * rng.standard_normal((n, 12, 1))
    upload = Upload.of({"theta": theta, "x": x, "theta_q": q})
    result = run(upload, store)
    assert by_name(result)["colt"].status == "ran"
    assert result.verdict != "problem found"


def test_a_localizer_has_its_whole_start_on_an_upload(store):
    """Two draws, two columns of x that tell nothing: every start that there is runs."""
    arrays = own_arrays(exact(n=60, k=2))
    arrays["x"][:] = 1.0
    short = {"steps": 2, "blur_steps": 2, "batch": 8}
    how = lambda upload, method: replace(learning.recipe(upload, method), **short)  # noqa: E731
    assert run(Upload.of(arrays), store, [CoLT()], how=how).records[0].status == "ran"


def test_a_p_value_that_is_only_bounded_is_not_multiplied():
    """1e-300 stands for "less than a float can hold": Holm makes no number of it."""
    upload = exact()
    lost = replace(Record.not_run(SBC(), ""), status="ran", pvalue=1e-300, reason=None)
    other = replace(Record.not_run(TARP(), ""), status="ran", pvalue=0.5, reason=None)
    blank = {name: np.zeros((1, 60)) for name in ("u",)}
    arrays = {**blank, "statistics": np.ones(1), "pvalues": np.zeros(1), "kinds": np.zeros(1)}
    item = Upload.of({"theta": upload.data.theta[:, :1], "x": upload.data.x,
                     "theta_q": upload.data.q[..., :1]})  # fmt: skip
    verdict = diagnosis.verdict([replace(lost, arrays=arrays), other], item)
    assert equals(verdict.adjusted["SBC"]) == "< 1e-300"
    assert verdict.adjusted["TARP"] == 0.5


@pytest.mark.parametrize(("shift", "words_"), [(5.0, "too high"), (-5.0, "too low")])
def test_a_shift_beyond_all_draws_is_no_wrong_width(shift, words_, store):
    result = run(exact(n=100, k=30, shift=shift), store, [SBC()])
    assert all(words_ in parameter.reading for parameter in result.parameters)
