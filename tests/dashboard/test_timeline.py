"""The timeline: empty at first, then a job with its past and future; a click leads to it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.e2e.jobs import a_toy

from tenuto.client.plain import PlainClient

SHOWN = """() => {
  const chart = document.querySelector('.nicegui-echart');
  const option = getElement(chart.id.slice(1)).chart?.getOption();
  const bars = option?.series?.find((one) => one.id === 'stretches')?.data ?? [];
  return {kinds: bars.map((bar) => bar[4]), zoom: option?.dataZoom?.[0]?.start};
}"""
"""What the chart in the browser was told, and how far it is zoomed."""
IN_THE_FUTURE = """() => {
  const chart = getElement(document.querySelector('.nicegui-echart').id.slice(1)).chart;
  const bar = chart.getOption().series.find((one) => one.id === 'stretches').data.find((one) => one[4] === 1);
  const until = chart.getOption().xAxis[1].max;
  return chart.convertToPixel({xAxisIndex: 1, yAxisIndex: 1}, [(bar[0] + Math.min(bar[1], until)) / 2, bar[2]]);
}"""
"""Where a stretch is drawn that is foreseen."""


def test_a_job_appears_by_itself_with_its_past_and_its_future(
    visitor: Visitor, client: PlainClient, tmp_path: Path
) -> None:
    page = visitor.go("/timeline")
    expect(page.get_by_text("No job has had slots in this time")).to_be_visible()

    job = client.submit(a_toy("학습 żółw", tmp_path, steps=1_000_000, deadline="+6h"))["id"]

    expect(page.get_by_role("link", name="학습 żółw")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("cell", name="running")).to_be_visible(timeout=PATIENCE)
    page.wait_for_function(
        f"() => {{ const kinds = ({SHOWN})().kinds; return kinds.includes(0) && kinds.includes(1); }}",
        timeout=PATIENCE,
    )

    page.evaluate("""() => getElement(document.querySelector('.nicegui-echart').id.slice(1))
        .chart.dispatchAction({type: 'dataZoom', dataZoomIndex: 0, start: 40, end: 90})""")
    client.scale(job, {"workers": 1})
    expect(page.get_by_role("row", name="학습 żółw")).to_contain_text("1", timeout=PATIENCE)
    page.wait_for_function(
        f"() => ({SHOWN})().kinds.filter((kind) => kind === 0).length > 1", timeout=PATIENCE
    )
    assert page.evaluate(SHOWN)["zoom"] == 40, "what somebody has zoomed to survives what happens"

    page.get_by_role("button", name="12 h").click()
    expect(page).to_have_url(visitor.url("/timeline?range=12+h"))
    page.get_by_role("link", name="학습 żółw").click()
    expect(page).to_have_url(visitor.url(f"/jobs/{job}"))


def test_hovering_tells_of_a_stretch_and_a_click_on_a_name_leads_to_the_job(
    visitor: Visitor, client: PlainClient, tmp_path: Path
) -> None:
    job = client.submit(a_toy("clicked", tmp_path, steps=1_000_000))["id"]
    page = visitor.go("/timeline?range=30+min")
    expect(page.get_by_role("link", name="clicked")).to_be_visible(timeout=PATIENCE)
    chart = page.get_by_role("img", name="Slots of jobs over time")
    page.wait_for_function(f"() => ({SHOWN})().kinds.includes(1)", timeout=PATIENCE)
    x, y = page.evaluate(IN_THE_FUTURE)

    chart.hover(position={"x": x, "y": y})
    expect(page.get_by_text("4 slots foreseen")).to_be_visible()

    chart.click(position={"x": 112, "y": y})
    expect(page).to_have_url(visitor.url(f"/jobs/{job}"))
