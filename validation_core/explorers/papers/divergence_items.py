"""Items of Domke (2021), symmetric divergence (arXiv 2103.01030), in its order."""

from __future__ import annotations

from validation_core.bayes import MODELS
from validation_core.explorers.papers.item import Item, Link
from validation_core.symmetric_divergence import MOST
from validation_core.text import list_text

_PAGE = "symmetric-divergence"
_NATS = Link(_PAGE, "Symmetric divergence")
_WEIGHED = Link(_PAGE, "Importance sampling", {"divergence-view": "each-m"})
_OVER_M = Link(_PAGE, "Over M", {"divergence-view": "over-m"})
_AUGMENTED = Link(_PAGE, "If q's density is an integral")
_BOUNDS = Link(_PAGE, "The ELBO beside it")
_UNITS = Link("lessons", "Lesson 8", {"lesson": "number-with-units"})
_MODEL = {"comparison": "own", "benchmark": "bayes_model"}
_RANKS = Link("compare", "SBC of a Bayesian model", {**_MODEL, "methods": "sbc"})


def _model(name: str) -> Link:
    """The page with one model."""
    return Link(_PAGE, MODELS[name].title, {"models": name})


ITEMS: tuple[Item, ...] = (
    Item(
        "Theorem 1, Algorithm 1",
        "The symmetric divergence of q from p, averaged over simulated data, is the mean "
        "difference of log p − log q between the true z and a draw of q.",
        "agrees",
        "The page, a method for tables with densities, and a lesson that reads it in units.",
        (_NATS, _UNITS),
        ("skl", "bayes_model"),
    ),
    Item(
        "Section 2",
        "The mean of independent terms has a confidence interval.",
        "agrees",
        "Drawn for every estimate, with the median beside the mean, and a test that the terms "
        "are symmetric about 0.",
        (_NATS,),
        ("skl",),
    ),
    Item(
        "Section 2",
        "The ELBO compares algorithms and does not say how far any of them is from p.",
        "agrees",
        "Inside one run, the ELBO and its mirror stand beside the divergence, which is the gap "
        "between them. The paper prints it with the sign reversed.",
        (_BOUNDS,),
    ),
    Item(
        "Section 2.1, Corollary 2, Algorithm 2",
        "Models with covariates: the same with these held fixed.",
        "agrees",
        "So are all five models; only labels, counts and strengths are simulated.",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Section 3, Corollary 3, Algorithm 3",
        "Where q's density is an integral, an augmented divergence bounds it from above.",
        "agrees",
        "At the foot of the page, on a q whose integral is known. The corollary prints the law "
        "of h without z; the algorithm has it right.",
        (_AUGMENTED,),
    ),
    Item(
        "Section 4, Equations 1 and 2, Claim 4",
        "Importance sampling as a pair of augmented laws, and how to draw from them.",
        "agrees",
        "A run keeps the log weights that its bounds are made of.",
        (_WEIGHED,),
        ("bayes_model",),
    ),
    Item(
        "Section 4.1, Corollary 5, Algorithm 4",
        "The divergence of importance-weighted inference, from M draws on either side.",
        "agrees",
        "For every M of the slider, from the same runs.",
        (_WEIGHED,),
        ("bayes_model",),
    ),
    Item(
        "Section 4.1, Equation 3",
        "Importance-weighted VI maximises the ELBO of M draws.",
        "agrees",
        "As there; the printed right-hand side has one logarithm too many.",
        (_OVER_M,),
        ("bayes_model",),
    ),
    Item(
        "Section 4",
        "The divergence of weighted q falls as 1 / M in the end.",
        "differs",
        "A dashed guide falls as 1 / M beside the curves over M. Up to M = 100 the medians of the "
        "falcons and of ionosphere fall more slowly.",
        (_OVER_M,),
    ),
    Item(
        "Section 5, Section 7",
        "Five models: falcons, heart transplants, hospitals, ionosphere, concrete.",
        "agrees",
        list_text([kind.title for kind in MODELS.values()]) + ".",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Section 7",
        "The falcons' counts are binomial in a quadratic of the year.",
        "differs",
        "The probability is printed without its sigmoid, which is there.",
        (_model("glm_binomial"),),
        ("bayes_model",),
    ),
    Item(
        "Section 7",
        "Heart transplants: eight survival times, however many survive.",
        "agrees",
        "Kept, so that all posteriors have the same dimensions.",
        (_model("heart_transplants"),),
        ("bayes_model",),
    ),
    Item(
        "Sections 6 and 7",
        "Very broad priors simulate data that nobody would see, and mislead the diagnostic.",
        "agrees",
        "The prior of hospitals has a width: at five times the modest one the median is 212 nats "
        "over the 99 of 100 data sets that inference has a q for, .95 over those like the real "
        "one.",
        (_model("hospitals"),),
    ),
    Item(
        "Section 7",
        "Logistic and linear regression on ionosphere and concrete.",
        "agrees",
        "With the covariates of the UCI repository; the posterior of concrete is exactly normal.",
        (_model("ionosphere"), _model("concrete")),
        ("bayes_model",),
    ),
    Item(
        "Section 5",
        "Laplace's method, and an adjusted one that matches the gradient where the search "
        "stopped.",
        "differs",
        "Both. The adjusted mean is printed as H⁻¹g alone, the inverse Hessian times the "
        "gradient; it is where the search stopped minus that, which is one step of Newton's "
        "method.",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Section 5",
        "Variational inference by Adam, with a gradient that sticks the landing.",
        "agrees",
        "With the paper's rates; the doubly reparametrised gradient is that one where M = 1.",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Section 5",
        "Bounded variables are carried to the line by a logarithm or a logit.",
        "differs",
        "The printed logit of an interval has a negative argument; the sign is mended.",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Figure 1",
        "The divergence over iterations, for five models and three algorithms.",
        "agrees",
        "The page opens with it, of 100 data sets and with IWVI beside them.",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Figure 1",
        "Laplace fails on hospitals after few iterations.",
        "agrees",
        "Crosses along the top of the panel: inference gave no q.",
        (_model("hospitals"),),
        ("bayes_model",),
    ),
    Item(
        "Figure 1",
        "Adjusted Laplace is exact for concrete.",
        "agrees",
        "Its terms are 0 to rounding at every number of iterations.",
        (_model("concrete"),),
        ("bayes_model",),
    ),
    Item(
        "Section 5",
        "The adjustment is often helpful and never harmful.",
        "agrees",
        "Nowhere is its mean larger by a thousandth of a nat, and after few iterations smaller.",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Section 5",
        "With many iterations the error of inference is reasonably low.",
        "differs",
        f"After {MOST[-1]:,} iterations on hospitals, on concrete and, but for a few data sets, "
        "on the heart transplants. On ionosphere VI keeps 1.2 nats and Laplace's method 5.9; on "
        "falcons VI has not converged (9.4), and of Laplace's a few data sets carry the mean.",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Section 5, Figure 1",
        "With many iterations VI does better than Laplace's method, which has a floor.",
        "differs",
        "By medians on two models: hospitals (.15 and .32 nats) and ionosphere (1.2 and 5.9), "
        "where Laplace's method gains nothing from more iterations. On falcons (9.4 and .22) and "
        "on the heart transplants (.041 and .020) it does worse; on concrete both are exact.",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Figure 2",
        "Importance sampling of adjusted Laplace over iterations, a curve for each M.",
        "agrees",
        "As printed, and over M in a view of its own.",
        (_WEIGHED, _OVER_M),
        ("bayes_model",),
    ),
    Item(
        "Section 5, Figure 2",
        "More samples are a clear improvement.",
        "agrees",
        "Curves over M fall for falcons, hospitals and ionosphere; the other two have next to "
        "nothing left to gain.",
        (_WEIGHED,),
        ("bayes_model",),
    ),
    Item(
        "Figure 3",
        "VI that is trained for the M that it is tested with.",
        "agrees",
        "From M = 10 on each step averages five groups of draws (two with M = 5): one group does "
        "not converge. For ionosphere these ship to 3,000 iterations: more take up to an hour of "
        "one core each, on the page or the command line.",
        (_WEIGHED, _OVER_M),
        ("bayes_model",),
    ),
    Item(
        "Section 4.1, Figure 3",
        "VI that is trained for its M does better yet than VI that is weighted with M.",
        "differs",
        f"After {MOST[-1]:,} iterations it does, wherever both have run and VI is not exact. "
        "After 10,000 not yet with M = 5 on hospitals, ionosphere and concrete: their means are "
        "5.7, .95 and 16 nats, those of VI weighted with as many 1.1, .46 and 3.9.",
        (_WEIGHED, _OVER_M),
        ("bayes_model",),
    ),
    Item(
        "Section 6",
        "The diagnostic tells the average over simulated data, not the error at observed data.",
        "agrees",
        "Said on the page. For a table of yours, My posterior asks at your observation.",
        (_NATS, Link("diagnose", "My posterior")),
    ),
    Item(
        "Section 6",
        "It equals the divergence of the posteriors, averaged over x.",
        "agrees",
        "It is called so on the page, and explained by two normals so many nats apart.",
        (_NATS,),
    ),
    Item(
        "Section 6",
        "Inference that is random itself is measured on average.",
        "agrees",
        "VI has a stream of random numbers for each data set.",
        (_NATS,),
        ("bayes_model",),
    ),
    Item(
        "Sections 1 and 6.1",
        "Ranks of parameters (Cook and others) and their symmetry (Yao and others).",
        "agrees",
        "SBC, on the same models.",
        (_RANKS,),
        ("sbc", "bayes_model"),
    ),
    Item(
        "Section 6.1",
        "Diagnostics by Stein's method.",
        "not_built",
        "They need the gradient of the posterior's density at observed data, which no table "
        "here has.",
    ),
    Item(
        "Section 6.1",
        "Geweke's joint test of a posterior simulator.",
        "agrees",
        "Many short chains from exact draws, compared with them by sign flips, which keep the "
        "level exactly.",
        (_NATS, _RANKS),
    ),
    Item(
        "Section 6.1",
        "Bidirectional Monte Carlo.",
        "agrees",
        "Chains annealed from q's draw and from the truth bound the evidence on both sides; the "
        "gap between them is the divergence of Algorithm 3.",
        (_BOUNDS,),
    ),
    Item(
        "Section 6.2",
        "Each term needs an inference of its own.",
        "agrees",
        "Said before a run begins, as minutes.",
        (_NATS,),
    ),
    Item(
        "Section 6.2",
        "Variational inference by other divergences.",
        "agrees",
        "Rényi's and the chi-square divergence are objectives of the page, the command line and "
        "Python.",
        (_NATS,),
    ),
    Item(
        "Section 6.2",
        "Annealed importance sampling and MCMC as augmented inference.",
        "agrees",
        "Annealed importance sampling with Hamiltonian steps, through Algorithm 3, stands beside "
        "the ELBO.",
        (_NATS,),
    ),
)
"""What the paper defines, claims or draws; it prints no numbers."""
