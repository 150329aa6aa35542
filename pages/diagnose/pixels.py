"""Parameters that are an image's pixels: the diagnosis as images, once the shape is named."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import forms, live
from pages.ui.jobs import plain
from pages.ui.services import services, stored
from validation_core.diagnosis import pixel_pictures
from validation_core.diagnosis.pixels import FEWEST, PixelMaps, ball_centre, pixel_maps, shape_of
from validation_core.localization import MapTask
from validation_core.tables import TableUpload, Upload
from validation_core.types import ImageShape, PosteriorTable


def show(upload: Upload, alpha: float, maps: Sequence[MapTask] = ()) -> None:
    """Maps over pixels, truths and draws, once a user names the shape; nothing for few numbers."""
    if not isinstance(upload, TableUpload) or upload.dims[0] < FEWEST:
        return
    suggestion = " x ".join(map(str, upload.image))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        theta = _shape(
            "Shape of θ, where it is an image", upload.dims[0], "theta-shape", suggestion
        )
        x = None
        if theta is not None and upload.dims[1] >= FEWEST:
            x = _shape("Shape of x", upload.dims[1], "x-shape", "")
    if theta is None:
        return
    st.header("Which pixels are wrong?", anchor="pixels")
    pixels = _maps(upload.digest, upload.data)
    ready = next((task for task in maps if task.done(services().store)), None)
    payload = live.once(
        ("pixels", upload.digest, theta, x, alpha, ready.key if ready else ""),
        lambda: pixel_pictures.payload(
            pixels, theta, x, alpha, ball_centre(stored(ready)) if ready else None
        ),
    )
    live.chart(payload, key=f"pixels-{len(payload.sliders)}")


def _shape(label: str, numbers: int, key: str, suggestion: str) -> ImageShape | None:
    """The shape that was named; None for none, or for one that does not fit, which is said."""
    text = forms.text_field(
        label,
        key,
        first=suggestion,
        placeholder="16 x 16",
        width=260,
        help="Height x width, or height x width x 3 in colour. Maps over pixels are drawn then.",
    )
    if not text.strip():
        return None
    try:
        return shape_of(text, numbers)
    except ValueError as error:
        st.caption(plain(str(error)))
        return None


@st.cache_resource(show_spinner=False, max_entries=8)
def _maps(digest: str, _table: PosteriorTable) -> PixelMaps:
    """The maps of a table; keyed by its digest."""
    return pixel_maps(_table)
