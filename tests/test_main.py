"""The package is the command."""

import subprocess
import sys
from importlib.metadata import version


def test_the_package_runs_as_the_command() -> None:
    run = [sys.executable, "-m", "widemargin"]
    done = subprocess.run([*run, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"widemargin {version('widemargin')}\n"
    done = subprocess.run([*run, "predict", "absent.wm", "absent.csv"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "widemargin: absent.wm: No such file or directory\n"
