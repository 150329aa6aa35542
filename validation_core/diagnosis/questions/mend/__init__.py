"""Mend it: weights for q's draws that are worth something on rows that they never saw, or none."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.diagnosis import plan
from validation_core.diagnosis.questions.base import Names, Question, Rows
from validation_core.diagnosis.questions.mend.pictures import gain_picture
from validation_core.diagnosis.questions.mend.study import MendStudy
from validation_core.diagnosis.questions.mend.words import basis_text, mend_rows, mend_sentences
from validation_core.drawing.drawn import Drawn
from validation_core.mending import Mended
from validation_core.methods.base import Method
from validation_core.relabelling.claims import Claims
from validation_core.tables import TableUpload, Upload


class MendQuestion(Question[Mended]):
    """Whether q's draws can be weighed so that they come nearer to the true posterior."""

    name = "mend"
    title = "Mend it"
    long = True
    asked_for = True
    reading_guide = (
        "Weights are learned on three fifths of the rows, made hotter or cooler on a fourth, and "
        "judged on the last, each fifth in turn. Nats are what they regain of KL(p‖q), the "
        "divergence of the true posterior from q, mean over x: the log of the weight of the true "
        "value times the number of slots. If q were correct, no weights would gain anything, and "
        "the interval would lie at 0 or below. Effective draws are what is left of q's draws "
        "once some count more than others."
    )

    @property
    def code(self) -> str:
        return (
            "import validation_core as npt\n\n"
            "mended = npt.mend({table}, alpha={alpha}, seed={seed})\n"
            "print(mended)\n"
            'mended.save("mend.npz")  # beside mend.py it mends new draws, with NumPy alone\n'
            'mended.save("mend.py")\n'
        )

    def obstacle(self, upload: Upload) -> str | None:
        return plan.slots_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[MendStudy, ...]:
        del methods
        if self.obstacle(upload) is not None:
            return ()
        return (MendStudy(digest=upload.digest, seed=seed),)

    def gather(self, results: Sequence[Mended]) -> Mended:
        return results[0]

    def describe(self, result: Mended, names: Names, claims: Claims) -> tuple[str, ...]:
        """What the weights regain; what is left; the other mends; what q ignores."""
        return mend_sentences(result, names, claims)

    def notes(self, result: Mended, names: Names) -> tuple[str, ...]:
        del names
        return (basis_text(result),)

    def rows(self, result: Mended, names: Names, claims: Claims) -> Rows:
        """One row for each mend."""
        del claims
        return mend_rows(result, names)

    def figures(self, result: Mended, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        del names, claims
        return (gain_picture(result),)
