"""Types of the compiled core."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Double = NDArray[np.float64]
Single = NDArray[np.float32]
Int16 = NDArray[np.int16]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]

class Samples:
    size: Final[int]

class RowSource:
    size: Final[int]
    of_samples: Final[bool]
    fits_float32: Final[bool]
    def diagonal(self) -> Double: ...
    def suits(self, others: Samples) -> bool: ...

class Outcome:
    reason: Final[str]
    kkt_violation: Final[float]
    duality_gap: Final[float]
    objective: Final[float]
    intercept: Final[float]
    second_intercept: Final[float]
    iterations: Final[int]
    kernel_evaluations: Final[int]
    kernel_operations: Final[int]
    seconds: Final[float]
    precision: Final[str]

class Task:
    def __init__(
        self,
        ids: Int32,
        linear: Double,
        lower: Double,
        upper: Double,
        alpha: Double | None = None,
        gradient: Double | None = None,
        total: tuple[float, float] = (0.0, 0.0),
        group: UInt8 | None = None,
        kink: Double | None = None,
        ridge: Double | None = None,
    ) -> None: ...

class Solved:
    alpha: Final[Double]
    gradient: Final[Double]
    outcome: Final[Outcome]

def dense_samples(X: Array) -> Samples: ...
def csr_samples(values: Array, indices: Array, begins: Array, columns: int) -> Samples: ...
def kernel_source(samples: Samples, kernel: str, gamma: float, coef0: float, degree: int) -> RowSource: ...
def lasting_source(
    samples: Samples, now: Samples, kernel: str, gamma: float, coef0: float, degree: int
) -> RowSource: ...
def gram_source(gram: Array, counted: bool = False) -> RowSource: ...
def matrix_backed_source(source: RowSource, matrix: Single) -> RowSource: ...
def class_shared_source(source: RowSource, labels: Int32, bytes: int) -> RowSource: ...
def derived_source(
    source: RowSource, base: Int32, scale: Double | None = None, ridge: Double | None = None
) -> RowSource: ...
def kernel_among(
    source: RowSource, ids: Int32, n_threads: int, max_seconds: float = 1e10, signal: StopSignal | None = None
) -> Single: ...
def combined_rows(
    source: RowSource,
    rows: Int32,
    coefficients: Double,
    columns: Int32,
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> Double: ...
def callable_source(
    evaluate: Callable[[Int32, Int32], Double], size: int, diagonal: Double | None = None
) -> RowSource: ...

class Oligomers:
    low: Final[int]
    high: Final[int]
    def __init__(self, codes: Int32, begins: Int64, origins: Int64, n_codes: int) -> None: ...

def oligo_sums(
    left: Oligomers,
    left_ids: Int32,
    left_factors: Double | None,
    right: Oligomers,
    right_ids: Int32,
    right_factors: Double | None,
    near: Double,
    weights: Double | None,
    symmetric: bool,
    out: Double,
    n_threads: int,
    max_seconds: float,
    signal: StopSignal | None,
) -> None: ...
def oligo_sums_within(
    oligomers: Oligomers,
    near: Double,
    weights: Double | None,
    n_threads: int,
    max_seconds: float,
    signal: StopSignal | None,
) -> list[float]: ...
def oligo_pull_back(
    W: Double,
    left: Oligomers,
    left_ids: Int32,
    left_factors: Double | None,
    right: Oligomers,
    right_ids: Int32,
    right_factors: Double | None,
    near: Double,
    slope: Double,
    weights: Double | None,
    symmetric: bool,
    n_threads: int,
    max_seconds: float,
    signal: StopSignal | None,
) -> tuple[float, list[float]]: ...
def oligo_pull_back_within(
    w: Double,
    oligomers: Oligomers,
    ids: Int32,
    near: Double,
    slope: Double,
    weights: Double | None,
    n_threads: int,
    max_seconds: float,
    signal: StopSignal | None,
) -> tuple[float, list[float]]: ...

class Counts:
    n_codes: Final[int]
    n_stored: Final[int]
    largest: Final[int]
    def numbered_as(self, others: Counts) -> Counts: ...
    def write(self, ids: Int32, out: Array) -> None: ...

class Mismatches:
    def __init__(self, n_letters: int, k: int, mismatches: int, partners: Int64 | None) -> None: ...

def counts_of(
    letters: Int16,
    begins: Int64,
    n_letters: int,
    k: int,
    gaps: int,
    mismatches: int,
    partners: Int64 | None,
    n_threads: int,
    max_seconds: float,
    signal: StopSignal | None,
) -> Counts: ...
def count_products(
    left: Counts,
    left_ids: Int32,
    right: Counts,
    right_ids: Int32,
    mismatches: Mismatches | None,
    symmetric: bool,
    out: Double,
    n_threads: int,
    max_seconds: float,
    signal: StopSignal | None,
) -> None: ...
def count_squares(
    counts: Counts,
    mismatches: Mismatches | None,
    n_threads: int,
    max_seconds: float,
    signal: StopSignal | None,
) -> list[float]: ...
def count_source(counts: Counts, mismatches: Mismatches | None, factors: Double, diagonal: Double) -> RowSource: ...
def oligo_source(terms: list[tuple[Oligomers, Double, Double | None, Double]], diagonal: Double) -> RowSource: ...
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
    i: Final[Int32]
    j: Final[Int32]
    size: Final[Double]
    slope: Final[Double]
    curvature: Final[Double]
    kind: Final[UInt8]
    active: Final[Int64]
    alpha: Final[Double]
    gradient: Final[Double]
    converged: Final[bool]

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
    repeated: Final[bool]
    rounding: Final[float]
    blur: Final[float]

class ExactMachine:
    def __init__(
        self,
        kernel: Double,
        row_of: Int64,
        column_of: Int64,
        signs: Double,
        bounds: Double,
        ridge: Double | None,
        bordered: bool,
        known: Int64,
        alpha: Double,
        values: Double,
        intercept: float,
        well_conditioned: float,
        dependent: float,
        corrections: int,
    ) -> None: ...
    found: Final[bool]
    alpha: Final[Double]
    values: Final[Double]
    free: Final[Int64]
    dependent: Final[int]
    bounded: Final[Int64]
    intercept: Final[float]
    moved: Final[float]
    def adjoint(self, of_values: Double, of_coefficients: Double | None = None) -> tuple[Double, float]: ...

def likeliest_slope(margins: Double, weights: Double, largest: float) -> float: ...

class LeftOut:
    values: Final[Double]
    found: Final[UInt8]
    intercepts: Final[Double]
    alphas: Final[Double]

def leave_one_out(
    kernel: Double,
    signs: Double,
    bounds: Double,
    ridge: Double,
    alpha: Double,
    residual: Double,
    intercept: float,
    bordered: bool,
    free: Int32,
    inverse: Double,
    samples: Int32,
    keep: bool,
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> LeftOut: ...

class Chain:
    def __init__(
        self,
        kernel: Single,
        ids: Int32 | None,
        links: list[Task],
        start: Double | None,
        tolerance: float,
        max_iterations: int,
        max_seconds: float,
        signal: StopSignal | None = None,
        grace_seconds: float = 0.0,
    ) -> None: ...
    def advance(self, links: int) -> list[SolvedLink]: ...
    def rest(self) -> None: ...

class LaneProblems:
    def __init__(
        self, ids: Int32, begins: Int64, linear: Double, lower: Double, upper: Double, ridge: Double | None = None
    ) -> None: ...

#: How a problem ended: columns of ``SolvedTogether.outcomes``; reasons are numbers of these.
OUTCOME_COLUMNS: Final[tuple[str, ...]]
REASONS: Final[tuple[str, ...]]

class SolvedTogether:
    alpha: Final[Double]
    gradient: Final[Double]
    outcomes: Final[Double]

def solve_together(
    source: RowSource,
    problems: LaneProblems,
    start: Double | None,
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
) -> SolvedTogether: ...

class SolvedLanes:
    alpha: Final[Double]
    intercepts: Final[Double]
    values: Final[Double]
    kkt_violations: Final[Double]
    duality_gaps: Final[Double]
    objectives: Final[Double]
    roundings: Final[Double]
    blurs: Final[Double]
    reason: Final[str]
    repeated: Final[bool]
    iterations: Final[int]
    seconds: Final[float]

class Lanes:
    def __init__(
        self,
        kernel: Single,
        problems: LaneProblems,
        asked: Int32,
        start: Double | None,
        classes: Int32 | None,
        n_classes: int,
        rules: Sequence[str],
        keeps: bool,
        tolerance: float,
        max_iterations: int,
        max_seconds: float,
        signal: StopSignal | None = None,
        grace_seconds: float = 0.0,
    ) -> None: ...
    def advance(self, links: int) -> list[SolvedLanes]: ...

class RowChain:
    def __init__(
        self,
        source: RowSource,
        ids: Int32 | None,
        links: list[Task],
        start: Double | None,
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

def same_solution(before: Task, link: Task, alpha: Double) -> bool: ...
def apply_kernel(
    base: Single,
    kernel: str,
    gamma: float,
    coef0: float,
    degree: int,
    out: Single,
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> None: ...

class KernelStore:
    def __init__(self, source: RowSource, bytes: int) -> None: ...
    size: Final[int]
    held: Final[int]
    evaluations: Final[int]
    def row(self, i: int) -> Double: ...
    def transform(self, source: RowSource, power: float, n_threads: int) -> None: ...

class MaxMinOverResult:
    alpha: Final[Double]
    s: Final[Double]
    gaps: Final[Double]
    rho: Final[float]
    gap: Final[float]
    known: Final[bool]
    iterations: Final[int]
    reason: Final[str]

def max_min_over(
    store: KernelStore,
    ridge: Double,
    alpha: Double,
    gap: float,
    recompute_every: int,
    max_iterations: int,
    max_seconds: float,
    grace_seconds: float,
    n_threads: int,
    signal: StopSignal | None = None,
) -> MaxMinOverResult: ...
def empty_matrix_float32(n: int, m: int) -> Single: ...
def kernel_matrix_float32(
    rows: RowSource,
    columns: Samples | None,
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> Single: ...
def kernel_matrix_float64(
    rows: RowSource,
    columns: Samples | None,
    n_threads: int,
    max_seconds: float = 1e10,
    signal: StopSignal | None = None,
) -> Double: ...
def tallied(values: Double, classes: int, rule: str) -> Double: ...
def pair_votes(
    support: RowSource,
    samples: Samples,
    dual_coef: Double,
    n_support: Sequence[int],
    intercepts: Double,
    rule: str,
    double_precision: bool,
    n_threads: int,
) -> Double: ...
def decision_values(
    support: RowSource,
    samples: Samples,
    dual_coef: Double,
    n_support: Sequence[int],
    double_precision: bool,
    n_threads: int,
) -> Double: ...
def toggle_feature(
    squared: NDArray[np.float32],
    of_rows: NDArray[np.float32],
    of_columns: NDArray[np.float32],
    taken_in: bool,
    out: NDArray[np.float32],
    n_threads: int,
) -> None: ...
def add_gaussian_rows(
    squared: NDArray[np.float32],
    rows: NDArray[np.int32],
    coefficients: NDArray[np.float64],
    gamma: float,
    of_rows: NDArray[np.float32] | None,
    of_columns: NDArray[np.float32] | None,
    taken_in: bool,
    values: NDArray[np.float64],
    n_threads: int,
) -> None: ...

class Codebook:
    @property
    def prototypes(self) -> Double: ...
    @property
    def weights(self) -> Double: ...
    @property
    def counts(self) -> NDArray[np.int64]: ...
    @property
    def labels(self) -> NDArray[np.int32]: ...
    @property
    def distortion(self) -> float: ...
    @property
    def rounds(self) -> int: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def reason(self) -> str: ...

class Lbg:
    def __init__(
        self, samples: Samples, weights: Double, tolerance: float, max_rounds: int, double_precision: bool
    ) -> None: ...
    def level(
        self, number: int, n_threads: int, max_seconds: float = ..., signal: StopSignal | None = ...
    ) -> Codebook: ...

def nearest_prototypes(
    samples: Samples,
    prototypes: Double,
    n_threads: int,
    max_seconds: float = ...,
    signal: StopSignal | None = ...,
) -> tuple[NDArray[np.int32], Double]: ...

WAITING: Final[int]

class OnlineRules:
    def __init__(
        self,
        selection: str,
        tolerance: float,
        window: int,
        cache_bytes: int,
        n_threads: int,
        max_seconds: float = 1e10,
        signal: StopSignal | None = None,
        budget: int = 0,
    ) -> None: ...

class OnlineMachine:
    def __init__(self, classes: int, double_precision: bool) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def seen(self) -> int: ...
    @property
    def sources(self) -> int: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def double_precision(self) -> bool: ...
    def learn(
        self, source: RowSource, ids: Int32, samples: Int32, labels: Int32, bounds: Double, rules: OnlineRules
    ) -> int: ...
    def learn_nearest(
        self, source: RowSource, ids: Int32, samples: Int32, labels: Int32, bounds: Double, rules: OnlineRules
    ) -> int: ...
    def decide(self, source: RowSource, ids: Int32, samples: Int32, rules: OnlineRules) -> Double: ...
    def reprocess(self, source: RowSource, ids: Int32, most: int, rules: OnlineRules) -> int: ...
    def forget(self, source: RowSource, ids: Int32, positions: Int32, rules: OnlineRules) -> None: ...
    def keep(
        self, source: RowSource, ids: Int32, samples: Int32, labels: Int32, bounds: Double, rules: OnlineRules
    ) -> None: ...
    def set_bounds(self, source: RowSource, ids: Int32, bounds: Double, rules: OnlineRules) -> bool: ...
    def put(self, decision: int, alpha: Double, gradient: Double) -> None: ...
    def solve(
        self,
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
    def tidy(self, source: RowSource, ids: Int32, rules: OnlineRules) -> None: ...
    def samples(self) -> Int32: ...
    def labels(self) -> Int32: ...
    def bounds(self) -> Double: ...
    def arrivals(self) -> Int64: ...
    def left(self) -> UInt8: ...
    def steps(self) -> Int64: ...
    def alpha(self) -> Double: ...
    def gradient(self) -> Double: ...
    def certificates(self) -> Double: ...
    def state(self) -> tuple[Any, ...]: ...
    def restore(self, *state: Any) -> None: ...

def slopes_inside(slopes: Double, sizes: Double, bounds: Double) -> tuple[float, float]: ...
def gap_above_prices(tilt: Double, alpha: Double, lower: Double, upper: Double) -> float: ...

class Symmetry:
    largest: Final[float]
    difference: Final[float]
    row: Final[int]
    column: Final[int]

def looks_symmetric(matrix: Array, tolerance: float, n_threads: int) -> bool: ...
def symmetry(matrix: Array, n_threads: int) -> Symmetry: ...
def project(alpha: Double, lower: Double, upper: Double, total: float) -> Double: ...
def keep_memory(bytes: int) -> None: ...
def release_memory() -> None: ...
def refuse_memory(after: int) -> None: ...
def take_blas(blas: dict[str, Any], lapack: dict[str, Any]) -> None: ...
def simd_name() -> str: ...
def use_simd(name: str) -> bool: ...
