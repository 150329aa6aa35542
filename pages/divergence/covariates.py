"""Covariates of the two regressions: a stand-in, or the user's UCI file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO

import streamlit as st

from pages.ui import folder
from pages.ui.forms import segmented
from pages.ui.jobs import plain
from pages.ui.services import services
from validation_core import MODELS, models
from validation_core.bayes import designs
from validation_core.types import Array

NAMES = tuple(designs.SHAPES)
SOURCES = {"stand-in": "Stand-in", "file": "Upload", "path": "Server", "openml": "OpenML"}
_FILES = {"ionosphere": "ionosphere.data", "concrete": "Concrete_Data.csv"}
_MEGABYTES = 5


def choose(name: str) -> str:
    """Digest of the covariates that a model has; empty for the stand-in."""
    title = MODELS[name].title
    with st.expander(f"Covariates of {title}"):
        known = _addressed(name)
        kinds = {
            kind: words for kind, words in SOURCES.items() if kind != "path" or folder.allowed()
        }
        source = segmented("Source", kinds, f"covariates-{name}", label_visibility="collapsed")
        if source == "stand-in":
            rows, columns, _ = designs.SHAPES[name]
            st.caption(
                f"Stand-in: random numbers of the shape of the real data, {rows:,} × {columns}. "
                "Results say so."
            )
            return ""
        digest = {"file": _uploaded, "path": _below, "openml": _fetched}[source](name) or known
        if digest:
            _keep(name, digest)
            st.caption(f"Real covariates, {digest[:12]}, standardised.")
        else:
            st.caption("The stand-in is drawn until there are real ones.")
        return digest


def _uploaded(name: str) -> str:
    sent = st.file_uploader(
        f"UCI's {_FILES[name]}",
        key=f"file-{name}",
        max_upload_size=_MEGABYTES,
        help="As it can be downloaded from the UCI repository. Only covariates are used: labels "
        "are simulated.",
    )
    if sent is None:
        return ""
    return _read(name, sent.file_id, lambda: designs.read(_opened(sent)))


def _opened(sent: BytesIO) -> BytesIO:
    sent.seek(0)
    return sent


def _below(name: str) -> str:
    choice = folder.pick(f"{_FILES[name]} below the server's folder", f"path-{name}")
    if choice is None:
        return ""
    path, stamp = choice
    return _read(name, stamp, lambda: designs.read(path))


def _fetched(name: str) -> str:
    clicked = st.button(
        "Fetch from openml.org",
        key=f"fetch-{name}",
        icon=":material/download:",
        help="Asks openml.org once; nothing else on this page leaves the server.",
    )
    return _read(name, "openml", lambda: designs.openml(name)) if clicked else ""


def _read(name: str, stamp: str, read: Callable[[], Array]) -> str:
    """Digest of what was read, kept in the store; once for each file of a session."""
    known: dict[tuple[str, str], str] = st.session_state.setdefault("designs", {})
    if (name, stamp) not in known:
        try:
            known[name, stamp] = models.keep_covariates(services().store, name, read())
        except (ValueError, OSError) as refusal:
            st.error(plain(str(refusal)), icon=":material/error:")
            return ""
    return known[name, stamp]


def _addressed(name: str) -> str:
    """The covariates that a link names, or that were open here before, if the store has them."""
    design = st.query_params.get(f"design-{name}") or st.session_state.get(f"design-{name}", "")
    if not design:
        return ""
    try:  # the store is asked by what also runs: an address may hold anything
        models.covariates(services().store, replace(MODELS[name](), design=str(design)))
    except ValueError:
        st.warning("The address names covariates that this server does not have.")
        return ""
    return str(design)


def _keep(name: str, digest: str) -> None:
    st.query_params[f"design-{name}"] = st.session_state[f"design-{name}"] = digest
