"""Downloads of a mend: what mends new draws, and the table with its weights."""

import streamlit as st

from pages.ui.jobs import undisturbed
from validation_core.mending import Mended
from validation_core.mending.files import mend_files
from validation_core.tables import TableUpload

_HELP = {
    "mend.npz": "Trees and network as plain arrays, for mend.py.",
    "mend.py": "Mends new draws of this q beside mend.npz, with NumPy alone.",
    "weighted.npz": "Your table with log_w and log_w_draws, to be diagnosed again.",
}


def downloads(mended: Mended, upload: TableUpload) -> None:
    """A button for each file; none where no mend is offered."""
    with st.container(horizontal=True, key="mend-files"):
        for name, make in mend_files(mended, upload).items():
            st.download_button(
                name,
                undisturbed(make),
                name,
                key=f"take-{name}",
                on_click="ignore",
                icon=":material/download:",
                help=_HELP[name],
            )
