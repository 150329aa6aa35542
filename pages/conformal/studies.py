"""Studies of the Conformal C2ST page: their stored results, and the job that makes them."""

from collections.abc import Sequence

import streamlit as st

from pages.conformal.controls import RECIPES, ConformalChoice
from pages.ui import jobs
from pages.ui.services import services, stored_if_there
from validation_core import C2ST
from validation_core.engine import JobState, Task
from validation_core.explorers.conformal.power_study import ConformalPower
from validation_core.explorers.conformal.study import Conformal, ConformalStudy, Learned
from validation_core.explorers.conformal.study import by_oracle as score_by_oracle
from validation_core.explorers.conformal.theory_study import ConformalTheory
from validation_core.explorers.conformal.view import MeasuredPower
from validation_core.scores.trained_scores import TrainTask
from validation_core.sweep import costs
from validation_core.sweep.plan import Sweep
from validation_core.text import count_text, rough_duration_text


@st.cache_resource(show_spinner=False, max_entries=32)
def by_oracle(key: str, _study: ConformalStudy) -> Conformal | None:
    """Results that need no network, computed once for all sessions."""
    return score_by_oracle(_study)


def seen(chosen: ConformalChoice) -> ConformalStudy | None:
    """The study to draw, if need be with few betas, or the last one while only n or m is new.

    None before a network is trained.
    """
    store, study = services().store, chosen.study
    before: ConformalStudy | None = st.session_state.get("conformal_seen")
    candidates = [study, study.first()]
    if before is not None and before.learned == study.learned:
        candidates.append(before)
    for candidate in candidates:
        if candidate.done(store):
            st.session_state["conformal_seen"] = candidate
            return candidate
    return None


def counted(chosen: ConformalChoice, *, over_m: bool) -> MeasuredPower | None:
    """Trials to draw: all, the first ones, or until then those of an earlier setting."""
    whole = chosen.powers(over_m=over_m)
    slot = f"conformal_counted_{over_m}"
    for candidate in (whole, (whole[0].few(),)):
        if (power := _measured(candidate)) is not None:
            st.session_state[slot] = candidate
            return power
    benchmark = chosen.learned.benchmark
    usual = ConformalPower(learned=Learned(benchmark=benchmark)).by_network(chosen.networks)
    for older in (st.session_state.get(slot), () if over_m else usual):
        if older and older[0].learned.benchmark == benchmark and (power := _measured(older)):
            return power._replace(old=True)
    return None


def _measured(powers: Sequence[ConformalPower]) -> MeasuredPower | None:
    """Trials of as many networks as have theirs, from the first; None where that has none."""
    trials = []
    for power in powers:
        if (of_one := stored_if_there(power)) is None:
            break
        trials.append(of_one)
    return MeasuredPower(powers[0], tuple(trials)) if trials else None


def theory(chosen: ConformalChoice) -> ConformalTheory | None:
    """The theory's numbers, once they are computed."""
    study = chosen.theory
    return stored_if_there(study)


def ask(chosen: ConformalChoice, *, over_m: bool, theory: bool = False) -> JobState | None:
    """The job of the missing results: it starts by itself, and the session leaves its last one.

    Networks of single gammas, which take minutes, wait for their button.
    """
    request = (chosen.study.key, chosen.networks, over_m, theory)
    tasks = jobs.lacking("conformal", request, lambda: _wanted(chosen, over_m, theory))
    label = chosen.learned.benchmark.label
    if not chosen.learned.each:
        return jobs.only("conformal", tasks, f"Learn and test, {label}")
    jobs.only("conformal", (), "")
    state = jobs.latest(tasks) if tasks else None
    if tasks and state is None:
        _offer(chosen, tasks)
    return state


def _wanted(chosen: ConformalChoice, over_m: bool, theory: bool) -> tuple[Task, ...]:
    store, study = services().store, chosen.study
    powers = [chosen.powers(over_m=False), *([chosen.powers(over_m=True)] * over_m)]
    pairs: list[tuple[Task, Task]] = [(study.first(), study)]
    pairs += [(first.few(), first) for first, *_ in powers]
    results: list[Task] = [task for pair in pairs if not pair[1].done(store) for task in pair]
    if theory and not chosen.theory.done(store):
        results.insert(0, chosen.theory)
    wanted = [*_training(chosen.learned), *results] if results else []
    for others in zip(*(of[1:] for of in powers), strict=True):
        if left := [power for power in others if not power.done(store)]:
            wanted += [*_training(left[0].learned), *left]
    return tuple(wanted)


def _training(learned: Learned) -> list[Task]:
    return [TrainTask(trainings=(training,)) for training in learned.trainings]


def _offer(chosen: ConformalChoice, tasks: Sequence[Task]) -> None:
    learned = chosen.learned
    sweep = Sweep(
        benchmark=learned.benchmark,
        methods=(C2ST(),),
        gammas=learned.gammas,
        recipe=learned.recipe,
        seed=learned.seed,
        networks=chosen.networks,
    )
    price = rough_duration_text(costs.of(sweep, C2ST()).training)
    count = len(learned.gammas) * chosen.networks
    how = (
        "as in the paper"
        if learned.recipe == RECIPES["paper"]
        else f"on {learned.recipe.train:,} draws a side"
    )
    st.button(
        f"Train {count_text(count, 'network')} {how} ({price})",
        key="train",
        icon=":material/model_training:",
        on_click=jobs.starting(tasks, f"Train {how}, {learned.benchmark.label}"),
    )
