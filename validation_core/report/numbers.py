"""Every number of a diagnosis as JSON: what scripts read, and what an HTML report carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from validation_core.answers import Found
from validation_core.diagnosis import Diagnosis
from validation_core.report import versions

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def as_json(found: Diagnosis, answers: Mapping[str, Found]) -> str:
    """One JSON object; NaN and infinities, which JSON has no word for, are null.

    `where`, `cause` and `sensitivity` begin with what the verdict's own tests say and go on with
    the answers; everything that was worked out stands under `answers` by the name of its panel,
    and why a panel has none, where nothing could be worked out, under `left_out`.

    Args:
        found: the verdict with what it rests on.
        answers: by the name of their panels. They speak of parameters by index: `names` and
            `x_names` beside them say which is which.
    """
    from validation_core import panels  # here: a verdict alone needs no answer's module

    plain = found.to_json()
    titles = {panel.name: panel.title for panel in panels.PANELS}
    plain["where"] += [
        {"method": name, "label": titles[name], "sentences": list(told)}
        for name in ("over_x", "in_theta", "observation")
        if (told := _said(name, found, answers))
    ]
    if "cause" in answers:
        plain["cause"] = _causes(answers["cause"].plain, found)
    if "sensitivity" in answers:
        plain["sensitivity"] += [
            {"kind": one["injection"], **one} for one in answers["sensitivity"].plain["injections"]
        ]
    return dumps({
        **plain,
        "names": list(found.upload.names),
        "x_names": list(found.upload.x_names),
        "answers": {
            name: {"sentences": list(_said(name, found, answers)), **answer.plain}
            for name, answer in answers.items()
        },
        "left_out": {
            panel.name: reason
            for panel in panels.PANELS
            if panel.name not in answers
            and (reason := panel.module.obstacle(found.upload)) is not None
        },
        "versions": versions.versions(),
    })  # fmt: skip


def _said(name: str, found: Diagnosis, answers: Mapping[str, Found]) -> tuple[str, ...]:
    from validation_core import panels

    if name not in answers:
        return ()
    return panels.told(panels.by_name(name), answers[name], found)


def _causes(told: Mapping[str, Any], found: Diagnosis) -> list[dict[str, Any]]:
    """The cause that is named, or that it is unclear, then the likeliest ones; none of nothing."""
    from validation_core.answers.cause import TITLES

    silent = found.claims is not None and not found.claims.found
    if told["cause"] == "none" or silent:
        return []
    worst = found.flagged[0].name if found.flagged else None
    first = {
        "cause": told["cause"], "reading": TITLES.get(told["cause"], told["cause"]),
        "parameter": worst, "pvalue": told["pvalue"], "why": told.get("why", ""),
        "next": list(told.get("next", ())),
    }  # fmt: skip
    ranked = [
        {**one, "reading": TITLES.get(one["cause"], one["cause"]), "parameter": worst}
        for one in told["causes"]
    ]
    if ranked and ranked[0]["cause"] == told["cause"]:
        return [{**ranked[0], **first}, *ranked[1:]]
    return [first, *ranked]


def dumps(value: Any) -> str:
    """JSON of plain values and of numpy's; a broken letter in a name becomes a question mark."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS).decode()
    except TypeError:  # half a surrogate pair in some string
        return orjson.dumps(_whole(value), default=_plain, option=_OPTIONS).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON holds plain values; got {type(value).__name__}. Convert it.")


def _whole(value: Any) -> Any:
    """The same with text that UTF-8 can write."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {_whole(name): _whole(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def text(value: str) -> str:
    """Text that UTF-8 can write: halves of surrogate pairs become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8")
