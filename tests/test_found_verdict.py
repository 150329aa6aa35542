"""The verdict on a trained estimator that is kept without its table, and true nats in a line."""

from dataclasses import replace

import numpy as np

from validation_core import codec
from validation_core.benchmarks import Gaussian, Trained
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    Heat,
    HLine,
    Note,
    Panel,
    Points,
    Shades,
)
from validation_core.explorers.training import found_verdict
from validation_core.explorers.training.found_verdict import FoundVerdict
from validation_core.explorers.training.nats import NatsStudy, nats_line, nats_text
from validation_core.report import card
from validation_core.scores.trained_scores import network_at
from validation_core.store import Store

EVERY = [
    Band(np.arange(3.0), np.zeros(2), np.ones(2), color=style.Q),
    Bars(np.arange(3.0), np.ones(2), color=style.P),
    Heat(np.arange(3.0), np.arange(3.0), Shades(np.eye(2), limit=1.0)),
    HLine(0.5, label="level"),
    Note(0.5, 0.5, "here"),
    Points([0.1, 0.2], [0.3, 0.4], color=style.P),
]


def test_a_card_is_drawn_from_the_store_as_it_was():
    panel = Panel(
        EVERY, x=Axis((0, 2), ticks=range(3)), y=Axis((0, 2)), legend=[("p", "", "band")]
    )
    (study, *_) = found_verdict.shipped()
    usual = study.load(Store.usual())
    found = usual._replace(picture=Drawn("All marks", panel, "Read it so."))
    again = codec.load(FoundVerdict, *codec.dump(found))
    assert [type(mark) for mark in again.picture.picture.marks] == [type(one) for one in EVERY]
    assert card.html(again.card) == card.html(found.card)


def test_every_shipped_verdict_ended_and_says_what_it_shows():
    for study in found_verdict.shipped():
        found = study.load(Store.usual())
        assert found.state == "problem", study.label  # as the true nats say, too
        assert found.nats.forward.interval()[0] > 0
        assert "did not end" not in " ".join(fact.text for fact in found.facts)
        html = card.html(found.card)
        assert found.title in html
        assert "<svg" in html


def test_true_nats_stand_in_a_line_where_they_are_known():
    store, benchmark = Store.usual(), Trained(task="sir")
    said = nats_line(benchmark, (400.0, 1000.0, 77.0), store)
    known = NatsStudy(training=network_at(benchmark, 400.0)).load(store)
    assert f"after 400 simulations {nats_text(known.forward)}, after 1,000 simulations" in said
    assert "77" not in said
    assert said.endswith(benchmark.simulator.quasi)
    assert nats_line(replace(benchmark, training_seed=99), (400.0,), store) == ""
    assert nats_line(Gaussian(), (0.3,), store) == ""
