"""Checks of what comes with a batch: classes, labels, weights and ids."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.validation import check_weights, priced, require_kernel
from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.machines.dual import Vector

#: Labels that messages show.
SHOWN = 10

#: Kinds of arrays of numbers.
NUMBERS = "biuf"


def require_no_gram(name: str, value: Any) -> None:
    """Refuse a precomputed kernel, and what is no kernel at all."""
    if isinstance(value, str) and value == "precomputed":
        raise ValueError(
            "kernel='precomputed' has no values for samples that are yet to come; pass the name of another kernel, a "
            "kernel object or a callable."
        )
    require_kernel(name, value)


def takes_from_data(kernel: Any, gamma: Any) -> bool:
    """Whether a kernel has parameters that it takes from the samples.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> takes_from_data("rbf", "scale"), takes_from_data("linear", "scale"), takes_from_data(Gaussian(2.0), "scale")
    (True, False, False)
    """
    if isinstance(kernel, str):
        return gamma == "scale" and kernel != "linear"
    return is_kernel_object(kernel) and as_kernel(kernel).leaves_to_data


def listed(values: list[Any]) -> str:
    """Write the first few values.

    Examples
    --------
    >>> listed(["a", 1]), listed(list(range(12)))
    ("'a', 1", '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...')
    """
    return ", ".join([*map(repr, values[:SHOWN]), *["..."] * (len(values) > SHOWN)])


def require_labels(y: Any) -> None:
    """Refuse targets that are no class labels."""
    with warnings.catch_warnings():
        # A batch may hold few samples of many classes.
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
        check_classification_targets(y)


def classes_of(classes: Any) -> NDArray[Any]:
    """Return the classes that were given, sorted, or say why these are none.

    Examples
    --------
    >>> classes_of(["no", "yes", "no"]).tolist()
    ['no', 'yes']
    """
    given = np.asarray(classes, dtype=object)
    if given.ndim != 1:
        raise ValueError(f"classes is {classes!r}; it must be a list or array of all classes that may ever occur.")
    if len({isinstance(one, str) for one in given}) > 1:
        raise ValueError(f"classes must hold strings or numbers, not both; got {given.tolist()!r}.")
    if any(one is None or one != one for one in given):
        raise ValueError(f"classes must not hold missing values; got {given.tolist()!r}.")
    found = np.unique(np.asarray(classes))
    if len(found) < 2:
        raise ValueError(f"classes must hold at least two classes; got {found.tolist()!r}.")
    return found


def class_numbers(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the numbers of labels among the sorted classes; refuse those that are not there.

    Examples
    --------
    >>> class_numbers(np.array(["yes", "no"]), np.array(["no", "yes"])).tolist()
    [1, 0]
    """
    if (y.dtype.kind in NUMBERS) == (classes.dtype.kind in NUMBERS):
        try:
            found = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
            unseen = np.asarray(classes[found] != y, dtype=bool)
        except TypeError:  # labels that cannot be compared
            unseen = np.ones(len(y), dtype=bool)
    else:
        unseen = np.ones(len(y), dtype=bool)
    if unseen.any():
        labels = list(dict.fromkeys(y[unseen].tolist()))
        with_order = len({type(label) for label in labels}) == 1
        labels = sorted(labels) if with_order else labels
        some = labels[:SHOWN] + ["..."] * (len(labels) > SHOWN)
        raise ValueError(
            f"The target label(s) {some} in y do not exist in the initial classes {classes}; classes must hold all "
            "that may ever occur."
        )
    return found


def weights_of(sample_weight: Any, n: int) -> Vector:
    """Read sample weights, all of which may be 0 here.

    Examples
    --------
    >>> weights_of([0, 0], 2).tolist(), weights_of(None, 2).tolist()
    ([0.0, 0.0], [1.0, 1.0])
    """
    return check_weights(sample_weight, n, one_above_zero=False)


def require_finite_prices(weights: Vector, C: float) -> None:
    """Refuse weights whose products with C are all 0 in float64, or one of them beyond it."""
    infinite = ~np.isfinite(priced(weights, C))
    if infinite.any():
        row = int(infinite.argmax())
        raise ValueError(
            f"C times the weight of row {row}, {C:g} times {weights[row]:g}, is beyond float64; lower C or the weights."
        )


def ids_of(ids: Any, n: int) -> NDArray[Any] | None:
    """Read the ids of samples, if there are any.

    Examples
    --------
    >>> ids_of(["a", "b"], 2).tolist(), ids_of(None, 2)
    (['a', 'b'], None)
    """
    if ids is None:
        return None
    given, names = np.asarray(ids, dtype=object), np.asarray(ids)
    if names.shape != (n,):
        raise ValueError(f"ids has the shape {names.shape}, expected {(n,)}: one id for every row of X.")
    if names.dtype.kind not in "fO" and len({isinstance(name, str | bytes) for name in given}) <= 1:
        return names
    for row, name in enumerate(given):
        if name is None or name != name or not isinstance(name, Hashable):
            raise ValueError(f"ids holds {name!r} at row {row}; an id must be a number or a string.")
    return names if names.dtype.kind == "f" else given
