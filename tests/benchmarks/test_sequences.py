import json

import numpy as np
import pytest

from benchmarks.peers import sequences
from benchmarks.peers.__main__ import main
from benchmarks.peers.sequences import BARS, PROBLEMS, Result, indicators
from widemargin.kernels import Oligo


@pytest.mark.parametrize(("seconds", "passed"), [(0.4, True), (0.6, False)])
def test_bars_are_parts_of_the_product(seconds, passed):
    assert Result("3-mers", seconds, 1.0).verdicts()["3-mers"].passed == passed
    assert Result("fit Oligo", seconds, 1.0).verdicts() == {}


def test_indicators_are_the_kernel_of_equal_positions():
    texts = ["ACGTAC", "ACGGAC", "TTTTTT"]
    R = indicators(texts)
    assert pytest.approx(Oligo(3, 1e-20, normalize=False, alphabet="ACGT")(texts)) == R @ R.T


def test_the_command_prints_and_records(tmp_path, capsys, monkeypatch):
    generator = np.random.default_rng(0)
    texts = ["".join(generator.choice(list("ACGT"), 20)) for _ in range(30)]
    monkeypatch.setattr(sequences, "texts_of", lambda name: (texts, np.arange(30) % 2))
    record = tmp_path / "sequences.json"
    main(["sequences", "--problems", ",".join(PROBLEMS), "--repeats", "2", "--json", str(record)])
    printed = capsys.readouterr().out
    assert "30 x 30 windows of 20 letters" in printed
    assert "of the product, allowed 2.5" in printed
    results = json.loads(record.read_text())["results"]
    assert [one["problem"] for one in results][: len(BARS)] == list(BARS)
    assert len(results) == len(BARS) + 3
