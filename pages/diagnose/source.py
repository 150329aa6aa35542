"""Choose the table to diagnose: files, earlier uploads, an example, or a benchmark."""

import streamlit as st

from pages.diagnose import files, mistakes
from pages.diagnose.files import Tables
from pages.ui import folder, forms, recent
from pages.ui.jobs import plain
from validation_core import Gaussian, sampling
from validation_core.benchmarks.perturbations import PERTURBATIONS, Perturbation
from validation_core.diagnosis import examples
from validation_core.rng import stream
from validation_core.tables import LabelledTable, Upload

_SOURCES = {
    "file": "Upload files",
    "path": "A file on the server",
    "exact": "Sample: an exact posterior",
    "narrow": "Sample: too little trained",
    "benchmark": "A benchmark",
}


def choose() -> Tables:
    """The table that the user chose, read and checked; none until there is one."""
    files.no_file()
    kinds = [kind for kind in _SOURCES if kind != "path" or folder.allowed()]
    what = forms.segmented(
        "What to diagnose",
        {kind: _SOURCES[kind] for kind in kinds},
        "source",
        label_visibility="collapsed",
    )
    if what in ("exact", "narrow"):
        st.caption(examples.ABOUT_EXACT if what == "exact" else examples.ABOUT_WRONG)
        upload = examples.exact() if what == "exact" else examples.wrong()
        return [LabelledTable(_SOURCES[what], upload)]
    if what == "benchmark":
        return [_benchmark()]
    path = what == "path"
    tables = files.below() if path else files.uploaded(removed=recent.forget)
    if len(tables) > 1:
        tables = [_one_of(tables)]
    if not tables:  # an earlier table beside an error message would look like a result
        return [] if st.session_state.get("path" if path else "file") else _again()
    (table,) = tables
    table = table._replace(upload=mistakes.corrected(table.upload))
    recent.remember(table)
    return [table]


def waits() -> bool:
    """Whether nothing was uploaded yet: then an example is shown."""
    return st.session_state.get("source") == "file" and not st.session_state.get("file")


def say_lost() -> None:
    """Say of a table that the address names and that is not here, that the file is needed."""
    kind = str(st.session_state.get("source"))
    if kind not in ("file", "path") or st.session_state.get(kind):
        return
    if recent.asked() and recent.addressed() is None:
        st.info(
            "This link names a table that was uploaded in another browser, or is no longer kept "
            "here. Upload the file again; the settings of the link are kept.",
            icon=":material/link_off:",
        )


def _again() -> Tables:
    """The table that this browser looked at before, after a refresh; others of its own to pick."""
    before = recent.listed()
    table = recent.addressed()
    if not before:
        return []
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Your last tables:", width="content")
        for entry in before[:4]:
            st.button(
                f"{plain(entry['label'])}, {entry['n']:,} rows",
                key=f"again-{entry['digest']}",
                type="tertiary",
                on_click=_open,
                args=(entry,),
            )
    if table is None:
        return []
    table = table._replace(upload=mistakes.corrected(table.upload))
    st.button(
        f"Close {plain(table.label)}",
        on_click=recent.forget,
        type="tertiary",
        icon=":material/close:",
    )
    return [table]


def _open(entry: recent.RecentTable) -> None:
    table = recent.again(entry)
    if table is not None:
        recent.remember(table)


def _benchmark() -> LabelledTable:
    """A table drawn from the Gaussian family, wrong in a way and by as much as the user likes."""
    left, middle, right = st.columns([2, 1, 1])
    with left:
        kind = forms.choice(
            "What is wrong with q",
            list(PERTURBATIONS),
            "kind",
            words=lambda name: PERTURBATIONS[name].title.capitalize(),
        )
    gammas = PERTURBATIONS[kind].gammas
    gamma = gammas[-1]
    if len(gammas) > 1:
        with middle:
            gamma = forms.choice(
                "gamma",
                gammas,
                f"gamma-{kind}",
                first=gammas[len(gammas) // 2],
                draw=st.select_slider,
            )
    with right:
        n = forms.choice(
            "Simulations", (200, 500, 1000, 2000), "rows", first=1000, draw=st.select_slider
        )
    st.caption(
        f"Gaussian family, three parameters and three data, 100 draws at each x: "
        f"{PERTURBATIONS[kind].summary}."
    )
    label = f"{PERTURBATIONS[kind].title}, gamma {gamma:g}"
    return LabelledTable(label, _drawn(kind, float(gamma), n))


@st.cache_resource(max_entries=4, show_spinner=False)
def _drawn(kind: Perturbation, gamma: float, n: int) -> Upload:
    rng = stream(0, "diagnose", "benchmark", kind, n)
    draws = sampling.table(Gaussian(perturbation=kind), gamma, n, 100, rng)
    arrays = {"theta": draws.theta, "x": draws.x, "theta_q": draws.q}
    return Upload.of(arrays, order="NKD")


def _one_of(tables: Tables) -> LabelledTable:
    labels = [table.label for table in tables]
    chosen = st.selectbox(
        "Table",
        range(len(tables)),
        format_func=labels.__getitem__,
        key="table",
        help="Compare posteriors puts them side by side.",
    )
    return tables[chosen]
