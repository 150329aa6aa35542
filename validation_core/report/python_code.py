"""Python that works out again what a panel says, from the files that its table was read from."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from validation_core.diagnosis import Diagnosis, default_methods
from validation_core.diagnosis.questions import AnyQuestion
from validation_core.tables import Upload

_FIELD = re.compile(r"\{(\w+)\}")
_UNNAMED, _FOLDER = "your_table.npz", "your_folder"
_NAMED = 8
"""Files that are written out; more are read from a folder."""


def code(template: str, *, path: str | Sequence[str], upload: Upload, **values: object) -> str:
    """Fill in a Python script.

    Args:
        template: with `{table}`, and the names of values in braces.
        path: of the table's file, any text; of several that make it; or none, for a table of no
            file, which stands as one that the reader is to name.
        upload: the table, which is read as it was.
        values: by name, such as the seed.
    """
    files = [path] if isinstance(path, str) else [*path]
    read: str | list[str] = files
    if not files:
        read = _UNNAMED
    elif len(files) == 1:
        (read,) = files
    elif len(files) > _NAMED:
        read = _FOLDER
    options = "".join(f", {name}={_python(value)}" for name, value in upload.said.items())
    table = f"npt.read({read!r}{options}){'.as_meant()' * upload.as_saved}"
    # All in one go: a name may have braces.
    written = {**{name: _python(value) for name, value in values.items()}, "table": table}
    return _FIELD.sub(lambda found: written.get(found[1], found[0]), template)


def question_code(
    question: AnyQuestion, found: Diagnosis, path: str | Sequence[str], where: object = None
) -> str:
    """The code of a question, asked as a diagnosis asked it.

    Args:
        question: whose code it is.
        found: the diagnosis.
        path: of the table's files, as in `code`.
        where: the place that is looked at, of a question about one.
    """
    names = list(dict.fromkeys(record.name for record in found.records))
    usual = found.pending or {*names} == {method.name for method in default_methods()}
    return code(
        question.code,
        path=path,
        upload=found.upload,
        methods=None if usual else names,
        alpha=found.alpha,
        seed=found.seed,
        where=where,
    )


def _python(value: object) -> str:
    """A value as Python that imports nothing."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_python(one)}' for name, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_python, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
