// The run: operations, and the slices of every track.

const CONTEXTS = ["main", "sub", "tdma", "pdma"];

/** Numbers with spaces between thousands. */
function digits(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** Cycles as a time at 1 GHz. */
function time(cycles) {
  if (cycles < 1e3) return `${cycles} ns`;
  if (cycles < 1e6) return `${(cycles / 1e3).toPrecision(4)} µs`;
  if (cycles < 1e9) return `${(cycles / 1e6).toPrecision(4)} ms`;
  return `${(cycles / 1e9).toPrecision(4)} s`;
}

function bytes(number) {
  for (const unit of ["B", "KiB", "MiB"]) {
    if (number < 1024) return `${+number.toPrecision(4)} ${unit}`;
    number /= 1024;
  }
  return `${+number.toPrecision(4)} GiB`;
}

function percent(part, whole) {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "0 %";
}

/** Bytes per cycle. */
function speed(bytes, cycles) {
  const each = bytes / Math.max(1, cycles);
  return each < 100 ? String(+each.toPrecision(3)) : digits(each);
}

/** File and line without the folders. */
function place(line) {
  return line.split(/[/\\]/).pop();
}

/** An element of the page. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "style") made.style.cssText = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** An element of a drawing. */
function shape(tag, properties = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

class Run {
  constructor(data) {
    Object.assign(this, {
      title: data.title,
      made: data.made,
      summary: data.summary,
      descriptions: data.descriptions,
      channels: data.channels || [],
      slowed: data.slowed,
    });
    const columns = data.operations;
    this.number = columns.number || [];
    this.start = columns.start || [];
    this.cycles = columns.cycles || [];
    this.idle = columns.idle || [];
    this.wait = columns.wait || [];
    this.waited = columns.waited || [];
    this.launch = columns.launch || [];
    this.description = columns.description || [];
    this.count = this.number.length;
    this.path = new Set(data.path);
    this.byNumber = new Map(this.number.map((number, k) => [number, k]));
    this.end = Math.max(1, this.summary.cycles);
    // Cycles are counted from the first kernel, as tables of a kernel count them. What comes before has negative ones.
    this.origin = this.summary.kernels.length ? this.summary.kernels[0].start : 0;
    this.hints = (this.summary.hints || []).map(own => ({ ...own, line: own.location.replace(/:\d+$/, "") }));
    // What a context waited before its kernel began is not the kernel's.
    const begins = new Map(this.summary.kernels.filter(own => own.launch > 0).map(own => [own.launch, own.start]));
    this.idle = this.idle.map((idle, k) => Math.min(idle, this.start[k] - (begins.get(this.launch[k]) || 0)));
    this.tracks = this.makeTracks();
  }

  of(k) {
    return this.descriptions[this.description[k]];
  }

  /** A cycle as the page counts it. */
  cycle(cycle) {
    return (cycle < this.origin ? "\u2212" : "") + digits(Math.abs(cycle - this.origin));
  }

  /** The numbers of the hints for the operations of a line, from 0. */
  hintsOf({ line, operation, kernel }) {
    return this.hints
      .map((_, number) => number)
      .filter(number => {
        const own = this.hints[number];
        return own.line === line && own.operation === operation && (own.kernel || "no kernel") === kernel;
      });
  }

  /** The operation that a hint names, or the first one of its line that is shown. */
  operationOf(hint) {
    const named = this.byNumber.get(hint.number);
    if (named !== undefined) return named;
    const k = this.number.findIndex((_, k) => this.hintsOf(this.of(k)).some(number => this.hints[number] === hint));
    return k < 0 ? undefined : k;
  }

  /**
   * Tracks in the order of the page. A track has slices by start: first cycle, end, operation. Those of HBM have `busy`:
   * the share of their cycles in which channels are, of all channels together or of the one. A track is drawn while the
   * one that it is `within` is open.
   */
  makeTracks() {
    const tracks = new Map();
    const add = (order, kind, name, start, end, operation, label, of = {}) => {
      if (!tracks.has(name)) {
        const within = tracks.get(of.within);
        if (within) within.opens = true;
        tracks.set(name, { order, kind, name, slices: [], within });
      }
      tracks.get(name).slices.push({ start, end, operation, label, busy: of.busy, bytes: of.bytes });
    };
    const [stacks, inStack] = this.summary["HBM channels"] || [2, 16];
    const share = (ticks, cycles, channels) => Math.min(1, ticks / (3 * channels * Math.max(1, cycles)));
    for (const kernel of this.summary.kernels) {
      add(0, "kernel", "kernels", kernel.start, kernel.end, -1, kernel.name);
    }
    const several = this.descriptions.some(own =>
      (own.clusters || []).concat(own.engines || []).some(unit => unit[0] > 0),
    );
    const chip = number => (several ? `chip ${number} ` : "");
    for (let k = 0; k < this.count; k++) {
      const own = this.of(k),
        start = this.start[k],
        end = start + this.cycles[k];
      add(1 + CONTEXTS.indexOf(own.context), own.context, own.context, start, end, k, own.name);
      for (const [number, cluster] of own.clusters || []) {
        (own.stages || []).forEach(([stage, from, to], at) => {
          const order = 1e3 * (1 + number) + 100 * cluster + 40 * (own.context === "sub") + STAGES.indexOf(stage);
          const name = `${chip(number)}cluster ${cluster} ${own.context} ${stage}`;
          add(order, "stage " + own.context, name, start + from, start + to, k, own.name);
        });
      }
      for (const [number, engine, cycles] of own.engines || []) {
        const name = `${chip(number)}tdma engine ${engine}`;
        add(1e3 * (1 + number) + 300 + engine, "engine tdma", name, start, Math.min(end, start + cycles), k, own.name);
      }
      const after = Math.min(end, start + 500);
      for (const [number, cycles, ticks, bytes] of own.HBM || []) {
        const till = Math.min(end, after + cycles),
          busy = ticks === undefined ? 1 : share(ticks, till - after, stacks * inStack);
        if (cycles > 0)
          add(1e3 * (1 + number) + 400, "hbm", `${chip(number)}HBM`, after, till, k, own.name, { busy, bytes });
      }
    }
    for (const [operation, number, channel, start, cycles, ticks, bytes] of this.channels) {
      const k = this.byNumber.get(operation);
      if (k === undefined) continue;
      const name = `${chip(number)}HBM channel ${Math.floor(channel / inStack)}.${channel % inStack}`,
        order = 1e3 * (1 + number) + 401 + channel;
      add(order, "channel hbm", name, start, start + cycles, k, this.of(k).name, {
        within: `${chip(number)}HBM`,
        busy: share(ticks, cycles, 1),
        bytes,
      });
    }
    for (const track of tracks.values()) track.slices.sort((a, b) => a.start - b.start || a.end - b.end);
    foldAlike(tracks);
    return [...tracks.values()].sort((a, b) => a.order - b.order);
  }

  get slices() {
    return this.tracks.reduce((sum, track) => sum + track.slices.length, 0);
  }
}

/** Folds the tracks of cluster 1 that show what those of cluster 0 do. */
function foldAlike(tracks) {
  const alike = (a, b) =>
    a.length === b.length &&
    a.every((own, k) => ["start", "end", "operation"].every(part => own[part] === b[k][part]));
  for (const [name, track] of tracks) {
    const other = tracks.get(name.replace("cluster 1", "cluster 0"));
    if (!other || other === track || !alike(other.slices, track.slices)) continue;
    [other.opens, track.within] = [true, other];
    // The second row of it is drawn below the first one.
    track.order = other.order + 0.5;
    other.name = name.replace("cluster 1", "clusters 0, 1");
  }
}

const STAGES = [
  "fetch",
  "switch",
  "collect",
  "contract",
  "accumulate",
  "vector",
  "cast",
  "transpose",
  "to_trf",
  "to_vrf",
  "commit",
];

/** The first slice of a track that ends behind a cycle. Slices of a track do not overlap. */
function firstAfter(slices, cycle, from = 0) {
  let [low, high] = [from, slices.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (slices[middle].end > cycle) high = middle;
    else low = middle + 1;
  }
  return low;
}
