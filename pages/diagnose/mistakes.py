"""Mistakes of a file, told before any verdict, with a button that corrects them here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.ui.jobs import plain
from validation_core.tables import Upload

_CHOSEN = "corrections"
"""In the session: names of the corrections by the digest of the table as it was saved."""
_AS_SAVED = "as-saved"


def corrected(upload: Upload) -> Upload:
    """The table with the corrections that were chosen for it; itself without any."""
    chosen = _chosen().get(upload.digest)
    if not chosen:
        return upload
    made: dict[tuple[str, ...], Upload] = st.session_state.setdefault("corrected", {})
    key = (upload.digest, *chosen)
    if key not in made:
        try:
            without = correct(upload, chosen)
        except ValueError as refusal:  # seen in the whole file, and not in the rows that are kept
            st.error(plain(str(refusal)), icon=":material/error:")
            return upload
        made.clear()  # one at a time: they are large
        made[key] = without
    return made[key]


def correct(upload: Upload, names: Sequence[str]) -> Upload:
    """A table that was read, with some of its mistakes corrected.

    Args:
        upload: as it was saved.
        names: of the corrections.

    Raises:
        ValueError: for a correction that it does not need.
    """
    arrays = upload.arrays()
    again = type(upload).of(arrays, order="NKD", logarithms=(), corrections=names)
    return replace(
        again,
        names=upload.names,
        x_names=upload.x_names,
        dropped={**upload.dropped, **again.dropped},
        notes=tuple(dict.fromkeys((*upload.notes, *again.notes))),
        corrected=(*upload.corrected, *again.corrected),
        read_as=upload.read_as,
        said={**upload.said, "corrections": [*upload.said.get("corrections", ()), *names]},
    )


def as_decided(upload: Upload) -> Upload:
    """The table as it is to be diagnosed: meant as saved, unless that has still to be said."""
    waits = upload.unusable and upload.digest not in st.session_state.get(_AS_SAVED, ())
    return upload if waits else upload.as_meant()


def offer(upload: Upload, then: str = "diagnose") -> None:
    """Draw the code against each mistake and the one question: correct it here, or not.

    Args:
        upload: as it was saved, or corrected.
        then: what the page does with it, a verb.
    """
    if upload.corrected and _chosen():
        st.button(
            "Undo the correction",
            key="undo-correction",
            type="tertiary",
            icon=":material/undo:",
            on_click=_undo,
        )
    if not upload.mistakes:
        return
    names = tuple(dict.fromkeys(one.name for one in upload.mistakes))
    waiting = as_decided(upload).unusable
    with st.container(horizontal=True):
        st.button(
            f"Correct it here and {then}{'' if waiting else ' again'}",
            key="correct",
            type="primary",
            icon=":material/build:",
            on_click=_choose,
            args=(upload.digest, names),
        )
        if waiting:
            st.button(
                f"{then.capitalize()} as saved",
                key="as-it-is",
                type="tertiary",
                on_click=_keep,
                args=(upload.digest,),
            )
    st.caption("Or in your own program, before the file is saved:")
    st.code("\n".join(one.code for one in upload.mistakes), language="python")


def _chosen() -> dict[str, tuple[str, ...]]:
    chosen: dict[str, tuple[str, ...]] = st.session_state.setdefault(_CHOSEN, {})
    return chosen


def _choose(digest: str, names: tuple[str, ...]) -> None:
    _chosen()[digest] = names


def _undo() -> None:
    _chosen().clear()


def _keep(digest: str) -> None:
    st.session_state[_AS_SAVED] = (*st.session_state.get(_AS_SAVED, ()), digest)
