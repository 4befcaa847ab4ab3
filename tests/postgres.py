"""A PostgreSQL server for tests: in a directory of its own, on a socket of its own, gone at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

USER = "tenuto"
NOBODY = 65534


def program(name: str) -> str | None:
    """Where a program of the server is: on PATH, or where Debian puts it."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(debian[-1]) if debian else None)


class PostgresServer:
    """One server. It refuses to run as root, so root runs it as nobody."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="tenuto-pg-"))
        self._data = self.directory / "data"
        self._databases = 0
        if os.getuid() == 0:
            os.chown(self.directory, NOBODY, NOBODY)
        self._run(
            "initdb", "--username", USER, "--auth", "trust", "--no-sync", "--encoding", "UTF8", "--no-locale"
        )
        self.start()

    def start(self) -> None:
        # Without fsync a test server is faster; what survives a loss of power is not what these tests ask.
        options = f"-c listen_addresses='' -c unix_socket_directories={self.directory} -c fsync=off"
        self._run("pg_ctl", "--wait", "--options", options, "--log", str(self.directory / "log"), "start")

    def stop(self) -> None:
        self._run("pg_ctl", "--wait", "--mode", "fast", "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.directory)

    def url(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={self.directory}"

    def sql(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run a statement outside any transaction."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self) -> str:
        """The name of an empty database."""
        self._databases += 1
        name = f"t{self._databases}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def _run(self, name: str, *arguments: str) -> None:
        found = program(name)
        assert found is not None
        as_nobody: dict[str, Any] = {}
        if os.getuid() == 0:
            as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        # Output goes to a file: a pipe would be kept open by the server.
        with (self.directory / f"{name}.out").open("w+") as output:
            done = subprocess.run(
                [found, "--pgdata", str(self._data), *arguments],
                cwd=self.directory,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                **as_nobody,
            )
            output.seek(0)
            assert done.returncode == 0, output.read()
