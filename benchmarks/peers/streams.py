"""Streams of one sample at a time: processor time of learning from one and of predicting one; one thread.

A stream of rows has 784 features, a fifth of which are not 0, and keeps some 3,600 samples; beside it stands what a row
takes in batches of 250. Predicting by turns, which gathers the support vectors anew for each row, comes last there.
Streams of sequences of 200 to 300 letters keep some 600. Bags of words have 5,800 words, rare ones and frequent ones,
and are learnt from and predicted by turns.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from benchmarks.peers.session import Options, Verdict, announce, save, summary
from benchmarks.peers.table import indent, number, render
from widemargin import OnlineSVC
from widemargin.kernels import Gapped, Oligo, Spectrum

FEATURES, NOT_ZERO, WORDS = 784, 0.2, 5_800

#: Samples that streams begin with, samples that are learnt from one by one, and rows of a batch.
FIRST = {"rows": 3_600, "sequences": 600, "words": 800}
ONE_BY_ONE, BATCH = 60, 250

KERNELS = {"Spectrum(5)": Spectrum(5), "Gapped(4, 3)": Gapped(4, 3), "Oligo(3)": Oligo(3)}

#: Largest milliseconds of learning from a sample, of predicting one, and of both together. A row was to take half as
#: long again as in batches, when it took 0.34 there; batches have become faster since.
BARS = {
    "rows": {"learn": 0.51},
    **{name: {"learn": 2.0, "predict": 2.0} for name in KERNELS},
    "words, rbf": {"both": 0.3},
    "words, linear": {"both": 0.3},
}


@dataclass(frozen=True)
class Result:
    """Median milliseconds of processor time, and those of a row in a batch."""

    problem: str
    kept: int
    learn: float
    predict: float
    in_batches: float | None = None

    def verdicts(self) -> dict[str, Verdict]:
        """Compare with the bars."""
        found = {"learn": self.learn, "predict": self.predict, "both": self.learn + self.predict}
        return {
            f"{self.problem}, {what}": Verdict(found[what] <= allowed, f"{found[what]:.3g} ms, allowed {allowed:g}")
            for what, allowed in BARS[self.problem].items()
        }


def streams_command(options: Options) -> list[Result]:
    """Run one stream after the other."""
    announce()
    print(f"\nprocessor time of a sample, one thread; median of {ONE_BY_ONE} samples and {options.repeats} streams")
    results = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.problems:
            runs = [run(name, seed) for seed in range(options.repeats)]
            results.append(
                Result(
                    name,
                    runs[0].kept,
                    median(one.learn for one in runs),
                    median(one.predict for one in runs),
                    None if runs[0].in_batches is None else median(one.in_batches or 0.0 for one in runs),
                )
            )
    rows = [
        [one.problem, f"{one.kept:,}", f"{one.learn:.3f}", f"{one.predict:.3f}", number(one.in_batches, ".3f")]
        for one in results
    ]
    print(indent(render(["", "kept", "learn (ms)", "predict (ms)", "learn, in a batch (ms)"], rows)))
    save(options.record, "streams", options, results)
    print("\n" + summary({name: verdict for one in results for name, verdict in one.verdicts().items()}))
    return results


def run(name: str, seed: int) -> Result:
    """Run a stream."""
    random = np.random.RandomState(seed)
    if name == "rows":
        return of_rows(random)
    if name in KERNELS:
        return of_sequences(name, random)
    return of_words(name, random)


def of_rows(random: np.random.RandomState) -> Result:
    """Run a stream of rows, nearly all of which are kept, since their classes are drawn by lot."""
    first, n = FIRST["rows"], FIRST["rows"] + BATCH + 2 * ONE_BY_ONE
    X = random.randn(n, FEATURES) * (random.rand(n, FEATURES) < NOT_ZERO)
    y = random.randint(2, size=n)
    model = OnlineSVC(gamma=1 / FEATURES, n_jobs=1).partial_fit(X[:first], y[:first], classes=[0, 1])
    learn = [milliseconds(lambda i=i: model.partial_fit(X[i : i + 1], y[i : i + 1])) for i in range(first, n - BATCH)]
    whole = milliseconds(lambda: model.partial_fit(X[-BATCH:], y[-BATCH:]))
    last = slice(first + ONE_BY_ONE, n - BATCH)
    _, predict = by_turns(model, X[last], y[last])
    return Result("rows", len(model.kept_ids_), median(learn), predict, whole / BATCH)


def of_sequences(name: str, random: np.random.RandomState) -> Result:
    """Run a stream of sequences, nearly all of which are kept, since their classes are drawn by lot."""
    first, n = FIRST["sequences"], FIRST["sequences"] + ONE_BY_ONE
    texts = ["".join(random.choice(list("ACGT"), random.randint(200, 301))) for _ in range(n)]
    y = random.randint(2, size=n)
    model = OnlineSVC(kernel=KERNELS[name], n_jobs=1).partial_fit(texts[:first], y[:first], classes=[0, 1])
    learn, predict = by_turns(model, texts[first:], y[first:])
    return Result(name, len(model.kept_ids_), learn, predict)


def by_turns(model: OnlineSVC, X: Any, y: npt.NDArray[Any]) -> tuple[float, float]:
    """Predict each sample and learn from it; return the medians of learning and predicting."""
    predict, learn = [], []
    for i in range(len(y)):
        x, label = X[i : i + 1], y[i : i + 1]
        predict.append(milliseconds(lambda x=x: model.predict(x)))
        learn.append(milliseconds(lambda x=x, label=label: model.partial_fit(x, label)))
    return median(learn), median(predict)


def of_words(name: str, random: np.random.RandomState) -> Result:
    """Run a stream of bags of words: dicts of how often each occurs, which depends on the class a little."""
    from widemargin.river import RiverSVC

    model = RiverSVC(kernel="linear") if name == "words, linear" else RiverSVC(gamma=0.01)
    model.learn_one({f"w{word}": 1 for word in range(WORDS)}, 0)
    often = 1.0 / np.arange(1, WORDS + 1)
    often /= often.sum()
    predict, learn = [], []
    for number_of_sample in range(FIRST["words"] + ONE_BY_ONE):
        y = int(random.rand() < 0.3)
        words = random.choice(WORDS, random.randint(15, 30), p=np.roll(often, 40 * y))
        bag = {f"w{word}": int(n) for word, n in zip(*np.unique(words, return_counts=True), strict=True)}
        predicting = milliseconds(lambda bag=bag: model.predict_one(bag))
        learning = milliseconds(lambda bag=bag, y=y: model.learn_one(bag, y))
        if number_of_sample >= FIRST["words"]:
            predict.append(predicting)
            learn.append(learning)
    assert model.model is not None
    return Result(name, len(model.model.kept_ids_), median(learn), median(predict))


def milliseconds(what: Callable[[], Any]) -> float:
    """Return the processor time that something takes."""
    began = time.process_time()
    what()
    return 1e3 * (time.process_time() - began)
