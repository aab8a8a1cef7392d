// Puts the parts together.

function start(data) {
  const find = id => document.getElementById(id),
    run = new Run(data);
  const page = { stages: true, engines: true, arrows: true };
  heading(run, find("title"), find("about"));
  const timeline = new Timeline(find("timeline"), run, page);
  const memories = run.summary.memories.filter(own => own.tensors.length).map(own => new Memory(own, run, page));
  find("memories").append(...memories.map(own => own.view));

  page.colours = () => ({ ...timeline.colour, isDark: matchMedia("(prefers-color-scheme: dark)").matches });
  page.moved = () => memories.forEach(own => own.draw(timeline));
  page.tip = (event, text) => {
    const tip = find("tip");
    tip.style.display = text ? "block" : "none";
    if (!text) return;
    tip.textContent = text;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)) + "px";
  };
  page.select = (k, track, reveal) => {
    if (k === undefined) return;
    timeline.selected = k;
    details(run, k, track, page, find("details"));
    for (const row of find("lines").querySelectorAll("tr.row"))
      row.classList.toggle("chosen", row.dataset.key === keyOf(run.of(k)));
    const [from, to] = [run.start[k], run.start[k] + run.cycles[k]];
    if (reveal && (to < timeline.from || from > timeline.to || to - from < 4 / timeline.scale))
      timeline.reveal(from, to);
    timeline.later();
  };
  page.showHint = number => {
    const k = run.operationOf(run.hints[number]);
    if (k === undefined) return;
    page.select(k, null, true);
    find("timeline").scrollIntoView({ block: "center" });
  };
  page.showCard = number => {
    const card = find("hint" + number);
    card.scrollIntoView({ block: "center" });
    card.focus();
  };
  headline(run, page, find("headline"));
  const resize = () => {
    timeline.resize();
    page.moved();
    roofline(run, page, find("roofline"), find("roofhint"), find("rooflegend"));
  };
  for (const name of ["stages", "engines", "arrows"]) {
    find(name).addEventListener("change", event => {
      page[name] = event.target.checked;
      timeline.resize();
    });
  }
  find("channels").addEventListener("change", event => {
    const tracks = run.tracks.filter(own => own.opens && own.kind === "hbm");
    tracks.forEach(track => timeline.fold(track, event.target.checked));
  });
  const search = () => {
    const words = find("search")
      .value.toLowerCase()
      .split(/\s+/)
      .filter(word => word);
    timeline.matches = words.length
      ? run.descriptions.map(own => {
          const text = [own.name, own.line, own.kernel, own.context, own["bound by"], own.configuration, ...own.tensors]
            .join(" ")
            .toLowerCase();
          return words.every(word => text.includes(word));
        })
      : null;
    const found = timeline.matches ? run.description.filter(own => timeline.matches[own]).length : 0;
    find("found").textContent = timeline.matches ? `${digits(found)} found` : "";
    timeline.later();
  };
  find("search").addEventListener("input", search);
  find("search").addEventListener("keydown", event => {
    if (event.key !== "Enter" || !timeline.matches || !run.count) return;
    // The next one behind the selected one, and from the first again.
    for (let step = 1; step <= run.count; step++) {
      const k = (timeline.selected + step + run.count) % run.count;
      if (timeline.matches[run.description[k]]) return page.select(k, null, true);
    }
  });
  find("nearer").addEventListener("click", () => timeline.zoom(0.5));
  find("farther").addEventListener("click", () => timeline.zoom(2));
  find("all").addEventListener("click", () => timeline.show(0, run.end));
  const kernels = run.summary.kernels,
    last = kernels[kernels.length - 1];
  const working = () => {
    if (last) timeline.reveal(kernels[0].start, last.end, 0.01);
  };
  find("working").addEventListener("click", working);
  addEventListener("keydown", event => {
    if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = (timeline.to - timeline.from) * 0.15,
      moved = { a: -step, d: step }[event.key];
    if (moved) timeline.show(timeline.from + moved, timeline.to + moved);
    if (event.key === "w") timeline.zoom(0.7);
    if (event.key === "s") timeline.zoom(1.4);
    if (event.key === "0") timeline.show(0, run.end);
  });
  const again = () => {
    resize();
    // Layouts are drawn in lines that fit.
    if (timeline.selected >= 0) page.select(timeline.selected);
  };
  addEventListener("resize", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  legend(run, page, find("legend"));
  linesTable(run, page, find("lines"));
  partTables(run, find("parts"), find("parttables"));
  resize();
  working();
  // The operation of a critical path that takes longest is the first to look at; `#7` in the address names another one.
  const longest = [...run.path]
    .map(number => run.byNumber.get(number))
    .filter(k => k !== undefined)
    .reduce((best, k) => (best < 0 || run.cycles[k] > run.cycles[best] ? k : best), -1);
  const named = /^#\d+$/.test(location.hash) ? run.byNumber.get(+location.hash.slice(1)) : undefined;
  const first = named === undefined ? longest : named;
  if (first >= 0) page.select(first);
  timeline.draw();
  Object.assign(document.documentElement.dataset, { ready: "yes", slices: run.slices, drawn: timeline.drawn });
}
