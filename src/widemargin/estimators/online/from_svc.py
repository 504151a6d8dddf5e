"""Online models that start from a fitted SVC."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.estimators.multi_class import in_scikit_learns_sign
from widemargin.estimators.online.checks import require_no_gram
from widemargin.estimators.prediction import as_dense
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import KERNELS_OF_SAMPLES
from widemargin.machines.online.stream import Batch

if TYPE_CHECKING:
    from widemargin.estimators.online.online_svc import OnlineSVC


def parameters_of(model: Any) -> dict[str, Any]:
    """Return the parameters that an online model has in common with an SVC; refuse models of another problem."""
    _require_same_problem(model)
    kernel = model._kernel_parameters
    given = kernel.source if kernel.source is not None else kernel.kernel
    by_name = isinstance(given, str) and given in KERNELS_OF_SAMPLES
    numbers = {"gamma": kernel.gamma, "coef0": kernel.coef0, "degree": kernel.degree} if by_name else {}
    return {"C": model.C, "tol": model.tol, "class_weight": model.class_weight, "kernel": given, **numbers}


def adopt(new: OnlineSVC, model: SVC) -> None:
    """Have a new estimator keep the support vectors of a model, with their coefficients."""
    for name in ("classes_", "class_weight_", "_takes_objects", "n_features_in_", "feature_names_in_"):
        if name in vars(model):
            setattr(new, name, getattr(model, name))
    n_classes, vectors = len(model.classes_), model.support_vectors_
    coefficients = in_scikit_learns_sign(as_dense(model.dual_coef_), n_classes)
    values = model._functions().values(vectors) - model.intercept_
    labels = np.repeat(np.arange(n_classes, dtype=np.int32), model.n_support_)
    weights = np.maximum(model.class_weight_[labels], np.abs(coefficients).max(axis=0, initial=0.0) / new.C)
    new._begin(vectors, model._kernel_parameters)
    rows = model.support_.astype(np.int64)
    new._require_room_for_classes()
    new._stream.adopt(
        Batch(vectors, labels, weights, rows, rows),
        coefficients,
        in_scikit_learns_sign(values, n_classes).T,
        float(new.C),
        new._rules(time.perf_counter(), len(labels)),
    )
    new._numbers_are_ids, new._n_given, new._order_told = True, int(model.shape_fit_[0]), True


def _require_same_problem(model: Any) -> None:
    """Refuse a model whose problem is another one."""
    if not isinstance(model, SVC) or "_kernel_parameters" not in vars(model):
        raise ValueError(f"from_model takes a fitted SVC; got {model!r}.")
    if len(model.classes_) > 2 and model.multi_class != "ovr":
        raise ValueError("from_model takes models of each class against all others; fit SVC with multi_class='ovr'.")
    if model.loss != "hinge" or not model.fit_intercept or not np.isfinite(model.C):
        raise ValueError("from_model takes models with loss='hinge', fit_intercept=True and a finite C.")
    if model.kernel == "precomputed":
        require_no_gram("kernel", "precomputed")
