"""What is taken away beside the page: every number as JSON, tables as CSV, and notes.

A CSV file is safe to open in a spreadsheet: text is quoted, so that no separator of another
country splits it, and text that a spreadsheet would calculate begins with an apostrophe. Notes
are kept by the digest of a table's numbers: they are there again when it is uploaded again, and
are not deleted to make room for results.
"""

from __future__ import annotations

import csv
import io
import platform
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from validation_core import __version__, statistics
from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.card import card
from validation_core.diagnosis.questions import Answers, Asked, unanswered
from validation_core.rng import stream
from validation_core.scores.quantities import QUANTITIES
from validation_core.tables import Upload
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store


_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def as_json(found: Diagnosis, answers: Answers, asked: Asked | None = None) -> str:
    """One JSON object; NaN and infinities, which JSON has no word for, are null.

    `where`, `cause` and `sensitivity` begin with what the verdict's own tests say and go on with
    the answers; everything that was worked out stands under `answers` by the name of its
    question, and why a question has none under `left_out`.

    Args:
        found: the verdict with what it rests on.
        answers: by the name of their questions. They speak of parameters by index: `names` and
            `x_names` beside them say which is which.
        asked: which questions were asked; by default those that these answer.
    """
    document = found.to_json()
    why = (asked or Asked.only(answers)).why
    for answer in answers.values():
        answer.complete(document, found)
    return dumps(
        {
            **document,
            "card": card(found, answers, asked).to_json(),
            "names": list(found.upload.names),
            "x_names": list(found.upload.x_names),
            "answers": {
                name: {
                    "sentences": list(answer.describe(found)),
                    "notes": list(answer.notes(found)),
                    **answer.to_json(),
                }
                for name, answer in answers.items()
            },
            "left_out": {
                question.name: why(question, found.upload) for question in unanswered(answers)
            },
            "versions": library_versions(),
        }
    )


def dumps(value: object) -> str:
    """JSON of plain values and of numpy's; a broken letter in a name becomes a question mark."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS).decode()
    except TypeError:  # half a surrogate pair in some string
        return orjson.dumps(_whole(value), default=_plain, option=_OPTIONS).decode()


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON holds plain values; got {type(value).__name__}. Convert it.")


def _whole(value: object) -> object:
    """The same with text that UTF-8 can write."""
    if isinstance(value, str):
        return utf8_text(value)
    if isinstance(value, Mapping):
        return {_whole(name): _whole(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def utf8_text(value: str) -> str:
    """Text that UTF-8 can write: halves of surrogate pairs become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8")


_PACKAGES = ("numpy", "scipy", "torch", "plotly")


def library_versions() -> dict[str, str]:
    """Version by name of the program, of Python, and of the packages that numbers depend on.

    Read from what is installed: nothing is imported for it.
    """
    installed = {"nptlab": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_table(rows: Sequence[Mapping[str, object]]) -> bytes:
    """The rows under the names of all their columns, in UTF-8 with a byte order mark.

    Without the mark Excel takes the file for the letters of one country; pandas, polars and
    LibreOffice pass over it. Not-a-number and what a row lacks are left empty.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerows(_lines(columns, rows))
    return b"\xef\xbb\xbf" + buffer.getvalue().encode()


def _lines(
    columns: Sequence[str], rows: Iterable[Mapping[str, object]]
) -> Iterable[list[str | int | float]]:
    yield [_safe(name) for name in columns]
    for row in rows:
        yield [_csv_cell(row.get(name)) for name in columns]


def _csv_cell(value: object) -> str | int | float:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _safe(str(value))
    return value


def _safe(value: str) -> str:
    """Text that no spreadsheet calculates."""
    cleaned = utf8_text(value).replace("\0", "\N{REPLACEMENT CHARACTER}")
    begins = (cleaned, cleaned.lstrip())
    risky = any(begin.startswith(_FORMULA) for begin in begins) and not _NUMBER.fullmatch(cleaned)
    return f"'{cleaned}" if risky else cleaned


LONGEST = 20_000
"""Characters."""


def load_notes(store: Store, digest: str) -> str:
    """The notes on a table; empty where there are none."""
    stored = store.load("notes", digest)
    return str(stored.meta.get("text", "")) if stored else ""


def save_notes(store: Store, digest: str, words: str) -> None:
    """Keep notes on a table in place of those before; blank ones are forgotten.

    Raises:
        ValueError: for more than 20,000 characters.
        OSError: when the disk does not take them.
    """
    if len(words) > LONGEST:
        raise ValueError(
            f"Notes have at most {LONGEST:,} characters; got {len(words):,}. Shorten them, or "
            f"keep the rest elsewhere."
        )
    cleaned = clean_notes(words)
    if cleaned:
        meta = {"label": "Notes on an uploaded table", "text": cleaned}
        store.save("notes", digest, {}, spec="notes", meta=meta)
    else:
        store.delete("notes", digest)


def clean_notes(words: str) -> str:
    """Printable text with its line breaks, and no blank ends."""
    lines = utf8_text(words).replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    characters = (c for c in lines if c == "\n" or not unicodedata.category(c).startswith("C"))
    return "".join(characters).strip()


# ---- Ranks of a diagnosis as an ArviZ DataTree ----
#
# Group `prior_sbc`, as `plot_ecdf_pit` wants it.
#
# References:
#     arviz-plots, plot_ecdf_pit: probability integral transforms in [0, 1], one variable for each
#     parameter, over the dimensions chain and draw.


GROUP = "prior_sbc"
_TAKEN = ("chain", "draw")  # names of dimensions cannot be variables of two dimensions
_LONGEST = 80
_SEPARATE = 200  # parameters that have a variable of their own


def datatree(diagnosis: Diagnosis, upload: Upload) -> bytes:
    """A netCDF-4 file with one group, `prior_sbc`.

    Its variables are the randomised ranks of true values among q's draws, (rank + v (1 + ties)) /
    (K + 1): uniform on [0, 1] if q is right. One for each parameter, dimensions chain (1) and draw
    (N); variables are called after the parameters as far as a file allows, and `long_name` is what
    the user called them. More than 200 parameters are one variable, theta, with a third dimension,
    parameter. Where SBC ran they are the very ranks that it tested. The tree's
    attributes say of which table they are, and hold the whole diagnosis as JSON.

    Raises:
        ValueError: for two plain samples, in which nothing can be ranked at one x.
    """
    import xarray  # here: most who import a report want no netCDF

    u = pit_values(diagnosis, upload)
    safe = netcdf_names(upload.names)
    arrays: dict[str, Any]
    places: dict[str, Any] = {"chain": np.arange(1), "draw": np.arange(u.shape[1])}
    if len(u) <= _SEPARATE:
        arrays = {
            name: (("chain", "draw"), ranks[None], {"long_name": _attribute(label)})
            for name, ranks, label in zip(safe, u, upload.names, strict=True)
        }
    else:  # a file takes seconds for each hundred of variables
        arrays = {"theta": (("chain", "draw", "parameter"), u.T[None], {"long_name": "theta"})}
        places["parameter"] = safe
    about = {
        "created_by": "NPT Lab",
        "version": library_versions()["nptlab"],
        "n": upload.n,
        "k": upload.k,
        "seed": diagnosis.seed,
        "level": diagnosis.alpha,
        "digest": upload.digest,
        "verdict": diagnosis.verdict,
    }
    kind = "randomised ranks of true values among q's draws, divided by K + 1: PIT in [0, 1]"
    group = xarray.Dataset(arrays, places, {**about, "values": kind})
    root = xarray.Dataset(attrs={**about, "diagnosis": _attribute(dumps(diagnosis.to_json()))})
    tree = xarray.DataTree.from_dict({"/": root, f"/{GROUP}": group})
    buffer = io.BytesIO()
    squeezed = {name: {"zlib": True, "complevel": 4} for name in arrays}
    tree.to_netcdf(buffer, engine="h5netcdf", encoding={f"/{GROUP}": squeezed})
    return buffer.getvalue()


def pit_values(diagnosis: Diagnosis, upload: Upload) -> Array:
    """Randomised ranks of each parameter (D, N): those that SBC tested, where it ran.

    Raises:
        ValueError: for two plain samples.
    """
    if not isinstance(upload.data, PosteriorTable):
        raise ValueError(
            "Ranks need draws of q at each x; got two samples p and q, which have no x. "
            "Upload a table of theta, x and theta_q."
        )
    d = upload.dims[0]
    first = list(QUANTITIES).index("marginals")
    for record in diagnosis.records:
        if (
            record.kind.ranks_parameters
            and record.status == "ran"
            and first in record.arrays["kinds"]
        ):
            return np.asarray(record.arrays["u"][:d], float)  # parameters come before products
    theta, q = upload.data.theta, upload.data.q
    rng = stream(diagnosis.seed, "report", "ranks")
    return statistics.conformal_ranks(theta.T, np.moveaxis(q, -1, 0), rng)


def netcdf_names(names: Sequence[str]) -> list[str]:
    """Names that a netCDF file takes, none twice: letters, digits and underscores."""
    used_names = set(_TAKEN)
    safe_names = []
    for i, name in enumerate(names):
        identifier = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", utf8_text(name))).strip("_")
        stem = identifier[:_LONGEST] or f"theta_{i + 1}"
        chosen, again = stem, 2
        while chosen in used_names:
            chosen, again = f"{stem}_{again}", again + 1
        used_names.add(chosen)
        safe_names.append(chosen)
    return safe_names


def _attribute(value: str) -> str:
    """Text that HDF5 takes."""
    return utf8_text(value).replace("\0", "") or " "
