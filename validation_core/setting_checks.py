"""Checks of the value of each setting: each raises a ValueError with the rule and the remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from validation_core.limits import Limits, Quota, memory_bytes

_ADDRESS = re.compile(r"(?P<host>.+):(?P<port>[0-9]{1,5})")
_DEVICE = re.compile(r"(cpu|cuda|mps)(:[0-9]{1,2})?")
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d{1,5})?", re.IGNORECASE)
_SHARE = re.compile(r"([a-z]+)=([0-9]{1,9})/([0-9]{1,9})")
_IMAGES = (".npy", ".npz", ".h5", ".hdf5")
_MOST_WORKERS = 256
_TOKEN = 16  # characters
_QUOTAS = ("jobs", "pages", "tables", "uploads")


def hostname(host: str) -> str:
    """The name in a Host header, without its port; empty where it is no valid name."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # which may be no number
    except ValueError:
        return ""
    odd = parts.username or parts.password or parts.path or parts.query or parts.fragment
    return "" if odd else (parts.hostname or "").rstrip(".")


def check_engine(text: str) -> str:
    """Parse NPTLAB_ENGINE: `local` or `serial`."""
    if text not in ("local", "serial"):
        raise ValueError(f"NPTLAB_ENGINE is local or serial; got {text!r}. Set one of them.")
    return text


def check_fallback(text: str) -> str:
    """Parse NPTLAB_FALLBACK: `local`, which replaces an unreachable Dask cluster."""
    if text != "local":
        raise ValueError(f"NPTLAB_FALLBACK is local or not set; got {text!r}. Unset it.")
    return text


def check_public(text: str) -> bool:
    """Parse NPTLAB_PUBLIC: whether the server listens on every address."""
    if text not in ("0", "1"):
        raise ValueError(f"NPTLAB_PUBLIC is 1 or not set; got {text!r}. Unset it.")
    return text == "1"


def check_cache(text: str) -> Path:
    """Parse NPTLAB_CACHE: the folder of the store."""
    try:
        return Path(text).expanduser()
    except RuntimeError:  # `~user` for a user that this system does not know
        raise ValueError(
            f"NPTLAB_CACHE names a folder; got {text!r}, whose user is not known. Write the "
            "whole path."
        ) from None


def check_files(text: str) -> Path:
    """Parse NPTLAB_FILES: the folder below which pages may read files."""
    try:
        root = Path(text).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        root = None
    if root is None or not root.is_dir():
        raise ValueError(f"NPTLAB_FILES must name a folder; got {text!r}. Correct or unset it.")
    return root


def check_cifar10(text: str) -> Path:
    """Parse NPTLAB_CIFAR10: the folder of CIFAR-10's binary version."""
    if not os.path.isdir(text):
        raise ValueError(
            f"NPTLAB_CIFAR10 names the folder of CIFAR-10's binary version; got {text!r}, which "
            "is no folder. Set it to the folder with data_batch_1.bin, or unset it."
        )
    return Path(text)


def check_probes(text: str) -> Path:
    """Parse NPTLAB_PROBES: a file of galaxy images."""
    path = Path(text)
    named = path.suffix.lower() in _IMAGES
    if not (named and os.path.isfile(path)):
        got = "no such file" if named else f"a name that ends in {path.suffix!r}"
        raise ValueError(
            f"NPTLAB_PROBES names a .npy, .npz or .h5 file of galaxy images; got {got}, {text!r}. "
            "Correct or unset it."
        )
    return path


def check_workers(text: str) -> int:
    """Parse NPTLAB_WORKERS: the number of worker processes."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= _MOST_WORKERS:
        raise ValueError(
            f"NPTLAB_WORKERS is a whole number from 1 to {_MOST_WORKERS}; got {text!r}. Set one, "
            "or unset it."
        )
    return int(text)


def scheduler(text: str) -> str:
    """The address of a Dask scheduler.

    Raises:
        ValueError: for text that is no address.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise ValueError(
            f"NPTLAB_SCHEDULER (or --engine dask:ADDRESS) is an address like tcp://host:8786; got "
            f"{text!r}. Copy the one that `dask scheduler` prints."
        )
    return text


def check_device(text: str) -> str:
    """Parse NPTLAB_DEVICE: the device of networks."""
    if not _DEVICE.fullmatch(text):
        raise ValueError(
            f"NPTLAB_DEVICE is cpu, cuda or mps, with a number where there are several; got "
            f"{text!r}. Set one of them, or unset it."
        )
    return text


def check_hosts(text: str) -> tuple[str, ...]:
    """Parse NPTLAB_HOSTS: host names that the server answers."""
    for name in _items(text):
        if "*" in name.removeprefix("*.") or hostname(name) != name.lower():
            raise ValueError(
                f"NPTLAB_HOSTS holds names such as lab.example.org or *.example.org, with commas "
                f"between; got {name!r}. Leave out scheme, port and path; a star stands for the "
                f"first part alone."
            )
    return tuple(_items(text))


def check_embed(text: str) -> tuple[str, ...]:
    """Parse NPTLAB_EMBED: origins whose pages may embed the server's."""
    for origin in _items(text):
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(
                "NPTLAB_EMBED holds origins such as https://moodle.example.org, with commas "
                f"between; got {origin!r}. Leave out path and wildcard."
            )
    return tuple(_items(text))


def check_admin(text: str) -> str:
    """Parse NPTLAB_ADMIN: the operator's token."""
    return _token("NPTLAB_ADMIN", text)


def check_agents(text: str) -> str:
    """Parse NPTLAB_AGENTS: the token of programs that drive the pages."""
    return _token("NPTLAB_AGENTS", text)


def _token(name: str, text: str) -> str:
    if len(text) < _TOKEN:
        raise ValueError(
            f"{name} has at least {_TOKEN} characters, or it is guessed; got {len(text)}. "
            "Take those of `openssl rand -hex 16`."
        )
    return text


def check_limits(text: str) -> Limits:
    """Parse NPTLAB_LIMITS: quotas of visitors."""
    chosen: dict[str, Any] = {}
    for part in _items(text):
        match = _SHARE.fullmatch(part)
        if match is None or match[1] not in _QUOTAS or not 0 < int(match[2]) <= int(match[3]):
            raise ValueError(
                f"NPTLAB_LIMITS says how much one visitor and all may have of "
                f"{', '.join(_QUOTAS)}, such as jobs=4/40; got {part!r}. Correct it."
            )
        chosen[match[1]] = Quota(int(match[2]), int(match[3]))
    return replace(Limits.of(memory_bytes()), **chosen)


def _items(text: str) -> Iterable[str]:
    return text.replace(",", " ").split()
