"""NPT Lab on the command line.

    nptlab app                                    the dashboard, in a browser
    nptlab diagnose table.npz                     the verdict in words
    nptlab diagnose table.npz --json -            the same for programs
    nptlab diagnose table.npz --report page.html  the same to show
    nptlab diagnose table.npz --method all        with DC, AutoML, MMD-FUSE, L-C2ST
    nptlab diagnose table.npz --fail-on problem   a gate: exit code 1 where q is found wrong
    nptlab diagnose --stream rows.jsonl           while rows come: decided after 234 of 1,000
    nptlab observation table.npz --row 12         q at one observation of your own
    nptlab compare a.npz b.npz                    which of two is nearer the truth
    nptlab mend table.npz --out folder            weights for q's draws, where they help
    nptlab power --comparison type_one            a paper's figure, made anew
    nptlab power --benchmark gaussian --set perturbation=heavy_tail --method c2st --gamma 0,0.1
    nptlab divergence --html figures.html         Domke's three figures
    nptlab lessons --html folder                  each lesson as a file that needs no server
    nptlab lecture --html folder                  a lecture of five of them, notes and exercises
    nptlab mcp folder                             tools for agents over its tables
    nptlab skill --out .agents/skills             how an agent uses them
    nptlab methods                                with their options and papers

Results go to standard output, progress to standard error. Exit codes: 0 ran; 1 a gate
(--fail-on) found a problem, or `store verify` damage; 2 bad input, with one line that says the
rule, what was got, and what to do; 3 a gate's table could not have told; 130 stopped by Ctrl-C.
Networks and results are kept in the user's cache folder, or in NPTLAB_CACHE: what was worked out
once is there at once.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NoReturn

from validation_core import __version__, settings
from validation_core.cli.process import prepare_process, tell

# name, function that adds its arguments (in validation_core.cli), help text
COMMANDS = (
    ("app", "app:add", "the dashboard, in a browser"),
    ("diagnose", "diagnose:add", "a verdict on a table of draws"),
    ("observation", "observation:add", "what can be said of q at one's own observation"),
    ("compare", "compare:add", "several posteriors of the same simulations"),
    ("mend", "mend:add", "weights for q's draws, judged on rows that they never saw"),
    ("power", "power:add", "how often methods reject on a benchmark"),
    (
        "divergence",
        "divergence:add",
        "symmetric divergence over simulations: the figures of its paper",
    ),
    ("schema", "listing:add_schema", "the JSON Schema of what diagnose --json writes"),
    ("methods", "listing:add_methods", "the methods, with options and papers"),
    ("benchmarks", "listing:add_benchmarks", "the benchmarks, with options and papers"),
    ("lessons", "lessons:add_lessons", "each as an HTML file that needs no server"),
    ("lecture", "lessons:add_lecture", "45 minutes: five scenes, notes, exercises and solutions"),
    ("gallery", "gallery:add", "what the package ships, and how it is made"),
    ("mcp", "agents:add_mcp", "a server of tools for agents over the tables of a folder"),
    ("skill", "agents:add_skill", "SKILL.md: how an agent checks a posterior"),
    ("store", "listing:add_store", "what is kept on disk"),
)


_CHOICES = re.compile(r"invalid choice: '(?P<typed>.*)' \(choose from (?P<known>.*)\)")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        choice = _CHOICES.search(message)
        if choice:
            message += _nearest(choice["typed"], re.findall(r"[\w-]+", choice["known"]))
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _nearest(typed: str, known: Sequence[str]) -> str:
    """The known word that was probably meant, to follow a refusal; empty where none is near."""
    near = get_close_matches(typed, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


class _Command(_Parser):
    """A command whose module is imported, and arguments are added, only when it is parsed."""

    def __init__(self, *, add: str, **options: Any) -> None:
        super().__init__(**options)
        self._add: str | None = add

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._add is not None:
            add, self._add = resolve_name(f"validation_core.cli.{self._add}"), None
            add(self)
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:  # refused here, where its options are known
            typed = unknown[0].partition("=")[0]
            nearest = _nearest(typed, [*self._option_string_actions])
            self.error(f"unrecognized arguments: {' '.join(unknown)}{nearest}")
        return parsed, unknown


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        arguments: of the command; by default those of this process.
    """
    if arguments is None:
        prepare_process()  # before a command's imports, which take a second
        if _program() == "nptlab" and len(sys.argv) == 1:
            parser().print_help()
            return 0
    chosen = parser().parse_args(arguments)
    try:
        settings.check(server=False)
        code: int = chosen.run(chosen) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # `nptlab methods | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the buffer
        return 141
    except (ValueError, OSError) as error:
        tell(f"error: {error}")
        return 2
    except MemoryError as error:
        tell(
            f"error: Results are computed in memory; got {str(error) or 'too little of it'}. Ask "
            f"for less, or take a machine that has more."
        )
        return 2
    except KeyboardInterrupt:
        tell("stopped")
        return 130
    return code


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    command_line = _Parser(
        prog=_program(),
        description="Is a learned posterior right, and if not, where and how is it wrong?",
        epilog=str(__doc__).partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command_line.add_argument("--version", action="version", version=f"nptlab {__version__}")
    commands = command_line.add_subparsers(required=True, metavar="COMMAND", parser_class=_Command)
    for name, add, about in COMMANDS:
        commands.add_parser(name, add=add, help=about)
    return command_line


def _program() -> str:
    """The name of the program as typed: the installed command, or this package."""
    return "nptlab" if Path(sys.argv[0]).stem == "nptlab" else "python -m validation_core"
