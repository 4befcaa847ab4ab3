"""Hand in a job with a deadline and act on the answer: a yes is a promise, a no tells what could be had instead."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timedelta

import tenuto

STEPS = 20
TRAINING = [sys.executable, "-c", f"for step in range({STEPS}): print('step', step)"]


def main() -> None:
    """Ask for the deadline; if that cannot be promised, for the earliest that can."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=60.0)
    deadline = timedelta(minutes=options.parse_args().minutes)
    with tenuto.Client() as client:
        job = client.verdict(
            client.submit(
                name="by-then",
                run=TRAINING,
                workers="1..2",
                total={"steps": STEPS},
                curve={1: 0.5, 2: 0.9},
                deadline=deadline,
            )
        )
        if job.state == "declined":
            assert job.contract is not None
            print(f"No: {job.message}")
            earliest = job.contract.offers.earliest
            if earliest is None:
                sys.exit(1)
            later = datetime.fromisoformat(earliest) + timedelta(minutes=1)
            job = client.verdict(client.resubmit(job, deadline=later), must=True)  # raises Declined if not
        assert job.contract is not None
        print(f"Yes: {job.name} will be done by {job.contract.promised}")
        print(f"It has {client.end(job).state}")


if __name__ == "__main__":
    main()
