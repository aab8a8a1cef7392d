// The timeline: only what can be seen is drawn, and slices below a pixel are drawn as one.

const AXIS = 24,
  FONT = "11px system-ui, 'DejaVu Sans', sans-serif";

class Timeline {
  constructor(canvas, run, page) {
    Object.assign(this, { canvas, run, page, from: 0, to: run.end, selected: -1, matches: null });
    this.context = canvas.getContext("2d");
    this.drawn = 0;
    this.listen();
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    const value = name => style.getPropertyValue("--" + name).trim();
    this.colour = Object.fromEntries(
      [
        "back",
        "text",
        "faint",
        "line",
        "soft",
        "accent",
        "mark",
        "main",
        "sub",
        "tdma",
        "pdma",
        "kernel",
        "hbm",
        "pad",
      ].map(name => [name, value(name)]),
    );
  }

  /** Tracks that are shown, with their place. */
  layout() {
    let top = AXIS;
    const shown = this.run.tracks.filter(
      track =>
        (this.page.stages || !track.kind.startsWith("stage")) &&
        (this.page.engines || !track.kind.startsWith("engine")) &&
        (!track.within || track.within.isOpen),
    );
    this.rows = shown.map(track => {
      const height = track.order < 10 ? 24 : track.within ? 12 : 15;
      const row = { track, top, height };
      top += height + (track.order < 10 ? 3 : 1);
      return row;
    });
    this.height = top + 4;
    this.canvas.dataset.rows = this.rows.length;
  }

  /** Shows or hides the tracks within one. */
  fold(track, isOpen = !track.isOpen) {
    track.isOpen = isOpen;
    this.resize();
  }

  resize() {
    this.colours();
    this.layout();
    const ratio = window.devicePixelRatio || 1,
      width = this.canvas.parentElement.clientWidth;
    this.width = width;
    this.isNarrow = width < 700;
    this.context.font = FONT;
    const widths = this.rows.map(row => this.context.measureText(row.track.name).width);
    this.names = this.isNarrow ? 104 : Math.min(220, Math.max(100, ...widths) + 16);
    this.canvas.width = width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = this.height + "px";
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  get scale() {
    return (this.width - this.names) / (this.to - this.from);
  }

  x(cycle) {
    return this.names + (cycle - this.from) * this.scale;
  }

  cycle(x) {
    return this.from + (x - this.names) / this.scale;
  }

  show(from, to) {
    const least = Math.min(10, this.run.end),
      length = Math.min(this.run.end * 1.02, Math.max(least, to - from));
    const middle = (from + to) / 2;
    from = Math.max(-this.run.end * 0.01, Math.min(middle - length / 2, this.run.end * 1.01 - length));
    [this.from, this.to] = [from, from + length];
    this.later();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  /** Draws with the next picture of the screen. */
  later() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.draw();
      this.page.moved();
    });
  }

  draw() {
    const { context, colour } = this;
    context.fillStyle = colour.back;
    context.fillRect(0, 0, this.width, this.height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.axis();
    this.drawn = 0;
    for (const row of this.rows) this.row(row);
    if (this.page.arrows) this.arrows();
    // Names stand over what is left of the first cycle.
    context.fillStyle = colour.back;
    context.fillRect(0, 0, this.names - 2, this.height);
    for (const { track, top, height } of this.rows) {
      context.fillStyle = track.order < 10 ? colour.text : colour.faint;
      const name = this.isNarrow ? track.name.replace(/clusters 0, 1 |cluster |tdma |channel /, "") : track.name,
        left = track.opens || track.within ? 18 : 6;
      context.fillText(this.cut(name, this.names - left - 4), left, top + height / 2);
      if (track.opens) this.triangle(6, top + height / 2, track.isOpen);
    }
  }

  /** In front of the name of a track that opens others: to the right, or down where it is open. */
  triangle(x, y, isOpen) {
    const { context } = this;
    context.beginPath();
    if (isOpen) [[0, -2.5], [8, -2.5], [4, 4]].forEach(([dx, dy]) => context.lineTo(x + dx, y + dy));
    else [[1, -4], [7.5, 0], [1, 4]].forEach(([dx, dy]) => context.lineTo(x + dx, y + dy));
    context.fill();
  }

  cut(text, width) {
    if (this.context.measureText(text).width <= width) return text;
    let [low, high] = [0, text.length];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.context.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
      else high = middle - 1;
    }
    return low > 1 ? text.slice(0, low) + "…" : "";
  }

  axis() {
    const { context, colour } = this;
    const raw = 90 / this.scale,
      power = 10 ** Math.floor(Math.log10(raw));
    const step = Math.max(
      1,
      [1, 2, 5, 10].map(n => n * power).find(n => n >= raw),
    );
    context.strokeStyle = colour.line;
    context.lineWidth = 1;
    context.fillStyle = colour.faint;
    const { origin } = this.run,
      first = Math.max(-origin, this.from - origin);
    for (let at = Math.ceil(first / step) * step; origin + at <= this.to; at += step) {
      const x = Math.round(this.x(origin + at)) + 0.5;
      context.beginPath();
      context.moveTo(x, 14);
      context.lineTo(x, this.height);
      context.stroke();
      context.fillText(this.run.cycle(origin + at), x + 3, 9);
    }
  }

  fill(kind) {
    return this.colour[kind.split(" ").pop()];
  }

  row({ track, top, height }) {
    const { context, colour, run } = this,
      slices = track.slices;
    const base = this.fill(track.kind);
    let k = firstAfter(slices, this.from);
    while (k < slices.length && slices[k].start < this.to) {
      const slice = slices[k];
      const left = Math.max(this.x(slice.start), this.names - 4),
        right = Math.min(this.x(slice.end), this.width + 4);
      const width = Math.max(right - left, 1);
      const matches =
        this.matches && slice.operation >= 0 ? this.matches[run.description[slice.operation]] : !this.matches;
      const strength = matches ? (track.order < 10 ? 1 : 0.75) : 0.18,
        full = slice.busy === undefined ? height : Math.max(1, slice.busy * height);
      context.fillStyle = base;
      if (full < height) {
        context.globalAlpha = strength * 0.3;
        context.fillRect(left, top, width > 3 ? width - 1 : width, height - full);
      }
      context.globalAlpha = strength;
      context.fillRect(left, top + height - full, width > 3 ? width - 1 : width, full);
      context.globalAlpha = 1;
      if (track.order < 10 && slice.operation >= 0 && run.path.has(run.number[slice.operation])) {
        context.fillStyle = colour.accent;
        context.fillRect(left, top + height - 2, width > 3 ? width - 1 : width, 2);
      }
      if (slice.operation >= 0 && slice.operation === this.selected) {
        context.strokeStyle = colour.text;
        context.lineWidth = 2;
        context.strokeRect(left, top + 1, width, height - 2);
      }
      if (width > 34 && height > 20) {
        context.fillStyle = matches ? "#ffffff" : colour.faint;
        context.fillText(this.cut(slice.label, width - 10), left + 5, top + height / 2);
      }
      this.drawn++;
      // What follows within the same pixel is not seen.
      k = width <= 1 ? Math.max(k + 1, firstAfter(slices, this.cycle(Math.floor(left) + 1), k)) : k + 1;
    }
  }

  rowOf(context) {
    return this.rows.find(row => row.track.name === context);
  }

  /** From an operation to the one that waited for it: all of the selected one, and the others while they are few. */
  arrows() {
    const { run } = this,
      some = [];
    for (const row of this.rows.filter(row => row.track.order >= 1 && row.track.order < 10)) {
      const slices = row.track.slices;
      for (
        let k = firstAfter(slices, this.from);
        k < slices.length && slices[k].start < this.to && some.length < 200;
        k++
      ) {
        if (run.wait[slices[k].operation] >= 0) some.push(slices[k].operation);
      }
    }
    if (some.length < 200) some.forEach(k => this.arrow(k, 0.35));
    if (this.selected < 0) return;
    this.arrow(this.selected, 1);
    const number = run.number[this.selected];
    for (let k = this.selected + 1; k < Math.min(run.count, this.selected + 4096); k++) {
      if (run.wait[k] === number) this.arrow(k, 1);
    }
  }

  arrow(k, alpha) {
    const { run, context, colour } = this;
    const on = run.byNumber.get(run.wait[k]);
    if (on === undefined) return;
    const [from, to] = [this.rowOf(run.of(on).context), this.rowOf(run.of(k).context)];
    if (!from || !to || from === to) return;
    const x0 = this.x(run.start[on] + run.cycles[on]),
      x1 = this.x(run.start[k]);
    if (Math.max(x0, x1) < this.names || Math.min(x0, x1) > this.width) return;
    const down = to.top > from.top;
    const y0 = from.top + (down ? from.height : 0),
      y1 = to.top + (down ? 0 : to.height);
    context.globalAlpha = alpha;
    context.strokeStyle = context.fillStyle = colour.text;
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + 8, (y0 + y1) / 2, x1 - 8, (y0 + y1) / 2, x1, y1);
    context.stroke();
    const tip = down ? -5 : 5;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 3.5, y1 + tip);
    context.lineTo(x1 + 3.5, y1 + tip);
    context.fill();
    context.globalAlpha = 1;
  }

  /** The slice at a point, or `null`. */
  at(x, y) {
    const row = this.rows.find(row => y >= row.top && y < row.top + row.height);
    if (!row || x < this.names) return null;
    const slices = row.track.slices,
      reach = 2 / this.scale;
    const slice = slices[firstAfter(slices, this.cycle(x) - reach)];
    return slice && slice.start <= this.cycle(x) + reach ? { slice, track: row.track } : null;
  }

  /** The track whose name is at a point, if a click there opens others. */
  foldAt(x, y) {
    const row = x < this.names && this.rows.find(row => y >= row.top && y < row.top + row.height);
    return row && row.track.opens ? row.track : null;
  }

  /** Title of the name of a track: what a click on it does. */
  folded({ kind, isOpen }) {
    const what = kind === "hbm" ? "its channels" : "the other cluster, which does the same";
    return `${isOpen ? "hides" : "shows"} ${what}`;
  }

  listen() {
    const { canvas } = this;
    let dragged = false;
    let grip = null;
    const point = event => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener(
      "wheel",
      event => {
        const [x] = point(event);
        if (event.ctrlKey || event.metaKey || event.altKey) {
          event.preventDefault();
          this.zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY)) * 0.004), this.cycle(x));
        } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          event.preventDefault();
          const moved = (event.deltaX || event.deltaY) / this.scale;
          this.show(this.from + moved, this.to + moved);
        }
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", event => {
      grip = { x: event.clientX, from: this.from, to: this.to, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", event => {
      const [x, y] = point(event);
      if (grip) {
        const moved = (grip.x - event.clientX) / this.scale;
        grip.moved ||= Math.abs(grip.x - event.clientX) > 3;
        if (grip.moved) this.show(grip.from + moved, grip.to + moved);
        return;
      }
      const found = this.at(x, y),
        opens = this.foldAt(x, y);
      canvas.style.cursor = found || opens ? "pointer" : "default";
      this.page.tip(event, opens ? this.folded(opens) : found && this.text(found));
    });
    canvas.addEventListener("pointerleave", event => this.page.tip(event, null));
    canvas.addEventListener("pointerup", event => {
      const found = grip && !grip.moved ? this.at(...point(event)) : null;
      dragged = grip && grip.moved;
      grip = null;
      if (found && found.slice.operation >= 0) this.page.select(found.slice.operation, found.track);
    });
    canvas.addEventListener("click", event => {
      const track = dragged ? null : this.foldAt(...point(event));
      if (track) this.fold(track);
    });
    canvas.addEventListener("dblclick", event => {
      const found = this.at(...point(event));
      if (found) this.reveal(found.slice.start, found.slice.end);
    });
  }

  reveal(start, end, share = 0.3) {
    const margin = Math.max(5, (end - start) * share);
    this.show(start - margin, end + margin);
  }

  text({ slice, track }) {
    const { run } = this,
      cycles = `${digits(slice.end - slice.start)} cycles from ${run.cycle(slice.start)}`;
    if (slice.operation < 0) return `${slice.label}\n${cycles}`;
    const own = run.of(slice.operation),
      waited = run.waited[slice.operation];
    const stage = (own.stages || []).find(stage => track.name.endsWith(" " + stage[0]));
    const busy = track.kind.startsWith("stage") && stage ? `\nbusy for ${digits(stage[3])} of them` : "";
    const channels = slice.busy === undefined ? "" : this.channels(slice, track);
    return (
      `#${run.number[slice.operation]} ${own.name}\n${track.name}: ${cycles}${busy}${channels}\n` +
      `bound by ${own["bound by"]}` +
      (waited ? `\nwaited for ${waited}` : "")
    );
  }

  channels({ busy, bytes: moved }, track) {
    const share = percent(busy, 1),
      what = moved === undefined ? "" : `, ${bytes(moved)}`;
    return track.within ? `\nbusy for ${share} of them${what}` : `\nchannels are busy for ${share} of them${what}`;
  }
}
