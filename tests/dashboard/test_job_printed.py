"""What workers print, as the page of a job shows it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.job.log_file import whole_log
from tenuto.dashboard.job.log_reader import AT_ONCE, LogReader
from tenuto.dashboard.job.printed import BLOCK, HELD, LONGEST, Printed, highlighted, shown
from tenuto.wire.printed import LogPart, LogsOut
from tenuto.wire.worker import WORKER, WorkerId

FIRST, SECOND = WorkerId("k4m2x9w7pq", 1, WORKER, 0), WorkerId("k4m2x9w7pq", 1, WORKER, 1)


class FakeAsk:
    """Logs as the API tells them, of text in memory."""

    def __init__(self) -> None:
        self.texts: dict[WorkerId, str] = {}
        self.first = 0
        """Bytes of every text that were removed."""

    async def log_parts(self, job: str, **query: Any) -> LogsOut:
        parts = []
        for worker, text in self.texts.items():
            if query.get("rank") not in (None, worker.rank):
                continue
            if query.get("tail") is None:
                offset, limit = query.get("offset") or 0, query.get("limit", 1 << 16)
                offset = max(offset, self.first)
                piece = text[offset : offset + limit]
            else:
                lines = text[self.first :].splitlines(keepends=True)
                piece = "".join(lines[len(lines) - min(query["tail"], len(lines)) :])[
                    -query.get("limit", 1 << 16) :
                ]
                offset = len(text) - len(piece)
            parts.append(
                LogPart(
                    worker=str(worker), role=worker.role, rank=worker.rank, generation=worker.generation, node="a",
                    first=self.first, offset=offset, next=offset + len(piece), text=piece, ended=False, exit_code=None,
                )
            )  # fmt: skip
        return LogsOut(job=job, generation=1, parts=parts)


def reader_of(ask: FakeAsk, only: WorkerId | None = None) -> LogReader:
    return LogReader(cast(AsyncClient, ask), FIRST.job, only)


def lines(printed: Printed, search: str = "") -> list[str]:
    return [line for html in printed.blocks(search).values() for line in html.split("\n") if line]


def test_a_log_whose_beginning_was_removed_says_so_at_the_beginning() -> None:
    ask = FakeAsk()
    ask.texts, ask.first = {FIRST: "removed\nkept\n"}, len("removed\n")
    reader = reader_of(ask)

    asyncio.run(reader.begin(1))

    first, second = lines(reader.printed)
    assert "no longer kept" in first
    assert second == "kept"


def test_a_progress_bar_is_one_line_that_is_rewritten() -> None:
    printed = Printed()
    printed.add("0", "begin\n\r[#...] 1/4")
    printed.add("0", "\r[##..] 2/4")
    assert (lines(printed), printed.unfinished()) == (["begin"], "[##..] 2/4")

    printed.add("0", "\r[####] 4/4\ndone\n")
    assert (lines(printed), printed.unfinished()) == (["begin", "[####] 4/4", "done"], "")


def test_only_the_last_lines_are_kept_and_old_blocks_never_change() -> None:
    printed = Printed(most=100)
    printed.add("0", "".join(f"line {number}\n" for number in range(BLOCK)))
    before = printed.blocks()[0]
    printed.add("0", "line more\n")
    assert printed.blocks()[0] == before
    assert list(printed.blocks(since=printed.newest)) == [1]

    printed.add("0", "".join(f"line {number}\n" for number in range(1000)))
    assert len(printed) == 100
    assert printed.oldest > 0
    assert lines(printed)[-1] == "line 999"


def test_a_search_leaves_the_lines_in_which_the_text_stands_and_marks_it() -> None:
    printed = Printed()
    printed.add("0", "loss 1\naccuracy 2\nLOSS <3>\n")
    assert lines(printed, "loss") == ["<mark>loss</mark> 1", "<mark>LOSS</mark> &lt;3&gt;"]


def test_nothing_that_is_printed_becomes_html_or_moves_a_cursor() -> None:
    assert highlighted(shown("\x1b[31m<script>\x1b[0m\x07"), "") == "&lt;script&gt;"
    assert shown("x" * 10 * LONGEST).endswith("more characters")


def test_lines_of_several_workers_are_named() -> None:
    async def story() -> None:
        ask = FakeAsk()
        ask.texts = {FIRST: "a\n"}
        reader = reader_of(ask)
        await reader.begin(1)
        assert lines(reader.printed) == ["a"]

        ask.texts = {FIRST: "a\nb\n", SECOND: "c\n"}
        await reader.read([FIRST, SECOND])
        assert [line.partition("</span> ")[2] for line in lines(reader.printed)] == ["a", "b", "c"]
        assert "1.1" in lines(reader.printed)[2]

    asyncio.run(story())


def test_one_worker_is_read_on_and_others_are_not() -> None:
    async def story() -> None:
        ask = FakeAsk()
        ask.texts = {FIRST: "a\n", SECOND: "b\n"}
        reader = reader_of(ask, SECOND)
        await reader.begin(1)
        ask.texts = {FIRST: "a\nx\n", SECOND: "b\nc\n"}
        await reader.read([FIRST, SECOND])
        assert lines(reader.printed) == ["b", "c"]

    asyncio.run(story())


def test_a_flood_is_shown_from_its_end_on_and_says_what_is_left_out() -> None:
    async def story() -> None:
        ask = FakeAsk()
        ask.texts = {FIRST: ""}
        reader = reader_of(ask)
        await reader.begin(1)
        ask.texts = {FIRST: "x" * 80 + "\n" + ("y" * 80 + "\n") * (3 * AT_ONCE // 81) + "the end\n"}
        await reader.read([FIRST])
        assert lines(reader.printed)[-1] == "the end"
        assert any("bytes are left out" in line for line in lines(reader.printed))

    asyncio.run(story())


def test_a_download_has_every_worker_whole() -> None:
    async def story() -> bytes:
        ask = FakeAsk()
        ask.texts = {FIRST: "z" * (3 << 20), SECOND: "그 밖에\n"}
        pieces = [piece async for piece in whole_log(cast(AsyncClient, ask), FIRST.job, [FIRST, SECOND])]
        assert max(map(len, pieces)) <= 1 << 20
        return b"".join(pieces)

    assert asyncio.run(story()).decode() == f"==> {FIRST} <==\n{'z' * (3 << 20)}\n==> {SECOND} <==\n그 밖에\n"


def test_a_line_without_an_end_is_not_hoarded() -> None:
    printed = Printed()
    for _ in range(100):
        printed.add("0", "<b>" * 10_000)
    held = sum(len(line) for _, line in printed._lines) + sum(
        len(one._rest) for one in printed._open.values()
    )
    assert held < 50 * LONGEST + HELD
    assert len(printed.unfinished()) < 10 * LONGEST
    assert "<b>" not in printed.unfinished() + "".join(lines(printed))
