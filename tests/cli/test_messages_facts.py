"""What terminals and programs get to read."""

import sys

import pytest

from widemargin.cli.messages import print_facts, print_heading, progress_bar

FACTS = [("score", "accuracy 0.98"), ("ties", "2 of 72 candidates score the same; the smoothest is kept")]


def pretend_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_one_line_for_each_fact(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_heading("Choice")
    print_facts(FACTS)
    assert capsys.readouterr().out == (
        "Choice\nscore     accuracy 0.98\nties      2 of 72 candidates score the same; the smoothest is kept\n"
    )


def test_terminals_get_no_longer_lines_than_they_show(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_a_terminal(monkeypatch)
    print_heading("Choice")
    print_facts(FACTS)
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading == "\033[1mChoice\033[0m"
    assert lines == [
        "score     accuracy 0.98",
        "ties      2 of 72 candidates score the",
        "          same; the smoothest is kept",
    ]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_headings_that_are_to_be_plain(
    name: str, value: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_a_terminal(monkeypatch)
    monkeypatch.setenv(name, value)
    print_heading("Choice")
    assert capsys.readouterr().out == "Choice\n"


def test_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_bar(quiet=False) is None
    assert capsys.readouterr() == ("", "")


def test_bars_in_terminals(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    pretend_a_terminal(monkeypatch)
    assert progress_bar(quiet=False) == "rich"
    assert progress_bar(quiet=True) is None
    monkeypatch.setitem(sys.modules, "rich", None)
    assert progress_bar(quiet=False) is None
    assert "widemargin[progress]" in capsys.readouterr().err
