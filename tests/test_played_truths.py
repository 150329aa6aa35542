"""Tables in which a draw plays the truth: slots picked evenly, scores of those that are picked."""

import numpy as np
import pytest

from validation_core.relabelling.played_truths import (
    SelfMadeTables,
    pick_slots,
    pick_slots_after_observed,
    played,
    tables_at_once,
)
from validation_core.rng import stream
from validation_core.statistics.permutation import share_beyond, step_down
from validation_core.types import PosteriorTable


def test_every_slot_plays_the_truth_equally_often():
    which = pick_slots(4000, 3, 5, stream(0, "slots"))
    shares = np.stack([(which == slot).mean(0) for slot in range(5)])
    np.testing.assert_allclose(shares, 0.2, atol=0.03)


def test_picks_in_pieces_are_those_at_once():
    """Null tables may be made some at a time, in pieces of any size."""
    rng = stream(1, "slots")
    pieces = [pick_slots(count, 7, 32, rng) for count in (1, 5, 94)]
    np.testing.assert_array_equal(
        np.concatenate(pieces), pick_slots(100, 7, 32, stream(1, "slots"))
    )


def test_the_observed_table_comes_first():
    which = pick_slots_after_observed(9, 4, 6, stream(2, "slots"))
    assert which.shape == (10, 4)
    assert not which[0].any()
    assert which[1:].any()


@pytest.mark.parametrize("leading", [(), (3,), (2, 3)])
def test_played_scores_are_those_of_the_picked_slots(leading):
    rng = stream(3, "slots")
    scores, which = rng.random((*leading, 5, 4)), pick_slots(6, 4, 5, rng)
    by_hand = np.stack(
        [np.stack([scores[..., which[t, i], i] for i in range(4)], axis=-1) for t in range(6)],
        axis=-2,
    )
    np.testing.assert_array_equal(played(scores, which), by_hand)


def test_fewer_large_tables_are_made_at_a_time():
    assert tables_at_once(100, 1000) == 10
    assert tables_at_once(20_000, 1_000_000) == 6
    assert tables_at_once(10**9, 1000) == 1


def test_a_self_made_table_holds_the_draws_that_remain():
    rng = stream(4, "slots")
    rows = PosteriorTable(rng.random((6, 2)), rng.random((6, 1)), rng.random((6, 5, 2)))
    made = SelfMadeTables(rows, pick_slots(3, 6, 5, rng))
    for trial, which in enumerate(made.which):
        table = made.table(trial)
        np.testing.assert_array_equal(table.theta, rows.q[np.arange(6), which])
        for row, own in enumerate(which):
            np.testing.assert_array_equal(table.q[row], np.delete(rows.q[row], own, axis=0))


def test_the_clearest_of_several_has_the_p_of_the_largest():
    """Stepping down begins where the test of the largest statistic of all ends."""
    rng = stream(5, "statistics")
    seen, nulls = rng.random(4).astype(np.float32), rng.random((99, 4)).astype(np.float32)
    assert step_down(seen, nulls).min() == share_beyond(seen.max(), nulls.max(1))
