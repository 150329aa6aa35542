"""Controls of the CoLT page: benchmark, localizer and numbers of draws."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import streamlit as st

from pages.ui import forms
from pages.ui.forms import segmented
from pages.ui.once import same
from validation_core import CoLT, Gaussian, Spiral, Trained, Tree
from validation_core.benchmarks.gaussian import DIMENSIONS
from validation_core.benchmarks.tree import Noise
from validation_core.localization import GammaMapsStudy, MapTask
from validation_core.scores.localizer import Embedding, Localizer
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.sweep import colt_paper, presets
from validation_core.sweep.plan import Sweep
from validation_core.sweep.trials import TrialDesign
from validation_core.types import Benchmark

BENCHMARKS = {kind.name: kind.title for kind in (Gaussian, Tree, Spiral, Trained)}
# The first ones can be drawn completely: theta and x have one or two dimensions.
_DIMS = ((2, 2), (1, 1), (1, 2), *DIMENSIONS)
_NOISES: dict[Noise, str] = {"scaled": "Scaled", "added": "Added"}
N, K = (100, 200, 500, 1000), (50, 100, 200, 500)
_EMBEDDINGS: dict[Embedding, str] = {
    "fourier": "Fourier",
    "identity": "Identity",
    "residual": "Residual",
    "mlp": "MLP",
}
_MOST_OUTPUTS = 100  # as many as the largest theta has
_FIRST = {"tree": 1.5, "spiral": 4}
"""Initial gammas where the middle of the grid shows less."""


@dataclass(frozen=True)
class ColtChoice:
    """Settings of the controls."""

    benchmark: Benchmark
    colt: CoLT
    n: int
    k: int
    alpha: float
    seed: int
    networks: int = presets.NETWORKS
    """Trained of each kind for the curves of power."""

    @property
    def recipe(self) -> Localizer:
        """How the localizer is trained."""
        return self.colt.recipe(self.n, self.k, self.benchmark)

    @property
    def gammas(self) -> tuple[float, ...]:
        """Gammas of the slider."""
        return tuple(float(gamma) for gamma in self.benchmark.gammas)

    @property
    def start(self) -> float:
        """The initial gamma."""
        return self.start_among(self.gammas)

    def start_among(self, gammas: tuple[float, ...]) -> float:
        """The initial gamma of a picture with all gammas, or the only one."""
        if len(gammas) == 1:
            return gammas[0]
        return float(_FIRST.get(self.benchmark.name, gammas[len(gammas) // 2]))

    @property
    def study(self) -> GammaMapsStudy:
        """One localizer for every gamma, and its ball at each."""
        return colt_paper.gamma_maps(self.benchmark, self.colt, self.n, self.k, self.seed)

    def training(self, gamma: float) -> Training:
        """The localizer of one gamma."""
        source = Simulated(benchmark=self.benchmark, gamma=gamma)
        return colt_paper.localizer(source, self.colt, self.n, self.k, self.seed)

    def map(self, gamma: float) -> MapTask:
        """Its ball at many x."""
        return colt_paper.map_of(self.training(gamma))

    @property
    def for_all_gammas(self) -> bool:
        """Whether one localizer serves all gammas; the paper trains one for each."""
        return self.colt.preset == "interactive" and len(self.gammas) > 1

    @property
    def power_of_one(self) -> bool:
        """Whether power, too, is of networks that serve all gammas."""
        return self.for_all_gammas and colt_paper.one_serves_all(self.benchmark)

    def contest(self, trials: int) -> list[Sweep]:
        """CoLT and its rivals at every gamma, the chosen embedding before the others."""
        own = self.colt.embedding
        contest = colt_paper.contest(
            self.benchmark,
            self.gammas,
            self.colt,
            TrialDesign(trials=trials, n=self.n, k=self.k, alpha=self.alpha),
            self.seed,
            sorted(colt_paper.EMBEDDINGS, key=lambda embedding: embedding != own),
            networks=self.networks,
            for_all_gammas=self.power_of_one,
        )
        return [same(sweep) for sweep in contest]


def choose() -> ColtChoice:
    """Draw the controls in the sidebar. The address holds every setting, for sharing."""
    with st.sidebar:
        kind = forms.choice(
            "Benchmark", list(BENCHMARKS), "benchmark", words=BENCHMARKS.__getitem__
        )
        benchmarks: dict[str, Callable[[], Benchmark]] = {
            "gaussian": _gaussian,
            "tree": _tree,
            "spiral": _spiral,
            "trained": lambda: forms.form(Trained, "trained"),
        }
        benchmark = benchmarks[kind]()
        embedding = forms.choice(
            "Embedding of θ",
            list(_EMBEDDINGS),
            "embedding",
            words=_EMBEDDINGS.__getitem__,
            help="What distances are measured in. Identity leaves θ as it is; the others learn "
            "where to look closely.",
        )
        n, k = _sizes(benchmark)
        alpha = forms.level()
        colt, seed, networks = _how(CoLT(embedding=embedding))
        chosen = ColtChoice(benchmark, colt, n, k, alpha, seed, networks)
        recipe = chosen.recipe
        if chosen.for_all_gammas:
            recipe = recipe.for_all_gammas(len(chosen.gammas))
        p, q = recipe.spent()
        which = (
            f"The balls over gamma are of one localizer for all {len(chosen.gammas)}, which"
            if chosen.for_all_gammas
            else "Each localizer"
        )
        st.caption(f"{which} trains on {p:,} draws of p and {q:,} of q.")
    return chosen


def _gaussian() -> Gaussian:
    name = forms.perturbation()
    dim_x, dim_theta = forms.choice(
        "Dimensions of (x, θ)",
        _DIMS,
        "dimensions",
        help="Up to two dimensions of θ the map shows everything; beyond, chosen directions.",
    )
    straight = Gaussian(perturbation=name, dim_x=dim_x, dim_theta=dim_theta)
    curved = forms.flag(
        "Curved", "curved", help="Both p and q pass through one fixed map that bends them."
    )
    if not curved:
        return straight
    gain = forms.number("Gain of the bend", 0.1, 5.0, 1.0, "gain", draw=st.slider, step=0.1)
    return replace(straight, curved=True, gain=round(gain, 2))


def _tree() -> Tree:
    noise = segmented(
        "Noise of q",
        _NOISES,
        "noise",
        help="Scaled: sd 0.01 (1 + gamma), as in the paper's appendix. Added: noise of sd "
        "0.01 gamma on top of p, as in its text.",
    )
    return Tree(noise=noise)


def _spiral() -> Spiral:
    models: dict[colt_paper.TreeModel, str] = {"ideal": "Ideal", "diffusion": "Trained"}
    model = segmented(
        "Denoiser",
        models,
        "model",
        help="Ideal: in closed form. Trained: a diffusion model, trained first, for a minute.",
    )
    return Spiral(model=model)


def choose_gamma(chosen: ColtChoice) -> float:
    """The gamma whose own localizer is shown."""
    if len(chosen.gammas) == 1:
        return chosen.gammas[0]
    return forms.gamma(
        owner(chosen.benchmark),
        chosen.gammas,
        chosen.start,
        label=chosen.benchmark.gamma_title,
        help="This view has a localizer of its own for each gamma.",
    )


def slider(gammas: tuple[float, ...]) -> tuple[str, ...]:
    """Names in the address of a picture's gamma slider, if it has one."""
    return ("gamma",) if len(gammas) > 1 else ()


def owner(benchmark: Benchmark) -> str:
    """The owner of gamma in the address: each benchmark has its own."""
    if isinstance(benchmark, Trained):
        return f"{benchmark.name}-{benchmark.along}"  # their grids differ
    return str(getattr(benchmark, "perturbation", benchmark.name))


def _sizes(benchmark: Benchmark) -> tuple[int, int]:
    """N and K; each benchmark remembers its own, which begin as the paper's."""
    n, k = colt_paper.SIZES[benchmark.name]
    left, right = st.columns(2)
    with left:
        n = forms.choice(
            "Simulations, N",
            N,
            f"n_{benchmark.name}",
            first=n,
            help="Anchors: true pairs (θ, x) that training sees; as many test.",
        )
    with right:
        k = forms.choice(
            "Draws, K",
            K,
            f"k_{benchmark.name}",
            first=k,
            help="Draws of q at the x of each simulation.",
        )
    return n, k


def _how(colt: CoLT) -> tuple[CoLT, int, int]:
    """Advanced settings: training objective, length of phi(theta), seed and number of networks."""
    preset_words: dict[Literal["interactive", "paper"], str] = {
        "interactive": "Interactive",
        "paper": "Paper",
    }
    divergences: dict[Literal["w2", "sinkhorn"], str] = {"w2": "W₂", "sinkhorn": "Sinkhorn"}
    with st.expander("Objective, seed and networks"):
        preset = segmented(
            "Preset",
            preset_words,
            "training",
            help="Interactive: seconds, θ whitened by q's own draws, held-out anchors choose the "
            "step. Paper: steps and rate of its Table 2, all anchors at every step: minutes.",
        )
        divergence = segmented(
            "Divergence from uniform ranks",
            divergences,
            "divergence",
            help="What training climbs. W₂ is exact by sorting; Sinkhorn is the paper's.",
        )
        fresh = forms.flag(
            "Fresh anchors",
            "fresh",
            help="New draws at every step: no overfitting, and a larger budget.",
        )
        outputs = 0
        if colt.embedding != "identity":
            outputs = forms.number(
                "Dimensions of φ",
                0,
                _MOST_OUTPUTS,
                0,
                "outputs",
                help="Length of the vectors φ(θ) whose distances are measured; 0 for that of θ, "
                "the paper's choice.",
            )
        seed = forms.seed()
        networks = forms.networks(
            "Networks, in Power", "networks", presets.NETWORKS, trained="of each kind"
        )
    chosen = replace(colt, preset=preset, divergence=divergence, fresh=fresh, outputs=outputs)
    return chosen, seed, networks
