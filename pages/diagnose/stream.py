"""How soon a table's rows, one after the other, would have decided that q is wrong."""

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from pages.diagnose import rows
from pages.ui import panel
from pages.ui.once import once
from validation_core import Drawn, watch
from validation_core.report import code
from validation_core.tables import TableUpload, Upload
from validation_core.text import level_text

_TITLE = "Row by row"
_HOW = (
    "The line is the evidence against q after each row. Where it reaches the dashed line, q is "
    "found wrong, however often one has looked before; that it falls again later changes nothing. "
    "An undecided line is no proof that q is right."
)
_METHODS = (
    "Bets on the rank of each true value among q's draws, each placed before its row is seen: on "
    "every parameter, and on the distance from q's middle; nothing is learned. Their wealth is a "
    "p-value at every moment at once (Ville's inequality)."
)
_CODE = """import validation_core as npt

*_, state = npt.watch({table}, alpha={alpha}, seed={seed}, learn=False)
print(*state.sentences, sep="\\n")"""
_GROWING = (
    "When the file has grown, upload it again: its line goes on, and holds at every look. A "
    "browser cannot see a file grow on your disk; this command can, and also learns from rows:"
)


class _Evidence(NamedTuple):
    """The parts of a stream's result that are shown."""

    sentences: Sequence[str]
    drawn: Sequence[Drawn]
    numbers: Sequence[panel.PanelRow]


def show(upload: Upload, files: Sequence[str], alpha: float, seed: int) -> None:
    """A row with the evidence over a table's rows; none where they cannot be taken one by one.

    Args:
        upload: the table.
        files: names of its files, for the code.
        alpha: level.
        seed: of tie-breakers.
    """
    if not _has_single_rows(upload):
        return
    ask = "How soon would it have been decided? Open this row to look."
    with rows.row("stream", _TITLE, ask) as row:
        if not row.open:
            return
        key = ("stream", upload.digest, *upload.names, alpha, seed)
        found = once(key, lambda: _evidence(upload, alpha, seed))
        panel.panel(
            _TITLE,
            (
                *found.sentences,
                "This is a look of its own beside the verdict, at its own level of "
                f"{level_text(alpha)}, not a second vote for it. Rows come as in the file, whose "
                "order must not depend on their true values.",
            ),
            notes=(_METHODS,),
            how=_HOW,
            table=found.numbers,
            drawn=found.drawn,
            code=code(_CODE, path=files, upload=upload, alpha=alpha, seed=seed),
            key="stream",
        )
        st.caption(_GROWING)
        st.code("nptlab diagnose --stream rows.jsonl", language=None)


def _has_single_rows(upload: Upload) -> bool:
    """Whether each row is a simulation with x and equal draws of its own."""
    return (
        isinstance(upload, TableUpload)
        and upload.dims[1] > 0
        and upload.k > 1
        and upload.weighting is None
        and upload.groups is None
        and not upload.mistakes
    )


def _evidence(upload: Upload, alpha: float, seed: int) -> _Evidence:
    *_, state = watch([upload], alpha=alpha, seed=seed, learn=False)
    return _Evidence(state.sentences, state.figures(), state.rows())
