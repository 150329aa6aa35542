"""Theory of CoLT for the learnt ball: ACLD beside d~, doubling, and stored training runs."""

from dataclasses import replace

import streamlit as st

from pages.colt.controls import ColtChoice, owner, slider
from pages.colt.data import at_every_gamma
from pages.ui import jobs, live
from pages.ui.services import services, stored
from validation_core.localization import BallTheoryStudy
from validation_core.panels.colt import ball_theory
from validation_core.panels.colt.ball_theory import TrainingRun
from validation_core.panels.gamma_scale import GammaScale
from validation_core.sweep.colt_paper import EMBEDDINGS

_SEEDS = range(10)
"""Seeds whose runs are looked for in the store."""


def show_theory(chosen: ColtChoice) -> None:
    """Figures of the learnt ball under gamma; they are computed unasked."""
    if chosen.colt.preset == "paper":
        st.caption("One localizer for all gammas, as here, has the interactive preset.")
        return
    study = BallTheoryStudy(maps=chosen.study)
    state = jobs.only("colt", [study, chosen.study], study.label)
    if study.done(services().store) and chosen.study.done(services().store):
        runs = _runs(chosen)
        payload = live.once(
            ("colt theory", study.key, tuple(run.name for run in runs)),
            lambda: ball_theory.theory_payload(
                stored(study),
                runs,
                chosen.benchmark.dims[0],
                chosen.start,
                GammaScale.of(chosen.benchmark),
            ),
        )
        key = f"colt-theory-{owner(chosen.benchmark)}"
        live.chart(payload, key=key, url=slider(chosen.gammas), save_as="Theory of CoLT")
        st.caption(ball_theory.how_to_read(study.maps.n, len(chosen.gammas) > 1))
    jobs.panel(state, follow=True)


def _runs(chosen: ColtChoice) -> list[TrainingRun]:
    """Stored runs of any embedding and seed, else trained as chosen."""
    found = []
    for embedding in EMBEDDINGS:
        for seed in _SEEDS:
            study = replace(chosen, colt=chosen.colt.embedded(embedding), seed=seed).study
            if run := at_every_gamma(study):
                found.append(TrainingRun.of(f"{embedding} {seed}", run.maps))
    return found
