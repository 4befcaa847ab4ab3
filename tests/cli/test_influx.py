"""The InfluxDB as settings name it: what is refused, what the doctor finds, and how jobs are called in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.monitor.influx.database import Reply, database
from tests.store.records import a_job

from tenuto.cli.doctor_influx import find_influx
from tenuto.cli.influx import JobNames, influx_of
from tenuto.cli.settings_layers import settings_from
from tenuto.client.plain import PlainClient
from tenuto.doctor.finding import Finding, Status
from tenuto.errors import InputInvalid, Unreachable
from tenuto.settings import Influx, Settings, named, without_secrets
from tenuto.store.base import StoreUnavailable
from tenuto.store.memory import MemoryStore


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"url": "influx:8086"}, "influx.url"),
        ({"url": "ftp://influx"}, "influx.url"),
        ({"url": "http://"}, "influx.url"),
        ({"url": "http://[influx"}, "influx.url"),
        ({"url": "http://influx:99999"}, "influx.url"),
        ({"url": "http://influx", "database": ""}, "influx.database"),
        ({"buffer": 1000}, "influx.buffer"),
        ({"user": "писец"}, "influx.user"),
    ],
)
def test_settings_with_which_no_database_can_be_reached_are_refused(
    given: dict[str, Any], field: str
) -> None:
    with pytest.raises(InputInvalid) as refused:
        settings_from({"influx": given})

    assert refused.value.field == field
    assert refused.value.remedy


def test_a_password_in_the_url_is_shown_nowhere() -> None:
    with pytest.raises(InputInvalid) as refused:
        settings_from({"influx": {"url": "ftp://user:geheim@influx"}})
    assert "geheim" not in str(refused.value)

    settings = settings_from({"influx": {"url": "http://user:geheim@influx:8086"}})
    assert without_secrets(named(settings)["influx.url"]) == "http://influx:8086"


class Asked:
    """As much of a server as the doctor asks for its settings."""

    def __init__(self, influx: Influx) -> None:
        self._settings = Settings(influx=influx)

    def settings(self) -> Any:
        return {
            "items": [
                {"name": name, "value": value, "origin": "file"}
                for name, value in named(self._settings).items()
            ]
        }


def found_of(influx: Influx) -> list[Finding]:
    return list(find_influx(cast(PlainClient, Asked(influx))))


def test_the_doctor_posts_nothing_to_a_database_and_tells_what_it_says_to_that() -> None:
    with database() as made:
        (finding,) = found_of(made.settings)
        assert finding.status is Status.OK
        assert finding.told == f"the database 'данные' at {made.url} takes numbers"
        assert [posted.lines for posted in made.requests] == [()]


@pytest.mark.parametrize(
    ("status", "remedy"), [(404, "CREATE DATABASE"), (401, "influx.user"), (503, "Start it")]
)
def test_the_doctor_warns_of_a_database_that_takes_nothing_and_says_what_to_do(
    status: int, remedy: str
) -> None:
    with database() as made:
        made.mood = lambda _: Reply(status)
        (finding,) = found_of(made.settings)

    assert finding.status is Status.WARNING
    assert f"takes nothing: {status}" in finding.told
    assert remedy in finding.remedy


def test_the_doctor_warns_of_a_secret_that_is_not_there(tmp_path: Path) -> None:
    (finding,) = found_of(Influx(url="http://127.0.0.1:1", bucket="b", secret_file=str(tmp_path / "нет")))

    assert "нет cannot be read" in finding.told
    assert "influx.secret_file" in finding.remedy


def test_where_no_database_is_named_or_no_server_answers_the_doctor_says_nothing() -> None:
    class Away(Asked):
        def settings(self) -> Any:
            raise Unreachable("away")

    assert found_of(Influx()) == []
    assert list(find_influx(cast(PlainClient, Away(Influx(url="http://influx"))))) == []


def test_without_a_url_nothing_is_pushed() -> None:
    assert influx_of(Influx(), MemoryStore()) is None
    assert influx_of(Influx(url="http://influx"), MemoryStore()) is not None


def test_a_job_is_called_by_its_name_and_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    job = a_job("学习")
    store.write(lambda tx: tx.add_job(job))
    names = JobNames(store)

    assert names("unknown") == ""
    assert names(job.id) == "学习"

    def away(_: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(store, "read", away)
    assert (names(job.id), names("another")) == ("学习", "")
