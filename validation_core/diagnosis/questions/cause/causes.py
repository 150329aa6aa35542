"""Each cause in words: its title, what its shapes are called, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, str] = {
    "bias": "q is biased",
    "too_wide": "q is too wide (under-confident)",
    "too_narrow": "q is too narrow (over-confident)",
    "wrong_correlation": "q has the wrong correlation between parameters",
    "heavy_tails": "q's tails are too heavy",
    "light_tails": "q's tails are too light",
    "missing_mode": "q misses a mode",
    "spurious_mode": "q has a spurious mode: mass where the truth never is",
    "ignores_x": "q ignores x, or part of what it says",
    "support_leak": "q leaks out of the support of the truth",
    "unclear": "unclear",
    "none": "none",
}
"""Each cause as a sentence without its full stop."""

NEXT_STEPS: Mapping[str, tuple[str, ...]] = {
    "bias": (
        "Train longer or at a smaller learning rate, and look whether the bias shrinks.",
        "Give x to the network standardised, or by better summary statistics.",
        "Simulate more where the error follows x.",
    ),
    "too_wide": (
        "Train longer: an estimator that has not converged is too wide.",
        "Take a wider network or a more flexible density (more flow layers).",
        "Check that x reaches the network with its full precision and no added noise.",
    ),
    "too_narrow": (
        "Train on more simulations: the network has overfitted those it has.",
        "Stop earlier, or use weight decay, dropout or an ensemble.",
        "Check that the validation loss, not the training loss, chose the network.",
    ),
    "wrong_correlation": (
        "Take a density that holds correlations: a full covariance or coupling layers that mix "
        "all parameters.",
        "Turn the parameters to less correlated ones before training.",
        "Check that columns of theta stand in the same order in truth and draws.",
    ),
    "heavy_tails": (
        "Train longer, or take a base density with lighter tails.",
        "Transform the parameters so that their posterior is closer to normal.",
        "Check the draws for outliers of a sampler that has not converged.",
    ),
    "light_tails": (
        "Take a base density with heavier tails (Student's t) or more flow layers.",
        "Bring more simulations: tails are learnt from few of them.",
        "Transform the parameters (a logarithm for positive ones).",
    ),
    "missing_mode": (
        "Take a density that can be multimodal: a mixture, a spline flow or a diffusion model.",
        "If draws come from a chain, start it in several places.",
        "Look at the truths that lie beyond all draws: which x do they share?",
    ),
    "spurious_mode": (
        "Train longer, or bring more simulations near the mode that should not be there.",
        "Take a more flexible density: a simple flow joins modes by bridges of mass.",
        "Check that labels or symmetric parameters are not swapped in the simulations.",
    ),
    "ignores_x": (
        "Check that rows of theta and x belong together, and that x reaches the network.",
        "Standardise x: values of very different sizes look constant to a network.",
        "Train longer, and use summary statistics or an embedding network that keeps what x says.",
    ),
    "support_leak": (
        "Check the prior's bounds, and transform bounded parameters (logit, logarithm).",
        "Refuse draws outside the prior, and correct for the mass that this removes.",
    ),
    "unclear": (
        "Look at where q is wrong first: a defect at some x only looks like none of these.",
        "Bring more simulations: weak defects resemble one another.",
    ),
    "none": (),
}
"""What to do, the first thing first."""

SHAPES: Mapping[str, str] = {
    "unread": "q uses x only in part",
    "shuffled": "q ignores x: its draws do not belong to the truth's rows",
    "bridge": "q fills a gap where the truth never is, as between two modes",
    "halfspace": "q has mass where the truth never is, on one side",
    "blurred": "q is too wide (under-confident): it blurs what is fine",
    "misread": "q is biased, as if it misread x",
    "heavy_even": "q's tails are too heavy at the right width",
    "light_even": "q's tails are too light at the right width",
}
"""Shapes whose title says more than their cause's."""

_FIRST: Mapping[str, int] = {"unread": 2, "bridge": 1, "blurred": 1}


def title(cause: str, shape: str) -> str:
    """A cause, as the sentence that its likeliest shape deserves."""
    return SHAPES.get(shape, TITLES[cause])


def steps(name: str, shape: str) -> tuple[str, ...]:
    """What to do, with what suits this shape first."""
    actions, first = NEXT_STEPS[name], _FIRST.get(shape, 0)
    # Of what is unclear the shape is a guess, and a shape speaks of its own cause only.
    if name in ("unclear", "none") or first >= len(actions):
        return actions
    return (actions[first], *actions[:first], *actions[first + 1 :])
