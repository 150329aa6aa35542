"""A folder of results by key.

    models/<key>.safetensors   results/<key>.npz   tables/<digest>.npz   jobs/<key>.npz
    notes/<digest>.npz

Files are written beside and renamed, so that a reader in any process sees a whole file or none. A
damaged file is moved to `damaged/` and said; its key then holds nothing, so it is made again.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import filelock
import platformdirs

from . import files
from .files import JSON, Arrays, Stored

Kind = Literal["models", "results", "tables", "jobs", "notes"]
T = TypeVar("T")

LIMIT = 2 * 2**30
_SUFFIX: Mapping[Kind, str] = {
    "models": ".safetensors",
    "results": ".npz",
    "tables": ".npz",
    "jobs": ".npz",
    "notes": ".npz",
}
_BOUNDED: tuple[Kind, ...] = ("models", "results", "tables")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
_STALE = 3600.0


class Entry(NamedTuple):
    """One file of the store; `shipped` when it lies in the read-only gallery."""

    kind: Kind
    key: str
    spec: str
    meta: Mapping[str, Any]
    bytes: int
    created: float
    used: float
    shipped: bool = False


class Store:
    """A folder of results by key, safe with several processes.

    Args:
        root: the folder; by default NPTLAB_CACHE, else the platform's user cache folder. Where
            it cannot be written, a temporary folder in memory takes its place and `notices` says
            so.
        limit: bound in bytes on models, results and tables, until the folder itself keeps one.
        gallery: a second folder of the same layout, read after the first and never written.
    """

    def __init__(
        self, root: Path | None = None, limit: int = LIMIT, gallery: Path | None = None
    ) -> None:
        self.notices: list[str] = []
        self.gallery = gallery
        self._default_limit = limit
        self.root = self._writable(Path(root or _default_root()).expanduser().absolute())

    def save(
        self, kind: Kind, key: str, arrays: Arrays, *, spec: str, meta: Mapping[str, object]
    ) -> None:
        """Keep arrays under a key, whole or not at all; older files give way to the bound.

        Raises:
            ValueError: for a key that is no plain name, or arrays of Python objects.
            OSError: when the disk does not take it.
        """
        path = self._path(kind, key)
        beside = self.root / "tmp" / f"{uuid.uuid4().hex}{path.suffix}"
        for folder in (beside.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            files.write(beside, arrays, spec, meta)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        if kind in _BOUNDED and self.size() > self.limit:
            self.prune()

    def load(self, kind: Kind, key: str) -> Stored | None:
        """What a key holds, or None; reading it marks it as used."""
        for path in self._places(kind, key):
            stored = self._sound(files.read, path)
            if stored is not None:
                with suppress(OSError):  # the gallery may be read-only
                    os.utime(path)
                return stored
        return None

    def has(self, kind: Kind, key: str) -> bool:
        """Whether a file of that key is there (its content is checked when it is loaded)."""
        return any(path.exists() for path in self._places(kind, key))

    def entries(self) -> list[Entry]:
        """Every model, result and table, last used first; then what the gallery ships."""
        own = [entry for path in self._files() if (entry := self._entry(path))]
        shipped = [entry for path in self._shipped() if (entry := self._entry(path))]
        own.sort(key=lambda entry: entry.used, reverse=True)
        return own + [entry._replace(shipped=True) for entry in shipped]

    def records(self) -> dict[str, Stored]:
        """The job records by key, as the engine wrote them."""
        paths = sorted((self.root / "jobs").glob("*.npz"))
        read = ((path.stem, self._sound(files.read, path)) for path in paths)
        return {key: stored for key, stored in read if stored}

    def delete(self, kind: Kind, key: str) -> None:
        """Forget a key of this folder; the gallery stays as it is."""
        self._path(kind, key).unlink(missing_ok=True)

    def size(self) -> int:
        """Bytes that models, results and tables take in this folder."""
        return sum(size for _, size, _ in self._sizes())

    @property
    def limit(self) -> int:
        """Bound in bytes, one for every process that uses this folder; setting it prunes."""
        try:
            return int((self.root / "limit").read_text())
        except (OSError, ValueError):
            return self._default_limit

    @limit.setter
    def limit(self, limit: int) -> None:
        if limit <= 0:
            raise ValueError(f"The bound on disk use must be positive; got {limit}. Raise it.")
        beside = self.root / f"limit-{uuid.uuid4().hex}"
        beside.write_text(str(int(limit)))
        os.replace(beside, self.root / "limit")
        self.prune()

    def prune(self) -> int:
        """Delete what was used longest ago until the bound holds; gives the bytes freed.

        The file used last stays, however large: otherwise its job would never end.
        """
        with filelock.FileLock(self.root / "prune.lock", timeout=30):
            sizes = sorted(self._sizes())
            excess = sum(size for _, size, _ in sizes) - self.limit
            freed = 0
            for _, size, path in sizes[:-1]:
                if freed >= excess:
                    break
                path.unlink(missing_ok=True)
                freed += size
            self._drop_leftovers()
        return freed

    def verify(self) -> list[str]:
        """Read every file against its checksum; says what was wrong and moved aside."""
        problems: list[str] = []
        for path in [*self._files(), *self._shipped()]:
            self._sound(files.read, path, problems.append)
        return problems

    def note(self, notice: str) -> None:
        """Remember something a user should be told: once, among the last fifty."""
        if notice not in self.notices:
            self.notices[:] = [*self.notices, notice][-50:]

    def place(self) -> dict[str, JSON]:
        """Where this store is, for another process: `Store.at(place)`."""
        gallery = None if self.gallery is None else str(self.gallery)
        return {"root": str(self.root), "limit": self._default_limit, "gallery": gallery}

    @classmethod
    def at(cls, place: Mapping[str, Any]) -> Store:
        """The store that another process described by `place`."""
        gallery = place["gallery"]
        return cls(Path(place["root"]), place["limit"], None if gallery is None else Path(gallery))

    def _writable(self, root: Path) -> Path:
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root):
                return root
        except OSError as error:
            memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
            instead = Path(tempfile.mkdtemp(prefix="nptlab-", dir=memory))
            atexit.register(shutil.rmtree, instead, ignore_errors=True)
            self.note(
                f"The cache folder {root} must be writable; got: {error.strerror or error}. "
                "Results are kept in memory and end with this program. Set NPTLAB_CACHE to "
                "another folder to keep them."
            )
            return instead

    def _path(self, kind: Kind, key: str, root: Path | None = None) -> Path:
        if not _NAME.fullmatch(key):
            raise ValueError(
                f"A key has letters, digits, - and _ only; got {key!r}. Use keys.key."
            )
        return (root or self.root) / kind / f"{key}{_SUFFIX[kind]}"

    def _places(self, kind: Kind, key: str) -> list[Path]:
        roots = [self.root] if self.gallery is None else [self.root, self.gallery]
        return [self._path(kind, key, root) for root in roots]

    def _files(self, root: Path | None = None) -> list[Path]:
        root = root or self.root
        return [path for kind in _BOUNDED for path in (root / kind).glob(f"*{_SUFFIX[kind]}")]

    def _shipped(self) -> list[Path]:
        return [] if self.gallery is None else sorted(self._files(self.gallery))

    def _sizes(self) -> Iterator[tuple[float, int, Path]]:
        for path in self._files():
            with suppress(FileNotFoundError):  # another process deleted it meanwhile
                status = path.stat()
                yield status.st_mtime, status.st_size, path

    def _entry(self, path: Path) -> Entry | None:
        about = self._sound(files.about, path)
        if about is None:
            return None
        with suppress(FileNotFoundError):
            status = path.stat()
            kind: Kind = path.parent.name  # type: ignore[assignment]  # from _BOUNDED
            where = (status.st_size, about.created, status.st_mtime)
            return Entry(kind, path.stem, about.spec, about.meta, *where)
        return None

    def _sound(
        self,
        reader: Callable[[Path], T],
        path: Path,
        say: Callable[[str], None] = lambda problem: None,
    ) -> T | None:
        """What a reader makes of a file; None when it is not there or cannot be used."""
        try:
            return reader(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except MemoryError:
            raise  # says nothing about the file
        except PermissionError as error:
            problem = f"{path.name} must be readable; got: {error.strerror}."
        except Exception as error:  # what a damaged file makes its reader raise
            problem = self._aside(path, error)
        self.note(problem)
        say(problem)
        return None

    def _aside(self, path: Path, error: Exception) -> str:
        what = f"A file of the store was damaged ({path.parent.name}/{path.name}: {error})."
        if path.is_relative_to(self.root):
            damaged = self.root / "damaged"
            damaged.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # another process moved it already
                os.replace(path, damaged / f"{path.parent.name}-{path.name}")
            return f"{what} It was moved to {damaged} and is made again when asked for."
        return f"{what} It belongs to the gallery and is passed over."

    def _drop_leftovers(self) -> None:
        """Remove what writers left that were ended while they wrote."""
        for path in (self.root / "tmp").glob("*"):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink()


def _default_root() -> Path:
    cache_folder = os.environ.get("NPTLAB_CACHE")
    return Path(cache_folder) if cache_folder else platformdirs.user_cache_path("nptlab")
