"""The user's library: traces get names and keep their content; archives cannot play tricks."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from tenuto.errors import InputInvalid
from tenuto.sim import archive
from tenuto.sim.data_home import home
from tenuto.sim.library import Library, find_trace
from tenuto.sim.read_trace import read_trace

HEADER = "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration"


def a_trace(jobs: int = 2) -> bytes:
    rows = [f"ü{job},{job},500,bert,900,64,2,40" for job in range(jobs)]
    return "\r\n".join([HEADER, *rows]).encode()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "hügel")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "tag.csv"
    file.write_bytes(a_trace())
    return file


def a_tar(directory: Path, members: dict[str, bytes]) -> Path:
    file = directory / "traces.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file


def a_zip(directory: Path, members: dict[str, bytes]) -> Path:
    file = directory / "traces.zip"
    with zipfile.ZipFile(file, "w") as stream:
        for name, content in members.items():
            stream.writestr(name, content)
    return file


Pack = Callable[[Path, dict[str, bytes]], Path]
ARCHIVES = pytest.mark.parametrize("pack", [a_tar, a_zip])


def test_an_added_trace_is_found_by_its_name_and_keeps_its_bytes(library: Library, trace: Path) -> None:
    (entry,) = library.add(trace, "montag")

    found = library.find("montag")
    assert found.read_bytes() == trace.read_bytes()
    assert found.stem == "montag"
    assert (entry.jobs, entry.sha256) == (2, hashlib.sha256(trace.read_bytes()).hexdigest())
    assert len(read_trace(found)) == 2


def test_without_a_name_the_file_gives_it(library: Library, trace: Path) -> None:
    library.add(trace)

    assert [entry.name for entry in library.entries()] == ["demo-10", "lab-200", "tag"]


def test_a_file_is_found_before_a_name(
    library: Library, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(trace, "both")
    monkeypatch.chdir(tmp_path)
    Path("both").write_bytes(a_trace(1))

    assert library.find("both") == Path("both")


def test_the_bundled_trace_is_known_to_everybody(library: Library) -> None:
    found = library.find("lab-200")

    trace = read_trace(found)
    assert [(entry.name, entry.jobs) for entry in library.entries()] == [
        ("demo-10", 10),
        ("lab-200", len(trace)),
    ]


@ARCHIVES
def test_every_csv_file_of_an_archive_is_kept(library: Library, tmp_path: Path, pack: Pack) -> None:
    members = {f"traces/cluster{number:02}.csv": a_trace(number) for number in range(1, 12)}
    file = pack(tmp_path, members | {"traces/LICENSE": b"MIT", "traces/._cluster01.csv": b"\0"})

    added = library.add(file)

    assert {entry.name: entry.jobs for entry in added} == {f"cluster{n:02}": n for n in range(1, 12)}
    assert len(read_trace(library.find("cluster07"))) == 7


def test_a_name_stands_before_those_of_an_archives_files(library: Library, tmp_path: Path) -> None:
    added = library.add(a_zip(tmp_path, {"a.csv": a_trace(), "b.csv": a_trace()}), "itp")

    assert [entry.name for entry in added] == ["itp-a", "itp-b"]


@ARCHIVES
def test_paths_in_an_archive_lead_nowhere(library: Library, tmp_path: Path, pack: Pack) -> None:
    outside = tmp_path / "outside.csv"
    file = pack(tmp_path, {"../../outside.csv": a_trace(), str(tmp_path / "absolute.csv"): a_trace()})

    library.add(file)

    assert not outside.exists()
    assert not (tmp_path / "absolute.csv").exists()
    assert library.find("outside").is_relative_to(tmp_path / "hügel")


def test_links_in_an_archive_are_not_followed(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "links.tar"
    with tarfile.open(file, "w") as tar:
        link = tarfile.TarInfo("passwd.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)

    with pytest.raises(InputInvalid, match="holds no CSV file"):
        library.add(file)


@ARCHIVES
def test_one_bad_file_keeps_the_whole_archive_out(library: Library, tmp_path: Path, pack: Pack) -> None:
    file = pack(tmp_path, {"good.csv": a_trace(), "in/bad.csv": a_trace() + b"\nx,1"})

    with pytest.raises(InputInvalid, match=r"traces\.\S+:in/bad\.csv, line 4, column 'iteration'"):
        library.add(file)

    assert [entry.name for entry in library.entries()] == ["demo-10", "lab-200"]
    assert not (tmp_path / "hügel").exists()


def test_files_of_the_same_name_in_one_archive_are_refused(library: Library, tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="same name"):
        library.add(a_zip(tmp_path, {"a/x.csv": a_trace(), "b/x.csv": a_trace()}))


def test_a_bomb_is_not_unpacked(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 10)

    with pytest.raises(InputInvalid, match=r"unpacks to .* bytes"):
        library.add(a_tar(tmp_path, {"large.csv": a_trace()}))


@ARCHIVES
def test_a_damaged_archive_is_refused(library: Library, tmp_path: Path, pack: Pack) -> None:
    file = pack(tmp_path, {"a.csv": bytes(range(256)) * 500})
    content = bytearray(file.read_bytes())
    half = len(content) // 2
    content[half - 20 : half] = b"x" * 20
    file.write_bytes(content)

    with pytest.raises(InputInvalid, match=r"cannot be read .*downloading it again"):
        library.add(file)


def test_a_raw_log_is_refused_with_the_command_that_converts_it(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "raw.csv"
    file.write_text("job_id,submission_time,duration,num_gpu\na,1,600,1\n")

    with pytest.raises(InputInvalid, match=r"raw\.csv.*tenuto trace convert"):
        library.add(file)


def test_adding_again_changes_nothing_and_another_trace_needs_force(library: Library, trace: Path) -> None:
    library.add(trace)
    library.add(trace)
    trace.write_bytes(a_trace(5))
    with pytest.raises(InputInvalid, match=r"already has another trace named 'tag'.*--force"):
        library.add(trace)
    assert len(read_trace(library.find("tag"))) == 2

    library.add(trace, replace=True)

    assert len(read_trace(library.find("tag"))) == 5


def test_a_replaced_trace_leaves_nothing_behind(library: Library, trace: Path, tmp_path: Path) -> None:
    library.add(trace)
    trace.write_bytes(a_trace(5))
    library.add(trace, replace=True)

    assert len(list((tmp_path / "hügel").rglob("*.csv"))) == 1


def test_a_bundled_name_cannot_be_taken(library: Library, trace: Path) -> None:
    with pytest.raises(InputInvalid, match="bundled"):
        library.add(trace, "lab-200", replace=True)


@pytest.mark.parametrize("name", ["", "../up", ".hidden", "a/b", "a b", "x" * 101, "-f", "a\nb"])
def test_a_name_that_is_none_is_refused(library: Library, trace: Path, name: str) -> None:
    with pytest.raises(InputInvalid, match="cannot be the name"):
        library.add(trace, name)


def test_a_trace_changed_behind_our_back_is_noticed(library: Library, trace: Path) -> None:
    library.add(trace)
    library.find("tag").write_bytes(a_trace(3))

    with pytest.raises(InputInvalid, match=r"tag\.csv: trace 'tag' is damaged.*trace add tag FILE --force"):
        library.find("tag")


def test_a_lost_file_is_noticed(library: Library, trace: Path) -> None:
    library.add(trace)
    library.find("tag").unlink()

    with pytest.raises(InputInvalid, match="damaged"):
        library.find("tag")


def test_an_unknown_name_is_answered_with_the_closest(library: Library, trace: Path) -> None:
    library.add(trace, "philly")

    with pytest.raises(InputInvalid, match=r"'phily' is neither.*Did you mean philly\?.*lab-200, philly"):
        library.find("phily")


def test_a_missing_file_is_named(library: Library, tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match=r"none\.csv: there is no such file"):
        library.add(tmp_path / "none.csv")


@pytest.mark.parametrize("content", ["{", "[]", '{"traces": [{"name": "x"}]}'])
def test_a_broken_index_is_named(library: Library, trace: Path, tmp_path: Path, content: str) -> None:
    library.add(trace)
    (tmp_path / "hügel" / "traces" / "index.json").write_text(content)

    with pytest.raises(InputInvalid, match=r"index\.json: the library's index cannot be read"):
        library.find("tag")


def test_the_index_records_checksums_and_can_be_moved(library: Library, trace: Path, tmp_path: Path) -> None:
    library.add(trace)
    (tmp_path / "hügel").rename(tmp_path / "elsewhere")

    (row,) = json.loads((tmp_path / "elsewhere" / "traces" / "index.json").read_text(encoding="utf-8"))[
        "traces"
    ]

    assert row["sha256"] == hashlib.sha256(trace.read_bytes()).hexdigest()
    assert Library(tmp_path / "elsewhere").find("tag").read_bytes() == trace.read_bytes()


def _add(directory: Path, name: str) -> None:
    Library(directory / "library").add(directory / "tag.csv", name)


def test_commands_that_add_at_once_forget_nothing(trace: Path, tmp_path: Path) -> None:
    names = [f"trace-{number}" for number in range(12)]

    with ProcessPoolExecutor(4) as pool:
        list(pool.map(_add, [tmp_path] * len(names), names))

    assert {entry.name for entry in Library(tmp_path / "library").entries()} == {*names, "demo-10", "lab-200"}


def test_the_library_stands_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home({"TENUTO_HOME": "/srv/tenuto", "XDG_DATA_HOME": "/data"}) == Path("/srv/tenuto")
    assert home({"XDG_DATA_HOME": "/data"}) == Path("/data/tenuto")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home({}) == tmp_path / ".local" / "share" / "tenuto"


def test_a_command_looks_into_the_users_library(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENUTO_HOME", str(tmp_path / "mine"))
    Library(tmp_path / "mine").add(trace)

    assert find_trace("tag").is_relative_to(tmp_path / "mine")


def test_a_library_that_cannot_be_written_is_named(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(InputInvalid, match="Set TENUTO_HOME"):
        Library(tmp_path / "file").add(trace)
