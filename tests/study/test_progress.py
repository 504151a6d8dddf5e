"""What a search shows, line by line."""

from __future__ import annotations

import copy
import importlib.util
import logging
import pickle
import sys
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.study import LogProgress, Progress, SilentProgress, bar, progress_for
from widemargin.study.bar import RichProgress
from widemargin.study.progress import Pace, duration, score_text


class Clock:
    """A clock that stands still unless it is told to go on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_time_left_is_judged_by_cost() -> None:
    clock = Clock()
    pace = Pace(100, clock)
    assert pace.seconds_left() is None
    clock.now += 2
    pace.advance(90, 1.0, 9.0, None)  # cheap ones first
    assert pace.seconds_left() == pytest.approx(18.0)
    clock.now += 9
    pace.advance(5, 4.5, 4.5, 0.5)
    assert pace.seconds_left() == pytest.approx(11.0 * 4.5 / 5.5)
    pace.advance(5, 4.5, 0.0, 0.5)
    assert pace.seconds_left() is None
    assert pace.elapsed() == 11.0


def test_machines_of_a_journal_cost_nothing() -> None:
    clock = Clock()
    pace = Pace(100, clock)
    clock.now += 30
    pace.advance(50, 0.0, 10.0, 0.9)
    assert pace.seconds_left() is None
    clock.now += 20
    pace.advance(0, 0.0, 10.0, 0.9)
    clock.now += 1
    pace.advance(1, 2.0, 8.0, 0.9)
    assert pace.seconds_left() == pytest.approx(4.0)
    assert pace.elapsed() == 51.0


def test_time_left_counts_down_and_grows_when_overdue() -> None:
    clock = Clock()
    pace = Pace(2, clock)
    clock.now += 10
    pace.advance(1, 1.0, 1.0, None)
    found = []
    for _ in range(4):
        found.append(pace.seconds_left())
        clock.now += 5
    assert found == [10.0, 5.0, 0.0, 5.0]


@pytest.mark.parametrize("left", [None, float("nan"), float("inf")])
def test_unknown_costs_give_no_time(left: float | None) -> None:
    clock = Clock()
    pace = Pace(2, clock)
    clock.now += 1
    pace.advance(1, 1.0, left, float("nan"))
    assert pace.seconds_left() is None
    assert pace.best_score is None


@given(st.floats(0, 1e7))
def test_durations_are_short_and_nearly_right(seconds: float) -> None:
    text = duration(seconds)
    assert len(text) <= 11
    units = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
    words = text.removeprefix("<").split()
    meant = sum(int(number) * units[unit] for number, unit in zip(words[::2], words[1::2], strict=True))
    assert abs(meant - seconds) <= max(1.0, 0.1 * seconds)


@pytest.mark.parametrize(
    ("score", "text"),
    [(0.5, "0.5000"), (1.0, "1.000"), (-2345.6, "-2346"), (0.99996, "1.000"), (0.0, "0.000"), (-1e-9, "-1.000e-09")],
)
def test_scores_keep_their_width(score: float, text: str) -> None:
    assert score_text(score) == text


def run(progress: Progress, clock: Clock, reason: str = "finished") -> None:
    """Show a search of 400 fits that takes 100 seconds."""
    progress.start(400)
    for number in range(400):
        clock.now += 0.25
        progress.advance(1, 1.0, 399.0 - number, 0.5 + number / 1000)
    progress.finish(reason)


def test_the_log_has_at_most_a_line_a_second(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="widemargin")
    clock = Clock()
    progress = LogProgress(clock=clock)
    run(progress, clock)
    assert {(record.name, record.levelno) for record in caplog.records} == {("widemargin", logging.INFO)}
    lines = caplog.messages
    assert lines[0] == "4 of 400 fits, about 1 min 39 s left, best score 0.5030"
    assert lines[1] == "8 of 400 fits, about 1 min 38 s left, best score 0.5070"
    assert lines[-1] == "400 of 400 fits after 1 min 40 s, best score 0.8990"
    assert len(lines) == 101


def test_a_search_that_ends_early_says_why(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="widemargin")
    progress = LogProgress()
    progress.start(3)
    progress.finish("interrupted")
    progress.finish("again")
    progress.advance(1, 1.0, None, None)
    assert caplog.messages == ["0 of 3 fits after <1 s (interrupted)"]
    progress.start(2)
    progress.finish("finished")
    assert caplog.messages[1:] == ["0 of 2 fits after <1 s"]


def test_nothing_is_shown_by_default(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for setting in (None, False):
        progress = progress_for(setting)
        assert isinstance(progress, SilentProgress)
        run(progress, Clock())
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


class Own:
    """Somebody else's way to show progress."""

    def start(self, fits: int) -> None: ...
    def advance(self, fits: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None: ...
    def finish(self, reason: str) -> None: ...


def test_settings() -> None:
    own = Own()
    assert progress_for(own) is own
    assert isinstance(progress_for("log"), LogProgress)
    assert isinstance(progress_for("rich"), RichProgress)
    assert isinstance(progress_for(True), LogProgress)  # neither a terminal nor a notebook


@pytest.mark.parametrize("wrong", ["bar", "", 1, 0, 2.5, Own, object(), ["log"]])
def test_other_settings_are_refused(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        progress_for(wrong)
    assert str(caught.value) == (
        'progress must be None, False, True, "rich", "log" or an object with the methods start, advance and finish;'
        f" got {wrong!r}."
    )


class Terminal:
    """A stream that claims to be a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None: ...


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TTY_INTERACTIVE", "TTY_COMPATIBLE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(progress_for(True), RichProgress)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress_for(True), LogProgress)
    monkeypatch.setattr(sys, "stderr", None)
    assert isinstance(progress_for(True), LogProgress)


def test_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(
        ImportError, match=r"^progress='rich' needs rich, which pip install 'widemargin\[progress\]' brings\.$"
    ):
        progress_for("rich")
    assert isinstance(progress_for(True), LogProgress)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.warns(UserWarning, match="shows no bar without rich, which .* brings; the logger 'widemargin' gets"):
        assert isinstance(progress_for(True), LogProgress)


@pytest.mark.parametrize("installed", [True, False])
def test_lines_that_nobody_listens_to_are_shown(
    installed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not installed:
        monkeypatch.setitem(sys.modules, "rich", None)
    logger, root = logging.getLogger("widemargin"), logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])  # those of pytest
    run(progress_for("log"), Clock())
    assert capsys.readouterr() == ("", "")
    run(progress_for(True), Clock())
    assert capsys.readouterr() == ("", "400 of 400 fits after <1 s, best score 0.8990\n")
    monkeypatch.setattr(root, "handlers", [logging.StreamHandler()])  # of a level that does not hear it
    run(progress_for(True), Clock())
    assert capsys.readouterr().err == "400 of 400 fits after <1 s, best score 0.8990\n"
    heard: list[str] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: heard.append(record.getMessage()))
    monkeypatch.setattr(root, "handlers", [handler])
    logger.setLevel(logging.INFO)
    try:
        run(progress_for(True), Clock())
    finally:
        logger.setLevel(logging.NOTSET)
    assert capsys.readouterr() == ("", "")
    assert heard[-1] == "400 of 400 fits after <1 s, best score 0.8990"


def test_a_notebook_without_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bar, "in_a_notebook", lambda: True)
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match=r"^progress='rich' needs ipywidgets, which a notebook needs and pip install"):
        progress_for("rich")
    with pytest.warns(UserWarning, match="shows no bar without ipywidgets"):
        assert isinstance(progress_for(True), LogProgress)
    monkeypatch.setitem(sys.modules, "ipywidgets", types.ModuleType("ipywidgets"))
    sys.modules["ipywidgets"].__spec__ = importlib.util.find_spec("rich")
    assert isinstance(progress_for(True), RichProgress)


@pytest.mark.parametrize("progress", [SilentProgress(), LogProgress(), RichProgress()])
def test_progress_can_be_copied_and_sent(progress: Progress) -> None:
    assert isinstance(progress, Progress)
    progress.start(3)
    try:
        for other in (copy.deepcopy(progress), pickle.loads(pickle.dumps(progress))):
            assert type(other) is type(progress)
            other.start(2)
            other.finish("finished")
    finally:
        progress.finish("finished")
