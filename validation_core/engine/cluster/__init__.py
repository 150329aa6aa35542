"""Work on a Dask cluster, bit for bit as on this machine; the extra `distributed` is needed."""

from .executor import DaskExecutor
from .link import Unreachable

__all__ = ["DaskExecutor", "Unreachable"]
