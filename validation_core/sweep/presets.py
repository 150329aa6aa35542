"""Comparisons worth running: the papers' figures, and three that explain why tests disagree.

Each is a sweep, ready to run, with words on what to look for. Sizes are the papers'; what differs
is said in `differs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, cast, get_args

from validation_core import keys
from validation_core.benchmarks.gaussian import DIMENSIONS, Gaussian, Perturbation
from validation_core.benchmarks.spiral import Spiral
from validation_core.benchmarks.tree import Tree
from validation_core.localization import GammaMapsStudy, MapTask
from validation_core.methods import (
    C2ST,
    DC,
    LC2ST,
    METHODS,
    SBC,
    TARP,
    AutoML,
    CoLT,
    MMDFuse,
    Multiple,
    Uniform,
    WithinX,
)
from validation_core.methods.base import Method, kind_of
from validation_core.scores.classifier import Classifier, TableClassifier
from validation_core.scores.localizer import Embedding
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.statistics import binomial_bounds, wilson
from validation_core.sweep.plan import Sweep, SweepPlace
from validation_core.sweep.trials import TrialDesign
from validation_core.types import Benchmark, PowerCell, Preset

BETAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0)
PERTURBATIONS: tuple[Perturbation, ...] = (
    "mean_shift",
    "covariance_scaling",
    "anisotropic",
    "heavy_tail",
)
"""The four of the conformal paper's Gaussian experiment."""
_COLT: tuple[Perturbation, ...] = ("mean_shift", "covariance_scaling", "heavy_tail")
SMALL_MMD = MMDFuse(points=250, permutations=200)
"""What a browser can wait for: the paper's 2000 + 2000 points with 2000 permutations take some
seven seconds a trial on one core."""
CONFORMAL: tuple[Method, ...] = (
    C2ST(),
    Multiple(),
    Uniform(),
    SBC(),
    TARP(),
    DC(),
    AutoML(),
    SMALL_MMD,
)
"""The methods of the conformal paper's Table 1."""
_FEW_PAIRS = Classifier(epochs=200, lr=3e-3, batch=128, hidden=128, keep_best=True)
_MMD = "MMD-FUSE reads 250 + 250 points with 200 permutations, the paper's 2000 + 2000 with 2000"


class Comparison(NamedTuple):
    """A sweep with its story."""

    name: str
    title: str
    about: str
    """What it shows, and what to look for."""
    sweep: Sweep
    differs: str = ""
    """Where it is not as printed."""


def figures(trials: int = 200) -> list[Comparison]:
    """The papers' figures."""
    return [
        *[_conformal(name, trials) for name in PERTURBATIONS],
        _degraded(trials),
        _type_one(),
        *[_colt(name, trials) for name in _COLT],
        _tree(trials),
    ]


def demonstrations(trials: int = 100) -> list[Comparison]:
    """Why tests disagree, each on a case in which they do."""
    return [_blind(trials), _collapse(trials), _references(trials)]


def shipped() -> list[Comparison]:
    """Those whose curves come with the package."""
    papers = [_conformal(name, 200) for name in PERTURBATIONS]
    return [*papers, _type_one(), _degraded(200), *demonstrations()]


def by_name(name: str) -> Comparison:
    """The figure or demonstration of that name.

    Raises:
        ValueError: when there is none.
    """
    known = keys.by_name(*figures(), *demonstrations())
    if name not in known:
        raise ValueError(f"A comparison is one of {', '.join(known)}; got {name!r}. Choose one.")
    return known[name]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _conformal(name: Perturbation, trials: int) -> Comparison:
    benchmark = Gaussian(perturbation=name)
    return Comparison(
        f"conformal_{name}",
        f"Conformal C2ST, {_words(name)}",
        "Power of all eight tests as q gets worse, each with the budget of Table 1.",
        Sweep(
            benchmark=benchmark,
            methods=CONFORMAL,
            gammas=benchmark.gammas,
            design=TrialDesign(trials=trials, n=1000, k=200),
        ),
        f"{_MMD}; networks train by the faster schedule, one for each gamma.",
    )


def _degraded(trials: int) -> Comparison:
    benchmark = Gaussian(perturbation="mean_shift")
    return Comparison(
        "conformal_beta",
        "Conformal C2ST, a classifier degraded",
        "The trained network is moved back to its random start. C2ST needs a good threshold and "
        "goes first; conformal ranks need the order only.",
        Sweep(
            benchmark=benchmark,
            methods=(C2ST(), Multiple(), Uniform(), WithinX(), DC()),
            gammas=(benchmark.gammas[3],),
            betas=BETAS,
            design=TrialDesign(trials=trials, n=1000, k=100),
        ),
    )


def _type_one() -> Comparison:
    benchmark = Gaussian()
    return Comparison(
        "type_one",
        "Type I errors of all tests",
        "Nothing is wrong with q: every test should reject as often as its level says, or less.",
        Sweep(
            benchmark=benchmark,
            gammas=(0.0,),
            methods=(
                *CONFORMAL,
                WithinX(),
                TARP(reference="x"),
                DC(kind="binary"),
                CoLT(embedding="identity"),
                LC2ST(nulls=19),
            ),
            design=TrialDesign(trials=1000, n=1000, k=200),
        ),
        f"{_MMD}; L-C2ST compares with 19 nulls instead of 100.",
    )


def _colt(name: Perturbation, trials: int) -> Comparison:
    benchmark = Gaussian(perturbation=name)
    return Comparison(
        f"colt_{name}",
        f"CoLT, {_words(name)}",
        "Few simulations with many draws of q each: 100 pairs, 500 draws.",
        Sweep(
            benchmark=benchmark,
            gammas=benchmark.gammas,
            methods=(CoLT(embedding="identity"), CoLT(), C2ST(), SBC(), TARP()),
            design=TrialDesign(trials=trials, n=100, k=500),
            recipe=TableClassifier(n=100, k=500, recipe=_FEW_PAIRS),
        ),
        "CoLT's default embedding is ours; its identity embedding is the paper's.",
    )


def _tree(trials: int) -> Comparison:
    return Comparison(
        "colt_tree",
        "CoLT, branching tree",
        "Errors along thin branches: invisible to marginals, small for a classifier.",
        Sweep(
            benchmark=Tree(),
            gammas=Tree().gammas,
            methods=(CoLT(), C2ST(), SBC(), TARP()),
            design=TrialDesign(trials=trials, n=1000, k=100),
        ),
        "CoLT's default embedding is ours.",
    )


def _blind(trials: int) -> Comparison:
    benchmark = Gaussian(perturbation="blind_prior")
    return Comparison(
        "blind",
        "Why is SBC silent here?",
        "This q ignores x and draws from the prior. Each true parameter then ranks anywhere among "
        "draws of the prior, so SBC and TARP with random references find nothing, whatever their "
        "budget. Tests that look at theta together with x reject every time.",
        Sweep(
            benchmark=benchmark,
            gammas=benchmark.gammas,
            methods=(SBC(), TARP(), TARP(reference="x"), C2ST(), WithinX(), DC()),
            design=TrialDesign(trials=trials, n=500, k=100),
        ),
    )


def _collapse(trials: int) -> Comparison:
    benchmark = Gaussian(perturbation="additional_mode")
    return Comparison(
        "collapse",
        "Why did C2ST collapse?",
        "As the network is moved back to its random start (beta), its scores lose their threshold "
        "first and then their direction: accuracy falls to one half and below. C2ST and Multiple "
        "look to one side and reject nothing; the ranks are as far from uniform as before, and "
        "Uniform says so.",
        Sweep(
            benchmark=benchmark,
            gammas=(benchmark.gammas[4],),
            betas=BETAS,
            methods=(C2ST(), Multiple(), Uniform(m=20)),
            design=TrialDesign(trials=trials, n=1000),
        ),
    )


def _references(trials: int) -> Comparison:
    benchmark = Gaussian(perturbation="heavy_tail")
    return Comparison(
        "references",
        "Why does TARP depend on its references?",
        "TARP ranks distances to a reference point. Points drawn at random ask about balls "
        "anywhere; points that follow x ask about balls near the posterior, where heavy tails "
        "show. The same draws, two different tests: where the mean is shifted, the random points "
        "win.",
        Sweep(
            benchmark=benchmark,
            gammas=benchmark.gammas,
            methods=(TARP(), TARP(reference="x"), TARP(metric="manhattan"), SBC()),
            design=TrialDesign(trials=trials, n=500, k=100),
        ),
    )


class Remark(NamedTuple):
    """Two tests that disagree, and why."""

    loud: str
    silent: str
    why: str
    shown_by: str
    """The demonstration that shows it; empty where there is none."""


_LOUD, _SILENT = 0.6, 0.25
"""Wilson bounds beyond which a test is said to find q wrong, or to miss it."""


def explain_misses(
    sweep: Sweep,
    loud: Sequence[PowerCell],
    silent: Sequence[PowerCell],
    cells: Sequence[PowerCell] = (),
) -> list[Remark]:
    """Why the silent tests of one place missed what the loud ones found, one remark for each.

    A test that rejects elsewhere on the same curve sees the error, but only a larger one; what it
    cannot see at all is told of the others.
    """
    if not loud:
        return []
    best = max(loud, key=lambda cell: cell.rate)
    explanations = []
    for cell in silent:
        elsewhere = [
            other
            for other in cells
            if other.label == cell.label and bounds(other)[0] > _LOUD and other.beta == cell.beta
        ]
        if elsewhere:
            nearest = max if sweep.benchmark.counts_iterations else min
            least = nearest(elsewhere, key=lambda one: one.gamma)
            why = (
                f"it sees this error only where it is larger: at "
                f"{sweep.benchmark.place(least.gamma)} it rejects in {least.rate:.0%} of the "
                f"trials.",
                "",
            )
        else:
            why = kind_of(cell.method).silent_because(sweep.benchmark, cell)
        explanations.append(Remark(best.label, cell.label, *why))
    return explanations


class _Disagreement(NamedTuple):
    """The place of a sweep where most tests miss what another finds, and why each does."""

    place: SweepPlace
    remarks: list[Remark]


def disagreement(sweep: Sweep, cells: Sequence[PowerCell]) -> _Disagreement | None:
    """Where the tests disagree most; None where all agree."""
    best: _Disagreement | None = None
    for at in sweep.places:
        here = [cell for cell in cells if (cell.gamma, cell.beta) == at]
        loud = [cell for cell in here if bounds(cell)[0] > _LOUD]
        silent = [cell for cell in here if bounds(cell)[1] < _SILENT]
        explanations = explain_misses(sweep, loud, silent, cells)
        if explanations and (best is None or len(explanations) > len(best.remarks)):
            best = _Disagreement(at, explanations)
    return best


def bounds(cell: PowerCell) -> tuple[float, float]:
    """95% Wilson interval of a cell's power."""
    low, high = wilson(cell.rejections, cell.trials)
    return float(low), float(high)


def broken(cells: Sequence[PowerCell]) -> list[PowerCell]:
    """Where nothing is wrong with q and a test rejects more often than its level allows.

    Beyond the 99.9% binomial bound: among fifty honest tests one in twenty such pages shows one.
    """
    return [
        cell
        for cell in cells
        if cell.gamma == 0 and cell.rejections > binomial_bounds(cell.trials, cell.alpha, 0.999)[1]
    ]


# ---- CoLT beside the tests it is compared with: sweeps, and the numbers its paper prints ----
#
# Chen, Bansal, Scott, CoLT: Table 3 (blind prior), Table 4 (type I error), Section 4.2 (tree),
# Fig. 4d (spiral), Fig. 5 (tree). Each kind of network has a sweep of its own, so that results
# come one by one and a curve on a page shares them with a table.


Model = Literal["ideal", "diffusion"]
EMBEDDINGS = cast("tuple[Embedding, ...]", get_args(Embedding))
CLASSIFIER = Classifier(epochs=200, lr=3e-3, batch=128, hidden=128, keep_best=True)
"""Of C2ST: few true pairs, so a fast rate and the best held-out step."""
TRIALS = 200
"""Batches of the paper."""
SIZES = {"gaussian": (100, 500), "tree": (1000, 100), "spiral": (1000, 200)}
"""N and K of the paper's Table 2, by benchmark."""
TREE_ALPHAS = (0.5, 1.5, 2.5, 4.0)
"""Of our Fig. 5."""
FINE: dict[str, dict[str, int]] = {"tree": {"points": 151, "places": 21}}
"""Maps of other sizes than usual: the tree's branches are thin, and its posteriors are two."""
_COORDINATES = ("sbc", "tarp")


class PublishedRate(NamedTuple):
    """A number of the paper: of which of our methods, what the paper calls it, the rate."""

    label: str
    name: str
    value: float | tuple[float, float]
    """One rate, or the lowest and the highest over all places of a table."""


class PublishedPlace(NamedTuple):
    """Some of the methods at one place of a table, and what the paper prints of them there."""

    place: str
    sweep: Sweep
    published: tuple[PublishedRate, ...] = ()


def localizer(source: Simulated, colt: CoLT, n: int, k: int, seed: int = 0) -> Training:
    """The network that CoLT reads at this source, for tables of n simulations with k draws."""
    return Training(source=source, recipe=colt.recipe(n, k, source.benchmark), seed=seed)


def contest(
    benchmark: Benchmark,
    gammas: Sequence[float],
    colt: CoLT,
    design: TrialDesign,
    seed: int = 0,
    embeddings: Sequence[Embedding] = EMBEDDINGS,
) -> list[Sweep]:
    """CoLT with each embedding, and its rivals, on tables of one size: a sweep for each network.

    The first trains nothing of its own: the untrained identity localizer (beta = 1) says what
    learning must add to, beside it the tests of coordinates. The last is C2ST, its classifier
    trained on a table of the same size, its test on n draws of p and n of q.
    """
    table = TableClassifier(n=design.n, k=design.k, recipe=CLASSIFIER)

    def sweep(*methods: Method, beta: float = 0.0) -> Sweep:
        return Sweep(
            benchmark=benchmark,
            methods=methods,
            gammas=tuple(gammas),
            betas=(beta,),
            design=design,
            recipe=table,
            seed=seed,
        )

    return [
        sweep(replace(colt, embedding="identity"), *_coordinates(), beta=1.0),
        *[sweep(replace(colt, embedding=embedding)) for embedding in embeddings],
        sweep(C2ST()),
    ]


def _coordinates() -> tuple[Method, ...]:
    """The tests of the registry that need no network."""
    return tuple(METHODS[name]() for name in _COORDINATES if name in METHODS)


def gamma_maps(benchmark: Benchmark, colt: CoLT, n: int, k: int, seed: int = 0) -> GammaMapsStudy:
    """CoLT's ball at every gamma of a benchmark, by one localizer."""
    points = FINE.get(benchmark.name, {}).get("points", 61)
    places = 25 if benchmark.dims[1] <= 2 else 15  # a line is walked, a plane pressed
    return GammaMapsStudy(
        benchmark=benchmark,
        recipe=colt.recipe(n, k, benchmark),
        places=places,
        points=points,
        seed=seed,
    )


def shipped_maps() -> tuple[GammaMapsStudy, ...]:
    """The maps that come with the package: what the CoLT page shows before a setting is touched.

    Planes, curved ones too, lines and three dimensions of every perturbation; tree and spiral.
    """
    dims = ((2, 2), (1, 1), (1, 2), (3, 3))
    family = [
        Gaussian(perturbation=name, dim_x=x, dim_theta=theta)
        for x, theta in dims
        for name in get_args(Perturbation)
    ]
    bent = [
        Gaussian(perturbation=name, dim_x=2, dim_theta=2, curved=True)
        for name in get_args(Perturbation)
    ]
    benchmarks: list[Benchmark] = [*family, *bent, Tree(), Spiral(), Spiral(model="diffusion")]
    return tuple(gamma_maps(each, CoLT(), *SIZES[each.name]) for each in benchmarks)


def blind_prior_tasks(preset: Preset = "interactive") -> list[PublishedPlace]:
    """Table 3: power where q ignores x."""
    full, c2st = (0.975, 0.778, 0.693, 0.452), (1.0, 1.0, 0.847, 0.122)
    tasks = []
    for dims, own, other in zip(DIMENSIONS, full, c2st, strict=True):
        published = (
            PublishedRate(_label("identity", preset), "CoLT ID", 1.0),
            PublishedRate(_label("mlp", preset), "CoLT Full", own),
            PublishedRate("C2ST", "C2ST", other),
            PublishedRate("SBC", "SBC", (0.03, 0.05)),
            PublishedRate("TARP", "TARP", (0.04, 0.07)),
        )
        benchmark = Gaussian(perturbation="blind_prior", dim_x=dims[0], dim_theta=dims[1])
        tasks += _compared(f"({dims[0]}, {dims[1]})", benchmark, 1.0, preset, published)
    return tasks


def type_one_tasks(preset: Preset = "interactive") -> list[PublishedPlace]:
    """Table 4: rejections where q is p, at the level of 5%."""
    tasks = []
    for dims, c2st in zip(DIMENSIONS, (0.077, 0.043, 0.020, 0.023), strict=True):
        published = (
            PublishedRate(_label("identity", preset), "CoLT", (0.04, 0.057)),
            PublishedRate(_label("mlp", preset), "CoLT", (0.04, 0.057)),
            PublishedRate("C2ST", "C2ST", c2st),
            PublishedRate("SBC", "SBC", (0.035, 0.040)),
            PublishedRate("TARP", "TARP", (0.037, 0.052)),
        )
        benchmark = Gaussian(dim_x=dims[0], dim_theta=dims[1])
        tasks += _compared(f"({dims[0]}, {dims[1]})", benchmark, 0.0, preset, published)
    return tasks


def tree_tasks(preset: Preset = "interactive") -> list[PublishedPlace]:
    """Section 4.2: power on the tree at a small and at a large blur."""
    tasks = []
    for alpha, colt, c2st in ((1.5, 0.877, 0.0), (4.0, 1.0, 0.065)):
        published = (
            PublishedRate(_label("mlp", preset), "CoLT", colt),
            PublishedRate("C2ST", "C2ST", c2st),
        )
        tasks += _compared(f"alpha = {alpha:g}", Tree(), alpha, preset, published)
    return tasks


def spiral_maps(model: Model = "ideal", embedding: Embedding = "fourier") -> list[MapTask]:
    """Fig. 4d: the distance of the ranks from uniform, by the reverse steps left out."""
    spiral = Spiral(model=model)
    return [_map(spiral, gamma, embedding) for gamma in spiral.gammas]


def tree_maps(embedding: Embedding = "fourier") -> list[MapTask]:
    """Fig. 5: the ball on the tree, for growing blur; one place on each side of x = 0."""
    return [replace(_map(Tree(), alpha, embedding), places=2) for alpha in TREE_ALPHAS]


def _map(benchmark: Benchmark, gamma: float, embedding: Embedding) -> MapTask:
    source = Simulated(benchmark=benchmark, gamma=float(gamma))
    n, k = SIZES[benchmark.name]
    return map_of(localizer(source, CoLT(embedding=embedding), n, k))


def map_of(training: Training) -> MapTask:
    """The map of a localizer, on a grid that is fine enough for its benchmark."""
    known = training.source.benchmark.name if isinstance(training.source, Simulated) else ""
    return MapTask(training=training, **FINE.get(known, {}))


def _label(embedding: Embedding, preset: Preset) -> str:
    return CoLT(embedding=embedding, preset=preset).label


def _compared(
    place: str,
    benchmark: Benchmark,
    gamma: float,
    preset: Preset,
    published: tuple[PublishedRate, ...],
) -> list[PublishedPlace]:
    n, k = SIZES[benchmark.name]
    sweeps = contest(
        benchmark,
        (gamma,),
        CoLT(preset=preset),
        TrialDesign(trials=TRIALS, n=n, k=k),
        embeddings=("identity", "mlp", "fourier"),
    )
    return [PublishedPlace(place, sweep, _of(sweep, published)) for sweep in sweeps]


def _of(sweep: Sweep, published: tuple[PublishedRate, ...]) -> tuple[PublishedRate, ...]:
    """Those of the sweep's methods; the untrained localizer stands in no table."""
    trained = sweep.betas == (0.0,)
    labels = {method.label for method in sweep.methods if trained or not method.localizes}
    return tuple(entry for entry in published if entry.label in labels)
