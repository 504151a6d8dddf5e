"""What a model search looks for: parameters of a kernel and C, as points on a scale without bounds, and back."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin.kernels import Kernel
from widemargin.strategies import Space

Vector = NDArray[np.float64]
Range = tuple[float, float]

#: Where C is looked for unless told otherwise: what `select` can come to, in round numbers.
C_RANGE: Range = (1e-4, 1e6)

PRICE = "C"


class Bounds(NamedTuple):
    """The ends of a range, and the distribution that it is the support of, if it was given as one."""

    low: float
    high: float
    distribution: Any = None


class Axis(NamedTuple):
    """A coordinate: of the kernel's `theta`, or of log C or a whole number, whose `place` is None.

    `parameter` is what the kernel calls it, `name` tells the numbers of one parameter apart. Those that are no
    logarithms of their parameters are shown as they are. A `distribution` is one of the parameter itself.
    """

    parameter: str
    name: str
    place: int | None
    logarithmic: bool
    low: float
    high: float
    whole: bool = False
    distribution: Any = None

    def quantile(self, shares: Vector) -> Vector:
        """Return the coordinates that so large a share of the distribution lies below.

        Examples
        --------
        >>> from scipy.stats import loguniform
        >>> price_axis(Bounds(0.01, 100.0, loguniform(0.01, 100.0))).quantile(np.array([0.5])).round(12).tolist()
        [0.0]
        """
        values = np.asarray(self.distribution.ppf(shares), dtype=np.float64)
        return np.log(values) if self.logarithmic else values


class ParameterSpace:
    """Parameters that are searched, and how points stand for them.

    A point holds what is searched of the kernel's `theta`, in its order, then whole numbers, then log C.

    Parameters
    ----------
    kernel : Kernel
        With numbers for all its parameters: those to begin with, and to stay with for parameters that are not searched.
    C : float
        Likewise.
    axes : sequence of Axis
        Coordinates of points.

    Attributes
    ----------
    names : list of str
        Of the coordinates.
    searches_c : bool
        Whether C is one of them.
    places : ndarray of int
        Which numbers of `theta` are searched.
    whole : list of str
        Parameters of the kernel that are whole numbers.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> space = ParameterSpace(Gaussian(gamma=0.5), 1.0, [price_axis(Bounds(0.01, 100.0))])
    >>> space.at(np.array([0.0]))
    (Gaussian(gamma=0.5), 1.0)
    """

    def __init__(self, kernel: Kernel, C: float, axes: Sequence[Axis]) -> None:
        self.kernel, self.C, self.axes = kernel, C, tuple(axes)
        self.names = [axis.name for axis in axes]
        places = [axis.place for axis in axes if axis.place is not None]
        self.whole = [axis.parameter for axis in axes if axis.whole]
        self.searches_c = len(places) + len(self.whole) < len(axes)
        self.places = np.array(places, dtype=np.intp)
        self._theta = kernel.theta
        self._searches_theta = len(places) == len(self._theta)

    def box(self) -> Space:
        """Return start and bounds of points."""
        own = self.kernel.whole_numbers
        numbers = [float(own[name]) for name in self.whole]
        start = np.concatenate([self._theta[self.places], numbers, [math.log(self.C)] * self.searches_c])
        bounds = np.array([(axis.low, axis.high) for axis in self.axes], dtype=np.float64)
        quantiles = {place: axis.quantile for place, axis in enumerate(self.axes) if axis.distribution is not None}
        whole = np.array([axis.whole for axis in self.axes])
        return Space(start, bounds[:, 0], bounds[:, 1], whole=whole, quantiles=quantiles)

    def at(self, point: Vector) -> tuple[Kernel, float]:
        """Return the kernel and the C that a point stands for."""
        count = len(self.places)
        kernel = self.kernel
        if count:
            theta = point[:count]
            if not self._searches_theta:
                theta = self._theta.copy()
                theta[self.places] = point[:count]
            kernel = kernel.clone_with_theta(theta)
        if self.whole:
            numbers = zip(self.whole, point[count:], strict=False)  # log C may come after them
            kernel = clone(kernel).set_params(**{name: round(float(number)) for name, number in numbers})
        return kernel, math.exp(point[-1]) if self.searches_c else self.C

    def chosen(self, point: Vector) -> tuple[Kernel, float]:
        """Return the kernel and the C of a point for good: parameters that are not searched are what they were."""
        kernel, C = self.at(point)
        searched, own, kept = {axis.parameter for axis in self.axes}, self.kernel.get_params(), {}
        for one in kernel.hyperparameters:
            name = _spelt(one.name, own)
            if one.name not in searched and name in own:
                kept[name] = own[name]
        return clone(kernel).set_params(**kept), C

    def edges(self, point: Vector) -> dict[str, str]:
        """Name the coordinates that are at the end of their ranges."""
        found = {}
        for coordinate, axis in zip(point, self.axes, strict=True):
            if not axis.low < coordinate < axis.high:
                found[axis.name] = "smallest" if coordinate <= axis.low else "largest"
        return found


def price_axis(bounds: Bounds) -> Axis:
    """Return the coordinate log C."""
    low, high = math.log(bounds.low), math.log(bounds.high)
    return Axis(PRICE, PRICE, None, True, low, high, distribution=bounds.distribution)


def _spelt(name: str, own: Mapping[str, Any]) -> str:
    """Return what a kernel's parameters call a searchable one: an object that holds scikit-learn's has it inside."""
    return name if name in own else f"kernel__{name}"


def kernel_axes(kernel: Kernel) -> list[Axis]:
    """List the coordinates of a kernel, within its bounds.

    Examples
    --------
    >>> from widemargin.kernels import DiagonalGaussian
    >>> [axis.name for axis in kernel_axes(DiagonalGaussian(gammas=[1.0, 2.0]))]
    ['gammas[0]', 'gammas[1]']
    """
    axes: list[Axis] = []
    own, theta, bounds = kernel.get_params(), kernel.theta, kernel.bounds
    for one in kernel.hyperparameters:
        if one.fixed:
            continue
        places = range(len(axes), len(axes) + one.n_elements)
        labels, values = _labelled(own.get(_spelt(one.name, own), ()))
        logarithmic = len(values) == len(places) and bool(np.allclose(np.exp(theta[places]), values))
        for label, place in zip(labels if len(labels) == len(places) else range(len(places)), places, strict=True):
            name = one.name if one.n_elements == 1 else f"{one.name}[{label}]"
            low, high = map(float, bounds[place])
            axes.append(Axis(one.name, name, place, logarithmic, low, high))
    return axes


def _labelled(given: Any) -> tuple[list[Any], Vector]:
    """Return the numbers of a parameter, without those that are 0 and have no logarithm, and their places or names.

    Examples
    --------
    >>> _labelled([1.0, 0.0, 2.0])[0], _labelled({"ATG": 2.0})[0]
    ([0, 2], ['ATG'])
    """
    labels = list(given) if isinstance(given, Mapping) else range(np.size(given))
    values = np.ravel(np.asarray(list(given.values()) if isinstance(given, Mapping) else given, dtype=np.float64))
    return [label for label, value in zip(labels, values, strict=True) if value != 0.0], values[values != 0.0]


def searched_axes(
    kernel: Kernel, C: float, given: Mapping[str, Any] | None, c_range: Range, prefix: str = ""
) -> tuple[list[Axis], Bounds | None]:
    """Return the coordinates that are searched of a kernel, and the range of C if that is to be chosen.

    Parameters
    ----------
    kernel : Kernel
        With numbers.
    C : float
        Not to be chosen if it is infinite.
    given : mapping or None
        Bounds or distributions by name; parameters that it does not name stay as they are. None searches all, the
        kernel's within their own bounds.
    c_range : pair of floats
        Where to look for C if nobody says.
    prefix : str
        What names of the model's parameters begin with.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> searched_axes(Gaussian(gamma=1.0), 1.0, {"C": (0.1, 10.0)}, C_RANGE)
    ([], Bounds(low=0.1, high=10.0, distribution=None))
    """
    axes, whole = kernel_axes(kernel), kernel.whole_numbers
    if given is None:
        return axes, Bounds(*c_range) if math.isfinite(C) else None
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"space must be None or bounds by name, such as {{'C': (0.1, 100.0)}}; got {given!r}.")
    found: list[Axis] = []
    price: Bounds | None = None
    for name, bounds in given.items():
        short = str(name).removeprefix(prefix) if str(name).startswith(prefix) else ""
        own = [axis for axis in axes if axis.parameter == short.removeprefix("kernel__")]
        number = short if short in whole else short.removeprefix("kernel__")
        own += [Axis(number, number, None, False, 0.0, 0.0, whole=True)] * (number in whole)
        if {axis.parameter for axis in own} & {axis.parameter for axis in found}:
            raise ValueError(f"space names {name!r} in two ways; one is enough.")
        if short == PRICE and math.isfinite(C):
            price = _bounds(name, bounds, positive=True)
        elif own and own[0].whole:
            low, high, distribution = _bounds(name, bounds, whole=True)
            for end in (low, high):
                clone(kernel).set_params(**{number: int(end)}).fitted(None)  # which refuses what means nothing
            found.append(own[0]._replace(low=low, high=high, distribution=distribution))
        elif own:
            low, high, distribution = _bounds(name, bounds, positive=own[0].logarithmic)
            low, high = (math.log(low), math.log(high)) if own[0].logarithmic else (low, high)
            found += [axis._replace(low=low, high=high, distribution=distribution) for axis in own]
        else:
            accepted = [PRICE] * math.isfinite(C) + list(dict.fromkeys(axis.parameter for axis in axes)) + list(whole)
            names = ", ".join(repr(prefix + one) for one in accepted) or "there is nothing"
            raise ValueError(f"space names {name!r}, which cannot be searched here; what can is {names}.")
    return sorted(found, key=lambda axis: (axis.whole, axis.place or 0)), price


def _bounds(name: str, given: Any, *, positive: bool = False, whole: bool = False) -> Bounds:
    """Check that bounds are two numbers, the lower one first, or a distribution between two such."""
    above = " above 0" if positive else ""
    what = "whole numbers" if whole else "numbers"
    if hasattr(given, "ppf") and hasattr(given, "dist"):
        return _support(name, given, positive, whole)
    is_pair = isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) and len(given) == 2
    kind = numbers.Integral if whole else numbers.Real
    if is_pair and all(isinstance(one, kind) and math.isfinite(one) for one in given):
        low, high = map(float, given)
        if low < high and (low > 0.0 or not positive):
            return Bounds(low, high)
    raise ValueError(
        f"space[{name!r}] must be two {what}{above}, the smaller one first; got {given!r}, where frozen distributions "
        "of scipy.stats are accepted as well."
    )


def _support(name: str, distribution: Any, positive: bool, whole: bool) -> Bounds:
    """Return the ends of a frozen distribution of scipy."""
    own = f"{distribution.dist.name}{distribution.args}"
    ends = distribution.support()
    if np.size(ends[0]) != 1 or np.size(ends[1]) != 1:
        raise ValueError(f"space[{name!r}] must be one distribution, and not an array of them; got {own}.")
    low, high = (float(np.ravel(end)[0]) for end in ends)
    if not (math.isfinite(low) and math.isfinite(high) and low < high and (low > 0.0 or not positive)):
        above = ", the lower one above 0" if positive else ""
        raise ValueError(
            f"space[{name!r}] must be a distribution between two finite numbers{above}, such as "
            f"{'randint(1, 5)' if whole else 'loguniform(0.01, 100)'}; {own} has values from {low:g} to {high:g}."
        )
    some = np.asarray(distribution.ppf(np.linspace(0.0, 1.0, 65)[1:]))
    if whole and (some != np.round(some)).any():
        raise ValueError(f"space[{name!r}] must be a distribution of whole numbers, such as randint(1, 5); got {own}.")
    return Bounds(low, high, distribution)
