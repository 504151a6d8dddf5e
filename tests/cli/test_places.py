"""The command never writes over what it reads, and over nothing else that somebody may want to keep, unless told to."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from widemargin import SVC, save_model
from widemargin.cli import main
from widemargin.cli.messages import CommandError
from widemargin.cli.places import require_place
from widemargin.persistence import open_model
from widemargin.study import Journal

COMMAND = str(Path(sysconfig.get_path("scripts")) / "widemargin")

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table, a model of it, and other names of both; all of it in the folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    assert main(["generate", "twonorm", "num.csv", "--samples", "60"]) == 0
    assert main(["select", "num.csv", "--cv", "2", "--model", "num.wm", "--quiet"]) == 0
    for name in ("num.csv", "num.wm"):
        Path(f"hard-{name}").hardlink_to(name)
        Path(f"soft-{name}").symlink_to(name)
    Path("notes.txt").write_text("keep")
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; return its status and the last line of its remarks."""

    def runner(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        status = main(list(arguments))
        said = capsys.readouterr().err.splitlines()
        return status, said[-1] if said else ""

    return runner


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir()}


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("read", ["num.csv", "num.wm"])
@pytest.mark.parametrize("name", ["{}", "./{}", "hard-{}", "soft-{}"])
def test_predictions_never_replace_what_they_are_made_from(run: Run, name: str, read: str, force: list[str]) -> None:
    before = contents()
    status, said = run("predict", "num.wm", "num.csv", "--output", name.format(read), *force)
    assert status == 2
    assert said.startswith(f"widemargin: --output must name a file of its own, got {Path(name.format(read))}, which ")
    assert contents() == before
    if read == "num.csv":
        status, said = run("select", "num.csv", "--quiet", "--model", name.format(read), *force)
        assert status == 2
        assert contents() == before


@pytest.mark.parametrize("redirection", [">> num.csv", ">> soft-num.csv", "< num.csv >> hard-num.csv"])
def test_nothing_is_printed_into_what_is_read(run: Run, redirection: str) -> None:
    before = contents()
    table = "/dev/stdin" if "<" in redirection.replace(">>", "") else "num.csv"
    for command in ("predict num.wm", "select --cv 2 --quiet"):
        done = subprocess.run(
            f"{COMMAND} {command} {table} {redirection}", shell=True, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr == f"widemargin: standard output goes to {table}, which is read; print to another file\n"
        assert contents() == before


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("--output", ["predict", "num.wm", "num.csv", "--output", "notes.txt"]),
        ("--model", ["select", "num.csv", "--cv", "2", "--quiet", "--model", "notes.txt"]),
        ("TABLE", ["generate", "twonorm", "notes.txt", "--samples", "5"]),
        ("--output", ["demo", "--output", "notes.txt"]),
    ],
    ids=["predict", "select", "generate", "demo"],
)
def test_other_files_are_replaced_on_demand_only(run: Run, option: str, arguments: list[str]) -> None:
    assert run(*arguments) == (
        1,
        f"widemargin: {option} names notes.txt, which exists; add --force to replace it, or name another file",
    )
    assert Path("notes.txt").read_text() == "keep"
    if arguments[0] != "demo":  # which takes a while, and asks as the others do
        assert run(*arguments, "--force")[0] == 0
        assert Path("notes.txt").read_bytes() != b"keep"


def test_models_replace_models_and_journals_go_on(run: Run) -> None:
    select = ["select", "num.csv", "--cv", "2", "--quiet"]
    save_model(SVC().fit([[0.0], [1.0]], [0, 1]), "other.wm")
    Path("copy").write_bytes(Path("other.wm").read_bytes())
    for name in ("other.wm", "copy"):  # known by its content, not by its name
        assert run(*select, "--model", name)[0] == 0
        assert open_model(name).selection == open_model("num.wm").selection
    Path("fake.wm").write_text("a text that is called like a model")
    assert run(*select, "--model", "fake.wm")[0] == 1
    assert run(*select, "--journal", "study.jsonl")[0] == 0
    before = contents()
    assert run(*select, "--journal", "study.jsonl")[0] == 0
    with Journal("foreign.jsonl", {"data": "others"}):
        pass
    for name in ("notes.txt", "other.wm"):  # a journal never replaces anything
        assert run(*select, "--journal", name, "--force")[0] == 1
    foreign = Path("foreign.jsonl").read_bytes()
    assert run(*select, "--journal", "foreign.jsonl")[0] == 0  # a study of other data has a file beside it
    assert Path("foreign.jsonl").read_bytes() == foreign
    for beside in Path().glob("foreign.*.jsonl"):
        beside.unlink()
    assert run("predict", "num.wm", "num.csv", "--output", "other.wm")[0] == 1
    assert run(*select, "--model", "study.jsonl")[0] == 1
    assert {name: content for name, content in contents().items() if name != "foreign.jsonl"} == before


@pytest.mark.parametrize(
    "name", [b"\xff.wm", b"two\nlines.wm", b"[red]\x1b[31m.wm", b'a "b".wm', "snow \N{SNOWMAN}.wm".encode()]
)
def test_any_name_of_a_file(folder: Path, name: bytes) -> None:
    run = [COMMAND.encode(), b"select", b"num.csv", b"--cv", b"2", b"--quiet", b"--model", name]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run(run, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert os.path.isfile(name)


def test_devices_are_written_to(folder: Path) -> None:
    done = subprocess.run(
        [COMMAND, "predict", "num.wm", "num.csv", "--output", "/dev/stdout"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("prediction\n")
    assert main(["generate", "twonorm", os.devnull]) == 0


@pytest.fixture
def folder_of_others() -> Iterator[Path]:
    """A folder of root's, as somebody who is not root: read-only, but for the folder "open", which has a file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "open").mkdir()
        (folder / "open" / "theirs").touch(mode=0o444)
        (folder / "open").chmod(0o777)
        folder.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(user)
            folder.chmod(0o755)


def test_places_of_others(folder_of_others: Path) -> None:
    # The function itself: somebody who is not root may not be able to read this installation.
    new, theirs = folder_of_others / "new", folder_of_others / "open" / "theirs"
    with pytest.raises(CommandError) as refused:
        require_place("--model", new)
    assert str(refused.value) == f"--model must name a file in a folder that may be written to, got {new}"
    with pytest.raises(CommandError) as refused:
        require_place("--journal", theirs)
    assert str(refused.value) == f"--journal must name a file that may be written to, got {theirs}"
