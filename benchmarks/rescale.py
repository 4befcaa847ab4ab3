"""How long training pauses when the number of its workers changes: tenuto and others, side by side on this machine.

python benchmarks/rescale.py [--only torchrun,torchft] [--repeat N] [--out FILE.csv]

One model of 25 million parameters with Adam, CPU workers of one thread each, gloo on loopback. The pause is the time
from the last step before to the first step after, minus a normal step.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import tempfile
from pathlib import Path

from rescaling.contender import Contender, NotReached, lose_one, resize
from rescaling.on_tenuto import Tenuto
from rescaling.on_torchft import Torchft
from rescaling.on_torchrun import Torchrun

CASES = ("1→2", "2→4", "4→2", "SIGKILL 1 of 3")
CONTENDERS: tuple[type[Contender], ...] = (Tenuto, Torchrun, Torchft)


def run(contender: Contender, directory: Path) -> dict[str, float | None]:
    """The pause of every case in seconds; None where the system did not get there."""
    log = directory / "steps"
    log.mkdir()
    found: dict[str, float | None] = dict.fromkeys(CASES)
    try:
        contender.start(log)
        for case, before, after in (
            *((case, *map(int, case.split("→"))) for case in CASES[:3]),
            ("2→3", 2, 3),
        ):
            found[case] = resize(contender, log, before, after)
            say(f"  {contender.name} {case}: {found[case] * 1000:,.0f} ms")
        found[CASES[3]] = lose_one(contender, log, 3)
        say(f"  {contender.name} {CASES[3]}: {found[CASES[3]] * 1000:,.0f} ms")
    except NotReached as problem:
        said = (
            (directory / "output").read_text(errors="replace")[-2000:]
            if (directory / "output").exists()
            else ""
        )
        say(f"  {contender.name}: {problem}\n{said}")
    finally:
        contender.stop()
    return found


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def table(results: dict[str, dict[str, list[float]]], notes: dict[str, str]) -> str:
    """Medians in milliseconds, and how many times longer than tenuto."""
    lines = [f"{'pause of training':<14}" + "".join(f"{case:>24}" for case in CASES)]
    ours = results.get("tenuto", {})
    for name, found in results.items():
        cells = []
        for case in CASES:
            if not found[case]:
                cells.append(f"{'-':>24}")
                continue
            value = statistics.median(found[case])
            base = statistics.median(ours[case]) if ours.get(case) else None
            ratio = f" ({value / base:.1f}x)" if base and name != "tenuto" else ""
            cells.append(f"{f'{value * 1000:,.0f} ms{ratio}':>24}")
        lines.append(f"{name:<14}" + "".join(cells))
    lines += [f"{name:<14}{note:>24}" for name, note in notes.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="names with commas between")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a CSV file for every single pause")
    given = parser.parse_args()
    wanted = [kind() for kind in CONTENDERS if not given.only or kind.name in given.only.split(",")]
    notes = {one.name: why for one in wanted if (why := one.missing())}
    results: dict[str, dict[str, list[float]]] = {
        one.name: {case: [] for case in CASES} for one in wanted if one.name not in notes
    }
    with tempfile.TemporaryDirectory(prefix="rescale-") as place:
        for turn in range(given.repeat):
            for one in wanted:
                if one.name in results:
                    say(f"{one.name}, run {turn + 1} of {given.repeat}")
                    directory = Path(place) / f"{one.name}-{turn}"
                    directory.mkdir()
                    for case, pause in run(one, directory).items():
                        if pause is not None and case in CASES:
                            results[one.name][case].append(pause)
    print(table(results, notes))
    if given.out is not None:
        write(given.out, results)


def write(path: Path, results: dict[str, dict[str, list[float]]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["system", "case", "pause_ms"])
        rows.writerows(
            [name, case, f"{pause * 1000:.1f}"]
            for name, found in results.items()
            for case, pauses in found.items()
            for pause in pauses
        )


if __name__ == "__main__":
    main()
