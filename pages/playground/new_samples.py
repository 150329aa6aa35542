"""New samples without end: a picture holds a few, and further ones are computed as one looks."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import jobs
from pages.ui.services import services, stored
from validation_core.explorers.playground.study import (
    SAMPLES,
    Playground,
    PlaygroundSampleStudy,
    PlaygroundStudy,
    Ranks,
)


def window(study: PlaygroundStudy, seen: Playground, sample: float) -> tuple[range, Playground]:
    """The numbers of the samples to draw, and the result with their ranks.

    Once a picture's last sample is on screen, and further ones are there, it begins with that one.

    Args:
        study: the benchmark.
        seen: its result.
        sample: number of the one on screen.
    """
    slot = f"samples-{study.key}"
    numbers: range = st.session_state.get(slot, range(SAMPLES))
    last = numbers[-1]
    if sample >= last and (ready := _ready(study, last)):
        numbers = st.session_state[slot] = range(last, last + len(ready) + 1)
    if not numbers.start:
        return numbers, seen
    ranks = Ranks.joined([_ranks(study, seen, number) for number in numbers])
    return numbers, seen._replace(ranks=ranks)


def look_ahead(study: PlaygroundStudy, numbers: range, sample: float) -> None:
    """Compute the samples after this one, once one was asked for.

    When none is left to press for, a note says so and their progress stands below the pictures.
    """
    if sample == 0:
        return
    after = [one for one in _following(study, int(sample)) if one.sample not in numbers]
    state = jobs.only("samples", after, f"New samples of {study.benchmark.label}")
    if sample < numbers[-1] or state is None:
        return
    if st.session_state.get("samples-awaited") != (study.key, sample):
        st.session_state["samples-awaited"] = study.key, sample
        st.toast("The next samples are being computed: a few seconds.")
    jobs.panel(state, follow=True)


def _following(study: PlaygroundStudy, sample: int) -> list[PlaygroundSampleStudy]:
    """The samples after one that the result lacks, as many as a picture adds."""
    first = max(sample + 1, SAMPLES)
    return [PlaygroundSampleStudy(of=study, sample=n) for n in range(first, sample + SAMPLES)]


def _ready(study: PlaygroundStudy, last: int) -> Sequence[PlaygroundSampleStudy]:
    """Those of them that are computed, up to the first that is not."""
    following = _following(study, last)
    store = services().store
    missing = [i for i, one in enumerate(following) if not one.done(store)]
    return following[: missing[0]] if missing else following


def _ranks(study: PlaygroundStudy, seen: Playground, number: int) -> Ranks:
    if number < SAMPLES:
        return seen.ranks.last()
    more = PlaygroundSampleStudy(of=study, sample=number)
    return stored(more)
