"""ArviZ files (InferenceData, DataTree in netCDF-4): posterior draws in groups, by named axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.axis_names import CHAINS, DRAWS, SIMULATIONS
from validation_core.tables.hdf5_file import Hdf5File, HdfMember, is_dataset, is_dimension_scale
from validation_core.tables.source import ArrayHeader, Order, label_header, working_dtype

if TYPE_CHECKING:
    import h5py

# Variables of the posterior have the dimensions of simulations, chain, draw, and their own; the
# truths have the same names in one of these groups.
_TRUTHS = ("truth", "true_parameters", "prior")
_WEIGHTS = ("sample_stats", "posterior")
"""Groups whose weights are those of draws."""
_TRUE_WEIGHTS = ("sample_stats_prior", *_TRUTHS)
_QUANTITIES = ("sample_stats", "log_likelihood", "posterior")
"""Groups whose quantities are those of draws."""
_TRUE_QUANTITIES = ("sample_stats_prior", "log_likelihood_prior", *_TRUTHS)
_LOG_JOINT = ("lp", "log_joint")
_DATA = ("observed_data", "prior_predictive", "constant_data")
_HOW = (
    "Save a group posterior whose variables have the dimensions sim, chain and draw, a group "
    "truth with the same variables over sim, and the data over sim in observed_data."
)


class Variable(NamedTuple):
    """A variable with its axes sorted: simulations, chains, draws, then its own."""

    name: str
    dataset: h5py.Dataset
    dtype: np.dtype[np.generic]
    axes: tuple[int, ...]
    """Its axes in that order; simulations, chains and draws may each be missing."""
    sims: int | None
    """Simulations; None without such an axis."""
    draws: int | None
    """Chains times draws; None without either axis."""
    own: tuple[int, ...]
    """Lengths of its other axes."""

    @property
    def columns(self) -> int:
        """Numbers at each draw."""
        return math.prod(self.own)

    @property
    def labels(self) -> Iterator[str]:
        """A label for each number: `mu`; `mu[0]`, `mu[1]` where there are several."""
        for place in np.ndindex(*self.own):
            yield f"{self.name}[{','.join(map(str, place))}]" if place else self.name

    def load(self, file: Hdf5File) -> NDArray[np.generic]:
        """Its numbers: simulations, then chains, draws, and its own axes."""
        return file.load(self.dataset, self.name).transpose(self.axes)


def group_variables(file: Hdf5File, groups: Mapping[str, HdfMember], group: str) -> list[Variable]:
    """Return the variables of a group that hold numbers; text is passed over.

    Args:
        file: the open file.
        groups: members of its root by name.
        group: name of the group; without it there are none.
    """
    if group not in groups:
        return []
    variables = []
    for name, dataset in file.members(groups[group]).items():
        if (
            hasattr(dataset, "dtype")
            and not is_dimension_scale(dataset)
            and dataset.dtype.kind in "fiub"
        ):
            header = file.header(dataset, name)
            dims = file.dims(dataset)
            if len(dims) == len(header.shape):
                variables.append(_with_axes(name, dataset, header, dims))
    return variables


class ArviZTree:
    """A table in the groups of an ArviZ file.

    Args:
        file: the open file.
        groups: members of its root by name.

    Raises:
        ValueError: for groups or dimensions that are missing, or that do not fit each other.
    """

    order: Order | None = "NKD"

    def __init__(self, file: Hdf5File, groups: Mapping[str, HdfMember]) -> None:
        self._file = file
        self._groups = {n: g for n, g in groups.items() if not is_dataset(g)}
        self.notes: tuple[str, ...] = ()
        posterior = [v for v in self._variables("posterior") if v.draws is not None]
        if not posterior or any(v.sims is None for v in posterior):
            raise ValueError(
                f"An ArviZ file must hold posterior draws for many simulations; missing: a "
                f"dimension of simulations in the group posterior; got: "
                f"{roles.names_text(self._groups)}. {_HOW}"
            )
        self._sizes = (posterior[0].sims or 0, posterior[0].draws or 0)
        self._check_sizes(posterior)
        self._truth = self._truths(posterior)
        by_name = {v.name: v for v in posterior}
        self._drawn = [v for name, v in by_name.items() if name in self._truth]
        self._data = self._observations()
        self._beside = {role: [one] for role, one in self._find_weights().items()}
        quantities, alone = self._find_quantities()
        self._beside |= quantities
        read = {*self._truth, *(v.name for several in self._beside.values() for v in several)}
        unread = [name for name in by_name if name not in read]
        self.notes = (
            *roles.unread_notes(unread, "without true values"),
            *roles.unread_notes(alone, f"not at the true values too, in {_TRUE_QUANTITIES[0]}"),
        )

    def close(self) -> None:
        self._file.close()

    def _variables(self, group: str) -> list[Variable]:
        return group_variables(self._file, self._groups, group)

    def _check_sizes(self, drawn: Sequence[Variable]) -> None:
        sizes = sorted({(v.sims, v.draws) for v in drawn}, key=str)
        if len(sizes) > 1:
            raise ValueError(
                f"The variables of the group posterior must have equally many simulations and "
                f"draws; got {roles.names_text(map(str, sizes))}. {_HOW}"
            )

    def _truths(self, drawn: Sequence[Variable]) -> dict[str, Variable]:
        """The truth of each variable, from the first group that has any of them.

        Raises:
            ValueError: when no group has one.
        """
        wanted = {v.name: v for v in drawn}
        for group in _TRUTHS:
            members = {v.name: v for v in self._variables(group) if self._at_each(v)}
            truths = {
                name: v
                for name, v in members.items()
                if name in wanted
                and v.own == wanted[name].own
                and _quantity_role(group, name) is None
            }
            if truths:
                return truths
        raise ValueError(
            "An ArviZ file must hold the true values that were simulated; missing: a group "
            f"truth, true_parameters or prior with {roles.names_text(wanted)} for "
            f"{self._sizes[0]:,} simulations; got: {roles.names_text(self._groups)}. {_HOW}"
        )

    def _observations(self) -> list[Variable]:
        """The data of each simulation, from the first group that has any; none without one.

        Raises:
            ValueError: when groups of data hold variables of another length alone.
        """
        present = [group for group in _DATA if self._variables(group)]
        for group in present:
            observations = [v for v in self._variables(group) if self._at_each(v)]
            if observations:
                return observations
        if not present:
            return []
        raise ValueError(
            f"The data of an ArviZ file must be of each simulation; missing: variables over "
            f"{self._sizes[0]:,} simulations in {roles.names_text(present)}; got: "
            f"{roles.names_text(self._groups)}. {_HOW}"
        )

    def _find_weights(self) -> dict[str, Variable]:
        """Weights of draws and of true values, by role."""
        found: dict[str, Variable] = {}
        for stem in ("log_w", "w"):
            aliases = {*roles.ROLES[stem], *roles.ROLES[f"{stem}_draws"]}
            sides = ((f"{stem}_draws", _WEIGHTS), (stem, _TRUE_WEIGHTS))
            for role, groups in sides:
                for variable in (v for group in groups for v in self._variables(group)):
                    n, k = self._sizes
                    of_draws = (variable.sims, variable.draws) == (n, k)
                    fits = of_draws if role.endswith("_draws") else self._at_each(variable)
                    if variable.name in aliases and not variable.own and fits:
                        found.setdefault(role, variable)
        return found

    def _find_quantities(self) -> tuple[dict[str, list[Variable]], list[str]]:
        """Log densities and own quantities, by role, each as variables of which it is the sum;
        and names of those that draws have alone."""
        n, k = self._sizes
        found: dict[str, list[Variable]] = {}
        for groups, ending in ((_QUANTITIES, "_draws"), (_TRUE_QUANTITIES, "")):
            for group in groups:
                for variable in self._variables(group):
                    role = _quantity_role(group, variable.name)
                    of_draws = (variable.sims, variable.draws) == (n, k)
                    if role is not None and (of_draws if ending else self._at_each(variable)):
                        found.setdefault(f"{role}{ending}", []).append(variable)
        stems = [role.removesuffix("_draws") for role in found if role.endswith("_draws")]
        pairs = [role for stem in stems if stem in found for role in (stem, f"{stem}_draws")]
        alone = [v.name for stem in stems if stem not in found for v in found[f"{stem}_draws"]]
        return {role: found[role] for role in pairs}, alone

    def _at_each(self, variable: Variable) -> bool:
        """Whether a variable has one value for each simulation: prior draws are simulations."""
        n = self._sizes[0]
        if variable.sims is not None:
            return variable.sims == n and variable.draws in (None, 1)
        return variable.draws == n

    def headers(self) -> Mapping[str, ArrayHeader]:
        n, k = self._sizes
        d, m = (sum(v.columns for v in many) for many in (self._drawn, self._data))
        truth = [self._truth[v.name] for v in self._drawn]
        headers = {
            "theta": ArrayHeader((n, d), _declared_dtype(truth)),
            "theta_q": ArrayHeader((n, k, d), _declared_dtype(self._drawn)),
            "theta_names": label_header(d),
            **{
                role: ArrayHeader(
                    (n, k) if role.endswith("_draws") else (n,), _declared_dtype(several)
                )
                for role, several in self._beside.items()
            },
        }
        if m:
            headers["x"] = ArrayHeader((n, m), _declared_dtype(self._data))
            headers["x_names"] = label_header(m)
        return headers

    def load(self, name: str) -> NDArray[np.generic]:
        truth = [self._truth[v.name] for v in self._drawn]
        of = {"theta": truth, "theta_q": self._drawn, "theta_names": self._drawn}
        if name in self._beside:
            rows = self._sizes if name.endswith("_draws") else self._sizes[:1]
            every = [self._load(one) for one in self._beside[name]]
            dtype = _common_working_dtype(self._beside[name])
            parts = [one.reshape(*rows, -1).astype(dtype) for one in every]
            whole = np.concatenate(parts, axis=-1)
            return whole[..., 0] if whole.shape[-1] == 1 else whole.sum(axis=-1, dtype=dtype)
        variables = of.get(name, self._data)
        if name.endswith("_names"):
            return np.array([roles.label(label) for v in variables for label in v.labels])
        rows = self._sizes if name == "theta_q" else self._sizes[:1]
        if len(variables) == 1:
            return self._load(variables[0]).reshape(*rows, -1)
        array = np.empty(
            (*rows, sum(v.columns for v in variables)), _common_working_dtype(variables)
        )
        done = 0
        for variable in variables:
            numbers = self._load(variable)
            columns = array[..., done : done + variable.columns]
            columns.reshape(numbers.shape)[...] = numbers  # a view: only axes are split
            done += variable.columns
        return array

    def _load(self, variable: Variable) -> NDArray[np.generic]:
        array = variable.load(self._file)
        self.notes += self._file.new_notes()
        return array


def _quantity_role(group: str, name: str) -> str | None:
    """The role of a variable that is a log density or an own quantity; None for others."""
    if roles.is_quantity(name.lower()):
        return name.removesuffix(roles.DRAWS_OF_QUANTITY)
    if group.startswith("log_likelihood") or name == "log_likelihood":
        return "log_likelihood"
    return "log_joint" if name in _LOG_JOINT else None


def _with_axes(
    name: str, dataset: h5py.Dataset, header: ArrayHeader, dims: tuple[str, ...]
) -> Variable:
    """A variable with its axes sorted by the names of its dimensions."""
    groups = (SIMULATIONS, CHAINS, DRAWS)
    places = [[i for i, dim in enumerate(dims) if dim in group][:1] for group in groups]
    special = [i for place in places for i in place]
    own = [i for i in range(len(dims)) if i not in special]
    sims, chains, draws = (header.shape[place[0]] if place else None for place in places)
    merged = None if draws is None and chains is None else (draws or 1) * (chains or 1)
    if 0 in header.shape:
        merged = None
    return Variable(
        name=name,
        dataset=dataset,
        dtype=header.dtype,
        axes=(*special, *own),
        sims=sims,
        draws=merged,
        own=tuple(header.shape[i] for i in own),
    )


def _common_working_dtype(variables: Sequence[Variable]) -> np.dtype[np.generic]:
    """The type that holds the numbers of all these variables once they are read."""
    return np.result_type(*(working_dtype(v.dtype) for v in variables))


def _declared_dtype(variables: Sequence[Variable]) -> np.dtype[np.generic]:
    """The type that holds the numbers of all these variables as the file has them."""
    return np.result_type(*(v.dtype for v in variables))
