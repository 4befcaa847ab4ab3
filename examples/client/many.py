"""Hand in many jobs at once and take their ends as they come, without a thread for each."""

from __future__ import annotations

import argparse
import asyncio

import tenuto


async def main() -> None:
    """All of them wait in one event loop."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=20)
    count = options.parse_args().jobs
    async with tenuto.AsyncClient() as client:
        jobs = await asyncio.gather(
            *(client.submit(name=f"one-of-many-{n}", run="echo $TENUTO_JOB_NAME") for n in range(count))
        )
        ends = [client.end(job) for job in jobs]
        for done, end in enumerate(asyncio.as_completed(ends), start=1):
            job = await end
            print(f"{done} of {count}: {job.name} has {job.state}")


if __name__ == "__main__":
    asyncio.run(main())
