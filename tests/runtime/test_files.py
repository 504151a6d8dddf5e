"""Files appear whole or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from widemargin import SVC
from widemargin.persistence.model_file import save_model
from widemargin.runtime.files import replaced_file

X, CLASSES = load_iris(return_X_y=True)


X = X[::3] + 0.01 * np.arange(50)[:, np.newaxis]


CLASSES = CLASSES[::3]


def fitted(model: Any, rows: Any = X) -> Any:
    return model.fit(rows, CLASSES)


def test_files_appear_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, model = tmp_path / "model.wm", fitted(SVC())
    save_model(model, path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, function, fail)
            with pytest.raises(OSError, match="No space left") as raised:
                save_model(fitted(SVC(C=5.0)), path)
            assert raised.value.filename == str(path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["model.wm"]
    file = ExitStack()
    file.enter_context(replaced_file(path)).write(b"half")
    with pytest.raises(KeyboardInterrupt), file:
        raise KeyboardInterrupt
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.wm"]


def test_permissions_links_and_devices(tmp_path: Path) -> None:
    plain, link, model = tmp_path / "plain", tmp_path / "model.wm", fitted(SVC())
    plain.write_bytes(b"")
    link.symlink_to("real.wm")
    save_model(model, link)
    assert link.is_symlink()
    assert stat.S_IMODE((tmp_path / "real.wm").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    save_model(model, os.devnull)
    assert not Path(os.devnull).is_file()
    with pytest.raises(FileNotFoundError) as raised:
        save_model(model, tmp_path / "absent" / "model.wm")
    assert raised.value.filename == str(tmp_path / "absent" / "model.wm")
    with pytest.raises(IsADirectoryError):
        save_model(model, tmp_path)


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "model.wm"
    path.touch(mode=0o600)
    save_model(fitted(SVC()), path)
    assert path.stat().st_size
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_names_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    for letter in ("m", "\N{SNOWMAN}"):
        path = tmp_path / (letter * (255 // len(letter.encode())))
        save_model(fitted(SVC()), path)
        assert path.is_file()


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write to everything")
def test_protected_files_stay(tmp_path: Path) -> None:
    path = tmp_path / "model.wm"
    path.write_bytes(b"keep")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        save_model(fitted(SVC()), path)
    assert path.read_bytes() == b"keep"
