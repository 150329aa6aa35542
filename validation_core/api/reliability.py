"""`reliability`: are stated probabilities of models, classes or discrete parameters right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from validation_core.api.keywords import checked_keywords
from validation_core.api.result import Result
from validation_core.api.table import Table, as_table
from validation_core.api.work import Watch, progress_watch, run_in_turn
from validation_core.diagnosis import tasks
from validation_core.diagnosis.questions.over_x.region_words import region_text
from validation_core.diagnosis.reliability import (
    EventReliability,
    Reliability,
    class_names,
    clearest_first,
    event_name,
    reliability_sentences,
    reliability_study,
)
from validation_core.drawing.drawn import Drawn
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.tables.reading import File


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityResult(Result):
    """Whether stated probabilities are right, with curves and Brier scores.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> p = rng.dirichlet([1, 1], size=200)
        >>> wrong = p**3 / (p**3).sum(1, keepdims=True)  # over-confident
        >>> result = npt.reliability(npt.Table.classes(wrong, rng.random(200) < p[:, 1]))
        >>> result.verdict
        'problem found'
    """

    found: Reliability
    """The typed record of the results."""
    names: tuple[str, ...]
    """Names of the classes."""
    alpha: float
    digest: str
    x_names: tuple[str, ...] = ()
    """Names of the columns of x."""

    @property
    def title(self) -> str:
        return f"Stated probabilities: {self.verdict}"

    @property
    def pvalue(self) -> float:
        """Exact p-value of everything together."""
        return self.found.pvalue

    @property
    def verdict(self) -> str:
        """`problem found` or `no problem found`: never that the probabilities are right."""
        return "problem found" if self.pvalue <= self.alpha else "no problem found"

    @property
    def sentences(self) -> tuple[str, ...]:
        return reliability_sentences(self.found, self.names, self.alpha, self.x_names)

    def figures(self) -> tuple[Drawn, ...]:
        from validation_core.panels.reliability import reliability_pictures

        return reliability_pictures(self.found, self.names)

    def rows(self) -> list[dict[str, str | float]]:
        """Each class, and the most probable one: said against happened, tests, Brier score; with
        x, where over it this is off most."""
        classes = class_names(self.found, self.names)
        return [
            {
                "class": event_name(one, classes),
                "said": round(one.said, 4),
                "happened": round(one.happened, 4),
                "p of the mean": one.p_share,
                "p of the slope": one.p_confidence,
                "p of the curve": one.p_curve,
                "Brier score": round(one.brier.score, 5),
                "reliability": round(one.brier.reliability, 5),
                "by chance": round(one.by_chance, 5),
                "resolution": round(one.brier.resolution, 5),
                "uncertainty": round(one.brier.uncertainty, 5),
                **self._over_x(one),
            }
            for one in clearest_first(self.found.events)
        ]

    def _over_x(self, one: EventReliability) -> dict[str, str | float]:
        """The cells of a row that are about x; none where it was not looked at."""
        if one.p_over_x is None:
            return {}
        place = one.place
        if place is None:
            return {"p over x": one.p_over_x}
        return {
            "p over x": one.p_over_x,
            "worst where": region_text(place, (), self.x_names),
            "rows there": place.rows,
            "said there": round(place.said, 4),
            "happened there": round(place.happened, 4),
            "said elsewhere": round(place.said_elsewhere, 4),
            "happened elsewhere": round(place.happened_elsewhere, 4),
        }

    def to_json(self) -> str:
        from validation_core.report.numbers import dumps

        classes = class_names(self.found, self.names)
        events = [
            {
                "class": event_name(one, classes),
                "groups": [
                    dict(zip(("said", "happened", "rows", "largest"), group.tolist(), strict=True))
                    for group in one.groups
                ],
            }
            for one in self.found.events
        ]
        return dumps(
            {
                "kind": "reliability",
                "verdict": self.verdict,
                "sentence": self.sentences[0],
                "sentences": list(self.sentences),
                "alpha": self.alpha,
                "pvalue": self.pvalue,
                "pvalue_surprise": self.found.p_surprise,
                "pvalue_over_x": self.found.p_over_x,
                "n": self.found.n,
                "classes": classes,
                "events": list(self.rows()),
                "shares": events,
                "digest": self.digest,
            }
        )


@checked_keywords()
def reliability(
    table: Table | Upload | File | Mapping[str, ArrayLike],
    parameter: str | None = None,
    *,
    alpha: float = 0.05,
    seed: int = 0,
    store: Store | None = None,
    progress: bool | Watch = True,
) -> ReliabilityResult:
    """Test whether stated probabilities are right: of models, classes, or a discrete parameter.

    If they are, a problem is found with probability at most `alpha`: classes are drawn from the
    probabilities themselves, and no other law is assumed.

    Args:
        table: probabilities (N, C) with the true classes label (N,), and perhaps x, over which
            they are tested too; or theta, x, theta_q, where a parameter takes few whole numbers;
            or a file that holds them.
        parameter: name of the discrete parameter; needed where there are several.
        alpha: level of the whole answer.
        seed: of the drawn classes.
        store: of results; by default the user's cache folder.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.

    Raises:
        ValueError: for a table that states no probabilities, with what it would need, or draws
            that look mistaken.

    Examples:
        >>> p = np.random.default_rng(0).dirichlet([1, 1], size=200)
        >>> npt.reliability(npt.Table.classes(p, p[:, 1] > 0.5)).verdict
        'problem found'
    """
    upload, store = as_table(table).upload, store or Store.usual()
    study = reliability_study(upload, parameter, seed)
    upload.require_usable()
    tasks.register_upload(upload)
    with progress_watch(progress) as watch:
        run_in_turn([study], store, watch)
    found = study.load(store)
    assert found is not None, "it has run"
    return ReliabilityResult(found, upload.names, alpha, upload.digest, upload.x_names)
