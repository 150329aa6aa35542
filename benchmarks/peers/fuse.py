"""The MMD-FUSE package. Runs in the peers' environment."""

from __future__ import annotations

import resource
from typing import Any

import jax
from mmdfuse import mmdfuse
from talk import Arrays, serve, timed


def test(arrays: Arrays, permutations: int) -> dict[str, Any]:
    """One test: in a new process, with its compile."""
    p, q = (jax.numpy.asarray(arrays[name]) for name in ("p", "q"))

    def once() -> float:
        key = jax.random.PRNGKey(0)
        _, found = mmdfuse(p, q, key, number_permutations=permutations, return_p_val=True)
        return float(found)

    seconds, pvalue = timed(once)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "pvalue": pvalue, "peak": peak}


if __name__ == "__main__":
    serve(test=test)
