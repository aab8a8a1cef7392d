// What stands around the timeline: headline, details, lines, memories, roofline.

/** The kernels, then the name of the page, when it was made, and the model of time. */
function heading(run, title, about) {
  const names = [...new Set(run.summary.kernels.map(own => own.name))];
  const kernels = names.length > 3 ? [...names.slice(0, 3), "…"] : names;
  title.textContent = [kernels.join(", "), run.title].filter(text => text).join(": ");
  document.title = title.textContent;
  const made = run.made === null || run.made === undefined ? null : new Date(1e3 * run.made).toISOString();
  about.textContent = [
    made && `${made.slice(0, 10)} ${made.slice(11, 16)} UTC`,
    run.summary.profile && `profile ${run.summary.profile}`,
    run.summary.version && `version ${run.summary.version}`,
  ]
    .filter(text => text)
    .join(" · ");
}

/** Colours and what they stand for. */
function legendOf(entries) {
  return entries.map(([name, colour]) => element("span", {}, element("i", { style: `background:${colour}` }), name));
}

/** The colours of the timeline. */
function legend(run, page, at) {
  const words = {
    kernel: "kernels",
    main: "main context",
    sub: "sub context",
    tdma: "DMA engines",
    pdma: "transfers of the host",
    hbm: "HBM",
  };
  const used = new Set(run.tracks.map(track => track.kind.split(" ").pop()));
  const shown = Object.keys(words).filter(kind => used.has(kind));
  at.replaceChildren(
    ...legendOf([
      ...shown.map(kind => [words[kind], `var(--${kind})`]),
      ["on the critical path: underlined", "linear-gradient(to top, var(--accent) 3px, var(--line) 3px)"],
    ]),
  );
}

function headline(run, page, at) {
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
  run.hints.forEach(({ kind, kernel, line, operation, cause, edit, saving }, number) => {
    const place = `${operation} ${line}${kernel ? ` in ${kernel}` : ""}`;
    const made = card(
      `hint: ${kind}, saves ${digits(saving)} cycles, ${percent(saving, cycles)}`,
      `${place}: ${cause}; ${edit}`,
      true,
    );
    const show = () => page.showHint(number);
    Object.assign(made, { id: "hint" + number, tabIndex: 0, title: "shows the operation" });
    made.classList.add("link");
    made.addEventListener("click", show);
    made.addEventListener("keydown", event => event.key === "Enter" && show());
    at.append(made);
  });
  // Traces of older versions have no list.
  if (summary.hints && !run.hints.length && cycles)
    at.append(card("no hints", "no edit that the clock times saves enough to be named", true));
  for (const warning of summary.warnings.slice(0, 8)) at.append(card(warning.split("\n")[0], "warning", true));
  for (const words of summary["left out"] || []) at.append(card("left out", words, true));
  if (summary.operations > run.count) {
    at.append(card(`${digits(run.count)} operations are shown`, `the first of ${digits(summary.operations)}`, true));
  }
}

/** The axis that colours a layout: the outermost one that changes, or -1. */
function colouredAxis(layout) {
  const cells = layout.rows
    .flat()
    .filter(cell => cell !== null)
    .map(cell => cell.split(","));
  return layout.axes.findIndex((_, axis) => cells.some(cell => cell[axis] !== cells[0][axis]));
}

/** The layout of a tensor, in lines that fit: a colour per coordinate of an axis. */
function drawLayout(layout, colours, changing, room) {
  const cells = layout.rows
    .flat()
    .filter(cell => cell !== null)
    .map(cell => cell.split(","));
  const longest = Math.max(1, ...cells.map(cell => cell.join(",").length));
  const width = Math.max(20, longest * 6.2 + 6),
    height = 17,
    left = 44;
  const all = (layout.rows[0] || []).length;
  let columns = all;
  while (columns > 1 && left + columns * width + 2 > room) columns = Math.ceil(columns / 2);
  const lines = layout.rows.flatMap((row, r) => {
    const parts = [];
    for (let from = 0; from < all; from += columns) {
      const label = layout.wrapped ? r * 32 + from : from ? `+${from}` : r;
      parts.push({ label, cells: row.slice(from, from + columns) });
    }
    return parts;
  });
  const drawing = shape("svg", { width: left + width * columns + 2, height: height * lines.length + 16, role: "img" });
  for (let column = 0; column < columns; column += 4) {
    drawing.append(shape("text", { x: left + column * width + 2, y: 10 }, `+${column}`));
  }
  lines.forEach(({ label, cells }, number) => {
    const y = 14 + number * height;
    drawing.append(shape("text", { x: left - 6, y: y + 12, "text-anchor": "end" }, label));
    cells.forEach((cell, column) => {
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

function tensorView(run, text, colours, room) {
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
    const shown = layout.rows.length * (layout.rows[0] || []).length,
      part = (shown, all) => (shown < all ? `the first ${shown} of ${digits(all)}` : `all ${shown}`);
    const what = layout.wrapped
      ? `${part(Math.min(shown, layout.elements), layout.elements)} elements`
      : `${part((layout.rows[0] || []).length, layout.elements)} elements of ` +
        `${part(layout.rows.length, layout.units)} units (slices, rows)`;
    const cells = layout.axes.length ? `cells are ${layout.axes.join(",")}` : "cells have no axis",
      changing = colouredAxis(layout),
      coloured = changing < 0 ? "one colour: no axis changes" : `a colour for each ${layout.axes[changing]}`;
    view.append(
      element("p", { class: "hint" }, `${what}; ${cells}; ${coloured}; · is padding`),
      drawLayout(layout, colours, changing, room),
    );
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
    ["cycles", `${digits(cycles)}, from ${run.cycle(start)} to ${run.cycle(start + cycles)} (${own.class})`],
    ["bound by", own["bound by"]],
    [
      "waited for",
      wait >= 0 && run.byNumber.has(wait)
        ? element("span", {}, link(wait), " ", run.waited[k].replace(/^#\d+,? ?/, ""))
        : run.waited[k] || "nothing",
    ],
    ["idle before", `${digits(run.idle[k])} cycles of ${own.context}`],
  ];
  const launch = run.summary.kernels.find(other => other.launch > 0 && other.launch === run.launch[k]);
  if (launch && launch.start !== run.origin)
    rows.push(["in its launch", `from ${digits(start - launch.start)} to ${digits(start + cycles - launch.start)}`]);
  const hints = run.hintsOf(own).map(number =>
    element(
      "div",
      {},
      element("a", { onclick: () => page.showCard(number) }, `${run.hints[number].kind}`),
      `, saves ${digits(run.hints[number].saving)} cycles`,
    ),
  );
  if (hints.length) rows.push(["hints for its line", element("div", {}, ...hints)]);
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
  const room = at.clientWidth - 30,
    tensors = own.tensors.map(text => tensorView(run, text, page.colours(), room));
  at.replaceChildren(element("div", { class: "columns" }, left, right), ...tensors);
}

/** Key that the operations of one row of the table of lines share. */
function keyOf(own) {
  return `${own.line} ${own.operation} ${own.context} ${own.kernel}`;
}

/** Sums by line, call and engine. */
function linesTable(run, page, at) {
  const lines = new Map();
  let whole = 0;
  for (let k = 0; k < run.count; k++) {
    const own = run.of(k),
      key = keyOf(own);
    if (!lines.has(key)) {
      lines.set(key, {
        key,
        line: own.line,
        operation: own.operation,
        engine: own.context,
        kernel: own.kernel,
        hints: run.hintsOf(own),
        partial: 0,
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
    line.partial += own["partial writes"] || 0;
    line.bound.add(own["bound by"]);
    if (run.path.has(run.number[k])) ((line.path += run.cycles[k]), (whole += run.cycles[k]));
  }
  const all = [...lines.values()],
    saved = own => own.hints.reduce((sum, number) => sum + run.hints[number].saving, 0);
  // The first columns are those that a narrow window shows.
  const heads = [
    ["line", own => own.line, own => place(own.line)],
    ["cycles", own => own.cycles, own => digits(own.cycles)],
    ["call", own => own.operation],
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
    [
      "hints",
      saved,
      own =>
        element(
          "span",
          {},
          ...own.hints.map(number =>
            element(
              "a",
              { onclick: event => (event.stopPropagation(), page.showCard(number)) },
              `saves ${digits(run.hints[number].saving)} `,
            ),
          ),
        ),
      all.some(saved),
    ],
    ["bound by", own => [...own.bound].join(", ")],
    ["engine", own => own.engine],
    ["kernel", own => own.kernel],
    ["operations", own => own.operations, own => digits(own.operations)],
    ["partial writes", own => own.partial, own => digits(own.partial), all.some(own => own.partial)],
    ["engine idle before", own => own.idle, own => digits(own.idle)],
    ["read", own => own.read, own => bytes(own.read)],
    ["written", own => own.written, own => bytes(own.written)],
    [
      "B per cycle",
      own => Math.max(own.read, own.written) / Math.max(1, own.cycles),
      own => speed(Math.max(own.read, own.written), own.cycles),
    ],
  ].filter(([, , , isShown = true]) => isShown);
  let sort = 3,
    down = true;
  const write = () => {
    const value = heads[sort][1];
    const rows = all.sort((a, b) => {
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
          { class: "row", title: own.line, "data-key": own.key, onclick: () => page.select(own.first, null, true) },
          ...heads.map(([, value, shown]) =>
            element("td", typeof value(own) === "number" ? { class: "number" } : {}, shown ? shown(own) : value(own)),
          ),
        ),
      );
    at.replaceChildren(element("table", {}, head, ...body));
  };
  write();
}

/** Sums over the parts that kernels name. Traces of older versions have none. */
function partTables(run, section, at) {
  const tables = run.summary.parts || [];
  section.hidden = !tables.length;
  for (const { title, rows } of tables) {
    const whole = rows.reduce((sum, own) => sum + own.main, 0);
    const share = own => [
      `${digits(own.main)} ${percent(own.main, whole)} `,
      element("span", { class: "share", style: `width:${whole ? (80 * own.main) / whole : 0}px` }),
    ];
    const columns = [
      ["cycles of main", own => element("span", {}, ...share(own))],
      ["operations", own => digits(own.operations)],
      ["main busy", own => digits(own.main_busy)],
      ["sub busy", own => digits(own.sub_busy)],
      ["DMA busy", own => digits(own.tdma_busy)],
      ["HBM", own => bytes(own.hbm_bytes)],
    ];
    const head = element("tr", {}, element("th", {}, title), ...columns.map(([name]) => element("th", {}, name)));
    const row = own => columns.map(([, shown]) => element("td", { class: "number" }, shown(own)));
    at.append(
      element("table", {}, head, ...rows.map(own => element("tr", {}, element("td", {}, own.name), ...row(own)))),
    );
  }
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
      const made = timeline.run.byNumber.get(own.made.op);
      const engine = made === undefined ? "kernel" : timeline.run.of(made).context;
      context.fillStyle = isSelected ? colour.accent : colour[engine];
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

/** Places of a label beside a mark, the nearest first, inside of a frame: left, top, right and bottom. */
function placesAround(cx, cy, wide, [left, top, right, bottom]) {
  const places = [];
  for (const away of [0, 12, 24, 36, 48, 60]) {
    for (const y of away ? [cy - away, cy + away] : [cy]) {
      for (const x of [cx + 9, cx - 9 - wide, cx - wide / 2]) places.push([x, y - 6, x + wide, y + 7]);
    }
  }
  return places.filter(([x0, y0, x1, y1]) => x0 >= left && y0 >= top && x1 <= right && y1 <= bottom);
}

/** Tells if a box touches another one, or a line. */
function touches([x0, y0, x1, y1], { box, line }) {
  if (box) return x0 < box[2] && box[0] < x1 && y0 < box[3] && box[1] < y1;
  // Lines rise to the right or are level: the box is clear of one if it is above or below it at both of its sides.
  const [[ax, ay], [bx, by]] = line,
    at = x => ay + ((by - ay) * (Math.min(Math.max(x, ax), bx) - ax)) / Math.max(1e-9, bx - ax);
  if (x1 < ax || x0 > bx) return false;
  const [high, low] = [Math.min(at(x0), at(x1)), Math.max(at(x0), at(x1))];
  return y0 - 2 < low && y1 + 2 > high;
}

/** Contractions by line against DM, and kernels against HBM. */
function roofline(run, page, at, hint, key) {
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
  const width = Math.min(1200, Math.max(320, at.clientWidth)),
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
  // Lines, marks and labels, which no label may touch.
  const taken = [];
  roofs.forEach(([, speed], k) => {
    const stroke = [colour.hbm, colour.sub][k],
      from = Math.max(10 ** x0, 10 ** y0 / speed),
      bend = peak / speed;
    const corners = [
      [x(from), y(from * speed)],
      [x(bend), y(peak)],
      [x(10 ** x1), y(peak)],
    ];
    drawing.append(shape("polyline", { points: corners.join(" "), fill: "none", stroke, "stroke-width": 2 }));
    corners.slice(1).forEach((corner, k) => taken.push({ line: [corners[k], corner] }));
  });
  key.replaceChildren(
    ...legendOf([
      ...roofs.map(([name, speed], k) => [`${name}, ${digits(speed)} B per cycle`, [colour.hbm, colour.sub][k]]),
      [`multipliers: ${digits(peak)} per cycle`, `linear-gradient(to right, ${colour.hbm}, ${colour.sub})`],
      ["contractions of a line", colour.main],
      ["kernels", colour.accent],
    ]),
  );
  for (const own of all) {
    const [cx, cy] = [x(own.products / own.bytes), y(own.products / own.cycles)];
    taken.push({ box: [cx - 7, cy - 7, cx + 7, cy + 7] });
  }
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
    if (all.length > 12) return;
    const wide = 6.2 * own.name.length;
    const free = placesAround(cx, cy, wide, [left, 8, width - 4, height - bottom]).find(
      box => !taken.some(own => touches(box, own)),
    );
    if (!free) return;
    taken.push({ box: free });
    drawing.append(shape("text", { x: free[0], y: free[3] - 3 }, own.name));
  });
  at.replaceChildren(drawing);
}
