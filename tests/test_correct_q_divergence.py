"""The Symmetric divergence page, as test_correct_q.py walks the others: no sentence calls an exact
q wrong, and the nats said are those drawn, on every model and in every view. From what is shipped.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.picture_reading import Picture, false_claims
from validation_core.bayes import MODELS, Concrete, HeartTransplants
from validation_core.bayes.algorithms import ALGORITHMS
from validation_core.store import SHIPPED, Store
from validation_core.symmetric_divergence import (
    FOUR,
    MS,
    InferenceRun,
    Plan,
    broad_priors,
    collect,
    meaning,
    one_run,
    terms,
    views,
)
from validation_core.symmetric_divergence.bounds import BoundsStudy, bounds
from validation_core.symmetric_divergence.bounds_picture import bounds_payload
from validation_core.symmetric_divergence.geweke import JointTestStudy, joint_test
from validation_core.symmetric_divergence.geweke_picture import joint_payload
from validation_core.symmetric_divergence.lines import SCALE
from validation_core.symmetric_divergence.runs import trained
from validation_core.symmetric_divergence.shipped import FIRST

VIEWS = ("iterations", "each-m", "over-m")
EXACT = [
    InferenceRun(model=model(), inference=ALGORITHMS["exact"], iterations=10, datasets=25)
    for model in (HeartTransplants, Concrete)
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("store"), gallery=SHIPPED)


def _nats(text):
    """A number of nats as it is written, with spaces that do not break and raised digits."""
    plain = text.replace(",", "").translate(str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789"))
    return float(plain.replace("\xa0×\xa010", "e"))


def _back(places):
    """Nats at places of an axis."""
    return SCALE.unit * np.sinh(np.ravel(places) * np.log(10))


def _curves(drawn, panel, at):
    """Each curve of a panel by its label: its medians, and their intervals or None."""
    bars = [mark for mark in drawn.marks("points", panel, **at) if mark["low"] is not None]
    curves = {}
    for line in drawn.marks("line", panel, **at):
        if line["label"] not in ("", "1/M"):
            same = [bar for bar in bars if np.array_equal(bar["y"], line["y"], equal_nan=True)]
            low = _back(same[0]["low"]) if same else None
            high = _back(same[0]["high"]) if same else None
            curves[line["label"]] = _back(line["y"]), low, high
    return curves


def _agrees(said, nats):
    """Whether what is said of a median is the number drawn, to its two digits."""
    number = re.match(r"(.+?) nats \(95%", said)
    return np.isclose(_nats(number[1]), nats, rtol=0.06, atol=1e-3) if number else (
        nats < 1e-3 and re.match("less than 0.001 nats|0 nats to rounding", said) is not None
    )  # fmt: skip


def _plan(view, names, inferences):
    models = tuple(MODELS[name]() for name in names)
    own = [ALGORITHMS[name] for name in inferences]
    if view != "iterations" and "iwvi" in inferences:
        own = list(dict.fromkeys([*(one for one in own if one.name != "iwvi"), *trained()]))
    return Plan(models=models, inferences=tuple(own))


_NAMED = re.compile(
    r"(?:no median is told from 0; )?(?P<far>[^:;]+) "
    r"has the largest median, (?P<most>.+?\)|[^(]+)\."
    r"(?: Largest mean: (?P<mean>.+? on [^,]+), (?P<size>.+?) nats(?:, most [^.]+)?\.)?"
    r" Median nearest to 0: (?P<near>.+ on [^,]+), (?P<least>.+)\."
)


@pytest.mark.parametrize("view", VIEWS)
def test_the_nats_said_are_those_drawn(view, store):
    plan = _plan(view, MODELS, FOUR)
    drawn = Picture(views.payload(view, plan, collect(plan, store, {})))
    first, second = drawn.head["sliders"]
    titles = [panel["title"] for panel in drawn.head["panels"]]
    for at in itertools.product(first["values"], second["values"]):
        places = {first["name"]: at[0], second["name"]: at[1]}
        curves = {
            f"{label} on {title}": curve
            for i, title in enumerate(titles)
            for label, curve in _curves(drawn, i, places).items()
        }
        here = max(int(np.flatnonzero(np.isfinite(y)).max(initial=0)) for y, *_ in curves.values())
        there = {name: y[here] for name, (y, *_) in curves.items() if np.isfinite(y[here])}
        headline = drawn.headline(**places)
        said = _NAMED.search(headline.partition(": ")[2])
        assert said, headline
        sizes = {name: abs(nats) for name, nats in there.items()}
        assert sizes[said["far"]] == max(sizes.values()), headline
        assert sizes[said["near"]] == pytest.approx(min(sizes.values()), abs=1e-6), headline
        assert _agrees(said["most"], there[said["far"]]), headline
        assert _agrees(said["least"], there[said["near"]]), headline
        assert said["mean"] is None or said["mean"] in there, headline


def _texts(payload):
    return Picture(payload).texts()


@pytest.mark.parametrize("run", EXACT, ids=lambda run: run.model.name)
def test_an_exact_q_is_called_wrong_nowhere(run, store):
    run.run(store, lambda fraction, live: None)
    for view in VIEWS:
        plan = Plan(models=(run.model,), inferences=(run.inference,), iterations=(10,),
                    datasets=run.datasets)  # fmt: skip
        texts = _texts(views.payload(view, plan, collect(plan, store, {})))
        assert any("0 nats to rounding" in text for text in texts)
        assert false_claims(texts) == []
    result = run.load(store)
    shown = _texts(one_run.terms_payload(terms.spread(result)))
    assert any("every term is 0 but for rounding" in text for text in shown)
    assert false_claims(shown) == []
    numbers = terms.numbers(run, result)
    parts = [(task, terms.exact(task)) for task in terms.tasks(run, numbers.places)]
    posterior = one_run.gather_draws(numbers, parts, run)
    assert false_claims(
        _texts(one_run.datasets_payload(run, result, numbers, posterior, (0, 1)))
    ) == []  # fmt: skip
    study = JointTestStudy.about(run)
    study.run(store, lambda fraction, live: None)
    test = joint_test(study.load(store), run.model.names, study.seed)
    assert false_claims(_texts(joint_payload(test, correct=True))) == []


def test_the_terms_said_are_those_drawn(store):
    run = replace(FIRST, iterations=300, datasets=10)
    run.run(store, lambda fraction, live: None)
    result = run.load(store)
    spread = terms.spread(result)
    drawn, unit = Picture(one_run.terms_payload(spread)), terms.term_scale(spread.d).unit
    for i, m in enumerate(MS):
        headline = drawn.headline(m=m)
        mean = np.ravel(drawn.marks("vline", 0, m=m)[-1]["x"])
        (said,) = re.findall(r"mean term is (.+?) nats", headline)
        np.testing.assert_allclose(_nats(said), unit * np.sinh(mean * np.log(10)), rtol=0.06)
        assert ("evidence that q is not p" in headline) == (spread.pvalue[i] <= 0.05)
    drawn = Picture(
        bounds_payload(*bounds(result, BoundsStudy(of=run).compute(store, lambda *_: None)))
    )
    for i, caption in enumerate(panel["caption"] for panel in drawn.head["panels"]):
        upper, lower = (_back(mark["y"]) for mark in drawn.marks("points", i))
        said = [_nats(nats) for nats in re.findall(r"(?:: |, )(\S+) nats \(95%", caption)]
        np.testing.assert_allclose(said, (upper - lower)[[0, -1]], rtol=0.06, atol=2e-3)


def test_the_other_numbers_said_are_those_drawn(store):
    drawn = Picture(broad_priors.broad_payload(broad_priors.load(store)))
    for width in broad_priors.WIDTHS:
        (middle,) = (_back(mark["y"]) for mark in drawn.marks("line", 1, width=width))
        (said,) = re.findall(r"median of d is (.+?) nats? over", drawn.headline(width=width))
        np.testing.assert_allclose(_nats(said), middle[0], rtol=0.06)
    drawn = Picture(meaning.meaning_payload())
    for nats in terms.NATS:
        (off,) = re.findall(r"a mean that is (\S+) sd off", drawn.headline(nats=nats))
        q = drawn.marks("line", 0, nats=nats)[1]
        assert abs(float(off) - np.average(q["x"], weights=np.ravel(q["y"]))) < 0.02
    drawn = Picture(meaning.augmented_payload())
    for off in meaning.OFF:
        (said,) = re.findall(r"Algorithm 3 estimates (\S+) \(", drawn.headline(off=off))
        estimate = drawn.marks("points", 0, off=off)[-1]
        np.testing.assert_allclose(_nats(said), np.ravel(estimate["y"]), rtol=0.06)
    study = JointTestStudy.about(FIRST)
    test = joint_test(study.load(store), FIRST.model.names, study.seed)
    drawn = Picture(joint_payload(test))
    for turn, row in enumerate(test.drift):
        said = drawn.headline(turn=turn + 1)
        assert said.endswith(f"{test.names[int(np.abs(row).argmax())]}.")
        assert np.ravel(drawn.marks("vline", 1, turn=turn + 1)[-1]["x"]) == pytest.approx(
            np.abs(row).max(), abs=1e-4
        )
