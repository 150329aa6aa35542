"""Draws of your posterior, saved as a table that NPT Lab reads: sbi, BayesFlow, any sampler.

It stands alone: put it beside your script, in the environment of your model, as this folder or as
the one file export.py that the page Diagnose offers. It needs NumPy, and Python 3.10 or later.

    from export import from_sbi, needs, suggest

    table = from_sbi(posterior, theta, x, k=200)  # theta (N, D), x (N, ...) from your simulator
    table.save("posterior.npz")

`theta` and `x` must be fresh simulations: theta from the prior, x from the simulator at theta,
none of them used to train the posterior. `print(needs())` says which test needs how many of them,
`print(suggest(n, d, dim_x))` how many draws at each x to take.

Sizes are printed before anything is drawn; Ctrl-C keeps the rows that are done. A row whose draws
fail (an error, more than `max_seconds`, NaN) is left out and counted. That depends on its x and
never on its theta, so the tests remain valid for the other rows, and say nothing of q at its x.
"""

from __future__ import annotations

from collections.abc import Mapping

from .any_sampler import ANY_EXAMPLE, from_callable
from .bayesflow import BAYESFLOW_EXAMPLE, from_bayesflow
from .dingo import DINGO_EXAMPLE
from .draws_table import Table, save
from .ltu_ili import LTU_ILI_EXAMPLE
from .run import MAX_SECONDS, MEMORY_MB
from .sbi import SBI_EXAMPLE, from_sbi
from .swyft import SWYFT_EXAMPLE
from .table_sizes import NEEDS, Need, Suggestion, needs, suggest, table_bytes
from .targeted import AROUND_EXAMPLE, around
from .weighted import (
    LIKELIHOOD_EXAMPLE,
    RATIO_EXAMPLE,
    SEQUENTIAL_EXAMPLE,
    from_prior,
    with_proposal,
)

__all__ = [
    "MAX_SECONDS",
    "MEMORY_MB",
    "NEEDS",
    "SNIPPETS",
    "Need",
    "Suggestion",
    "Table",
    "around",
    "from_bayesflow",
    "from_callable",
    "from_prior",
    "from_sbi",
    "needs",
    "save",
    "suggest",
    "table_bytes",
    "with_proposal",
]

SNIPPETS: Mapping[str, str] = {
    "sbi": SBI_EXAMPLE,
    "BayesFlow": BAYESFLOW_EXAMPLE,
    "dingo": DINGO_EXAMPLE,
    "ltu-ili": LTU_ILI_EXAMPLE,
    "swyft": SWYFT_EXAMPLE,
    "any sample(x, k)": ANY_EXAMPLE,
    "sbi NRE": RATIO_EXAMPLE,
    "sbi NLE": LIKELIHOOD_EXAMPLE,
    "sbi, sequential": SEQUENTIAL_EXAMPLE,
    "sbi, around x_o": AROUND_EXAMPLE,
}
"""Complete examples by the tool they are for, each ending in a file to upload."""
