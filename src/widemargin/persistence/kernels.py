"""Kernel objects in model files: classes by name from a closed list, numbers as JSON holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as theirs

from widemargin import kernels as ours
from widemargin.kernels import Kernel
from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.rows import KernelParameters
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.persistence.archive import Fields, ModelFileError, from_json, shortened, to_json

#: Kernels that a file may hold, by the names they have there.
CLASSES: dict[str, type] = {
    **{
        one.__name__: one
        for one in (
            *(ours.Gaussian, ours.DiagonalGaussian, ours.GeneralGaussian, ours.Mahalanobis, ours.Linear),
            *(ours.MaskedGaussian, ours.Polynomial, ours.Constant, ours.Sum, ours.Product, ours.Scaled),
            *(ours.Power, ours.Normalized, ours.Oligo, ours.CombinedOligo, ours.WeightedOligo, ours.TripletOligo),
            *(ours.Spectrum, ours.Gapped, ours.BothStrands),
        )
    },
    **{
        f"sklearn.{one.__name__}": one
        for one in (
            *(theirs.RBF, theirs.Matern, theirs.RationalQuadratic, theirs.ExpSineSquared, theirs.DotProduct),
            *(theirs.ConstantKernel, theirs.Sum, theirs.Product, theirs.Exponentiation),
        )
    },
}

_NAMES = {cls: name for name, cls in CLASSES.items()}

#: Parameters that hold several values and are no arrays of numbers.
_TUPLES = ("fixed", "lengths")

#: Kernels within kernels; more of them are an attempt to stop whoever reads the file.
_DEEPEST = 32


def describe_kernel(kernel: Any) -> dict[str, Any]:
    """Take a kernel object apart into what JSON can hold."""
    bare = kernel.kernel if type(kernel) is ours.ScikitLearnKernel else kernel
    if type(bare) not in _NAMES:
        raise ModelFileError(
            f"kernel={bare!r} is of type {type(bare).__name__}, which a model file cannot store; it stores kernels of "
            f"these types: {', '.join(CLASSES)}."
        )
    parameters = {
        name: describe_kernel(value) if is_kernel_object(value) else to_json(value, f"parameter {name} of the kernel")
        for name, value in bare.get_params(deep=False).items()
    }
    return {"class": _NAMES[type(bare)], "parameters": parameters}


def restore_kernel(description: Fields, depth: int = 0) -> Any:
    """Put a kernel object together again."""
    if depth > _DEEPEST:
        raise ModelFileError(f"{description.where} holds more than {_DEEPEST} kernels within each other.")
    name = description.choice("class", tuple(CLASSES))
    given = description.fields("parameters")
    parameters: dict[str, Any] = {}
    for key, value in given.values.items():
        if isinstance(value, dict) and isinstance(value.get("class"), str):  # weights of oligomers are numbers
            parameters[key] = restore_kernel(Fields(value, f"a kernel in {name}"), depth + 1)
        else:
            found = from_json(value)
            numbers = isinstance(found, tuple) and not key.endswith("_bounds") and key not in _TUPLES
            parameters[key] = _array(found, given, key) if numbers else found
    try:
        return CLASSES[name](**parameters)
    except TypeError:
        raise ModelFileError(f"{name} does not have the parameters {', '.join(parameters)}.") from None


def restore_parameters(estimator: Any, kernel: Fields, samples: Any, what: str) -> KernelParameters:
    """Restore the kernel that an estimator with a kernel object was fitted with, and try it on some samples.

    They are an array or a list of strings, and `what` they are called.
    """
    fitted = restore_kernel(kernel.fields("object"))
    try:
        own: Kernel = as_kernel(fitted)
        if type(own) is not type(as_kernel(estimator.kernel)):
            raise ValueError("it is of another type than the kernel of the estimator")
        if isinstance(samples, list) and own.requires_vector_input:
            raise ValueError("it is one of vectors")
        repr(estimator.kernel)  # nothing else looks at its numbers before a fit
        with np.errstate(all="ignore"):
            if isinstance(samples, list):
                own._require_numbers()
                values = own.diagonal(own.samples(samples)) if samples else np.empty(0)
            else:
                values = np.asarray(own(samples))
        if len(values) != len(samples) or not np.isfinite(values).all():
            raise ValueError(f"a sample gives {values[~np.isfinite(values)][:1].tolist()}")
        return own.resolved()
    except Exception as problem:  # numbers of a file can be wrong in ways that no kernel foresees
        detail = shortened(str(problem)).rstrip(".")
        raise ModelFileError(f"the kernel cannot be used with {what} ({detail}).") from None


def _array(values: tuple[Any, ...], given: Fields, key: str) -> Any:
    mask = len(values) > 0 and all(isinstance(value, bool) for value in values)
    try:
        return np.array(values, dtype=np.bool_ if mask else np.float64)
    except (TypeError, ValueError, OverflowError):
        given.refuse(key, "numbers")
