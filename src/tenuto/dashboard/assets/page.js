// What browsers know and the server does not: the viewer's time zone, keys, the colours of choice.
(() => {
  const today = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const other = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  const faraway = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
  const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "always", style: "short" });

  function sinceNow(date) {
    const seconds = (date - Date.now()) / 1000;
    const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units.at(-1);
    return relative.format(Math.round(seconds / size), unit);
  }

  // <time datetime="…"> shows a clock time (without seconds if it has none), with class t-ago how far away it is; the
  // full date is its title.
  function show(time) {
    const written = time.getAttribute("datetime");
    const date = new Date(written);
    if (isNaN(date)) return;
    const far = Math.abs(date - Date.now()) > 43200000 || date.toDateString() !== new Date().toDateString();
    const near = /T\d\d:\d\dZ$/.test(written) ? minute : today;
    const form = date.getFullYear() !== new Date().getFullYear() ? faraway : far ? other : near;
    const text = time.classList.contains("t-ago") ? sinceNow(date) : form.format(date);
    const title = `${whole.format(date)} (${sinceNow(date)})`;
    if (time.textContent !== text) time.textContent = text;
    if (time.title !== title) time.title = title;
  }
  const showAll = (root) => root.querySelectorAll?.("time[datetime]").forEach(show);

  new MutationObserver((changes) => {
    for (const change of changes) {
      if (change.type === "attributes") show(change.target);
      for (const node of change.addedNodes) {
        if (node.matches?.("time[datetime]")) show(node);
        showAll(node);
      }
    }
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["datetime"] });
  setInterval(() => showAll(document), 15000);

  // Light, dark, or as the machine has it.
  const colours = localStorage.getItem("tenuto-colours");
  const settle = () => window.Quasar?.Dark?.set(colours === "dark" ? true : colours === "light" ? false : "auto");
  window.tenutoColours = () => {
    const next = !document.body.classList.contains("body--dark");
    localStorage.setItem("tenuto-colours", next ? "dark" : "light");
    window.Quasar.Dark.set(next);
  };
  if (colours) window.addEventListener("load", () => setTimeout(settle, 0));

  // Bytes on the axes and in the tooltips of charts.
  window.tenutoBytes = (count) => {
    const power = Math.min(Math.floor(Math.log10(Math.max(Math.abs(count ?? 0), 1)) / 3), 4);
    return count == null ? "\u2013" : `${+(count / 1000 ** power).toPrecision(3)} ${["B", "KB", "MB", "GB", "TB"][power]}`;
  };

  // A chart over time goes on: points of each line by its name; what they begin before gives way to them. All in milliseconds.
  window.tenutoGrow = (id, lines, since, until, missing, gaps) => {
    const chart = window.getElement(id)?.chart;
    if (!chart) return;
    const series = chart.getOption().series.map((line) => {
      const fresh = lines[line.name] ?? [];
      const first = fresh[0]?.[0] ?? Infinity;
      const kept = line.data.filter(([at]) => at >= since && at < first);
      const last = kept.at(-1)?.[0];
      const gap = fresh.length && last < first - missing ? [[last + 1, null]] : [];
      return { data: [...kept, ...gap, ...fresh], showSymbol: false };
    });
    if (series.length) series[0].markArea = { data: gaps };
    // As `beginning` in over_time.py: not before there is anything to be seen.
    const firsts = [...series.map((line) => line.data[0]?.[0]), ...gaps.map(([from]) => from.xAxis)].filter(Number.isFinite);
    const min = Math.max(since, Math.min(until - 60000, ...firsts));
    chart.setOption({ xAxis: { min, max: until }, series });
  };

  // A page in a tab behind others need not be drawn; the server brings it up to date when it is seen again.
  document.addEventListener("visibilitychange", () => window.emitEvent?.("visibility", !document.hidden));

  // Tab leaves an editor, as it leaves every other field; else nobody without a mouse could get out of it.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Tab" && event.target.closest?.(".cm-editor")) event.stopPropagation();
  }, true);

  // Keys: g and a letter go to a page, / to the search, ? tells all of them.
  let before = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, [contenteditable=true]")) return;
    const link = before === "g" && document.querySelector(`.t-nav a[data-key="${CSS.escape(event.key)}"]`);
    if (link) link.click();
    else if (event.key === "/") {
      const field = document.querySelector(".t-search input");
      if (field) { field.focus(); event.preventDefault(); }
    } else if (event.key === "?") document.getElementById("t-keys")?.showModal();
    before = link ? "" : event.key;
  });
})();
