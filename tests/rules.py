"""What must hold of any diagnosis: its words against the numbers beside them.

`broken(result)` lists the rules that a `DiagnosisResult` breaks; none for a right one.
"""

from __future__ import annotations

import re

from validation_core.api.diagnose import DiagnosisResult
from validation_core.diagnosis.card import Card
from validation_core.diagnosis.questions import QUESTIONS, Answers, Asked
from validation_core.diagnosis.questions.observation.place import unlike
from validation_core.diagnosis.verdict import Diagnosis, NoClaims
from validation_core.text import said_equals

STATES = {
    "problem found": "problem",
    "no problem found": "silent",
    "not enough data": "too little",
}
WAITING = ("Being worked out", "still to come", "its exact p follows")
ERRORS = (
    "too high", "too low", "too narrow", "too wide", "biased", "misses a mode", "correlation",
    "most clearly by",
)  # fmt: skip
UNREADABLE = (r"\bnan\b", r"\binf\b", r"\bNone\b", r"[−-]0\.0+(?!\d)", r"(?<![\w.)-])-\.?\d")
_NUMBER = r"([−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?)"
_BIAS = re.compile(rf"posterior sd too (?:high|low) \({_NUMBER} to {_NUMBER}\)")
_WIDTH = re.compile(rf"times as wide as it should be(?: there)? \({_NUMBER} to {_NUMBER}\)")


def broken(result: DiagnosisResult) -> list[str]:
    """The rules that a diagnosis breaks once everything that was asked has ended."""
    asked = result.asked or Asked.only(result.answers)
    card = result.card
    return [
        *of_state(result.diagnosis, card),
        *of_words(card),
        *of_open(result.diagnosis, result.answers, asked, card),
        *of_sizes(result.diagnosis, card),
        *of_place(result.diagnosis, result.answers, card),
        *of_steps(result.diagnosis, card),
        *of_pvalues(result.diagnosis, card),
        *of_warning(result, card),
        *of_answers(result),
    ]


def facts(card: Card) -> dict[str, str]:
    """Its lines by their label."""
    return {fact.label: fact.text for fact in card.facts}


def spoken(card: Card) -> str:
    """Every word of a card."""
    return " ".join([card.title, card.sentence, *facts(card).values(), *card.next_steps])


def of_state(found: Diagnosis, card: Card) -> list[str]:
    """The card's state is the verdict's, and silence names no error."""
    wrong = []
    state = STATES[found.verdict]
    if card.warning and state != "problem":
        state = "unlike"
    if found.upload.unusable:  # nothing is said of q
        return [] if card.state == "mistake" else [f"a mistake in state {card.state}"]
    if card.state != state:
        wrong.append(f"the card is in state {card.state}, the verdict is {found.verdict}")
    p = found.pvalue
    if (card.state == "problem") != (p is not None and p <= found.alpha):
        wrong.append(f"state {card.state} with p {p}")
    if card.state != "problem":
        told = " ".join(facts(card).values())
        wrong += [f"silence that says {word!r}" for word in ERRORS if word in told]
    return wrong


def of_words(card: Card) -> list[str]:
    """Nothing waits, and every number can be read."""
    told = spoken(card)
    wrong = [f"nothing runs, and yet: {word}" for word in WAITING if word in told]
    wrong += [f"unreadable {shape}: {told}" for shape in UNREADABLE if re.search(shape, told)]
    return wrong + [f"an empty line: {fact}" for fact in card.facts if not fact.text.strip()]


def of_open(found: Diagnosis, answers: Answers, asked: Asked, card: Card) -> list[str]:
    """A question without an answer says why, and one that was not asked that it was not."""
    lines, wrong = facts(card), []
    if card.state != "problem" or not found.upload.k:
        return []
    by_name = {question.name: question for question in QUESTIONS}
    for label, name in {"Where": "over_x", "Likely cause": "cause"}.items():
        question = by_name[name]
        if name in answers:
            continue
        why = asked.why(question, found.upload)
        if sum(line.endswith(why) for line in lines.values()) > 1 and "Not known" in lines[label]:
            wrong.append(f"one reason is told twice: {why}")
        if not lines[label].endswith((why, "The reason is the same.")):
            wrong.append(f"{label} without an answer says {lines[label]!r}")
        if asked.state(question, found.upload) == "not asked" and "Not asked" not in lines[label]:
            wrong.append(f"{label} was not asked, and says {lines[label]!r}")
    return wrong


def of_sizes(found: Diagnosis, card: Card) -> list[str]:
    """A size that is quoted has an interval without the value of a correct q."""
    told, wrong = facts(card).get("How wrong", ""), []
    for pattern, null in ((_BIAS, 0.0), (_WIDTH, 1.0)):
        for low, high in pattern.findall(told):
            if _number(low) <= null <= _number(high):
                wrong.append(f"a size whose interval holds {null:g}: {told}")
    if "No single parameter is off" in told:
        wrong.append("a claim that nobody tested")
    if found.upload.dims[0] == 1 and re.search(r"All 1|of 1 parameters", told):
        wrong.append(f"one parameter counted: {told}")
    return wrong


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def of_place(found: Diagnosis, answers: Answers, card: Card) -> list[str]:
    """No change over x is found only where its p says so, and no advice against it."""
    where, wrong = facts(card).get("Where", ""), []
    alike = where.startswith("No change over x is found")
    if "over_x" in answers and card.state == "problem":
        p = answers["over_x"].result.p_changes(found.claims)
        if alike != (p > found.alpha):
            wrong.append(f"{where!r} with p {p}")
    if alike:
        steps = " ".join(card.next_steps)
        wrong += [
            f"no change over x, and yet: {word}"
            for word in ("Simulate more where", "Look at where q is wrong", "At my observation")
            if word in steps
        ]
    return wrong


def of_steps(found: Diagnosis, card: Card) -> list[str]:
    """Three things to do, none twice, none that is done already."""
    wrong = []
    if len(card.next_steps) != 3 or len({*card.next_steps}) != 3:
        wrong.append(f"not three different steps: {card.next_steps}")
    if found.upload.k >= 100 and "Draw at least 100 times" in spoken(card):
        wrong.append(f"asks for 100 draws where there are {found.upload.k}")
    return wrong


def of_pvalues(found: Diagnosis, card: Card) -> list[str]:
    """One p of the verdict: the sentence's is the diagnosis's own."""
    told = re.findall(r"p (= [^\s,);]+|< [^\s,);]+)", card.sentence)
    silent = found.pvalue is None or found.upload.unusable
    wanted = [] if silent else [said_equals(found.pvalue)]
    wrong = [] if told == wanted else [f"the sentence has p {told}, the verdict {wanted}"]
    if found.to_json()["pvalue"] != found.pvalue:
        wrong.append("JSON has another p")
    if found.relabelled and found.require_claims().pvalue != found.pvalue:
        wrong.append("the claims have another p")
    return wrong


def of_warning(result: DiagnosisResult, card: Card) -> list[str]:
    """What must be known first is told first."""
    wrong = []
    if card.warning != unlike(result.diagnosis.upload):
        wrong.append(f"warns {card.warning!r}")
    if card.warning and result.sentences[0] != card.warning:
        wrong.append("the warning does not come first")
    if card.warning and "observation" in result:
        own = result.answers["observation"]
        if own.finds(result.diagnosis) is not None or own.describe(result.diagnosis)[0] != (
            card.warning
        ):
            wrong.append("the row of the observation does not begin with the warning")
    return wrong


def of_answers(result: DiagnosisResult) -> list[str]:
    """No answer says that nothing is wrong beside a verdict that says what is."""
    found = result.diagnosis
    if isinstance(found.claims, NoClaims) or not found.claims.found or "size" not in result:
        return []
    first = result["size"].sentences[0]
    return [f"under a problem: {first}"] if first.startswith("No error is found") else []
