"""Where a diagnosis is read: page, terminal, Python and tools say differently what to do next."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Surface:
    """What is opened, typed or called there, as parts of sentences."""

    question: str
    """How questions are asked, with their names for NAME."""
    between: str
    """What stands between two names."""
    budget: str
    """What bounds the seconds."""
    compare: str
    """What compares tables of the same simulations."""
    my_observation: str
    """How one's own observation is looked at, with q's draws at it."""
    x_o: str
    """How it is looked at where it came without such draws."""
    one_x: str
    """How one x of the table is looked at."""
    every_test: str
    """Where the answer of each test stands."""
    more_tests: str
    """How further tests are run."""
    bring: str
    """How a table comes: `Upload theta, x and theta_q`."""
    correct: str
    """How mistakes of a file are corrected, with their names for NAME."""
    as_saved: str
    """How draws are said to be meant as they were saved."""

    def asking(self, *names: str) -> str:
        """How these questions are asked: `--questions cause,over_x`."""
        return self.question.replace("NAME", self.between.join(names))

    def correcting(self, *names: str) -> str:
        """How these mistakes are corrected: `--correct rows,scale`."""
        return self.correct.replace("NAME", self.between.join(names))


PAGE = Surface(
    question="--questions NAME",
    between=",",
    budget="the budget",
    compare="Compare posteriors",
    my_observation="Open My observation",
    x_o="Open At my observation",
    one_x="Open At my observation",
    every_test="Open Each test",
    more_tests="under Each test",
    bring="Upload",
    correct="press “Correct it here and diagnose”",
    as_saved="press “Diagnose as saved”",
)
TERMINAL = Surface(
    question="--questions NAME",
    between=",",
    budget="--budget",
    compare="nptlab compare A B",
    my_observation="Run nptlab observation FILE",
    x_o="Run nptlab observation FILE",
    one_x="Run nptlab observation FILE --row I",
    every_test="Read the lines of the tests",
    more_tests="--method all",
    bring="Save",
    correct="have it corrected while reading: --correct NAME",
    as_saved="--as-saved",
)
PYTHON = Surface(
    question='questions=["NAME"]',
    between='", "',
    budget="the argument budget",
    compare="npt.compare([a, b])",
    my_observation="Call npt.observation(table)",
    x_o="Call npt.observation(table)",
    one_x="Call npt.observation(table, row)",
    every_test="Look at result.to_frame()",
    more_tests='methods="all"',
    bring="Save",
    correct='have it corrected while reading: npt.read(file, corrections=["NAME"])',
    as_saved="as_saved=True",
)
TOOLS = Surface(
    question='call ask for "NAME"',
    between='", "',
    budget="seconds",
    compare="the tool compare",
    my_observation="Call observation",
    x_o="Call observation",
    one_x="Call observation with a row",
    every_test="Run nptlab diagnose FILE in a shell",
    more_tests="nptlab diagnose FILE --method all in a shell",
    bring="Save",
    correct='have it corrected while reading: corrections=["NAME"]',
    as_saved="as_saved=True",
)
