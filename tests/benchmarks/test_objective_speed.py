"""Races between objectives and their units."""

import pytest

from benchmarks import objectives
from benchmarks.objectives import Bar, Race, main, report, seconds_of


def test_medians_are_taken_in_turns():
    order = []
    race = Race(lambda: order.append("ours"), {"unit": lambda: order.append("unit")}, lambda seconds: seconds["unit"])
    ours, units = seconds_of(race, 3)
    assert order == 4 * ["ours", "unit"]
    assert ours > 0.0
    assert units["unit"] > 0.0


@pytest.mark.parametrize(("allowed", "verdict"), [(1e9, "pass"), (1e-12, "FAIL")])
def test_bars_can_be_kept_and_missed(allowed, verdict, monkeypatch, capsys):
    nothing = Race(lambda: sum(range(1000)), {"sum": lambda: sum(range(1000))}, lambda seconds: allowed)
    monkeypatch.setattr(objectives, "BARS", {"nothing": Bar("a sum in sums", lambda: nothing)})
    text, kept = report(["nothing"], 2)
    assert verdict in text
    assert "x sum" in text
    assert kept == (verdict == "pass")
    with pytest.raises(SystemExit) as ended:
        main(["nothing", "--repeats", "1"])
    assert ended.value.code == (0 if kept else 1)
    assert "nothing: a sum in sums" in capsys.readouterr().out


def test_unknown_bars_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "there is no bar 'nonsense'" in capsys.readouterr().err


def test_every_bar_can_be_prepared():
    for bar in objectives.BARS.values():
        race = bar.prepare()
        assert race.units
        assert race.allowed(dict.fromkeys(race.units, 1.0)) > 0.0
