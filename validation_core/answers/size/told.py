"""How wrong q is, in sentences and as a table. Names come in here, as the user gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from validation_core.answers.base import Found, called
from validation_core.answers.size.marginals import ALPHA
from validation_core.diagnosis import words
from validation_core.diagnosis.claims import Claims
from validation_core.statistics.effects import WIDEST

_NAMED = 5
_LEARNT = 0.15  # of the prior's variance: a q that takes away less is as good as the prior

HOW = (
    "Each number has a 95% interval beside it: coverage is how often a nominal interval of q "
    "really holds the truth; bias is how far q sits too high, in q's own posterior sd; the ratio "
    "of widths is q's width by the width it needs, below 1 over-confident, above 1 "
    "under-confident; contraction is 1 - posterior variance / prior variance. If q were right, "
    "coverage would be nominal, bias 0 and the ratio 1, up to these intervals; p is corrected "
    "over parameters, and the worst parameter stands first."
)

CODE = """\
import tempfile

from validation_core import diagnosis, uploads
from validation_core.answers import size
from validation_core.diagnosis import tasks
from validation_core.store import Store

upload = uploads.read("{path}")
tasks.hold(upload)
store = Store(tempfile.mkdtemp())
founds = []
for task in size.tasks(upload, diagnosis.default_methods(), {seed}):
    task.run(store, lambda fraction, live: None)
    founds.append(task.load(store))
found = size.gather(founds)
print(*size.say(found, upload.names), sep="\\n")
for row in size.table(found, upload.names):
    print(row)
"""

Numbers = Mapping[str, Any]


def say(found: Found, names: Sequence[str], claims: Claims | None = None) -> tuple[str, ...]:
    """What is worst and by how much; then what else is off, and the whole of q.

    Args:
        found: the numbers.
        names: of the parameters.
        claims: what may be claimed; None leaves this panel a level of its own.
    """
    every = found.plain.get("parameters", ())
    level = ALPHA if claims is None else claims.alpha
    off = [one for one in every if _pvalue(one, claims) <= level]
    said = []
    if off:
        said.append(_worst(off[0], names, found.plain["k"]))
        said += _others(off, every, names, claims)
    elif every:
        said += _bounded(every)
    free = claims is None or claims.found
    said += (_wider(every, names) if free else []) or _blind(every, names)
    if mass := found.plain.get("regions"):
        said.append(_mass(mass, claims))
    if nats := found.plain.get("divergence"):
        said += _nats(nats)
    if estimate := found.plain.get("estimate"):
        said += [
            f"For comparison, an estimate without densities. {one}" for one in _nats(estimate)
        ]
    return tuple(said)


def finds(found: Found) -> bool:
    """Whether a parameter is off, at this panel's own level."""
    return any(one["pvalue_adjusted"] <= ALPHA for one in found.plain.get("parameters", ()))


def _pvalue(one: Numbers, claims: Claims | None) -> float:
    """That a parameter is off: in the verdict's family, or corrected over parameters."""
    adjusted: float = one["pvalue_adjusted"]
    return adjusted if claims is None else claims.parameter(int(one["index"]))


def table(
    found: Found, names: Sequence[str], claims: Claims | None = None
) -> list[dict[str, str | float | int]]:
    """A row for each parameter, the worst first: every number and its interval."""
    rows: list[dict[str, str | float | int]] = []
    for one in found.plain.get("parameters", ()):
        row: dict[str, str | float | int] = {"parameter": _name(one, names)}
        for rate in one["coverage"]:
            column = f"covered by {100 * rate['level']:g}% intervals, %"
            row |= _cell(column, rate, "covers", 1, 100)
        row |= _cell("below q's median, %", one, "below_median", 1, 100)
        row |= _cell("bias, posterior sd (+ is too high)", one, "bias", 3)
        row |= _cell("width / needed width", one, "ratio", 3)
        row |= {"bias and width by": "q's mean and sd" if one["by"] == "moments" else "ranks"}
        row |= _cell("contraction", one, "contraction", 3)
        row |= {
            "mean z-score": _rounded(one["z_mean"], 3), "sd of z-scores": _rounded(one["z_sd"], 3),
            "outside all draws, %": round(100 * one["outside"], 1),
            "p": float(f"{one['pvalue']:.3g}"),
            "p, corrected": float(f"{_pvalue(one, claims):.3g}"),
        }  # fmt: skip
        rows.append(row)
    return rows


def _cell(
    column: str, one: Numbers, name: str, digits: int, scale: float = 1
) -> dict[str, str | float | int]:
    low, high = (one[f"{name}_{end}"] for end in ("low", "high"))
    known = one[name] is not None
    ends = [f"{scale * end:.{digits}f}" if end is not None else "?" for end in (low, high)]
    return {
        column: round(scale * one[name], digits) if known else "",
        f"{column}, 95% interval": f"{ends[0]} to {ends[1]}" if known else "",
    }


def _rounded(value: float | None, digits: int) -> float | str:
    return "" if value is None else round(value, digits)


def _name(one: Numbers, names: Sequence[str]) -> str:
    return called(names, int(one["index"]))


def _worst(one: Numbers, names: Sequence[str], k: int) -> str:
    said = f"{_name(one, names)} is the worst: {_covers(one)}; {_bias(one)}{_width(one)}."
    if not one["saturated"]:
        return said
    beyond = f"{100 * one['outside']:.0f}% of the truths lie outside all {k} draws of q"
    if one["by"] == "moments":
        return f"{said} {beyond}, so that its bias and width are told by q's mean and sd."
    return f"{said} {beyond}, so that these are the least its errors can be."


def _covers(one: Numbers) -> str:
    """The nominal rate that is farthest off; that of the 80% interval where none is."""
    rate = max(one["coverage"], key=lambda each: each["excess"])
    if max(one["below_median_low"] - 0.5, 0.5 - one["below_median_high"]) > max(rate["excess"], 0):
        return f"{_percent(one, 'below_median')} of the truths lie below its median, not half"
    if rate["excess"] <= 0:
        rate = next(each for each in one["coverage"] if each["level"] == 0.8)
    nominal = f"its nominal {100 * rate['level']:g}% interval"
    return f"{nominal} covers {_percent(rate, 'covers')} of the truths"


def _bias(one: Numbers) -> str:
    low, high, bias = one["bias_low"], one["bias_high"], one["bias"]
    least = "at least " * (one["saturated"] and one["by"] == "ranks")
    if bias is None:
        return "its bias cannot be told"
    if low > 0:
        return f"q sits {least}{bias:.2f} [{low:.2f}, {high:.2f}] posterior sd too high"
    if high < 0:
        return f"q sits {least}{-bias:.2f} [{-high:.2f}, {-low:.2f}] posterior sd too low"
    return f"its bias is {_signed(bias)} [{_signed(low)}, {_signed(high)}] posterior sd"


def _width(one: Numbers) -> str:
    ratio, low, high = one["ratio"], one["ratio_low"], one["ratio_high"]
    if ratio is None:
        return ""
    if ratio >= 0.99 * WIDEST:
        return f" and q is {WIDEST:g} times or more as wide as it should be (under-confident)"
    if one["by"] == "ranks" and ratio <= 1.01 / WIDEST:
        return f" and q is at most {1 / WIDEST:g} times as wide as it should be (over-confident)"
    shape = ".2g" if ratio < 0.1 else ".2f"
    top = format(high, shape) if high is not None and high < 0.99 * WIDEST else "∞"
    told = f"{ratio:{shape}} [{low:{shape}}, {top}]"
    if high is not None and high < 1:
        return f" and q is {told} times as wide as it should be (over-confident)"
    if low > 1:
        return f" and q is {told} times as wide as it should be (under-confident)"
    return f" and its width is {told} times what it should be"


def _others(
    off: Sequence[Numbers], every: Sequence[Numbers], names: Sequence[str], claims: Claims | None
) -> list[str]:
    if len(every) == 1:
        return []
    level = ALPHA if claims is None else claims.alpha
    over = f"for {len(every)}" if claims is None else "for everything that was looked at"
    listed = ", ".join(_name(one, names) for one in off[:_NAMED])
    more = f" and {len(off) - _NAMED} more" if len(off) > _NAMED else ""
    return [
        f"{len(off)} of {len(every)} parameters {'is' if len(off) == 1 else 'are'} off at level "
        f"{100 * level:g}%, corrected {over}: {listed}{more}."
    ]


def _bounded(every: Sequence[Numbers]) -> list[str]:
    """What errors are left open where none was found."""
    middle = [next(r for r in one["coverage"] if r["level"] == 0.8) for one in every]
    low = 100 * min(rate["covers_low"] for rate in middle)
    high = 100 * max(rate["covers_high"] for rate in middle)
    bias = max(max(-one["bias_low"], one["bias_high"]) for one in every)
    widths = [one for one in every if one["ratio"] is not None]
    which = (
        "The parameter is not found off: its nominal 80% interval covers" if len(every) == 1
        else "No parameter is found off: nominal 80% intervals cover"
    )  # fmt: skip
    open_ = (
        f"a bias of at most {bias:.2f} posterior sd" if bias < 0.99 * WIDEST
        else "a bias of any size"
    )  # fmt: skip
    if widths:
        narrow = min(one["ratio_low"] for one in widths)
        wide = max(one["ratio_high"] for one in widths)
        least = f"{narrow:.2f}" if narrow > 1.01 / WIDEST else "0"
        most = f"{wide:.2f}" if wide < 0.99 * WIDEST else "∞"
        open_ += f" and widths of {least} to {most} times the right one"
    stay = "are" if widths else "is"
    return [
        f"{which} between {low:.1f}% and {high:.1f}% of the truths; {open_} {stay} left open, "
        f"each by its own 95% interval."
    ]


def _wider(every: Sequence[Numbers], names: Sequence[str]) -> list[str]:
    wider = [one for one in every if (one["contraction_high"] or 0) < 0]
    if not wider:
        return []
    one = min(wider, key=lambda each: each["contraction_high"])
    others = len(wider) - 1
    more = f", and for {others} more parameter{'s' * (others > 1)}" if others else ""
    ends = f"[{_signed(one['contraction_low'])}, {_signed(one['contraction_high'])}]"
    return [
        f"q is wider than the prior for {_name(one, names)} (contraction "
        f"{_signed(one['contraction'])} {ends}){more}."
    ]


def _blind(every: Sequence[Numbers], names: Sequence[str]) -> list[str]:
    """Parameters of which q seems to have learnt nothing: calibrated or not, it is the prior."""
    found = [one for one in every if (one["contraction_high"] or 1) < _LEARNT]
    if not found:
        return []
    listed = ", ".join(_name(one, names) for one in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    most = max(one["contraction_high"] for one in found)
    return [
        f"q is hardly narrower than the prior for {listed}{more} (contraction below {most:.2f}, "
        f"by 95% intervals): x says little of {'it' if len(found) == 1 else 'them'}, or q ignores "
        f"it."
    ]


def _mass(mass: Numbers, claims: Claims | None) -> str:
    p = (
        f"p {_p(mass['pvalue'])} by exact KS, which is not part of the verdict unless SBC is "
        "asked to rank log q"
        if claims is None
        else f"p {_p(claims.densities())} for the truth's rank by log densities, adjusted in the "
        "verdict's family"
    )
    rates = ", ".join(
        f"{100 * rate['level']:g}%: {_percent(rate, 'covers')}" for rate in mass["coverage"]
    )
    left = f" {mass['nan_rows']} rows without a log q are left out." if mass["nan_rows"] else ""
    return (
        f"Highest-density regions of q hold the truth in (nominal: true) {rates}; area between "
        f"coverage and level {_signed(mass['area'], 3)} [{_signed(mass['area_low'], 3)}, "
        f"{_signed(mass['area_high'], 3)}], {p}.{left}"
    )


def _nats(nats: Numbers) -> list[str]:
    interval = f"{nats['estimate']:.3f} [{nats['boot_low']:.3f}, {nats['boot_high']:.3f}] nats"
    if nats["source"] == "classifier" and nats["slope"] <= 0:
        return [
            f"Symmetric divergence: the shared classifier sees none. On held-out rows its score "
            f"is no higher at the truth than at q's draws ({interval} after it was turned round)."
        ]
    if nats["source"] == "classifier":
        return [
            f"Symmetric divergence, as far as the shared classifier sees: {interval}, an estimate "
            f"on {nats['rows']} held-out rows that overlooks what the classifier does; its logits "
            f"were multiplied by {nats['slope']:.2f}, learnt on other rows, so that they are "
            f"log ratios."
        ]
    names = {"skl": "estimate", "ci_low": "low", "ci_high": "high"}
    said = [*words.nats({**nats, **{name: nats[own] for name, own in names.items()}})]
    said.append(
        f"Against no divergence at all p {words.equals(nats['pvalue'])}, by "
        f"{nats['relabelings']:,} relabelings within x."
    )
    if nats["weighted"]:
        left = ", ".join(
            f"M = {one['m']}: {one['estimate']:.3f} [{_signed(one['low'], 3)}, "
            f"{_signed(one['high'], 3)}]" for one in nats["weighted"]
        )  # fmt: skip
        said.append(
            f"Importance sampling would leave at most, in nats, with M draws of q weighed by "
            f"p / q: {left}."
        )
    return said


def _p(p: float) -> str:
    return f"= {p:.2g}" if p > 1e-300 else "< 1e-300"


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _percent(one: Numbers, name: str) -> str:
    low, high = (100 * one[f"{name}_{end}"] for end in ("low", "high"))
    return f"{100 * one[name]:.1f}% [{low:.1f}, {high:.1f}]"
