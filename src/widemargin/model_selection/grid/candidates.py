"""The candidates of a search as machines, sorted into the lines along which they are solved."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from widemargin.estimators.validation import check_parameters
from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.model_selection.grid.setup import Parameters, machine_of, prefix_of
from widemargin.model_selection.grid.splits import SplitMachines


class Candidates:
    """Machines with the parameters of all candidates.

    Parameters
    ----------
    estimator : machine or Pipeline
    parameters : sequence of mappings
        Those of each candidate.
    family : type of SplitMachines
        What trains such machines together.
    raises : bool
        Whether parameters that a machine does not accept are an error at once.

    Attributes
    ----------
    estimator, parameters, family
        As given.
    machines : list of machines
        With the parameters of each candidate.
    steps : list of (hashable, dict)
        Parameters of what comes before the machine, after a key for them.
    failures : dict
        Candidates whose parameters are not accepted, with the traceback.
    lines : list of tuples of int
        Candidates that differ in nothing but the parameter that chains go along, by its values; without failures.
    """

    def __init__(
        self, estimator: Any, parameters: Sequence[Parameters], family: type[SplitMachines], raises: bool
    ) -> None:
        self.estimator, self.parameters, self.family, self._raises = estimator, parameters, family, raises
        self._given, self._prefix = machine_of(estimator), prefix_of(estimator)
        self._names = frozenset(self._given.get_params(deep=False))
        self.steps = [self._before(one) for one in parameters]
        self.failures: dict[int, str] = {}
        self._accepted: dict[str, Any] = {}
        self.machines = [self._machine(number, one) for number, one in enumerate(parameters)]
        self._along: dict[int, str] = {}
        self._value_along: dict[int, float] = {}
        self.lines = self._sorted()
        self._line_of = {number: at for at, line in enumerate(self.lines) for number in line}

    def along(self, number: int) -> str:
        """Return the parameter that the line of a candidate goes along, as its machine knows it."""
        return self._along[number]

    def kernel_of(self, number: int) -> Hashable:
        """Return what tells the kernel of a candidate from others."""
        machine = self.machines[number]
        names = ("kernel", "gamma", "coef0", "degree")
        return self.steps[number][0], _key({name: getattr(machine, name) for name in names})

    def may_follow(self, before: int, after: int) -> bool:
        """Tell whether a chain may go on from one candidate to another; hard margins are found at its end only."""
        return self._line_of[before] == self._line_of[after] and not np.isinf(self._value_along[before])

    def _before(self, parameters: Parameters) -> tuple[Any, dict[str, Any]]:
        if not isinstance(self.estimator, Pipeline):
            return None, {}
        last = self._prefix
        own = {name: value for name, value in parameters.items() if not name.startswith(last)}
        return _key(own), own

    def _machine(self, number: int, parameters: Parameters) -> Any:
        machine, last = copy.copy(self._given), self._prefix
        own = {name.removeprefix(last): value for name, value in parameters.items() if name.startswith(last)}
        direct = {name: value for name, value in own.items() if name in self._names}
        for name, value in direct.items():
            setattr(machine, name, value)
        if len(direct) < len(own):
            if is_kernel_object(machine.kernel):
                machine.kernel = clone(machine.kernel)  # other candidates hold the same one
            machine.set_params(**{name: own[name] for name in own.keys() - direct.keys()})
        try:
            check_parameters(machine, machine._accepts, self._accepted)
            machine._check_combination()
        except (TypeError, ValueError):
            if self._raises:
                raise
            self.failures[number] = traceback.format_exc()
        return machine

    def _sorted(self) -> list[tuple[int, ...]]:
        able = [number for number in range(len(self.machines)) if number not in self.failures]
        chainable = {number: self.family.chained(self.machines[number]) for number in able}
        # A chain goes along a parameter that the candidates differ in, if there is one.
        names_of_all = set[str]().union(*chainable.values())
        values = {name: {getattr(self.machines[number], name) for number in able} for name in names_of_all}
        last = self._prefix
        keys = {key.removeprefix(last) for one in self.parameters for key in one if key.startswith(last)}
        in_grid = {key.partition("__")[0] for key in keys}.intersection(self._names)
        lines: dict[Any, list[int]] = {}
        for number, names in chainable.items():
            along = next((name for name in names if len(values[name]) > 1), names[0])
            others = {name: getattr(self.machines[number], name) for name in in_grid if name != along}
            lines.setdefault((self.steps[number][0], along, _key(others)), []).append(number)
            self._along[number] = along
            self._value_along[number] = float(getattr(self.machines[number], along))
        return [tuple(sorted(line, key=self._value_along.__getitem__)) for line in lines.values()]


def _key(parameters: Parameters) -> Any:
    """Make a hashable key of parameters; kernel objects count by how they are written.

    What else is not hashable counts by identity.
    """

    def one(value: Any) -> Any:
        if isinstance(value, dict):
            return tuple(sorted((repr(k), one(v)) for k, v in value.items()))
        if is_kernel_object(value):
            return repr(as_kernel(value))
        try:
            hash(value)
        except TypeError:
            return id(value)
        return value

    return tuple((name, one(value)) for name, value in sorted(parameters.items()))
