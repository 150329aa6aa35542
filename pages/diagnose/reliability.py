"""Stated probabilities on the diagnosis page: of classes, or of a discrete parameter."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import jobs, panel
from pages.ui.jobs import plain
from pages.ui.services import services
from validation_core import ReliabilityResult
from validation_core.diagnosis import tasks
from validation_core.diagnosis.reliability import discrete_parameters, reliability_study
from validation_core.report import code
from validation_core.tables import ProbabilitiesUpload, Upload
from validation_core.text import count_text

_HOW = (
    "A curve below the diagonal: stated too high. Too low at its right end and too high at its "
    "left: over-confident. The test draws classes from the stated probabilities themselves, 999 "
    "times, and asks whether the true ones look like these; p is exact, for everything together."
)
_CODE = """\
import validation_core as npt

print(npt.reliability({table}))
"""
_CODE_OF_ONE = _CODE.replace("{table}", "{table}, {name}")
_METHODS = (
    "Curves and the split of the Brier score by isotonic regression (Dimitriadis, Gneiting, "
    "Jordan 2021); of every class the mean, the slope and the largest cumulative difference, with "
    "x also the largest difference between a region of x and all outside it, and the log score of "
    "all classes, stepping down."
)


def show(upload: ProbabilitiesUpload, files: Sequence[str], alpha: float, seed: int) -> None:
    """The answer for a table of probabilities: the verdict, then curves and numbers."""
    tasks.register_upload(upload)
    tasks.save_upload(services().store, upload)
    st.caption(
        plain(f"Loaded {upload.n:,} rows with probabilities of {len(upload.names)} classes.")
    )
    for reason, count in upload.dropped.items():
        st.warning(plain(f"{count_text(count, 'row')} left out: {reason}."))
    for text in upload.warnings:
        st.warning(plain(text))
    for text in upload.notes:
        st.caption(plain(text))
    result = _answer(upload, None, alpha, seed)
    if result is not None:
        _draw(result, "classes", code(_CODE, path=files, upload=upload), heading=True)


def discrete(upload: Upload, files: Sequence[str], alpha: float, seed: int) -> None:
    """A row for every discrete parameter of a table: shares of q's draws against true values."""
    for place in discrete_parameters(upload)[:_SHOWN]:
        name = upload.names[place]
        with st.expander(
            f"**{plain(name)} takes few values** · Are q's shares of them right?",
            icon=":material/info:",
            key=f"discrete-{place}",
            on_change="rerun",
        ) as row:
            if not row.open:
                continue
            result = _answer(upload, name, alpha, seed)
            if result is not None:
                python = code(_CODE_OF_ONE, path=files, upload=upload, name=name)
                _draw(result, f"discrete-{place}", python)


_SHOWN = 4  # discrete parameters


def _answer(
    upload: Upload, parameter: str | None, alpha: float, seed: int
) -> ReliabilityResult | None:
    """The answer, or None while it is worked out."""
    store = services().store
    study = reliability_study(upload, parameter, seed)
    name = f"reliability-{parameter or 'classes'}"
    wanted = [] if study.done(store) else [study]
    state = jobs.only(name, wanted, study.label)
    found = study.load(store)
    if found is None:
        jobs.panel(state, follow=True)
        return None
    return ReliabilityResult(found, upload.names, alpha, upload.digest, upload.x_names)


def _draw(result: ReliabilityResult, key: str, python: str, *, heading: bool = False) -> None:
    first, *more = result.sentences
    if heading:
        st.subheader(result.verdict.capitalize(), anchor=False)
    st.markdown(plain(first))
    panel.panel(
        result.title,
        more,
        notes=(_METHODS,),
        how=_HOW,
        table=result.rows(),
        drawn=result.figures(),
        code=python,
        key=key,
    )
