// What stands around the timeline: headline, details, lines, memories, roofline.

function headline(run, at) {
  const summary = run.summary,
    card = (big, small, wide) =>
      element("div", { class: wide ? "card wide" : "card" }, element("b", {}, big), element("span", {}, small));
  const kernels = new Map();
  for (const { name, start, end } of summary.kernels) {
    const own = kernels.get(name) || { launches: 0, cycles: 0 };
    kernels.set(name, { launches: own.launches + 1, cycles: own.cycles + end - start });
  }
  const longest = [...kernels].sort((a, b) => b[1].cycles - a[1].cycles);
  for (const [name, { launches, cycles }] of longest.slice(0, 2)) {
    at.append(
      card(
        `${digits(cycles)} cycles`,
        `${time(cycles)}, kernel ${name}${launches > 1 ? `, ${digits(launches)} launches` : ""}`,
      ),
    );
  }
  // What bounds the operations of the critical paths.
  const bounds = new Map();
  let whole = 0;
  for (const number of run.path) {
    const k = run.byNumber.get(number);
    if (k === undefined) continue;
    const own = run.of(k),
      name = `${own.context}: ${own["bound by"]}`;
    bounds.set(name, (bounds.get(name) || 0) + run.cycles[k]);
    whole += run.cycles[k];
  }
  const sorted = [...bounds].sort((a, b) => b[1] - a[1]);
  if (sorted.length) {
    const rest = sorted
      .slice(1, 4)
      .map(([name, cycles]) => `${name} ${percent(cycles, whole)}`)
      .join(", ");
    at.append(
      card(`${percent(sorted[0][1], whole)} ${sorted[0][0]}`, `of the critical paths${rest ? `; then ${rest}` : ""}`),
    );
  }
  const cycles = summary.kernels.reduce((sum, own) => sum + own.end - own.start, 0);
  // Traces of older versions have no bound.
  const least = summary["at least"];
  if (least && cycles) {
    at.append(
      card(
        `${percent(least.cycles, cycles)} at least`,
        `no schedule of these commands takes less than ${digits(least.cycles)} cycles, by ${least.held_by}`,
      ),
    );
  }
  if (summary.multiplications && summary["of MACs"]) {
    at.append(
      card(
        summary["of MACs"],
        `of what all rows of all slices can multiply: ${digits(summary.multiplications)} multiplications`,
      ),
    );
  }
  if (cycles) {
    // Of all operations, whether they are shown or not.
    const busy = name => summary.contexts[name].busy;
    const [first, ...rest] = ["main", "sub", "tdma"]
      .sort((a, b) => busy(b) - busy(a))
      .map(name => `${name} ${percent(busy(name), cycles)}`);
    at.append(card(first, `busy while kernels run; ${rest.join(", ")}`));
  }
  at.append(
    card(
      `${digits(summary.cycles)} cycles`,
      `${time(summary.cycles)} at 1 GHz with the host's transfers, ${digits(summary.operations)} operations`,
    ),
  );
  if (summary.interrupted) at.append(card("interrupted", "the program was stopped; all of this is until then", true));
  for (const { kind, kernel, location, operation, cause, edit, saving } of (summary.hints || []).slice(0, 6)) {
    const place = `${operation} ${location.replace(/:\d+$/, "")}${kernel ? ` in ${kernel}` : ""}`;
    at.append(
      card(`hint: ${kind}, saves ${digits(saving)} cycles, ${percent(saving, cycles)}`, `${place}: ${cause}; ${edit}`, true),
    );
  }
  for (const warning of summary.warnings.slice(0, 8)) at.append(card(warning.split("\n")[0], "warning", true));
  for (const words of summary["left out"] || []) at.append(card("left out", words, true));
  if (summary.operations > run.count) {
    at.append(card(`${digits(run.count)} operations are shown`, `the first of ${digits(summary.operations)}`, true));
  }
}

/** The layout of a tensor: a colour per coordinate of the outermost axis that changes. */
function drawLayout(layout, colours) {
  const cells = layout.rows
    .flat()
    .filter(cell => cell !== null)
    .map(cell => cell.split(","));
  const changing = layout.axes.findIndex((_, axis) => cells.some(cell => cell[axis] !== cells[0][axis]));
  const longest = Math.max(1, ...cells.map(cell => cell.join(",").length));
  const width = Math.max(20, longest * 6.2 + 6),
    height = 17,
    left = 44;
  const drawing = shape("svg", {
    width: left + width * (layout.rows[0] || []).length + 2,
    height: height * layout.rows.length + 16,
    role: "img",
  });
  (layout.rows[0] || []).forEach((_, column) => {
    if (column % 4 === 0) drawing.append(shape("text", { x: left + column * width + 2, y: 10 }, `+${column}`));
  });
  layout.rows.forEach((row, r) => {
    const y = 14 + r * height,
      label = layout.wrapped ? r * 32 : r;
    drawing.append(shape("text", { x: left - 6, y: y + 12, "text-anchor": "end" }, label));
    row.forEach((cell, column) => {
      const hue = cell === null || changing < 0 ? 210 : (+cell.split(",")[changing] * 47 + 210) % 360;
      const fill = cell === null ? colours.pad : `hsl(${hue} 65% ${colours.isDark ? 30 : 82}%)`;
      const x = left + column * width;
      drawing.append(shape("rect", { x, y, width: width - 1, height: height - 1, rx: 2, fill }));
      drawing.append(
        shape("text", { x: x + width / 2, y: y + 12, "text-anchor": "middle" }, cell === null ? "·" : cell),
      );
    });
  });
  return element("div", { class: "layout" }, drawing);
}

function tensorView(run, text, colours) {
  const parts = /^(\w+) (\w+) bytes (\d+)\.\.(\d+): (\S+) ?(.*)$/.exec(text);
  if (!parts) return element("pre", {}, text);
  const [, verb, memory, from, to, type, mappings] = parts;
  const view = element(
    "div",
    {},
    element("h3", {}, `${verb} ${memory} ${digits(+from)}..${digits(+to)}, ${bytes(to - from)}`),
    element("pre", {}, `${type} ${mappings}`),
  );
  const layout = run.summary.layouts[mappings];
  if (layout) {
    const what = layout.wrapped
      ? "32 elements in a line"
      : `the first ${layout.rows.length} of ${digits(layout.units)} units (slices, rows), a line each`;
    const cells = layout.axes.length ? `cells are ${layout.axes.join(",")}` : "cells have no axis";
    view.append(element("p", { class: "hint" }, `${what}; ${cells}; · is padding`), drawLayout(layout, colours));
  }
  return view;
}

function details(run, k, track, page, at) {
  const own = run.of(k),
    start = run.start[k],
    cycles = run.cycles[k],
    wait = run.wait[k];
  const link = number =>
    element("a", { onclick: () => page.select(run.byNumber.get(number), null, true) }, `#${number}`);
  const rows = [
    ["call", `${own.operation} at ${own.line}`],
    ["kernel", run.launch[k] ? `${own.kernel}, launch ${run.launch[k]}` : own.kernel],
    ["engine", own.context + (track && track.order >= 10 ? `, ${track.name}` : "")],
    ["cycles", `${digits(cycles)}, from ${digits(start)} to ${digits(start + cycles)} (${own.class})`],
    ["bound by", own["bound by"]],
    [
      "waited for",
      wait >= 0 && run.byNumber.has(wait)
        ? element("span", {}, link(wait), " ", run.waited[k].replace(/^#\d+,? ?/, ""))
        : run.waited[k] || "nothing",
    ],
    ["idle before", `${digits(run.idle[k])} cycles of ${own.context}`],
  ];
  const slowed = run.slowed[run.number[k]];
  if (slowed) rows.push(["slowed by", slowed.map(([number, delay]) => `#${number}: ${delay} cycles`).join(", ")]);
  if (own["read from"] || own["written to"]) {
    const moved = amount => `${bytes(amount)}, ${speed(amount, cycles)} B per cycle`;
    if (own["read from"]) rows.push(["read", `${moved(own["read bytes"])} from ${own["read from"]}`]);
    if (own["written to"]) rows.push(["written", `${moved(own["written bytes"])} to ${own["written to"]}`]);
  }
  if (own.slices) rows.push(["slices", digits(own.slices)]);
  if (own.multiplications !== undefined) {
    rows.push([
      "multiplications",
      `${digits(own.multiplications)} of ${own.type}, ${own.rows} of 8 rows, ` +
        `${percent(own.multiplications, own["possible per cycle"] * cycles)} of what all slices could do meanwhile`,
    ]);
  }
  if (own.requests !== undefined)
    rows.push([
      "DMA",
      `${digits(own.commands)} commands, ${digits(own.requests)} requests on ${own.engines.length} engines`,
    ]);
  for (const [chip, used, ticks, moved, channels] of own.HBM || []) {
    const [stacks, inStack] = run.summary["HBM channels"] || [2, 16];
    if (used && channels !== undefined)
      rows.push([
        own.HBM.length > 1 ? `HBM of chip ${chip}` : "HBM",
        `${bytes(moved)} in ${digits(used)} cycles, ${channels} of ${stacks * inStack} channels, ` +
          `${percent(ticks, 3 * used * stacks * inStack)} of all channels busy`,
      ]);
  }
  if (own["partial writes"])
    rows.push([
      "partial writes",
      `${digits(own["partial writes"])} units are written in part: they are read before`,
    ]);
  const table = element(
    "table",
    {},
    ...rows.map(([name, value]) => element("tr", {}, element("td", {}, name), element("td", {}, value))),
  );
  const left = element("div", {}, element("h3", {}, `#${run.number[k]} ${own.name}`), table);
  if (own.stages) {
    const most = Math.max(...own.stages.map(stage => stage[3]), 1);
    left.append(
      element("h3", {}, "Cycles per stage"),
      element(
        "table",
        {},
        ...own.stages.map(([stage, , , busy]) =>
          element(
            "tr",
            {},
            element("td", {}, stage),
            element("td", { class: "number" }, digits(busy)),
            element(
              "td",
              {},
              element("span", { class: "share", style: `width:${Math.max(1, (160 * busy) / most)}px` }),
            ),
          ),
        ),
      ),
    );
  }
  const right = element(
    "div",
    {},
    element("h3", {}, "What the engines are told"),
    element("pre", {}, own.configuration || "nothing"),
  );
  const tensors = own.tensors.map(text => tensorView(run, text, page.colours()));
  at.replaceChildren(element("div", { class: "columns" }, left, right), ...tensors);
}

/** Sums by line, call and engine. */
function linesTable(run, page, at) {
  const lines = new Map();
  let whole = 0;
  for (let k = 0; k < run.count; k++) {
    const own = run.of(k),
      key = `${own.line} ${own.operation} ${own.context} ${own.kernel}`;
    if (!lines.has(key)) {
      lines.set(key, {
        line: own.line,
        operation: own.operation,
        engine: own.context,
        kernel: own.kernel,
        first: k,
        operations: 0,
        cycles: 0,
        path: 0,
        idle: 0,
        read: 0,
        written: 0,
        bound: new Set(),
      });
    }
    const line = lines.get(key);
    line.operations++;
    line.cycles += run.cycles[k];
    line.idle += run.idle[k];
    line.read += own["read bytes"];
    line.written += own["written bytes"];
    line.bound.add(own["bound by"]);
    if (run.path.has(run.number[k])) ((line.path += run.cycles[k]), (whole += run.cycles[k]));
  }
  const heads = [
    ["line", own => own.line, own => place(own.line)],
    ["call", own => own.operation],
    ["engine", own => own.engine],
    ["kernel", own => own.kernel],
    ["operations", own => own.operations, own => digits(own.operations)],
    ["cycles", own => own.cycles, own => digits(own.cycles)],
    [
      "on the critical path",
      own => own.path,
      own =>
        element(
          "span",
          {},
          `${percent(own.path, whole)} `,
          element("span", { class: "share", style: `width:${whole ? (80 * own.path) / whole : 0}px` }),
        ),
    ],
    ["bound by", own => [...own.bound].join(", ")],
    ["engine idle before", own => own.idle, own => digits(own.idle)],
    ["read", own => own.read, own => bytes(own.read)],
    ["written", own => own.written, own => bytes(own.written)],
    [
      "B per cycle",
      own => Math.max(own.read, own.written) / Math.max(1, own.cycles),
      own => speed(Math.max(own.read, own.written), own.cycles),
    ],
  ];
  let sort = 6,
    down = true;
  const write = () => {
    const value = heads[sort][1];
    const rows = [...lines.values()].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (
        (typeof x === "number" ? x - y : String(x).localeCompare(y, "en", { numeric: true })) * (down ? -1 : 1) ||
        b.cycles - a.cycles
      );
    });
    const head = element(
      "tr",
      {},
      ...heads.map(([name], column) =>
        element(
          "th",
          {
            title: "sort",
            onclick: () => {
              down = sort === column ? !down : true;
              sort = column;
              write();
            },
          },
          name + (sort === column ? (down ? " ↓" : " ↑") : ""),
        ),
      ),
    );
    const body = rows
      .slice(0, 1000)
      .map(own =>
        element(
          "tr",
          { class: "row", title: own.line, onclick: () => page.select(own.first, null, true) },
          ...heads.map(([, value, shown]) =>
            element("td", typeof value(own) === "number" ? { class: "number" } : {}, shown ? shown(own) : value(own)),
          ),
        ),
      );
    at.replaceChildren(element("table", {}, head, ...body));
  };
  write();
}

/** A memory over the time that the timeline shows. Bytes that nobody uses are left out. */
class Memory {
  constructor(memory, run, page) {
    Object.assign(this, { memory, run, page });
    const used = [];
    for (const [from, to] of memory.tensors.map(own => own.bytes).sort((a, b) => a[0] - b[0])) {
      const last = used[used.length - 1];
      if (last && from <= last[1]) last[1] = Math.max(last[1], to);
      else used.push([from, to]);
    }
    this.used = used;
    this.bytes = used.reduce((sum, [from, to]) => sum + to - from, 0);
    this.canvas = element("canvas");
    const left = memory.count - memory.tensors.length;
    this.view = element(
      "div",
      {},
      element(
        "h3",
        {},
        `${memory.memory}: at most ${bytes(memory["peak bytes"])} of ${bytes(memory.capacity)} needed at a time, ` +
          `${digits(memory.count)} tensors${left ? `, the first ${digits(memory.tensors.length)} shown` : ""}`,
      ),
      element("div", { class: "frame" }, this.canvas),
    );
    this.canvas.addEventListener("pointermove", event => this.page.tip(event, this.text(this.at(event))));
    this.canvas.addEventListener("pointerleave", event => this.page.tip(event, null));
    this.canvas.addEventListener("click", event => {
      const own = this.at(event),
        k = own && run.byNumber.get(own.made.op);
      if (k !== undefined && k !== null) this.page.select(k, null, true);
    });
  }

  y(byte) {
    let below = 0;
    for (const [from, to] of this.used) {
      if (byte <= to) return this.height - 6 - ((below + Math.max(0, byte - from)) / this.bytes) * (this.height - 12);
      below += to - from;
    }
    return 6;
  }

  draw(timeline) {
    const ratio = window.devicePixelRatio || 1,
      { colour } = timeline;
    this.height = 120;
    this.canvas.width = timeline.width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.width = timeline.width + "px";
    this.canvas.style.height = this.height + "px";
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colour.back;
    context.fillRect(0, 0, timeline.width, this.height);
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    this.boxes = [];
    for (const own of this.memory.tensors) {
      const there = own.overwritten ? own.overwritten.start : timeline.run.end;
      if (there < timeline.from || own.made.start > timeline.to) continue;
      const [x0, x1, x2] = [own.made.start, own.last.end, Math.max(there, own.last.end)].map(cycle =>
        Math.max(timeline.names, timeline.x(cycle)),
      );
      const [top, bottom] = [this.y(own.bytes[1]), this.y(own.bytes[0])],
        height = Math.max(1, bottom - top - 1);
      const isSelected = own.made.op === timeline.run.number[timeline.selected];
      context.fillStyle = isSelected ? colour.accent : colour[["main", "sub", "tdma", "pdma"][own.made.op % 4]];
      context.globalAlpha = 0.25;
      context.fillRect(x0, top, Math.max(1, x2 - x0), height);
      context.globalAlpha = 0.9;
      context.fillRect(x0, top, Math.max(1, x1 - x0), height);
      context.globalAlpha = 1;
      if (x1 - x0 > 40 && height > 11) {
        context.fillStyle = "#ffffff";
        context.fillText(timeline.cut(`${own.type} ${own.layout || ""}`, x1 - x0 - 8), x0 + 4, top + height / 2);
      }
      this.boxes.push([x0, Math.max(x0 + 2, x2), top, bottom, own]);
    }
    context.fillStyle = colour.faint;
    const ends = this.used.length ? [this.used[0][0], this.used[this.used.length - 1][1]] : [];
    ends.forEach((byte, k) => context.fillText(digits(byte), 6, k ? 10 : this.height - 10));
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect(),
      [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const found = (this.boxes || []).find(([x0, x1, top, bottom]) => x >= x0 && x <= x1 && y >= top && y <= bottom);
    return found && found[4];
  }

  text(own) {
    if (!own) return null;
    const by = touch => `#${touch.op} ${touch.operation} ${touch.line}`;
    return (
      `${own.type} ${own.layout || ""}\nbytes ${digits(own.bytes[0])}..${digits(own.bytes[1])}\n` +
      `made by ${by(own.made)}\n` +
      `last used by ${by(own.last)}, read ${own.reads} times` +
      (own.overwritten ? `\noverwritten by ${by(own.overwritten)}` : "")
    );
  }
}

/** Contractions by line against DM, and kernels against HBM. */
function roofline(run, page, at, hint) {
  const points = new Map();
  let peak = 0;
  for (let k = 0; k < run.count; k++) {
    const own = run.of(k);
    if (!own.multiplications) continue;
    peak = Math.max(peak, own["possible per cycle"]);
    const point = points.get(own.line) || {
      name: `${own.operation} ${place(own.line)}`,
      products: 0,
      cycles: 0,
      bytes: 0,
      first: k,
    };
    point.products += own.multiplications;
    point.cycles += run.cycles[k];
    point.bytes += own["read bytes"];
    points.set(own.line, point);
  }
  if (!points.size) {
    hint.textContent = "No operation of this run multiplies.";
    return;
  }
  hint.textContent =
    "Circles: contractions of a line, multiplications per byte that they fetch from DM. " +
    "Squares: kernels as a whole, multiplications " +
    "per byte of HBM. Lines: what HBM and fetch deliver, and the multipliers.";
  const kernels = new Map();
  const lengths = new Map(run.summary.kernels.map(own => [own.launch, own]));
  for (const own of lengths.values()) {
    const kernel = kernels.get(own.name) || { name: own.name, products: 0, cycles: 0, bytes: 0, isKernel: true };
    kernel.cycles += own.end - own.start;
    kernels.set(own.name, kernel);
  }
  for (let k = 0; k < run.count; k++) {
    const own = run.of(k),
      kernel = kernels.get(own.kernel);
    if (!kernel || own.context === "pdma") continue;
    kernel.products += own.multiplications || 0;
    if (own["read from"] === "HBM") kernel.bytes += own["read bytes"];
    if (own["written to"] === "HBM") kernel.bytes += own["written bytes"];
  }
  const all = [...points.values(), ...kernels.values()].filter(own => own.products && own.bytes && own.cycles);
  const roofs = [
    ["HBM", run.summary["HBM bytes per cycle"]],
    ["fetch from DM", run.summary["fetch bytes per cycle"]],
  ];
  const xs = all.map(own => own.products / own.bytes).concat(roofs.map(([, speed]) => peak / speed));
  const ys = all.map(own => own.products / own.cycles).concat([peak]);
  const [x0, x1] = [Math.log10(Math.min(...xs)) - 0.5, Math.log10(Math.max(...xs)) + 0.5];
  const [y0, y1] = [Math.log10(Math.min(...ys)) - 0.5, Math.log10(peak) + 0.4];
  const width = Math.min(860, Math.max(420, at.clientWidth)),
    height = 320,
    left = 62,
    bottom = 34;
  const x = value => left + ((Math.log10(value) - x0) / (x1 - x0)) * (width - left - 10);
  const y = value => 8 + ((y1 - Math.log10(value)) / (y1 - y0)) * (height - bottom - 8);
  const colour = page.colours();
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  const power = exponent => "10" + [...String(exponent)].map(digit => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit] || "⁻").join("");
  for (let e = Math.ceil(x0); e <= x1; e++) {
    drawing.append(
      shape("line", { x1: x(10 ** e), x2: x(10 ** e), y1: 8, y2: height - bottom, stroke: colour.line }),
      shape("text", { x: x(10 ** e), y: height - bottom + 13, "text-anchor": "middle" }, power(e)),
    );
  }
  for (let e = Math.ceil(y0); e <= y1; e++) {
    drawing.append(
      shape("line", { x1: left, x2: width - 10, y1: y(10 ** e), y2: y(10 ** e), stroke: colour.line }),
      shape("text", { x: left - 6, y: y(10 ** e) + 3, "text-anchor": "end" }, power(e)),
    );
  }
  drawing.append(
    shape("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "multiplications per byte"),
    shape(
      "text",
      { x: 12, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${height / 2})` },
      "per cycle",
    ),
  );
  roofs.forEach(([name, speed], k) => {
    const stroke = [colour.hbm, colour.sub][k],
      from = Math.max(10 ** x0, 10 ** y0 / speed),
      bend = peak / speed;
    drawing.append(
      shape("polyline", {
        points: `${x(from)},${y(from * speed)} ${x(bend)},${y(peak)} ${x(10 ** x1)},${y(peak)}`,
        fill: "none",
        stroke,
        "stroke-width": 2,
      }),
      shape(
        "text",
        { x: x(from) + 6, y: y(from * speed) - (k ? 10 : -2), style: `fill:${stroke}` },
        `${name}, ${digits(speed)} B per cycle`,
      ),
    );
  });
  drawing.append(
    shape("text", { x: width - 14, y: y(peak) - 5, "text-anchor": "end" }, `${digits(peak)} multiplications per cycle`),
  );
  all.forEach(own => {
    const [cx, cy] = [x(own.products / own.bytes), y(own.products / own.cycles)];
    const mark = own.isKernel
      ? shape("rect", { x: cx - 5, y: cy - 5, width: 10, height: 10, fill: colour.accent })
      : shape("circle", { cx, cy, r: 5, fill: colour.main, style: "cursor:pointer" });
    const text =
      `${own.isKernel ? "kernel " : ""}${own.name}\n${(own.products / own.bytes).toPrecision(3)} ` +
      "multiplications per byte\n" +
      `${digits(own.products / own.cycles)} per cycle, ${percent(own.products / own.cycles, peak)} of the peak`;
    mark.addEventListener("pointermove", event => page.tip(event, text));
    mark.addEventListener("pointerleave", event => page.tip(event, null));
    if (!own.isKernel) mark.addEventListener("click", () => page.select(own.first, null, true));
    drawing.append(mark);
    if (all.length <= 12) {
      const atLeft = cx > width - 190;
      drawing.append(
        shape("text", { x: cx + (atLeft ? -9 : 9), y: cy + 3, "text-anchor": atLeft ? "end" : "start" }, own.name),
      );
    }
  });
  at.replaceChildren(drawing);
}
