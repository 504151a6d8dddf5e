"""Support vector classification online."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.online.checks import (
    class_numbers,
    classes_of,
    ids_of,
    listed,
    require_finite_prices,
    require_labels,
    require_no_gram,
    takes_from_data,
    weights_of,
)
from widemargin.estimators.online.from_stream import FROM_STREAM, described_later
from widemargin.estimators.online.from_svc import adopt, parameters_of
from widemargin.estimators.online.look_again import nearly_finished, violating
from widemargin.estimators.online.query import ambiguities, near_and_diverse
from widemargin.estimators.prediction import DecisionFunctions
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import (
    Accepts,
    fits_float32,
    is_numeric,
    priced,
    require_choice,
    require_flag,
    require_magnitude,
    require_moderate_diagonal,
    require_number,
    warn_if_gamma_is_unused,
)
from widemargin.kernels.rows import count, kernel_block, take
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.kernels.sequences import letters_left_out
from widemargin.machines.classifier import PairSolution
from widemargin.machines.dual import SolverOptions, Vector, cache_bytes
from widemargin.machines.online.active import ActivePass
from widemargin.machines.online.kept_samples import FREE
from widemargin.machines.online.stream import ONLINE_SELECTIONS, Batch, OnlineRules, Stream
from widemargin.runtime import Lock, thread_count
from widemargin.runtime.callbacks import fit_task, is_awaited
from widemargin.runtime.callers import stacklevel

#: Samples from which a kernel takes what it leaves to data; with fewer, that still changes.
ENOUGH_FOR_A_KERNEL = 100

#: Attributes that are made again when they are needed.
OF_THIS_PROCESS = ("_prepared_vectors", "_known_options")

#: Parameters that say what the kernel is; they stay what they were at the first batch.
KERNEL_PARAMETERS = ("kernel", "degree", "gamma", "coef0")


@described_later
@dataclass(kw_only=True, repr=False, eq=False)
class OnlineSVC(KernelClassifier):
    r"""C-support vector classification that learns from one sample after the other (LASVM).

    The model is that of :class:`~widemargin.SVC` with the hinge loss, over the samples that are *kept*: maximise
    :math:`y'a - a'Ka/2` over :math:`\sum a = 0`, :math:`0 \le y_n a_n \le C_n`, with :math:`a_n = 0` for all others
    [Glasmachers2008, chapter 8]. For every sample that arrives there are two steps of two variables each. PROCESS takes
    the sample and the kept one that raises the objective most with it; the sample is kept if its coefficient moves.
    REPROCESS takes the best pair of kept samples; afterwards samples whose coefficient is 0, and which raise the
    objective with no partner, leave. Where all coefficients are at their bounds, a sample of either side may wait for a
    partner that is yet to come, so that no C is too small to learn with. :meth:`finish` solves the problem on the kept
    set to `tol`. In the limit of many passes the model is that of :class:`~widemargin.SVC`, for more than two classes
    with ``multi_class="ovr"``; after one it is near it, with about as many support vectors.

    More than two classes have a decision function each, against all others; all of them share the kept samples and
    their kernel values. While only one class has been seen, the first 16 samples are kept until another one comes: the
    classes of a stream must come mixed, and :meth:`partial_fit` warns where they come sorted. There are no
    probabilities.

    A sample costs n_kept d operations for its kernel values and a few times n_kept for the steps of each decision
    function. Kernel values among kept samples stay in memory, n_kept^2 numbers at most, as far as `cache_size` allows;
    others are computed anew when they are needed. Beside these, memory grows with the kept samples only.

    Threads that use the same model take turns: who predicts while another one learns waits for the end of that call.

    Parameters
    ----------
    C : float, default=1.0
        Regularisation parameter: the price of a margin error. It may change between calls: the next one cuts
        coefficients to their new bounds, moves what is missing to the samples whose gradients say that it costs least,
        and goes on from there.
    kernel : {"linear", "poly", "rbf", "sigmoid"}, kernel object or callable, default="rbf"
        As for :class:`~widemargin.SVC`; "precomputed" is refused. The kernel stays what it was at the first batch.
    degree, coef0
        As for :class:`~widemargin.SVC`.
    gamma : {"scale", "auto"} or float, default="scale"
        As for :class:`~widemargin.SVC`. "scale" is taken from the first 100 samples, or from the first batch if that
        holds more, and kept for all that follow; so are parameters that a kernel object takes from data. Until there
        are as many, each batch begins anew with all samples so far.
    selection : {"second-order", "maximal-violating-pair"}, default="second-order"
        How PROCESS and REPROCESS choose partners: by the gain of the unconstrained step, or by the steepest slope
        [Glasmachers2008, section 8.2].
    window : int or None, default=None
        Only the last `window` samples may stay kept: for streams that drift. A sample that falls out of the window
        leaves; its coefficient goes to the samples whose gradients say that it costs least, as far as their boxes
        allow, and one REPROCESS step more follows. A sample of a fixed set that comes by again counts from then on.
    budget : int or None, default=None
        Samples that may stay kept at most, no fewer than there are classes; None for any number. The last `budget` / 2
        stay, support vectors or not. Of too many, the oldest leaves, so that the model remembers as long a time as its
        support vectors have room for. Samples that came before the last `budget` ones leave as well when the model
        takes them for another class, each with the oldest of that class among them: on streams that drift they are no
        longer true. A class keeps its last sample. As with a window, others take up the coefficients of those that
        leave, and the model is that of the kept samples.
    epochs : int, default=1
        Passes of :meth:`fit` over the samples, each in an order of its own.
    active : bool, default=False
        Whether the passes of :meth:`fit` choose their samples: after the first five of each class, at every turn the
        one nearest to the decision boundary among 50 that are drawn at random from those not yet taken, as
        [Bordes2005] do. For :meth:`fit` only; :meth:`query` asks for labels that are not known yet.
    max_labels : int or None, default=None
        Samples after which an active pass ends; further passes are over these.
    finishing : bool, default=True
        Whether :meth:`fit` ends with :meth:`finish`. Just before that, the samples that are not kept, and violate their
        margins or nearly so, come by once more, unless there is a window or a budget: of a model that is nearly
        finished, these are few.
    shrinking, max_iter, solver
        Of the solver that :meth:`finish` calls; see :class:`~widemargin.SVC`.
    tol : float, default=1e-3
        Largest violation of the optimality conditions after :meth:`finish`; steps are taken along pairs that violate by
        more.
    cache_size : "auto" or float, default="auto"
        Megabytes for kernel values among kept samples; "auto" is a quarter of the free memory.
    class_weight : dict or "balanced", default=None
        Multiplies `C` for the samples of a class that arrive; "balanced" is for :meth:`fit` only.
    verbose : bool, default=False
        Print the fit report.
    decision_function_shape : {"ovr"}, default="ovr"
        There are no pairs of classes.
    break_ties : bool, default=True
        There are no votes, and no ties between them.
    random_state : int, RandomState instance or None, default=None
        Orders of the passes of :meth:`fit`. :meth:`partial_fit` takes samples as they come.
    n_jobs : int, default=None
        Threads; the result does not depend on it. -1 uses all cores.
    max_time : float, default=None
        Seconds for a call, after which it returns what it has learnt so far; ``n_seen_`` tells from how many samples.
    warm_start : bool, default=False
        Whether :meth:`fit` goes on from the samples kept so far; the classes must be the same.

    Attributes
    ----------
    kept_ids_ : ndarray of shape (n_kept,)
        Ids of the kept samples, in the order in which they came: as given to :meth:`partial_fit`, else their running
        numbers; after :meth:`fit`, their rows.
    n_seen_ : int
        Samples learnt from, counted again each time that they come by; those of weight 0 do not count.
    queried_ : ndarray
        After :meth:`fit` with `active`: the rows that it learnt from, in the order in which they were chosen.
    gap_ : float
        Duality gap on the kept set now, summed over the decision functions: by how much their objectives can still
        rise, at most. From certified numbers after :meth:`finish`; else from the gradients that the steps maintain.
    support_ : ndarray of shape (n_SV,)
        Running numbers of the support vectors, sorted by class: rows of the training data after :meth:`fit`.
    classes_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, kernel_, class_weight_
        See :class:`~widemargin.SVC` with ``multi_class="ovr"``.
    fit_report_ : FitReport
        For each decision function: violation, duality gap and objective on the kept set, steps, kernel evaluations.
        After :meth:`finish` the violation is recomputed in float64. Before, the numbers come from the gradients that
        the steps maintain, and the reason is "iteration budget" unless the tolerance happens to be met.
    fit_status_ : int
        0 if every problem is solved to `tol` on the kept set, 1 otherwise.
    n_iter_ : ndarray
        Steps of each decision function.
    shape_fit_, n_features_in_, feature_names_in_
        See :class:`~widemargin.SVC`; the first one counts all samples seen.

    References
    ----------
    [Bordes2005]_, [Glasmachers2008]_ chapter 8; keys are those of ``references.bib``.

    Examples
    --------
    >>> from widemargin import OnlineSVC
    >>> from widemargin.datasets import chess_board
    >>> X, y = chess_board(2000, random_state=0)
    >>> model = OnlineSVC(C=1000, gamma=2)
    >>> for begin in range(0, 2000, 100):
    ...     batch = slice(begin, begin + 100)
    ...     model = model.partial_fit(X[batch], y[batch], classes=[-1, 1])
    >>> model.score(X, y) > 0.95, model.gap_ > 0
    (True, True)
    >>> model.finish().fit_report_.converged
    True
    >>> OnlineSVC(C=1000, gamma=2, epochs=3, random_state=0).fit(X, y).score(X, y) > 0.97
    True
    """

    C: float = 1.0
    selection: str = "second-order"
    window: int | None = None
    budget: int | None = None
    epochs: int = 1
    active: bool = False
    max_labels: int | None = None
    finishing: bool = True

    queried_: NDArray[np.intp] = field(init=False)
    _stream: Stream = field(init=False)
    _given_kernel: tuple[Any, ...] = field(init=False)
    #: How many samples were given so far; whether some are called by these running numbers, and some by names.
    _n_given: int = field(init=False, default=0)
    _numbers_are_ids: bool = field(init=False, default=False)
    _has_names: bool = field(init=False, default=False)

    #: Whether it was said that samples come sorted by class, or need not be: all classes were known at once.
    _order_told: bool = field(init=False, default=False)

    #: The support vectors, and the same in the form that the kernel makes for itself.
    _prepared_vectors: tuple[Any, Any] = field(init=False)

    #: What memory and threads were asked for, and the options of the solver that this led to.
    _known_options: tuple[tuple[int, float | str, int], SolverOptions] = field(init=False)

    #: Letters of sequences that were warned of.
    _letters_named: frozenset[str] = field(init=False, default=frozenset())

    #: Whether it was compressed, and knows its decision functions only.
    _has_no_stream: bool = field(init=False, default=False)

    _mixes_sparse_and_dense = True

    #: Each class is told apart from all others.
    multi_class = "ovr"

    _accepts: ClassVar[Mapping[str, Accepts]] = {
        **KernelClassifier._accepts,
        "kernel": require_no_gram,
        "C": partial(require_number, above=0),
        "selection": partial(require_choice, choices=ONLINE_SELECTIONS),
        "window": partial(require_number, at_least=1, integer=True, others=(None,)),
        "budget": partial(require_number, at_least=2, integer=True, others=(None,)),
        "epochs": partial(require_number, at_least=1, integer=True),
        "active": require_flag,
        "max_labels": partial(require_number, at_least=1, integer=True, others=(None,)),
        "finishing": require_flag,
        "decision_function_shape": partial(require_choice, choices=("ovr",)),
        "break_ties": partial(require_choice, choices=(True,)),
    }

    @classmethod
    def from_model(cls, model: SVC, **parameters: Any) -> Self:
        """Start from a fitted :class:`~widemargin.SVC`: its support vectors are kept, with their coefficients.

        Parameters
        ----------
        model : SVC
            With the hinge loss, an intercept, and two classes or ``multi_class="ovr"``.
        **parameters
            Of the new estimator. Where they are not given, `C`, the kernel and its numbers, class weights and the
            tolerance are those of the model.

        Returns
        -------
        OnlineSVC
            The weights of the samples are not known any more: bounds are `C` times class weight, or the coefficient
            where that is larger. Ids are rows of the model's training data.

        Examples
        --------
        >>> from widemargin import SVC, OnlineSVC
        >>> from widemargin.datasets import chess_board
        >>> X, y = chess_board(1000, random_state=0)
        >>> batch = SVC(C=100, gamma=2).fit(X[:500], y[:500])
        >>> online = OnlineSVC.from_model(batch)
        >>> bool((online.predict(X) == batch.predict(X)).all())
        True
        >>> online.partial_fit(X[500:], y[500:]).n_seen_ > 500
        True
        """
        new = cls(**{**parameters_of(model), **parameters})
        new._check_parameters()
        adopt(new, model)
        return new

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the samples in `epochs` passes, then :meth:`finish` unless `finishing` is off.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 0 is the same as leaving the sample out.

        Returns
        -------
        OnlineSVC
            The estimator itself.
        """
        if is_awaited(self):
            with fit_task(self, X, y, sample_weight):
                return self.fit(X, y, sample_weight)
        with self._alone:
            began = time.perf_counter()
            self._check_parameters()
            warn_if_gamma_is_unused(self.kernel, self.gamma)
            if self.warm_start and self._has_no_stream:
                self._require_started("samples to go on from")
            known = self.classes_.tolist() if self.warm_start and "_stream" in vars(self) else None
            if known is not None:
                self._require_same_kernel()
                self._check_new_data(X)  # which is to have the same features
            X, labels, weights = self._check_training_data(X, y, sample_weight)
            if known is None:
                self._end()
            elif known != self.classes_.tolist():
                found, self.classes_ = self.classes_.tolist(), np.asarray(known)
                raise ValueError(f"warm_start=True goes on with the classes {known}; y holds {found}.")
            else:
                self._warn_of_letters(X)
            self.class_weight_ = self._class_factors(labels, weights)
            rows = np.arange(count(X), dtype=np.int64)
            batch = Batch(X, labels.astype(np.int32), weights * self.class_weight_[labels], rows, rows)
            priced(batch.weights, self.C)  # refuses weights that are all 0, which a batch may be
            earlier = None if known is None else self._stream.so_far
            self._check_batch(batch, first=known is None or earlier is not None)
            if known is None:
                self._begin(X, self._checked_kernel(X, weights))
            rules = self._rules(began, len(rows))
            if earlier is not None:
                everyone = earlier.followed_by(batch)
                self._begin(X, self._checked_kernel(everyone.samples, everyone.weights))
                self._learn(earlier, [earlier.rows], rules)
            self._n_given, self._numbers_are_ids, self._order_told = self._n_given + len(rows), True, True
            self._learn_all(batch, rules)
            if self.fit_status_ and (self.finishing or self._stream.late):
                self._tell()
            elif self.verbose:
                print(self.fit_report_)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, ids: Any = None) -> Self:
        """Learn from a batch of samples, one after the other, as they come.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like, optional
            All classes that may ever occur; required at the first call, and not needed after that.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 0 is the same as leaving the sample out.
        ids : array-like of shape (n_samples,), optional
            What the samples are called, see ``kept_ids_``; else they are numbered. A number or a string for each
            sample, which several may share. The id of a sample that is not kept any more is not remembered.

        Returns
        -------
        OnlineSVC
            The estimator itself.
        """
        with self._alone:
            began = time.perf_counter()
            self._check_parameters()
            self._require_stream_of_samples()
            first = "_stream" not in vars(self)
            if first:
                X, y = self._check_samples(X, y)
                if classes is None:
                    raise ValueError("classes must be passed on the first call to partial_fit.")
                require_labels(y)
                self.classes_ = classes_of(classes)
            else:
                self._require_same_kernel()
                X = self._check_new_data(X)
                if self._stream.so_far is None:
                    self._warn_of_letters(X)
                y = y if isinstance(y, np.ndarray) and y.ndim == 1 else column_or_1d(y, warn=True)
                if len(y) != count(X):
                    check_consistent_length(X, y)  # which says so
                self._require_same_classes(classes)
            labels = class_numbers(y, self.classes_)
            weights = weights_of(sample_weight, len(labels))
            names = ids_of(ids, len(labels))
            self.class_weight_ = self._class_factors(labels, weights)
            weights = weights * self.class_weight_[labels]
            numbers = np.arange(len(labels), dtype=np.int64) + (0 if first else self._n_given)
            batch = Batch(X, labels.astype(np.int32), weights, numbers if names is None else names, numbers)
            so_far = None if first else self._stream.so_far
            begins = first or so_far is not None
            self._check_batch(batch, first=begins)
            given, names_given = self._n_given + len(labels), names is not None
            if begins:
                batch = batch if so_far is None else so_far.followed_by(batch)
                weights = batch.weights if batch.weights.any() else np.ones(len(batch.weights))
                self._begin(batch.samples, self._checked_kernel(batch.samples, weights))
                if takes_from_data(self.kernel, self.gamma) and len(batch.rows) < ENOUGH_FOR_A_KERNEL:
                    self._stream.so_far = batch.part(batch.rows)
            self._n_given = given
            self._has_names = self._has_names or names_given
            self._numbers_are_ids = self._numbers_are_ids or not names_given
            self._learn_in_order(batch, began)
            self._stream.order.came(batch.labels[batch.rows])
            self._warn_of_order()
            if self.verbose:
                print(self.fit_report_)
        return self

    def finish(self) -> Self:
        """Solve the problems on the kept set to `tol`; samples whose coefficients are 0 may leave. A second call, too.

        Returns
        -------
        OnlineSVC
            The estimator itself. Where nothing has changed since it was last finished, nothing happens.
        """
        with self._alone:
            began = time.perf_counter()
            self._check_parameters()
            self._require_started("finish")
            self._require_same_kernel()
            self._finish(self._rules(began, self._stream.size))
            self._tell()
        return self

    def query(self, X_pool: Any, n: int = 1) -> NDArray[np.intp]:
        """Choose the samples of a pool whose labels would tell the model most: near the boundary, and diverse.

        The first one is the nearest to the decision boundary; of more than two classes, the one with the smallest
        difference of its two largest decision values. The others follow one after the other: each has the least sum of
        its distance from the boundary, in margins, and its similarity to those already chosen, which is 1 for an equal
        sample and falls to 0 at the mean squared distance, in the feature space of the kernel, of the pool from the
        first choice. So samples that are asked for at once are no near duplicates unless the pool has no others; the
        sum is that of [Brinker2003], with distances in the place of angles.

        Takes a prediction of the pool, and n kernel values for each of its samples.

        Parameters
        ----------
        X_pool : array, sparse matrix or data frame of shape (n_samples, n_features)
            Samples without labels.
        n : int, default=1
            How many to choose.

        Returns
        -------
        ndarray of shape (n,)
            Rows of the pool, in the order in which they were chosen. The same for the same model and pool.

        Examples
        --------
        >>> from widemargin import OnlineSVC
        >>> from widemargin.datasets import chess_board
        >>> X, y = chess_board(1000, random_state=0)
        >>> model = OnlineSVC(C=100, gamma=2).partial_fit(X[:50], y[:50], classes=[-1, 1])
        >>> rows = 50 + model.query(X[50:], n=10)
        >>> model.partial_fit(X[rows], y[rows]).n_seen_
        60
        """
        self._require_started("query")
        require_number("n", n, at_least=1, integer=True)
        pool = self._check_new_data(X_pool)
        if n > count(pool):
            raise ValueError(f"n must be at most the number of samples in X_pool, {count(pool)}; got {n}.")
        ambiguity = ambiguities(self._functions().values(pool))
        if n == 1:
            return np.array([ambiguity.argmin()], dtype=np.intp)
        # A kernel of the mapped samples, which are mapped here, once for all distances.
        samples, kernel = self._stream.kernel.mapped(pool), replace(self._stream.kernel, map=None)
        squares = self._rows_of(samples, kernel).diagonal()

        def distances(sample: int) -> Vector:
            values = kernel_block(kernel, take(samples, np.array([sample])), samples, thread_count(self.n_jobs))[0]
            return np.asarray(squares + squares[sample] - 2.0 * values)

        return near_and_diverse(ambiguity, distances, n)

    def forget(self, ids: Any) -> Self:
        """Remove samples: what is left is the model of the other kept samples, solved to `tol`.

        Their coefficients go to the samples whose gradients say that it costs least; the solver begins there, as that
        of :meth:`finish` does. The model is not always the one that the stream would have led to without the samples:
        what left earlier because of them does not come back.

        Parameters
        ----------
        ids : array-like or a single id
            As given to :meth:`partial_fit`, else running numbers (rows, after :meth:`fit`); all samples of an id leave.
            Samples that have been seen and are not kept have no part in the model, and nothing has to be done; nor is
            anything known of them, so that a warning names the ids that no kept sample has. What the kernel took from
            the first samples, such as ``gamma="scale"``, stays.

        Returns
        -------
        OnlineSVC
            The estimator itself.

        Examples
        --------
        >>> from widemargin import OnlineSVC
        >>> from widemargin.datasets import chess_board
        >>> X, y = chess_board(500, random_state=0)
        >>> model = OnlineSVC(C=100, gamma=2).partial_fit(X, y, classes=[-1, 1])
        >>> kept = model.kept_ids_
        >>> bool(kept[0] in model.forget(kept[:3]).kept_ids_)
        False
        """
        with self._alone:
            began = time.perf_counter()
            self._check_parameters()
            self._require_started("forget")
            self._require_same_kernel()
            names = np.asarray(ids, dtype=object).ravel().tolist()
            positions = self._positions_of(names)
            so_far = self._stream.so_far
            if so_far is not None:
                gone = set(names)
                self._stream.so_far = so_far.part(np.flatnonzero([name not in gone for name in so_far.ids.tolist()]))
            if len(positions):
                rules = self._rules(began, self._stream.size)
                stream = self._changing()
                stream.late = False
                stream.forget(positions, rules)
                stream.finish(stream.C, rules, everyone=True)
                self._tell()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "_kernel_parameters" in vars(self)

    def _append_features(self, more: int, widened: Callable[[Any], Any]) -> None:
        """Give all samples so far further features, which are 0: that changes no values of the kernels by name."""
        with self._alone:
            stream = self._changing()
            stream.replace_samples(widened(stream.samples))
            self.n_features_in_ += more

    def _positions_of(self, names: list[Any]) -> NDArray[np.int32]:
        """Return the positions of the kept samples with these ids; refuse or warn of ids that none of them has."""
        stream = self._settled()
        kept = stream.kept
        where: dict[Any, list[int]] = {}
        for position, name in zip(kept.tolist(), stream.ids[kept].tolist(), strict=True):
            where.setdefault(name, []).append(position)
        waiting = set() if stream.so_far is None else set(stream.so_far.ids.tolist())
        found: list[int] = []
        missing = []
        for name in dict.fromkeys(name for name in names if self._may_be_id(name)):
            if name in where:
                found += where[name]
            elif not (name in waiting or self._is_running_number(name)):
                missing.append(name)
        if missing:
            warnings.warn(
                f"No kept sample has the id {listed(missing)}: a sample of that id is not kept any more, or there has "
                "been none; there is nothing to forget of it.",
                stacklevel=3,
            )
        return np.array(sorted(found), dtype=np.int32)

    def _is_running_number(self, name: Any) -> bool:
        return self._numbers_are_ids and isinstance(name, int | np.integer) and 0 <= int(name) < self._n_given

    def _may_be_id(self, name: Any) -> bool:
        """Refuse what no sample can have been called."""
        if isinstance(name, Hashable) and (self._has_names or self._is_running_number(name)):
            return True
        expected = ["those given to partial_fit"] if self._has_names else []
        expected += [f"running numbers below {self._n_given}"] if self._numbers_are_ids else []
        raise KeyError(f"No sample with the id {name!r} has been learnt from; ids are {', or '.join(expected)}.")

    @property
    def gap_(self) -> float:
        """Duality gap on the kept set now, summed over the decision functions."""
        with self._alone:
            self._require_started("gap_", AttributeError)
            return self._stream.gap

    @property
    def kept_ids_(self) -> NDArray[Any]:
        """Ids of the kept samples, in the order in which they came."""
        with self._alone:
            self._require_started("kept_ids_", AttributeError)
            stream = self._settled()
            return np.asarray(stream.ids[stream.kept])

    @property
    def n_seen_(self) -> int:
        """Samples learnt from."""
        with self._alone:
            self._require_started("n_seen_", AttributeError)
            return int(self._stream.core.seen)

    def _require_started(self, what: str, error: type[Exception] = ValueError) -> None:
        if self._has_no_stream:
            raise error(
                f"{type(self).__name__} has no {what} after its compression, which left the samples that it had kept "
                "behind; go on with the uncompressed model, or call fit with warm_start=False to begin anew."
            )
        if "_stream" not in vars(self):
            raise error(
                f"{type(self).__name__} has no {what} before it has learnt from a batch; call fit or partial_fit."
            )

    def _rule(self) -> str:
        return "argmax"

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.max_labels is None:
            return
        if not self.active:
            raise ValueError(f"max_labels={self.max_labels!r} ends an active pass; pass active=True, or None.")
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' counts the labels of all samples, and max_labels asks for some of them only; "
                "pass a dict of weights."
            )

    def _require_room_for_classes(self) -> None:
        if self.budget is not None and self.budget < len(self.classes_):
            raise ValueError(
                f"budget must be at least the number of classes, {len(self.classes_)}, each of which keeps a sample; "
                f"got {self.budget}."
            )

    def _bounds(self, labels: NDArray[np.intp], weights: Vector) -> Vector:
        return priced(weights, self.C)

    def _warn_of_missing_margins(self, solutions: Sequence[PairSolution]) -> None:
        """Say nothing: C is finite."""

    @property
    def _alone(self) -> Lock:
        """Keeps other threads from the model: they wait."""
        known = self.__dict__.get("_lock")
        return cast(Lock, self.__dict__.setdefault("_lock", Lock()) if known is None else known)

    def _settled(self) -> Stream:
        """Return the stream to those who look at it."""
        self._stream.settle()
        return self._stream

    def _changing(self) -> Stream:
        """Return the stream to those who change it: whatever ends them, attributes are those of what it is then."""
        self._drop(*FROM_STREAM, "_prepared_vectors", "compression_report_", "_shares_vectors")
        return self._settled()

    def _end(self) -> None:
        """Leave nothing of what was learnt, so that a fit that is refused leaves no model of other samples."""
        self._drop(*FROM_STREAM, "_prepared_vectors", "compression_report_", "_shares_vectors")
        self._drop(
            "_stream", "_kernel_parameters", "queried_", "_n_given", "_numbers_are_ids", "_has_names", "_order_told"
        )

    def _drop(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def _begin(self, X: Any, kernel: Any) -> None:
        """Start a stream whose first samples are these."""
        rows = self._rows_of(X, kernel)
        require_moderate_diagonal(rows, kernel)
        self._drop("_has_no_stream", "_letters_named")
        nobody = take(X, np.empty(0, dtype=np.intp))  # a model that has learnt nothing is one, too
        self._stream = Stream(len(self.classes_), kernel, not fits_float32(rows), float(self.C), nobody)
        self._kernel_parameters, self._given_kernel = kernel, self._kernel_asked_for()

    def _kernel_asked_for(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in KERNEL_PARAMETERS)

    def _require_same_kernel(self) -> None:
        for name, before, now in zip(KERNEL_PARAMETERS, self._given_kernel, self._kernel_asked_for(), strict=True):
            if before is not now and before != now:
                raise ValueError(
                    f"{name} was {before!r} when the model began to learn, and is {now!r} now; set it back, or call "
                    "fit to begin anew."
                )

    def _warn_of_unknown_letters(self, X: Any) -> None:
        """Warn where samples to predict hold letters that the first batch did not."""
        self._warn_of_letters(X)

    def _warn_of_letters(self, X: Any) -> None:
        """Warn, once of each, of letters that the first batch did not hold."""
        source = self._kernel_parameters.source
        if not self._takes_objects or source is None:
            return
        found = letters_left_out(as_kernel(self.kernel), source, X) - self._letters_named
        if found:
            self._letters_named |= found
            warnings.warn(
                f"X holds letters that are not in the alphabet of the kernel, taken from the first samples: "
                f"{', '.join(map(repr, sorted(found)))}; oligomers with them are skipped. Pass the kernel an alphabet "
                "of all letters that may ever occur (alphabet=...) if they matter.",
                stacklevel=stacklevel(),
            )

    def _warn_of_order(self) -> None:
        """Warn, once, of samples that come sorted by class."""
        order = self._stream.order
        if self._order_told or not order.is_sorted:
            return
        self._order_told = True
        warnings.warn(
            f"Samples come sorted by class: of {order.seen} so far, {order.changes} came after one of another class, "
            f"where about {order.changes_expected:.0f} would have in random order. Samples that leave before those of "
            "other classes come are lost, so the model may be no better than a guess; shuffle the samples.",
            stacklevel=3,
        )

    def _rules(self, began: float, n: int, options: SolverOptions | None = None) -> OnlineRules:
        return OnlineRules(
            self.selection,
            self.window or 0,
            self.budget or 0,
            self._stop_rule(n, began),
            self._solver_options(max(n, self._stream.size)) if options is None else options,
        )

    def _options_of_learning(self, n: int) -> SolverOptions:
        """Return what learning takes threads and memory for `n` samples from.

        They are the same for a while: finding out how much memory is free takes as long as learning from a sample.
        """
        room = (max(n, self._stream.size) // FREE + 1) * FREE
        asked = room, self.cache_size, thread_count(self.n_jobs)
        known = cast(tuple[Any, SolverOptions], vars(self).get("_known_options", (None, None)))
        if known[0] != asked:
            room_for_values = cache_bytes(self.cache_size, room, "float64")
            known = self._known_options = asked, SolverOptions(cache_bytes=room_for_values, n_threads=asked[2])
        return known[1]

    def _passes(
        self, used: NDArray[np.int32], asked: list[int], rules: OnlineRules
    ) -> Iterator[NDArray[np.int32] | ActivePass]:
        """Yield the passes of a fit over these rows, each when the one before has ended.

        What the first of them chooses, if it is an active one, goes into the list.
        """
        random = check_random_state(self.random_state)
        for number in range(self.epochs):
            order = random.permutation(used)
            if not self.active:
                yield order
                continue
            turns = min(len(used), self.max_labels or len(used))
            yield ActivePass(order, turns, random, rules.stop, asked if number == 0 else [])
            used = np.array(asked, dtype=np.int32)

    def _check_batch(self, batch: Batch, *, first: bool = False) -> None:
        """Refuse checked samples that cannot be learnt from, before anything has changed."""
        self._require_room_for_classes()
        if batch.weights.any():
            require_finite_prices(batch.weights, self.C)
        if first:
            return
        kernel = self._stream.kernel
        if kernel.of_samples and is_numeric(batch.samples):
            require_magnitude(batch.samples)
        if kernel.kernel != "rbf":  # whose diagonal is 1
            require_moderate_diagonal(self._rows_of(batch.samples, kernel), kernel)

    def _learn(self, batch: Batch, orders: Iterable[NDArray[np.int32] | ActivePass], rules: OnlineRules) -> int:
        """Learn from checked samples; whatever ends it, the model is what has been learnt."""
        stream = self._changing()
        stream.late = True
        return stream.learn(batch, orders, float(self.C), rules)

    def _learn_in_order(self, batch: Batch, began: float) -> None:
        """Learn from checked samples as they come."""
        rows, n = batch.rows, len(batch.labels)
        rules = self._rules(began, n, self._options_of_learning(n))
        self._stream.late = self._learn(batch, [rows], rules) < len(rows)

    def _learn_checked(self, X: Any, labels: NDArray[np.int32], weights: Vector, *, again: bool) -> None:
        """Do what :meth:`partial_fit` does with a stream that goes on, for rows of finite numbers.

        Those that come `again` say nothing about the order of the classes.
        """
        with self._alone:
            began = time.perf_counter()
            numbers = np.arange(self._n_given, self._n_given + len(labels), dtype=np.int64)
            batch = Batch(X, labels, weights, numbers, numbers)
            self._check_batch(batch)
            self._n_given, self._numbers_are_ids = self._n_given + len(labels), True
            self._learn_in_order(batch, began)
            if not again:
                self._stream.order.came(labels)
                self._warn_of_order()

    def _learn_all(self, batch: Batch, rules: OnlineRules) -> None:
        """Learn from checked samples in `epochs` passes, look at them again and finish, as parameters ask for it."""
        used, asked = np.flatnonzero(batch.weights > 0).astype(np.int32), list[int]()
        self._drop("queried_")
        done = self._learn(batch, self._passes(used, asked, rules), rules)
        in_time = done == self.epochs * min(len(used), self.max_labels or len(used))
        if self.active:
            self.queried_ = np.array(asked, dtype=np.intp)
            used = np.sort(np.array(asked, dtype=np.int32))
        if self.finishing and in_time:
            if self.window is None and self.budget is None:
                in_time = self._look_again(batch, used, rules)
            self._finish(rules)
        self._stream.late = not in_time

    def _look_again(self, batch: Batch, used: NDArray[np.int32], rules: OnlineRules) -> bool:
        """Offer the samples that are not kept, and violate their margins or nearly so, once more; False if time is up.

        Of a model that is nearly finished, these are few.
        """
        stream = self._changing()
        stream.nearly_finish(float(self.C), nearly_finished(rules))
        others = np.setdiff1d(used, stream.numbers[stream.kept])
        rows = violating(self._functions(), batch, others, len(self.classes_), rules.stop)
        if rows is None:
            return False
        if len(rows) == 0:
            return True
        return self._learn(batch.part(rows), [np.arange(len(rows), dtype=np.int32)], rules) == len(rows)

    def _finish(self, rules: OnlineRules) -> None:
        stream = self._changing()
        try:
            stream.finish(float(self.C), rules)
        finally:
            stream.late = float(self.C) != stream.C

    def _describe(self) -> None:
        """Set the attributes that come from the stream."""
        with self._alone:
            if "_stream" not in vars(self):
                return
            stream = self._settled()
            solutions = stream.solutions(float(self.tol), "time budget" if stream.late else "iteration budget")
            labels, alive = stream.labels.astype(np.intp), (stream.core.left() == 0).astype(np.float64)
            self._keep_solutions(stream.rows, labels, alive, stream.kernel, self._scheme(), solutions)
            if sp.issparse(self.support_vectors_):
                self.dual_coef_ = sp.csr_matrix(self.dual_coef_)
            if self._takes_objects:
                self._prepared_vectors = self.support_vectors_, stream.samples_at(self.support_, prepared=True)
            self.support_ = stream.numbers[self.support_].astype(np.int32)
            self.shape_fit_ = (self._n_given,) if self._takes_objects else (self._n_given, self.n_features_in_)

    def _functions(self) -> DecisionFunctions:
        with self._alone:
            functions = super()._functions()
            vectors, prepared = vars(self).get("_prepared_vectors", (None, None))
            return replace(functions, support_vectors=prepared) if vectors is self.support_vectors_ else functions

    def __getstate__(self) -> dict[str, Any]:
        with self._alone:
            if "_stream" in vars(self) and "support_" not in vars(self):
                self._describe()
            state = cast(dict[str, Any], super().__getstate__())
            return {name: value for name, value in state.items() if name not in OF_THIS_PROCESS}

    def _require_stream_of_samples(self) -> None:
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' is not supported for partial_fit, which does not know how many samples of "
                "each class are yet to come; pass a dict of weights."
            )
        if self._has_no_stream:
            self._require_started("partial_fit")

    def _require_same_classes(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
