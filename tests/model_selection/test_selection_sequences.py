"""Models chosen from sequences, and from samples that belong together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, cross_val_score

from widemargin import SVC, SVR, GridSearchCV, select
from widemargin.datasets import twonorm
from widemargin.kernels import CombinedOligo, Oligo
from widemargin.kernels.sequences.alphabet import PROTEIN, turned
from widemargin.model_selection import selection

RNG = np.random.default_rng(0)


def windows(n: int, length: int = 20) -> tuple[list[str], np.ndarray]:
    """Half of them hold AGGA around position 8, in all but a tenth."""
    texts, y = [], np.arange(n) % 2
    for label in y:
        letters = RNG.choice(list("ACGT"), length)
        if label == (RNG.random() > 0.1):
            at = 8 + int(RNG.integers(-1, 2))
            letters[at : at + 4] = list("AGGA")
        texts.append("".join(letters))
    return texts, y


X, Y = windows(90)
GROUPS = np.arange(90) // 3


def test_the_score_is_that_of_the_chosen_model() -> None:
    chosen = select(X, Y, groups=GROUPS)
    assert isinstance(chosen.model, SVC)
    folds = list(StratifiedGroupKFold(5, shuffle=True, random_state=0).split(X, Y, GROUPS))
    scores = cross_val_score(chosen.model, np.array(X), Y, cv=folds)
    assert chosen.score == pytest.approx(scores.mean(), abs=0.012)
    assert chosen.score > 0.7
    assert sorted(chosen.parameters) == ["C", "sigma"]
    assert chosen.parameters["C"] == chosen.model.C
    kernel = chosen.model.kernel_
    assert kernel.alphabet == "ACGT"
    if isinstance(kernel, Oligo):
        assert kernel.sigma == chosen.parameters["sigma"]
        assert chosen.kernel == "oligo kernel of 3-mers"
    else:
        assert isinstance(kernel, CombinedOligo)
        assert (kernel.sigmas == chosen.parameters["sigma"]).all()
        assert chosen.kernel == "combined oligo kernel of 1- to 6-mers"
    assert chosen.work.fits == 5 * chosen.candidates
    assert all(type(value) is float for value in chosen.parameters.values())


def test_every_container() -> None:
    expected = select(X[:40], Y[:40], cv=3)
    for texts in (np.array(X[:40]), np.array(X[:40], dtype="S"), pd.Series(X[:40]), tuple(X[:40])):
        found = select(texts, Y[:40], cv=3)
        assert (found.parameters, found.score) == (expected.parameters, expected.score)


def test_kernels_share_work() -> None:
    chosen = select(X, Y, cv=3)
    grids = len(chosen.reports)
    # Five widths of four oligo kernels, of the best of them with both strands, and two spectrum kernels: each is
    # computed once for all folds and all C; what a grid grows by comes on top, and a few in float64 for large C.
    assert chosen.work.kernel_evaluations <= (30 + grids) * 90**2


def test_short_sequences_have_short_oligomers() -> None:
    short = [one[7:12] for one in X]
    assert "1- to 5-mers" in select(short, Y, cv=3).kernel or "3-mers" in select(short, Y, cv=3).kernel
    pairs = select([one[:2] for one in short], Y, cv=3)
    assert pairs.model.kernel_.get_params().get("k", 2) == 2
    assert select([one[0] for one in short], Y, cv=3).kernel == "oligo kernel of 1-mers"
    with pytest.raises(ValueError, match=r"sequence 1 of X, '', has k\(x, x\) = 0"):
        select(["A", "", "C", "G"], [0, 1, 0, 1], cv=2)


def test_peptides_with_anchors() -> None:
    """Nine amino acids, of which the second and the last decide: triplets have next to nothing in common."""
    random = np.random.default_rng(3)
    letters = random.choice(list(PROTEIN), (120, 9))
    y = np.arange(120) % 2
    letters[y == 1, 1] = random.choice(list("LM"), 60)
    letters[y == 1, 8] = random.choice(list("VL"), 60)
    texts = ["".join(row) for row in letters]
    chosen = select(texts, y)
    assert chosen.kernel == "oligo kernel of 1-mers"
    grid = GridSearchCV(SVC(kernel=Oligo(1)), {"kernel__sigma": [0.5, 1.0], "C": [0.1, 1.0, 10.0]}, cv=5).fit(texts, y)
    assert chosen.score >= grid.best_score_ - 0.01
    assert chosen.score > 0.9


def words_on_either_strand(n: int) -> tuple[list[str], np.ndarray]:
    """Every second sequence holds a word, somewhere; half of all were read from the other strand."""
    random = np.random.default_rng(0)
    texts, y = ["".join(row) for row in random.choice(list("ACGT"), (n, 60))], np.arange(n) % 2
    for i in np.flatnonzero(y):
        at = int(random.integers(5, 45))
        texts[i] = texts[i][:at] + "GATTACA" + texts[i][at + 7 :]
    return [turned(text) if random.random() < 0.5 else text for text in texts], y


def test_words_anywhere() -> None:
    texts, y = words_on_either_strand(100)
    chosen = select(texts, y, cv=4)
    assert chosen.kernel.startswith("spectrum kernel of 5-mers")
    assert sorted(chosen.parameters) == ["C"]
    assert chosen.score > 0.9


def test_words_on_either_strand() -> None:
    texts, y = words_on_either_strand(30)
    chosen = select(texts, y, cv=4)
    assert chosen.kernel == "spectrum kernel of 5-mers of both strands"
    model = chosen.model
    assert model.decision_function([turned(one) for one in texts]) == pytest.approx(model.decision_function(texts))


def test_the_chosen_model_tells_of_letters_that_it_did_not_see() -> None:
    chosen = select([text.replace("C", "X").replace("G", "Y") for text in X], Y, cv=3)
    assert chosen.model.kernel_.get_params()["alphabet"] == "ATXY"
    with pytest.warns(UserWarning, match="not in the alphabet of the kernel, taken from the training data: 'Q'"):
        chosen.model.predict(["ATXYATXYQ", "ATXYATXY"])


def test_targets_that_are_numbers() -> None:
    targets = np.array([one.count("A") for one in X], dtype=np.float64)
    chosen = select(X, targets, regression=True, groups=GROUPS, cv=3)
    assert isinstance(chosen.model, SVR)
    assert sorted(chosen.parameters) == ["C", "epsilon", "sigma"]
    assert chosen.score > 0.5


def test_origins() -> None:
    marked = [one[:8] + "|" + one[8:] for one in X]
    assert select(marked, Y, cv=3, origin="|").score == select(X, Y, cv=3, origin=8).score
    with pytest.raises(ValueError, match="origin is 3, but X holds no sequences"):
        select(np.eye(4), [0, 1, 0, 1], origin=3)


def test_groups_of_vectors_stay_together() -> None:
    rows, labels = twonorm(60, random_state=0)
    twins, both = np.repeat(rows, 2, axis=0), np.repeat(labels, 2)
    chance = np.random.default_rng(0).permutation(labels).repeat(2)
    groups = [f"patient {i // 2}" for i in range(120)]
    assert select(twins, chance).score >= 0.9
    assert select(twins, chance, groups=groups).score < 0.8
    splitter = GroupKFold(4)
    assert select(twins, both, groups=groups, cv=splitter).work.fits % 4 == 0
    with pytest.raises(ValueError, match="of the same group, on both sides of fold 0"):
        select(twins, both, groups=groups, cv=[(np.arange(0, 120, 2), np.arange(1, 120, 2))])
    with pytest.raises(ValueError, match="cv must be from 2 to 3, the number of groups"):
        select(twins, both, groups=np.arange(120) % 3)
    with pytest.raises(ValueError, match="holds out all samples of class number"):
        select(twins, both, groups=both, cv=2)
    with pytest.raises(ValueError, match="groups holds 5 names for 120 samples"):
        select(twins, both, groups=range(5))


def test_a_journal_for_each_kernel(tmp_path: Path) -> None:
    first = select(X[:40], Y[:40], cv=3, journal=tmp_path / "s.jsonl")
    names = {path.name for path in tmp_path.iterdir()}
    assert {"s.jsonl", "s.kernel-2.jsonl"} <= names
    written = {path.name: path.read_bytes().count(b"\n") for path in tmp_path.iterdir()}
    again = select(X[:40], Y[:40], cv=3, journal=tmp_path / "s.jsonl")
    assert again.parameters == first.parameters
    evaluated = {path.name: path.read_bytes().count(b"\n") for path in tmp_path.iterdir()}
    assert all(evaluated[name] <= lines + 3 < 2 * lines for name, lines in written.items())  # headers, no evaluations


def test_a_deadline_before_anything_is_found() -> None:
    with pytest.raises(TimeoutError, match="is too short: no candidate was finished; allow more"):
        select(X, Y, max_time=1e-9)


@pytest.mark.parametrize("end", [TimeoutError, KeyboardInterrupt])
def test_what_was_found_with_the_first_kernel_is_kept(
    end: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, calls = selection.grown, []

    def grown(*given: Any, **options: Any) -> Any:
        calls.append(given[0].kernel)
        if len(calls) == 2:
            raise end
        return whole(*given, **options)

    monkeypatch.setattr(selection, "grown", grown)
    chosen = select(X, Y, cv=3)
    assert chosen.kernel == "oligo kernel of 3-mers"
    assert len(calls) == 2
    monkeypatch.setattr(selection, "grown", lambda *given, **options: (_ for _ in ()).throw(end))
    with pytest.raises(end):
        select(X, Y, cv=3)
