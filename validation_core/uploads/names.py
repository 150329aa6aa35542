"""Which array of a file is what: the public names, other tools' names for them, and labels."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

ROLES: Mapping[str, tuple[str, ...]] = {
    "theta": ("theta", "thetas", "theta_true", "true_theta", "targets", "trues", "prior_samples"),
    "x": ("x", "xs", "data", "observations", "observables"),
    "theta_q": ("theta_q", "posterior_samples", "samples", "estimates", "posterior", "draws"),
    "p": ("p",),
    "q": ("q",),
    "theta_names": ("theta_names", "parameter_names", "variable_names", "names"),
    "x_names": ("x_names",),
    "log_q": ("log_q", "log_prob_true"),
    "log_q_draws": ("log_q_draws", "log_prob_samples"),
    "log_joint": ("log_joint",),
    "log_joint_draws": ("log_joint_draws",),
    "x_o": ("x_o", "x_observed"),
    "theta_o": ("theta_o", "posterior_samples_o"),
}
"""What each array is for: its own name first, then the names sbi, BayesFlow and tarp use."""

_LONGEST = 40


class Roles(NamedTuple):
    """Array name for each role that was found, and what is said about the others."""

    found: dict[str, str]
    notes: tuple[str, ...]


def roles(arrays: Iterable[str]) -> Roles:
    """Which array plays which role; capitals do not matter, the first alias present wins."""
    present: dict[str, str] = {}
    for name in arrays:
        present.setdefault(name.lower(), name)
    found: dict[str, str] = {}
    for role, aliases in ROLES.items():
        names = [present[alias] for alias in aliases if alias in present]
        if names:
            found[role] = names[0]
    used = set(found.values())
    return Roles(found, tuple(_note(name) for name in arrays if name not in used))


def _note(name: str) -> str:
    return f"{label(name)!r} was left unread: no test knows an array of that name."


def label(text: str, longest: int = _LONGEST) -> str:
    """A name fit to be shown: one line of printable characters, cut to a readable length.

    Escaping for HTML or markdown is left to whatever draws it.
    """
    plain = "".join(c for c in text if not unicodedata.category(c).startswith("C"))
    plain = " ".join(plain.split())
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """Names fit to be shown, in a row; at most twenty of them."""
    every = [label(name) or "(no name)" for name in names]
    more = f" and {len(every) - 20} more" if len(every) > 20 else ""
    return ", ".join(every[:20]) + more or "nothing"


def labels(
    given: NDArray[Any] | None, stem: str, count: int
) -> tuple[tuple[str, ...], str | None]:
    """`count` labels, and a warning when the given ones cannot be used."""
    numbered = tuple(f"{stem}_{i + 1}" for i in range(count))
    if given is None:
        return numbered, None
    flat = given.reshape(-1)
    if given.dtype.kind not in "US" or len(flat) != count:
        return numbered, (
            f"{stem}_names should be {count} strings; got {given.dtype} of shape {given.shape}, "
            f"so numbers are shown instead."
        )
    try:
        texts: Sequence[Any] = flat.tolist()
    except ValueError:  # code points beyond Unicode
        return numbered, f"{stem}_names should be text; got other bytes, so numbers are shown."
    shown = [t.decode("utf-8", "replace") if isinstance(t, bytes) else t for t in texts]
    return tuple(label(t) or n for t, n in zip(shown, numbered, strict=True)), None
