"""The bar, as a terminal shows it."""

from __future__ import annotations

import io
import logging
import sys
import threading
import time

import pytest
from rich.console import Console
from test_progress import Clock, Terminal, run

from widemargin.study.bar import RichProgress


def shown(width: int = 80, *, terminal: bool = False) -> tuple[RichProgress, Clock, io.StringIO]:
    clock, file = Clock(), io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, force_jupyter=False, color_system=None)
    return RichProgress(console=console, clock=clock), clock, file


@pytest.mark.parametrize("width", [200, 80, 60])
def test_the_end_of_a_search_stays(width: int) -> None:
    progress, clock, file = shown(width)
    run(progress, clock)
    bar = "━" * min(40, max(10, width - 60))
    assert file.getvalue().rstrip() == f"{bar} 400/400 fits, best 0.8990, 1 min 40 s"


def test_a_search_that_ends_early() -> None:
    progress, clock, file = shown()
    progress.start(400)
    clock.now += 30
    progress.advance(100, 5.0, 15.0, 0.75)
    progress.finish("time budget")
    progress.finish("again")
    progress.advance(1, 1.0, 1.0, 1.0)
    assert file.getvalue().rstrip() == "━━━━━                100/400 fits, best 0.7500, 30 s (time budget)"


def test_a_search_that_ends_before_anything_is_done() -> None:
    progress, _, file = shown()
    progress.start(400)
    progress.finish("interrupted")
    assert file.getvalue().split() == ["0/400", "fits,", "<1", "s", "(interrupted)"]


def test_a_search_of_nothing() -> None:
    progress, _, file = shown()
    progress.start(0)
    progress.finish("finished")
    assert file.getvalue().strip().endswith("0/0 fits, <1 s")


def test_a_running_search_in_a_terminal() -> None:
    progress, clock, file = shown(terminal=True)
    progress.start(400)
    clock.now += 30
    progress.advance(100, 5.0, 15.0, 0.75)
    assert progress._bar is not None
    progress._bar.refresh()
    assert "100/400 fits, best 0.7500, about 1 min 30 s left" in file.getvalue()
    clock.now += 1
    progress._bar.refresh()
    assert "100/400 fits, best 0.7500, about 1 min 29 s left" in file.getvalue()
    progress.advance(1, 1.0, None, None)
    progress._bar.refresh()
    assert "101/400 fits, best 0.7500, 31 s" in file.getvalue()
    progress.finish("finished")
    assert file.getvalue().endswith("\x1b[?25h")  # the cursor is back


def test_the_next_search_starts_anew() -> None:
    progress, clock, file = shown(terminal=True)
    progress.start(10)
    progress.start(20)
    clock.now += 1
    progress.advance(20, 1.0, 0.0, None)
    progress.finish("finished")
    first, second = (file.getvalue().index(text) for text in ("0/10 fits, <1 s (started anew)", "20/20 fits, 1 s"))
    assert first < second


def test_no_thread_is_left() -> None:
    before = set(threading.enumerate())
    progress, clock, _ = shown(terminal=True)
    run(progress, clock)
    patience = time.monotonic() + 5
    while not before.issuperset(threading.enumerate()) and time.monotonic() < patience:
        time.sleep(0.01)
    assert before.issuperset(threading.enumerate())  # those of other tests may have ended meanwhile


def test_output_that_goes_to_a_file_still_does(capsys: pytest.CaptureFixture[str]) -> None:
    progress, _, file = shown(terminal=True)
    progress.start(3)
    print("to the file")
    progress.finish("finished")
    assert capsys.readouterr().out == "to the file\n"
    assert "to the file" not in file.getvalue()


def test_output_to_the_same_terminal_appears_above(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, errors = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", errors)
    handlers = [logging.StreamHandler(errors), logging.StreamHandler(io.StringIO())]
    monkeypatch.setattr(logging.getLogger(), "handlers", handlers)
    progress, _, file = shown(terminal=True)
    progress.start(3)
    print("printed")
    logging.getLogger("other").warning("logged")
    print("warned", file=sys.stderr)
    progress.finish("finished")
    for text in ("printed", "logged", "warned"):
        assert file.getvalue().count(text) == 1
        assert file.getvalue().index(text) < file.getvalue().rindex("0/3 fits")
    assert handlers[0].stream is errors
    assert handlers[1].stream.getvalue() == "logged\n"
    assert sys.stdout is terminal
    assert sys.stderr is errors
