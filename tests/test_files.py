"""Files are replaced whole or not at all."""

import errno

import pytest

from jarf._files import atomic_write


def test_a_file_is_replaced_with_the_rights_of_a_new_file(tmp_path):
    path, usual = tmp_path / "a.txt", tmp_path / "usual"
    usual.write_text("")
    for text in ("old", "new"):
        with atomic_write(path, encoding="utf-8") as stream:
            stream.write(text)
    assert path.read_text() == "new"
    assert path.stat().st_mode == usual.stat().st_mode
    assert {p.name for p in tmp_path.iterdir()} == {"a.txt", "usual"}


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failure_keeps_the_old_file_and_leaves_nothing(tmp_path, error):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def write():
        with atomic_write(path, "wb") as stream:
            stream.write(b"half of the new")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_not_followed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with atomic_write(tmp_path / "link") as stream:
        stream.write("page")
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "link").read_text() == "page"
