"""Real databases get every number of a platform that trains, once each, although they were away in the middle.

One platform: first it brings its numbers to InfluxDB 1.x, then, after a restart with other settings, to VictoriaMetrics
in the way of InfluxDB 2.x. Both are ended and started again meanwhile.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple, TypeAlias

import pytest
from tests.e2e.gpus import GpuPlatform
from tests.e2e.platform import eventually
from tests.influxdb import PASSWORD, USER, InfluxDb, VictoriaMetrics, influxdb, victoria_metrics
from tests.nvml.gpus import some_gpus

from tenuto.client.plain import PlainClient
from tenuto.settings import Influx

DASHBOARDS = Path(__file__).parents[2] / "deploy" / "grafana" / "dashboards" / "influxdb"
DATABASE = "мой tenuto"
NODES = ("node-0", "node-1")
LOSS = "損失, x=1"
TRAINING = """
    import pathlib, time, torch, tenuto
    from torch.utils.data import TensorDataset

    run = tenuto.init()
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model, optimizer, batches = run.elastic(model, optimizer, data, global_batch=16)
    for x, y in batches:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.report(**{"LOSS": loss})
        time.sleep(0.01)
    run.finish(model)
"""
pytestmark = [
    pytest.mark.skipif(not one.is_there(), reason=f"{one.program} is not installed")
    for one in (InfluxDb, VictoriaMetrics)
]


class Site(GpuPlatform):
    """A platform on a machine with two GPUs that brings its numbers to a database."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "--nodes", "2", "--slots", "2")
        self.gpus.show(*some_gpus(2))
        self.influx = Influx()

    @property
    def environment(self) -> dict[str, str]:
        names = ("url", "database", "user", "bucket", "org", "secret_file")
        given = {f"TENUTO_INFLUX_{name.upper()}": str(getattr(self.influx, name)) for name in names}
        pace = {"TENUTO_MONITOR_PERIOD": "0.2", "TENUTO_MONITOR_UPLOAD": "0.2"}
        return {**super().environment, **pace, **given}

    def said(self, words: str) -> int:
        """How often the server's log has these words."""
        return self.log.read_text(encoding="utf-8").count(words)

    def stored(
        self, kind: str, name: str, part: str, since: float, until: float
    ) -> dict[str, dict[int, float]]:
        """Every number that the history has of something, by its name and its moment in milliseconds."""
        with self.client(patience=10.0) as client:
            told = client.numbers(
                kind,
                name=name,
                part=part,
                since=f"{since:.4f}",
                until=f"{until:.4f}",
                step="raw",
                points=10_000,
            )
        (item,) = [one for one in told["items"] if one["part"] == part]
        assert item["next"] is None
        return {
            value: {
                round(at * 1000): number
                for at, number in zip(item["at"], column, strict=True)
                if number is not None
            }
            for value, column in item["values"].items()
        }


@pytest.fixture(scope="module")
def influx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InfluxDb]:
    with influxdb(tmp_path_factory.mktemp("influxdb")) as made:
        yield made


@pytest.fixture(scope="module")
def victoria(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VictoriaMetrics]:
    with victoria_metrics(tmp_path_factory.mktemp("victoria")) as made:
        yield made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, influx: InfluxDb) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    secret = directory / "пароль"
    secret.write_text(f"{PASSWORD}\n", encoding="utf-8")
    made = Site(directory)
    made.influx = Influx(url=influx.url, database=DATABASE, user=USER, secret_file=str(secret))
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


@pytest.fixture(scope="module")
def job(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A training of one worker that goes on until it is cancelled."""
    directory = tmp_path_factory.mktemp("job")
    script = directory / "обучение.py"
    script.write_text(dedent(TRAINING).replace("LOSS", LOSS), encoding="utf-8")
    spec = {
        "name": "학습 1",
        "run": [sys.executable, str(script)],
        "strategy": "allreduce",
        "workers": "1..2",
        "env": {
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "TORCHINDUCTOR_CACHE_DIR": str(directory / "torch"),
        },
        "total": {"steps": 1_000_000},
    }
    with site.client(patience=10.0) as client:
        return str(client.submit(spec)["id"])


@pytest.fixture(scope="module")
def fed(site: Site, job: str, influx: InfluxDb) -> InfluxDb:
    """InfluxDB, once it has something of everything: of a rescale, too."""
    influx.ask(f'CREATE DATABASE "{DATABASE}"')
    with site.client(patience=10.0) as client:
        eventually(lambda: client.numbers("job", name=job, part="values")["items"], "the job reports")
        if client.job(job)["generation"] == 1:
            client.scale(job, {"workers": 1, "force": True})
    eventually(lambda: influx.ask("SELECT * FROM tenuto_job_rescale LIMIT 1", DATABASE), "it was rescaled")
    return influx


def every_number(site: Site, job: str, since: float, until: float) -> dict[Series, dict[int, float]]:
    """What the history has, by the series in which a database shall have it, in the database's units."""
    found: dict[Series, dict[int, float]] = {}
    for node in NODES:
        gpu = site.stored("node", node, "gpu:1", since, until)
        of_gpu = {"host": node, "gpu": "gpu1"}
        found[series("cpu", "value", host=node, cpu="cpu-total")] = site.stored(
            "node", node, "", since, until
        )["cpu"]
        found[series("gpu", "load", **of_gpu)] = scaled(gpu["utilisation"], 1 / 100)
        found[series("gpu", "mem_used", **of_gpu)] = scaled(gpu["memory_used"], 1 / (1 << 20))
        found[series("gpu", "power", **of_gpu)] = gpu["power"]
    whole = site.stored("job", job, "", since, until)
    loss = site.stored("job", job, "values", since, until)[LOSS]
    found |= {series("tenuto_job", field, job=job): whole[field] for field in ("step", "workers")}
    found[series("tenuto_job_scalar", "value", job=job, scalar=LOSS)] = loss
    found[series("tenuto_cluster", "slots_used")] = site.stored("cluster", "", "", since, until)["slots_used"]
    return found


class Series(NamedTuple):
    """What a database keeps numbers under."""

    measurement: str
    field: str
    tags: tuple[tuple[str, str], ...]


def series(measurement: str, field: str, **tags: str) -> Series:
    return Series(measurement, field, tuple(tags.items()))


def scaled(column: Mapping[int, float], factor: float) -> dict[int, float]:
    return {at: number * factor for at, number in column.items()}


def in_influx(
    influx: InfluxDb, wanted: Series, since: float, until: float, database: str = DATABASE
) -> list[tuple[int, float]]:
    where = "".join(f" AND \"{key}\" = '{value}'" for key, value in wanted.tags)
    query = (
        f'SELECT "{wanted.field}" FROM "{wanted.measurement}" '
        f"WHERE time > {int(since * 1000)}ms AND time <= {int(until * 1000)}ms{where}"
    )
    return [(at, number) for one in influx.ask(query, database) for at, number in one["values"]]


def in_victoria(
    victoria: VictoriaMetrics, wanted: Series, since: float, until: float
) -> list[tuple[int, float]]:
    tags = {"__name__": f"{wanted.measurement}_{wanted.field}", **dict(wanted.tags)}
    selector = f"{{{','.join(f'{key}={json.dumps(tag)}' for key, tag in tags.items())}}}"
    first, last = int(since * 1000) + 1, int(until * 1000)
    return [point for point in victoria.points(selector, since, until) if first <= point[0] <= last]


Look: TypeAlias = Callable[[Series, float, float], list[tuple[int, float]]]


def agrees(site: Site, job: str, look: Look, since: float, until: float) -> None:
    """Wait until a database has each number of the history once, and no other."""
    differences: list[str] = []

    def agree() -> bool:
        differences[:] = [
            f"{wanted}: {expected} but {found}"
            for wanted, expected in every_number(site, job, since, until).items()
            if not same(expected, found := look(wanted, since, until))
        ]
        return not differences

    try:
        eventually(agree, "the database has what the history has", within=60)
    except AssertionError as error:
        raise AssertionError(f"{error}: {differences}") from None


def same(expected: Mapping[int, float], found: Sequence[tuple[int, float]]) -> bool:
    """Whether each moment is there once, and there is one, and none has another number."""
    return (
        bool(expected)
        and [at for at, _ in found] == sorted(expected)
        and dict(found) == pytest.approx(expected, rel=1e-9)
    )


def between_two() -> float:
    """Now, in the middle of a millisecond: what is told is on one side of it, however it is rounded."""
    return int(time.time() * 1000) / 1000 + 0.0005


def told(client: PlainClient, kind: str, name: str, part: str, since: float) -> bool:
    """Whether the history has anything of something since then."""
    items = client.numbers(kind, name=name, part=part, since=f"{since:.4f}", step="raw")["items"]
    return any(one["at"] for one in items)


def has_told_of_now(site: Site, job: str) -> float:
    """Wait until everybody has told something; returns the moment up to which all is known."""
    now = between_two()
    with site.client(patience=10.0) as client:
        for kind, name, part in (("job", job, "values"), *(("node", node, "") for node in NODES)):
            eventually(partial(told, client, kind, name, part, now), f"{name} has told of now")
    return now


def test_influxdb_has_every_number_once_although_it_had_no_database_and_then_was_killed(
    site: Site, job: str, influx: InfluxDb
) -> None:
    since = between_two()
    eventually(lambda: site.said("CREATE DATABASE"), "the log says what is missing")
    influx.ask(f'CREATE DATABASE "{DATABASE}"')
    with site.client(patience=10.0) as client:
        eventually(
            lambda: client.numbers("job", name=job, part="values")["items"], "the job reports its loss"
        )
    eventually(lambda: influx.ask("SELECT * FROM tenuto_job_scalar LIMIT 1", DATABASE), "InfluxDB has it")

    influx.end()
    eventually(lambda: site.said("takes nothing") >= 2, "the server says that it is away")
    with site.client(patience=10.0) as client:
        client.scale(job, {"workers": 1, "force": True})
        eventually(lambda: client.job(job)["generation"] == 2, "the job is rescaled meanwhile")
        eventually(
            partial(told, client, "cluster", "", "", since),
            "the cluster was counted, as it is every ten seconds",
        )
    until = has_told_of_now(site, job)
    influx.start()

    agrees(site, job, partial(in_influx, influx), since, until)
    assert site.said("takes numbers again") >= 2
    assert site.said(PASSWORD) == 0
    assert "takes numbers" in site.cli("doctor")


def test_what_a_database_lacks_is_handed_in_from_the_history(
    site: Site, job: str, fed: InfluxDb, tmp_path: Path
) -> None:
    """The lines of an export are taken, and say the same as those that were sent."""
    influx = fed
    until = has_told_of_now(site, job)
    since, hole = until - 5, tmp_path / "дыра.txt"
    site.cli("metrics", "export", "--node", NODES[0], "--format", "influx", "--out", str(hole))
    influx.ask('CREATE DATABASE "другая"')
    influx.write(hole.read_bytes(), "другая")

    def is_in_both(wanted: Series) -> bool:
        handed_in = in_influx(influx, wanted, since, until, "другая")
        return len(handed_in) > 1 and handed_in == in_influx(influx, wanted, since, until)

    for wanted in (
        series("cpu", "value", host=NODES[0], cpu="cpu0"),
        series("ram", "available", host=NODES[0]),
        series("gpu", "mem_available", host=NODES[0], gpu="gpu0"),
        series("tenuto_node", "load", host=NODES[0]),
    ):
        eventually(partial(is_in_both, wanted), f"{wanted} is the same in both", within=60)


@pytest.mark.parametrize("page", ["cluster", "node", "job"])
def test_every_query_of_every_dashboard_finds_something(
    site: Site, job: str, fed: InfluxDb, page: str
) -> None:
    influx = fed
    dashboard = json.loads((DASHBOARDS / f"{page}.json").read_text(encoding="utf-8"))
    assert site.job(job)["state"]
    words = {"$timeFilter": "time > now() - 10m", "$__interval": "1s"}
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            (found,) = influx.ask(substituted(variable["query"], words), DATABASE)
            words[f"${variable['name']}"] = f"({'|'.join(re.escape(value) for _, value in found['values'])})"

    targets = [target for panel in dashboard["panels"] for target in panel.get("targets", ())]
    assert len(targets) > 10
    for target in targets:
        query = substituted(target["query"], words)
        eventually(partial(finds_something, influx, query), f"this finds something: {query}", within=60)


def finds_something(influx: InfluxDb, query: str) -> bool:
    """Whether a query has a value beside its moments."""
    columns = [column for one in influx.ask(query, DATABASE) for column in zip(*one["values"], strict=True)]
    return any(value is not None for column in columns[1:] for value in column)


def substituted(query: str, words: Mapping[str, str]) -> str:
    """With what Grafana would write for its variables; what is left of them is a mistake."""
    for word, value in words.items():
        query = query.replace(word, value)
    assert "$" not in query.replace("$/", ""), query
    return query


def test_victoriametrics_has_every_number_once_in_the_way_of_influxdb_2(
    site: Site, job: str, victoria: VictoriaMetrics
) -> None:
    site.stop()
    since = between_two()  # nodes and workers tell of the time without a server when there is one
    site.influx = Influx(
        url=victoria.url, database="", bucket="ведро", org="원", secret_file=site.influx.secret_file
    )
    site.up()
    has_told_of_now(site, job)

    victoria.end(signal.SIGTERM)  # what it was told in the last second it would lose otherwise
    eventually(lambda: site.said("the bucket 'ведро'"), "the server says that it is away")
    until = has_told_of_now(site, job)
    victoria.start()

    agrees(site, job, partial(in_victoria, victoria), since, until)
