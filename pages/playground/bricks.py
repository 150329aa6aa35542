"""p-values over trials: a wall of bricks, one for each trial, and the trial that was pressed."""

from pages.ui import jobs, live
from pages.ui.forms import segmented
from pages.ui.services import services
from validation_core import keys
from validation_core.explorers.playground import pvalue_bricks
from validation_core.explorers.playground.sizes import short_title
from validation_core.explorers.playground.study import (
    METHODS,
    Playground,
    PlaygroundStudy,
    PlaygroundTrialStudy,
    betas_of,
)
from validation_core.panels.gamma_scale import GammaScale


def bricks(name: str, study: PlaygroundStudy, seen: Playground) -> tuple[float, float]:
    """The wall of one method, and one trial of it opened below; gamma and beta of both."""
    kinds = keys.by_name(*METHODS)
    titles = {key: short_title(kind) for key, kind in kinds.items()}
    method = kinds[segmented("Test", titles, "test", first="uniform")]
    betas = betas_of(method)
    payload = live.once(
        ("bricks", study.key, method.name),
        lambda: pvalue_bricks.pvalue_bricks(seen, method, betas, GammaScale.of(study.benchmark)),
    )
    gamma, beta, trial = live.chart(
        payload, key=f"bricks-{name}-{method.name}", url=("gamma", "beta", "trial")
    )
    trial_study = PlaygroundTrialStudy(
        of=study,
        method=method,
        gamma=min(study.gammas, key=lambda value: abs(value - gamma)),
        beta=min(betas, key=lambda value: abs(value - beta)),
        trial=int(trial),
    )
    state = jobs.only("trial", [trial_study], trial_study.label)
    jobs.panel(state)
    if state is None:
        trial_data = trial_study.load(services().store)
        assert trial_data is not None, "its job is done"
        opened = pvalue_bricks.trial_payload(
            trial_data, method, correct=study.benchmark.is_exact(trial_study.gamma)
        )
        live.chart(opened, key="opened")
    return gamma, beta
