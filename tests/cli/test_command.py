"""The command itself: versions and arguments that mean nothing."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from widemargin.cli import command, main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"widemargin {version('widemargin')}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: subcommand"),
        (["fit"], "invalid choice: 'fit'"),
        (["--verison"], "widemargin: unknown option --verison; did you mean --version? (see widemargin --help)\n"),
        (["-x"], "widemargin: unknown option -x (see"),
        (["select", "--verison"], "widemargin select: unknown option --verison (see widemargin select --help)\n"),
        (["predict", "--oputput=x"], "widemargin predict: unknown option --oputput; did you mean --output? (see"),
        (["select"], "widemargin select: the following arguments are required: TABLE (see"),
        (["demo", "--seed", "-1"], "argument --seed: must be a whole number from 0 to 4294967295, got '-1'"),
        (["demo", "--seed", "x"], "argument --seed: must be a whole number from 0 to 4294967295, got 'x'"),
        (["demo", "--n-jobs", "0"], "argument --n-jobs: must be a whole number other than 0, got '0'"),
        (["demo", "--n-jobs", "all"], "argument --n-jobs: must be a whole number other than 0, got 'all'"),
        (["generate", "moons", "moons.csv"], "invalid choice: 'moons'"),
        (
            ["generate", "twonorm", "t.csv", "--samples", "0"],
            "argument --samples: must be a whole number of at least 1",
        ),
    ],
)
def test_bad_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_an_interruption_while_modules_are_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "import_module", interrupted)
    assert main(["select", "table.csv"]) == 130
    assert capsys.readouterr().err == "widemargin: interrupted\n"


def test_a_help_page_is_shown_without_importing_the_library() -> None:
    program = (
        "import contextlib, sys, widemargin.cli\n"
        "with contextlib.suppress(SystemExit):\n    widemargin.cli.main(['--help'])\n"
        "sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120, stdout=subprocess.DEVNULL)
