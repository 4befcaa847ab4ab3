"""nginx for tests, with the documented configuration: in a directory of its own, on loopback, gone at the end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DOCUMENTED = Path(__file__).parents[1] / "docs" / "deploy" / "nginx.conf"
ADDRESS = "127.0.0.2"
"""Loopback, but no address that clients take for their own machine: certificates from the environment count."""
NOBODY = 65534
MAIN = """daemon off;
pid {place}/pid;
worker_processes 1;
error_log {place}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    include {place}/tenuto.conf;
}}
"""


def program() -> str | None:
    """Where nginx is: on PATH, or where Debian puts it."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


class Nginx:
    """One nginx before one server; root runs it as nobody."""

    def __init__(self, directory: Path, upstream: str) -> None:
        self.directory = directory
        with socket.create_server((ADDRESS, 0)) as free:
            self.port = free.getsockname()[1]
        self.certificate = directory / "crt.pem"
        self._certify()
        (directory / "tenuto.conf").write_text(
            self._changed(DOCUMENTED.read_text(encoding="utf-8"), upstream)
        )
        (directory / "nginx.conf").write_text(MAIN.format(place=directory))

    @property
    def url(self) -> str:
        return f"https://{ADDRESS}:{self.port}"

    def _changed(self, documented: str, upstream: str) -> str:
        """The documented file with our values at every line that is the reader's to change."""
        values = {
            "server 127.0.0.1:8080;": f"server {upstream};",
            "listen 443 ssl;": f"listen {ADDRESS}:{self.port} ssl;",
            "/etc/ssl/tenuto.crt;": f"{self.certificate};",
            "/etc/ssl/tenuto.key;": f"{self.directory}/key.pem;",
        }
        for old, new in values.items():
            assert documented.count(old) == 1, old
            documented = documented.replace(old, new)
        return documented

    def _certify(self) -> None:
        subprocess.run(
            [
                *(
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "rsa:2048",
                    "-nodes",
                    "-days",
                    "2",
                    "-subj",
                    "/CN=tenuto",
                ),
                *("-addext", f"subjectAltName=IP:{ADDRESS},DNS:tenuto.example.org"),
                *("-keyout", str(self.directory / "key.pem"), "-out", str(self.certificate)),
            ],
            check=True,
            capture_output=True,
        )
        if os.getuid() == 0:
            for path in self.directory.iterdir():
                os.chown(path, NOBODY, NOBODY)
        self.certificate.chmod(0o644)


@contextmanager
def nginx(upstream: str) -> Iterator[Nginx]:
    """nginx before whatever listens at `upstream`, as an ordinary user."""
    found = program()
    assert found is not None
    directory = Path(tempfile.mkdtemp(prefix="tenuto-nginx-"))
    directory.chmod(0o755)
    as_nobody: dict[str, Any] = {}
    if os.getuid() == 0:
        os.chown(directory, NOBODY, NOBODY)
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    made = Nginx(directory, upstream)
    process = subprocess.Popen(
        [
            found,
            "-p",
            str(directory),
            "-e",
            str(directory / "error.log"),
            "-c",
            str(directory / "nginx.conf"),
        ],
        cwd=directory,
        **as_nobody,
    )
    try:
        yield made
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(directory)
