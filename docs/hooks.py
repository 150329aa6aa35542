"""Pages of the site that are not files of docs/: what stands at the top level, and registries."""

import dataclasses
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

from validation_core import BENCHMARKS, METHODS, Store, lessons
from validation_core.cli import COMMANDS, main
from validation_core.diagnosis.questions import QUESTIONS, Question
from validation_core.lessons import LESSONS, lecture
from validation_core.methods.base import Method
from validation_core.types import Benchmark

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff")
PICTURES = ("playground.png", "card.png", "icon.svg")


@event_priority(100)  # before the plugin that makes pages of notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents, the pictures, the notebooks, the lessons and the reference."""
    for name in DOCUMENTS:
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        text = text.replace("](assets/notebooks/", "](notebooks/")
        files.append(File.generated(config, name, content=text))
    for name in PICTURES:
        source = str(ROOT / "assets" / name)
        files.append(File.generated(config, f"assets/{name}", abs_src_path=source))
    for path in sorted((ROOT / "assets" / "notebooks").glob("*.ipynb")):
        place = f"{path.parent.name}/{path.name}"
        files.append(File(place, str(ROOT / "assets"), config.site_dir, config.use_directory_urls))
    for name, text in (_pages() | _lessons()).items():
        files.append(File.generated(config, name, content=text))
    return files


def _pages() -> dict[str, str]:
    return {
        "reference/methods.md": _registered("Methods", Method, METHODS),
        "reference/benchmarks.md": _registered("Benchmarks", Benchmark, BENCHMARKS),
        "reference/questions.md": _questions(),
        "reference/command-line.md": _command_line(),
    }


def _registered(
    title: str, base: type, registry: Mapping[str, type[Method]] | Mapping[str, type[Benchmark]]
) -> str:
    """What each does, where it is from and its options; then what one of one's own declares."""
    parts = [f"# {title}"]
    for name, kind in registry.items():
        summary = kind.summary if isinstance(kind.summary, str) else kind().summary
        parts += [f"## {kind.title} (`{name}`)", f"{summary}", f"*{kind.paper}.*"]
        parts += [_options(kind), _described(kind, members=False)]
    return "\n\n".join([*parts, "## One of your own", _described(base)])


def _options(kind: type[Method] | type[Benchmark]) -> str:
    """A list of what may be chosen, with what it is where nothing is."""
    return "\n".join(
        f"- `{field.name}` ({field.default}): "
        f"{field.metadata.get('help') or field.metadata.get('label') or ''}"
        for field in dataclasses.fields(kind)
    )


def _questions() -> str:
    parts = ["# Questions"]
    for question in QUESTIONS:
        parts += [f"## {question.title} (`{question.name}`)", question.reading_guide]
    return "\n\n".join([*parts, "## One of your own", _described(Question)])


def _described(kind: type, *, members: bool = True) -> str:
    lines = ["heading_level: 3"] if members else ["heading_level: 3", "members: false"]
    options = "\n".join(f"      {line}" for line in lines)
    return f"::: {kind.__module__}.{kind.__qualname__}\n    options:\n{options}"


def _command_line() -> str:
    """What each command says to --help, of the name that is installed."""
    parts = ["# Command line"]
    with patch.object(sys, "argv", ["nptlab"]), patch.dict("os.environ", COLUMNS="100"):
        for name in ("", *(name for name, *_ in COMMANDS)):
            said = StringIO()
            with redirect_stdout(said), suppress(SystemExit):
                main([*name.split(), "--help"])
            parts.append(f"## nptlab {name}\n\n```text\n{said.getvalue()}```")
    return "\n\n".join(parts)


def _lessons() -> dict[str, str]:
    """Each lesson as a file that runs by itself, and the page that links them."""
    store = Store.usual()
    found, links = {}, []
    for name, study in LESSONS.items():
        lesson = study.lesson(study.load(store))
        found[f"lessons/{name}.html"] = lessons.lesson_html(lesson)
        links.append(f"- [{study.title}](lessons/{name}.html) {lesson.question}")
    found["lecture/lecture.html"] = lecture.lecture_html(store)
    about = (
        "Each opens in a browser, without a server. `nptlab lessons --html FOLDER` writes them."
    )
    return found | {"lessons.md": "\n".join(["# Lessons", "", about, "", *links])}
