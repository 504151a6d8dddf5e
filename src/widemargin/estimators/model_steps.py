"""What a model file keeps of each part of a model: machines, and the scalers in front of them."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base import KernelMachine
from widemargin.estimators.model_archive import Fields, ModelArchive, ModelFileError, from_json, to_json
from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.pairwise import PairwiseClassifier
from widemargin.estimators.prediction import as_dense
from widemargin.estimators.regression import SVR, NuSVR
from widemargin.estimators.report import FitReport, ProblemReport
from widemargin.estimators.svc import SVC
from widemargin.estimators.svdd import SVDD
from widemargin.kernels import KernelParameters

Arrays = dict[str, NDArray[Any]]

MACHINES: dict[str, type[KernelMachine]] = {cls.__name__: cls for cls in (SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD)}

SCALERS: dict[str, Any] = {cls.__name__: cls for cls in (StandardScaler, MinMaxScaler)}

#: Fitted numbers of a machine beside those that all have; None is allowed for those that end in "?".
_NUMBERS: dict[str, tuple[str, ...]] = {
    "NuSVR": ("epsilon_",),
    "OneClassSVM": ("offset_",),
    "SVDD": ("offset_", "radius_", "center_squared_norm_", "spread_", "_diagonal_of_new_rows?"),
}

#: Fitted arrays of a scaler, one number a feature.
_COLUMNS: dict[str, tuple[str, ...]] = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
}

_CONTAINERS: dict[str, Any] = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}
_FLOATS, _DOUBLE, _INDICES = ("<f4", "<f8"), ("<f8",), ("<i4", "<i8")
_LABEL_TYPES = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
_LABEL_TYPES += ("float16", "float32", "float64", "str", "object")

#: Beyond these a file does not describe a model but an attempt to stop whoever reads it.
_MOST_THREADS, _LARGEST_DEGREE = 1024, 10_000


def describe_machine(machine: Any, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Take a fitted machine apart into what JSON holds and arrays, whose names begin with `prefix`."""
    name = type(machine).__name__
    if callable(machine.kernel):
        raise ModelFileError(
            f"kernel={machine.kernel!r} is a callable, which a model file cannot keep; it keeps machines whose kernel "
            "has a name, such as 'rbf', or is 'precomputed'."
        )
    check_is_fitted(machine)
    kernel = machine._kernel_parameters
    if machine.kernel != kernel.kernel:
        raise ModelFileError(
            f"kernel={machine.kernel!r} was set after the fit, which was with {kernel.kernel!r}; fit again first."
        )
    vectors = machine.support_vectors_
    arrays = {
        "support": machine.support_,
        "n_support": machine.n_support_,
        "dual_coef": as_dense(machine.dual_coef_),
        "intercept": machine.intercept_,
    }
    description = {
        **_describe(machine),
        "n_vectors": len(machine.support_),
        "vectors": type(vectors).__name__ if sp.issparse(vectors) else "dense",
        "shape_fit": list(machine.shape_fit_),
        "kernel": {"gamma": float(kernel.gamma), "coef0": float(kernel.coef0), "degree": int(kernel.degree)},
        "predict_in_double": bool(machine._predict_in_double),
        "report": [to_json(asdict(entry), "fit_report_") for entry in machine.fit_report_],
    }
    if sp.issparse(vectors):
        description["n_stored"] = len(vectors.data)
        arrays |= {f"vectors_{part}": getattr(vectors, part) for part in ("data", "indices", "indptr")}
    else:
        arrays["vectors"] = vectors
    if isinstance(machine, PairwiseClassifier):
        description["classes"] = _describe_labels(machine.classes_)
        arrays["class_weight"] = machine.class_weight_
    for number in _NUMBERS.get(name, ()):
        attribute = number.rstrip("?")
        description[attribute.strip("_")] = to_json(getattr(machine, attribute), attribute)
    return description, {prefix + key: np.asarray(array) for key, array in arrays.items()}


def restore_machine(archive: ModelArchive, step: Fields, prefix: str) -> KernelMachine:
    """Put a machine together again."""
    name = step.text("class")
    machine: Any = MACHINES[name](**_parameters(step, MACHINES[name]))
    _check_machine_parameters(machine, step)
    d, m = step.whole("n_features", least=1), step.whole("n_vectors")
    groups, rows, functions = 1, 1, 1
    if isinstance(machine, PairwiseClassifier):
        machine.classes_ = _restore_labels(step.fields("classes"))
        groups = len(machine.classes_)
        rows, functions = groups - 1, groups * (groups - 1) // 2
        machine.class_weight_ = archive.array(f"{prefix}class_weight", _DOUBLE, (groups,))
    machine.n_features_in_ = d
    machine.shape_fit_ = _restore_shape(step, d)
    machine.support_ = archive.array(f"{prefix}support", ("<i4",), (m,))
    machine.n_support_ = archive.array(f"{prefix}n_support", ("<i4",), (groups,))
    machine.intercept_ = archive.array(f"{prefix}intercept", _DOUBLE, (functions,))
    machine.dual_coef_ = archive.array(f"{prefix}dual_coef", _DOUBLE, (rows, m))
    _check_support(machine, step, m)
    machine._kernel_parameters = _restore_kernel(machine, step.fields("kernel"))
    machine.support_vectors_ = _restore_vectors(archive, step, prefix, machine.kernel == "precomputed")
    if isinstance(machine, SVDD):
        machine.center_coef_ = machine.dual_coef_[0].copy()
    if sp.issparse(machine.support_vectors_):
        machine.dual_coef_ = sp.csr_matrix(machine.dual_coef_)
    machine._predict_in_double = step.flag("predict_in_double")
    machine._takes_objects = False
    _restore_report(machine, step, functions)
    for number in _NUMBERS.get(name, ()):
        attribute, key = number.rstrip("?"), number.strip("_?")
        absent = number.endswith("?") and not step.has(key)
        setattr(machine, attribute, None if absent else step.number(key))
    restored: KernelMachine = machine
    return restored


def describe_scaler(scaler: Any, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Take a fitted scaler apart."""
    check_is_fitted(scaler)
    columns = {key: getattr(scaler, key) for key in _COLUMNS[type(scaler).__name__]}
    present = {key: np.asarray(array) for key, array in columns.items() if array is not None}
    description = {**_describe(scaler), "arrays": list(present)}
    if np.ndim(scaler.n_samples_seen_):
        raise ModelFileError(
            f"{type(scaler).__name__} has seen missing values, which the machine behind it cannot be trained on."
        )
    description["n_samples_seen"] = to_json(scaler.n_samples_seen_, "n_samples_seen_")
    return description, {f"{prefix}{key.rstrip('_')}": array for key, array in present.items()}


def restore_scaler(archive: ModelArchive, step: Fields, prefix: str) -> Any:
    """Put a scaler together again."""
    name = step.text("class")
    scaler = SCALERS[name](**_parameters(step, SCALERS[name]))
    d = scaler.n_features_in_ = step.whole("n_features", least=1)
    present = step.texts("arrays")
    needed = set(_COLUMNS[name])
    if name == "StandardScaler":
        needed = ({"mean_", "var_"} if scaler.with_std else {"mean_"} & set(present)) | (
            {"scale_"} if scaler.with_std else set()
        )
    if not needed <= set(present) <= set(_COLUMNS[name]):
        step.refuse("arrays", f"a list of {', '.join(_COLUMNS[name])}")
    for key in _COLUMNS[name]:
        stored = archive.array(f"{prefix}{key.rstrip('_')}", _FLOATS, (d,)) if key in present else None
        setattr(scaler, key, stored)
    if scaler.scale_ is not None and (scaler.scale_ == 0).any():
        raise ModelFileError(f"array {prefix}scale holds 0, which no column can be scaled by.")
    seen = from_json(step.values.get("n_samples_seen"))
    step.number("n_samples_seen", least=0)
    scaler.n_samples_seen_ = np.int64(seen) if isinstance(seen, int) and name == "StandardScaler" else seen
    return scaler
