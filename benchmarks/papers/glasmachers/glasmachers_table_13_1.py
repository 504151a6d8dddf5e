"""[Glasmachers2008, Tables 13.1 and 13.2, Figure 13.3]: starts of genes of E. coli, four ways to choose oligo kernels.

Windows of 50 letters around verified starts of genes, and around codons near them that are none. A trial trains on 400
genes and tests on the others; windows of a gene stay together wherever samples are held out, but for the span bound,
which leaves out single ones. `chapter_12` beside this has the methods. The kernels are the oligo kernel
of triplets, which has a width of positions, and the same with a weight for each triplet, normalised last.

Searches begin at sigma = 1, equal weights and C = 1; the thesis does not say where, nor within which ranges. With 64
weights free to take any value the likelihood of the training genes goes on growing while that of others falls. The
thesis does without its posterior here, for want of a meaningful prior. One is at hand: that triplets are alike, all
weights around 1, with the standard deviation of the thesis's other prior, 2 for logarithms. This row is the one that is
judged; the likelihood alone is shown beside it.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_curve

from benchmarks.papers.glasmachers.chapter_12 import (
    START_C,
    Experiment,
    Printed,
    Record,
    Row,
    Sample,
    chosen,
    run_trials,
    table,
)
from benchmarks.peers.table import render
from widemargin import ModelSearch
from widemargin.datasets import load_npz
from widemargin.kernels import Gaussian, Kernel, Oligo, Spectrum, TripletOligo

SUMMARY = "Table 13.1: four ways to choose oligo kernels for translation initiation sites; Figure 13.3, Table 13.2"
DATA_SET = "ecoli_tis_verified"
TRAINING_GENES = 400
TRIALS = 10

#: How often objectives are evaluated unless --full is given; the chapter has all of the methods but the last.
EVALUATIONS = {"5-fold-CV": 400, "KTA": 150, "span-bound": 60, "likelihood": 1000, "posterior": 1000}
CHAPTER_METHODS = tuple(EVALUATIONS)[:4]

#: Methods whose trials take longest come first, so that no process is left with one in the end.
LONGEST_FIRST = ("span-bound", "5-fold-CV", "likelihood", "posterior", "KTA")

#: Printed in Table 13.1, in this order; widths that the likelihood chose; Table 13.2.
ERRORS = {
    "3-mer": ((0.073, 0.0069), (0.068, 0.0045), (0.109, 0.0856), (0.072, 0.0064)),
    "triplet": ((0.074, 0.0068), (0.106, 0.0575), (0.107, 0.0865), (0.068, 0.0091)),
}
SIGMAS = {"3-mer": 1.27, "triplet": 1.15}
HEAVIEST = {
    "GGC": 5.64,
    "ATG": 4.81,
    "TCG": 3.34,
    "GAG": 2.66,
    "TTG": 2.61,
    "GGA": 2.44,
    "AGG": 2.28,
    "GGT": 2.04,
    "GGG": 2.02,
    "GCT": 1.96,
    "CGC": 1.89,
    "GAT": 1.89,
}

#: Where ROC curves are kept.
FALSE_POSITIVES = np.linspace(0.0, 1.0, 201)

#: A weight is as good as 0 below this share of the largest one.
NOTHING = 1e-3

#: Methods whose errors are shown for all kernels together.
CHOSEN_BY = ("5-fold-CV", "likelihood", "posterior")

Found = Mapping[tuple[str, str], Sequence[Record]]


@dataclass(frozen=True)
class StartSites(Experiment):
    """Windows around starts of genes: the methods that choose a kernel; `one_hot` if that takes vectors."""

    methods: Sequence[str]
    one_hot: bool = False

    def draw(self, trial: int, folder: Path | None) -> Sample:
        """Draw the genes of a trial: the same for all kernels and methods."""
        codes, y, extra = load_npz(DATA_SET, folder)
        genes = extra["group"]
        drawn = np.random.default_rng([13, trial]).permutation(np.unique(genes))[:TRAINING_GENES]
        train = np.isin(genes, drawn)
        X: Any = np.array([sequence.decode() for sequence in extra["seq"]], dtype=object)
        if self.one_hot:
            X = (np.asarray(codes)[:, :, np.newaxis] == np.arange(4)).reshape(len(y), -1).astype(np.float64)
        return Sample(X[train], y[train], X[~train], y[~train], genes[train])

    def findings(self, search: ModelSearch, sample: Sample) -> Record:
        """Keep the ROC curve on the test part, C and the parameters of the kernel."""
        model = search.best_estimator_
        found: Record = {"C": float(search.best_params_["C"]), "evaluations": int(search.n_evaluations_)}
        kernel = getattr(model, "kernel_", None)
        if isinstance(kernel, Oligo | TripletOligo):
            found["sigma"] = float(kernel.sigma)
        if isinstance(kernel, TripletOligo):
            found["weights"] = {name: float(weight) for name, weight in kernel.weights.items()}
        false, true, _ = roc_curve(sample.y_test, model.decision_function(sample.X_test), pos_label=1)
        found["roc"] = np.round(np.interp(FALSE_POSITIVES, false, true), 5).tolist()
        return found


def _experiment(name: str, kernel: Kernel, *methods: str, one_hot: bool = False) -> StartSites:
    errors = {method: Printed(*pair) for method, pair in zip(CHAPTER_METHODS, ERRORS.get(name, ()), strict=False)}
    return StartSites(name, kernel, errors, methods or CHAPTER_METHODS, one_hot)


#: The kernels of the chapter.
CHAPTER = {name: _experiment(name, kernel) for name, kernel in (("3-mer", Oligo(3)), ("triplet", TripletOligo()))}

#: The same with a prior; and kernels for which cross-validation chooses C, or C and gamma.
WITH_PRIOR = _experiment("triplet with a prior", TripletOligo(), "posterior")
REFERENCES = {
    one.name: one
    for one in (
        WITH_PRIOR,
        _experiment("3-mer with sigma=0.1", Oligo(3, sigma=0.1, sigma_bounds="fixed"), "5-fold-CV"),
        _experiment("one-hot Gaussian", Gaussian(), "5-fold-CV", one_hot=True),
        _experiment("3-spectrum", Spectrum(3), "5-fold-CV"),
    )
}
KERNELS = {**CHAPTER, **REFERENCES}
JUDGED = (WITH_PRIOR.name, "posterior")


class Bar(NamedTuple):
    """What a result has to meet: whether it does (None: it was not computed), and in words."""

    met: bool | None
    words: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    budget = ", ".join(f"{name} {count:,}" for name, count in EVALUATIONS.items())
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--kernels", help=f"names, comma-separated (all of {', '.join(KERNELS)})")
    parser.add_argument("--methods", help=f"names, comma-separated (all of {', '.join(EVALUATIONS)})")
    parser.add_argument("--trials", type=int, default=TRIALS, help="partitions of the genes (%(default)s)")
    parser.add_argument(
        "--full", action="store_true", help=f"as many evaluations as in the thesis, instead of {budget}"
    )
    parser.add_argument("--evaluations", type=int, help="this many for all methods (for a quick look)")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--journal", type=Path, help="file that keeps finished trials, and from which to go on")
    parser.add_argument("--picture", type=Path, help="draw the ROC curves (Figure 13.3) to this file")


def run(given: argparse.Namespace) -> None:
    """Run the trials, print the tables and judge them."""
    kernels = chosen(given.kernels, KERNELS, "kernel")
    methods = chosen(given.methods, EVALUATIONS, "method")
    if given.trials < 1:
        raise SystemExit(f"--trials is {given.trials}; it must be at least 1.")
    rows = rows_of(kernels, methods, given)
    began = time.perf_counter()
    found = run_trials(
        rows,
        given.trials,
        given.data,
        n_jobs=given.n_jobs,
        journal=given.journal,
        identity={"chapter": 13, "start": START_C, "evaluations": given.evaluations, "full": given.full},
    )
    took = time.perf_counter() - began
    print(f"{SUMMARY}\n{given.trials} trials, {took:.0f} s with {given.n_jobs} processes\n")
    for name in kernels:
        own = [method for method in methods if (name, method) in found]
        if name in CHAPTER:
            print(f"{kernel_table(CHAPTER[name], own, found)}\n")
    if set(CHOSEN_BY) & set(methods):
        print(f"{reference_table(found)}\n")
    for name in (("triplet", "likelihood"), JUDGED):
        if name in found:
            print(f"{name[0]}, {name[1]}\n{triplet_table(found[name])}\n")
    print("Trials share genes, so that levels of significance are too small.")
    judged = bars(found)
    for bar in judged:
        print(f"{'not judged' if bar.met is None else 'pass' if bar.met else 'FAIL'}: {bar.words}")
    if given.picture is not None:
        draw(found, given.picture)
    if any(bar.met is False for bar in judged):
        raise SystemExit(1)


def rows_of(kernels: Sequence[str], methods: Sequence[str], given: argparse.Namespace) -> list[Row]:
    """Return what is to run, the longest first."""
    rows = []
    for method in sorted(methods, key=LONGEST_FIRST.index):
        for name in sorted(kernels, key=list(KERNELS).index, reverse=True):
            if method in KERNELS[name].methods:
                count = given.evaluations or (None if given.full else EVALUATIONS[method])
                rows.append(Row(KERNELS[name], method, count))
    return rows


def errors_in(found: Found) -> dict[tuple[str, str], list[float]]:
    """Return test errors by kernel and method."""
    return {name: [float(one["error"]) for one in own] for name, own in found.items()}


def geometric_mean(values: Any) -> Any:
    """Return the geometric mean over the first axis.

    Examples
    --------
    >>> float(geometric_mean([1.0, 4.0]))
    2.0
    """
    return np.exp(np.mean(np.log(values), axis=0))


def kernel_table(experiment: StartSites, methods: Sequence[str], found: Found) -> str:
    """Return the errors with a kernel and how methods compare, and what they chose."""
    name = experiment.name
    rows = []
    for method in methods:
        own = found[name, method]
        sigma = f"{geometric_mean([one['sigma'] for one in own]):.2f}"
        thesis = f"{SIGMAS[name]:.2f}" if method == "likelihood" else ""
        spread = []
        if name == "triplet":
            weights = np.array([list(one["weights"].values()) for one in own])
            spread = [f"{(weights < NOTHING * weights.max(axis=1, keepdims=True)).mean():.0%}"]
        evaluations = f"{np.mean([one['evaluations'] for one in own]):,.0f}"
        rows.append([method, sigma, thesis, f"{geometric_mean([one['C'] for one in own]):.3g}", *spread, evaluations])
    extra = ["weights near 0"] if name == "triplet" else []
    what = render(["chosen", "sigma", "thesis", "C", *extra, "evaluations"], rows)
    return f"{table(experiment, methods, errors_in(found), judged=False)}\n\n{what}"


def reference_table(found: Found) -> str:
    """Return the errors of all kernels whose parameters cross-validation, likelihood or posterior chose."""
    rows = []
    for name in KERNELS:
        for method in CHOSEN_BY:
            if (name, method) in found:
                own = [one["error"] for one in found[name, method]]
                sigmas = [one["sigma"] for one in found[name, method] if "sigma" in one]
                sigma = f"{geometric_mean(sigmas):.2f}" if sigmas else ""
                rows.append([name, method, f"{np.mean(own):.4f} +- {np.std(own):.4f}", sigma])
    return render(["kernel", "chosen by", "error", "sigma"], rows)


def mean_weights(records: Sequence[Record]) -> dict[str, float]:
    """Return geometric means of weights over trials, each trial's at geometric mean 1; the heaviest first."""
    names = list(records[0]["weights"])
    logarithms = np.array([[np.log(one["weights"][name]) for name in names] for one in records])
    means = np.exp((logarithms - logarithms.mean(axis=1, keepdims=True)).mean(axis=0))
    return {names[i]: float(means[i]) for i in np.argsort(-means, kind="stable")}


def triplet_table(records: Sequence[Record]) -> str:
    """Return the heaviest triplets beside those of Table 13.2."""
    weights = mean_weights(records)
    rank = {name: number for number, name in enumerate(weights, start=1)}
    rows = [
        [own, f"{weight:.2f}", thesis, f"{printed:.2f}", f"{weights[thesis]:.2f}", str(rank[thesis])]
        for (own, weight), (thesis, printed) in zip(weights.items(), HEAVIEST.items(), strict=False)
    ]
    return render(["triplet", "weight", "thesis's", "weight", "here", "rank here"], rows)


def bars(found: Found) -> list[Bar]:
    """Judge the results."""
    mean = {name: float(np.mean(own)) for name, own in errors_in(found).items()}
    cross = mean.get(("3-mer", "5-fold-CV"))
    judged = [_at_most("3-mer with cross-validation", cross, 0.076)]
    for name, less in (("3-mer with sigma=0.1", 0.004), ("one-hot Gaussian", 0.010)):
        other = mean.get((name, "5-fold-CV"))
        met = None if cross is None or other is None else cross <= other - less
        numbers = "" if met is None else f" ({cross:.4f}, {other:.4f})"
        judged.append(Bar(met, f"3-mer with cross-validation at least {less} below {name}{numbers}"))
    triplet, plain = mean.get(JUDGED), mean.get(("3-mer", "likelihood"))
    judged.append(_at_most(WITH_PRIOR.name, triplet, 0.071))
    met = None if triplet is None or plain is None else triplet <= plain
    numbers = "" if met is None else f" ({triplet:.4f}, {plain:.4f})"
    judged.append(Bar(met, f"{WITH_PRIOR.name} not above 3-mer with likelihood{numbers}"))
    if JUDGED not in found:
        return [*judged, Bar(None, "heaviest triplets")]
    heaviest = list(mean_weights(found[JUDGED]))[: len(HEAVIEST)]
    common = sum(name in HEAVIEST for name in heaviest)
    missing = sorted({"ATG", "GGC", "AGG"} - set(heaviest))
    words = f"{common} of the thesis's 12 heaviest triplets among ours, at least 6 wanted, with ATG, GGC and AGG"
    return [*judged, Bar(common >= 6 and not missing, words + (f" (missing: {', '.join(missing)})" if missing else ""))]


def _at_most(what: str, value: float | None, limit: float) -> Bar:
    numbers = "" if value is None else f" ({value:.4f})"
    return Bar(None if value is None else value <= limit, f"{what} at most {limit}{numbers}")


def draw(found: Found, path: Path) -> None:
    """Draw medians of ROC curves over the trials, a panel for each kernel."""
    from matplotlib.figure import Figure

    names = [name for name in CHAPTER if any(name == of for of, _ in found)]
    figure = Figure(figsize=(4.4 * max(len(names), 1), 4.2), layout="constrained")
    for panel, name in zip(np.ravel(figure.subplots(1, max(len(names), 1), sharey=True)), names, strict=False):
        for method in EVALUATIONS:
            if (name, method) in found:
                median = np.median([one["roc"] for one in found[name, method]], axis=0)
                panel.plot(FALSE_POSITIVES, median, label=method, linewidth=1.4)
        panel.set_title(f"{name} kernel", fontsize=10)
        panel.set_xlabel("false positive rate")
        panel.set_xlim(0.0, 0.3)
        panel.set_ylim(0.7, 1.003)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8, frameon=False, loc="lower right")
    figure.axes[0].set_ylabel("true positive rate, median of the trials")
    figure.savefig(path, dpi=130)
