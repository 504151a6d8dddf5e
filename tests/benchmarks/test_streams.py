"""The benchmark of streams of one sample at a time."""

import json

import pytest

from benchmarks.peers import streams
from benchmarks.peers.__main__ import main
from benchmarks.peers.streams import BARS, Result


@pytest.mark.parametrize(("milliseconds", "passed"), [(1.9, True), (2.1, False)])
def test_bars_are_milliseconds(milliseconds, passed):
    verdicts = Result("Spectrum(5)", 600, milliseconds, 1.0).verdicts()
    assert verdicts["Spectrum(5), learn"].passed == passed
    assert verdicts["Spectrum(5), predict"].passed


def test_learning_and_predicting_bags_of_words_count_together():
    assert not Result("words, rbf", 100, 0.2, 0.2).verdicts()["words, rbf, both"].passed


def test_the_command_prints_and_records(tmp_path, capsys, monkeypatch):
    pytest.importorskip("river")
    monkeypatch.setattr(streams, "FIRST", dict.fromkeys(streams.FIRST, 60))
    for name, value in {"FEATURES": 5, "WORDS": 80, "ONE_BY_ONE": 3, "BATCH": 10}.items():
        monkeypatch.setattr(streams, name, value)
    record = tmp_path / "streams.json"
    main(["streams", "--repeats", "2", "--json", str(record)])
    assert "Spectrum(5), predict" in capsys.readouterr().out
    results = json.loads(record.read_text())["results"]
    assert [one["problem"] for one in results] == list(BARS)
    assert all(one["learn"] > 0 for one in results)
    assert [one["in_batches"] is None for one in results] == [False] + [True] * 5
