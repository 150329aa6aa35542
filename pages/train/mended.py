"""What mending the estimator is worth: the gain it claims beside its true nats."""

import streamlit as st

from pages.ui import address, jobs
from pages.ui.services import services, stored
from validation_core.explorers.training.film import FilmStudy
from validation_core.explorers.training.mended import MendedNatsStudy, describe_mend


@address.fragment
def show(study: FilmStudy) -> None:
    """Claim and truth where they have been worked out; a button elsewhere."""
    st.subheader("What is mending it worth?", anchor=False)
    mend = MendedNatsStudy(training=study.training, seed=study.seed)
    if mend.done(services().store):
        for sentence in describe_mend(stored(mend), mend.pairs):
            st.markdown(sentence)
        return
    jobs.offer(
        mend,
        "Mend it and compare with the truth",
        key="mend-trained",
        icon=":material/healing:",
        about=f"Weights for q's draws are learnt from {mend.rows:,} fresh simulations, as on My "
        "posterior. The gain that it claims on rows that it did not learn from stands beside the "
        "fall of KL(p‖q).",
    )
