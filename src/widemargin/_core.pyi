"""Types of the compiled core."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Examples:
    @property
    def size(self) -> int: ...

class RowSource:
    @property
    def size(self) -> int: ...
    @property
    def of_examples(self) -> bool: ...
    @property
    def fits_float32(self) -> bool: ...
    def diagonal(self) -> NDArray[np.float64]: ...

class Outcome:
    @property
    def reason(self) -> str: ...
    @property
    def kkt_violation(self) -> float: ...
    @property
    def duality_gap(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def intercept(self) -> float: ...
    @property
    def second_intercept(self) -> float: ...
    @property
    def iterations(self) -> int: ...
    @property
    def kernel_evaluations(self) -> int: ...
    @property
    def kernel_operations(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def precision(self) -> str: ...

class Task:
    def __init__(
        self,
        ids: NDArray[np.int32],
        linear: NDArray[np.float64],
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        alpha: NDArray[np.float64] | None = None,
        gradient: NDArray[np.float64] | None = None,
        total: tuple[float, float] = (0.0, 0.0),
        group: NDArray[np.uint8] | None = None,
        kink: NDArray[np.float64] | None = None,
        ridge: NDArray[np.float64] | None = None,
    ) -> None: ...

class Solved:
    @property
    def alpha(self) -> NDArray[np.float64]: ...
    @property
    def gradient(self) -> NDArray[np.float64]: ...
    @property
    def outcome(self) -> Outcome: ...

def dense_examples(X: NDArray[Any]) -> Examples: ...
def csr_examples(values: NDArray[Any], indices: NDArray[Any], begins: NDArray[Any], columns: int) -> Examples: ...
def kernel_source(examples: Examples, kernel: str, gamma: float, coef0: float, degree: int) -> RowSource: ...
def gram_source(gram: NDArray[Any]) -> RowSource: ...
def matrix_backed_source(source: RowSource, matrix: NDArray[np.float32]) -> RowSource: ...
def class_shared_source(source: RowSource, labels: NDArray[np.int32], bytes: int) -> RowSource: ...
def derived_source(
    source: RowSource,
    base: NDArray[np.int32],
    scale: NDArray[np.float64] | None = None,
    ridge: NDArray[np.float64] | None = None,
) -> RowSource: ...
def kernel_among(
    source: RowSource,
    ids: NDArray[np.int32],
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> NDArray[np.float32]: ...
def combined_rows(
    source: RowSource,
    rows: NDArray[np.int32],
    coefficients: NDArray[np.float64],
    columns: NDArray[np.int32],
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> NDArray[np.float64]: ...
def callable_source(
    evaluate: Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.float64]],
    size: int,
    diagonal: NDArray[np.float64] | None = None,
) -> RowSource: ...
def solve_all(
    source: RowSource,
    tasks: Sequence[Task],
    solver: str,
    selection: str,
    planning_ahead: int,
    shrinking: bool,
    double_precision: bool,
    cache_bytes: int,
    tolerance: float,
    max_iterations: int,
    max_seconds: float,
    grace_seconds: float,
    n_threads: int,
) -> list[Solved]: ...

class Trace:
    @property
    def i(self) -> NDArray[np.int32]: ...
    @property
    def j(self) -> NDArray[np.int32]: ...
    @property
    def size(self) -> NDArray[np.float64]: ...
    @property
    def slope(self) -> NDArray[np.float64]: ...
    @property
    def curvature(self) -> NDArray[np.float64]: ...
    @property
    def kind(self) -> NDArray[np.uint8]: ...
    @property
    def active(self) -> NDArray[np.int64]: ...
    @property
    def alpha(self) -> NDArray[np.float64]: ...
    @property
    def gradient(self) -> NDArray[np.float64]: ...
    @property
    def converged(self) -> bool: ...

def trace_smo(
    source: RowSource,
    task: Task,
    selection: str,
    planning_ahead: int,
    shrink_every: int,
    double_precision: bool,
    cache_bytes: int,
    tolerance: float,
    max_iterations: int,
    n_threads: int,
) -> Trace: ...

class StoppedError(TimeoutError): ...

class StopSignal:
    def __init__(self) -> None: ...
    def request(self) -> None: ...
    @property
    def requested(self) -> bool: ...

class SolvedLink(Solved):
    @property
    def repeated(self) -> bool: ...
    @property
    def rounding(self) -> float: ...

class ExactMachine:
    def __init__(
        self,
        kernel: NDArray[np.float64],
        row_of: NDArray[np.int64],
        column_of: NDArray[np.int64],
        signs: NDArray[np.float64],
        bounds: NDArray[np.float64],
        ridge: NDArray[np.float64] | None,
        bordered: bool,
        known: NDArray[np.int64],
        alpha: NDArray[np.float64],
        values: NDArray[np.float64],
        intercept: float,
        well_conditioned: float,
        dependent: float,
        corrections: int,
    ) -> None: ...
    @property
    def found(self) -> bool: ...
    @property
    def alpha(self) -> NDArray[np.float64]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def free(self) -> NDArray[np.int64]: ...
    @property
    def dependent(self) -> int: ...
    @property
    def bounded(self) -> NDArray[np.int64]: ...
    @property
    def intercept(self) -> float: ...
    @property
    def moved(self) -> float: ...
    def adjoint(
        self, of_values: NDArray[np.float64], of_coefficients: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], float]: ...

def likeliest_slope(margins: NDArray[np.float64], weights: NDArray[np.float64], largest: float) -> float: ...

class LeftOut:
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def found(self) -> NDArray[np.uint8]: ...
    @property
    def intercepts(self) -> NDArray[np.float64]: ...
    @property
    def alphas(self) -> NDArray[np.float64]: ...

def leave_one_out(
    kernel: NDArray[np.float64],
    signs: NDArray[np.float64],
    bounds: NDArray[np.float64],
    ridge: NDArray[np.float64],
    alpha: NDArray[np.float64],
    residual: NDArray[np.float64],
    intercept: float,
    bordered: bool,
    free: NDArray[np.int32],
    inverse: NDArray[np.float64],
    examples: NDArray[np.int32],
    keep: bool,
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> LeftOut: ...

class Chain:
    def __init__(
        self,
        kernel: NDArray[np.float32],
        ids: NDArray[np.int32] | None,
        links: list[Task],
        start: NDArray[np.float64] | None,
        tolerance: float,
        max_iterations: int,
        max_seconds: float,
        signal: StopSignal | None = None,
        grace_seconds: float = 0.0,
    ) -> None: ...
    def advance(self, links: int) -> list[SolvedLink]: ...
    def rest(self) -> None: ...

class RowChain:
    def __init__(
        self,
        source: RowSource,
        ids: NDArray[np.int32] | None,
        links: list[Task],
        start: NDArray[np.float64] | None,
        solver: str,
        selection: str,
        planning_ahead: int,
        shrinking: bool,
        double_precision: bool,
        cache_bytes: int,
        tolerance: float,
        max_iterations: int,
        max_seconds: float,
        grace_seconds: float,
        n_threads: int,
        signal: StopSignal | None = None,
    ) -> None: ...
    def advance(self, links: int) -> list[SolvedLink]: ...

def same_solution(before: Task, link: Task, alpha: NDArray[np.float64]) -> bool: ...
def apply_kernel(
    base: NDArray[np.float32],
    kernel: str,
    gamma: float,
    coef0: float,
    degree: int,
    out: NDArray[np.float32],
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> None: ...

class KernelStore:
    def __init__(self, source: RowSource, bytes: int) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def held(self) -> int: ...
    @property
    def evaluations(self) -> int: ...
    def row(self, i: int) -> NDArray[np.float64]: ...
    def transform(self, source: RowSource, power: float, n_threads: int) -> None: ...

class MaxMinOverResult:
    @property
    def alpha(self) -> NDArray[np.float64]: ...
    @property
    def s(self) -> NDArray[np.float64]: ...
    @property
    def gaps(self) -> NDArray[np.float64]: ...
    @property
    def rho(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def known(self) -> bool: ...
    @property
    def iterations(self) -> int: ...
    @property
    def reason(self) -> str: ...

def max_min_over(
    store: KernelStore,
    ridge: NDArray[np.float64],
    alpha: NDArray[np.float64],
    gap: float,
    recompute_every: int,
    max_iterations: int,
    max_seconds: float,
    grace_seconds: float,
    n_threads: int,
    signal: StopSignal | None = None,
) -> MaxMinOverResult: ...
def empty_matrix_float32(n: int, m: int) -> NDArray[np.float32]: ...
def kernel_matrix_float32(
    rows: RowSource,
    columns: Examples | None,
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> NDArray[np.float32]: ...
def kernel_matrix_float64(
    rows: RowSource,
    columns: Examples | None,
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> NDArray[np.float64]: ...
def decision_values(
    support: RowSource,
    examples: Examples,
    dual_coef: NDArray[np.float64],
    n_support: Sequence[int],
    double_precision: bool,
    n_threads: int,
) -> NDArray[np.float64]: ...
def slopes_inside(
    slopes: NDArray[np.float64], sizes: NDArray[np.float64], bounds: NDArray[np.float64]
) -> tuple[float, float]: ...
def gap_above_prices(
    tilt: NDArray[np.float64], alpha: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> float: ...
def project(
    alpha: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64], total: float
) -> NDArray[np.float64]: ...
def release_memory() -> None: ...
def refuse_memory(after: int) -> None: ...
def take_blas(blas: dict[str, Any], lapack: dict[str, Any]) -> None: ...
def simd_name() -> str: ...
def use_simd(name: str) -> bool: ...
