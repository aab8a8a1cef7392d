"use strict";

/// The stages of the page: id, heading, explanation, and fields with their labels.
const STAGES = [
  ["axes", "Axes", "names and sizes", [["axes", "axes"]]],
  ["tensor", "Tensor in DM", "what the stream reads", [["type", "type"], ["cluster", "cluster"], ["slice", "slice"], ["element", "element"]]],
  ["load", "Load", "a DMA transfer from HBM; empty: none", [["hbm", "in HBM"]]],
  ["fetch", "Fetch", "time steps and packets", [["context", "context"], ["to", "to"], ["time", "time"], ["packet", "packet"]]],
  ["switch", "Switch", "packets to other slices; empty: none", [["switch_slice", "slice"], ["switch_time", "time"]]],
  ["collect", "Collect", "packets as flits of 32 bytes", [["collect_time", "time"], ["collect_packet", "packet"]]],
  ["transpose", "Transpose", "time steps and elements trade places; empty: none", [["transpose_time", "time"], ["transpose_packet", "packet"]]],
  ["commit", "Commit", "the result in DM", [["commit", "element"]]],
  ["pass", "Cycles of the pass", "all stages run at the same time", []],
];
const CHOICES = {
  type: ["i4", "i8", "u8", "i16", "i32", "f4e2m1", "f8e4m3", "f8e5m2", "bf16", "f16", "f32"],
  context: ["main", "sub"],
};
const NO_MAPPINGS = ["axes", "type", "to", "context"];
const examples = JSON.parse(document.getElementById("data").textContent);
const inputs = {}, sections = {}, results = {};
const picture = make("div", "picture");
/// The field whose layout is drawn, and the accesses that are marked in it.
let drawn = "element", marked = null;
let compiled, asked = 0;

function make(tag, name, text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}

function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function build() {
  const form = document.getElementById("form");
  for (const [id, heading, about, fields] of STAGES) {
    const section = make("section");
    section.id = "stage-" + id;
    const title = make("h2", "", heading + " ");
    title.append(make("small", "", about));
    const left = make("div"), right = make("div", "result");
    for (const [field, label] of fields) left.append(fieldOf(field, label, section));
    if (fields.length === 0) left.remove(); else section.append(left);
    section.prepend(title);
    if (fields.length === 0) right.style.gridColumn = "1 / -1";
    section.append(right);
    form.append(section);
    [sections[id], results[id]] = [section, right];
  }
  form.addEventListener("submit", event => event.preventDefault());
  sections.tensor.append(picture);
}

function fieldOf(field, label, section) {
  const whole = make("label", "field"), choices = CHOICES[field];
  const input = make(choices ? "select" : "input", choices ? "type" : "");
  for (const choice of choices ?? []) input.append(new Option(choice));
  input.name = field;
  whole.append(make("span", "", label), input);
  input.addEventListener("input", update);
  if (!NO_MAPPINGS.includes(field)) input.addEventListener("focus", () => draw(field, section, null, input));
  inputs[field] = input;
  return whole;
}

/// Shows the layout of a field in a section, with some of its positions marked. What was clicked stays where it is.
function draw(field, section, places, clicked) {
  const changed = drawn !== field, top = clicked.getBoundingClientRect().top;
  [drawn, marked] = [field, places];
  if (picture.parentElement !== section) section.append(picture);
  scrollBy(0, clicked.getBoundingClientRect().top - top);
  if (changed) update(); else mark();
}

function typed() {
  const form = {};
  for (const field in inputs) form[field] = inputs[field].value;
  return { ...form, draw: drawn, width: String(Math.max(240, picture.clientWidth - 110)) };
}

/// Fills the form: fields that are missing are empty.
function fill(form) {
  for (const field in inputs) {
    inputs[field].value = form[field] ?? "";
    if (inputs[field].selectedIndex === -1) inputs[field].selectedIndex = 0;
  }
  drawn = form.draw && inputs[form.draw] ? form.draw : "element";
  marked = null;
  const home = STAGES.find(([, , , fields]) => fields.some(([field]) => field === drawn));
  sections[home[0]].append(picture);
}

/// The form as the end of a link, and back.
function link() {
  const { width, ...form } = typed();
  const filled = Object.entries(form).filter(([, text]) => text !== "");
  return "#" + new URLSearchParams(filled);
}

function ofLink() {
  const form = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  return Object.keys(form).length > 0 ? form : examples[0].form;
}

/// Answers a form, by a module of its own.
async function answerTo(form) {
  const { exports } = await WebAssembly.instantiate(compiled, {});
  const text = length => {
    const bytes = new Uint8Array(length);
    for (let place = 0; place < length; place++) bytes[place] = exports.byte(place);
    return new TextDecoder().decode(bytes);
  };
  for (const byte of new TextEncoder().encode(JSON.stringify(form))) exports.push(byte);
  try {
    return JSON.parse(text(exports.answer()));
  } catch (error) {
    return { stopped: text(exports.length()) || String(error) };
  }
}

async function update() {
  const mine = ++asked;
  const answer = await answerTo(typed());
  // An older question was slower.
  if (mine !== asked) return;
  show(answer);
  history.replaceState(null, "", link());
  document.documentElement.dataset.answers = mine;
}

function show(answer) {
  const { errors = {}, stages = [], stopped } = answer;
  for (const field in inputs) {
    const input = inputs[field], message = errors[field];
    input.classList.toggle("wrong", message !== undefined);
    input.classList.toggle("drawn", field === drawn);
    input.closest("label").nextElementSibling?.matches("pre.fault") && input.closest("label").nextElementSibling.remove();
    if (message !== undefined) input.closest("label").after(make("pre", "fault", message));
  }
  if (stopped !== undefined) {
    sum("refused", "the page cannot compute this: " + stopped);
    return;
  }
  for (const stage of stages) showStage(stage);
  showSum(errors, stages);
  picture.replaceChildren();
  if (answer.picture?.svg) picture.innerHTML = answer.picture.svg;
  else if (answer.picture?.error) picture.append(make("p", "waits", "Layout: " + answer.picture.error));
  mark();
}

function sum(state, text) {
  const place = document.getElementById("sum");
  place.className = state;
  place.textContent = text;
}

/// The cycles of all, or what is missing.
function showSum(errors, stages) {
  const headings = Object.fromEntries(STAGES.map(([id, heading]) => [id, heading]));
  const wrong = Object.keys(errors), refused = stages.filter(stage => stage.state === "refused");
  if (wrong.length > 0) return sum("refused", "cannot be read: " + wrong.join(", ").replaceAll("_", " "));
  if (refused.length > 0) return sum("refused", "refused: " + refused.map(stage => headings[stage.id]).join(", "));
  const timed = stages.filter(stage => stage.cycles?.all !== undefined);
  const names = { load: "load", pass: "pass" };
  sum("", timed.map(stage => `${names[stage.id]} ${grouped(stage.cycles.all)} cycles`).join(" · ") || "waits for what is not written yet");
}

function showStage(stage) {
  const place = results[stage.id];
  sections[stage.id].dataset.state = stage.state;
  place.replaceChildren();
  if (stage.call) place.append(make("div", "call", stage.call));
  if (stage.state === "refused") place.append(make("pre", "refusal", "error: " + stage.message));
  if (stage.state === "waits") place.append(make("p", "waits", stage.message));
  if (stage.state === "absent") place.append(make("p", "waits", "left out"));
  if (stage.text) place.append(make("pre", "", stage.text.trimEnd()));
  if (stage.addresses) place.append(...accesses(stage));
  if (stage.cycles) place.append(...cycles(stage.cycles));
}

/// The addresses of a fetch or of a commit. One that is clicked is marked in the layout.
function accesses({ id, addresses: { verb, field, rows, all, bits, start = 0 } }) {
  const of = rows.length < all ? `the first ${rows.length} of ${grouped(all)}` : `all ${all}`;
  const list = make("div", "places");
  rows.forEach(([byte, bytes, repeat], number) => {
    const times = repeat > 1 ? ` × ${repeat}` : "";
    const button = make("button", "", `${byte}..${byte + bytes}${times}`);
    button.type = "button";
    button.title = `${verb} ${number}: ${bytes} bytes at byte ${byte} of the slice`;
    button.addEventListener("click", () => {
      list.querySelector(".chosen")?.classList.remove("chosen");
      button.classList.add("chosen");
      const first = (byte - start) * 8 / bits;
      draw(field, sections[id], [Math.floor(first), Math.ceil(first + bytes * 8 / bits)], button);
    });
    list.append(button);
  });
  return [make("div", "note", `bytes of DM, one access per cycle, ${of}; click one to see it in the layout`), list];
}

function mark() {
  const cells = picture.querySelectorAll("rect.cell");
  cells.forEach((cell, place) => cell.classList.toggle("read", marked !== null && place >= marked[0] && place < marked[1]));
  const first = picture.querySelector("rect.read");
  if (first) picture.scrollTop += first.getBoundingClientRect().top - picture.getBoundingClientRect().top - 100;
}

function cycles({ all, bound, banks, rows }) {
  const most = Math.max(...rows.map(row => row[1]), 1), table = make("table");
  for (const [name, count, kind, source] of rows) {
    const row = table.insertRow(), share = make("div");
    share.style.width = 100 * count / most + "%";
    row.append(make("td", "name", name), make("td", "number", grouped(count)));
    const bar = make("td", "share");
    bar.append(share);
    const letter = make("td", "", kind[0] === "d" ? (kind === "documented" ? "D" : "d") : kind[0]);
    letter.title = kind;
    row.append(bar, letter, make("td", "source", source));
    row.title = `${kind}: ${source}`;
  }
  const held = banks === all ? "; banks of DM hold it up" : "";
  return [make("div", "all", `${grouped(all)} cycles: ${bound}${held}`), table];
}

async function start() {
  build();
  const select = document.getElementById("examples"), told = document.getElementById("told");
  examples.forEach((example, number) => select.append(new Option(example.name, number)));
  const choose = form => {
    const number = examples.findIndex(example => Object.entries({ ...typed(), ...example.form }).every(([field, text]) =>
      ["draw", "width"].includes(field) || (form[field] ?? "") === (example.form[field] ?? "")));
    select.value = number;
    told.textContent = examples[number]?.text ?? "";
  };
  select.addEventListener("change", () => { fill(examples[select.value].form); choose(examples[select.value].form); update(); });
  addEventListener("hashchange", () => { const form = ofLink(); fill(form); choose(form); update(); });
  document.getElementById("form").addEventListener("input", () => choose(typed()));
  document.getElementById("copy").addEventListener("click", async () => {
    const copied = document.getElementById("copied");
    try {
      await navigator.clipboard.writeText(location.href);
      copied.textContent = "copied";
    } catch {
      copied.textContent = "the address of this page is the link";
    }
  });
  const text = document.getElementById("module").textContent;
  compiled = await WebAssembly.compile(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)));
  const form = ofLink();
  fill(form);
  choose(form);
  await update();
  document.documentElement.dataset.ready = "yes";
}

start();
