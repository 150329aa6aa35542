"""Items of Bansal, Chen, Scott, Conformal C2ST (arXiv 2507.17026), in its order."""

from __future__ import annotations

from validation_core.benchmarks.sphere_flow import ConditionalFlow
from validation_core.explorers.conformal.study import PAPER_M, RECIPE
from validation_core.explorers.highdim.images.study import DEAR_TRIALS, ImagesStudy
from validation_core.explorers.papers.item import Item, Link
from validation_core.scores import feature_classifier
from validation_core.sweep.presets import ORDER, PERTURBATIONS, SMALL_MMD, TAUGHT
from validation_core.text import list_text, readable_name

_CONFORMAL = "conformal-c2st"
_RANKS = Link(_CONFORMAL, "Conformal C2ST")
_SCORES = Link(_CONFORMAL, "Conformal C2ST, Scores", {"view": "scores"})
_OTHERS = Link(_CONFORMAL, "Conformal C2ST, Other tests", {"view": "other-tests"})
_THEORY = Link(_CONFORMAL, "Conformal C2ST, Theory", {"view": "theory"})
_OVER_M = Link(_CONFORMAL, "Conformal C2ST, over m", {"along": "m"})
_RANDOM = Link(_CONFORMAL, "Conformal C2ST at beta = 1", {"beta": "1"})
_PAPER = Link(_CONFORMAL, "Conformal C2ST, the paper's training", {"preset": "paper"})
_WEAK = Link("weak-classifiers", "Weak classifiers")
_SHIFTED = Link("weak-classifiers", "Weak classifiers, shifted", {"c": "1"})
_TURNED = Link("weak-classifiers", "Weak classifiers, at a right angle", {"angle": "90"})
_LEVELS = Link("compare", "Type I errors of all tests", {"comparison": "type_one"})
_MEAN = Link("compare", "Compare, mean shift", {"comparison": "conformal_mean_shift"})
_TAILS = Link("compare", "Compare, heavy tail", {"comparison": "conformal_heavy_tail"})
_DEGRADED = Link("compare", "Compare over beta", {"comparison": "conformal_beta_mean_shift"})
_COLLAPSE = Link("compare", "Why did C2ST collapse?", {"comparison": "collapse"})
_ADVICE = Link("compare", "Compare, Which test?", {"compare-view": "advice"})
_IMAGES = Link("high-dimensions", "Images")
_LENSING = Link("high-dimensions", "Gravitational lensing", {"system": "lensing"})
_SPHERE = Link("high-dimensions", "Sphere flow", {"system": "sphere"})
_NUMBERS = Link("papers", "The printed numbers", {"show": "numbers"})
_UPLOAD = Link("diagnose", "My posterior")


def _own(label: str, query: dict[str, str]) -> Link:
    """A comparison of the reader's own."""
    return Link("compare", label, {"comparison": "own", **query})


_HEAD, _PAPER_HEAD = (
    feature_classifier.FeatureClassifier.preset(name) for name in ("interactive", "paper")
)
_FLOW, _IMAGES_STUDY = ConditionalFlow(), ImagesStudy
_FOUR = PERTURBATIONS[:4]
_PLACES = " ".join(f"{readable_name(name).capitalize()} {ORDER[name]}." for name in _FOUR)

ITEMS: tuple[Item, ...] = (
    Item(
        "Section 1, Figure 1 (a)",
        "A toy: two normals half a standard deviation apart, and a straight boundary between "
        "them that is made worse.",
        "agrees",
        "The same two normals and the same boundary, whose two errors are sliders.",
        (_WEAK,),
        ("boundary",),
    ),
    Item(
        "Section 1, Figure 1 (b)",
        "A boundary in the wrong place takes C2ST's power and leaves the conformal tests theirs.",
        "agrees",
        "Closed forms and trials beside each other: a shift changes no rank.",
        (_SHIFTED,),
        ("boundary", "c2st", "uniform"),
    ),
    Item(
        "Section 1, Figure 1 (c)",
        "A turned boundary weakens all tests; at a right angle the power is the level.",
        "agrees",
        "At 90 degrees the score is alike under p and q, and every test rejects at its level or "
        "less.",
        (_TURNED,),
        ("boundary", "c2st", "multiple", "uniform"),
    ),
    Item(
        "Section 2",
        "C2ST: the held-out accuracy of a classifier, compared with one half.",
        "agrees",
        "As there; the law is exact for small samples, and beside it stands the p-value with "
        "each class's own variance, which a misplaced threshold needs.",
        (_OTHERS,),
        ("c2st",),
    ),
    Item(
        "Section 2",
        "The tests compare any two samples, with x or without.",
        "agrees",
        "A file may hold two plain samples in place of a posterior's draws.",
        (_UPLOAD,),
    ),
    Item(
        "Section 3, Equation 1",
        "The conformal p-value of a draw of q: its score's rank among draws of p, itself "
        "included, ties broken at random.",
        "agrees",
        "The same sum, with one random number for each draw of q.",
        (_RANKS,),
        ("uniform",),
    ),
    Item(
        "Lemma 3.1",
        "If q is p the p-value is uniform, for any score and any m.",
        "agrees",
        "Tests hold every score to it, and Compare counts the type I errors of all methods.",
        (_LEVELS, Link("lessons", "Lesson 2", {"lesson": "ten-more-steps"})),
        ("uniform",),
    ),
    Item(
        "Section 3.1",
        "Uniformity is tested by Kolmogorov and Smirnov; Anderson and Darling or Cramér and von "
        "Mises would do.",
        "agrees",
        "Kolmogorov-Smirnov decides; the p-values of all three stand below the ranks.",
        (_RANKS,),
        ("uniform",),
    ),
    Item(
        "Section 3.1, Equation 2",
        "The best score is the density ratio, of which the classifier's odds are an estimate; "
        "its order alone matters.",
        "agrees",
        "The score is the raw logit, which no float saturates, drawn against the true log ratio.",
        (_SCORES,),
        ("uniform",),
    ),
    Item(
        "Lemma 3.2",
        "No score has a larger AUC than the density ratio.",
        "agrees",
        "The headline of the theory has both AUCs, and, where it is more than chance, their "
        "difference with its interval.",
        (_THEORY, _SCORES),
    ),
    Item(
        "Lemma 3.3",
        "As m grows, the mean p-value under q tends to 1 − AUC.",
        "agrees",
        "The mean rank and 1 − AUC stand beside each other below the ranks.",
        (_RANKS,),
        ("uniform",),
    ),
    Item(
        "Lemma 3.3, Corollary A.2",
        "The mean p-value of the oracle lies below one half by half the total variation at least.",
        "agrees",
        "Both are drawn over gamma. Below the ranks, the AUC of the classifier that was learnt "
        "bounds the total variation from below.",
        (_THEORY, _RANKS),
    ),
    Item(
        "Lemma A.4",
        "The oracle's mean p-value, from the spread of the density ratio under q.",
        "agrees",
        "Measured from the sizes of the ratios, it lies on 1 − AUC of the oracle.",
        (_THEORY,),
    ),
    Item(
        "Assumption 3.4",
        "The density ratio of two draws of q rarely differs by next to nothing.",
        "agrees",
        "Where the ratio is known its density near 0 is measured. It is large where q is near p, "
        "and where few draws of q have ratios of their own, as with a collapsed mode. Of an "
        "unknown ratio no sample verifies it.",
        (_THEORY, _RANDOM),
    ),
    Item(
        "Theorem 3.5",
        "A score that is off by epsilon raises the mean p-value by epsilon to the power 2/3 at "
        "most.",
        "agrees",
        "The rise is drawn over beta beside the least multiple of that power which bounds it. "
        "Epsilon is measured; few draws of q make much of it.",
        (_THEORY, _SCORES),
        ("uniform",),
    ),
    Item(
        "Lemma A.5",
        "The variance of a p-value at a given draw of q falls as 1 / m.",
        "agrees",
        "Drawn against m as Noise of a rank, with the tie-breaker's 1/12 that the paper leaves "
        "out.",
        (_OVER_M,),
        ("uniform",),
    ),
    Item(
        "Section 4, Equation 3, Appendix A.4",
        "Multiple: the mean rank among one shared set of draws of p, standardised.",
        "agrees",
        "The same statistic and variance; for small samples its exact law.",
        (_OTHERS,),
        ("multiple",),
    ),
    Item(
        "Assumption 4.1",
        "Ties of the score are rare.",
        "differs",
        "Not needed for the level here: ties are broken at random in Uniform and have half "
        "ranks in Multiple. What rounding and clipping cost in AUC and power is drawn.",
        (_THEORY, _OTHERS),
        ("multiple",),
    ),
    Item(
        "Theorem 4.2 (i)",
        "Multiple's statistic grows with the root of the sample size.",
        "agrees",
        "T is measured at n from 100 to 2000 beside the line of its limit.",
        (_THEORY, _OTHERS),
        ("multiple",),
    ),
    Item(
        "Theorem 4.2 (ii)",
        "A score that is off by epsilon changes that statistic by a share of epsilon to the "
        "power 2/3.",
        "agrees",
        "The oracle's line stands beside that of the learned score, and the share of T that is "
        "lost is told.",
        (_THEORY,),
        ("multiple",),
    ),
    Item(
        "Lemmas A.6 to A.9, Theorem A.10",
        "Multiple's statistic is standard normal if q is p.",
        "agrees",
        "It is drawn on that law, and trials count its type I error.",
        (_OTHERS, _LEVELS),
        ("multiple",),
    ),
    Item(
        "Section 5.1",
        "A classifier is degraded by moving its weights towards a random start by a share beta.",
        "agrees",
        "Exactly so, as a slider.",
        (_RANKS, _DEGRADED),
    ),
    Item(
        "Section 5.1, Appendix B.1",
        "A normal posterior, of which q shifts the mean, scales or stretches the covariance, "
        "thickens the tails, adds a mode or misses one.",
        "agrees",
        "All six, with exact density ratios and the grids of gamma of the CoLT paper.",
        (_RANKS, Link("methods", "Methods and benchmarks")),
        ("gaussian",),
    ),
    Item(
        "Appendix B.1",
        "Heavy tails have 1 / (gamma + a small number) degrees of freedom.",
        "agrees",
        "The small number is not given; here gamma = 0 is the normal itself.",
        (Link(_CONFORMAL, "Conformal C2ST, heavy tail", {"perturbation": "heavy_tail"}),),
        ("gaussian",),
    ),
    Item(
        "Section 5.1, Table 1",
        "What each test spends: draws of p and of q for 1000 test points.",
        "agrees",
        "The table below the curves counts the draws of every test.",
        (_MEAN,),
    ),
    Item(
        "Section 5.1, Appendix B.4",
        "SBC and TARP rank among 200 draws of q.",
        "agrees",
        "So do the figures here.",
        (_MEAN,),
        ("sbc", "tarp"),
    ),
    Item(
        "Section 5.1, Appendix B.4",
        "Discriminative calibration with 10 draws of q at each x.",
        "differs",
        "Ten draws too. The figures have both the authors' network and a score of ours, whose "
        "products of coordinates suit normals and find smaller errors.",
        (_MEAN,),
        ("dc",),
    ),
    Item(
        "Appendix B.2",
        "The classifier of discriminative calibration: 2000 epochs, and a bootstrap of 100.",
        "differs",
        "It is trained as in the code that its authors published, and tested by permutations "
        "within x, which keep the level exactly.",
        (_own("Discriminative calibration", {"methods": "dc"}),),
        ("dc",),
    ),
    Item(
        "Section 5.1",
        "The AutoML two-sample test.",
        "differs",
        "An ensemble of our own in its style by default; AutoGluon or FLAML where installed. Or "
        "C2ST's classifier is the witness: on the lens, where it is degraded, the paper's AutoML "
        "rejects as its C2ST does, so that its witness seems to be that.",
        (_own("AutoML", {"methods": "automl"}),),
        ("automl",),
    ),
    Item(
        "Section 5.1",
        "MMD-FUSE reads the 2000 + 2000 points of training and test together, with 2000 "
        "permutations.",
        "differs",
        f"In the figure of the mean shift it does. The others read {SMALL_MMD.points} + "
        f"{SMALL_MMD.points} with {SMALL_MMD.permutations} permutations, and the test's name in "
        "them says so: at the paper's size a trial takes five seconds of one core, a figure two "
        "hours. That size is the method's default, which a comparison of one's own runs.",
        (_MEAN, _own("MMD-FUSE", {"methods": "mmd_fuse"})),
        ("mmd_fuse",),
    ),
    Item(
        "Section 5.1",
        "L-C2ST is left out, since it asks about one observation.",
        "differs",
        "It is a method here, among the type I errors and for an observation of your own.",
        (_LEVELS, _UPLOAD),
        ("lc2st",),
    ),
    Item(
        "Section 5.1",
        "Uniform with m of 1, 10 and 50 beside the other tests.",
        "agrees",
        "In the figures; the page Conformal C2ST has every m.",
        (_MEAN, _OVER_M),
        ("uniform",),
    ),
    Item(
        "Section 5.1",
        "Rejections at 5% in 200 trials, averaged over three trainings.",
        "differs",
        "In the figures of power 200 trials of each of three networks, on the sphere 100, "
        "on the images 64, on the lens 50, as the paper has there.",
        (_MEAN, _SPHERE, _IMAGES, _LENSING),
    ),
    Item(
        "Section 5.1, Figures 2 (a), 6 to 9 (a)",
        "Power of eight tests over gamma: the conformal tests find the smallest errors.",
        "differs",
        f"{list_text([readable_name(name) for name in _FOUR]).capitalize()} are ready made. Other "
        "tests of the paper lead Uniform(50) or Multiple by 5 points or more in these places "
        f"alone. {_PLACES} More is learnt from {RECIPE.train:,} draws a side: by such classifiers "
        f"Uniform(50) rejects the covariance scaling in {TAUGHT['covariance_scaling']} and the "
        f"heavy tail in {TAUGHT['heavy_tail']}. Discriminative calibration with our own score is "
        "nowhere behind either.",
        (_MEAN, _TAILS),
        ("c2st", "multiple", "uniform", "sbc", "tarp", "dc", "automl", "mmd_fuse"),
    ),
    Item(
        "Section 5.1",
        "Discriminative calibration rejects a correct q too often.",
        "differs",
        "Here it keeps its level: permutations within x are exact, and the score cannot see in "
        "which slot the true value lies.",
        (_LEVELS,),
        ("dc",),
    ),
    Item(
        "Section 5.1, Figure 2 (b)",
        "As the classifier is degraded, C2ST's power collapses and the conformal tests' does not.",
        "differs",
        "At beta = 0.95 C2ST finds the mean shift in 32% of trials, Uniform(50) in 84%, but "
        "Multiple in 33%: it looks to one side, and two of three networks move towards a start "
        "that ranks the wrong way round.",
        (_DEGRADED, Link(_CONFORMAL, "Heavy tail over beta", {"perturbation": "heavy_tail"})),
        ("c2st", "multiple", "uniform"),
    ),
    Item(
        "Appendix B.1, Figures 10 (a), 11 (a)",
        "The same for an additional mode and for mode collapse.",
        "differs",
        "Mode collapse is found by all but TARP and MMD-FUSE at its smallest weight. An "
        "additional mode of weight 0.05 is rejected in every trial by discriminative calibration "
        "and by the AutoML-style ensemble, in 72% by Uniform(50) and in 51% by Multiple: the "
        "first two weigh how sure a classifier is of each draw, ranks their order only.",
        (
            Link("compare", "Additional mode", {"comparison": "conformal_additional_mode"}),
            Link("compare", "Mode collapse", {"comparison": "conformal_mode_collapse"}),
        ),
        ("gaussian",),
    ),
    Item(
        "Appendices B.1 and B.4, Figures 6 to 11 (b)",
        f"Power of Uniform for m of {list_text([str(m) for m in PAPER_M])}.",
        "agrees",
        "All of them, shipped for every perturbation in three dimensions; of other sizes each "
        "takes a minute, and starts by itself.",
        (_OVER_M,),
        ("uniform",),
    ),
    Item(
        "Appendix B.1, Figures 6 to 11 (c)",
        "Power over the degradation beta, for each of the six errors: the conformal tests improve "
        "on C2ST throughout.",
        "differs",
        "Shipped for every perturbation and four sizes, with each of three networks for all "
        "gammas. Below beta = 1 Uniform is nowhere behind C2ST by more than 6 points. Multiple is "
        "by more than 10 with mode collapse in 3 dimensions (68% to 81%) and in 10 (33% to 88%) "
        "and with heavy tails in 100 (74% to 87%).",
        (_RANKS,),
        ("c2st", "multiple", "uniform"),
    ),
    Item(
        "Appendix B.2",
        "The classifier: three layers of 256 with skip connections, 1000 + 1000 rows, 2000 "
        "epochs at 1e-5.",
        "agrees",
        "A preset of the page, of Compare and of the command line. The page opens with one "
        f"network for all gammas, from {RECIPE.train:,} + {RECIPE.train:,} rows in a second, "
        "which ranks better than 1000 rows teach.",
        (_PAPER,),
    ),
    Item(
        "Section 5.2, Figure 3",
        "Blurred, swirled and noisy images: the conformal tests see less than C2ST needs, and "
        "still do with a weak classifier.",
        "agrees",
        "Shipped on crops of photographs, as trained and at beta = 0.95.",
        (_IMAGES,),
        ("images",),
    ),
    Item(
        "Section 5.2",
        "The images are those of CIFAR-10.",
        "differs",
        "They are not ours to ship: a folder of yours is read. Photographs stand in.",
        (Link("high-dimensions", "Images of CIFAR-10", {"images": "cifar10"}),),
        ("images", "digits"),
    ),
    Item(
        "Appendix B.3, Table 3",
        "Grids of the three corruptions, and beta of 0 and 0.95.",
        "agrees",
        "On CIFAR-10; crops of photographs have grids over which their own power rises.",
        (_IMAGES,),
        ("images",),
    ),
    Item(
        "Appendix B.3",
        "Features of 2048 numbers by Inception V3, resized to 299 pixels.",
        "differs",
        "An option, where torchvision and its weights are installed; a filter bank by default.",
        (Link("high-dimensions", "Images, Inception V3", {"features": "inception"}),),
        ("images",),
    ),
    Item(
        "Appendix B.3",
        "A classifier that sees the label, through an embedding of 64 numbers, or does not.",
        "agrees",
        f"Both; the embedding has {_PAPER_HEAD.embedding} numbers. The paper writes f for the "
        "image's features and e for the label's embedding, and applies each to the other.",
        (Link("high-dimensions", "Images without labels", {"sees": "unseen"}),),
        ("images",),
    ),
    Item(
        "Appendix B.3",
        "A head of 256 and 128 units with dropout of one half, three seeds, 64 runs.",
        "agrees",
        f"{list_text([str(units) for units in _PAPER_HEAD.hidden])} units, dropout "
        f"{_PAPER_HEAD.dropout:g}, {_IMAGES_STUDY.seeds} seeds, {_IMAGES_STUDY.trials} runs; with "
        f"Inception V3 {DEAR_TRIALS} runs of one network.",
        (_IMAGES,),
        ("images",),
    ),
    Item(
        "Appendix B.3",
        "The head is trained for 200 epochs at 1e-4.",
        "agrees",
        f"So the photographs' were, on a GPU. CIFAR-10's learn for {_HEAD.epochs} at "
        f"{_HEAD.lr:g}, as many steps times rate, in a quarter of the time.",
        (_IMAGES,),
        ("images",),
    ),
    Item(
        "Appendix B.3",
        "Uniform with m of 2, 5 and 20 on images.",
        "agrees",
        "All three: the larger m, the more power, most from 2 to 5.",
        (_IMAGES,),
        ("uniform",),
    ),
    Item(
        "Appendix B.3",
        "Training is spread over all GPUs of a machine.",
        "not_built",
        "One device trains a network; it takes seconds on one core.",
        (Link("models", "Models and jobs"),),
    ),
    Item(
        "Section 5.3",
        "Lensing: a galaxy of 16 × 16 pixels is warped affinely and blurred, and noise added.",
        "differs",
        "The lens is an isothermal ellipsoid by default, since the paper gives no numbers of "
        "its warp. An affine one is a choice of the page: its networks learn in a minute, and its "
        "Table 2 takes half an hour of one core for each of three networks.",
        (
            _LENSING,
            Link("high-dimensions", "The affine lens", {"system": "lensing", "lens": "affine"}),
        ),
        ("lensing",),
    ),
    Item(
        "Section 5.3",
        "The prior is fitted to the galaxies of PROBES.",
        "differs",
        "To sources of the Hubble Deep Field, which ship; a file of PROBES is read where "
        "NPTLAB_PROBES names one.",
        (
            _own(
                "Galaxies of PROBES",
                {"benchmark": "lensing", "benchmark-lensing-galaxies": "probes"},
            ),
        ),
        ("lensing",),
    ),
    Item(
        "Section 5.3",
        "q is drawn by the reverse steps of a diffusion, whose score mixes the true one with a "
        "biased one by gamma.",
        "agrees",
        "All is normal, so that the law of those draws is known in closed form; the steps "
        "themselves are an option and agree with it.",
        (
            _LENSING,
            _own(
                "The reverse steps",
                {"benchmark": "lensing", "benchmark-lensing-diffusion": "reverse-sde"},
            ),
        ),
        ("lensing",),
    ),
    Item(
        "Section 5.3",
        "Networks learn from 2000 + 2000 rows; rates are of 50 test sets.",
        "agrees",
        "All that learn do so from as many, TARP's references, too.",
        (_LENSING,),
        ("lensing", "dc", "automl"),
    ),
    Item(
        "Section 5.3, Table 2 (a)",
        "Power over the bias: the conformal tests find it at a smaller gamma than all others, "
        "and SBC and TARP hardly at all.",
        "differs",
        "Multiple, Uniform, C2ST, AutoML of C2ST's classifier and discriminative calibration with "
        "our features come before all others. Of these Uniform lags at 0.2 (15% of test sets, "
        "C2ST 23%, Multiple 30%, AutoML of the classifier 28%, our features 36%); at 0.3 our "
        "features lead (95%; C2ST 57%, Multiple and AutoML of the classifier 71%, Uniform 75%). "
        "Our bias turns the lens, which moves means of pixels: SBC finds it.",
        (_NUMBERS, _LENSING),
        ("lensing", "c2st", "multiple", "uniform", "sbc", "tarp", "dc", "automl", "mmd_fuse"),
    ),
    Item(
        "Section 5.3, Table 2 (b)",
        "Power as the classifier is degraded: Multiple holds longest.",
        "differs",
        "Both conformal tests outlast C2ST: at gamma = 1 and beta = 0.95 Uniform rejects 65% of "
        "test sets, Multiple 61%, C2ST 52%, at gamma = 0.5, which the page draws, and beta = 0.9 "
        "44%, 45% and 34%. Uniform is ahead of Multiple at 0.5 and 0.8 alone (94% to 85%). That "
        "holds of these three networks, which differ by more. The bias behind it is another, and "
        "larger at gamma = 1.",
        (_NUMBERS, _LENSING),
        ("lensing", "c2st", "multiple", "uniform", "automl"),
    ),
    Item(
        "Appendix C",
        "A sphere in 100 dimensions, carried there by a random matrix, with its angles as x.",
        "agrees",
        "The noise, the matrix and the direction of the shift are not given: those are ours. "
        "The paper's polar angle, which crowds the poles, is an option.",
        (_SPHERE,),
        ("sphere_flow",),
    ),
    Item(
        "Appendix C",
        "The posterior is a RealNVP of 8 couplings with 512 units, trained for 500 epochs.",
        "differs",
        f"The same network, an option, trained for {_FLOW.epochs} epochs on {_FLOW.pairs:,} "
        "pairs, which does not overfit; by default the law of the pairs itself.",
        (
            Link(
                "high-dimensions",
                "The trained flow",
                {"system": "sphere", "sphere-flow": "trained"},
            ),
        ),
        ("sphere_flow",),
    ),
    Item(
        "Appendix C",
        "The log ratio is known, and is weakened by normal noise of sd beta.",
        "agrees",
        "So is the power of every test, which is drawn beside the trials.",
        (_SPHERE,),
        ("sphere_flow",),
    ),
    Item(
        "Appendix C, Figure 4",
        "Draws of p and q on their first two principal components.",
        "agrees",
        "The first picture of the view, at every gamma.",
        (_SPHERE,),
        ("sphere_flow",),
    ),
    Item(
        "Appendix C, Figure 5",
        "Power of all tests over gamma and beta.",
        "differs",
        "With beta up to 0.1 C2ST, Multiple and Uniform find more than any test that reads no "
        "given score, as printed; at beta 0.5 DC on our features passes them at small gammas. DC "
        "keeps its level here, where the paper's exceeds it. MMD-FUSE reads 250 rows of each "
        "side; at the paper's size it takes over an hour of a core.",
        (_SPHERE, _own("All tests on the sphere", {"benchmark": "sphere_flow"})),
        ("sphere_flow",),
    ),
    Item(
        "Appendix D",
        "Which test to use: Multiple in the place of C2ST, Uniform where draws of p are cheap.",
        "agrees",
        "Which test? asks what you have, and answers by these rules and by those of the other "
        "tests.",
        (_ADVICE,),
        ("multiple", "uniform"),
    ),
    Item(
        "Appendix D",
        "Most of Uniform's gain is had by m of 10 to 50.",
        "agrees",
        "Power over m flattens there.",
        (_OVER_M,),
        ("uniform",),
    ),
    Item(
        "Appendix D",
        "With a nearly random classifier Multiple is the safer of the two.",
        "differs",
        "It depends on the random start: Multiple looks to one side, and where that start ranks "
        "the wrong way round it rejects nothing while Uniform still does.",
        (_COLLAPSE,),
        ("multiple", "uniform"),
    ),
    Item(
        "Appendix D",
        "A weak classifier makes the tests conservative, and leaves them valid.",
        "differs",
        "The conformal tests are as exact with a weak classifier as with a strong one: whatever "
        "the score, a correct q is rejected at the level. C2ST alone turns conservative, where "
        "its threshold is misplaced.",
        (_LEVELS, _SHIFTED),
        ("c2st", "multiple", "uniform"),
    ),
    Item(
        "Appendix D",
        "A rising transform of the score changes no conformal test.",
        "agrees",
        "A test of every method that reads ranks; shifting the boundary shows it.",
        (_SHIFTED,),
        ("multiple", "uniform"),
    ),
    Item(
        "Appendix D",
        "A score without any order leaves every test at its level.",
        "agrees",
        "Turn the boundary by 90 degrees, or move beta to 1.",
        (_TURNED, _RANDOM),
    ),
    Item(
        "Appendix D",
        "Frozen features with a small trained head are a practical choice.",
        "agrees",
        "The images are scored so, and so are images that you upload.",
        (_IMAGES, _UPLOAD),
        ("images",),
    ),
    Item(
        "Section 6",
        "The tests say that q is wrong, not where.",
        "agrees",
        "True of them; CoLT's map and the questions of My posterior say where.",
        (Link("colt", "CoLT"), _UPLOAD),
        ("colt",),
    ),
    Item(
        "Section 6",
        "The tests do not ask whether the simulator is right.",
        "agrees",
        "True of them; My posterior asks whether your observation looks like the simulations.",
        (_UPLOAD,),
    ),
)
"""What the paper defines, claims, tabulates or draws."""
