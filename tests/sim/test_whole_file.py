"""Files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.errors import InputInvalid
from tenuto.sim.whole_file import whole_file


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("old")

    with pytest.raises(ZeroDivisionError), whole_file(file) as stream:
        stream.write("new")
        1 / 0  # noqa: B018

    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    link = tmp_path / "link.csv"
    link.symlink_to("real.csv")

    with whole_file(link) as stream:
        stream.write("new")

    assert link.is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


@pytest.mark.parametrize("path", ["/dev/null", "."])
def test_what_is_no_file_is_never_replaced(path: str) -> None:
    with pytest.raises(InputInvalid, match="not a file"), whole_file(Path(path)):
        pass

    assert not Path(path).is_file()


def test_a_full_disk_is_explained(tmp_path: Path) -> None:
    explained = r"a\.csv: the file cannot be written \(No space.*has room"
    with pytest.raises(InputInvalid, match=explained), whole_file(tmp_path / "a.csv"):
        raise OSError(28, "No space left on device")

    assert list(tmp_path.iterdir()) == []
