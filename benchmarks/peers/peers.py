"""The peers: each library behind its own public estimators, input validation included.

A peer is handed its input in the form it likes best (``prepare``, not timed): float64 or float32 arrays, CSR for
LIBSVM. Libraries are imported where they are used, so that a missing one is only named and left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from benchmarks.peers.certificate import Machine

Matrix = npt.NDArray[np.floating[Any]]
Gram = Callable[[Matrix, float, int], Matrix]

LIBSVM_KERNELS = {"linear": 0, "rbf": 2}


@dataclass(frozen=True)
class Settings:
    """What a peer is asked for: the model, the accuracy and the resources.

    ``parameters`` are those of the model (C, epsilon, nu, ...), with the kernel if it is not the Gaussian; ``cache`` is
    in MB or "auto"; a run makes ``calls`` calls.
    """

    parameters: Mapping[str, Any]
    gamma: float
    tolerance: float
    n_jobs: int
    cache: float | str
    estimator: str = "SVC"
    calls: int = 1

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return str(self.parameters.get("kernel", "rbf"))


class Peer(Protocol):
    """A library in the comparison."""

    @property
    def name(self) -> str:
        """How the peer is called on the command line."""

    @property
    def distribution(self) -> str:
        """The installed package it comes from."""

    @property
    def input_type(self) -> type[np.floating[Any]]:
        """The precision of the data it is handed."""

    def load(self) -> None:
        """Import the library, so that no clock sees it."""

    def prepare(self, X: Matrix) -> Any:
        """Bring the data into the form the library is handed."""

    def fit(self, data: Any, y: npt.NDArray[Any], settings: Settings) -> Any:
        """Train and return the library's own model."""

    def machine(self, model: Any) -> Machine:
        """Return the dual variables of a model."""

    def predict(self, model: Any, data: Any) -> npt.NDArray[Any]:
        """Return the predicted labels."""

    def gram(self, X: Matrix, gamma: float, n_jobs: int) -> Matrix:
        """Return the Gaussian kernel matrix of the rows of X."""


@dataclass(frozen=True)
class EstimatorPeer:
    """A library whose estimators have scikit-learn's constructors and attributes; the first of ``modules`` has them.

    What is ``fragile`` may be installed and yet impossible to import.
    """

    name: str
    modules: tuple[str, ...]
    distribution: str
    gram: Gram
    input_type: type[np.floating[Any]] = np.float64
    threaded: bool = True
    fragile: bool = False

    def load(self) -> None:
        """Import everything a run needs."""
        for module in self.modules:
            import_module(module)

    def prepare(self, X: Matrix) -> Matrix:
        """Return a C-ordered array of the peer's precision."""
        return np.ascontiguousarray(X, dtype=self.input_type)

    def fit(self, data: Matrix, y: npt.NDArray[Any], settings: Settings) -> Any:
        """Fit the library's estimator."""
        parameters = {"kernel": settings.kernel, "tol": settings.tolerance, "cache_size": settings.cache}
        parameters |= {"gamma": settings.gamma} if settings.kernel == "rbf" else {}
        parameters |= {"n_jobs": settings.n_jobs} if self.threaded else {}
        parameters |= settings.parameters
        model = getattr(import_module(self.modules[0]), settings.estimator)(**parameters)
        return model.fit(data, y)

    def machine(self, model: Any) -> Machine:
        """Read ``support_``, ``dual_coef_`` and, of a classifier, ``classes_``."""
        classes = getattr(model, "classes_", None)
        return Machine(np.asarray(model.support_, dtype=np.intp), np.asarray(model.dual_coef_), classes)

    def predict(self, model: Any, data: Matrix) -> npt.NDArray[Any]:
        """Call ``predict``."""
        return np.asarray(model.predict(data))


@dataclass(frozen=True)
class LibsvmPeer:
    """LIBSVM through its own Python interface; sparse matrices are the fast way in."""

    name: str = "libsvm"
    distribution: str = "libsvm-official"
    input_type: type[np.floating[Any]] = np.float64

    def load(self) -> None:
        """Import the interface."""
        import_module("libsvm.svmutil")

    def prepare(self, X: Matrix) -> csr_matrix:
        """Return a CSR matrix."""
        return csr_matrix(np.asarray(X, dtype=self.input_type))

    def fit(self, data: csr_matrix, y: npt.NDArray[Any], settings: Settings) -> Any:
        """Convert to LIBSVM's nodes and train a classifier."""
        library = import_module("libsvm.svmutil")
        options = (
            f"-s 0 -t {LIBSVM_KERNELS[settings.kernel]} -q -c {settings.parameters['C']!r} -g {settings.gamma!r}"
            f" -e {settings.tolerance!r} -m {settings.cache!r}"
        )
        return library.svm_train(library.svm_problem(np.asarray(y, dtype=np.float64), data), options)

    def machine(self, model: Any) -> Machine:
        """Read the model structure; LIBSVM numbers rows from one and classes by first appearance."""
        n_classes, n_support = model.get_nr_class(), model.get_nr_sv()
        coef = np.array([model.sv_coef[row][:n_support] for row in range(n_classes - 1)])
        return Machine(np.array(model.get_sv_indices(), dtype=np.intp) - 1, coef, np.array(model.get_labels()))

    def predict(self, model: Any, data: csr_matrix) -> npt.NDArray[Any]:
        """Call ``svm_predict``, which goes row by row through Python."""
        labels, _, _ = import_module("libsvm.svmutil").svm_predict([], data, model, "-q")
        return np.array(labels)

    def gram(self, X: Matrix, gamma: float, n_jobs: int) -> Matrix:
        """Refuse: LIBSVM exports no kernel function."""
        return _no_gram(X, gamma, n_jobs)


def _gram_widemargin(X: Matrix, gamma: float, n_jobs: int) -> Matrix:
    matrix: Matrix = import_module("widemargin.kernels.rows").kernel_matrix(
        X, kernel="rbf", gamma=gamma, dtype="float32", n_jobs=n_jobs
    )
    return matrix


def _gram_sklearn(X: Matrix, gamma: float, n_jobs: int) -> Matrix:
    matrix: Matrix = import_module("sklearn.metrics.pairwise").rbf_kernel(X, gamma=gamma)
    return matrix


def _gram_intelex(X: Matrix, gamma: float, n_jobs: int) -> Matrix:
    # The kernel function, unlike the classifier, takes its number of threads from the process.
    import_module("daal4py").daalinit(n_jobs)
    matrix: Matrix = import_module("onedal.primitives").rbf_kernel(X, gamma=gamma)
    return matrix


def _no_gram(X: Matrix, gamma: float, n_jobs: int) -> Matrix:
    raise NotImplementedError("the library has no kernel function of its own")


INTELEX_MODULES = ("sklearnex.svm", "onedal.primitives", "daal4py")

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        # widemargin imports its estimators when they are first asked for.
        EstimatorPeer(
            "widemargin",
            ("widemargin", "widemargin.estimators", "widemargin.kernels"),
            "widemargin",
            _gram_widemargin,
        ),
        EstimatorPeer(
            "sklearn", ("sklearn.svm", "sklearn.metrics.pairwise"), "scikit-learn", _gram_sklearn, threaded=False
        ),
        EstimatorPeer("intelex", INTELEX_MODULES, "scikit-learn-intelex", _gram_intelex),
        EstimatorPeer("intelex32", INTELEX_MODULES, "scikit-learn-intelex", _gram_intelex, input_type=np.float32),
        LibsvmPeer(),
        EstimatorPeer("liquidsvm", ("liquidSVM",), "liquidSVM", _no_gram, fragile=True),
    )
}
#: Those who train a model of given parameters; liquidSVM only searches.
TRAINERS = tuple(name for name in PEERS if name != "liquidsvm")


def installed(peer: Peer) -> str | None:
    """Return the version of the peer's package, or None where it is missing or of no use."""
    try:
        found = version(peer.distribution)
        if getattr(peer, "fragile", False):
            peer.load()
    except (PackageNotFoundError, ImportError, NameError, OSError):
        return None
    return found
