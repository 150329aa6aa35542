"""The likely cause: which injected defect a table looks like.

Defects are injected into the table's own draws; no cause is named unless the table stands out
among those in which a draw of q plays the truth, and lies near one cause's injected tables alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import codec
from validation_core.diagnosis.plan import upload_obstacle
from validation_core.diagnosis.questions.base import (
    LEVEL,
    Json,
    Names,
    Question,
    Row,
    Rows,
    TableStudy,
)
from validation_core.diagnosis.questions.cause import findings, own_nulls, screening
from validation_core.diagnosis.questions.cause.findings import Departure, Finding
from validation_core.diagnosis.questions.cause.missed_mode import far_group
from validation_core.diagnosis.questions.cause.prepared_table import (
    PARAMETERS,
    PreparedTable,
    subsample,
)
from validation_core.diagnosis.questions.cause.reference_sets import (
    ReferenceSets,
    build_reference_sets,
    refine_reference_sets,
)
from validation_core.diagnosis.questions.cause.similarity import (
    COUNTED,
    CauseSimilarity,
    classify_cause,
    null_pvalue,
)
from validation_core.diagnosis.questions.cause.variants import Variant
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Bars, Key, Panel, Points
from validation_core.methods.base import Method
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload, repeats
from validation_core.tables.repeats import Fault
from validation_core.text import (
    begun_text,
    capitalise,
    equals,
    interval_text,
    list_text,
    readable_name,
    share_text,
)
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.store import Store


_LEAST_ROWS, _LEAST_DRAWS = 100, 20


class CauseQuestion(Question["LikelyCause"]):
    """Which injected defect a table looks like."""

    name = "cause"
    title = "Likely cause"
    reading_guide = (
        "Known defects of growing size were simulated with this table's own draws. A weight "
        "says how similar your table is to those with one defect; all weights sum to 1. If q "
        "were correct, your table would lie among the simulated tables with a correct q, and "
        "no cause would be named in 99 of 100 such tables. Causes resemble one another where "
        "they are weak; where several act at once none is named, and what was seen is listed."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                "A cause is inferred from the true values' places among q's draws at the same "
                "x; two samples p and q have no x. Upload theta, x and theta_q."
            )
        if upload.n < _LEAST_ROWS or upload.k < _LEAST_DRAWS:
            return (
                f"A cause needs at least {_LEAST_ROWS} simulations with {_LEAST_DRAWS} draws of q "
                f"at each; got {upload.n} with {upload.k}. Bring more."
            )
        return upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[_CauseStudy, ...]:
        del methods
        return () if self.obstacle(upload) else (_CauseStudy(digest=upload.digest, seed=seed),)

    def gather(self, results: Sequence[LikelyCause]) -> LikelyCause:
        """The only one."""
        return results[0]

    def describe(self, result: LikelyCause, names: Names, claims: Claims) -> tuple[str, ...]:
        """The cause with its size, what it was told apart from, what speaks for it, what to do.

        Where none is named the first sentence says so; why, and what was seen, come after it.
        """
        if not claims.found:
            return (
                f"No cause is named: nothing speaks against q (p {equals(claims.pvalue)} over "
                "everything that was looked at).",
            )
        if result.faults:
            mend = "That can look like a defect of q: mend the draws and ask again."
            return headline(result, names, claims), mend, _seen(result, names.theta, claims)
        first_said = headline(result, names, claims)
        if result.cause == "none":
            return first_said, _seen(result, names.theta, claims)
        if result.cause == "unclear":
            return (
                first_said,
                f"{capitalise(_why(result))}. {capitalise(_stands(result))}.",
                _seen(result, names.theta, claims),
                *NEXT_STEPS["unclear"],
            )
        first = result.causes[0]
        if _by_itself(result):
            return (
                first_said,
                f"{capitalise(_stands(result))}.",
                *(finding_text(finding, names.theta) for finding in first.evidence[1:]),
                f"Next: {result.next_steps[0]}",
            )
        # What ranks measure stands in the evidence: a second number would be of another shape.
        size = "" if first.cause in _MEASURED else f": {_strength(first)}"
        sentences = [f"Most likely, {_title(first)}{size}; {_stands(result)}."]
        if first.strength.shape != APART:
            sentences.append(
                f"Similarity to simulated defects: {_weights(result)}. Of the {COUNTED} simulated "
                f"tables most like it, {first.share:.0%} have this defect."
            )
        sentences += [finding_text(finding, names.theta) for finding in first.evidence]
        return (*sentences, f"Next: {result.next_steps[0]}")

    def rows(self, result: LikelyCause, names: Names, claims: Claims) -> Rows:
        """Causes, the likeliest first, each with its evidence: one row for each piece."""
        del claims
        return [
            {
                **_candidate_cells(candidate),
                **_finding_cells(finding, names.theta),
                "next": steps_for(candidate.cause, candidate.strength.shape)[0],
            }
            for candidate in result.causes
            for finding in candidate.evidence or (None,)
        ]

    def figures(self, result: LikelyCause, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """Weights as bars, then the plane in which the likeliest causes lie apart.

        A mode that q has no draws in is told by its gap: no bar speaks of it.
        """
        del names, claims
        if result.causes[0].strength.shape == APART:
            return (_plane(result),)
        return _weights_figure(result), _plane(result)

    def notes(self, result: LikelyCause, names: Names) -> tuple[str, ...]:
        gap = result.cause == "missing_mode" and result.causes[0].strength.shape == APART
        return (*((_GAP,) if gap else ()), *_logs(result, names), *_part(result))

    def finds(self, result: LikelyCause, claims: Claims) -> bool:
        return result.cause != "none" and claims.found

    def complete(self, document: Json, result: LikelyCause, diagnosis: Diagnosis) -> None:
        """The cause that is named, or that it is unclear, then the likeliest ones; none of
        nothing."""
        if result.cause == "none" or not diagnosis.require_claims().found:
            document["cause"] = []
            return
        worst = diagnosis.flagged[0].name if diagnosis.flagged else None
        first = {
            "cause": result.cause,
            "reading": TITLES.get(result.cause, result.cause),
            "parameter": worst,
            "pvalue": result.pvalue,
            "why": result.why,
            "next": list(result.next_steps),
        }
        ranked = [
            {
                **codec.to_json(candidate),
                "reading": TITLES.get(candidate.cause, candidate.cause),
                "parameter": worst,
            }
            for candidate in result.causes
        ]
        if ranked[0]["cause"] == result.cause:
            document["cause"] = [{**ranked[0], **first}, *ranked[1:]]
        else:
            document["cause"] = [first, *ranked]


def headline(result: LikelyCause, names: Names, claims: Claims) -> str:
    """The cause in one sentence, or that it cannot be told: what a card says.

    Args:
        result: what was worked out.
        names: as the user gave them.
        claims: every claim with its p-value under one error rate, and the level.
    """
    if result.faults:
        faults = list_text([FAULTS[fault] for fault in result.faults])
        return f"The cause cannot be told: the draws themselves are faulty ({faults})."
    if _by_itself(result):
        finding = result.causes[0].evidence[0]
        return _SAID[result.cause](finding, parameter_name(names.theta, finding.at[0]))
    if result.cause not in ("none", "unclear"):
        return f"{capitalise(_title(result.causes[0]))}."
    n = f"{result.full[0]:,} simulations"
    if result.shapes and result.cause == "unclear":
        return f"{capitalise(list_text([TITLES[s] for s in result.shapes]))}; why cannot be told."
    if (departure := _sized(result, claims)) is not None:
        return f"{_size_text(departure.finding, names.theta)}; why cannot be told from {n}."
    if result.cause == "unclear":
        return f"The cause cannot be told from {n}."
    return f"The cause cannot be told from {n}: none of the known defects is clear by itself."


STRONG = 0.01
"""p-values up to which something is off at all, and up to which a cause is named."""
_LEAST_WEIGHT, _CLEARLY = 0.45, 1.5  # a cause needs to be named, and times the next one's
_FARTHEST = 3.5  # typical distances within a cause's injected tables beyond which it is not named
_MEASURED = ("bias", "too_wide", "too_narrow", "wrong_skew")  # causes whose size the evidence has
_WIDTHS = ("too_wide", "too_narrow")
_DETAILED = 3  # causes whose evidence is worked out
APART = "apart"
"""The shape of a mode that q has no draws in: told by a gap, not by simulated defects."""
_GAP = (
    "The gap names the mode (Silverman's test of one mode, level 1% over all parameters), not "
    "similarity: simulated defects are made of q's own draws and cannot show a mode that it lacks."
)


@dataclass(frozen=True)
class _Strength:
    """How large a defect is, if it is of this shape."""

    value: float
    low: float
    high: float
    unit: str
    shape: str


@dataclass(frozen=True)
class _Candidate:
    """One cause beside the table."""

    cause: str
    weight: float
    """How like it the table is; weights sum to 1."""
    apart: float
    """Distance from its likeliest shape, in typical ones."""
    share: float
    """Of the injected tables nearest to this one."""
    strength: _Strength
    evidence: tuple[Finding, ...]
    """Of the likeliest causes only."""


@dataclass(frozen=True, eq=False)
class LikelyCause:
    """Which injected defect a table looks like, or that it looks like none or no single one."""

    cause: str
    """A cause, `unclear` or `none`."""
    why: str
    """Why it is unclear."""
    pvalue: float
    """That the table stands out among those in which a draw of q plays the truth; exact."""
    causes: tuple[_Candidate, ...]
    """The likeliest first."""
    faults: tuple[repeats.Fault, ...]
    """What is wrong with the draws themselves."""
    seen: tuple[Departure, ...]
    """Departures of the table, whatever the cause."""
    shapes: tuple[str, ...]
    """Skew and tails that are seen beside any bias and width."""
    nulls: int
    injected: int
    contraction: float
    """Share of q's variance that lies between rows, of the parameter that has least."""
    parameters: tuple[int, ...]
    """Those looked at."""
    logs: tuple[int, ...]
    """Those of them looked at in their logarithm."""
    used: tuple[int, ...]
    """Rows, draws and parameters looked at."""
    full: tuple[int, ...]
    """Of so many."""
    next_steps: tuple[str, ...] = field(metadata=codec.shown(name="next"))
    """What to do, the first thing first."""
    seconds: float
    places: Array
    """Injected tables in the plane in which the likeliest causes lie apart: (I, 2); this table
    lies at 0."""
    place_of: Array
    """Which of `causes` each has: (I,)."""
    null_places: Array
    """(B, 2)."""

    def to_json(self) -> Json:
        """Every number; the likeliest cause's evidence and strength once more at the end."""
        fields = codec.fields_to_json(self)
        first = fields["causes"][0]
        before: Json = {
            "causes": {
                "level": LEVEL,
                "weights": {candidate.cause: candidate.weight for candidate in self.causes},
            },
            "contraction": {"nearest": COUNTED},
            "next": {"evidence": first["evidence"], "strength": first["strength"]},
        }
        shown: Json = {}
        for name, value in fields.items():
            shown |= {**before.get(name, {}), name: value}
        return shown


@dataclass(frozen=True, kw_only=True)
class _CauseStudy(TableStudy[LikelyCause], spec="cause"):
    """A table beside injected ones."""

    version: ClassVar[int] = 5
    about: ClassVar[str] = "Likely cause"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> LikelyCause:
        """The likely cause of what is off in this table."""
        del store
        return find_likely_cause(upload.data, self.seed, report)


def find_likely_cause(
    table: PosteriorTable, seed: int, report: Report = lambda fraction, live: None
) -> LikelyCause:
    """The likely cause of what is off in a table, or that none or no single one is."""
    start = time.perf_counter()
    many = table.q.shape[2]
    screened = screening.screening(table, seed) if many > PARAMETERS else None
    chosen = None if screened is None else np.sort(screened.order[:PARAMETERS])
    few, columns = subsample(table, seed, chosen)
    ready = PreparedTable.of(few, seed)
    coarse, injector = build_reference_sets(
        ready, report=lambda done: report(0.05 + 0.65 * done, {})
    )
    contraction = float(_contractions(ready.ranked.points).min())
    near = classify_cause(coarse, contraction).close
    sets = refine_reference_sets(
        coarse, injector, near, lambda done: report(0.7 + 0.25 * done, {})
    )
    likeness = classify_cause(sets, contraction)
    # Parameters that were chosen by how they stand out are no longer exchangeable with null ones.
    p = null_pvalue(sets.null) if screened is None else screened.pvalue
    faults = tuple(repeats.faults(table))
    direct = _told_directly(ready, sets) if p <= STRONG and not faults else None
    name, why = _verdict(likeness, p, faults, direct, ready)
    tails = own_nulls.clearly_tailed(ready) if _only_a_width(name, sets, likeness) else None
    if tails is not None:
        # A width and tails are alike to ranks; what no width decides goes first.
        pieces = findings.cause_findings(tails, ready)
        name, direct = tails, _Direct(tails, _of_finding(pieces[0], "reach"), pieces)
    order = sorted(likeness.weights, key=lambda cause: cause != name)
    causes = tuple(
        _candidate(cause, sets, likeness, direct, ready, columns if i < _DETAILED else None)
        for i, cause in enumerate(order)
    )
    return LikelyCause(
        cause=name,
        why=why,
        pvalue=p,
        causes=causes,
        faults=faults,
        seen=tuple(
            replace(departure, finding=_renamed(departure.finding, columns))
            for departure in findings.find_departures(ready, many)
        ),
        shapes=own_nulls.shapes(ready),
        nulls=len(sets.null) - 1 if screened is None else screening.LABELLINGS,
        injected=len(sets.injected),
        contraction=contraction,
        parameters=tuple(columns.tolist()),
        logs=tuple(int(columns[j]) for j in ready.ranked.logs),
        used=few.q.shape,
        full=table.q.shape,
        next_steps=steps_for(name, causes[0].strength.shape),
        seconds=time.perf_counter() - start,
        places=likeness.places.astype(np.float32),
        place_of=np.array([order.index(sets.variants[v].cause) for v in sets.of], np.float32),
        null_places=likeness.null_places.astype(np.float32),
    )


class _Direct(NamedTuple):
    """A cause that a statistic of its own names, without likeness to injected tables."""

    cause: str
    strength: _Strength
    evidence: tuple[Finding, ...]


def _told_directly(table: PreparedTable, sets: ReferenceSets) -> _Direct | None:
    """What no likeness has to say: draws beyond a sharp end of the true values, true values apart
    from all draws, a mode of q that they are never in, or true values from a proposal."""
    if found := own_nulls.leak(table, sets.pvalue("leak_max")):
        evidence = findings.leaking(table, found.parameter)
        return _Direct("support_leak", _of_finding(evidence[0], "share of q"), evidence)
    if (apart := far_group(table)) is not None:
        finding, over_x = apart
        if not over_x:
            return _Direct("missing_mode", _of_finding(finding, "share of the truth"), (finding,))
        pieces = findings.cause_findings("bias", table)
        value, low, high = (
            abs(pieces[0].value),
            *sorted((abs(pieces[0].low), abs(pieces[0].high))),
        )
        return _Direct("bias", _Strength(value, low, high, "sd", "part"), pieces)
    if (group := own_nulls.spurious_group(table)) is not None:
        finding = findings.in_minor(*group)
        theirs = replace(finding, value=group.share, low=group.share, high=group.share)
        others = (
            one for one in findings.cause_findings("spurious_mode", table) if one.what != "minor"
        )
        return _Direct("spurious_mode", _of_finding(theirs, "share of q"), (finding, *others))
    if own_nulls.from_proposal(table, sets.pvalue("spread_min", low=True)):
        pieces = findings.cause_findings("proposal", table)
        return _Direct("proposal", _of_finding(pieces[0], "share of the prior"), pieces)
    return None


def _of_finding(finding: Finding, unit: str) -> _Strength:
    return _Strength(finding.value, finding.low, finding.high, unit, APART)


def _candidate(
    cause: str,
    sets: ReferenceSets,
    likeness: CauseSimilarity,
    direct: _Direct | None,
    table: PreparedTable,
    columns: NDArray[np.intp] | None,
) -> _Candidate:
    """A cause beside the table; its evidence where the parameters' own places are given."""
    own = direct if direct is not None and direct.cause == cause else None
    shape = sets.variants[likeness.variant[cause]]
    evidence: tuple[Finding, ...] = ()
    if columns is not None:
        pieces = own.evidence if own else findings.cause_findings(cause, table)
        evidence = tuple(_renamed(finding, columns) for finding in pieces)
    return _Candidate(
        cause=cause,
        weight=float(likeness.weights[cause]),
        apart=float(likeness.apart[cause]),
        share=float(likeness.shares.get(cause, 0.0)),
        strength=(
            own.strength
            if own
            else _Strength(
                *likeness.strength[cause],
                unit=shape.unit,
                shape=_seen_shape(shape, table) if columns is not None else shape.name,
            )
        ),
        evidence=evidence,
    )


def _only_a_width(cause: str, sets: ReferenceSets, likeness: CauseSimilarity) -> bool:
    """Whether a cause is one width for all x."""
    shapes = sets.variants[likeness.variant[cause]].name if cause in _WIDTHS else ""
    return shapes in ("all", "one")


def _seen_shape(shape: Variant, table: PreparedTable) -> str:
    """The shape that a bias has over x, whatever shape of injected ones it is most like."""
    if shape.cause != "bias":
        return shape.name
    over_x = own_nulls.bias_over_x(table)
    if over_x is None:
        return shape.name if shape.name in ("all", "one", "white") else "all"
    return "part" if "part" in (over_x, shape.name) else over_x


def _verdict(
    likeness: CauseSimilarity,
    p: float,
    faults: Sequence[repeats.Fault],
    direct: _Direct | None,
    table: PreparedTable,
) -> tuple[str, str]:
    """The cause, `unclear` or `none`; and why it is unclear, else an empty text."""
    if p > LEVEL:
        return "none", ""
    if faults:  # a chain is wider or narrower than its draws, whatever q is
        return "unclear", "draws"
    if direct is not None:
        return direct.cause, ""
    if p > STRONG:
        return "unclear", "weak"
    weights = {c: w for c, w in likeness.weights.items() if not _ruled_out(c, table)}
    (first, weight), (_, then) = list(weights.items())[:2]
    if weight < _LEAST_WEIGHT * sum(weights.values()) or weight < _CLEARLY * then:
        return "unclear", "several"
    if likeness.apart[first] > _FARTHEST:
        return "unclear", "far"
    if not own_nulls.supports_cause(first, table):
        return "unclear", "unseen"
    return first, ""


def _ruled_out(cause: str, table: PreparedTable) -> bool:
    """Whether a cause has statistics of its own that do not see it, however like it a table is."""
    if cause in ("support_leak", "proposal"):
        return True  # they would have told it before
    return cause in ("missing_mode", "spurious_mode") and not own_nulls.supports_cause(
        cause, table
    )


def _contractions(points: Array) -> Array:
    """Share of the variance that lies between rows (n, K, D), from quantiles: (D,)."""
    low, middle, high = np.quantile(points, [0.16, 0.5, 0.84], axis=1)
    within = np.median(np.square((high - low) / 2), axis=0)
    low, high = np.quantile(middle, [0.16, 0.84], axis=0)
    # The median of K draws varies by pi / 2 of their variance over K.
    between = np.maximum(np.square((high - low) / 2) - within * np.pi / 2 / points.shape[1], 0)
    return np.asarray(between / np.maximum(between + within, 1e-300))


def _renamed(finding: Finding, columns: NDArray[np.intp]) -> Finding:
    """With its place among all parameters instead of those looked at."""
    return replace(finding, at=tuple(int(columns[i]) for i in finding.at))


TITLES: Mapping[str, str] = {
    "bias": "q is biased",
    "too_wide": "q is too wide (under-confident)",
    "too_narrow": "q is too narrow (over-confident)",
    "wrong_correlation": "q has the wrong correlation between parameters",
    "heavy_tails": "q's tails are too heavy",
    "light_tails": "q's tails are too light",
    "wrong_skew": "q has the wrong skew",
    "proposal": "true values spread less than q's draws, as if from a proposal",
    "missing_mode": "q misses a mode",
    "spurious_mode": "q has a spurious mode: mass where no true value lies",
    "ignores_x": "q ignores x, or part of what it says",
    "support_leak": "q leaks out of the prior: draws where no true value lies",
    "unclear": "cannot be told",
    "none": "none",
}
"""Each cause as a sentence without its full stop."""

NEXT_STEPS: Mapping[str, tuple[str, ...]] = {
    "bias": (
        "Train longer or at a smaller learning rate, and look whether the bias shrinks.",
        "Give x to the network standardised, or by better summary statistics.",
        "Check that theta is turned back to its own units after training.",
    ),
    "too_wide": (
        "Train longer: an estimator that has not converged is too wide.",
        "Take a wider network or a more flexible density (more flow layers).",
        "Check that x reaches the network with its full precision and no added noise.",
    ),
    "too_narrow": (
        "Train on more simulations: the network has overfitted those it has.",
        "Stop earlier, or use weight decay, dropout or an ensemble.",
        "Check that the validation loss, not the training loss, chose the network.",
    ),
    "wrong_correlation": (
        "Take a density that holds correlations: a full covariance or coupling layers that mix "
        "all parameters.",
        "Turn the parameters to less correlated ones before training.",
        "Check that columns of theta stand in the same order in truth and draws.",
    ),
    "heavy_tails": (
        "Train longer, or take a base density with lighter tails.",
        "Transform the parameters so that their posterior is closer to normal.",
        "Check the draws for outliers of a sampler that has not converged.",
    ),
    "light_tails": (
        "Take a base density with heavier tails (Student's t) or more flow layers.",
        "Bring more simulations: tails are learnt from few of them.",
        "Transform the parameters (a logarithm for positive ones).",
    ),
    "wrong_skew": (
        "Take a more flexible density (more flow layers): a normal one has no skew.",
        "Transform the parameters (a logarithm for positive ones).",
        "Train longer: skew is learnt after place and width.",
    ),
    "proposal": (
        "Draw true values from the prior that q was trained for, not from the last round's "
        "proposal, and simulate x from them.",
        "Or keep the true values, and weigh each by the prior over the proposal.",
        "If they do come from the prior, q's draws spread too far: train longer.",
    ),
    "missing_mode": (
        "Take a density that can be multimodal: a mixture, a spline flow or a diffusion model.",
        "If draws come from a chain, start it in several places.",
        "Look at the true values beyond all draws: which x do they share?",
    ),
    "spurious_mode": (
        "Train longer, or bring more simulations near the mode that should not be there.",
        "Take a more flexible density: a simple flow joins modes by bridges of mass.",
        "Check that labels or symmetric parameters are not swapped in the simulations.",
    ),
    "ignores_x": (
        "Check that rows of theta and x belong together, and that x reaches the network.",
        "Standardise x: values of very different sizes look constant to a network.",
        "Train longer, and use summary statistics or an embedding network that keeps what x says.",
    ),
    "support_leak": (
        "Check the prior's bounds, and transform bounded parameters (logit, logarithm).",
        "Refuse draws outside the prior, and correct for the mass that this removes.",
        "If true values come from a narrower proposal, draw them from the prior instead.",
    ),
    "unclear": (
        "Look at where q is wrong first: a defect at some x only looks like none of these.",
        "Bring more simulations: weak defects resemble one another.",
    ),
    "none": (),
}
"""What to do, the first thing first."""

SHAPES: Mapping[str, str] = {
    "unread": "q uses x only in part",
    "shuffled": "q ignores x: its draws belong to other rows",
    "bridge": "q fills a gap where no true value lies, as between two modes",
    "halfspace": "q has mass where no true value lies, on one side",
    "blurred": "q is too wide (under-confident): it blurs fine structure",
    "part": "q is biased in part of x",
    "over_x": "q is biased, by an amount that changes over x",
    "wide_part": "q is too wide (under-confident) in part of x",
    "narrow_part": "q is too narrow (over-confident) in part of x",
}
"""Shapes whose title says more than their cause's."""

_FIRST: Mapping[str, int] = {"unread": 2, "bridge": 1, "blurred": 1}


def _cause_title(cause: str, shape: str) -> str:
    """A cause, as the sentence that its likeliest shape deserves."""
    return SHAPES.get(shape, TITLES[cause])


def steps_for(name: str, shape: str) -> tuple[str, ...]:
    """What to do, with what suits this shape first."""
    actions, first = NEXT_STEPS[name], _FIRST.get(shape, 0)
    # Of what is unclear the shape is a guess, and a shape speaks of its own cause only.
    if name in ("unclear", "none") or first >= len(actions):
        return actions
    return (actions[first], *actions[:first], *actions[first + 1 :])


_MOST = 4  # departures that are told

STRENGTHS: Mapping[str, Callable[[str], str]] = {
    "sd": lambda s: f"off by about {s} posterior sd",
    "times": lambda s: f"about {s} times as wide as it should be",
    "along": lambda s: f"about {s} times as wide as it should be along one direction",
    "across": lambda s: f"about {s} times as wide as it should be along one direction",
    "correlation": lambda s: f"correlations changed by a share of about {s}",
    "degrees": lambda s: f"as Student's t with about {s} degrees of freedom beside a normal",
    "skew": lambda s: f"as skewed as a log-normal of log sd {s}",
    "reach": lambda s: f"true values reach {s} times as far, beside half of them",
    "share of the prior": lambda s: f"true values spread about {s} times as far as q's draws",
    "share of the mode": lambda s: f"a share of about {s} of the smaller mode's mass",
    "share of the truth": lambda s: f"a share of about {s} of the true posterior's mass",
    "share of q": lambda s: f"a share of about {s} of q's mass",
    "share of the spread": lambda s: f"blurred by a share of about {s} of its local spread",
    "share of rows": lambda s: f"in a share of about {s} of the rows",
    "follows": lambda s: f"residuals follow x with correlation about {s}",
}
"""How large, by what the strength counts."""


def _strength(candidate: _Candidate) -> str:
    """`about 1.4 [1.2, 1.6] times as wide as it should be`."""
    strength = candidate.strength
    value, low, high = strength.value, strength.low, strength.high
    narrow = candidate.cause == "too_narrow" or strength.unit == "across"
    if strength.unit == "degrees" or narrow:  # the strength is their inverse
        value, low, high = 1 / value, 1 / high, 1 / low
    return STRENGTHS[strength.unit](interval_text((value, low, high), ".2g"))


def finding_text(finding: Finding, names: Sequence[str]) -> str:
    """One finding as a sentence."""
    return _FINDINGS[finding.what](finding, [parameter_name(names, i) for i in finding.at])


FAULTS: Mapping[Fault, str] = {
    "chain": "consecutive draws of q at one x are correlated, as in a chain that was not thinned",
    "repeated draws": "draws of q repeat within rows",
    "repeated simulations": "simulations share theta and are not independent",
    "truth among draws": "q's draws contain the true values",
    "other scale": "they are on another scale than the true values",
}
"""What is wrong with the draws themselves."""


def departure_text(departure: Departure, names: Sequence[str]) -> str:
    """A departure, to stand in a list."""
    text = finding_text(departure.finding, names).removesuffix(".").replace("; ", ", ")
    text = text.replace("How far", "how far", 1)  # it stands within a sentence
    return f"{text} (adjusted p {equals(departure.pvalue)})"


def _numbers(finding: Finding) -> str:
    return interval_text((finding.value, finding.low, finding.high))


def _percent(finding: Finding) -> str:
    ends = (share_text(end) for end in (finding.low, finding.high))
    return f"{share_text(finding.value)} [{', '.join(ends)}]"


def _known(share: float | None) -> str:
    assert share is not None, "findings of such a kind have it"
    return share_text(share)


_FINDINGS: Mapping[str, Callable[[Finding, list[str]], str]] = {
    "bias": lambda e, n: (
        f"q's centre for {n[0]} is off by {_numbers(e)} posterior sd; 0 if q were correct."
    ),
    "follows_x": lambda e, n: (
        f"{n[0]}'s rank can be predicted from x and q's mean (held-out correlation "
        f"{_numbers(e)}; about 0 if q were correct)."
    ),
    "spread_x": lambda e, n: (
        "How far out true values lie can be predicted from x and q's mean (held-out "
        f"correlation {_numbers(e)}; about 0 if q were correct)."
    ),
    "width": lambda e, n: (
        f"q's width for {n[0]} is {_numbers(e)} times the one it needs; 1 if q were correct."
    ),
    "covered": lambda e, n: (
        f"q's central {e.level:.0%} interval of {n[0]} holds the true value in {_percent(e)} "
        "of simulations."
    ),
    "inner_half": lambda e, n: (
        f"{_percent(e)} of true values lie within the inner half of q's draws "
        "around its centre; 50% if q were correct."
    ),
    "pair": lambda e, n: (
        f"The errors of {n[0]} and {n[1]} have correlation {_numbers(e)}; q "
        f"itself says {e.right:.2f}."
    ),
    "along": lambda e, n: (
        f"Along its worst direction, chosen on other rows, q is {_numbers(e)} "
        "times as wide as it needs to be; 1 if q were correct."
    ),
    "tail": lambda e, n: (
        f"{_percent(e)} of true values lie among q's outermost {e.share:.0%}; "
        f"{e.share:.0%} if q were correct."
    ),
    "skew": lambda e, n: (
        f"True values of {n[0]} reach farther {'above' if e.value > 0 else 'below'} q's centre "
        f"than q's draws do: their normal scores have skewness {_numbers(e)}; 0 if q were correct."
    ),
    "reach": lambda e, n: (
        f"Beside half of each, {n[0]}'s true values reach {_numbers(e)} times as far as q's "
        "draws; 1 if only a width were wrong."
    ),
    "below": lambda e, n: (
        f"{_percent(e)} of true values of {n[0]} lie below q's median; 50% if q were correct."
    ),
    "spread": lambda e, n: (
        f"True values of {n[0]} spread {_numbers(e)} times as far as all of q's draws; 1 if q "
        "were correct and they came from its prior."
    ),
    "beyond_all": lambda e, n: (
        f"{_percent(e)} of true values lie farther out than all draws; "
        f"{_known(e.right)} if q were correct."
    ),
    "how_far": lambda e, n: f"They lie {_numbers(e)} times as far out as 95% of q's draws do.",
    "minor": lambda e, n: (
        f"In the {_known(e.rows)} of simulations where q has two modes, the "
        f"smaller holds {_known(e.right)} of its draws and {_percent(e)} of true values."
    ),
    "apart": lambda e, n: (
        f"{_percent(e)} of true values of {n[0]} lie apart from q's draws, with a gap between, "
        f"about {abs(e.level or 0):.2g} posterior sd {'above' if (e.level or 0) > 0 else 'below'} "
        f"q's centre; q puts {_known(e.right)} of its draws there."
    ),
    "outer_tenth": lambda e, n: (
        f"{_percent(e)} of true values lie in the outermost 10% of q on the "
        "side that they avoid most, chosen on other rows; 10% if q were correct."
    ),
    "contraction": lambda e, n: (
        f"x explains {_percent(e)} of q's variance of {n[0]}; 0% if q ignored x."
    ),
    "agrees": lambda e, n: (
        f"Over simulations, {n[0]} and q's centre for it have correlation "
        f"{_numbers(e)}; {e.right:.2f} if q were correct."
    ),
    "leak": lambda e, n: (
        f"{_percent(e)} of q's draws of {n[0]} lie where no true value does; about "
        f"{_known(e.right)} if q were correct."
    ),
    "edge": lambda e, n: (
        f"{_percent(e)} of true values of {n[0]} lie within the outermost {e.room:.0%} of "
        "their range at either end: it ends sharply."
    ),
}


KINDS: Mapping[str, str] = {
    "bias": "error of q's centre, posterior sd",
    "follows_x": "held-out correlation of ranks with their prediction from x",
    "spread_x": "held-out correlation of ranks of distances with their prediction from x",
    "width": "q's width by the width needed",
    "covered": "coverage of the central 80% interval",
    "inner_half": "true values within the inner half of q",
    "pair": "correlation of errors (if q were correct: q's own)",
    "along": "q's width by the width needed, worst direction",
    "tail": "true values in q's outermost draws",
    "skew": "skewness of the true values' normal scores",
    "reach": "reach of true values beside half of them, by that of q's draws",
    "below": "true values below q's median",
    "spread": "spread of true values by that of all draws",
    "beyond_all": "true values beyond all draws",
    "how_far": "how many times as far out as 95% of the draws",
    "minor": "true values in q's smaller mode (if q were correct: q's draws there)",
    "apart": "true values beyond a gap (if q were correct: q's draws there)",
    "outer_tenth": "true values in the outermost 10% of q, worst side",
    "contraction": "share of q's variance that x explains",
    "agrees": "correlation of true values with q's centre",
    "leak": "q's draws outside the range of true values",
    "edge": "true values within 2% of the ends of their range",
}


def _title(candidate: _Candidate) -> str:
    return _cause_title(candidate.cause, candidate.strength.shape)


def _stands(result: LikelyCause) -> str:
    """How many tables with a correct q look as bad."""
    nulls = result.nulls
    worse = max(0, round(result.pvalue * (nulls + 1)) - 1)
    many = "none" if worse == 0 else f"{worse}"
    verb = "looks" if worse < 2 else "look"
    p = equals(result.pvalue)
    return f"{many} of {nulls} simulated tables with a correct q {verb} this bad (p {p})"


def _sized(result: LikelyCause, claims: Claims) -> Departure | None:
    """The clearest place or width that is off, its interval without what it would be."""
    for departure in result.seen:
        finding = departure.finding
        p = max(_adjusted(departure, claims), departure.pvalue)
        off = finding.right is not None and not finding.low <= finding.right <= finding.high
        if finding.what in ("bias", "width") and off and p <= claims.alpha:
            return departure
    return None


def _size_text(finding: Finding, names: Sequence[str]) -> str:
    """`q is too wide in mass: 1.23 [1.1, 1.4] times the width it needs`."""
    name = parameter_name(names, finding.at[0])
    if finding.what == "width":
        side = "wide" if finding.value > 1 else "narrow"
        return f"q is too {side} in {name}: {_numbers(finding)} times the width it needs"
    side = "high" if finding.value > 0 else "low"
    low, high = sorted((abs(finding.low), abs(finding.high)))
    size = interval_text((abs(finding.value), low, high))
    return f"q is biased in {name}: {size} posterior sd too {side}"


def _by_itself(result: LikelyCause) -> bool:
    """Whether a statistic of the cause's own names it, with its size."""
    return result.cause in _SAID and result.causes[0].strength.shape == APART


_SAID: Mapping[str, Callable[[Finding, str], str]] = {
    "support_leak": lambda e, name: (
        f"{share_text(e.value)} of {name}'s draws lie where no true value does "
        f"({share_text(e.low)} to {share_text(e.high)}): outside the prior."
    ),
    "proposal": lambda e, name: (
        f"True values spread less than q's draws ({name}: {e.value:.2f} times, {e.low:.2f} to "
        f"{e.high:.2f}): do they come from a proposal, not the prior?"
    ),
    "heavy_tails": lambda e, name: (
        f"q's tails are too heavy: {name}'s true values reach {_numbers(e)} times as far as q's "
        "draws, beside half of each."
    ),
    "light_tails": lambda e, name: (
        f"q's tails are too light: {name}'s true values reach {_numbers(e)} times as far as q's "
        "draws, beside half of each."
    ),
}
"""Causes that a statistic of their own names, with their size."""


def _seen(result: LikelyCause, names: Sequence[str], claims: Claims) -> str:
    """The departures that are not chance, or that there is none."""
    clear = [departure for departure in result.seen if departure.pvalue <= LEVEL]
    judged = [replace(departure, pvalue=_adjusted(departure, claims)) for departure in clear]
    clear = [departure for departure in judged if departure.pvalue <= claims.alpha]
    if clear:
        texts = [departure_text(departure, names) for departure in clear[:_MOST]]
        return f"What was seen: {'; '.join(texts)}."
    return f"What was seen most clearly: {claims.clearest(names)}."


def _adjusted(departure: Departure, claims: Claims) -> float:
    """Its p in the verdict's family."""
    what, at = departure.finding.what, departure.finding.at
    if what in ("follows_x", "spread_x"):
        return claims.over_x(at[0] if at else None)
    if what in ("bias", "width"):
        return claims.parameter(at[0])
    return claims.together()


def _candidate_cells(candidate: _Candidate) -> Row:
    return {
        "cause": TITLES[candidate.cause],
        "shape": _title(candidate),
        "weight": round(candidate.weight, 3),
        "share of nearest injected tables": round(candidate.share, 3),
        "distance, in typical ones": round(candidate.apart, 2),
        "size, if so": _strength(candidate),
    }


def _finding_cells(finding: Finding | None, names: Sequence[str]) -> Row:
    if finding is None:
        return {}
    return {
        "evidence": KINDS[finding.what],
        "of": ", ".join(parameter_name(names, i) for i in finding.at),
        "value": round(finding.value, 4),
        "95% interval": f"{finding.low:.4g} to {finding.high:.4g}",
        "if q were correct": "" if finding.right is None else round(finding.right, 4),
    }


def _weights(result: LikelyCause) -> str:
    leading = [candidate for candidate in result.causes[:3] if candidate.weight >= 0.005]
    likeliest = leading or result.causes[:1]
    return ", ".join(f"{_title(candidate)} ({candidate.weight:.0%})" for candidate in likeliest)


def _why(result: LikelyCause) -> str:
    if result.why == "weak":
        return "your table is too weakly off to tell what it is"
    if result.why == "far":
        return (
            "your table is far from all simulated defects; several may act together. Nearest: "
            f"{_weights(result)}"
        )
    if result.why == "unseen":
        return (
            f"it resembles simulated defects ({_weights(result)}), but none of them is clear by "
            "itself"
        )
    return f"it looks like more than one defect: {_weights(result)}"


def _logs(result: LikelyCause, names: Names) -> tuple[str, ...]:
    """Which parameters were looked at in their logarithm."""
    if not result.logs:
        return ()
    listed = begun_text([parameter_name(names.theta, j) for j in result.logs], 8)
    return (f"Looked at in the logarithm, where rows are less skewed: {listed}.",)


def _part(result: LikelyCause) -> tuple[str, ...]:
    """What of a large table was looked at; nothing where it was all."""
    used, full = result.used, result.full
    if used == full:
        return ()
    return (
        f"Looked at {used[0]} of {full[0]} simulations, {used[1]} of {full[1]} draws at each and "
        f"{used[2]} of {full[2]} parameters.",
    )


_COLORS = ("#CC6677", "#2E9B8A", "#6A5ACD", "#A8791B")
_LINE = 24  # pixels that one cause takes
_PLANE = 380


def _weights_figure(result: LikelyCause) -> Drawn:
    causes = result.causes
    bars = [
        Bars(
            [i - 0.4, i + 0.4],
            [candidate.weight],
            color=_color(i),
            opacity=1,
            upright=False,
            hover=f"{TITLES[candidate.cause]}: %{{x:.1%}}",
        )
        for i, candidate in enumerate(causes)
    ]
    names = [readable_name(candidate.cause) for candidate in causes]
    panel = Panel(
        bars,
        x=Axis((0, 1), "weight", percent=True),
        y=Axis.of_rows(names),
        height=70 + _LINE * len(causes),
    )
    return Drawn(
        "Which known defect does it resemble?",
        panel,
        "Each bar: resemblance to tables with that defect; they sum to 1 whether or not "
        "anything is off. If q were correct, no cause would be named (this table's p against "
        f"a correct q: {result.pvalue:.2g}).",
    )


def _plane(result: LikelyCause) -> Drawn:
    places, causes, null = result.places, result.place_of, result.null_places
    likeliest = result.causes[: len(_COLORS)]
    clouds: list[tuple[Key, Array, float, float]] = [
        (("another cause", style.NULL, "circle"), places[causes >= len(likeliest)], 4, 0.25),
        *(
            ((TITLES[likeliest[i].cause], _color(i), "circle"), places[causes == i], 6, 0.75)
            for i in reversed(range(len(likeliest)))
        ),
        (("no defect", style.NULL, "x-thin-open"), null, 4, 0.9),
        (("this table", style.OBSERVED, "star"), np.zeros((1, 2)), 16, 1),
    ]
    points = [
        Points(
            *at.T,
            color=color,
            size=size,
            opacity=opacity,
            symbol=symbol,
            label=name,
            hover=str(name),
        )
        for (name, color, symbol), at, size, opacity in clouds
    ]
    around = np.concatenate([places[causes < len(likeliest)], null, np.zeros((1, 2))])
    low, high = np.quantile(around, [0.01, 0.99], axis=0)
    pad = 0.08 * np.maximum(high - low, 1e-6)
    low, high = np.minimum(low - pad, -pad), np.maximum(high + pad, pad)
    x, y = (
        Axis((float(low[i]), float(high[i])), label)
        for i, label in enumerate(("first direction", "second direction"))
    )
    panel = Panel(points, x=x, y=y, height=_PLANE, legend=[key for key, *_ in clouds])
    return Drawn(
        "Your table among simulated defects",
        panel,
        "Each point is a table: the star is yours, crosses are simulated tables with a correct q, "
        "dots those with a simulated defect of some size. The plane is the one in which the "
        "likeliest causes lie apart. If q were correct, the star would lie among the crosses.",
    )


def _color(place: int) -> str:
    return _COLORS[place] if place < len(_COLORS) else style.NULL
