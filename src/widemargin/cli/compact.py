"""``widemargin select --compact``: choose a small model for a table."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from widemargin.cli.messages import MISUSED, CommandError, Facts, progress_bar
from widemargin.cli.options import penalty
from widemargin.datasets import Table
from widemargin.model_selection.compact import CompactSVC
from widemargin.study import JournalError
from widemargin.study.progress import duration

#: Names of features that are shown.
MOST_NAMES = 8

#: Options that mean something together with --compact only, and what they are without.
OWN_OPTIONS = {"penalty": None, "keep_features": False}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--compact",
        action="store_true",
        help="choose a small, fast classifier: few support vectors and few features",
    )
    parser.add_argument(
        "--penalty",
        type=penalty,
        metavar="P",
        help="with --compact: recognition rate that twice as many support vectors, or features, have to bring "
        "(default: 0.01)",
    )
    parser.add_argument("--keep-features", action="store_true", help="with --compact: use all features")


def require_together(arguments: argparse.Namespace, regression: bool) -> None:
    """Refuse options that do not go together."""
    if not arguments.compact:
        for name, default in OWN_OPTIONS.items():
            if getattr(arguments, name) != default:
                raise CommandError(f"--{name.replace('_', '-')} goes with --compact only", MISUSED)
        return
    if regression:
        raise CommandError(
            "--compact chooses classifiers, but the target is numeric; leave it out, or add --task classification",
            MISUSED,
        )
    if arguments.cv is not None:
        raise CommandError("--cv does not go with --compact, which sets a third of the samples aside instead", MISUSED)


def chosen(arguments: argparse.Namespace, table: Table) -> tuple[CompactSVC, Facts]:
    """Choose a model, and say what was chosen."""
    weight = 0.01 if arguments.penalty is None else arguments.penalty
    model = CompactSVC(
        sv_penalty=weight,
        feature_penalty=weight,
        select_features=not arguments.keep_features,
        max_time=arguments.max_time,
        journal=arguments.journal,
        random_state=0,
        n_jobs=arguments.n_jobs,
        progress=progress_bar(arguments.quiet),
    )
    try:
        model.fit(table.X, table.y)
    except (TimeoutError, JournalError, ValueError) as problem:
        raise CommandError(str(problem)) from None
    return model, described(model, table)


def described(model: CompactSVC, table: Table) -> Facts:
    """Say in a few lines what was chosen, how good it is, and what it took."""
    n_samples, d = table.X.shape
    names = [f"column {number + 1}" for number in range(d)] if table.names is None else list(table.names)
    used = [names[number] for number in model.selected_features_]
    listed = ", ".join(used[:MOST_NAMES]) + (f" and {len(used) - MOST_NAMES} more" if len(used) > MOST_NAMES else "")
    vectors = int(model.n_support_.sum())
    work = model.work_report_
    seconds = f"{work.seconds:.2f} s" if work.seconds < 10 else duration(work.seconds)
    facts = [
        ("data", f"{n_samples:,} samples, {d:,} features, {len(model.classes_)} classes"),
        (
            "model",
            f"CompactSVC, Gaussian kernel, standardised features: {vectors:,} support vector{'s' * (vectors != 1)}, "
            f"{len(used):,} of {d:,} features",
        ),
        ("features", listed),
        (
            "score",
            f"balanced recognition rate {model.recognition_rate_:.4f} on {len(model.split_.test):,} test samples; "
            f"quality {model.quality_:.4f}",
        ),
        ("cost", f"{model.cost_:,} multiplications for a prediction"),
        ("front", _alternatives(model)),
        ("work", f"{work.evaluations:,} evaluations: {work.trained:,} fits; {seconds}"),
    ]
    return facts


def _alternatives(model: CompactSVC) -> str:
    """Say how far the models reach that the search came by."""
    front: Any = model.front_[model.front_["model"] == 0]
    ends = front[[np.lexsort((front["feature_cost"], front["support_vectors"]))[0], 0]]
    said = [
        f"{one['support_vectors']:,} support vectors and {one['n_features']:,} features for a rate of "
        f"{one['recognition_rate']:.4f}"
        for one in ends
    ]
    where = "" if len(model.models_) == 1 else f" (class {model.models_[0].label} against the others)"
    return f"{len(front):,} models that no other beats on validation samples, {said[0]} to {said[1]}{where}"
