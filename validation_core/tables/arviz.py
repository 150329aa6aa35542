"""ArviZ files (InferenceData, DataTree in netCDF-4): posterior draws in groups, by named axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.hdf5_file import Hdf5File, HdfMember, is_dataset, is_dimension_scale
from validation_core.tables.named_axes import Arranged, Axes, Pairing
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
    """A variable of a group, and how its axes come to stand."""

    name: str
    group: str
    dataset: h5py.Dataset
    header: ArrayHeader
    axes: Axes
    arranged: Arranged

    @property
    def sims(self) -> int | None:
        """Simulations; None without such an axis."""
        return self._shape[0] if self.arranged.sims else None

    @property
    def draws(self) -> int | None:
        """Chains times draws; None without either axis, or for an empty variable."""
        some = self.arranged.draws and 0 not in self.header.shape
        return self._shape[self.arranged.sims] if some else None

    @property
    def own(self) -> tuple[int, ...]:
        """Lengths of its other axes."""
        return self._shape[self.arranged.sims + bool(self.arranged.draws) :]

    @property
    def lengths(self) -> dict[str, int]:
        """Lengths of its other axes by name."""
        own = self.arranged.axes[self.arranged.sims + self.arranged.draws :]
        return {self.axes.dims[i]: self.header.shape[i] for i in own}

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.arranged.shape(self.header.shape)

    @property
    def columns(self) -> int:
        """Numbers at each draw."""
        return math.prod(self.own)

    @property
    def labels(self) -> Iterator[str]:
        """A label for each number: `mu`; `mu[0]` or `mu[mass]` where there are several."""
        for cell in self.arranged.cells(self.own):
            yield f"{self.name}[{cell}]" if self.own else self.name

    def load(self, file: Hdf5File) -> NDArray[np.generic]:
        """Its numbers: simulations, then chains, draws, and its own axes."""
        return self.arranged.of(file.load(self.dataset, self.name))

    def paired(self, pairing: Pairing, *, drawn: bool) -> Variable:
        """The variable in the order of those that were paired before it.

        Args:
            pairing: what pairs them.
            drawn: whether it is of q's draws.
        """
        name = f"{self.group}/{self.name}"
        parameter = drawn or self.group in _TRUTHS
        group = self.name if parameter else name
        return self._replace(arranged=pairing.arrange(name, self.axes, group, drawn=drawn))


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
            header, axes = file.header(dataset, name), file.axes(dataset)
            if len(axes.dims) == len(header.shape):
                alone = Pairing().arrange(name, axes, name, drawn=False)
                variables.append(Variable(name, group, dataset, header, axes, alone))
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
        pairing = Pairing()
        posterior = [v.paired(pairing, drawn=True) for v in posterior]
        found = self._truths(posterior)
        self._truth = {name: v.paired(pairing, drawn=False) for name, v in found.items()}
        by_name = {v.name: v for v in posterior}
        self._drawn = [v for name, v in by_name.items() if name in self._truth]
        self._data = [v.paired(pairing, drawn=False) for v in self._observations()]
        quantities, alone = self._find_quantities()
        beside = {role: [one] for role, one in self._find_weights().items()} | quantities
        self._beside = {
            role: [v.paired(pairing, drawn=role.endswith("_draws")) for v in several]
            for role, several in beside.items()
        }
        read = {*self._truth, *(v.name for several in self._beside.values() for v in several)}
        unread = [name for name in by_name if name not in read]
        self.notes = (
            *roles.unread_notes(unread, "without true values"),
            *roles.unread_notes(alone, f"not at the true values too, in {_TRUE_QUANTITIES[0]}"),
            *(n for v in (*self._truth.values(), *self._data) for n in v.arranged.notes),
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
                and _equally_long(v, wanted[name])
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


def _equally_long(one: Variable, other: Variable) -> bool:
    """Whether the own axes of two variables have the same lengths, by their names if these are
    the same."""
    mine, others = one.lengths, other.lengths
    return mine == others if mine.keys() == others.keys() else one.own == other.own


def _common_working_dtype(variables: Sequence[Variable]) -> np.dtype[np.generic]:
    """The type that holds the numbers of all these variables once they are read."""
    return np.result_type(*(working_dtype(v.header.dtype) for v in variables))


def _declared_dtype(variables: Sequence[Variable]) -> np.dtype[np.generic]:
    """The type that holds the numbers of all these variables as the file has them."""
    return np.result_type(*(v.header.dtype for v in variables))
