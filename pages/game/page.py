"""Name that defect: ten rounds with a hidden defect of q, and plots that cost points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from pages.ui import address, charts, share
from pages.ui.forms import choice, number
from pages.ui.once import once
from validation_core.game import plot_power, plots, points, rounds
from validation_core.game.plots import PLOTS, Plot
from validation_core.game.points import Game, Guess
from validation_core.game.rounds import DEFECTS, LEVELS, ROUNDS, Defect, Level
from validation_core.text import said_equals

FIRST: Plot = "draws"
EMPTY: Game = (None,) * ROUNDS
WORDS: dict[Level, str] = {"easy": "Easy", "middle": "Medium", "hard": "Hard"}


def _read(name: str, texts: Sequence[str]) -> tuple[Game, str]:
    read = points.read(texts[-1])
    note = address.unknown(name, texts[-1]) if read is None else ""
    return EMPTY if read is None else read, note


def _game(name: str) -> Game:
    """The game with the answers in the address."""
    return address.setting(
        name,
        EMPTY,
        lambda: st.session_state[name],
        read=partial(_read, name),
        texts=lambda value: (points.written(value),) if any(value) else (),
    )


def _read_plots(texts: Sequence[str]) -> tuple[tuple[Plot, ...], str]:
    names = {text.casefold() for text in texts}
    known = tuple(plot for plot in PLOTS if plot in names and plot != FIRST)
    odd = [text for text in texts if text and text.casefold() not in {*known, FIRST}]
    return known, address.unknown("plots", odd[0]) if odd else ""


def _opened() -> tuple[Plot, ...]:
    """Plots bought in this round."""
    return address.setting(
        "plots", (), lambda: st.session_state["plots"], read=_read_plots, texts=lambda value: value
    )


def _restart() -> None:
    """Start the game of another seed or level."""
    st.session_state.update({"played": EMPTY, "plots": (), "against": EMPTY, "round": 1})


def _new_game() -> None:
    st.session_state["seed"] = (st.session_state["seed"] + 1) % 10_000
    _restart()


def _turn(to: int | None = None) -> None:
    """To a round, or to the one that the widget has; its plots are covered."""
    st.session_state["plots"] = ()
    if to is not None:
        st.session_state["round"] = to


def _following(played: Game, at: int) -> int | None:
    """The next round that has no answer, from the first again after the last."""
    open_ = [i for i in range(1, ROUNDS + 1) if played[i - 1] is None]
    return min(open_, key=lambda i: (i < at, i), default=None)


def _open(plot: Plot) -> None:
    st.session_state["plots"] = (*st.session_state["plots"], plot)


def _guess(defect: Defect, number: int, seed: int, level: Level) -> None:
    played: Game = st.session_state["played"]
    if played[number - 1] is not None:  # pressed twice
        return
    answer = Guess(defect, 1 + len(st.session_state["plots"]))
    st.session_state["played"] = (*played[: number - 1], answer, *played[number:])
    streak = st.session_state.get("defect-streak", 0)
    right = points.correct(answer, seed, level, number)
    st.session_state["defect-streak"] = streak + 1 if right else 0


def _heading(seed: int, level: Level, at: int, played: Game, against: Game) -> None:
    score = points.total(played, seed, level)
    most = points.FULL * ROUNDS
    words = [f"**Round {at} of {ROUNDS}**", f"{score} points"]
    if (streak := st.session_state.get("defect-streak", 0)) > 1:
        words.append(f"{streak} correct in a row")
    if any(against):
        words.append(f"beat {points.total(against, seed, level)} of {most}")
    st.markdown(" · ".join(words))


def _buy(opened: tuple[Plot, ...]) -> None:
    with st.container(horizontal=True, gap="small"):
        for plot, about in PLOTS.items():
            if plot != FIRST and plot not in opened:
                st.button(
                    f"{about.title} (−{points.COST})",
                    key=f"open-{plot}",
                    on_click=_open,
                    args=(plot,),
                    icon=":material/visibility:",
                )


def _ask(at: int, seed: int, level: Level, plots: int) -> None:
    st.markdown(
        f"**What is wrong with q?** A correct answer now gives "
        f"{points.FULL - points.COST * (plots - 1)} points."
    )
    names = list(DEFECTS)
    for row in (names[:4], names[4:]):
        for column, name in zip(st.columns(4), row, strict=True):
            column.button(
                DEFECTS[name].title,
                key=f"guess-{name}",
                on_click=_guess,
                args=(name, at, seed, level),
                width="stretch",
                type="primary",
            )


def _plots(
    round_: rounds.Round,
    shown: Sequence[Plot],
    drawn: plots.RoundPlots,
    telling: plot_power.PlotPower | None,
) -> None:
    key = f"{round_.seed}-{round_.level}-{round_.number}"
    open_, hidden = telling is not None, round_ if telling else None
    for start in range(0, len(shown), 2):
        for column, plot in zip(
            st.columns(2, gap="large"), shown[start : start + 2], strict=False
        ):
            about = PLOTS[plot]
            mean = telling.means[plot] if telling else None
            picture = once(
                ("defect-panel", round_, plot, open_),
                partial(plots.panel, plot, drawn, hidden, mean),
            )
            words = about.caption
            if telling is not None:
                low, high = telling.interval(plot)
                words = (
                    f"{about.test}: p {said_equals(drawn.pvalues[plot])} in this round. At "
                    f"5% it rejects in {telling.found[plot]} of {plot_power.REPEATS} simulated "
                    f"rounds with this q (95% interval {low:.0%} to {high:.0%})."
                )
            charts.captioned(column, about.title, picture, f"defect-{key}-{plot}-{open_}", words)


def _reveal(round_: rounds.Round, answer: Guess) -> None:
    title, of = DEFECTS[round_.defect].title, (round_.seed, round_.level, round_.number)
    if points.correct(answer, *of):
        won = points.points(answer, *of)
        st.success(f"Correct: **{title}**. {won} points.", icon=":material/check_circle:")
    else:
        st.info(
            f"Not this time. The answer is **{title}**; you said {DEFECTS[answer.defect].title}.",
            icon=":material/lightbulb:",
        )
    summary = round_.benchmark.summary
    st.caption(
        "q is exactly p."
        if round_.defect == "none"
        else f"What was hidden: {summary.replace('; gamma plays no part', '')}"
        f"{' in a share gamma of its draws' * (round_.defect == 'blind')}; "
        f"gamma = {round_.gamma:g}."
    )


def _board(seed: int, level: Level, played: Game, against: Game) -> None:
    def cell(answer: Guess | None, at: int) -> str:
        if answer is None:
            return "not yet"
        # The defect of a round stays hidden until the player's own answer.
        if played[at - 1] is None:
            return "answered"
        return f"{points.points(answer, seed, level, at)} ({DEFECTS[answer.defect].title})"

    rows = range(1, ROUNDS + 1)
    columns: dict[str, list[str]] = {
        "Round": [str(at) for at in rows],
        "You": [cell(played[at - 1], at) for at in rows],
    }
    if any(against):
        columns["Challenger"] = [cell(against[at - 1], at) for at in rows]
    st.table(columns)
    if any(against):
        yours, theirs = (points.total(each, seed, level) for each in (played, against))
        st.markdown(f"**You: {yours}. Challenger: {theirs}.**")


def _links(seed: int, level: Level, played: Game) -> None:
    """One that restores this page, one for the next player."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        share.copy_link("copy-game")
        if any(played):
            score = points.total(played, seed, level)
            share.copy_link(
                "copy-challenge",
                label=f"Copy challenge: beat my {score} of {points.FULL * ROUNDS}",
                other={"seed": [str(seed)], "level": [level], "against": [points.written(played)]},
            )
    st.caption(
        "The same game number and level give everybody the same ten rounds. The challenge link "
        "carries your answers. It is not protected against cheating."
    )


st.title("Name that defect", anchor=False)
st.caption(
    "Ten rounds. In each, q has one hidden defect, or none. The first plot is free; every further "
    f"plot costs {points.COST} of {points.FULL} points. p is normal, except where q misses a mode."
)
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    level = choice(
        "Level", LEVELS, "level", words=WORDS.__getitem__, draw=st.pills, on_change=_restart
    )
    seed = number("Game", 0, 9999, 0, "seed", on_change=_restart, width=140)
    at = number("Round", 1, ROUNDS, 1, "round", width=140, on_change=_turn)
    st.button("New game", on_click=_new_game, icon=":material/refresh:")
played, against, opened = _game("played"), _game("against"), _opened()
_heading(seed, level, at, played, against)

round_ = rounds.deal(seed, level, at)
drawn = once(("defect-round", round_), partial(plots.simulate_plots, round_))
answer = played[at - 1]
if answer is None:
    shown = [FIRST, *opened]
    _plots(round_, shown, drawn, None)
    _buy(opened)
    _ask(at, seed, level, len(shown))
else:
    _reveal(round_, answer)
    following = _following(played, at)
    if following:
        st.button("Next round", on_click=_turn, args=(following,), type="primary")
    with st.spinner(f"Simulating {plot_power.REPEATS} more rounds with this q…"):
        # Plots of a defect depend on its size alone: all rounds with it share them.
        alike = replace(round_, seed=0, number=1)
        telling = once(("defect-telling", alike), partial(plot_power.estimate_plot_power, alike))
    st.caption(
        f"Red dashes: the mean over {plot_power.REPEATS} other rounds with this q. In the first "
        "plot: the densities p and q at this x."
    )
    _plots(round_, list(PLOTS), drawn, telling)

st.subheader("Scoreboard", anchor=False)
_board(seed, level, played, against)
_links(seed, level, played)
