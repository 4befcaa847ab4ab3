// How stretches of slots are drawn and told. The server says where they lie: [begin, end, row, slots, kind].
window.tenutoTimeline = (() => {
  const PAST = 0, FORESEEN = 1, RESERVED = 2;
  const LINES = ["deadline", "promised finish"];
  const moment = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const escaped = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

  function length(milliseconds) {
    const seconds = Math.round(milliseconds / 1000);
    const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
    if (days) return `${days}d ${hours}h`;
    return hours ? `${hours}h ${minutes}m` : minutes ? `${minutes}m ${seconds % 60}s` : `${seconds}s`;
  }

  // The more slots, the higher; what was is solid, what will be is pale with a dashed edge, what is promised an outline.
  const bar = (rows, most) => (params, api) => {
    const [row, slots, kind] = [api.value(2), api.value(3), api.value(4)];
    const from = api.coord([api.value(0), row]), to = api.coord([api.value(1), row]);
    const room = api.size([0, 1])[1] * 0.84;
    const height = kind === RESERVED ? room : Math.max(room * Math.min(slots / most, 1), 5);
    const area = params.coordSys;
    const left = Math.max(from[0], area.x), right = Math.min(to[0], area.x + area.width);
    if (right <= area.x || left >= area.x + area.width) return;
    const shape = { x: left, y: from[1] + room / 2 - height, width: Math.max(right - left, 1.5), height };
    const colour = rows[row]?.[3] ?? "#8b98a5";
    const style = kind === PAST ? { fill: colour } :
      kind === FORESEEN ? { fill: colour + "55", stroke: colour, lineWidth: 1, lineDash: [4, 3] } :
      { fill: "transparent", stroke: colour, lineWidth: 1, opacity: 0.75 };
    const children = [{ type: "rect", shape, style }];
    if (kind !== RESERVED && shape.width > 22 && height > 11) children.push({
      type: "text", silent: true,
      style: { text: String(slots), x: left + 5, y: shape.y + height / 2, verticalAlign: "middle", fontSize: 11,
        fill: kind === PAST ? "#fff" : "#8b98a5" },
    });
    return { type: "group", children };
  };

  const tip = (rows) => (params) => {
    if (!Array.isArray(params.value)) return "";
    const mark = params.seriesId === "marks";
    const [name, state, promise] = rows[params.value[mark ? 1 : 2]] ?? ["", "", ""];
    const head = `<b>${escaped(name)}</b> · ${escaped(state)}`;
    const foot = promise && promise !== "none" ? `<br>promise: ${escaped(promise)}` : "";
    if (mark) return `${head}<br>${LINES[params.value[2]]}: ${moment.format(params.value[0])}${foot}`;
    const [begin, end, , slots, kind] = params.value;
    const count = slots === 1 ? "1 slot" : `${slots} slots`;
    const what = kind === RESERVED ? `${count} promised` : kind === FORESEEN ? `${count} foreseen` : count;
    return `${head}<br>${what}: ${moment.format(begin)} – ${moment.format(end)} (${length(end - begin)})${foot}`;
  };

  const named = (names) => (id, index) => names[index] ?? id;
  return { bar, tip, named };
})();
