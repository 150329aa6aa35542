"""Printed numbers beside ours: each has one or a reason, and what is said of them holds."""

import dataclasses
import json
import re
from itertools import permutations, product

import numpy as np
import pytest

from tests.test_docs import one_line
from validation_core import symmetric_divergence
from validation_core.benchmarks import Spiral, Tree
from validation_core.benchmarks.gaussian import Gaussian, curved_map
from validation_core.benchmarks.tree import SD
from validation_core.explorers.conformal import power_study
from validation_core.explorers.conformal.power_study import ConformalPower
from validation_core.explorers.conformal.study import Learned
from validation_core.explorers.conformal.view import MeasuredPower
from validation_core.explorers.highdim.images import study as images_study
from validation_core.explorers.highdim.lensing import table as lensing_table
from validation_core.explorers.papers import beside, conformal_items, divergence_items
from validation_core.explorers.papers.curvature import CurvatureStudy
from validation_core.methods import DC, CoLT, Multiple, Uniform
from validation_core.panels.colt import paper_figures
from validation_core.panels.colt.paper_figures import PowerPanel
from validation_core.published import TABLES
from validation_core.rng import stream
from validation_core.statistics import sign_flips
from validation_core.store import SHIPPED, Store
from validation_core.sweep import colt_paper, presets
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import collect, missing_of_all
from validation_core.sweep.rates import counts_of
from validation_core.sweep.trials import Tally, TrialDesign
from validation_core.symmetric_divergence import GRID, MOST, MS, broad_priors
from validation_core.text import list_text, share_text


@pytest.fixture
def shipped(tmp_path):
    """What comes with the package."""
    return Store(tmp_path, gallery=SHIPPED)


def sheets(store):
    """By where the table stands."""
    return {sheet.table.where: sheet for sheet in beside.sheets(store, {})}


def power(store, sweep):
    """Method -> (gamma, beta) -> share of trials that reject."""
    rates = {}
    for cell in collect(sweep, store).cells:
        rates.setdefault(cell.method, {})[cell.gamma, cell.beta] = cell.rate
    return rates


@pytest.mark.parametrize("empty", [False, True])
def test_each_has_ours_or_a_reason(tmp_path, empty):
    found = sheets(Store(tmp_path, gallery=None if empty else SHIPPED))
    assert [sheet.table for sheet in found.values()] == list(TABLES)
    for sheet in found.values():
        assert [cell.number for cell in sheet.cells] == list(sheet.table.numbers)
        assert all(bool(cell.ours) != bool(cell.why) for cell in sheet.cells)
        assert sum(len(cells) for cells in sheet.reasons.values()) + sheet.counted == len(
            sheet.cells
        )
        assert not (empty and sheet.counted)


def test_lensing_ships_whole(shipped):
    found = sheets(shipped)
    assert not found["Table 2 (a)"].reasons
    assert not found["Table 2 (b)"].reasons
    assert found["Appendix C.5"].counted == 2


def test_a_seeds_mean_has_its_standard_error(store):
    """Networks of three seeds are averaged; tests without one are counted once."""
    for sweep in colt_paper.blind_prior_sweeps()[:4]:
        for one, rejected in zip(sweep.of_one_network, (100, 150, 200), strict=False):
            keep(one, store, rejected)
    cells = {(c.number.row, c.number.place): c.ours for c in sheets(store)["Table 3"].cells}
    for row in ("CoLT ID", "CoLT Full", "C2ST"):
        assert cells[row, (3, 3)] == "0.750 ± 0.144"
    for row in ("SBC", "TARP"):
        assert cells[row, (3, 3)] == "0.500 [0.431, 0.569]"
    assert not any(ours for (_, place), ours in cells.items() if place != (3, 3))


def keep(sweep: Sweep, store: Store, rejected: int) -> None:
    """Store curves of a sweep in which so many of 200 trials reject."""
    pvalues = np.where(np.arange(200) < rejected, 0.001, 0.9)
    for method in sweep.methods:
        tally = Tally(pvalues, np.zeros(200), 1, 1, 0.0, 0.0)
        sweep.curve(method).save(store, [tally] * len(sweep.places), "cpu")


def test_an_unfinished_curve_is_not_ours(store):
    sweep = colt_paper.tree_sweeps()[2].of_one_network[0]
    parts = sweep.parts[sweep.methods[0].label, sweep.places[0]]
    parts[0].keep(store, Tally(np.zeros(10), np.zeros(10), 1, 1, 0.0, 0.0))
    assert sheets(store)["Section 1"].counted == 0


def test_a_straight_posterior_hardly_turns_and_a_bent_one_does(shipped):
    straight, bent = CurvatureStudy().load(shipped).turn
    assert straight < 0.1
    assert 1.5 < bent < 3
    again = CurvatureStudy(draws=2000, seed=1).compute(shipped, lambda *_: None).turn
    assert again[0] < 0.3 < 1 < again[1]


def lensing_rejections(store):
    """Method -> (gamma, beta) -> whether each of its networks rejects each test set (M, 50)."""
    sweeps, of_seed, found = lensing_table.sweeps(), {}, {}
    for one in (one for sweep in sweeps for one in sweep.of_one_network):
        for (label, place), pvalues in collect(one, store, beside=sweeps).pvalues.items():
            of_seed[label, place, one.seed] = pvalues <= one.design.alpha
    for (label, place, _), rejected in of_seed.items():
        found.setdefault(label, {}).setdefault(place, []).append(rejected)
    return {
        label: {place: np.array(rejected) for place, rejected in places.items()}
        for label, places in found.items()
    }


def test_what_is_said_of_the_lens_holds(shipped):
    found = lensing_rejections(shipped)
    for label, places in found.items():
        networks = 1 if label in {"SBC", "MMD-FUSE 250 rows"} else 3
        assert {rejected.shape for rejected in places.values()} == {(networks, 50)}
    rates = {
        label: {place: round(100 * rejected.mean()) for place, rejected in places.items()}
        for label, places in found.items()
    }
    assert rates["SBC"][0.4, 0] < 12 < rates["SBC"][0.6, 0]
    of_classifier = "AutoML of the classifier"
    first = ["Multiple", "Uniform(50)", "C2ST", of_classifier, "DC our features"]
    for at, low, high in (
        (0.2, first[1:2], [*first[:1], *first[2:]]),
        (0.3, first[:4], first[4:]),
    ):
        assert all(fewer(found[one][at, 0], found[other][at, 0]) for one in low for other in high)
    others = found.keys() - set(first)
    assert len(others) == 5
    for gamma in (0.3, 0.4, 0.5):
        assert all(fewer(found[other][gamma, 0], found[one][gamma, 0])
                   for other in others for one in first)  # fmt: skip
    said = [item.why for item in conformal_items.ITEMS if "Table 2" in item.section]
    at_2, at_3 = ([rates[name][gamma, 0] for name in first] for gamma in (0.2, 0.3))
    assert (
        "lags at 0.2 ({1}% of test sets, C2ST {2}%, Multiple {0}%, AutoML of the classifier {3}%, "
        "our features {4}%); "
    ).format(*at_2) + (
        "at 0.3 our features lead ({4}%; C2ST {2}%, Multiple and AutoML of the classifier {0}%, "
        "Uniform {1}%)"
    ).format(*at_3) in said[0]
    assert at_3[0] == at_3[3]
    conformal = "Uniform(50)", "Multiple"
    for place in ((1, 0.9), (1, 0.95), (0.5, 0.8), (0.5, 0.9)):
        assert all(fewer(found["C2ST"][place], found[name][place]) for name in conformal)
    clear, faint = (
        [rates[name][place] for name in (*conformal, "C2ST")] for place in ((1, 0.95), (0.5, 0.9))
    )
    assert (
        "at gamma = 1 and beta = 0.95 Uniform rejects {}% of test sets, Multiple {}%, C2ST {}%, "
        "at gamma = 0.5, which the page draws, and beta = 0.9 {}%, {}% and {}%"
    ).format(*clear, *faint) in said[1]
    uniform, multiple = (rates[name][0.5, 0.8] for name in conformal)
    assert f"ahead of Multiple at 0.5 and 0.8 alone ({uniform}% to {multiple}%)" in said[1]
    assert {
        place
        for place in product((0.5, 1.0), (0.6, 0.7, 0.8, 0.9, 0.95))
        for one, other in permutations(conformal)
        if fewer(found[one][place], found[other][place])
    } == {(0.5, 0.8)}
    apart = np.ptp([found[name][1, 0.95].mean(1) for name in (*conformal, "C2ST")], axis=1)
    assert min(apart) > 0.2, "networks differ by more than the tests do"


def fewer(low, high):
    """Whether a test rejects fewer of the same test sets than another, beyond chance.

    Both are exchanged in a test set over as many networks as both have (M, 50).
    """
    networks = min(len(low), len(high))
    behind = low[:networks].sum(0) - high[:networks].sum(0)
    return behind.sum() < 0 and sign_flips.count_pvalue(behind) < 0.05


def rates_over_gamma(store, method):
    """Gamma -> share of test sets that a method rejects, at beta = 0."""
    sweeps = lensing_table.sweeps()
    return {
        cell.gamma: cell.rate
        for sweep in sweeps
        for cell in collect(sweep, store, beside=sweeps).cells
        if cell.label == method.label and cell.beta == 0
    }


def test_dc_of_the_printed_table_is_its_authors_network(shipped):
    row = sheets(shipped)["Table 2 (a)"].rows["DC"]
    authors, ours = (rates_over_gamma(shipped, DC(net=net)) for net in ("paper", "quadratic"))
    said = [int(cell.ours.split()[0]) for cell in row]
    assert said == [round(100 * authors[cell.number.place]) for cell in row]
    assert said != [round(100 * ours[cell.number.place]) for cell in row]
    for sweep in lensing_table.sweeps()[:2]:
        tallies = sweep.curve(DC(net="paper")).tallies(shipped)
        for gamma, tally in zip(sweep.gammas, tallies, strict=True):
            assert (tally.statistics.mean() < 0) == (gamma < 1)


def test_what_is_said_of_the_tree_holds(shipped):
    for gamma, blurs in ((1.5, (5.25, 2.25)), (4, (24, 16))):
        added = [Tree(noise=noise).sd(gamma) ** 2 - SD**2 for noise in ("scaled", "added")]
        assert np.allclose(added, np.array(blurs) * 1e-4)
    rates = {
        (cell.label, cell.gamma): cell.rate
        for sweep in colt_paper.tree_sweeps()
        for cell in collect(sweep, shipped).cells
    }
    assert max(rates["C2ST", 1.5], rates["C2ST", 4.0]) < 0.08
    few, many = (
        [count.rejections / count.trials for count in cell.networks]
        for sweep in colt_paper.tree_sweeps()
        for cell in collect(sweep, shipped).cells
        if cell.label == "CoLT mlp"
    )
    assert [round(rate, 2) for rate in sorted(few)] == [0.07, 0.78, 0.8]
    assert min(many) > 0.99
    added = {
        (cell.label, cell.gamma): round(cell.rate, 3)
        for sweep in colt_paper.tree_sweeps(noise="added")
        for cell in collect(sweep, shipped).cells
    }
    assert (added["CoLT mlp", 1.5], added["CoLT mlp", 4.0]) == (0.057, 0.947)
    assert (added["C2ST", 1.5], added["C2ST", 4.0]) == (0.042, 0.057)
    curves = {}
    for cell in cells_of(shipped, Tree()):
        curves.setdefault((cell.label, cell.beta), {})[cell.gamma] = cell.rate
    ours = curves["CoLT fourier", 0]
    assert round(ours[0.5], 2) == 0.94
    assert {gamma for gamma, rate in ours.items() if rate < 1} == {0, 0.5}
    of_mlp = {
        cell.gamma: min(count.rejections / count.trials for count in cell.networks)
        for cell in cells_of(shipped, Tree())
        if cell.label == "CoLT mlp"
    }
    assert max(curves["CoLT mlp", 0][gamma] for gamma in (0, 0.5, 1)) < 0.07
    assert [gamma for gamma in of_mlp if gamma > 1 and of_mlp[gamma] < 0.2] == [1.5, 2, 3, 3.5]
    for curve in (("C2ST", 0), ("SBC", 1), ("CoLT identity", 0)):
        assert max(curves[curve].values()) <= 0.1
    assert max(curves["TARP", 1].values()) == 0.115


def test_what_is_said_of_the_spiral_holds(shipped):
    for cell in cells_of(shipped, Spiral()):
        if (cell.method, cell.gamma) == ("c2st", 5):
            *low, high = sorted(count.rejections / count.trials for count in cell.networks)
            assert (max(low) < 0.08, high) == (True, 0.615)
        elif cell.gamma == 0 or cell.method == "c2st":
            assert cell.rate < 0.08
        else:
            assert cell.rate == 1


def test_what_is_said_of_the_blind_prior_holds(shipped):
    for sweep in colt_paper.blind_prior_sweeps():
        large = sweep.benchmark.dims[0] == 100
        for cell in collect(sweep, shipped).cells:
            if cell.label == "CoLT mlp" and large:
                rates = [count.rejections / count.trials for count in cell.networks]
                assert sorted(rates) == [0.05, 1, 1]
            elif cell.method == "colt" and cell.beta == 0:
                assert cell.rate == 1
            elif cell.method in ("sbc", "tarp"):
                assert 0.01 < cell.rate < 0.1
            elif cell.method == "c2st":
                assert (cell.rate < 0.5) == large


def test_colts_figures_ship(shipped):
    """Figures 4 (d) and 5: distances rise with the error; 8 to 13: six tests, level and power."""
    maps = {
        study.benchmark: study.load(shipped)
        for study in colt_paper.shipped_maps()
        if isinstance(study.benchmark, Tree | Spiral)
    }
    assert len(maps) == 3
    for found in maps.values():
        assert (np.diff(found.distance[:, 0]) > 0).all()
    tree = maps[Tree()]
    heads = [json.loads(paper_figures.trees(tree.gammas, tree.each()).head)]
    spirals = {study.label: found for study, found in maps.items() if study != Tree()}
    series = {label: (each.gammas, each.each()) for label, each in spirals.items()}
    heads.append(json.loads(paper_figures.distances(series, "steps").head))
    panels = [
        PowerPanel(benchmark.label, cells_of(shipped, benchmark), benchmark.gammas)
        for name in presets.PERTURBATIONS
        for benchmark in colt_paper.error_panels(name)
    ]
    for panel in panels:
        assert len(panel.cells) == 6 * len(panel.gammas)
        assert all(
            count.rejections < 24
            for cell in panel.cells
            if cell.gamma == 0
            for count in counts_of(cell)
        )
    heads.append(json.loads(paper_figures.power(panels, "gamma").head))
    assert [len(head["panels"]) for head in heads] == [9, 1, 24]


def test_a_panel_has_keys_of_its_own_curves_alone(shipped):
    panels = [
        PowerPanel(benchmark.label, cells_of(shipped, benchmark), benchmark.gammas)
        for benchmark in colt_paper.error_panels("heavy_tail", curved=True)
    ]
    drawn = json.loads(paper_figures.power(panels, "gamma").head)["panels"]
    keys = [{key["label"] for key in panel["legend"]} for panel in drawn]
    assert ["CoLT mlp" in each for each in keys] == [True, False, False, False]


def test_what_is_said_of_bent_posteriors_holds(shipped):
    """Figure 3 (b): Fourier finds what the identity finds; of 50 numbers x, no test finds any."""
    for name in colt_paper.FIGURE_3:
        for benchmark in colt_paper.error_panels(name, curved=True):
            rates = {}
            for cell in cells_of(shipped, benchmark):
                rates.setdefault((cell.label, cell.beta), []).append(cell.rate)
            assert len(rates) == (7 if benchmark.dim_x == 3 else 6)
            fourier, identity = (
                np.array(rates[f"CoLT {which}", 0]) for which in ("fourier", "identity")
            )
            assert np.abs(fourier - identity).max() < 0.1
            if benchmark.dim_x == 3:
                full = np.array(rates["CoLT mlp", 0])
                apart = np.abs(identity - full).max()
                assert (apart < 0.04) == (name in ("anisotropic", "additional_mode"))
                assert (round(apart, 2) == 0.06) == (name == "covariance_scaling")
                if name == "heavy_tail":
                    ends = full[-1], identity[-1]
                    assert [f"{rate:.0%}" for rate in ends] == ["66%", "98%"]
            if benchmark.dim_x >= 50:
                assert max(map(max, rates.values())) < 0.12
            else:
                assert max(identity) > 0.15


def test_what_is_said_of_colt_and_c2st_holds(shipped):
    """Figure 3 (a): the anisotropic error by sizes, and by how much C2ST leads with the others."""
    for name in colt_paper.FIGURE_3:
        powers = []
        for benchmark in colt_paper.error_panels(name):
            rates = {}
            for cell in cells_of(shipped, benchmark):
                if cell.beta == 0 and cell.gamma > 0 and cell.method in ("colt", "c2st"):
                    rates.setdefault(cell.method, {}).setdefault(cell.gamma, []).append(cell.rate)
            powers.append(rates)
        if name == "anisotropic":
            assert anisotropic_said(*powers, largest(cells_of(shipped, benchmark))) == (
                colt_paper.ANISOTROPIC
            )
        ahead = [c2st[0] - min(rates["colt"][gamma])
                 for rates in powers for gamma, c2st in rates["c2st"].items()]  # fmt: skip
        assert max(ahead) < 0.021


def largest(cells):
    """The cell of CoLT that rejects most often."""
    return max((cell for cell in cells if cell.method == "colt"), key=lambda cell: cell.rate)


def anisotropic_said(three, ten, fifty, hundred, top):
    """What the numbers of the four panels, each method -> gamma -> rates, amount to in words, and
    those of the networks in the last one's largest cell of CoLT."""

    def best(panel, gamma):
        return [share_text(max(panel[method][gamma])) for method in ("c2st", "colt")]

    def ends(panel, method):
        rates = [rate for of in panel[method].values() for rate in of]
        return share_text(min(rates)), share_text(max(rates))

    small, middle = best(three, 0.5), best(ten, 0.5)
    c2st, last = ends(fifty, "c2st"), ends(hundred, "c2st")
    networks = [share_text(count.rejections / count.trials) for count in top.networks]
    return (
        f"With the anisotropic error CoLT finds {small[1]} of tables at 0.5 in 3 dimensions of x "
        f"and θ, C2ST {small[0]}; in 10 {middle[1]} and {middle[0]}. With x in 50 and θ in 10 "
        f"CoLT rises to {ends(fifty, 'colt')[1]}, and "
        f"C2ST stays between {c2st[0]} and {c2st[1]}. In 100 CoLT rises to "
        f"{ends(hundred, 'colt')[1]} ({list_text(networks)} by its networks), and C2ST stays "
        f"between {last[0]} and {last[1]}."
    )


def test_what_curves_lack_is_said(shipped):
    """Fourier and identity, CoLT Full on the tree and with what is bent in 3 dimensions, of the
    spiral its ideal denoiser; the rest to be run."""
    several = {"CoLT fourier", "CoLT identity"}
    (bent, *wide), straight = (
        colt_paper.error_panels("anisotropic", curved=curved) for curved in (True, False)
    )
    for benchmark in (Tree(), bent, Spiral(), *straight, *wide):
        full = {"CoLT mlp"} if benchmark in (Tree(), bent) else set()
        cells = cells_of(shipped, benchmark)
        assert {c.label for c in cells if c.method == "colt"} == several | full
    assert not cells_of(shipped, Spiral(model="diffusion"))
    for name in set(presets.PERTURBATIONS) - set(colt_paper.FIGURE_3):
        for benchmark in colt_paper.error_panels(name, curved=True):
            assert not cells_of(shipped, benchmark)


def test_what_is_said_of_the_sines_holds():
    """Standard deviation of each sine's argument over x, of the bent posterior: rms over sines."""
    spread = []
    for benchmark in colt_paper.error_panels("heavy_tail", curved=True):
        x = benchmark.x(4000, stream(0, "sines"))
        turns = benchmark.mean(x) @ curved_map(benchmark.dim_theta).inward.T
        spread.append(np.sqrt(turns.var(0).mean()))
    assert [round(float(each)) for each in spread] == [1, 2, 4, 6]


@pytest.mark.slow
def test_a_small_gain_brings_the_heavy_tail_back(tmp_path):
    kept, wide = Store(tmp_path), colt_paper.error_panels("heavy_tail")[-1]
    bent = dataclasses.replace(wide, curved=True, gain=0.1)
    design = TrialDesign(trials=20, n=100, k=500)
    _, sweep, _ = colt_paper.contest(
        bent, (0.3, 0.6), CoLT(), design, embeddings=("identity",), for_all_gammas=True
    )
    for task in missing_of_all((sweep,), kept):
        task.run(kept, lambda *_: None)
    assert [cell.rejections for cell in collect(sweep, kept).cells] == [20, 20]


def cells_of(store, benchmark):
    """Counted cells of a panel of power."""
    sweeps = colt_paper.figure_sweeps(benchmark)
    return [cell for sweep in sweeps for cell in collect(sweep, store).cells]


def test_what_is_said_of_the_collapse_holds(shipped):
    """The demonstration's own network, and two others by which every test rejects."""
    sweep = dataclasses.replace(presets.by_name("collapse").sweep, networks=presets.NETWORKS)
    curves = {}
    for cell in collect(sweep, shipped).cells:
        own, *others = (count.rejections / count.trials for count in cell.networks)
        assert min(others) == 1
        curves.setdefault(cell.method, {})[cell.beta] = own
    uniform = curves.pop("uniform")
    assert 0.05 <= min(uniform.values()) < uniform[1] == 1
    for curve in curves.values():
        assert max(rate for beta, rate in curve.items() if beta >= 0.9) < 0.05


@pytest.mark.parametrize("name", presets.PERTURBATIONS)
def test_what_is_said_of_the_order_holds(shipped, name):
    """At every gamma: where a test of the paper leads one of its own two by 5 points is said."""
    figure = presets.by_name(f"conformal_{name}")
    cells = collect(figure.sweep, shipped).cells
    own, said = (Uniform(m=50).label, Multiple().label), []
    for gamma in figure.sweep.gammas[1:]:
        here = {cell.label: cell for cell in cells if cell.gamma == gamma}
        for fewer in (Uniform(m=1), Uniform(m=10)):
            here.pop(fewer.label)
        assert here.pop(DC().label).rate >= max(here[label].rate for label in own)
        two = sorted((here.pop(label) for label in own), key=lambda cell: -cell.rate)
        leads: dict[str, list[str]] = {}
        for cell in sorted(here.values(), key=lambda cell: -cell.rate):
            if beaten := [power_said(one) for one in two if cell.rate - one.rate >= 0.05]:
                leads.setdefault(list_text(beaten), []).append(power_said(cell))
        if leads:
            beats = [
                f"{list_text(those)} {'beat' if len(those) > 1 else 'beats'} {beaten}"
                for beaten, those in leads.items()
            ]
            unbeaten = all(power_said(two[0]) not in beaten for beaten in leads)
            where = f", where {two[0].label} has {share_text(two[0].rate)}" * unbeaten
            said.append(f"at gamma {gamma:g} {', '.join(beats)}{where}")
    assert presets.ORDER.get(name, "") == "; ".join(said)
    assert presets.ORDER.get(name, "no other test of the paper leads") in figure.differs
    (item,) = (one.why for one in conformal_items.ITEMS if "6 to 9 (a)" in one.section)
    assert (presets.ORDER.get(name, "nothing") in item) == (name in presets.PERTURBATIONS[:4])


def power_said(cell):
    """A test's power, and each network's where three differ by more than 20 points."""
    power = share_text(cell.rate)
    rejections = [count.rejections for count in cell.networks]
    if not rejections or max(rejections) - min(rejections) <= 0.2 * cell.networks[0].trials:
        return f"{cell.label} ({power})"
    rates = [share_text(count.rejections / count.trials) for count in cell.networks]
    return f"{cell.label} ({power}; {list_text(rates)} by its networks)"


def of_networks(study, store):
    """Shipped trials of the Conformal C2ST page with each of three networks."""
    powers = study.by_network(presets.NETWORKS)
    return MeasuredPower(study, tuple(one.load(store) for one in powers))


@pytest.mark.parametrize("name", presets.TAUGHT)
def test_what_more_draws_teach_a_classifier_is_what_ships(shipped, name):
    """Power of Uniform(50) by the networks that the page Conformal C2ST opens with."""
    study = ConformalPower(learned=Learned(benchmark=Gaussian(perturbation=name)))
    assert study in power_study.shipped()
    counted = of_networks(study, shipped)
    share, gamma = presets.TAUGHT[name].split(" at ")
    (at,) = np.flatnonzero(counted.trials[0].gammas == float(gamma))
    power = counted.rates(0.05).rate[-1, 0, at]
    assert share_text(power) == share
    few = collect(presets.by_name(f"conformal_{name}").sweep, shipped).cells
    (rate,) = (c.rate for c in few if (c.label, c.gamma) == ("Uniform(50)", float(gamma)))
    assert power > rate


def test_what_is_said_of_levels_and_of_the_collapse_holds(shipped):
    levels = power(shipped, presets.by_name("type_one").sweep)
    assert all(rate < 0.08 for of in levels.values() for rate in of.values())
    collapse = power(shipped, presets.by_name("collapse").sweep)
    assert min(collapse["multiple"].values()) == 0
    assert min(collapse["uniform"].values()) > 0.02


def test_what_is_said_of_inference_holds(shipped):
    """Domke's claims, over models and iterations: terms (iterations, K) with one draw."""
    plan = symmetric_divergence.figure(1, iterations=sorted({*GRID, *MOST}))
    terms = {
        (plan.models[i].name, plan.inferences[j].name): found.d
        for (i, j), found in symmetric_divergence.collect(plan, shipped).items()
    }
    for model in plan.models:
        plain, adjusted = (
            terms[model.name, name][:, 0].mean(-1) for name in ("laplace", "adjusted_laplace")
        )
        assert not (adjusted > plain + 1e-3).any()
        assert np.isnan(plain[:2]).all() == (model.name == "hospitals")
        weighed = terms[model.name, "adjusted_laplace"][-1].mean(-1)
        gains = model.name in ("glm_binomial", "hospitals", "ionosphere")
        assert gains == (np.diff(weighed) < 0).all() == (weighed[0] > 0.1)
    assert np.abs(terms["concrete", "adjusted_laplace"]).max() < 1e-8
    vi = {model: terms[model, "vi"][-1, 0] for model, name in terms if name == "vi"}
    assert max(vi["hospitals"].mean(), vi["concrete"].mean()) < 0.5
    (said,) = (item.why for item in divergence_items.ITEMS if "has a floor" in item.text)
    pairs = re.findall(r"\(([.\d]+) and ([.\d]+)", said)
    models = ("hospitals", "ionosphere", "glm_binomial", "heart_transplants")
    medians = [
        [np.median(terms[model, name][-1, 0]) for name in ("vi", "laplace")] for model in models
    ]
    assert np.allclose(np.array(pairs, float), medians, rtol=0.02)
    laplace = terms["glm_binomial", "laplace"][-1, 0]
    assert np.median(laplace) < 1 < 10 < laplace.mean()
    for model in ("glm_binomial", "ionosphere"):  # they fall more slowly than 1 / M
        of_m = MS * np.median(terms[model, "adjusted_laplace"][-1], axis=-1)
        assert of_m[-1] > 2 * of_m[0]
    for model in ("hospitals", "ionosphere"):  # the floor
        medians = np.median(terms[model, "laplace"][-3:, 0], axis=-1)
        assert np.ptp(medians) < 0.15 * medians.min()
    heart = vi["heart_transplants"]
    assert np.median(heart) < 0.1 < 100 < heart.mean()
    assert f"{heart.max():,.0f} of {heart.sum():,.0f} nats in all" in one_line(
        "docs/divergence.md"
    )


def test_what_is_said_of_vi_that_is_trained_for_m_holds(shipped):
    """Means of IWVI(M) held with M, and of VI weighted with as many."""
    plan = symmetric_divergence.figure(3, iterations=(10_000, 30_000))
    (said,) = (item.why for item in divergence_items.ITEMS if "does better yet" in item.text)
    means = {}
    for (i, j), terms in symmetric_divergence.collect(plan, shipped).items():
        means[plan.models[i].name, plan.inferences[j].m if j else 1] = terms.d.mean(-1)
    for model in plan.models:
        for at, m in enumerate(MS):
            own = means.get((model.name, m), np.full((2, len(MS)), np.nan))[-1, at]
            weighted = means[model.name, 1][-1, at]
            if m > 1 and not np.isnan(own):
                assert own < weighted or (model.name == "concrete" and abs(own) < 0.01)
    for which, m in ((0, 5), (1, 1)):
        there = [
            means[name, m][0, MS.index(5)] for name in ("hospitals", "ionosphere", "concrete")
        ]
        assert list_text([f"{mean:.2g}".removeprefix("0") for mean in there]) in said, which


def test_what_is_said_of_degradation_in_all_sizes_holds(shipped):
    """Where Multiple and Uniform(50) fall behind C2ST below beta = 1, by the conformal page."""
    behind, most = {}, 0.0
    for study in power_study.shipped():
        if study.learned.seed or len(study.ms) > 1:
            continue
        counted = of_networks(study, shipped)
        found = counted.trials[0]
        c2st, multiple, uniform = counted.rates(0.05).rate[:, np.array(found.betas) < 1][
            :, :, found.gammas > 0
        ]
        most = max(most, (c2st - uniform).max())
        if (c2st - multiple).max() > 0.1:
            at = np.unravel_index((c2st - multiple).argmax(), c2st.shape)
            benchmark = study.learned.benchmark
            behind[benchmark.perturbation, benchmark.dims] = multiple[at], c2st[at]
    assert most < 0.06
    three, ten, hundred = (
        f"({low:.0%} to {high:.0%})"
        for low, high in (
            behind.pop(("mode_collapse", (3, 3))),
            behind.pop(("mode_collapse", (10, 10))),
            behind.pop(("heavy_tail", (100, 100))),
        )
    )
    assert not behind
    (said,) = (item.why for item in conformal_items.ITEMS if "each of the six errors" in item.text)
    assert f"3 dimensions {three} and in 10 {ten} and with heavy tails in 100 {hundred}" in said


def test_what_is_said_of_broad_priors_holds(shipped):
    priors = broad_priors.load(shipped)
    prior = priors[broad_priors.WIDTHS.index(5)]
    known = np.isfinite(prior.d)
    every, alike = (np.median(prior.d[rows]) for rows in (known, known & prior.alike))
    (said,) = (item.why for item in divergence_items.ITEMS if "broad priors" in item.text)
    of_all = f"{known.sum()} of {len(known)} data sets that inference has a q for"
    assert f"is {every:.0f} nats over the {of_all}, {alike:.2f} over".replace(" 0.", " .") in said
    medians = [np.nanmedian(prior.d) for prior in priors]
    assert medians == sorted(medians)  # "looks worse and worse"


def test_what_is_said_of_more_draws_of_p_holds(shipped):
    """Uniform's power over m rises to m = 10 and is flat from there."""
    for study in power_study.shipped():
        if len(study.ms) > 1 and not study.learned.seed:
            counted = of_networks(study, shipped)
            above = counted.trials[0].gammas > 0
            rates = counted.rates(0.05).rate[2:][:, :, above].mean((1, 2))
            at = dict(zip(study.ms, rates, strict=True))
            assert at[5] <= at[10] <= at[50]
            assert at[200] - at[50] < 0.01
            assert at[50] - at[10] < 0.03


def test_what_is_said_of_images_holds(shipped):
    """The conformal tests reject more, as trained and degraded."""
    for study in images_study.shipped():
        hits, _ = images_study.pool_rejections(study.load(shipped))
        c2st, multiple, uniform = hits[:, :3, :, 1:].sum(-1).swapaxes(0, 1)
        assert (np.minimum(multiple, uniform) > c2st).all()
