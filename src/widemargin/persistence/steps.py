"""What a model file keeps of each part of a model: estimators, and the scalers in front of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from widemargin.compression import CompressionReport
from widemargin.estimators.base import KernelModel
from widemargin.estimators.calibration import CalibratedClassifier
from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.online import OnlineSVC
from widemargin.estimators.prediction import as_dense
from widemargin.estimators.regression import SVR, NuSVR
from widemargin.estimators.report import FitReport, ProblemReport
from widemargin.estimators.svc import SVC
from widemargin.estimators.svdd import SVDD
from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.rows import LARGEST_DEGREE, KernelParameters
from widemargin.persistence.archive import Fields, ModelArchive, ModelFileError, from_json, shortened, to_json
from widemargin.persistence.ends import restore_end
from widemargin.persistence.kernels import describe_kernel, restore_kernel, restore_parameters
from widemargin.persistence.sequences import SEQUENCES
from widemargin.persistence.streams import describe_stream, restore_stream
from widemargin.persistence.vectors import FLOATS, describe_vectors, restore_vectors
from widemargin.solvers import SOLVERS, Solver

Arrays = dict[str, NDArray[Any]]

ESTIMATORS: dict[str, type[KernelModel]] = {
    cls.__name__: cls for cls in (SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD, OnlineSVC)
}

SCALERS: dict[str, Any] = {cls.__name__: cls for cls in (StandardScaler, MinMaxScaler)}

#: Fitted numbers of an estimator beside those that all have; None is allowed for those that end in "?".
_NUMBERS: dict[str, tuple[str, ...]] = {
    "NuSVR": ("epsilon_",),
    "SVDD": ("offset_", "radius_", "center_squared_norm_", "spread_", "_diagonal_of_new_rows?"),
}

#: Fitted arrays of a scaler, one number a feature.
_COLUMNS: dict[str, tuple[str, ...]] = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
}

DOUBLE = ("<f8",)
_LABEL_TYPES = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
_LABEL_TYPES += ("float16", "float32", "float64", "str", "object")

#: Beyond these a file does not describe a model but an attempt to stop whoever reads it.
MOST_THREADS = 1024


def describe_estimator(estimator: Any, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Take a fitted estimator apart into what JSON holds and arrays, whose names begin with `prefix`."""
    name = type(estimator).__name__
    of_object = is_kernel_object(estimator.kernel)
    if callable(estimator.kernel) and not of_object:
        raise ModelFileError(
            f"kernel={estimator.kernel!r} is a callable, which a model file cannot store; pass the name of a kernel, "
            "'precomputed' or a kernel object."
        )
    check_is_fitted(estimator)
    kernel = estimator._kernel_parameters
    if (kernel.source is None) if of_object else estimator.kernel != kernel.kernel or kernel.source is not None:
        raise ModelFileError(
            f"kernel={estimator.kernel!r} was set after the fit, which was with {kernel.kernel!r}; fit again first."
        )
    if isinstance(estimator, KernelClassifier) and estimator._scheme().name != estimator._fitted_scheme:
        raise ModelFileError(
            f"multi_class={estimator.multi_class!r} was set after the fit, which was with {estimator._fitted_scheme!r}"
            "; fit again first."
        )
    arrays = {
        "support": estimator.support_,
        "n_support": estimator.n_support_,
        "dual_coef": as_dense(estimator.dual_coef_),
        "intercept": estimator.intercept_,
    }
    description: dict[str, Any] = {
        **_describe(estimator),
        "n_vectors": len(estimator.support_),
        "shape_fit": list(estimator.shape_fit_),
        "kernel": {"gamma": float(kernel.gamma), "coef0": float(kernel.coef0), "degree": int(kernel.degree)},
        "predict_in_double": bool(estimator._predict_in_double),
        "report": [to_json(asdict(entry), "fit_report_") for entry in estimator.fit_report_],
    }
    if hasattr(estimator, "compression_report_"):
        description["compression"] = to_json(asdict(estimator.compression_report_), "compression_report_")
    if of_object:
        description["kernel"]["object"] = describe_kernel(kernel.source)
    own, samples = describe_vectors(estimator.support_vectors_, bool(estimator._takes_objects), "")
    description |= own
    arrays |= samples
    if isinstance(estimator, KernelClassifier):
        description["classes"] = describe_labels(estimator.classes_)
        arrays["class_weight"] = estimator.class_weight_
        if estimator._shares_vectors:
            description["shares_vectors"] = True
        description["calibrated"] = hasattr(estimator, "sigmoids_")
        if description["calibrated"]:
            arrays["sigmoids"] = estimator.sigmoids_
    if isinstance(estimator, OnlineSVC):
        own, kept = describe_stream(estimator)
        description |= own
        arrays |= kept
    for number in _NUMBERS.get(name, ()):
        attribute = number.rstrip("?")
        description[attribute.strip("_")] = to_json(getattr(estimator, attribute), attribute)
    return description, {prefix + key: np.asarray(array) for key, array in arrays.items()}


def restore_estimator(archive: ModelArchive, step: Fields, prefix: str) -> KernelModel:
    """Put an estimator together again."""
    name = step.text("class")
    estimator: Any = ESTIMATORS[name](**_parameters(step, ESTIMATORS[name]))
    _check_parameters(estimator, step)
    of_sequences = step.text("vectors") == SEQUENCES
    d = None if of_sequences else step.whole("n_features", least=1)
    m = step.whole("n_vectors")
    if isinstance(estimator, KernelClassifier):
        estimator.classes_ = restore_labels(step.fields("classes"))
        estimator._fitted_scheme = estimator._scheme().name
        if step.has("shares_vectors") and step.flag("shares_vectors"):
            estimator._shares_vectors = True
        estimator.class_weight_ = archive.array(f"{prefix}class_weight", DOUBLE, (len(estimator.classes_),))
    layout = estimator._layout()
    groups, rows, functions = layout.groups, layout.rows, len(layout.functions)
    if d is not None:
        estimator.n_features_in_ = d
    estimator._takes_objects = of_sequences
    estimator.shape_fit_ = _restore_shape(step, d)
    estimator.support_ = archive.array(f"{prefix}support", ("<i4",), (m,))
    estimator.n_support_ = archive.array(f"{prefix}n_support", ("<i4",), (groups,))
    estimator.intercept_ = archive.array(f"{prefix}intercept", DOUBLE, (functions,))
    estimator.dual_coef_ = archive.array(f"{prefix}dual_coef", DOUBLE, (rows, m))
    _check_support(estimator, step, m)
    vectors = restore_vectors(archive, step, prefix, estimator.kernel == "precomputed")
    estimator._kernel_parameters = _restore_kernel(estimator, step.fields("kernel"), vectors)
    estimator.support_vectors_ = vectors
    if isinstance(estimator, SVDD):
        estimator.center_coef_ = estimator.dual_coef_[0].copy()
    if sp.issparse(estimator.support_vectors_):
        estimator.dual_coef_ = sp.csr_matrix(estimator.dual_coef_)
    estimator._predict_in_double = step.flag("predict_in_double")
    if isinstance(estimator, CalibratedClassifier) and step.flag("calibrated"):
        estimator.sigmoids_ = _restore_sigmoids(archive.array(f"{prefix}sigmoids", DOUBLE, (functions, 2)), step)
    _restore_report(estimator, step, functions)
    if step.has("compression"):
        estimator.compression_report_ = _restore_compression(step.fields("compression"))
    for number in _NUMBERS.get(name, ()):
        attribute, key = number.rstrip("?"), number.strip("_?")
        absent = number.endswith("?") and not step.has(key)
        setattr(estimator, attribute, None if absent else step.number(key))
    if isinstance(estimator, OnlineSVC):
        restore_stream(archive, step, prefix, estimator)
    restored: KernelModel = estimator
    return restored


def describe_scaler(scaler: Any, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Take a fitted scaler apart."""
    check_is_fitted(scaler)
    columns = {key: getattr(scaler, key) for key in _COLUMNS[type(scaler).__name__]}
    present = {key: np.asarray(array) for key, array in columns.items() if array is not None}
    description = {**_describe(scaler), "arrays": list(present)}
    if np.ndim(scaler.n_samples_seen_):
        raise ModelFileError(
            f"{type(scaler).__name__} has seen missing values, which the model behind it cannot be trained on."
        )
    description["n_samples_seen"] = to_json(scaler.n_samples_seen_, "n_samples_seen_")
    return description, {f"{prefix}{key.rstrip('_')}": array for key, array in present.items()}


def restore_scaler(archive: ModelArchive, step: Fields, prefix: str) -> Any:
    """Put a scaler together again."""
    name = step.text("class")
    scaler = SCALERS[name](**_parameters(step, SCALERS[name]))
    _check_scaler_parameters(scaler, step)
    d = scaler.n_features_in_ = step.whole("n_features", least=1)
    present = step.strings("arrays")
    needed = set(_COLUMNS[name])
    if name == "StandardScaler":
        needed = {key for key, used in (("mean_", scaler.with_mean), ("scale_", scaler.with_std)) if used}
    if not needed <= set(present) <= set(_COLUMNS[name]):
        step.refuse("arrays", f"a list of {', '.join(sorted(needed))}")
    for key in _COLUMNS[name]:
        stored = archive.array(f"{prefix}{key.rstrip('_')}", FLOATS, (d,)) if key in present else None
        setattr(scaler, key, stored)
    if scaler.scale_ is not None and (scaler.scale_ == 0).any():
        raise ModelFileError(f"array {prefix}scale holds 0, which no column can be scaled by.")
    seen = step.number("n_samples_seen", least=0)
    whole = isinstance(step.values["n_samples_seen"], int)
    if name == "MinMaxScaler":
        scaler.n_samples_seen_ = step.whole("n_samples_seen")
    else:
        scaler.n_samples_seen_ = np.int64(step.whole("n_samples_seen")) if whole else np.float64(seen)
    return scaler


def _describe(estimator: Any) -> dict[str, Any]:
    """Say what every estimator has: its class, its parameters, its features."""
    parameters = estimator.get_params(deep=False)
    return {
        "class": type(estimator).__name__,
        "parameters": {name: _describe_value(value, f"parameter {name}") for name, value in parameters.items()},
        "n_features": getattr(estimator, "n_features_in_", None),
    }


def _describe_value(value: Any, where: str) -> Any:
    """Say what a parameter is: a kernel or a solver by its class and parameters, anything else as it is."""
    if is_kernel_object(value):
        return describe_kernel(value)
    if not isinstance(value, Solver):
        return to_json(value, where)
    if type(value) is not SOLVERS.get(value.name):
        raise ModelFileError(
            f"solver={value!r} is of type {type(value).__name__}, which a model file cannot store; it stores those of "
            "widemargin.solvers."
        )
    own = {name: to_json(one, f"{name} of the solver") for name, one in value.get_params().items()}
    return {"class": value.name, "parameters": own}


def _restore_solver(description: Fields) -> Solver:
    cls = SOLVERS[description.choice("class", tuple(SOLVERS))]
    given = {name: from_json(value) for name, value in description.fields("parameters").values.items()}
    try:
        return cls(**given)
    except TypeError:
        raise ModelFileError(f"{cls.__name__} does not have the parameters {', '.join(given)}.") from None


def _parameters(step: Fields, cls: Any) -> dict[str, Any]:
    """Take the parameters of a class; those that a file of an older version lacks keep their defaults."""
    name, given = step.text("class"), step.fields("parameters").values
    unknown = sorted(set(given) - set(cls().get_params()))
    if unknown:
        raise ModelFileError(f"parameter {unknown[0]!r} is unknown to {name} in this version of its library.")
    parameters: dict[str, Any] = {key: from_json(value) for key, value in given.items()}
    if isinstance(given.get("kernel"), dict):
        parameters["kernel"] = restore_kernel(Fields(given["kernel"], f"kernel of {name}"))
    if isinstance(given.get("solver"), dict):
        parameters["solver"] = _restore_solver(Fields(given["solver"], f"solver of {name}"))
    for key, value in parameters.items():
        if isinstance(value, dict) and key != "class_weight":
            raise ModelFileError(f"parameter {key} of {name} is a mapping, expected a number or a string.")
    return parameters


def _check_parameters(estimator: Any, step: Fields) -> None:
    weights = getattr(estimator, "class_weight", None)
    if isinstance(weights, dict):
        Fields({str(label): weight for label, weight in weights.items()}, "class_weight").numbers(least=0)
    elif not isinstance(weights, str | None):
        raise ModelFileError(f"class_weight is {weights!r}, expected weights of labels.")
    seed = getattr(estimator, "random_state", None)
    if not isinstance(seed, int | None):
        raise ModelFileError(f"random_state is {seed!r}, expected a whole number.")
    try:
        estimator._check_parameters()
    except (ValueError, TypeError, OverflowError) as problem:
        raise ModelFileError(
            f"{step.text('class')} refuses its parameters ({shortened(str(problem)).rstrip('.')})."
        ) from None
    if estimator.n_jobs is not None and abs(estimator.n_jobs) > MOST_THREADS:
        raise ModelFileError(f"n_jobs is {estimator.n_jobs}, expected at most {MOST_THREADS}.")


def _check_scaler_parameters(scaler: Any, step: Fields) -> None:
    limits = getattr(scaler, "feature_range", (0, 1))
    try:
        scaler._validate_params()
        low, high = map(float, limits)
        fits = np.isfinite([low, high]).all() and low < high
    except (ValueError, TypeError, OverflowError):
        fits = False
    if not fits:
        raise ModelFileError(f"{step.text('class')} refuses its parameters.")


def describe_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Say what class labels there are, and of which type."""
    kind = "str" if classes.dtype.kind == "U" else classes.dtype.name
    values = classes.tolist()
    if kind not in _LABEL_TYPES or not all(isinstance(value, bool | int | float | str) for value in values):
        raise ModelFileError(
            f"classes_ holds labels of type {classes.dtype}, which a model file cannot store; it stores numbers and "
            "strings."
        )
    return {"type": kind, "values": to_json(values, "classes_")}


def restore_labels(labels: Fields) -> NDArray[Any]:
    """Read class labels: at least two, all different."""
    kind, values = labels.choice("type", _LABEL_TYPES), [from_json(value) for value in labels.entries("values")]
    accepted: Any = {"b": bool, "i": int, "u": int, "f": float, "U": str}.get(
        np.dtype(kind).kind, bool | int | float | str
    )
    # A Boolean is a whole number to Python, but not here.
    fits = [
        isinstance(value, accepted) and (kind in ("bool", "object") or not isinstance(value, bool)) for value in values
    ]
    try:
        classes = np.array(values, dtype=kind)
        different = len(set(classes.tolist())) == len(values) and not np.any(classes != classes)
    except (OverflowError, ValueError, TypeError):
        different = False
    if len(values) < 2 or not all(fits) or not different:
        labels.refuse("values", f"at least two different labels of type {kind}")
    return classes


def _restore_shape(step: Fields, n_features: int | None) -> tuple[int, ...]:
    shape = step.entries("shape_fit")
    whole = all(isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= 2**53 for size in shape)
    columns = [] if n_features is None else [n_features]
    if not whole or not shape or shape[1:] != columns:
        step.refuse("shape_fit", f"a number of samples{'' if n_features is None else f' and {n_features} features'}")
    return tuple(shape)


def _check_support(estimator: Any, step: Fields, n_vectors: int) -> None:
    rows = estimator.n_features_in_ if estimator.kernel == "precomputed" else estimator.shape_fit_[0]
    if n_vectors and (estimator.support_.min() < 0 or estimator.support_.max() >= rows):
        raise ModelFileError(f"array support of {step.where} holds a number outside of the {rows} training samples.")
    if (estimator.n_support_ < 0).any() or int(estimator.n_support_.sum(dtype=np.int64)) != n_vectors:
        raise ModelFileError(f"array n_support of {step.where} does not sum to the {n_vectors} support vectors.")


def _restore_kernel(estimator: Any, kernel: Fields, vectors: Any) -> KernelParameters:
    if is_kernel_object(estimator.kernel):
        if estimator._takes_objects:
            return restore_parameters(estimator, kernel, vectors, "the sequences of its support vectors")
        d = estimator.n_features_in_
        return restore_parameters(estimator, kernel, np.zeros((1, d)), f"{d} features")
    if estimator._takes_objects:
        raise ModelFileError(f"kernel={estimator.kernel!r} is one of vectors, but the support vectors are sequences.")
    degree = kernel.whole("degree", most=LARGEST_DEGREE)
    return KernelParameters(estimator.kernel, kernel.number("gamma", least=0), kernel.number("coef0"), degree)


def _restore_sigmoids(sigmoids: NDArray[np.float64], step: Fields) -> NDArray[np.float64]:
    if (sigmoids[:, 0] < 0).any():
        raise ModelFileError(f"array sigmoids of {step.where} holds a slope below 0.")
    return sigmoids


def _restore_report(estimator: Any, step: Fields, functions: int) -> None:
    """Restore what the fit said of itself, and what follows from it."""
    found = [Fields(entry, f"report of {step.where}") for entry in step.entries("report")]
    entries = [_restore_entry(entry) for entry in found]
    pairs = isinstance(estimator, KernelClassifier)
    if not entries or (pairs and len(entries) > functions):  # fewer for classes without samples
        step.refuse("report", "an entry for each problem that was solved")
    estimator.fit_report_ = FitReport(entries)
    estimator.fit_status_ = int(not estimator.fit_report_.converged)
    iterations = [entry.iterations for entry in entries]
    estimator.n_iter_ = np.array(iterations, dtype=np.int64) if pairs else iterations[0]


def _restore_compression(report: Fields) -> CompressionReport:
    """Restore what a compression said of itself."""
    changed = report.number("changed_predictions", least=0) if report.has("changed_predictions") else None
    return CompressionReport(
        n_vectors_before=report.whole("n_vectors_before"),
        n_vectors=report.whole("n_vectors"),
        n_samples=report.whole("n_samples"),
        largest_change=report.number("largest_change", least=0),
        rms_change=report.number("rms_change", least=0),
        changed_predictions=changed,
        reason=report.text("reason"),
        moved=report.flag("moved"),
        kernel_evaluations=report.whole("kernel_evaluations"),
        seconds=report.number("seconds", least=0),
    )


def _restore_entry(entry: Fields) -> ProblemReport:
    classes = from_json(entry.values.get("classes"))
    if not (classes is None or (isinstance(classes, tuple) and len(classes) == 2)):
        entry.refuse("classes", "a pair of labels or null")
    return restore_end(ProblemReport, entry, classes=classes)
