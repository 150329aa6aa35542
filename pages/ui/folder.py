"""Choose a file below the folder that the server's operator allows."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from pages.ui.jobs import plain
from validation_core.tables import server_files


def allowed() -> bool:
    """Whether files on the server may be read; draws a message where none may."""
    try:
        return server_files.data_folder() is not None
    except ValueError as refusal:
        st.warning(plain(str(refusal)))
        return False


def pick(label: str, key: str) -> tuple[Path, str] | None:
    """The chosen file, with a stamp that changes with its content; None without one."""
    folder = server_files.data_folder()
    assert folder is not None
    known = server_files.list_files(folder)
    text = st.selectbox(
        label,
        known.files,
        index=None,
        key=key,
        accept_new_options=True,
        placeholder="Choose one, or write its path",
    )
    if known.cut:
        st.caption(plain(known.cut))
    if not text:
        return None
    try:
        path = server_files.resolve_in_folder(folder, text)
    except ValueError as refusal:
        st.error(plain(str(refusal)), icon=":material/error:")
        return None
    stamp = os.stat(path)
    return path, f"{path}:{stamp.st_mtime_ns}:{stamp.st_size}"
