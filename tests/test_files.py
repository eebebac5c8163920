"""Atomic writing: the old file, or the new one, and nothing in between."""

import os
import stat
import subprocess
import sys

import pytest

from jarf._files import atomic_write


def test_text_and_bytes(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path, "w") as stream:
        stream.write("größer\n")
        assert not path.exists()
    assert path.read_text("utf-8") == "größer\n"
    with atomic_write(str(path)) as stream:
        stream.write(b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file"
    path.write_text("old")

    def write():
        with atomic_write(path, "w") as stream:
            stream.write("new")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")
    old.chmod(0o640)
    umask = os.umask(0o027)
    try:
        for path in (old, new):
            with atomic_write(path, "w") as stream:
                stream.write("x")
    finally:
        os.umask(umask)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (old, new)] == [0o640, 0o640]


def test_a_file_that_may_not_be_written_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # the administrator may write everything
    with pytest.raises(PermissionError, match="file"), atomic_write(path):
        pass
    assert path.read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_links(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_write(link, "w") as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    with atomic_write(link, "w", follow_links=False) as stream:
        stream.write("own")
    assert not link.is_symlink()
    assert (link.read_text(), target.read_text()) == ("own", "new")


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="devices of POSIX")
def test_a_device_is_written_and_not_replaced():
    with atomic_write("/dev/null") as stream:
        stream.write(b"x")
    assert not os.path.isfile("/dev/null")


FULL_DISK = """
import resource, sys
import numpy as np
from jarf import AxisForestRegressor
from jarf.export import export_onnx, save
from jarf._files import atomic_write

def bare(model, path):
    with atomic_write(path) as stream:
        stream.write(bytes(10**5))

X = np.random.default_rng(0).normal(size=(300, 3))
model = AxisForestRegressor(20, random_state=0).fit(X, X[:, 0])
write = {"bare": bare, "save": save, "onnx": lambda m, p: export_onnx(m, p)}[sys.argv[1]]
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    write(model, sys.argv[2])
except OSError as error:
    print("refused", error.errno)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of file sizes")
@pytest.mark.parametrize("what", ["bare", "save", "onnx"])
def test_the_old_file_survives_a_full_disk(tmp_path, what):
    if what == "onnx":
        pytest.importorskip("onnx")
    path = tmp_path / "model"
    path.write_text("the old model")
    found = subprocess.run(
        [sys.executable, "-c", FULL_DISK, what, str(path)], capture_output=True, text=True
    )
    assert found.stdout.startswith("refused"), found.stderr
    assert path.read_text() == "the old model"
    assert os.listdir(tmp_path) == ["model"]
