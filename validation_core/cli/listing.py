"""`methods`, `benchmarks` and `store`: listings, in words or as JSON."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import validation_core as npt
from validation_core.api.option_texts import option_text
from validation_core.cli.options import add_json_option, write_json
from validation_core.describe import describe
from validation_core.report.numbers import schema

if TYPE_CHECKING:
    from validation_core.methods.base import Method
    from validation_core.types import Benchmark


def add_methods(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `methods`."""
    add_json_option(parser)
    parser.set_defaults(run=lambda chosen: _list(npt.METHODS, chosen.json))


def add_benchmarks(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `benchmarks`."""
    add_json_option(parser)
    parser.set_defaults(run=lambda chosen: _list(npt.BENCHMARKS, chosen.json))


def add_schema(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `schema`."""
    parser.set_defaults(run=lambda chosen: print(schema()))


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `store`."""
    parser.add_argument("action", choices=("ls", "prune", "verify"))
    add_json_option(parser)
    parser.set_defaults(run=_store)


def _list(registry: Mapping[str, type[Method] | type[Benchmark]], where: str | None) -> None:
    """List a registry, with options and papers."""
    entries = [_describe(name, kind) for name, kind in registry.items()]
    write_json(entries, where, lambda: _print_entries(entries))


def _describe(name: str, kind: type[Method] | type[Benchmark]) -> dict[str, Any]:
    # A benchmark's summary depends on its options: the default's is shown.
    summary = kind.summary if isinstance(kind.summary, str) else kind().summary
    hints = get_type_hints(kind)
    options = [
        {
            "name": field.name,
            "default": field.default if field.default is not dataclasses.MISSING else None,
            "choices": _choices(hints[field.name]),
            **{key: field.metadata.get(key) for key in ("label", "help", "min", "max")},
        }
        for field in dataclasses.fields(kind)
    ]
    paper = kind.paper._asdict()
    return {
        "name": name,
        "title": kind.title,
        "summary": summary,
        "paper": paper,
        "options": options,
    }


def _choices(kind: object) -> list[object] | None:
    """The choices of an option, where they are a list."""
    if kind is bool:
        return [False, True]
    return list(get_args(kind)) if get_origin(kind) is Literal else None


def _print_entries(entries: Sequence[Mapping[str, Any]]) -> None:
    for entry in entries:
        paper = entry["paper"]
        print(f"{entry['name']:<12} {entry['title']}: {entry['summary']}")
        print(f"{'':<12} {paper['authors']} ({paper['year']}), {paper['title']}")
        for option in entry["options"]:
            choices = ", ".join(map(option_text, option["choices"] or ()))
            values = f", one of {choices}" if choices else ""
            about = option["help"] or option["label"] or ""
            default = option_text(option["default"])
            print(f"{'':<12}   {option['name']} = {default}{values}  {about}")


def _store(chosen: argparse.Namespace) -> int:
    """List or prune the store, or verify it and the shipped gallery.

    Returns:
        1 where something was damaged.
    """
    storage, listed = npt.Store.usual(), []
    problems: list[str] = []
    if chosen.action == "prune":
        summary: dict[str, object] = {
            "freed": storage.prune(),
            "size": storage.size(),
            "limit": storage.limit,
        }
    elif chosen.action == "verify":
        problems = storage.verify()
        summary = {"problems": problems}
    else:
        entries = storage.entries()
        listed = [entry for entry in entries if not entry.shipped]
        summary = {
            "root": str(storage.root),
            "size": storage.size(),
            "limit": storage.limit,
            "shipped": len(entries) - len(listed),
            "entries": [entry._asdict() for entry in listed],
        }
    summary["notices"] = storage.notices

    def aloud() -> None:
        for entry in listed:
            print(f"{entry.kind:<8} {entry.bytes:>11,}  {describe(entry.spec)}")
        for name, value in summary.items():
            if name != "entries":
                print(f"{name}: {value if value else 'none'}")

    write_json(summary, chosen.json, aloud)
    return 1 if problems else 0
