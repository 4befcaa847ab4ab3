"""Adds points until it is killed, and says up to where it was told that they are durable. `python -m … FILE`"""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path

from tests.contracts.series_contract import GPU, NOON, seconds

from tenuto.model.series import NODE, Subject
from tenuto.store.series import pending
from tenuto.store.series.open import open_series
from tenuto.store.series.sql import Manner

if __name__ == "__main__":
    pending.SETTLE = 0.0
    series = open_series("", Path(sys.argv[1]), Manner(every=0.001))
    told = 0.0
    for second in itertools.count(0, 20):
        parts = ("", "gpu:0", "gpu:1")
        series.add([seconds(20, NOON + second, Subject(NODE, GPU.name, part)) for part in parts])
        while max(kept := series.kept(NODE, GPU.name), NOON) < NOON + second - 600:
            time.sleep(0.001)
        if kept > told:
            told = kept
            os.write(1, f"{kept!r}\n".encode())
