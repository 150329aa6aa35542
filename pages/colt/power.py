"""Power of CoLT over gamma, beside other tests and tests without training."""

import streamlit as st

from pages.colt.controls import ColtChoice, owner, slider
from pages.colt.data import cells
from pages.ui import jobs, live
from pages.ui.services import services
from validation_core.panels.colt.power import power, table
from validation_core.sweep import costs
from validation_core.sweep.progress import missing
from validation_core.sweep.trials import TrialDesign
from validation_core.text import rough_duration_text

TRIALS = 200
"""The paper's number; a first picture comes from ten."""


def show_power(chosen: ColtChoice) -> None:
    """Power curves over gamma, with a button for missing trials."""
    store, sweeps = services().store, chosen.contest(TRIALS)
    power_cells = [cell for sweep in sweeps for cell in cells(sweep)]
    if power_cells:
        design = TrialDesign(n=chosen.n, k=chosen.k, alpha=chosen.alpha)
        counted = tuple(
            (cell.label, cell.gamma, cell.rejections, cell.trials) for cell in power_cells
        )
        payload = live.once(
            ("colt power", *(sweep.key for sweep in sweeps), counted),
            lambda: power(power_cells, chosen.benchmark, design, chosen.start),
        )
        key = f"colt-power-{owner(chosen.benchmark)}"
        live.chart(payload, key=key, url=slider(chosen.gammas), save_as="Power of CoLT")
        st.caption(_networks(chosen))
        numbers = st.expander("The numbers", key="colt-numbers", on_change="rerun")
        if numbers.open:
            numbers.dataframe(table(power_cells), hide_index=True)
    # Curve by curve, so that each is complete before the next begins.
    wanted = [task for sweep in sweeps for task in missing(sweep, store)]
    state = jobs.latest(wanted) if wanted else None
    if wanted and state is None:
        if not power_cells:
            st.markdown(
                f"No test has been run with these settings. {_networks(chosen)} Each point of a "
                f"curve is {TRIALS} tables."
            )
        st.button(
            f"Run {TRIALS} trials a point, {rough_duration_text(costs.remaining(sweeps, store))}",
            key="run-power",
            icon=":material/show_chart:",
            help="Trains what is missing. A first picture comes from ten trials, curve by curve.",
            on_click=jobs.starting(wanted, f"Power, {chosen.benchmark.label}"),
        )
    jobs.panel(state, follow=True)


def _networks(chosen: ColtChoice) -> str:
    """What the tests have learned from."""
    if chosen.power_of_one:
        return (
            "A network of a learned test learns at all gammas, as in the other views, and is held "
            "at each: as valid as one for each. What it costs in power, the view Papers says."
        )
    return "Each point of a learned test's curve has networks of its own, as in the paper."
