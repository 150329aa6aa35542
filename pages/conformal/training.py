"""Training of the chosen classifier."""

import streamlit as st

from pages.ui import charts
from pages.ui.services import services
from validation_core.drawing.loss_curve import loss_curve
from validation_core.explorers.conformal.study import Learned
from validation_core.scores import trained_scores


def trained(learned: Learned, gamma: float) -> None:
    """Loss and held-out AUC of the network of all gammas, or of the nearest gamma."""
    network = trained_scores.load(services().store, learned.training(gamma))
    if network is None:
        st.caption("The network itself is not stored here; its results are.")
        return
    charts.show(loss_curve(network.history, height=240), "loss")
    recipe = learned.recipe
    st.caption(
        f"{recipe.train:,} + {recipe.train:,} rows, {recipe.epochs:,} epochs, learning rate "
        f"{recipe.lr:g} falling to 0 along a cosine; {network.seconds:.1f} s on {network.device}; "
        f"held-out AUC {network.auc:.3f}{' over all gammas' * (not learned.each)}. A loss of "
        "0.693 and an AUC of one half are guessing."
    )
