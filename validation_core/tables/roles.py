"""Roles of a file's arrays: theta, x and theta_q, by their own names and those of other tools."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.text import first_text, list_text

ROLES: Mapping[str, tuple[str, ...]] = {
    "theta": (
        "theta", "thetas", "theta_true", "true_theta", "targets", "trues", "prior_samples",
        "true_parameters", "theta_test", "parameters", "true_params", "truths", "truth",
        "injection_parameters", "injections", "inference_variables", "prior_draws", "z",
    ),
    "x": (
        "x", "xs", "data", "observations", "observables", "x_test", "observation",
        "inference_conditions", "summary_variables", "summary_conditions", "sim_data",
    ),
    "theta_q": (
        "theta_q", "posterior_samples", "samples", "estimates", "posterior", "draws",
        "reference_posterior_samples", "posterior_draws", "post_samples", "theta_samples",
        "samples_test",
    ),
    "p": ("p",),
    "q": ("q",),
    "theta_names": ("theta_names", "parameter_names", "variable_names", "names"),
    "x_names": ("x_names",),
    "x_shape": ("x_shape",),
    "x_summary": ("x_summary", "x_summaries"),
    "ranks": ("ranks", "sbc_ranks"),
    "max_rank": ("max_rank", "num_posterior_samples"),
    "pit": ("pit", "pits", "pit_values"),
    "periods": ("periods",),
    "discrete": ("discrete",),
    "bounds": ("bounds", "prior_bounds"),
    "log_q": ("log_q", "log_prob_true"),
    "log_q_draws": ("log_q_draws", "log_prob_samples"),
    "log_joint": ("log_joint",),
    "log_joint_draws": ("log_joint_draws",),
    "log_w": ("log_w", "log_w_true", "log_weights_true", "log_weight_true"),
    "log_w_draws": (
        "log_w_draws",
        "log_weights_draws",
        "log_weights",
        "log_weight",
        "ln_weights",
        "log_importance_weights",
    ),
    "w": ("w", "w_true", "weights_true", "weight_true", "true_weights"),
    "w_draws": (
        "w_draws",
        "weights_draws",
        "weights",
        "weight",
        "importance_weights",
        "sample_weights",
        "sample_weight",
    ),
    "log_likelihood": ("log_likelihood", "log_lik", "loglik"),
    "log_likelihood_draws": ("log_likelihood_draws", "log_lik_draws", "loglik_draws"),
    "x_o": ("x_o", "x_observed"),
    "x_rep": ("x_rep",),
    "theta_o": ("theta_o", "posterior_samples_o"),
    "around": ("around",),
    "probabilities": (
        "probabilities",
        "model_probabilities",
        "class_probabilities",
        "pred_models",
        "posterior_model_probabilities",
        "pmp",
        "probs",
    ),
    "label": (
        "label",
        "labels",
        "true_model",
        "true_models",
        "true_class",
        "true_label",
        "true_labels",
        "model_index",
        "model_indices",
    ),
    "class_names": ("class_names", "model_names"),
}  # fmt: skip
"""Names of an array by its role: our own first, then those of sbi, BayesFlow, tarp, sbibm, dingo,
ltu-ili and swyft."""
LABELS: Mapping[str, str] = {
    **dict.fromkeys(("theta", "theta_o", "p", "q", "ranks", "pit"), "theta_names"),
    **dict.fromkeys(("x", "x_o", "x_rep"), "x_names"),
    "probabilities": "class_names",
}
"""Role of the names of an array's columns."""
NO_X = "none"
"""The name that a user gives x to say that there is none."""
QUANTITY, DRAWS_OF_QUANTITY = "quantity_", "_draws"
"""Beginning of the name of a test quantity of a user's own; end of that of its values at draws."""
LABEL_LENGTH = 40
"""Characters of a name that are shown."""
_SHOWN = 20  # names in a list
_UNKNOWN = "no test knows an array of that name"
_UNREAD = {
    "dap_samples": "one draw of q at each x is a table with K = 1, by --map theta_q=dap_samples"
}
"""Why an array of this name is left unread, where there is more to say."""
_NAME_LENGTH = 120
_READ_LENGTH = 1000  # characters of a name that are looked at
_LAST_CODE, _REPLACEMENT = 0x10FFFF, 0xFFFD  # of Unicode


class _Roles(NamedTuple):
    """Array name for each role that was found."""

    found: dict[str, str]
    notes: tuple[str, ...]
    """A note on each array without a role."""


def is_quantity(role: str) -> bool:
    """Whether a role is a test quantity of a user's own, `quantity_NAME`, or its draws'."""
    return role.startswith(QUANTITY) and len(role) > len(QUANTITY)


def find_roles(arrays: Iterable[str], chosen: Mapping[str, str] | None = None) -> _Roles:
    """Find the arrays' roles by their names; capitals do not matter, the first alias wins.

    Args:
        arrays: names of the arrays; of a mapping to arrays or headers, their shapes are looked at.
        chosen: name of an array by the role that the user gives it; absent ones are ignored.
    """
    every = list(arrays)
    by_role = {role: name for role, name in (chosen or {}).items() if name in every}
    present: dict[str, str] = {}
    known = {role: names for role, names in ROLES.items() if role != "x"}
    for name in every:
        if name not in by_role.values():
            present.setdefault(name.lower(), name)
    for role, aliases in (known if says_no_x(chosen, every) else ROLES).items():
        names = [present[alias] for alias in aliases if alias in present]
        if names:
            by_role.setdefault(role, names[0])
    for lower, name in present.items():
        if is_quantity(lower):
            by_role.setdefault(QUANTITY + name[len(QUANTITY) :], name)
    used = set(by_role.values())
    unread = [name for name in every if name not in used]
    return _Roles(by_role, tuple(_unread_array_notes(unread, arrays, by_role)))


def _unread_array_notes(
    unread: Sequence[str], arrays: Iterable[str], by_role: Mapping[str, str]
) -> Iterator[str]:
    """A note on each array without a role; with the way to test it, where it can be a quantity."""
    sized = arrays if isinstance(arrays, Mapping) else {}
    shapes = {name: tuple(getattr(array, "shape", None) or ()) for name, array in sized.items()}
    truths = shapes.get(by_role.get("theta", ""), ())
    rows = truths[0] if truths else 0
    values = [name for name in unread if rows > 1 and shapes.get(name) in ((rows,), (rows, 1))]
    draws = [name for name in unread if len(at := shapes.get(name, ())) == 2 and rows in at]
    draws = [name for name in draws if name not in values]
    for name in unread:
        note = f"{label(name)!r} was left unread: {_UNREAD.get(name, _UNKNOWN)}."
        partner = _draws_named_after(name, draws, len(values)) if name in values else None
        if partner is not None:
            stem = re.sub(r"\W+", "_", name.lower()).strip("_") or "mine"
            pairs = {f"{QUANTITY}{stem}": name, f"{QUANTITY}{stem}{DRAWS_OF_QUANTITY}": partner}
            options = [shlex.quote(f"{role}={label(own)}") for role, own in pairs.items()]
            note += (
                f" With its values at q's draws, {label(partner)!r}, it is a test quantity: read "
                f"it by --map {options[0]} --map {options[1]}"
            )
        yield note


def _draws_named_after(name: str, draws: Sequence[str], values: int) -> str | None:
    """The array of a quantity's values at q's draws: by its name, or the only one there is."""
    stem = re.sub(r"_?(true|truth)$", "", name.lower())
    named = [other for other in draws if other.lower().startswith(stem)]
    if len(named) == 1:
        return named[0]
    return draws[0] if len(draws) == 1 and values == 1 else None


def roles_complete(roles: Collection[str]) -> bool:
    """Whether these roles make a table or, without draws at each x, two samples, ranks, or
    probabilities of classes."""
    found = {*roles}
    others = ({"p", "q"}, {"ranks", "max_rank"}, {"pit"}, {"probabilities", "label"})
    return {"theta", "x", "theta_q"} <= found or (
        "theta_q" not in found and any(other <= found for other in others)
    )


def says_no_x(chosen: Mapping[str, str | Sequence[str]] | None, names: Collection[str]) -> bool:
    """Whether a user says that there is no x, by a name that no array has.

    Args:
        chosen: names of arrays by the role that the user gives them.
        names: names of the arrays.
    """
    given = (chosen or {}).get("x", "")
    return NO_X in (given, "+".join(given)) and NO_X not in names


def check_chosen_roles(
    chosen: Mapping[str, Sequence[str]], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Refuse roles that a user cannot have meant.

    Args:
        chosen: names of arrays by the role that the user gives them.
        shapes: shapes of the arrays by name.

    Raises:
        ValueError: for an unknown role, or an array that the file lacks.
    """
    if unknown := [role for role in chosen if role not in ROLES and not is_quantity(role)]:
        roles = list_text([*ROLES, f"{QUANTITY}NAME", f"{QUANTITY}NAME{DRAWS_OF_QUANTITY}"], "or")
        raise ValueError(
            f"An array is one of {roles}; got {names_text(unknown)}. Choose among those."
        )
    named = [n for role, n in chosen.items() if role != "x" or not says_no_x(chosen, shapes)]
    if lost := [name for names in named for name in names if name not in shapes]:
        raise ValueError(
            f"Name arrays that the file holds; got {names_text(lost)}, and it holds "
            f"{shapes_text(shapes)}. Correct the name."
        )


def guess_roles(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """Guess which arrays are theta, x and theta_q, by known names and by shapes.

    Draws have three axes; theta has as many columns as these, and as many rows as one of their
    first two axes is long; x has as many rows as theta.

    Args:
        shapes: shapes of the arrays by name.

    Returns:
        names of arrays by role; a role that cannot be guessed is left out.
    """
    roles = {r: a for r, a in find_roles(shapes).found.items() if r in ("theta", "x", "theta_q")}
    free = {name: shape for name, shape in shapes.items() if name not in roles.values()}

    def choose(role: str, fits: Callable[[tuple[int, ...]], bool]) -> tuple[int, ...] | None:
        names = [name for name, shape in free.items() if fits(shape)]
        if role not in roles and names:
            roles[role] = min(names, key=lambda name: not _HINTS[role] & _words(name))
            free.pop(roles[role])
        return shapes.get(roles.get(role, ""))

    draws = choose("theta_q", lambda shape: len(shape) == 3)
    if draws is None or len(draws) < 3:
        return roles
    theta = choose("theta", lambda shape: len(shape) == 2 and shape in _paired(draws))
    if theta is not None:
        choose("x", lambda shape: len(shape) > 1 and shape[0] == theta[0])
    return roles


_HINTS = {
    "theta": frozenset({"theta", "parameters", "parameter", "params", "param", "true", "truth"}),
    "x": frozenset({"x", "data", "obs", "observed", "observations", "summaries"}),
    "theta_q": frozenset({"posterior", "samples", "draws"}),
}
"""Words in a name that decide between arrays of the same shape."""


def _words(name: str) -> frozenset[str]:
    return frozenset(re.split(r"[^a-z0-9]+", name.lower()))


def _paired(draws: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Shapes that theta may have beside draws."""
    return (draws[0], draws[2]), (draws[1], draws[2])


def shapes_text(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Arrays with their shapes, fit to be shown; the first twenty."""
    several = [f"{_shown(name)} {shape_text(shape)}" for name, shape in shapes.items()]
    return first_text(several, _SHOWN) or "nothing"


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as one writes it: `(100, 2)`."""
    return f"({', '.join(map(str, shape))})"


def unread_notes(names: Collection[str], reason: str) -> tuple[str, ...]:
    """A note on arrays or columns that were left unread; none for none.

    Args:
        names: their names in the file.
        reason: why, to follow a comma.
    """
    named = [name for name in names if label(name)]
    notes = (f"{names_text(named)}: left unread, {reason}.",) if named else ()
    nameless = len(names) - len(named)  # a frame's own row numbers, as a rule
    if nameless == 1:
        return (*notes, "A column without a name was not read.")
    return (*notes, f"{nameless:,} columns without a name were not read.") if nameless else notes


def _shown(name: str) -> str:
    return label(name) or "(no name)"


def label(text: str, longest: int = LABEL_LENGTH) -> str:
    """A name fit to be shown: one line of printable characters, cut to a readable length.

    It is not escaped for HTML or markdown.

    Args:
        text: the name.
        longest: characters that it may have.
    """
    text = text[:_READ_LENGTH]
    printable = "".join(c for c in text if not unicodedata.category(c).startswith("C"))
    printable = " ".join(printable.split())
    return printable if len(printable) <= longest else printable[: longest - 1] + "…"


def printable_names(names: Iterable[str]) -> dict[str, str]:
    """Give every array a name of printable characters and bounded length, no two the same.

    Returns:
        the arrays' names in their file, by the printable ones.
    """
    plain: dict[str, str] = {}
    for name in names:
        short = name[:_NAME_LENGTH]
        if not short.isprintable():
            short = short.encode("unicode_escape").decode("ascii")
        stem, count = short or "(no name)", 1
        while short in plain or not short:
            count += bool(short)
            short = f"{stem} ({count})" if count > 1 else stem
        plain[short] = name
    return plain


def names_text(names: Iterable[str]) -> str:
    """Names fit to be shown, in a row; the first twenty."""
    return first_text([_shown(name) for name in names], _SHOWN) or "nothing"


def column_labels(
    given: NDArray[np.generic] | None, stem: str, count: int
) -> tuple[tuple[str, ...], str | None]:
    """Labels of columns: those of the file if they can be used, else numbered ones.

    Args:
        given: the file's labels; None where it has none.
        stem: name of the columns' array: `theta_1`, `theta_2`.
        count: number of columns.

    Returns:
        `count` labels, no two alike, and a warning where the given ones cannot be used.
    """
    numbered = tuple(f"{stem}_{i + 1}" for i in range(count))
    if given is None:
        return numbered, None
    flat = given.reshape(-1)
    if given.dtype.kind not in "US" or len(flat) != count:
        return numbered, (
            f"{stem}_names should be {count} strings; got {label(str(given.dtype))} of shape "
            f"{given.shape}, so numbers are shown instead."
        )
    labels = tuple(label(t) or n for t, n in zip(texts(flat), numbered, strict=True))
    repeated = [text for text, times in Counter(labels).items() if times > 1]
    if not repeated:
        return labels, None
    apart = (f"{t} ({i + 1})" if t in repeated else t for i, t in enumerate(labels))
    return tuple(apart), (
        f"{stem}_names has {list_text([repr(text) for text in repeated])} more than once, so "
        "those columns have their numbers too."
    )


def texts(array: NDArray[np.generic]) -> tuple[str, ...]:
    """The words of an array of text, cut to the characters looked at."""
    words: Sequence[bytes | str] = truncate_text(array.reshape(-1)).tolist()
    return tuple(w.decode("utf-8", "replace") if isinstance(w, bytes) else w for w in words)


def truncated_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type of text that is cut to the characters looked at; any other type as it is."""
    if dtype.kind not in "US" or dtype.itemsize == 0:
        return dtype
    width = dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize
    return np.dtype(f"{dtype.kind}{min(width, _READ_LENGTH)}")


def truncate_text(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Cut text (n,) to the characters looked at; codes of no character are replaced."""
    short = truncated_dtype(array.dtype)
    if short.kind != "U" or not array.size or not short.itemsize:
        return array.astype(short, copy=False)
    order = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
    codes = np.ascontiguousarray(array).view(order).reshape(len(array), -1)
    native = np.ascontiguousarray(codes[:, : short.itemsize // 4], np.uint32)
    return np.where(native > _LAST_CODE, _REPLACEMENT, native).astype(np.uint32).view(short)[:, 0]
