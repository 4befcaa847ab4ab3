"""One request to the database: whatever happens to it, there is a verdict."""

from __future__ import annotations

import httpx

import tenuto
from tenuto.monitor.influx.address import Address, SecretUnusable
from tenuto.monitor.influx.answers import Answer, Verdict, judge
from tenuto.monitor.influx.buffer import Batch

_TIMEOUT = httpx.Timeout(10.0, connect=5.0)


class Post:
    """Keeps a connection open. For one thread."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client: httpx.Client | None = None

    def __call__(self, batch: Batch) -> Verdict:
        """Post lines; raises nothing that a network or a file can cause."""
        try:
            return self._posted(batch)
        except SecretUnusable as error:
            return Verdict(Answer.CLOSED, str(error))
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return Verdict(Answer.LATER, str(error) or type(error).__name__)

    def _posted(self, batch: Batch) -> Verdict:
        if self._client is None:
            self._client = httpx.Client(
                timeout=_TIMEOUT, headers={"User-Agent": f"tenuto/{tenuto.__version__}"}
            )
        headers = {"Content-Encoding": "gzip", "Content-Type": "text/plain; charset=utf-8"}
        answer = self._client.post(
            self._address.write, content=batch.body, headers=headers | self._address.headers()
        )
        return judge(answer.status_code, answer.headers, answer.text)

    def close(self) -> None:
        """Let the connection go."""
        if self._client is not None:
            self._client.close()
