"""Watch a job: what happens to it as it happens, and all that its workers print."""

from __future__ import annotations

import sys

import tenuto

GREETING = "for word in ('안녕', 'hello', 'привет'): print(word, flush=True)"
ENDS = ("succeeded", "failed", "cancelled", "lost")


def main() -> None:
    """An interrupted connection, or a server that is started anew, costs neither an event nor a line."""
    with tenuto.Client(patience=60) as client:
        job = client.submit(name="watched", run=[sys.executable, "-c", GREETING])
        for event in client.events(job=job, after=0, follow=True):
            print(f"-- {event.kind}: {event.before or '-'} -> {event.after or '-'} {event.reason}")
            if event.kind == "phase" and event.after in (*ENDS, "running"):
                break
        for piece in client.logs(job, follow=True):  # ends with the job, when the last line has come
            print(piece.text, end="")
        print(f"-- it has {client.job(job).state}")


if __name__ == "__main__":
    main()
