"""Profiles: ours and the reference's hold the same measurements; gaps are left out, nonsense is refused."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from tenuto.errors import InputInvalid
from tenuto.sim.read_profiles import load_profiles

if TYPE_CHECKING:
    from pathlib import Path

OURS = "model,global_batch,slots,steps_per_second"


@pytest.mark.parametrize(("name", "source"), [("a100", "ElasticFlow"), ("t4", "AdaptDL"), ("A100", "MIT")])
def test_built_in_profiles_say_where_they_come_from(name: str, source: str) -> None:
    profiles = load_profiles(name)

    assert profiles.name == name.lower()
    assert source in profiles.source
    assert profiles.sizes == (1, 2, 4, 8, 16, 32, 64)


def test_bert_peaks_at_eight_slots() -> None:
    curve = load_profiles("a100").curves["bert", 64]

    assert max(curve.rate, key=curve.rate.__getitem__) == 8
    assert curve.rate[8] == 11.0601732061343


def test_sizes_that_cannot_run_are_left_out() -> None:
    assert set(load_profiles("a100").curves["resnet50_cifar10", 64].rate) == {1, 2, 4, 8}
    assert set(load_profiles("t4").curves["yolov3", 64].rate) == {1, 2, 4, 8, 16}


@pytest.mark.parametrize("kind", ["a100", "t4"])
def test_every_public_measurement_is_ours_cell_by_cell(shared: Path, kind: str) -> None:
    ours = load_profiles(kind).curves
    public = {}
    for file in sorted((shared / "data" / "profiles" / kind).glob("*.csv")):
        with file.open(newline="") as stream:
            for row in csv.DictReader(stream):
                batch = int(row.pop("global_batch_size"))
                public[file.stem, batch] = {
                    int(slots): float(cell) for slots, cell in row.items() if cell not in ("", "nan", "0")
                }

    assert {key: dict(curve.rate) for key, curve in ours.items()} == public
    assert load_profiles(str(shared / "data" / "profiles" / kind)).curves == ours


def test_a_directory_in_the_references_format_is_read_without_its_gaps(tmp_path: Path) -> None:
    (tmp_path / "mödel.csv").write_text("global_batch_size,1,2,4\r\n64,1.5,nan,0\r\n128,,NaN,2e0\r\n")

    profiles = load_profiles(str(tmp_path))

    assert {key: dict(curve.rate) for key, curve in profiles.curves.items()} == {
        ("mödel", 64): {1: 1.5},
        ("mödel", 128): {4: 2.0},
    }


def test_one_file_in_our_format_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "h100.csv"
    file.write_text(f'# measured on "our" box\n\n{OURS}\nbert,64,1,2.5\nbert,64,2,\n')

    profiles = load_profiles(str(file))

    assert profiles.name == "h100"
    assert profiles.source == 'measured on "our" box'
    assert dict(profiles.curves["bert", 64].rate) == {1: 2.5}


BAD = {
    "empty": ("", None, None, "header line"),
    "only a header": (f"{OURS}\n", 1, None, "at least one row"),
    "a column is missing": (
        "model,slots,steps_per_second\nbert,1,2\n",
        1,
        "global_batch",
        "global_batch_size",
    ),
    "no model": (f"{OURS}\n,64,1,2\n", 2, "model", "model's name"),
    "batch of zero": (f"{OURS}\nbert,0,1,2\n", 2, "global_batch", "1, 2 or 64"),
    "negative speed": (f"{OURS}\nbert,64,1,2\nbert,64,2,-3\n", 3, "steps_per_second", "above 0"),
    "no speed": (f"{OURS}\n# no comment here\nbert,64,1,2\n", 2, "global_batch", "one field per column"),
    "garbage": (f"{OURS}\nbert,64,1,fast\n", 2, "steps_per_second", "plain number"),
    "endless": (f"{OURS}\nbert,64,1,inf\n", 2, "steps_per_second", "plain number"),
    "given twice": (f"{OURS}\nbert,64,1,2\n\nbert,64,1,2\n", 4, "steps_per_second", "Keep one"),
    "wide: garbage": ("global_batch_size,1,2\n64,1.0,x\n", 2, "2", "plain number"),
    "wide: negative": ("global_batch_size,1,2\n64,1.0,2.0\n128,-1,2\n", 3, "1", "above 0"),
    "wide: strange column": ("global_batch_size,1,two\n64,1.0,2.0\n", 1, "two", "global_batch_size,1,2,4"),
    "wide: column twice": ("global_batch_size,1,1\n64,1.0,2.0\n", 1, "1", "Keep one"),
    "wide: no batch": ("global_batch_size,1\nmany,1.0\n", 2, "global_batch_size", "plain number"),
}


@pytest.mark.parametrize(("text", "line", "column", "remedy"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, line: int | None, column: str | None, remedy: str
) -> None:
    file = tmp_path / "bert.csv"
    file.write_text(text)

    with pytest.raises(InputInvalid) as caught:
        load_profiles(str(tmp_path))

    place = caught.value.place
    assert place is not None
    assert (place.file, place.line, place.column) == (str(file), line, column)
    assert remedy in caught.value.remedy


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InputInvalid, match=r"a10.*Did you mean a100\?.*a100 and t4.*directory"):
        load_profiles("a10")


def test_an_empty_directory_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match=r"holds no CSV file.*one file per model"):
        load_profiles(str(tmp_path))
