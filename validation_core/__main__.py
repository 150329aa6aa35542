"""NPT Lab on the command line.

    nptlab diagnose table.npz                     the verdict in words
    nptlab diagnose table.npz --json -            the same for programs
    nptlab diagnose table.npz --report page.html  the same to show
    nptlab diagnose table.npz --method all        with DC, AutoML, MMD-FUSE, L-C2ST
    nptlab compare a.npz b.npz                    which of two is nearer the truth
    nptlab power --comparison colt_tree           a paper's figure, made anew
    nptlab power --benchmark gaussian --set perturbation=heavy_tail --method c2st --gamma 0,0.1
    nptlab divergence --html figures.html         Domke's three figures
    nptlab lessons --html folder                  each lesson as a file that needs no server
    nptlab methods                                with their options and papers

Results go to standard output, progress to standard error. Exit codes: 0 ran; 1 `store verify`
found damage; 2 bad input, with one line that says the rule, what was got, and what to do; 130
stopped by Ctrl-C. Networks and results are kept in the user's cache folder, or in NPTLAB_CACHE:
what was worked out once is there at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from validation_core.cli import ending


def _program() -> str:
    """What was typed: the installed command, or this package."""
    return "nptlab" if Path(sys.argv[0]).stem == "nptlab" else "python -m validation_core"


if __name__ == "__main__" or _program() == "nptlab":
    ending.prepare()  # before the imports below, which take a second

from validation_core.benchmarks import BENCHMARKS  # noqa: E402
from validation_core.cli import compare, diagnose, divergence, gallery, lessons, listing, power  # noqa: E402
from validation_core.cli.options import json_option, tell  # noqa: E402
from validation_core.methods import METHODS  # noqa: E402


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    if arguments is None and _program() == "nptlab" and len(sys.argv) == 1:
        parser().print_help()
        return 0
    chosen = parser().parse_args(arguments)
    try:
        code: int = chosen.run(chosen) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # `nptlab methods | head`: who reads has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left to write
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
    """What the command line understands."""
    command_line = _Parser(
        prog=_program(),
        description="Is a learned posterior right, and if not, where and how is it wrong?",
        epilog=str(__doc__).partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = command_line.add_subparsers(required=True, metavar="COMMAND")
    diagnose.add(commands.add_parser("diagnose", help="a verdict on a table of draws"))
    compare.add(commands.add_parser("compare", help="several posteriors of the same simulations"))
    power.add(commands.add_parser("power", help="how often methods reject on a benchmark"))
    about = "symmetric divergence over simulations: the figures of its paper"
    divergence.add(commands.add_parser("divergence", help=about))
    for name, registry in (("methods", METHODS), ("benchmarks", BENCHMARKS)):
        command = commands.add_parser(name, help=f"the {name}, with options and papers")
        json_option(command)
        command.set_defaults(run=listing.lister(registry))
    lessons.add(commands.add_parser("lessons", help="each as an HTML file that needs no server"))
    gallery.add(commands.add_parser("gallery", help="what the package ships, and how it is made"))
    store = commands.add_parser("store", help="what is kept on disk")
    store.add_argument("action", choices=("ls", "prune", "verify"))
    json_option(store)
    store.set_defaults(run=listing.store)
    return command_line


if __name__ == "__main__":
    sys.exit(main())
