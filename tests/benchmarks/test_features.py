import json

import pytest

from benchmarks.peers import features
from benchmarks.peers.__main__ import main
from benchmarks.peers.features import DISTANCES, Result


@pytest.mark.parametrize(("part", "passed"), [(0.05, [True, True]), (0.12, [False, True]), (0.2, [False, False])])
def test_bars_are_parts_of_computing_anew(part, passed):
    result = Result(dict.fromkeys(DISTANCES, part), dict.fromkeys(DISTANCES, 1.0))
    assert [result.verdicts()[name].passed for name in ("between", "among")] == passed


def test_the_command_prints_and_records(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(features, "N_SAMPLES", 50)
    record = tmp_path / "features.json"
    main(["features", "--repeats", "2", "--json", str(record)])
    printed = capsys.readouterr().out
    assert "50 x 50 distances, 100 features" in printed
    assert "of computing anew, allowed 1/10" in printed
    (result,) = json.loads(record.read_text())["results"]
    assert result["toggled"].keys() == result["computed"].keys() == {"between", "among"}
    assert all(seconds > 0.0 for times in result.values() for seconds in times.values())
