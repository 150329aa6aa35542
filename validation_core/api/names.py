"""Look up methods, benchmarks and questions by the names that users type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from validation_core.api.option_texts import parse_specification
from validation_core.diagnosis import default_methods, further_methods, with_further
from validation_core.diagnosis.questions import ALIASES, QUESTIONS, AnyQuestion, by_name
from validation_core.methods import METHODS
from validation_core.methods.base import Method
from validation_core.text import did_you_mean
from validation_core.types import Benchmark

K = TypeVar("K", bound=str)
V = TypeVar("V")
_OF_ARRAYS = "arrays make a table first: npt.diagnose(npt.Table(theta, x, theta_q))."


def entry(registry: Mapping[K, V], name: str, what: str) -> V:
    """The entry of that name.

    Raises:
        ValueError: when there is none.
    """
    for own_name, item in registry.items():
        if own_name == name:
            return item
    article = "An" if what[0] in "aeiou" else "A"
    raise ValueError(
        f"{article} {what} is one of {', '.join(registry)}; got {name!r}. "
        f"{did_you_mean(name, list(registry))}"
    )


def _known(
    kind: type[Method] | type[Benchmark], options: Mapping[str, object], beside: Iterable[str] = ()
) -> None:
    names = [field.name for field in fields(kind)]
    if unknown := [name for name in options if name not in names]:
        raise TypeError(
            f"Options of {kind.name} are {', '.join(names) or 'none'}; got "
            f"{', '.join(unknown)}. {did_you_mean(unknown[0], [*names, *beside])}"
        )


def parse_method(text: str) -> Method:
    """A method from text NAME[:field=value,...], as the command line takes it.

    Raises:
        ValueError: for an unknown name or option, or several methods in one text.
    """
    name, _, options = text.partition(":")
    given = options.split(",") if options else []
    if "," in name or any(option in METHODS for option in given):
        raise ValueError(
            f"A method is NAME or NAME:field=value,..., one in each text; got {text!r}. Give each "
            f"a text of its own: repeat --method on the command line, methods=[NAME, NAME] in "
            f"Python."
        )
    return parse_specification(entry(METHODS, name, "method"), given)


def resolve_method(
    name: str | Method, options: Mapping[str, object], beside: Iterable[str] = ()
) -> Method:
    """A method by name with its options; by name alone it has defaults that suit a table.

    Args:
        name: of the method, or the method itself.
        options: of the method.
        beside: keywords that the caller takes for itself.

    Raises:
        TypeError: for what is neither a name nor a method, or for an unknown option.
        ValueError: for an unknown name.
    """
    if not isinstance(name, str | Method):
        raise TypeError(
            "A method is its name or an object of METHODS, and comes before the data; got "
            f"{type(name).__name__}. Try npt.run('sbc', table); {_OF_ARRAYS}"
        )
    if not isinstance(name, str):
        return replace(name, **options) if options else name
    if ":" in name or "," in name:
        return resolve_method(parse_method(name), options)
    kind = entry(METHODS, name, "method")
    _known(kind, options, beside)
    further = further_methods()
    usual = further[name].method if name in further else kind()
    return replace(usual, **options)


def benchmark_kind(name: str) -> type[Benchmark]:
    """The benchmark of a name.

    Raises:
        ValueError: when there is none; for a perturbation, with the benchmark that has it.
    """
    from validation_core.benchmarks import BENCHMARKS
    from validation_core.benchmarks.perturbations import PERTURBATIONS

    if name in PERTURBATIONS:
        raise ValueError(
            f"A benchmark is one of {', '.join(BENCHMARKS)}; got {name!r}, a perturbation of "
            f"gaussian. Write --benchmark gaussian --set perturbation={name} on the command "
            f"line, npt.Gaussian(perturbation={name!r}) in Python."
        )
    return entry(BENCHMARKS, name, "benchmark")


def resolve_benchmark(name: str | Benchmark, options: Mapping[str, object]) -> Benchmark:
    """A benchmark by name with its options.

    Raises:
        TypeError: for what is no benchmark, or for an unknown option.
        ValueError: for an unknown name.
    """
    if not isinstance(name, str | Benchmark):
        raise TypeError(
            "Power is counted on a benchmark, whose draws are made anew in every trial; got "
            f"{type(name).__name__}. Try npt.power('gaussian', gamma=[0, 0.3], methods='sbc'); "
            "what the tests would have found on a table says npt.ask('sensitivity', table)."
        )
    if not isinstance(name, str):
        return replace(name, **options) if options else name
    kind = benchmark_kind(name)
    _known(kind, options)
    return kind(**options)


def resolve_methods(names: str | Sequence[str | Method] | None) -> tuple[Method, ...]:
    """The methods of a diagnosis: the usual ones, `all`, or those given.

    Raises:
        TypeError: for what is no list.
        ValueError: for an unknown name, or a method that is named twice.
    """
    if names is None:
        return default_methods()
    if isinstance(names, str):
        if names == "all":
            return with_further(tuple(further_methods()))
        names = (names,)
    given = tuple(names) if isinstance(names, Iterable) else (names,)
    if not all(isinstance(name, str | Method) for name in given):
        raise TypeError(
            f"Methods are a list of names, behind the table; got {type(names).__name__}. Try "
            f"methods=['sbc', 'tarp']; {_OF_ARRAYS}"
        )
    chosen = tuple(resolve_method(name, {}) for name in given)
    labels = [method.label for method in chosen]
    if len(set(labels)) < len(labels):
        raise ValueError(f"Each method is tested once; got {labels}. Leave out the repeated one.")
    return chosen


def resolve_questions(names: str | Sequence[str]) -> tuple[AnyQuestion, ...]:
    """The questions of a diagnosis in order: `usual` or `all`, `none`, or those given.

    Raises:
        TypeError: for what is no list of names.
        ValueError: for an unknown name.
    """
    if isinstance(names, str):
        if names in ("usual", "all"):
            return tuple(each for each in QUESTIONS if names == "all" or not each.asked_for)
        names = () if names == "none" else (names,)
    if not isinstance(names, Iterable):
        raise TypeError(
            f"Questions are a list of names, behind the table; got {type(names).__name__}. Try "
            "questions=['size', 'over_x']."
        )
    chosen = [resolve_question(name) for name in names]
    return tuple(question for question in QUESTIONS if question in chosen)


def resolve_question(name: str) -> AnyQuestion:
    """The question of a name.

    Raises:
        TypeError: for what is no name.
        ValueError: for an unknown name.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"A question is asked by its name, before the table; got {type(name).__name__}. Try "
            "npt.ask('size', table)."
        )
    return by_name(ALIASES.get(name, name))
