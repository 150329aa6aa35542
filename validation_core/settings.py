"""The settings of the environment: their names, words, usual values, and what each may say.

A server and the command line check all of them before they do anything: whoever mistypes one is
told so in one line, not by pages and jobs that fail. Each is read anew wherever it is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from validation_core.setting_checks import (
    Limits,
    _admin,
    _cache,
    _cifar10,
    _device,
    _embed,
    _engine,
    _fallback,
    _files,
    _hosts,
    _limits,
    _probes,
    _public,
    _recheck,
    _scheduler,
    _workers,
)

T = TypeVar("T")
_ADDRESS = re.compile(r"(?P<host>.+):(?P<port>[0-9]{1,5})")
_DEVICE = re.compile(r"(cpu|cuda|mps)(:[0-9]{1,2})?")
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d{1,5})?", re.IGNORECASE)
_SHARE = re.compile(r"([a-z]+)=([0-9]{1,9})/([0-9]{1,9})")
_IMAGES = (".npy", ".npz", ".h5", ".hdf5")
_MOST_WORKERS = 256
_TOKEN = 16  # characters


@dataclass(frozen=True)
class Setting(Generic[T]):
    """A variable of the environment; empty counts as not set."""

    name: str
    about: str
    """Its words in README's table."""
    usual: T
    """Its value where it is not set."""
    read: Callable[[str], T]
    """Its value where it is; a ValueError says the rule, what was got, and what to do."""
    server: bool = False
    """Whether it concerns the pages alone, and no command."""

    def text(self) -> str:
        """What the environment holds; empty where it is not set."""
        return os.environ.get(self.name, "")

    def value(self) -> T:
        """What it says.

        Raises:
            ValueError: where that is nothing it may say.
        """
        text = self.text()
        return self.read(text) if text else self.usual


def check(*, server: bool) -> None:
    """Read every setting.

    Args:
        server: those of the pages too.

    Raises:
        ValueError: for the first that says what it may not: the rule, what was got, what to do.
    """
    for setting in SETTINGS:
        if server or not setting.server:
            setting.value()


CACHE: Setting[Path | None] = Setting(
    "NPTLAB_CACHE",
    "folder for trained networks and results; by default the user's cache folder",
    None,
    _cache,
)
FILES: Setting[Path | None] = Setting(
    "NPTLAB_FILES", "folder whose files the pages may open by their path", None, _files, True
)
CIFAR10: Setting[Path | None] = Setting(
    "NPTLAB_CIFAR10", "folder of CIFAR-10's binary version (`images`)", None, _cifar10
)
PROBES: Setting[Path | None] = Setting(
    "NPTLAB_PROBES", "a .npy, .npz or .h5 file of galaxies (n, H, W) (`lensing`)", None, _probes
)
ENGINE = Setting(
    "NPTLAB_ENGINE",
    "`local`: worker processes (default); `serial`: everything in the server's process",
    "local",
    _engine,
)
WORKERS: Setting[int | None] = Setting(
    "NPTLAB_WORKERS",
    "how many workers, 1 to 256, by default one per core, at most four",
    None,
    _workers,
)
SCHEDULER = Setting(
    "NPTLAB_SCHEDULER", "a Dask scheduler, `tcp://host:8786`, whose workers work", "", _scheduler
)
FALLBACK = Setting(
    "NPTLAB_FALLBACK",
    "`local`: this machine works, and says so, where the scheduler does not answer",
    "",
    _fallback,
)
RECHECK = Setting(
    "NPTLAB_RECHECK",
    "one result in how many is worked out here once more, 0 for none (50)",
    50,
    _recheck,
)
DEVICE = Setting(
    "NPTLAB_DEVICE", "`cpu`, `cuda` or `mps`, by default the best there is", "", _device
)
PUBLIC = Setting("NPTLAB_PUBLIC", "`1`: listen to them", False, _public, True)
HOSTS: Setting[tuple[str, ...]] = Setting("NPTLAB_HOSTS", "names it is known by", (), _hosts, True)
EMBED: Setting[tuple[str, ...]] = Setting(
    "NPTLAB_EMBED", "origins whose pages may frame it (`?embed`)", (), _embed, True
)
ADMIN = Setting("NPTLAB_ADMIN", "the token of who runs it", "", _admin, True)
LIMITS = Setting("NPTLAB_LIMITS", "what visitors may take", Limits(), _limits, True)
SETTINGS: tuple[Setting[Any], ...] = (
    CACHE,
    FILES,
    CIFAR10,
    PROBES,
    ENGINE,
    WORKERS,
    SCHEDULER,
    FALLBACK,
    RECHECK,
    DEVICE,
    PUBLIC,
    HOSTS,
    EMBED,
    ADMIN,
    LIMITS,
)
