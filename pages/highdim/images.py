"""Images: photographs that are blurred, swirled or noisy by less than one sees."""

import pandas as pd
import streamlit as st

from pages.ui import address, jobs, live
from pages.ui.forms import segmented
from pages.ui.services import services, stored
from validation_core.benchmarks import image_sources
from validation_core.benchmarks.corruptions import Corruption
from validation_core.benchmarks.image_sources import Source
from validation_core.benchmarks.images import Images
from validation_core.explorers.highdim.images import pictures
from validation_core.explorers.highdim.images.study import ImagesStudy, draw_examples
from validation_core.scores import features

CORRUPTIONS: dict[Corruption, str] = {"blur": "Blur", "swirl": "Swirl", "noise": "Noise"}
SOURCES: dict[Source, str] = {"photographs": "Photographs", "cifar10": "CIFAR-10"}
FEATURES: dict[features.FeatureKind, str] = {
    "filters": "Filter bank",
    "pretrained": "EfficientNet-Lite0",
    "inception": "Inception V3",
}
LABELS = {"seen": "Image and label", "unseen": "Image alone"}


def show() -> None:
    """Images before and after, their scores, and power over gamma; below them the settings."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("q's images carry", width="content")
        corruption = segmented(
            "q's images carry", CORRUPTIONS, "corruption", label_visibility="collapsed"
        )
    pictures = st.container()
    study, conditional = _choose(corruption)
    with pictures:
        _show(study, conditional)


def _show(study: ImagesStudy, conditional: bool) -> None:
    """The pictures, or what there is of them while a network learns."""
    absent = image_sources.missing(study.benchmark.source) or features.missing(study.features)
    if absent:  # what is always here stays in view
        st.info(
            f"{absent} Until then: photographs, seen by the filter bank.", icon=":material/info:"
        )
        study = ImagesStudy.of(Images(corruption=study.benchmark.corruption), "filters")
    done = study.done(services().store)
    state = jobs.only("highdim", [] if done else [study], study.label)
    if done:
        _pictures(study, conditional)
    else:
        _meanwhile(study)
        jobs.panel(state, follow=True)
    st.caption(_about(study))


def _choose(corruption: Corruption) -> tuple[ImagesStudy, bool]:
    """Draw the settings below the pictures; returns what they make of the page."""
    with st.container(horizontal=True):
        source = segmented("Images", SOURCES, "images", mark=_lacks_data)
        kind = segmented("Features", FEATURES, "features", mark=_lacks_package)
        labels = segmented("The classifier sees", LABELS, "sees")
    address.owned("gamma", f"images-{corruption}-{source}")
    benchmark = Images(corruption=corruption, source=source)
    return ImagesStudy.of(benchmark, kind), labels == "seen"


def _lacks_data(source: Source) -> str:
    return "needs data" if image_sources.missing(source) else ""


def _lacks_package(kind: features.FeatureKind) -> str:
    return "needs a package" if features.missing(kind) else ""


def _pictures(study: ImagesStudy, conditional: bool) -> None:
    scored = stored(study)
    payload = live.once(
        ("images", study.key, conditional),
        lambda: pictures.payload(study, scored, conditional=conditional),
    )
    live.chart(
        payload, key=f"images-{study.benchmark.corruption}", url=("gamma",), save_as="Images"
    )
    numbers = st.expander("The numbers", key="images-numbers", on_change="rerun")
    if numbers.open:
        numbers.dataframe(pd.DataFrame(pictures.numbers(scored)), hide_index=True)


def _meanwhile(study: ImagesStudy) -> None:
    payload = live.once(
        ("images", "meanwhile", study.key),
        lambda: pictures.examples_payload(study, draw_examples(study)),
    )
    live.chart(payload, key=f"images-first-{study.benchmark.corruption}", url=("gamma",))


def _about(study: ImagesStudy) -> str:
    source = (
        "p draws 32 × 32 crops of ten photographs, each label one photograph; the "
        "paper has CIFAR-10"
        if study.benchmark.source == "photographs"
        else "p draws images of CIFAR-10 with replacement, as in the paper"
    )
    described = f"{features.TITLES[study.features]} ({study.count:,} numbers an image)"
    paper = "" if study.features == "inception" else "; the paper has Inception V3 (2,048)"
    recipe = study.recipe(conditional=True)
    schedule = (
        "as in the paper"
        if study.schedule == "paper"
        else "which is the paper's 200 from 0.0001 in fewer steps"
    )
    return (
        f"{source}. Features: {described}{paper}. A small head learns from {recipe.train:,} + "
        f"{recipe.train:,} images at each gamma, {recipe.epochs} epochs from rate "
        f"{recipe.lr:g}, {schedule}. Uniform "
        f"draws its calibration counts from the law of {study.trials * study.n:,} scores of p. "
        "The paper's Fig. 3 has both, solid at beta = 0 and dashed at 0.95 (Section 5.2, "
        "Appendix B.3)."
    )
