"""Short forms of a diagnosis for continuous integration: Markdown, and JUnit's XML.

JUnit's XML has one test suite: the verdict, whether the table could have told, and every question
that may claim something. A reader of it counts failures as it does those of a test run.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.outcome import Outcome
from validation_core.diagnosis.questions import Answers, Asked
from validation_core.text import said_pvalue, utf8_text

_CONTROLS = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file may hold."""
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~!])")
_SAID: dict[Outcome, str] = {
    "passed": "Passed",
    "problem": "Problem found",
    "too little power": "Too little power to tell",
    "mistake": "Correct the file first",
}


def markdown(
    found: Diagnosis, answers: Answers, said: Outcome, path: str, asked: Asked | None = None
) -> str:
    """The card, the warnings and the tests as Markdown, such as a job summary shows.

    Args:
        found: the diagnosis.
        answers: by the name of their questions.
        said: its outcome.
        path: of the table's file.
        asked: state of each question; by default the answered ones were asked.
    """
    card = diagnosis_card(found, answers, asked)
    lines = [f"## {_SAID[said]}: {_plain(path)}", ""]
    lines += [f"> {_plain(card.warning)}", ""] if card.warning else []
    lines += [_plain(card.sentence), ""]
    lines += [f"- **{_plain(fact.label)}**: {_plain(fact.text)}" for fact in card.facts]
    lines += [f"- {_plain(text)}" for text in found.upload.warnings]
    lines += [] if said == "mistake" else _tests(found)
    lines += ["", "Next:", ""]
    lines += [f"{i}. {_plain(step)}" for i, step in enumerate(card.next_steps, 1)]
    return utf8_text("\n".join(lines)) + "\n"


def _tests(found: Diagnosis) -> list[str]:
    """The table of the tests."""
    lines = ["", "| Test | p-value | adjusted |", "|---|---|---|"]
    for record in found.records:
        pvalue, adjusted = record.pvalue, found.adjusted.get(record.label)
        if pvalue is None or adjusted is None:
            shown = f"not run: {_plain(record.reason or '')} | "
        else:
            shown = f"{_plain(said_pvalue(pvalue))} | {_plain(said_pvalue(adjusted))}"
        lines.append(f"| {_plain(record.label)} | {shown} |")
    return lines


def junit(
    found: Diagnosis, answers: Answers, said: Outcome, path: str, asked: Asked | None = None
) -> str:
    """JUnit's XML: a case for the verdict and one for each answer.

    Args:
        found: the diagnosis.
        answers: by the name of their questions.
        said: its outcome.
        path: of the table's file.
        asked: state of each question; by default the answered ones were asked.
    """
    card = diagnosis_card(found, answers, asked)
    suite = ElementTree.Element("testsuite", name=_xml(f"nptlab {path}"))
    failed = 0

    def case(name: str, problem: str, message: str, lines: tuple[str, ...]) -> None:
        nonlocal failed
        failed += bool(problem)
        one = ElementTree.SubElement(suite, "testcase", classname=_xml(path), name=_xml(name))
        text = _xml("\n".join(lines))
        if problem:
            bad = ElementTree.SubElement(one, "failure", type=problem, message=_xml(message))
            bad.text = text
        else:
            ElementTree.SubElement(one, "system-out").text = text

    facts = tuple(f"{fact.label}: {fact.text}" for fact in card.facts)
    mistaken = said == "mistake"
    sentence = f"{card.title}. {card.sentence}" if mistaken else card.sentence
    case("q is the posterior", "" if said == "passed" else said, sentence, facts)
    for answer in () if mistaken else answers.values():
        sentences = answer.describe(found)
        problem = "problem" if answer.finds(found) else ""
        case(answer.question.title, problem, sentences[0] if sentences else "", sentences)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failed))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _plain(text: str) -> str:
    """Text on one line whose characters Markdown does not read as marks."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _xml(text: str) -> str:
    """Text that an XML file may hold."""
    return _CONTROLS.sub("?", utf8_text(text))
