"""Name that defect: ten rounds, each one plot and four answers; three lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from pages.ui import address, charts, live, share
from pages.ui.forms import choice, number
from pages.ui.once import once
from validation_core.game import plot_power, plots, points, share_card
from validation_core.game.deal import Deal, deal
from validation_core.game.plots import PLOTS
from validation_core.game.points import BEST, LIVES, Game, GameScore
from validation_core.game.rounds import DEFECTS, LEVELS, ROUNDS, Defect, Level
from validation_core.text import count_text, said_equals, share_text

MOVED = "defect-moved-on"  # answers whose round the player has left


def _read(name: str, texts: Sequence[str]) -> tuple[Game, str]:
    read = points.read(texts[-1])
    note = address.unknown(name, texts[-1]) if read is None else ""
    return () if read is None else read, note


def _game(name: str) -> Game:
    """The game with the answers in the address."""
    return address.setting(
        name,
        (),
        lambda: st.session_state[name],
        read=partial(_read, name),
        texts=lambda value: (points.written(value),) if value else (),
    )


def _restart() -> None:
    """Start the game of another seed or level."""
    st.session_state.update({"played": (), "against": (), MOVED: 0})


def _new_game() -> None:
    st.session_state["seed"] = (st.session_state["seed"] + 1) % 10_000
    _restart()


def _answer(answer: Defect, at: int) -> None:
    played: Game = st.session_state["played"]
    if len(played) == at - 1:  # pressed once
        st.session_state["played"] = (*played, answer)


def _move_on() -> None:
    st.session_state[MOVED] = len(st.session_state["played"])


def _heading(at: int, score: GameScore, theirs: GameScore | None) -> None:
    hearts = "♥" * score.lives + "♡" * (LIVES - score.lives)
    lives = f"{hearts} {score.lives} {'life' if score.lives == 1 else 'lives'}"
    words = [f"**Round {at} of {ROUNDS}**", lives, count_text(score.points, "point")]
    if score.streak > 1:
        words.append(f"{score.streak} in a row")
    if theirs is not None:
        words.append(f"to beat: {theirs.points}")
    st.markdown(" · ".join(words))


def _ask(dealt: Deal, at: int) -> None:
    st.markdown("**What is wrong with q?**")
    with st.container(key="answers"):
        for name in dealt.answers:
            st.button(
                DEFECTS[name].title,
                key=f"answer-{name}",
                on_click=_answer,
                args=(name, at),
                width="stretch",
            )


def _reveal(dealt: Deal, answer: Defect, score: GameScore, theirs: Defect | None) -> None:
    """Whether the answer was right, the tell, and what was hidden."""
    hidden = dealt.round
    title = DEFECTS[hidden.defect].title
    if hidden.defect == answer:
        worth = f"{score.streak} point{'s' * (score.streak > 1)}"
        st.success(f"Right: **{title}**. {worth}.", icon=":material/check_circle:")
    else:
        said = DEFECTS[answer].title
        st.error(f"No: **{title}**. You said: {said}.", icon=":material/heart_broken:")
    st.markdown(f"**The tell:** {dealt.tell}")
    st.markdown(hidden.words)
    if theirs is not None:
        st.caption(f"The challenger said: {DEFECTS[theirs].title}.")


def _plot(dealt: Deal, drawn: plots.RoundPlots, telling: plot_power.PlotPower | None) -> None:
    """The round's plot; once answered, with the mean of other rounds with this q."""
    plot, about = dealt.plot, PLOTS[dealt.plot]
    key = f"{dealt.round.seed}-{dealt.round.level}-{dealt.round.number}-{telling is not None}"
    mean = telling.means[plot] if telling else None
    picture = once(
        ("defect-panel", dealt.round, plot, telling is not None),
        partial(plots.panel, plot, drawn, mean=mean),
    )
    words = about.caption
    if telling is not None:
        low, high = telling.interval(plot)
        words = (
            f"Red dashes: mean of {plot_power.REPEATS} other rounds with this q. {about.test}: p "
            f"{said_equals(drawn.pvalues[plot])} here{dealt.chosen_text}; of "
            f"those others it rejects {telling.found[plot]} at 5% "
            f"(95% interval {share_text(low)} to {share_text(high)})."
        )
    charts.captioned(st.container(), about.title, picture, f"defect-{key}", words)


def _hidden_plot(dealt: Deal, drawn: plots.RoundPlots) -> None:
    picture = once(
        ("defect-panel", dealt.round, "draws", True),
        partial(plots.panel, "draws", drawn, dealt.round),
    )
    key = f"defect-{dealt.round.seed}-{dealt.round.level}-{dealt.round.number}-hidden"
    words = "What was hidden: the densities p and q at the first x. Values beyond the axis are "
    charts.captioned(
        st.container(), "p and q at one x", picture, key, words + "counted in the end bars."
    )


def _end(
    score: GameScore, seed: int, level: Level, played: Game, theirs: GameScore | None
) -> None:
    """The end of a game: its result, the card to pass on, and the challenge."""
    st.subheader(
        f"{'All ten rounds' if score.lives else 'Out of lives'}: {score.points} of {BEST} points",
        anchor=False,
    )
    if theirs is not None:
        yours = score.points
        verdict = (
            "You win." if yours > theirs.points
            else "A draw." if yours == theirs.points
            else "The challenger wins."
        )  # fmt: skip
        st.markdown(
            f"**{verdict}** You: {count_text(yours, 'point')}. "
            f"Challenger: {count_text(theirs.points, 'point')}."
        )
    st.image(
        share_card.png(score, seed, level),
        width=420,
        caption=share_card.sentence(score, seed, level),
        alt=share_card.sentence(score, seed, level),
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        share.copy_link(
            "copy-challenge",
            label="Copy challenge link",
            other={"seed": [str(seed)], "level": [level], "against": [points.written(played)]},
        )
        st.download_button(
            "Save the card",
            data=partial(share_card.png, score, seed, level),
            file_name=f"name-that-defect-{level}-{seed}.png",
            mime="image/png",
            on_click="ignore",
            icon=":material/download:",
        )
    st.caption(
        "Everybody with the challenge link gets the same ten rounds, and sees your score at the "
        "end. The link holds your answers; it is not protected against cheating."
    )


def _board(score: GameScore, played: Game, against: Game, seed: int, level: Level) -> None:
    """Both players' answers, of the rounds that this one has answered."""
    rows = range(len(score.right))
    st.table(
        {
            "Round": [str(i + 1) for i in rows],
            "Answer": [DEFECTS[deal(seed, level, i + 1).round.defect].title for i in rows],
            "You": [DEFECTS[played[i]].title for i in rows],
            **(
                {
                    "Challenger": [
                        DEFECTS[against[i]].title if i < len(against) else "" for i in rows
                    ]
                }
                if against
                else {}
            ),
        }
    )


live.one_screen(1.4)
st.title("Name that defect", anchor=False)
play = st.container()  # filled below, once the settings under it are known
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    level = choice(
        "Level",
        LEVELS,
        "level",
        words=share_card.WORDS.__getitem__,
        draw=partial(st.pills, required=True),
        on_change=_restart,
    )
    seed = number("Game", 0, 9999, 0, "seed", on_change=_restart, width=140)
    st.button("New game", on_click=_new_game, icon=":material/refresh:")
    share.copy_link("copy-game")
played, against = _game("played"), _game("against")
score = points.score(played, seed, level)
theirs = points.score(against, seed, level) if against else None
answered = len(score.right)
asking = not score.over and st.session_state.get(MOVED, 0) == answered
at = answered + 1 if asking else answered
with play:
    _heading(at, score, theirs)
    dealt = deal(seed, level, at)
    drawn = once(("defect-round", dealt.round), partial(plots.simulate_plots, dealt.round))
    if asking:
        plot, side = st.columns([2, 1], gap="medium")
        with plot:
            _plot(dealt, drawn, None)
        with side:
            _ask(dealt, at)
            if at == 1:
                st.caption(
                    f"One plot a round, four answers. A right one is worth as many points as you "
                    f"have right in a row; {LIVES} wrong ones end the game. p is normal, except "
                    "where q misses a mode."
                )
    else:
        if score.over:
            _end(score, seed, level, played, theirs)
            st.button("Play another game", on_click=_new_game, type="primary")
        with st.spinner(f"Simulating {plot_power.REPEATS} more rounds with this q…"):
            # Plots of a defect depend on its size alone: all rounds with it share them.
            other = replace(dealt.round, seed=0, number=1)
            telling = once(
                ("defect-telling", other), partial(plot_power.estimate_plot_power, other)
            )
        left, right = st.columns([2, 1], gap="large")
        with left:
            _plot(dealt, drawn, telling)
        with right:
            said = against[at - 1] if theirs and at <= len(theirs.right) else None
            _reveal(dealt, played[at - 1], score, said)
            if not score.over:
                st.button("Next round", on_click=_move_on, type="primary")
        _hidden_plot(dealt, drawn)
        if score.over:
            _board(score, played, against, seed, level)
