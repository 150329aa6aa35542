"""Is q right around it? An exact test of simulations that were made around an observation."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.detectable_shift import POWER, detectable_shift_by_relabelling
from validation_core.diagnosis.my_observation.answer import ObservationAnswer
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.localization import neighbours
from validation_core.relabelling import relabelled
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.relabelling.table_statistics import nearest, relabelled_pools
from validation_core.rng import stream
from validation_core.statistics.ranks import conformal_ranks
from validation_core.tables import TableUpload
from validation_core.text import count_text, number_text, said_equals
from validation_core.types import Array, Integers

_TITLE = "Is q right around it?"
_CANNOT = (
    "It speaks of q over data that the simulator makes where q puts theta given your observation, "
    "not of the observation alone: if q misses it by far, these data lie elsewhere."
)
_RELABELLINGS = 999


def targeted(
    upload: TableUpload, x_o: Array, *, alpha: float, seed: int, unlike: bool = False
) -> ObservationAnswer:
    """Answer whether q is right over a table that was simulated around its observation.

    True values come from r, which was fitted to q's draws at x_o, and have given x the density
    q r / prior if q is right. The table's draws were drawn anew by r / prior, so that relabelling
    within x is exact whatever r is (`tables.weights`).

    Args:
        upload: a table around x_o.
        x_o: the observation (M,).
        alpha: level.
        seed: of labellings and ties.
        unlike: whether the observation is unlike these simulations.
    """
    near = nearest(neighbours.distances(upload.data.x, x_o[None])[0])
    result = relabelled(
        upload.data,
        seed,
        relabelings=_RELABELLINGS,
        densities=upload.densities,
        quantities=list(upload.own_quantities.values()),
        near=near,
        over_x=False,
        bounds=upload.widened_bounds,
    )
    claims = Claims(result, alpha, tuple(upload.own_quantities))
    d = upload.dims[0]
    pools = relabelled_pools(upload.n, upload.effective_k, d, seed)
    shift = detectable_shift_by_relabelling(pools, result.critical(alpha, "means"), d)
    made = f"in {count_text(upload.n, 'simulation')} made there"
    p = f"p {said_equals(claims.pvalue)}"
    caught = (
        f"A shift of {number_text(shift, 2)} posterior sd in one parameter over these simulations "
        f"would be found with {POWER:.0%} power."
    )
    return ObservationAnswer(
        name="targeted",
        title=_TITLE,
        sentences=(
            *(
                (
                    f"q is wrong around your observation {made} ({p}, exact). Clearest: "
                    f"{claims.clearest(upload.names, upload.x_names)}.",
                )
                if claims.found
                else (f"No error of q around your observation {made} ({p}, exact).", caught)
            ),
            *(["Your observation is unlike these simulations."] if unlike else []),
        ),
        cannot=_CANNOT,
        wrong=claims.found,
        pvalue=claims.pvalue,
        drawn=(_ranks(upload, claims, near, seed),),
        rows=[
            {
                "parameter": parameter_name(upload.names, each),
                "p, adjusted": claims.parameter(each),
            }
            for each in range(upload.dims[0])
        ],
        numbers={
            "rows": upload.n,
            "width": upload.around,
            "detectable_shift": shift,
            "power": POWER,
        },
        notes=(
            f"theta came from a density {number_text(upload.around or 0.0, 3)} times as wide as "
            "q's draws at your observation, x from the simulator; weights make up for the prior. "
            "Another of true value and draws plays the true value at each x: over all of these "
            "simulations, and over the tenth nearest to your observation.",
        ),
    )


def _ranks(upload: TableUpload, claims: Claims, near: Integers, seed: int) -> Drawn:
    """Ranks of the clearest parameter's true values, at the rows where it is clearest."""
    which = min(range(upload.dims[0]), key=claims.parameter)
    rows, where = np.arange(upload.n), "around your observation"
    at = claims.result.first(
        lambda claim: claim.along is not None and claim.of != "own" and bool(claim.which)
    )
    if at is not None and claims.observation() < claims.parameter(which):
        rows, which = near, claims.result.claims[at].which[0]
        where = f"at the {len(near)} simulations nearest to your observation"
    rng = stream(seed, "observation", "targeted")
    u = conformal_ranks(upload.data.theta[rows, which], upload.data.q[rows, :, which], rng)
    name = parameter_name(upload.names, which)
    return Drawn(
        f"Ranks of {name} {where}",
        rank_histogram(u, 20 if len(rows) == upload.n else 10),
        f"Ranks of {name}'s true values among q's draws, weights allowed for. If q were right "
        "there, all bars would stay in the grey band. Low ranks: q sits too high.",
    )
