"""The mend of one uploaded table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from validation_core.diagnosis.questions.base import TableStudy
from validation_core.mending import Mended, mend_table
from validation_core.study import Report
from validation_core.tables import TableUpload

if TYPE_CHECKING:
    from validation_core.store import Store


@dataclass(frozen=True, kw_only=True)
class MendStudy(TableStudy[Mended], spec="mend"):
    """Weights of a table's draws, judged on rows that they did not learn from."""

    version: ClassVar[int] = 3
    about: ClassVar[str] = "Mend it"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> Mended:
        del store
        return mend_table(upload.data, self.seed, lambda done: report(done, {}))
