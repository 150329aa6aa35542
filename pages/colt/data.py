"""Results of the CoLT page, read from the store once for all sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from pages.ui.services import services, stored, stored_if_there
from pages.ui.trials import trials_read
from validation_core import PowerCell
from validation_core.localization import GammaMapsStudy, LocalRate, Maps, MapTask
from validation_core.localization.over_gamma import GammaMaps
from validation_core.panels.colt import where
from validation_core.panels.colt.power import named
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import collect


@dataclass(frozen=True)
class LocalizerMaps:
    """Maps of one localizer, at every gamma or at one."""

    key: str
    gammas: tuple[float, ...]
    maps: list[Maps]
    stored: tuple[LocalRate, ...] = ()
    """Local rates along x of each ball, where stored."""

    @cached_property
    def rates(self) -> Sequence[LocalRate]:
        """Local rates along x of each ball; computed where not stored."""
        return self.stored or [where.rates(each) for each in self.maps]


def at_every_gamma(study: GammaMapsStudy) -> LocalizerMaps | None:
    """The maps of all gammas; None where the store lacks them."""
    maps = stored_if_there(study)
    return None if maps is None else _of_all(study.key, study, maps)


@st.cache_resource(show_spinner=False, max_entries=16)
def _of_all(key: str, _study: GammaMapsStudy, _maps: GammaMaps) -> LocalizerMaps:
    return LocalizerMaps(key, _study.gammas, _maps.each(), _maps.rates)


@st.cache_resource(show_spinner=False, max_entries=16)
def at_one_gamma(key: str, _task: MapTask, gamma: float) -> LocalizerMaps:
    """The stored map of one gamma; keyed by the task's key."""
    return LocalizerMaps(key, (gamma,), [stored(_task)])


def cells(sweep: Sweep) -> list[PowerCell]:
    """Finished cells of a sweep, under the names of its curves."""
    return named(collect(sweep, services().store, trials_read()).cells)
