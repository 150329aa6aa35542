"""Parts of the Symmetric divergence page under AppTest: what they draw, and what they say."""

import dataclasses
import json

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.ui.services import services
from validation_core.bayes import MODELS
from validation_core.bayes.algorithms import ALGORITHMS
from validation_core.scores.trained_scores import TrainTask
from validation_core.store import Store
from validation_core.symmetric_divergence import MS, InferenceRun, nats_text
from validation_core.symmetric_divergence import terms as dataset_terms
from validation_core.symmetric_divergence.learned import ClassifierDivergence
from validation_core.symmetric_divergence.terms import RunNats, run_nats, spread

K = 12


@pytest.fixture(autouse=True)
def _fresh():
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def ran(model="heart_transplants", inference="laplace", iterations=300, **options):
    run = InferenceRun(
        model=MODELS[model](), inference=ALGORITHMS[inference], iterations=iterations,
        **{"datasets": K, **options},
    )  # fmt: skip
    store = services().store
    run.run(store, lambda *_: None)
    return run, run.load(store)


def spoiled(found, lost):
    """As if inference had failed on some data sets."""
    ok = found.ok.copy()
    ok[lost] = False
    weights = {
        side: np.where(ok[:, None], getattr(found, side), np.nan)
        for side in ("truth", "draws", "drawn")
    }
    if found.q is not None:
        weights["mean"] = np.where(ok[:, None], found.q.mean, np.nan)
        weights["scale"] = np.where(ok[:, None, None], found.q.scale, np.nan)
    return dataclasses.replace(found, ok=ok, **weights)


def shown(part, *args):
    app = AppTest.from_function(part, args=args, default_timeout=120).run()
    assert not app.exception, app.exception
    return app


def said(app):
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error)
    return "\n".join(one.value for kind in kinds for one in kind)


def unpacked(app):
    """The description of the only chart, and a function: a packed array -> its numbers."""
    (node,) = app.get("bidi_component")
    message = node.proto.bytes
    size = int.from_bytes(message[:4], "little")
    head, rest = json.loads(message[4 : 4 + size]), message[4 + size :]

    def numbers(packed):
        size = packed.get("bytes", 4)
        kind, count = {1: "<i1", 2: "<i2", 4: "<f4"}[size], int(np.prod(packed["shape"]))
        return np.frombuffer(rest, kind, count, size * packed["first"]).reshape(packed["shape"])

    return head, numbers


def sentences(head, numbers, value):
    """A text over sliders at each of their places."""
    return [value["strings"][int(i)] for i in numbers(value).ravel()]


@pytest.mark.parametrize(
    ("nats", "written"), [(0.166, "0.17"), (0, "0"), (99.7, "100"), (-0.04, "−0.04"),
                          (1234.4, "1,230"), (1.2e10, "1.2 × 10¹⁰"), (-3e-16, "−3 × 10⁻¹⁶"),
                          (np.nan, "unknown"), (np.inf, "infinitely many")],
)  # fmt: skip
def test_sizes_in_words(nats, written):
    assert nats_text.format_number(nats).replace("\u00a0", " ") == written


@pytest.mark.parametrize(
    ("nats", "written"), [(1.04, "1 nat"), (-1, "−1 nat"), (0, "0 nats"), (1.1, "1.1 nats")]
)
def test_one_nat_is_no_plural(nats, written):
    assert nats_text.with_unit(nats) == written


@pytest.mark.parametrize(
    ("nats", "written"),
    [(0, "0"), (0.01, "0.01"), (-100, "−100"), (1e6, "10⁶"), (-1e10, "−10¹⁰"), (1e-5, "10⁻⁵")],
)
def test_powers_of_ten_in_words(nats, written):
    assert nats_text.tick_label(nats) == written


def terms_part(run, found):
    from pages.divergence import terms

    terms.show(run, found)


@pytest.mark.parametrize("inference", ["laplace", "vi", "exact"])
def test_terms_at_every_m(inference):
    run, found = ran(inference=inference, iterations=30)
    head, numbers = unpacked(shown(terms_part, run, found))
    assert head["sliders"][0]["values"] == list(MS)
    histogram, null = head["panels"]
    bars = next(mark for mark in histogram["marks"] if mark["kind"] == "bars")
    np.testing.assert_array_equal(numbers(bars["y"]).sum(-1), K)
    edges = numbers(bars["x"])
    assert np.abs(edges).min() < 1e-6, "no bin holds terms of both signs"
    np.testing.assert_allclose(np.diff(edges), edges[1] - edges[0], rtol=1e-4)
    assert all(tick == round(tick) for tick in histogram["y"]["ticks"])
    grey = next(mark for mark in null["marks"] if mark["kind"] == "bars")
    np.testing.assert_array_equal(numbers(grey["y"]).sum(-1), 1999)
    text = sentences(head, numbers, head["headline"]["parts"]["said"])
    expected = "0 but for rounding" if inference == "exact" else "flipping signs gives p"
    assert all(expected in one for one in text)


def test_terms_start_at_the_m_that_inference_was_made_for():
    run, found = ran(inference="iwvi", iterations=3)
    head, _ = unpacked(shown(terms_part, run, found))
    assert head["at"] == [10.0]


def test_terms_say_what_is_left_out():
    run, found = ran()
    app = shown(terms_part, run, spoiled(found, [2, 7]))
    assert f"no q on 2 of {K} data sets" in said(app)
    head, numbers = unpacked(app)
    bars = next(mark for mark in head["panels"][0]["marks"] if mark["kind"] == "bars")
    np.testing.assert_array_equal(numbers(bars["y"]).sum(-1), K - 2)


def test_terms_without_any_q():
    run, found = ran()
    app = shown(terms_part, run, spoiled(found, np.arange(K)))
    assert f"no q on {K} of {K}. There is no mean to draw" in said(app)
    assert not app.get("bidi_component")


def test_a_heavy_tail_is_said():
    run, found = ran(datasets=60)
    truth = found.weights.truth.copy()
    truth[:, 0] += 1e3 * (1 - np.arange(60) / 60) ** -4.0  # quantiles of a Pareto law
    heavy = dataclasses.replace(found, truth=truth)
    head, numbers = unpacked(shown(terms_part, run, heavy))
    captions = sentences(head, numbers, head["panels"][0]["caption"])
    assert "The tail is heavy" in captions[0]
    limits = head["panels"][0]["x"]["limits"]
    assert limits[1] - limits[0] < 30, "ten powers of ten fit on the axis"


def test_parts_wait_for_a_run():
    run = InferenceRun(model=MODELS["hospitals"](), inference=ALGORITHMS["vi"], iterations=5)
    for part in (terms_part, opened_part):
        app = shown(part, run, None)
        assert "appear here" in said(app)
        assert not app.get("bidi_component")


def opened_part(run, found):
    from pages.divergence import opened as divergence_opened

    divergence_opened.show(run, found)


@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("inference", ["laplace", "iwvi"])
def test_one_data_set_of_every_model(model, inference):
    run, found = ran(model, inference, iterations=2 if inference == "iwvi" else 200, datasets=3)
    app = shown(opened_part, run, found)
    head, _ = unpacked(app)
    picture, order, written = head["panels"]
    assert (picture["x"]["label"], picture["y"]["label"]) == run.model.names[:2]
    assert order["click"] == "k"
    assert len(app.selectbox) == 2 * (run.model.dims[0] > 2)
    kinds = [mark["kind"] for mark in written["marks"]]
    assert kinds.count("note") > 8
    assert "z and z~ could swap places" in said(app)


def test_the_posterior_comes_from_the_engine():
    run, found = ran("hospitals", iterations=1000, datasets=3)
    head, numbers = unpacked(shown(opened_part, run, found))
    task = dataset_terms.tasks(run, np.arange(3))[0]
    assert task.done(services().store)
    blue = head["panels"][0]["marks"][0]
    z = task.load(services().store).z
    order = dataset_terms.numbers(run, found).places
    x, mark = z[order][:, :160, 0], numbers(blue["x"])
    assert mark.shape == x.shape
    for one, other in zip(mark, x, strict=True):  # framed anew at each place
        assert np.corrcoef(one, other)[0, 1] > 0.99999


def test_the_written_numbers_add_up():
    run, found = ran()
    head, numbers = unpacked(shown(opened_part, run, found))
    notes = [m for m in head["panels"][2]["marks"] if isinstance(m["label"], dict)]
    values = [
        [float(s.replace("−", "-").replace(",", "").removesuffix(" nats")) for s in
         sentences(head, numbers, mark["label"])]
        for mark in notes
    ]  # fmt: skip
    p, p_q, q, q_q, w, w_q, d = np.array(values)
    for whole, parts in ((w, p - q), (w_q, p_q - q_q), (d, w - w_q)):
        np.testing.assert_allclose(parts, whole, atol=0.0021, rtol=1e-4)
    assert (np.diff(d) >= 0).all()


def test_jumps_move_the_slider():
    run, found = ran()
    app = shown(opened_part, run, found)
    places = {"Largest d": K - 1, "Smallest d": 0, "Median d": K // 2}
    for label, place in places.items():
        button = next(one for one in app.button if one.label == label)
        app = button.click().run()
        assert not app.exception
        assert unpacked(app)[0]["at"] == [float(place)]


def test_data_sets_without_q_are_named():
    run, found = ran()
    app = shown(opened_part, run, spoiled(found, [0, 4]))
    assert f"2 of {K} data sets (1, 5)" in said(app)
    assert len(unpacked(app)[0]["sliders"][0]["values"]) == K - 2
    app = shown(opened_part, dataclasses.replace(run, seed=1), spoiled(found, np.arange(K)))
    assert "no q on any data set" in said(app)


def test_an_exact_q_that_is_no_normal_shows_its_draws():
    run, found = ran(inference="exact", iterations=1)
    app = shown(opened_part, run, found)
    head, numbers = unpacked(app)
    rings = next(m for m in head["panels"][0]["marks"] if m.get("symbol") == "ring")
    assert np.isfinite(numbers(rings["x"])).all()
    assert "Orange circles are q" in said(app)


def test_a_q_too_narrow_to_be_seen_is_said():
    run, found = ran()
    thin = dataclasses.replace(found, scale=found.scale / 1e3)
    head, numbers = unpacked(shown(opened_part, run, thin))
    captions = sentences(head, numbers, head["panels"][0]["caption"])
    assert all("q is too narrow" in one for one in captions)


def meaning_part(nats, there=True):
    from pages.divergence import meaning

    meaning.show(nats, there=there)


@pytest.mark.parametrize(
    ("nats", "start", "words"),
    [(0.2, 0.2, "starts beside"), (4e7, 10, "beyond the slider"), (-0.1, 1e-3, "no estimate"),
     (None, 1e-3, "no estimate"), (1, 1, "beside the 1 nat estimated")],
)  # fmt: skip
def test_the_meaning_of_nats(nats, start, words):
    app = shown(meaning_part, nats and RunNats(nats, nats, few=False, auc=0.75))
    head, numbers = unpacked(app)
    assert head["at"] == pytest.approx([start], rel=0.02)
    assert words in said(app)
    units = sentences(head, numbers, head["headline"]["parts"]["nats"])
    assert [each for each in units if each.endswith("is")] == ["1 nat is"]
    captions = sentences(head, numbers, head["panels"][0]["caption"])
    assert "AUC 0.624" in captions[46], "Phi(sqrt(0.2 / 2)), at 0.1995"


def test_a_mean_that_few_carry_is_not_what_draws_look_like():
    """Heart transplants, VI after 30,000 iterations: the AUC is that of 0.04 nats, not of 166."""
    app = shown(meaning_part, RunNats(165.6, 0.0406, few=True, auc=0.55))
    head, _ = unpacked(app)
    assert head["at"] == pytest.approx([0.0406], rel=0.06)
    assert "sd apart" not in said(app)
    assert "carry the mean, 166 nats: the slider starts at the median, 0.041 nats." in said(app)
    assert "tells true values from q's draws with AUC 0.55" in said(app)
    below = shown(meaning_part, RunNats(3.1, -0.007, few=True, auc=0.48))
    assert unpacked(below)[0]["at"] == pytest.approx([1e-3])
    far = said(shown(meaning_part, RunNats(1e4, 100.0, few=True, auc=1.0)))
    assert "the median, 100 nats: of two normals of one width, the means would be 10 sd" in far


def test_nothing_yet_has_no_nats():
    assert "estimated here yet" in said(shown(meaning_part, None, False))


def test_nats_of_a_run_say_who_carries_their_mean():
    run, found = ran()
    nats = run_nats(run, found)
    usual = spread(found)
    assert (nats.mean, nats.auc) == pytest.approx((usual.mean[0], usual.auc[0]))
    truth = found.truth.copy()
    truth[3] += 1e6
    one = run_nats(run, dataclasses.replace(found, truth=truth))
    assert one.few
    assert one.typical == one.median == pytest.approx(nats.median, rel=0.5)
    truth[3] = np.inf
    assert run_nats(run, dataclasses.replace(found, truth=truth)) is None


def augmented_part():
    from pages.divergence import augmented

    augmented.show()


def test_the_augmented_bound_is_above_and_touches():
    head, numbers = unpacked(shown(augmented_part))
    marks = head["panels"][0]["marks"]
    level = next(m for m in marks if m["kind"] == "hline")["y"]
    bound = numbers(next(m for m in marks if m["kind"] == "line")["y"])
    off = np.array(head["sliders"][0]["values"])
    np.testing.assert_allclose(bound - level, off**2, atol=1e-5)
    estimates = next(m for m in marks if m["kind"] == "points" and m["symbol"] == "diamond")
    low, high = (numbers(estimates[side]).ravel() for side in ("low", "high"))
    missed = int(((bound < low) | (bound > high)).sum())
    assert missed <= 6, "of 31 intervals, each of which misses one time in 20"
    assert "no more, as r is q's own law" in json.dumps(head)


def learned_part(run):
    from pages.divergence import learned

    learned.show(run)


def test_a_classifier_is_asked_for_and_shown(monkeypatch):
    monkeypatch.setattr("validation_core.symmetric_divergence.learned.TESTED", 60)
    run, _ = ran("concrete", iterations=1000, datasets=2)
    monkeypatch.setattr(ClassifierDivergence.__init__, "__kwdefaults__", {"rows": 64})
    app = shown(learned_part, run)
    assert "appears here" in said(app)
    (button,) = app.button
    app = button.click().run()
    assert not app.exception
    assert "**estimate** is" in said(app)
    head, _ = unpacked(app)
    assert [panel["title"] for panel in head["panels"]] == ["The divergence", "Term by term"]
    assert isinstance(services().store, Store)
    assert TrainTask(trainings=(ClassifierDivergence(of=run).training,)).done(services().store)


def test_what_no_benchmark_has_is_said():
    clipped = dataclasses.replace(ALGORITHMS["laplace"], clip=True)
    run = InferenceRun(model=MODELS["hospitals"](), inference=clipped, iterations=10)
    app = shown(learned_part, run)
    assert app.info
    assert not app.button
