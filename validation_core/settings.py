"""Settings from environment variables: names, descriptions, defaults and checks.

A server and the command line check all of them first, so that a mistyped one is reported in one
line rather than by failing pages and jobs. Each is read anew wherever it is used.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from validation_core.limits import Limits, memory_bytes
from validation_core.setting_checks import (
    check_admin,
    check_agents,
    check_cache,
    check_cifar10,
    check_device,
    check_embed,
    check_engine,
    check_fallback,
    check_files,
    check_hosts,
    check_limits,
    check_probes,
    check_public,
    check_workers,
    scheduler,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Setting(Generic[T]):
    """An environment variable; empty counts as not set."""

    name: str
    about: str
    """Its description in the table of docs/operating.md."""
    usual: T
    """Its default."""
    read: Callable[[str], T]
    """Parses its text; a ValueError states the rule, the value and the remedy."""
    server: bool = False
    """Whether only the pages use it, and no command."""

    def text(self) -> str:
        """Its text in the environment; empty where it is not set."""
        return os.environ.get(self.name, "")

    def value(self) -> T:
        """Its parsed value.

        Raises:
            ValueError: for an invalid value.
        """
        text = self.text()
        return self.read(text) if text else self.usual


def worker_count() -> int:
    """How much runs at once on this machine: NPTLAB_WORKERS, else one per core, at most four.

    Fewer where there is little memory: each may hold a table and a training.

    Raises:
        ValueError: when NPTLAB_WORKERS is no number.
    """
    return WORKERS.value() or min(LIMITS.usual.workers, os.cpu_count() or 1)


def check(*, server: bool) -> None:
    """Read every setting.

    Args:
        server: whether to check those of the pages too.

    Raises:
        ValueError: for the first invalid one: the rule, the value and the remedy.
    """
    for setting in SETTINGS:
        if server or not setting.server:
            setting.value()


def _check_scheduler(text: str) -> str:
    address = scheduler(text)
    if not FALLBACK.text() and importlib.util.find_spec("distributed") is None:
        raise ValueError(
            "NPTLAB_SCHEDULER needs the package distributed; got none. Run `pip install "
            "'.[dask]'` in the folder of this program, or unset it."
        )
    return address


CACHE: Setting[Path | None] = Setting(
    "NPTLAB_CACHE",
    "folder for trained networks and results; by default the user's cache folder",
    None,
    check_cache,
)
FILES: Setting[Path | None] = Setting(
    "NPTLAB_FILES", "folder whose files the pages may open by their path", None, check_files, True
)
CIFAR10: Setting[Path | None] = Setting(
    "NPTLAB_CIFAR10", "folder of CIFAR-10's binary version (`images`)", None, check_cifar10
)
PROBES: Setting[Path | None] = Setting(
    "NPTLAB_PROBES",
    "a .npy, .npz or .h5 file of galaxies (n, H, W) (`lensing`)",
    None,
    check_probes,
)
ENGINE = Setting(
    "NPTLAB_ENGINE",
    "`local`: worker processes (default); `serial`: everything in the server's process",
    "local",
    check_engine,
)
WORKERS: Setting[int | None] = Setting(
    "NPTLAB_WORKERS",
    "how many workers, 1 to 256, by default one per core, at most four",
    None,
    check_workers,
)
SCHEDULER = Setting(
    "NPTLAB_SCHEDULER",
    "a Dask scheduler, `tcp://host:8786`, whose workers work",
    "",
    _check_scheduler,
)
FALLBACK = Setting(
    "NPTLAB_FALLBACK",
    "`local`: this machine works, and says so, where the scheduler does not answer",
    "",
    check_fallback,
)
DEVICE = Setting(
    "NPTLAB_DEVICE", "`cpu`, `cuda` or `mps`, by default the best there is", "", check_device
)
PUBLIC = Setting("NPTLAB_PUBLIC", "`1`: listen to them", False, check_public, True)
HOSTS: Setting[tuple[str, ...]] = Setting(
    "NPTLAB_HOSTS", "names it is known by", (), check_hosts, True
)
EMBED: Setting[tuple[str, ...]] = Setting(
    "NPTLAB_EMBED", "origins whose pages may frame it (`?embed`)", (), check_embed, True
)
ADMIN = Setting("NPTLAB_ADMIN", "the token of who runs it", "", check_admin, True)
AGENTS = Setting(
    "NPTLAB_AGENTS", "the token of programs that drive the pages", "", check_agents, True
)
LIMITS = Setting(
    "NPTLAB_LIMITS", "what visitors may take", Limits.of(memory_bytes()), check_limits, True
)
SETTINGS: tuple[Setting[Any], ...] = (
    CACHE,
    FILES,
    CIFAR10,
    PROBES,
    ENGINE,
    WORKERS,
    SCHEDULER,
    FALLBACK,
    DEVICE,
    PUBLIC,
    HOSTS,
    EMBED,
    ADMIN,
    AGENTS,
    LIMITS,
)
