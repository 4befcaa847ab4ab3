"""Brings words to other supervisors: one thread for each, the newest word about each job, until it has arrived."""

from __future__ import annotations

import http.client
import logging
import threading
from dataclasses import dataclass
from urllib.parse import quote

from tenuto.engines.supervisor.crews.keys import PeerKeys
from tenuto.engines.supervisor.crews.words import JOB_HEADER, PATH, Word
from tenuto.wire.codec import encode

log = logging.getLogger(__name__)
_PATIENCE = 3.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class _Letter:
    address: str
    word: Word


class Post:
    """All that is on its way. A word that a newer one has followed is not sent."""

    def __init__(self, keys: PeerKeys) -> None:
        self._keys = keys
        self._boxes: dict[str, _Box] = {}

    def send(self, node: str, address: str, word: Word) -> None:
        """Put it into the node's box."""
        if node not in self._boxes:
            self._boxes[node] = _Box(node, self._keys)
        self._boxes[node].put(_Letter(address, word))

    def close(self) -> None:
        """Send nothing more."""
        for box in self._boxes.values():
            box.close()


class _Box:
    """One node's."""

    def __init__(self, node: str, keys: PeerKeys) -> None:
        self._keys = keys
        self._changed = threading.Condition()
        self._letters: dict[str, _Letter] = {}
        self._ended = threading.Event()
        threading.Thread(target=self._run, daemon=True, name=f"post to {node}").start()

    def put(self, letter: _Letter) -> None:
        with self._changed:
            self._letters[letter.word.job] = letter
            self._changed.notify_all()

    def close(self) -> None:
        self._ended.set()
        with self._changed:
            self._changed.notify_all()

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._ended.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._letters or self._ended.is_set())
                letters = list(self._letters.values())
            for letter in letters:
                if self._deliver(letter):
                    pause = _FIRST_PAUSE
                else:
                    self._ended.wait(pause)
                    pause = min(_LONGEST_PAUSE, 2 * pause)

    def _deliver(self, letter: _Letter) -> bool:
        """Send it; True if it has arrived, and then it is done unless a newer one has come."""
        try:
            status = _post(letter, self._keys.secret(letter.word.job))
        except (OSError, ValueError, http.client.HTTPException):
            return False  # it is away; its controller or itself will say where it is
        if status != http.client.NO_CONTENT:
            log.warning("%s answered %d to a word about %s", letter.address, status, letter.word.job)
            return False
        with self._changed:
            if self._letters.get(letter.word.job) is letter:
                del self._letters[letter.word.job]
        return True


def _post(letter: _Letter, secret: str) -> int:
    host, _, port = letter.address.rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=_PATIENCE)
    try:
        headers = {
            "Authorization": f"Bearer {secret}",
            JOB_HEADER: quote(letter.word.job, safe=""),
            "Content-Type": "application/json",
        }
        connection.request("POST", PATH, body=encode(letter.word), headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()
