"""The candidates of a search as models, sorted into the lines along which they are solved."""

from __future__ import annotations

import traceback
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.model_selection.grid.folds import FoldModels
from widemargin.model_selection.grid.setup import Parameters, model_of, prefix_of


class Candidates:
    """Models with the parameters of all candidates.

    Parameters
    ----------
    estimator : estimator or Pipeline
    parameters : sequence of mappings
        Those of each candidate.
    family : type of FoldModels
        What trains such models together.
    raises : bool
        Whether parameters that a model does not accept are an error at once.

    Attributes
    ----------
    estimator, parameters, family
        As given.
    models : list of estimators
        With the parameters of each candidate.
    steps : list of (hashable, dict)
        Parameters of what comes before the model, after a key for them.
    failures : dict
        Candidates whose parameters are not accepted, with the traceback.
    lines : list of tuples of int
        Candidates that differ in nothing but the parameter that chains go along, by its values; without failures.
    line_of : dict
        The number of each candidate's line.
    along : dict
        The parameter that it goes along, as the model knows it.
    """

    def __init__(
        self, estimator: Any, parameters: Sequence[Parameters], family: type[FoldModels], raises: bool
    ) -> None:
        self.estimator, self.parameters, self.family = estimator, parameters, family
        self._given, self._prefix = model_of(estimator), prefix_of(estimator)
        self._names = frozenset(self._given.get_params(deep=False))
        self.models: list[Any] = []
        self.steps: list[tuple[Any, dict[str, Any]]] = []
        names: set[str] = set()
        for one in parameters:
            own, before = (one, (None, {})) if not self._prefix else self._split(one)
            self.models.append(self._model(own))
            self.steps.append(before)
            names.update(own)
        # Options of parts, such as kernel__gamma, change their part.
        self._in_grid = self._names.intersection([name.partition("__")[0] for name in names])
        self.failures: dict[int, str] = {}
        self._check(raises)
        self.along: dict[int, str] = {}
        self._value_along: dict[int, float] = {}
        self.lines = self._sorted()
        self.line_of = {number: at for at, line in enumerate(self.lines) for number in line}

    def kernel_of(self, number: int) -> Hashable:
        """Return what tells the kernel of a candidate from others."""
        return self.steps[number][0], self._values(number, ("kernel", "gamma", "coef0", "degree"))

    def may_follow(self, before: int, after: int) -> bool:
        """Tell whether a chain may go on from one candidate to another; hard margins are found at its end only."""
        return self.line_of[before] == self.line_of[after] and not np.isinf(self._value_along[before])

    def _split(self, parameters: Parameters) -> tuple[Parameters, tuple[Any, dict[str, Any]]]:
        """Return the parameters of the model, by its own names for them, and those of the steps before it."""
        own: dict[str, Any] = {}
        before: dict[str, Any] = {}
        for name, value in parameters.items():
            if name.startswith(self._prefix):
                own[name.removeprefix(self._prefix)] = value
            else:
                before[name] = value
        return own, (tuple([(name, _key(value)) for name, value in sorted(before.items())]), before)

    def _model(self, own: Parameters) -> Any:
        model = self._given._copy(**{name: value for name, value in own.items() if name in self._names})
        parts = {name: value for name, value in own.items() if name not in self._names}
        if parts:
            if is_kernel_object(model.kernel):
                model.kernel = clone(model.kernel)  # other candidates hold the same one
            model.set_params(**parts)
        return model

    def _check(self, raises: bool) -> None:
        """Refuse parameters that mean nothing, alone or together; what an earlier one had is not checked twice."""
        accepted: dict[str, Any] = {}
        known: set[tuple[str, int]] | None = None
        combinations: set[Hashable] = set()
        checked = self._in_grid.difference(self.family.free)
        for number, model in enumerate(self.models):
            own = {(name, id(getattr(model, name))) for name in self._in_grid}
            try:
                if known is None or not own <= known:
                    model._check_values(accepted)
                    known = own | (known or set())
                combination = self._values(number, checked)
                if combination not in combinations:
                    model._check_combination()
                    combinations.add(combination)
            except (TypeError, ValueError):
                if raises:
                    raise
                self.failures[number] = traceback.format_exc()

    def _sorted(self) -> list[tuple[int, ...]]:
        able = [number for number in range(len(self.models)) if number not in self.failures]
        chainable = {number: self.family.chained(self.models[number]) for number in able}
        # A chain goes along a parameter that the candidates differ in, if there is one.
        names_of_all = set[str]().union(*chainable.values())
        values = {name: {getattr(self.models[number], name) for number in able} for name in names_of_all}
        lines: dict[Any, list[int]] = {}
        for number, names in chainable.items():
            along = names[0]
            for name in names:
                if len(values[name]) > 1:
                    along = name
                    break
            others = self._values(number, self._in_grid - {along})
            lines.setdefault((self.steps[number][0], along, others), []).append(number)
            self.along[number] = along
            self._value_along[number] = float(getattr(self.models[number], along))
        return [tuple(sorted(line, key=self._value_along.__getitem__)) for line in lines.values()]

    def _values(self, number: int, names: Iterable[str]) -> Hashable:
        """Return what tells the values of some parameters from those of other candidates."""
        model = self.models[number]
        return tuple([(name, _key(getattr(model, name))) for name in sorted(names)])


def _key(value: Any) -> Any:
    """Make a hashable key of a value; kernel objects count by how they are written.

    What else is not hashable counts by identity.
    """
    if isinstance(value, (str, float, int)):
        return value
    if isinstance(value, dict):
        return tuple(sorted((repr(k), _key(v)) for k, v in value.items()))
    if is_kernel_object(value):
        return repr(as_kernel(value))
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
