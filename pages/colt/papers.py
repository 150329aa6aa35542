"""The paper's tables and figures as reproduced here, beside the printed numbers."""

from collections.abc import Sequence

import streamlit as st

from pages.colt.data import LocalizerMaps, at_every_gamma, cells
from pages.papers.numbers import KEY, show_sheet
from pages.ui import forms, jobs, live
from pages.ui.once import same
from pages.ui.services import services
from pages.ui.trials import offer_missing, trials_read
from validation_core import CoLT, Spiral, Tree
from validation_core.benchmarks.perturbations import Perturbation
from validation_core.engine import Task
from validation_core.explorers.papers.beside import CountedTable, colt_tables
from validation_core.panels.colt import paper_figures
from validation_core.panels.colt.paper_figures import PowerPanel
from validation_core.panels.power import trials_text
from validation_core.sweep import colt_paper
from validation_core.sweep.colt_paper import TreeModel
from validation_core.sweep.presets import PERTURBATIONS
from validation_core.sweep.progress import missing
from validation_core.text import list_text, readable_name
from validation_core.types import Benchmark, Preset

_SHOWN = {
    "tables": "Tables 3, 4",
    "tree": "Figures 1, 5, 6: tree",
    "spiral": "Figures 4, 7: spiral",
    "errors": "Figures 3, 8 to 13: errors",
}
_DENOISERS: dict[TreeModel, str] = {"diffusion": "trained denoiser", "ideal": "ideal denoiser"}
_PRESETS: dict[Preset, str] = {"interactive": "Interactive", "paper": "Paper"}
_STEPS = "reverse steps left out"
_BENT = {"straight": "Straight", "curved": "Curved"}


def show_papers() -> None:
    """The chosen tables or figures."""
    shown = forms.segmented("Of the paper", _SHOWN, "paper", label_visibility="collapsed")
    if shown == "tree":
        _tree()
    elif shown == "spiral":
        _spiral()
    elif shown == "errors":
        _errors()
    else:
        _tables(slice(2))


def _tables(which: slice) -> None:
    preset = forms.segmented(
        "Training of the localizers",
        _PRESETS,
        "tables",
        help="Interactive: seconds each. Paper: steps and rate of its Table 2, hours of one core "
        "for each localizer of the MLP.",
    )
    st.caption(KEY)
    for table in colt_tables(preset)[which]:
        _table(table)


def _tree() -> None:
    st.subheader("Figure 5: the tree at nine strengths of the blur", anchor=False)
    (found,) = _located([Tree()])
    if found:
        payload = live.once(
            ("trees", found.key), lambda: paper_figures.trees(found.gammas, found.maps)
        )
        live.chart(payload, key="fig5", save_as="The region on the tree")
        st.caption(
            "q blurs the tree by 1 + alpha times as much as p. Orange: q's draws, filled "
            "inside the region of the mass named above each picture; blue: p's. If q were "
            "correct, each region would hold as large a share of p's draws as of q's. One "
            "localizer learnt at all nine."
        )
    st.subheader("Figures 1 (d) and 6: power on the tree", anchor=False)
    _power([("Tree", Tree())], "alpha")
    _tables(slice(2, None))


def _spiral() -> None:
    st.subheader("Figure 4 (d): the statistic by the reverse steps left out", anchor=False)
    both = _located([Spiral(model=model) for model in _DENOISERS])
    found = {name: each for name, each in zip(_DENOISERS.values(), both, strict=True) if each}
    if found:
        series = {name: (each.gammas, each.maps) for name, each in found.items()}
        payload = live.once(
            ("steps", *(each.key for each in found.values())),
            lambda: paper_figures.distances(series, _STEPS),
        )
        live.chart(payload, key="fig4d", save_as="Distance from uniform on the spiral")
    st.subheader("Figure 7 (h): power and type I error by the same", anchor=False)
    _power([(f"Spiral, {_DENOISERS[model]}", Spiral(model=model)) for model in _DENOISERS], _STEPS)


def _errors() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        error = forms.choice(
            "Error of q",
            list(PERTURBATIONS),
            "error",
            words=readable_name,
            help="Figures 8 to 13 in this order; Figure 3 has four of them.",
        )
        curved = forms.segmented("Posterior", _BENT, "bent") == "curved"
    panels = [
        (f"x in {each.dim_x}, θ in {each.dim_theta} dimensions", each)
        for each in colt_paper.error_panels(error, curved=curved)
    ]
    st.subheader(_where(error, curved=curved), anchor=False)
    _power(panels, "strength gamma")
    if curved and error in colt_paper.FIGURE_3:
        st.caption(
            f"{colt_paper.FULL_BENT} With x in 50 dimensions or more it moves the sines of the "
            "map far along (each one's argument has a standard deviation over x of about 4 in 50 "
            "dimensions and 6 in 100, in fewer of 1 to 2), and no test finds any of the four "
            "errors. A small gain hardly bends: at 0.1, a setting of the other views, CoLT finds "
            "the heavy tail of (100, 100) in 20 of 20 tables at gamma = 0.3 and at 0.6."
        )
    elif error == "anisotropic":
        st.caption(
            "The paper has CoLT match or exceed C2ST in Figure 3 (a), and so it does here: with "
            f"no error C2ST is ahead by more than 2 points. {colt_paper.ANISOTROPIC}"
        )


def _where(error: Perturbation, *, curved: bool) -> str:
    """The paper's figures with this error, as a heading."""
    also = error in colt_paper.FIGURE_3
    if curved:
        return "Figure 3 (b)" if also else "Curved: an error that the paper has straight only"
    return f"Figure {8 + PERTURBATIONS.index(error)}" + " and Figure 3 (a)" * also


def _power(panels: Sequence[tuple[str, Benchmark]], label: str) -> None:
    """Power of each benchmark that has run, and a button for each of the others."""
    drawn, left = [], []
    for title, benchmark in panels:
        sweeps = [same(sweep) for sweep in colt_paper.figure_sweeps(benchmark)]
        found = [cell for sweep in sweeps for cell in cells(sweep)]
        if found:
            drawn.append(PowerPanel(title, found, benchmark.gammas))
        if any(missing(sweep, services().store) for sweep in sweeps):
            left.append((title, sweeps))
    if drawn:
        counted = tuple((p.title, c.label, c.gamma, c.rejections) for p in drawn for c in p.cells)
        payload = live.once(("figures", counted), lambda: paper_figures.power(drawn, label))
        live.chart(payload, key="figures", save_as="Figure of the paper")
        st.caption(
            f"Share of tables that are rejected. {_counted(drawn)} The dashed line is the level "
            f"of 5%. {_learnt(panels)} CoLT Fourier is our embedding, identity the paper's CoLT "
            f"ID. {_full(panels)} The grey curve is before training."
        )
    if left:
        st.caption(
            f"{list_text([title for title, _ in left])}: not shipped, for the time it takes."
        )
    for title, sweeps in left:
        offer_missing(title, sweeps, title)


def _full(panels: Sequence[tuple[str, Benchmark]]) -> str:
    """Where the paper's CoLT Full is drawn."""
    drawn = [title for title, benchmark in panels if colt_paper.draws_full(benchmark)]
    if len(drawn) == len(panels):
        return "CoLT mlp is its CoLT Full."
    said = (
        f"CoLT mlp, its CoLT Full, is drawn with {list_text(drawn)} alone"
        if drawn
        else "Its CoLT Full is in the tables, the tree's figure and that of bent posteriors in 3 "
        "dimensions"
    )
    return f"{said}: all panels of it would keep a core busy for a night."


def _learnt(panels: Sequence[tuple[str, Benchmark]]) -> str:
    """Whether the networks of these panels learn at all strengths or at one, and what it costs."""
    own = [title for title, benchmark in panels if not colt_paper.one_serves_all(benchmark)]
    said = []
    if own:
        where = "" if len(own) == len(panels) else f" with {list_text(own)}"
        said.append(f"Each strength has networks of its own{where}, as in the paper.")
    if len(own) < len(panels):
        others = "Elsewhere a" if own else "A"
        said.append(f"{others} network learns at all strengths and is held at each.")
        said.append(colt_paper.ONE_FOR_ALL)
    return " ".join(said)


def _counted(panels: Sequence[PowerPanel]) -> str:
    """Trials and networks behind each point; by panels where they differ."""
    said: dict[str, list[str]] = {}
    for panel in panels:
        said.setdefault(trials_text(panel.cells), []).append(panel.title)
    if len(said) == 1:
        return next(iter(said))
    return " ".join(f"With {list_text(titles)}: {text}" for text, titles in said.items())


def _located(benchmarks: Sequence[Benchmark]) -> list[LocalizerMaps | None]:
    """Maps of a localizer for all strengths; where none is stored it is trained."""
    studies = [
        colt_paper.gamma_maps(each, CoLT(), *colt_paper.SIZES[each.name]) for each in benchmarks
    ]
    left: list[Task] = [study for study in studies if not study.done(services().store)]
    jobs.panel(jobs.only("colt", left, "Maps of the paper's figures"))
    return [at_every_gamma(study) for study in studies]


def _table(table: CountedTable) -> None:
    """The printed numbers beside ours, and a button for those that have not run."""
    show_sheet(table.sheet(services().store, trials_read()))
    where = table.table.where
    offer_missing(f"what {where} lacks, three networks in all", table.sweeps(), where)
