"""What an online model knows beside its decision functions, in model files: enough to go on with its stream.

The file holds the samples that are kept beside the support vectors, and what is known of each position; coefficients
are those of the decision functions. Kernel values are not kept: they are computed again when they are needed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.multi_class import in_scikit_learns_sign
from widemargin.estimators.online import OnlineSVC
from widemargin.estimators.prediction import as_dense
from widemargin.kernels.rows import take
from widemargin.machines.dual import Outcome
from widemargin.machines.online.arrival_order import ArrivalOrder
from widemargin.machines.online.kept_samples import joined
from widemargin.machines.online.stream import Batch, Stream
from widemargin.persistence.archive import Fields, ModelArchive, ModelFileError, from_json, shortened, to_json
from widemargin.persistence.ends import restore_end
from widemargin.persistence.vectors import describe_vectors, restore_vectors
from widemargin.runtime import Work
from widemargin.runtime.checks import is_whole

#: Types of ids, by the kind of their arrays.
_ID_TYPES: dict[str, type] = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64, "U": np.str_, "O": object}


def describe_stream(model: OnlineSVC) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Take the stream of a model apart; compressed models, which left their kept samples behind, have none."""
    if "_stream" not in vars(model):
        return {}, {}
    try:
        model._require_same_kernel()
    except ValueError as problem:
        raise ModelFileError(f"{str(problem).rstrip('.')}.") from None
    stream = model._stream
    core, alpha = stream.core, stream.alpha
    support = _support(alpha, stream.labels)
    if not np.array_equal(in_scikit_learns_sign(alpha[:, support], model.classes_.size), as_dense(model.dual_coef_)):
        raise ModelFileError("dual_coef_ was altered since the model learnt; fit it again first.")
    others = np.setdiff1d(np.arange(stream.size), support)
    own, samples = describe_vectors(take(stream.samples, others), bool(model._takes_objects), "stream_")
    description = {
        **own,
        "n_vectors": len(others),
        "n_features": getattr(model, "n_features_in_", None),
        "C": stream.C,
        "double_precision": core.double_precision,
        "n_seen": core.seen,
        "n_given": model._n_given,
        "evaluations": core.evaluations,
        "inherits": stream.inherits,
        "ids": None if np.array_equal(stream.ids, stream.numbers) else _describe_ids(stream.ids),
        "numbers_are_ids": model._numbers_are_ids,
        "has_names": model._has_names,
        "order": {
            "told": model._order_told,
            "changes": stream.order.changes,
            "last": stream.order.last,
            "counts": stream.order.counts.tolist(),
        },
        "solved": [[work.iterations, work.kernel_evaluations, work.seconds] for work in stream.solved],
        "finished_at": to_json(float(stream.finished_at), "finished_at"),
        "ends": None if stream.ends is None else [to_json(asdict(end), "ends") for end in stream.ends],
    }
    so_far, more = _describe_batch(stream.so_far, bool(model._takes_objects))
    return {"stream": {**description, "so_far": so_far}}, {
        **samples,
        **more,
        "stream_support": support.astype(np.int64),
        "stream_gradient": core.gradient(),
        "stream_steps": core.steps(),
        "stream_labels": stream.labels,
        "stream_bounds": core.bounds(),
        "stream_weights": stream.weights,
        "stream_arrivals": core.arrivals(),
        "stream_left": core.left(),
        "stream_numbers": stream.numbers,
    }


def restore_stream(archive: ModelArchive, step: Fields, prefix: str, model: OnlineSVC) -> None:
    """Give a model its stream back, if the file has one."""
    if not step.has("stream"):
        model._has_no_stream = True
        return
    known, prefix = step.fields("stream"), f"{prefix}stream_"
    dual_coef, vectors = as_dense(model.dual_coef_), model.support_vectors_
    functions, m, n_classes = len(model.intercept_), len(model.support_), len(model.classes_)
    others = _restore_others(archive, known, prefix, model)
    n = m + known.whole("n_vectors")
    support = archive.array(f"{prefix}support", ("<i8",), (m,))
    labels = archive.array(f"{prefix}labels", ("<i4",), (n,))
    steps = archive.array(f"{prefix}steps", ("<i8",), (functions,))
    gradient = archive.array(f"{prefix}gradient", ("<f8",), (functions, n))
    arrivals, numbers = (archive.array(f"{prefix}{name}", ("<i8",), (n,)) for name in ("arrivals", "numbers"))
    bounds, weights = (archive.array(f"{prefix}{name}", ("<f8",), (n,)) for name in ("bounds", "weights"))
    left = archive.array(f"{prefix}left", ("|u1",), (n,))
    seen, given = known.whole("n_seen"), known.whole("n_given")
    if m and (support.min() < 0 or support.max() >= n or len(np.unique(support)) < m):
        raise ModelFileError(f"array {prefix}support must hold different positions of the {n} that there are.")
    for name, values, least, most in (
        ("labels", labels, 0, n_classes - 1),
        ("steps", steps, 0, 2**53),
        ("arrivals", arrivals, 0, seen),
        ("numbers", numbers, 0, 2**31 - 1),
        ("left", left, 0, 1),
        ("bounds", bounds, 0, np.inf),
        ("weights", weights, 0, np.inf),
    ):
        _require_between(f"{prefix}{name}", values, least, most)
    alpha = np.zeros((functions, n))
    alpha[:, support] = in_scikit_learns_sign(dual_coef, n_classes)
    _require_same_samples(model, alpha, labels, bounds * (left == 0), support, prefix)
    C = known.number("C")
    if not C > 0:
        known.refuse("C", "a number above 0")
    order = np.empty(n, dtype=np.intp)
    order[support] = np.arange(m)
    order[np.setdiff1d(np.arange(n), support)] = np.arange(m, n)
    samples = take(joined(vectors, others), order)
    stream = Stream(n_classes, model._kernel_parameters, known.flag("double_precision"), C, samples)
    stream.weights, stream.numbers = weights, numbers
    stream.ids = _restore_ids(known.fields("ids"), n) if known.has("ids") else numbers
    stream.inherits = known.flag("inherits")
    stream.finished_at = known.number("finished_at", finite=False)
    stream.solved = _restore_solved(known, functions)
    stream.ends = _restore_ends(known, functions) if known.has("ends") else None
    values = np.empty(0, dtype=np.float64 if stream.core.double_precision else np.float32)
    stream.core.restore(
        *(alpha, gradient, steps, labels, bounds, arrivals, left, seen, values),
        *(_diagonal(stream, values.dtype), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), 0),
        known.whole("evaluations"),
    )
    model._stream = stream
    model._given_kernel = model._kernel_asked_for()
    model._n_given, model._numbers_are_ids = given, known.flag("numbers_are_ids")
    # Files of earlier versions name all ids that were ever seen, and do not tell the order of classes.
    model._has_names = known.flag("has_names") if known.has("has_names") else bool(known.entries("names_seen"))
    if known.has("order"):
        arrived = known.fields("order")
        model._order_told = arrived.flag("told")
        stream.order = _restore_order(arrived, n_classes)
    if known.has("so_far"):
        stream.so_far = _restore_batch(archive, known.fields("so_far"), prefix, model, given)


def _support(alpha: NDArray[np.float64], labels: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return the positions of the support vectors in their order: by class."""
    used = np.flatnonzero(alpha.any(axis=0))
    return used[np.argsort(labels[used], kind="stable")]


def _json(values: list[Any]) -> Any:
    return to_json(values, "ids")


def _describe_ids(ids: NDArray[Any]) -> dict[str, Any]:
    if ids.dtype.kind not in _ID_TYPES:
        raise ModelFileError(
            f"ids are of type {ids.dtype}, which a model file cannot store; it stores numbers and text."
        )
    return {"kind": ids.dtype.kind, "values": _json(ids.tolist())}


def _restore_ids(ids: Fields, n: int) -> NDArray[Any]:
    kind = ids.choice("kind", tuple(_ID_TYPES))
    values = [from_json(value) for value in ids.entries("values")]
    plain = all(isinstance(value, bool | int | float | str) for value in values)
    try:
        found: NDArray[Any] = np.array(values, dtype=_ID_TYPES[kind])
        fits = plain and found.shape == (n,) and found.tolist() == values
    except (OverflowError, ValueError, TypeError):
        fits = False
    if not fits:
        ids.refuse("values", f"{n} numbers or texts")
    return found


def _describe_batch(batch: Batch | None, of_sequences: bool) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Take apart the samples from which a kernel takes its parameters, while there are too few of them."""
    if batch is None:
        return None, {}
    own, samples = describe_vectors(batch.samples, of_sequences, "stream_so_far_")
    described = {
        **own,
        "n_vectors": len(batch.labels),
        "n_features": None if of_sequences else batch.samples.shape[1],
        "ids": None if np.array_equal(batch.ids, batch.numbers) else _describe_ids(batch.ids),
    }
    arrays = {name: getattr(batch, name) for name in ("labels", "weights", "numbers")}
    return described, {**samples, **{f"stream_so_far_{name}": values for name, values in arrays.items()}}


def _restore_batch(archive: ModelArchive, known: Fields, prefix: str, model: OnlineSVC, given: int) -> Batch:
    samples, prefix = _restore_others(archive, known, f"{prefix}so_far_", model), f"{prefix}so_far_"
    n = known.whole("n_vectors")
    labels = archive.array(f"{prefix}labels", ("<i4",), (n,))
    weights = archive.array(f"{prefix}weights", ("<f8",), (n,))
    numbers = archive.array(f"{prefix}numbers", ("<i8",), (n,))
    for name, values, least, most in (
        ("labels", labels, 0, len(model.classes_) - 1),
        ("weights", weights, 0, np.finfo(np.float64).max),
        ("numbers", numbers, 0, given),
    ):
        _require_between(f"{prefix}{name}", values, least, most)
    ids = _restore_ids(known.fields("ids"), n) if known.has("ids") else numbers
    return Batch(samples, labels, weights, ids, numbers)


def _restore_order(known: Fields, n_classes: int) -> ArrivalOrder:
    last, counts = known.number("last"), known.entries("counts")
    if last not in range(-1, n_classes):
        known.refuse("last", f"-1 or the number of one of the {n_classes} classes")
    if len(counts) != n_classes or not all(is_whole(count, 0) and count < 2**53 for count in counts):
        known.refuse("counts", f"a whole number for each of the {n_classes} classes")
    order = ArrivalOrder(n_classes, known.whole("changes"), int(last))
    order.counts += np.array(counts, dtype=np.int64)
    return order


def _require_between(name: str, values: NDArray[Any], least: float, most: float) -> None:
    if values.size and not (values.min() >= least and values.max() <= most):
        raise ModelFileError(f"array {name} holds a number that is not between {least} and {most}.")


def _restore_others(archive: ModelArchive, known: Fields, prefix: str, model: OnlineSVC) -> Any:
    others = restore_vectors(archive, known, prefix)
    of_sequences = isinstance(others, list)
    if of_sequences != bool(model._takes_objects) or not (of_sequences or type(others) is type(model.support_vectors_)):
        known.refuse("vectors", "samples of the same kind as the support vectors")
    if not of_sequences and others.shape[1] != model.n_features_in_:
        known.refuse("n_features", f"the {model.n_features_in_} features of the support vectors")
    return others


def _require_same_samples(
    model: OnlineSVC,
    alpha: NDArray[np.float64],
    labels: NDArray[np.int32],
    bounds: NDArray[np.float64],
    support: NDArray[np.int64],
    prefix: str,
) -> None:
    """Refuse a stream whose classes or boxes contradict the decision functions."""
    expected = np.repeat(np.arange(len(model.classes_)), model.n_support_)
    if not np.array_equal(labels[support], expected):
        raise ModelFileError(f"array {prefix}labels holds other classes than n_support says.")
    firsts = [0] if len(model.classes_) == 2 else range(len(model.classes_))
    for number, first in enumerate(firsts):
        ends = np.where(labels == first, bounds, -bounds)
        if (alpha[number] < np.minimum(ends, 0) * (1 + 1e-9)).any() or (
            alpha[number] > np.maximum(ends, 0) * (1 + 1e-9)
        ).any():
            raise ModelFileError(f"array {prefix}bounds is exceeded by a coefficient.")


def _diagonal(stream: Stream, dtype: Any) -> NDArray[Any]:
    if stream.weights.size == 0:
        return np.empty(0, dtype=dtype)
    try:
        return np.asarray(stream.kernel.rows_of(stream.samples).diagonal(), dtype=dtype)
    except (ValueError, TypeError) as problem:
        raise ModelFileError(
            f"the kernel cannot be used with the kept samples ({shortened(str(problem)).rstrip('.')})."
        ) from None


def _restore_solved(known: Fields, functions: int) -> list[Work]:
    """Read steps, kernel values and seconds of the ordinary solver for each decision function."""
    found = []
    for entry in known.entries("solved"):
        if not isinstance(entry, list) or len(entry) != 3:
            known.refuse("solved", "three numbers for each decision function")
        one = Fields(
            dict(zip(("iterations", "evaluations", "seconds"), entry, strict=True)), f"solved of {known.where}"
        )
        found.append(
            Work(
                iterations=one.whole("iterations"),
                kernel_evaluations=one.whole("evaluations"),
                seconds=one.number("seconds", least=0),
            )
        )
    if len(found) != functions:
        known.refuse("solved", f"an entry for each of the {functions} decision functions")
    return found


def _restore_ends(known: Fields, functions: int) -> list[Outcome]:
    entries = known.entries("ends")
    if len(entries) != functions:
        known.refuse("ends", f"an entry for each of the {functions} decision functions")
    return [restore_end(Outcome, Fields(entry, f"ends of {known.where}")) for entry in entries]
