"""The benchmark of compression: what its table says, and its bar."""

from dataclasses import replace

import pytest

from benchmarks.peers.compress import COMPRESSIBLE, Line, compress_command, judge
from benchmarks.peers.session import Options


def test_a_table_of_a_small_problem(capsys):
    options = Options(problems=("waveform",), repeats=1, samples=300, n_jobs=1)
    (result,) = compress_command(options)
    trained, kept, moved = result.lines
    assert trained.n_vectors > 100 >= kept.n_vectors
    assert 0.0 < moved.rms_change < kept.rms_change < kept.largest_change
    assert result.verdict.passed is None
    assert "support vectors" in capsys.readouterr().out


@pytest.mark.parametrize(("seconds", "passed"), [(9.9, True), (10.1, False)])
def test_the_bar_is_ten_times_the_training(seconds, passed):
    trained = Line("training", 1.0, (1.0,), 9000, 0.85)
    lines = (trained, replace(trained, name="support vectors", seconds=seconds))
    assert judge(COMPRESSIBLE["a9a"], lines, Options(problems=("a9a",), repeats=1)).passed is passed
    assert judge(COMPRESSIBLE["mnist"], lines, Options(problems=("mnist",), repeats=1)).passed is None
