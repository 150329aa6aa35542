"""What each cause is called, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, str] = {
    "bias": "q is biased",
    "too_wide": "q is too wide (under-confident)",
    "too_narrow": "q is too narrow (over-confident)",
    "wrong_correlation": "q has the wrong correlation between parameters",
    "heavy_tails": "q's tails are too heavy",
    "light_tails": "q's tails are too light",
    "wrong_skew": "q has the wrong skew",
    "proposal": "true values spread less than q's draws, as if from a proposal",
    "missing_mode": "q misses a mode",
    "spurious_mode": "q has a spurious mode: mass where no true value lies",
    "ignores_x": "q ignores x, or part of what it says",
    "support_leak": "q leaks out of the prior: draws where no true value lies",
    "unclear": "cannot be told",
    "none": "none",
}
"""Each cause as a sentence without its full stop."""
NEXT_STEPS: Mapping[str, tuple[str, ...]] = {
    "bias": (
        "Train longer or at a smaller learning rate, and look whether the bias shrinks.",
        "Give x to the network standardised, or by better summary statistics.",
        "Check that theta is turned back to its own units after training.",
    ),
    "too_wide": (
        "Train longer: an estimator that has not converged is too wide.",
        "Take a wider network or a more flexible density (more flow layers).",
        "Check that x reaches the network with its full precision and no added noise.",
    ),
    "too_narrow": (
        "Train on more simulations: a network that has overfitted those it has is too narrow.",
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
    "wrong_skew": (
        "Take a more flexible density (more flow layers): a normal one has no skew.",
        "Transform the parameters (a logarithm for positive ones).",
        "Train longer: skew is learnt after place and width.",
    ),
    "proposal": (
        "Draw true values from the prior that q was trained for, not from the last round's "
        "proposal, and simulate x from them.",
        "Or keep them and save log_w (N,) and log_w_draws (N, K): log proposal minus log prior at "
        "true values and at q's draws.",
        "If they do come from the prior, q's draws spread too far: train longer.",
    ),
    "missing_mode": (
        "Take a density that can be multimodal: a mixture, a spline flow or a diffusion model.",
        "If draws come from a chain, start it in several places.",
        "Look at the true values beyond all draws: which x do they share?",
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
        "If true values come from a narrower proposal, draw them from the prior instead.",
    ),
    "unclear": (
        "Look at where q is wrong first: a defect at some x only resembles no simulated one.",
        "Bring more simulations: weak defects resemble one another.",
    ),
    "none": (),
}
"""What to do, the first thing first."""
SHAPES: Mapping[str, str] = {
    "unread": "q uses x only in part",
    "shuffled": "q ignores x: its draws belong to other rows",
    "bridge": "q fills a gap where no true value lies, as between two modes",
    "halfspace": "q has mass where no true value lies, on one side",
    "blurred": "q is too wide (under-confident): it blurs fine structure",
    "part": "q is biased in part of x",
    "over_x": "q is biased, by an amount that changes over x",
    "wide_part": "q is too wide (under-confident) in part of x",
    "narrow_part": "q is too narrow (over-confident) in part of x",
}
"""Shapes whose title says more than their cause's."""
_FIRST: Mapping[str, int] = {"unread": 2, "bridge": 1, "blurred": 1}


def cause_title(cause: str, shape: str) -> str:
    """A cause, as the sentence that its likeliest shape deserves."""
    return SHAPES.get(shape, TITLES[cause])


def steps_for(name: str, shape: str) -> tuple[str, ...]:
    """Return the steps against a cause, with the one that suits this shape first."""
    actions, first = NEXT_STEPS[name], _FIRST.get(shape, 0)
    # Of what is unclear the shape is a guess, and a shape speaks of its own cause only.
    if name in ("unclear", "none") or first >= len(actions):
        return actions
    return (actions[first], *actions[:first], *actions[first + 1 :])
