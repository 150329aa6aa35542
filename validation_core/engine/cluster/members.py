"""Who computes in a cluster: how many, on which device, and who may not."""

from __future__ import annotations

from validation_core.engine.cluster.link import Cluster, Link
from validation_core.store import Store


class Members:
    """The workers of a scheduler, as they were seen last."""

    def __init__(self, link: Link) -> None:
        self.device = ""
        self._link = link
        self._cluster = Cluster({}, {})
        self._met: set[str] = set()
        self._unfit: set[str] = set()
        self._notices: list[str] = []

    @property
    def slots(self) -> int:
        """One task for each thread; one while there is none, so that work can wait."""
        return max(1, sum(self._cluster.threads[name] for name in self.fit))

    @property
    def declared(self) -> int:
        """How many GPUs the workers declare."""
        return int(sum(self._cluster.gpus[name] for name in self.fit))

    @property
    def gpus(self) -> int:
        """Tasks that run networks at once: the GPUs declared, one where nobody declares any."""
        return self.declared or (1 if self.device == "cuda" else self.slots)

    @property
    def fit(self) -> list[str]:
        """Addresses of those that were not refused."""
        return [name for name in self._cluster.threads if name not in self._unfit]

    @property
    def mixed(self) -> bool:
        """Whether some are refused and others not."""
        return 0 < len(self.fit) < len(self._cluster.threads)

    def look(self) -> bool:
        """See who is there; whether that has changed.

        Raises:
            Unreachable: when the scheduler does not answer.
        """
        before, self._cluster = self._cluster, self._link.cluster()
        return before != self._cluster

    def meet(self) -> None:
        """Ask new ones who they are, which takes their first import of torch."""
        new = set(self._cluster.threads) - self._met
        self._met |= new
        for worker, answer in (self._link.ask(new) if new else {}).items():
            if "refused" in answer:
                self.refuse(worker, answer["refused"])
            elif self.device != "cuda":
                self.device = answer["device"]

    def refuse(self, worker: str, reason: str) -> None:
        """Let this worker have no task while there are others."""
        if worker not in self._unfit:
            self._unfit.add(worker)
            self._notices.append(unfit(worker, reason))

    def doubt(self, worker: str) -> None:
        """This worker's code is not the code here."""
        notice = (
            f"The worker {worker} runs another state of this program's code than this process. "
            "Give both the same one, or results may differ."
        )
        if notice not in self._notices:
            self._notices.append(notice)

    def tell(self, store: Store) -> None:
        """Say through a store what there is to say."""
        if not self._cluster.threads:
            self.look()
        if not self._cluster.threads:
            where = self._link.address
            store.note(
                f"The Dask scheduler at {where} has no worker yet: work waits for one. Start it "
                f"with `dask worker {where} --nthreads 1`."
            )
        while self._notices:
            store.note(self._notices.pop())


def unfit(worker: str, reason: str) -> str:
    """Why a worker gets no task."""
    return (
        f"The worker {worker} must compute as this program does, to the bit; {reason}. Start it "
        "in the same environment as here, with PYTHONPATH naming a folder of this program."
    )
