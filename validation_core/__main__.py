"""The command line: `python -m validation_core diagnose | compare | power | divergence | methods |
benchmarks | store`.

Results go to standard output, progress to standard error. Exit codes: 0 ran; 2 bad input, with one
line that says the rule, what was got, and what to do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from validation_core.benchmarks import BENCHMARKS
from validation_core.command import compare, diagnose, divergence, listing, power
from validation_core.command.options import json_option, tell
from validation_core.methods import METHODS


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    chosen = parser().parse_args(arguments)
    try:
        chosen.run(chosen)
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
    return 0


def parser() -> argparse.ArgumentParser:
    """What the command line understands."""
    made = _Parser(prog="python -m validation_core", description="Neural posterior testing.")
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    diagnose.add(commands.add_parser("diagnose", help="a verdict on a table of draws"))
    compare.add(commands.add_parser("compare", help="several posteriors of the same simulations"))
    power.add(commands.add_parser("power", help="how often methods reject on a benchmark"))
    about = "symmetric divergence over simulations: the figures of its paper"
    divergence.add(commands.add_parser("divergence", help=about))
    for name, registry in (("methods", METHODS), ("benchmarks", BENCHMARKS)):
        command = commands.add_parser(name, help=f"the {name}, with options and papers")
        json_option(command)
        command.set_defaults(run=listing.lister(registry))
    store = commands.add_parser("store", help="what is kept on disk")
    store.add_argument("action", choices=("ls", "prune", "verify"))
    json_option(store)
    store.set_defaults(run=listing.store)
    return made


if __name__ == "__main__":
    sys.exit(main())
