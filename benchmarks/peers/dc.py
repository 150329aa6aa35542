"""The authors' fit of a slot classifier. Runs in the peers' environment.

Their file runs its galaxy example when it is imported: only its functions are taken from it.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import jax
import jax.flatten_util
import numpy as onp
import tensorflow_probability.substrates.jax as tfp
from jax import numpy as np
from talk import Arrays, serve, timed

jax.config.update("jax_enable_x64", True)  # as theirs does


def fit(arrays: Arrays, penalty: float) -> dict[str, Any]:
    """Learns on theta (N, D), x (N, M), q (N, m, D), judged on held_theta, held_x, held_q."""
    theirs = _functions(slots=arrays["q"].shape[1])
    learn, held = (_packed(theirs, arrays, prefix) for prefix in ("", "held_"))
    key = jax.random.PRNGKey(0)

    def once() -> list[float]:
        return [float(d) for d in theirs["multiclass_diagnostic"](*learn, *held, key, penalty)]

    seconds, (_, _, divergence, spread) = timed(once)
    return {"seconds": seconds, "divergence": divergence, "spread": spread}


def _packed(theirs: dict[str, Any], arrays: Arrays, prefix: str) -> tuple[Any, ...]:
    """Labels, inputs, and these again as linear features, as in their example."""
    theta, x = (np.asarray(arrays[prefix + name].T) for name in ("theta", "x"))
    q = np.asarray(onp.moveaxis(arrays[prefix + "q"], -1, 0))
    label, inputs = theirs["get_multiclass_data"](theta, q, x)
    return label, inputs, inputs


def _functions(slots: int) -> dict[str, Any]:
    found = importlib.util.find_spec("discCali")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'discCali'")
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    space = {"jax": jax, "np": np, "onp": onp, "tfp": tfp, "M": slots}
    exec(compile(tree, found.origin, "exec"), space)
    return space


if __name__ == "__main__":
    serve(fit=fit)
