"""Items of Chen, Bansal, Scott, CoLT: the conditional localization test, in its order."""

from __future__ import annotations

from validation_core.estimators.diffusion import STEPS, Diffusion
from validation_core.explorers.papers.item import Item, Link
from validation_core.sweep.colt_paper import ANISOTROPIC, FULL_BENT, SIZES, TRIALS
from validation_core.sweep.presets import FEW_PAIRS
from validation_core.text import list_text

_COLT = "colt"
_WHERE = Link(_COLT, "CoLT")
_RANKS = Link(_COLT, "CoLT, Ranks", {"view": "ranks"})
_THEORY = Link(_COLT, "CoLT, Theory", {"view": "theory"})
_TRAINING = Link(_COLT, "CoLT, Training", {"view": "training"})
_POWER = Link(_COLT, "CoLT, Power", {"view": "power"})
_FIGURES = Link(_COLT, "CoLT, Papers", {"view": "papers"})
_TREE_FIGURES = Link(_COLT, "CoLT, Papers: tree", {"view": "papers", "paper": "tree"})
_SPIRAL_FIGURES = Link(_COLT, "CoLT, Papers: spiral", {"view": "papers", "paper": "spiral"})
_PAPER = Link(_COLT, "CoLT, the paper's training", {"training": "paper"})
_IDENTITY = Link(_COLT, "CoLT, identity", {"embedding": "identity"})
_FULL = Link(_COLT, "CoLT, MLP", {"embedding": "mlp"})
_TEN = Link(_COLT, "CoLT, MLP in 10 dimensions", {"embedding": "mlp", "outputs": "10"})
_CURVED = Link(_COLT, "CoLT, curved", {"perturbation": "heavy_tail", "curved": "true"})
_CURVED_POWER = Link(_COLT, "CoLT, curved, Power", {"curved": "true", "view": "power"})
_TREE = Link(_COLT, "CoLT on the tree", {"benchmark": "tree"})
_TREE_POWER = Link(_COLT, "CoLT on the tree, Power", {"benchmark": "tree", "view": "power"})
_SPIRAL = Link(_COLT, "CoLT on the spiral", {"benchmark": "spiral"})
_TRAINED = Link(_COLT, "The trained denoiser", {"benchmark": "spiral", "model": "diffusion"})
_SPIRAL_POWER = Link(_COLT, "CoLT on the spiral, Power", {"benchmark": "spiral", "view": "power"})
_HUNT = Link("lessons", "Lesson 6", {"lesson": "hunt"})
_ERRORS = Link(_COLT, "CoLT, Papers: errors", {"view": "papers", "paper": "errors"})
_BENT_ERRORS = Link(
    _COLT,
    "CoLT, Papers: errors, curved",
    {"view": "papers", "paper": "errors", "error": "heavy_tail", "bent": "curved"},
)
_BLIND = Link("lessons", "Lesson 7", {"lesson": "blind-prior"})
_SILENT = Link("compare", "Why is SBC silent here?", {"comparison": "blind"})
_LEVELS = Link("compare", "Type I errors of all tests", {"comparison": "type_one"})
_NUMBERS = Link("papers", "The printed numbers", {"show": "numbers"})

_THEIRS = ("gaussian", "tree", "spiral")
_ONE, _PAPER_ONE = Diffusion.preset("interactive"), Diffusion.preset("paper")

ITEMS: tuple[Item, ...] = (
    Item(
        "Section 1, Figure 1 (a) to (c), Appendix C.1",
        "A tree of two thin branching mixtures, one for each sign of x, which q blurs.",
        "agrees",
        "The same two trees, grown by the same random numbers, at every blur. The one that the "
        "paper calls bottom left grows to the top right.",
        (_TREE,),
        ("tree", "colt"),
    ),
    Item(
        "Section 1, Appendix C.1",
        "q's blur: noise added to p in the text, p's own blur times 1 + alpha in the appendix.",
        "agrees",
        "The two are not the same; both are here, the appendix's first.",
        (Link(_COLT, "Added noise", {"benchmark": "tree", "noise": "added"}), _TREE),
        ("tree",),
    ),
    Item(
        "Appendix C.1",
        "The covariance of the tree's components.",
        "differs",
        "As printed it is not symmetric: the sizes stand on both sides of it here.",
        (_TREE,),
        ("tree",),
    ),
    Item(
        "Section 1, Figures 1 (d) and 6",
        "Power on the tree: CoLT finds a blur that C2ST, SBC and TARP miss.",
        "differs",
        "At the two printed strengths the MLP finds it and C2ST does not, as there, but with the "
        "appendix's blur. At the smaller, two of its three networks reject in .78 and .80, one in "
        ".07, where the paper's mean is .877. By the noise of the text, a smaller error, the MLP "
        "has .057 at the smaller and .947 at the larger. With the appendix's blur "
        "all do at the larger; over all nine, by three networks of each, the MLP finds nothing up "
        "to 1, and at 2, 3 and 3.5, too, one of three has learnt nothing; our embedding has .94 "
        "at .5 and 1 from 1 on, C2ST, SBC and the identity stay at .1 or below, and TARP reaches "
        ".115.",
        (_NUMBERS, _TREE_FIGURES, _TREE_POWER),
        ("tree", "colt", "c2st", "sbc", "tarp"),
    ),
    Item(
        "Definition 1, Appendix A",
        "The doubling condition: an embedding under which a ball of twice the radius has at "
        "most so many times the volume.",
        "differs",
        "The paper asks it of volumes; measured is q's mass in balls around the learnt centres, "
        "and in those of twice the radius.",
        (_THEORY,),
    ),
    Item(
        "Section 3, Appendix A",
        "An embedding that is Lipschitz keeps the guarantee, and so do networks.",
        "differs",
        "A constant embedding is Lipschitz and sees nothing. It must keep distances from below, "
        "too: with C1 and C2 as its least and largest stretch a ball of twice the radius has at "
        "most (2 C2 / C1)^D times the volume. A network need not. Every embedding is valid; what "
        "it may cost is power.",
        (_THEORY,),
    ),
    Item(
        "Theorem 1, Lemma 1",
        "If no centre that depends on x has a ball of other mass under q, on average over x, "
        "q is p.",
        "agrees",
        "The lesson has you look for such a ball by hand, and CoLT after you; the theory draws "
        "the largest difference over gamma, 0 where q is p.",
        (_HUNT, _WHERE, _THEORY),
        ("colt",),
    ),
    Item(
        "Theorem 2, Lemma 2",
        "The rank of a true value's distance among q's draws is uniform for every centre if and "
        "only if q is p.",
        "agrees",
        "The view Ranks draws it; the lesson shows which centres see a q that ignores x.",
        (_RANKS, _BLIND),
        ("colt",),
    ),
    Item(
        "Theorem 3",
        "The largest distance of those ranks from uniform equals ACLD, a metric over balls.",
        "differs",
        "ACLD has one radius for all x, the ranks' distance one for each x: the proof takes one "
        "for the other. The page reports the ranks' distance, with an interval that is exact; "
        "the theory has ACLD of the learnt centre beside it.",
        (_RANKS, _THEORY),
        ("colt",),
    ),
    Item(
        "Sections 1 and 2.3",
        "That distance compares training runs and estimators.",
        "differs",
        "Each diagnosis has it, with its interval, and the theory ranks stored runs by it. "
        "Compare posteriors ranks estimators by proper scores instead, since each distance has a "
        "ball of its own.",
        (_RANKS, _THEORY, Link("compare-posteriors", "Compare posteriors")),
        ("colt",),
    ),
    Item(
        "Section 3, Algorithm 1",
        "A centre and an embedding learn to make the ranks as uneven as they can, by a "
        "straight-through gradient.",
        "agrees",
        "The same; a film shows it step by step.",
        (_TRAINING,),
        ("colt",),
    ),
    Item(
        "Section 3",
        "Training climbs a Sinkhorn divergence.",
        "agrees",
        "An option. By default it is W2 of the ranks, exact by sorting.",
        (Link(_COLT, "CoLT, Sinkhorn", {"divergence": "sinkhorn"}),),
        ("colt",),
    ),
    Item(
        "Section 3, Algorithm 2",
        "The ranks of new rows, R / K, are tested by Kolmogorov and Smirnov.",
        "differs",
        "Ranks are randomised first: R / K has steps, at which the test rejects a correct q too "
        "often where K is small beside N.",
        (_RANKS, _LEVELS),
        ("colt",),
    ),
    Item(
        "Section 3",
        "An embedding that is fixed, such as the identity, keeps the guarantee.",
        "agrees",
        "CoLT ID of the paper.",
        (_IDENTITY,),
        ("colt",),
    ),
    Item(
        "Section 4, Appendix C.4",
        "CoLT Full: both networks have three layers of 256, and the embedding as many outputs "
        "as theta has dimensions.",
        "agrees",
        "The embedding MLP; of 256 units under the paper's training.",
        (_FULL, _PAPER),
        ("colt",),
    ),
    Item(
        "Appendix C.4",
        "Embeddings with another number of outputs.",
        "agrees",
        "An option, Dimensions of phi; by default those of theta.",
        (_TEN,),
        ("colt",),
    ),
    Item(
        "Section 4",
        "A normal posterior whose mean and spread depend on x.",
        "differs",
        "W2 has a shape by which x cannot be multiplied; here it is a vector as long as x.",
        (_WHERE,),
        ("gaussian",),
    ),
    Item(
        "Appendix C.2, Table 1",
        "Six errors of q, each with a strength.",
        "agrees",
        "All six, with exact density ratios, and q that ignores x beside them.",
        (_WHERE,),
        ("gaussian",),
    ),
    Item(
        "Section 4, Appendix C.5",
        "The same posterior bent: a layer of 128 sines.",
        "agrees",
        "The same map, with a gain of our own that bends it more.",
        (_CURVED,),
        ("gaussian",),
    ),
    Item(
        "Figure 2",
        "A normal with correlation 0.9, the same with heavy tails, and both bent.",
        "agrees",
        "Draws of p and q in the plane, straight or curved.",
        (Link(_COLT, "CoLT, heavy tail", {"perturbation": "heavy_tail"}), _CURVED),
        ("gaussian",),
    ),
    Item(
        "Appendix C.5",
        "The total absolute curvature of the principal curve, before and after bending.",
        "differs",
        "A line that is nearly straight cannot turn by so much: the printed numbers are no "
        "radians. Ours are.",
        (_NUMBERS, _CURVED),
        ("gaussian",),
    ),
    Item(
        "Section 4",
        "Baselines: C2ST from one draw of q a row, SBC with Bonferroni over parameters, TARP "
        "with random references.",
        "differs",
        "SBC and TARP as there. C2ST learns from every draw of a table, at a faster rate "
        f"({FEW_PAIRS.epochs} epochs at {FEW_PAIRS.lr:g}; the paper's 1000 at 1e-5, on the tree "
        "5000, with an added mode at 5e-5), and has "
        f"{FEW_PAIRS.hidden} units a layer in place of 256.",
        (_POWER,),
        ("c2st", "sbc", "tarp"),
    ),
    Item(
        "Section 4, Appendix C.4, Table 2",
        "100 rows with 500 draws of q (tree: 1000 with 100, spiral: 1000 with 200), 200 tables.",
        "agrees",
        "Each benchmark opens with them: "
        + list_text([f"{name} {n} with {k}" for name, (n, k) in SIZES.items() if name in _THEIRS])
        + f"; {TRIALS} tables.",
        (_POWER,),
        ("colt",),
    ),
    Item(
        "Appendix C.4, Table 2",
        "Strengths of each error; epochs and rates of CoLT.",
        "agrees",
        "The strengths are the sliders' steps; epochs and rates are the preset Paper.",
        (_PAPER,),
        ("colt",),
    ),
    Item(
        "Section 4",
        "Three seeds, their mean and its standard error.",
        "differs",
        "Tables as printed. Curves are means of three networks, too, whose bands reach from the "
        "lowest to the highest of their 95% intervals. CoLT Full is in the tables and in the "
        "figures of the tree and of bent posteriors in 3 dimensions: all panels of it would keep "
        "a core busy for a night.",
        (_FIGURES, _NUMBERS),
    ),
    Item(
        "Figure 3 (a)",
        "Power for four errors of the normal posterior: CoLT matches or exceeds C2ST.",
        "agrees",
        "With all four, in every size of x and theta, C2ST is nowhere ahead by more than 2 points "
        f"of CoLT with the identity or with our Fourier embedding. {ANISOTROPIC}",
        (_ERRORS, _POWER),
        ("gaussian", "colt"),
    ),
    Item(
        "Figure 3 (b)",
        "Power for four errors of the bent posterior, where the learnt embedding helps.",
        "differs",
        "All four in every size of x and theta, with the identity and with our Fourier embedding, "
        f"which finds what the identity finds. {FULL_BENT} With x in 50 dimensions or more no "
        "test finds any error: x moves the sines of the map far along. At a gain of 0.1, which "
        "hardly bends, CoLT finds the heavy tail in 100 dimensions in 20 of 20 tables.",
        (_BENT_ERRORS, _CURVED_POWER),
        ("gaussian", "colt"),
    ),
    Item(
        "Section 4, Appendix C.3, Figures 4 (a) to (c), 7 (a) to (g)",
        f"A spiral, drawn by a diffusion whose {STEPS} reverse steps are left out one by one.",
        "agrees",
        "By the ideal denoiser, in closed form, or by a trained one.",
        (_SPIRAL, _TRAINED),
        ("spiral", "digits"),
    ),
    Item(
        "Appendix C.3",
        "The diffusion learns from 32,768 pairs for 50,000 epochs at 1e-4.",
        "differs",
        f"From {_ONE.pairs:,} pairs for {_ONE.epochs} epochs at {_ONE.lr:g}, in a minute; the "
        f"paper's {_PAPER_ONE.epochs:,} are a preset in Python.",
        (_TRAINED,),
        ("spiral",),
    ),
    Item(
        "Figure 4 (d)",
        "CoLT's statistic grows as more steps are left out.",
        "agrees",
        "The same curve, for both denoisers; one localizer learnt at all numbers of steps.",
        (_SPIRAL_FIGURES,),
        ("spiral", "colt"),
    ),
    Item(
        "Appendix D.4, Figure 7 (h)",
        "Power and type I error over the steps; the text has power rise towards the last step.",
        "differs",
        "It must fall, since q comes nearer to p. Here, by the ideal denoiser (the trained one "
        "has a button), one step "
        "left out is enough: CoLT, SBC and TARP reject every table, C2ST no more than where q is "
        "p, but for one of its three networks with five left out (.615). Where q is p all keep "
        "their level.",
        (_SPIRAL_FIGURES, _SPIRAL_POWER),
        ("spiral", "colt"),
    ),
    Item(
        "Appendix D.1, Figure 5",
        "Draws of the tree at nine strengths of the blur.",
        "agrees",
        "Side by side, each with the learnt ball; every strength is a step of the slider, too.",
        (_TREE_FIGURES, _TREE),
        ("tree",),
    ),
    Item(
        "Appendix D.2, Figures 8 to 13",
        "Power for six errors in four sizes of x and theta.",
        "differs",
        "All six in all four, by three networks that learnt at all gammas in place of three for "
        "each, but for the anisotropic error in up to 10 dimensions, which these find less of. "
        "C2ST, too, has the true pairs of all gammas there, seven times the paper's and more.",
        (_ERRORS, _POWER),
        ("gaussian", "colt"),
    ),
    Item(
        "Appendix D.3",
        "SBC and TARP cannot see a q that ignores x.",
        "agrees",
        "A lesson and a demonstration; TARP whose references follow x does see it.",
        (_BLIND, _SILENT),
        ("gaussian", "sbc", "tarp"),
    ),
    Item(
        "Appendix D.3, Table 3",
        "Power for that q: CoLT in all sizes, C2ST less as they grow.",
        "agrees",
        "CoLT with the identity rejects always, and so does the MLP in up to 50 dimensions, where "
        "the paper's has .69 to .98. In 100, where it has .45, two of our three networks do, and "
        "one has learnt nothing. C2ST rejects less in 100 dimensions, SBC and TARP at their "
        "level.",
        (_NUMBERS, _FIGURES),
        ("colt", "c2st", "sbc", "tarp", "gaussian"),
    ),
    Item(
        "Appendix D.3, Table 4",
        "Type I errors are near 5%.",
        "agrees",
        "Ours are at their level by construction; they are counted all the same.",
        (_NUMBERS, _FIGURES, _LEVELS),
        ("colt", "c2st", "sbc", "tarp", "gaussian"),
    ),
    Item(
        "Section 4, Limitations",
        "A localizer that learnt too little misses errors.",
        "agrees",
        "The untrained one is drawn in every power curve, and the film shows what training "
        "gained.",
        (_TRAINING, _POWER),
        ("colt",),
    ),
    Item(
        "Section 4, Limitations",
        "Few draws of q make the ranks coarse.",
        "agrees",
        "Power falls and the level stays: randomised ranks are exact for any K.",
        (Link(_COLT, "CoLT with few draws", {"k_gaussian": "50"}),),
        ("colt",),
    ),
    Item(
        "Section 4, Limitations",
        "The distance is hard to interpret in many dimensions.",
        "differs",
        "The page says it as a share: how much of p lies in the ball that holds a given share "
        "of q.",
        (_WHERE,),
        ("colt",),
    ),
)
"""What the paper defines, claims, tabulates or draws."""
