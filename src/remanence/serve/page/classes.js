// What is known: classes with their course, and versions.
import { find, kept, make, percent } from "./parts.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 128, HIGH = 32, EDGE = 4, THUMBS = 5;

export function showModel(model) {
  const many = (count, what, several) => `${count} ${count === 1 ? what : several}`;
  const photographs = model.classes.reduce((sum, one) => sum + one.kept.length, 0);
  document.title = `${model.model} – Remanence`;
  find("#model").textContent = model.model;
  find("#summary").textContent = [
    many(model.classes.length, "class", "classes"),
    `version ${model.version} of ${model.made}`,
    photographs ? `${many(photographs, "photograph", "photographs")} kept` : "no photograph kept",
  ].join(" · ");
  const newest = [...model.classes].sort((one, other) => other.version - one.version);
  find("#classes tbody").replaceChildren(...newest.map((one) => classRow(one, model)));
  const versions = [...model.versions].reverse();
  find("#versions tbody").replaceChildren(...versions.map((one) => versionRow(one, model)));
  find("#known").replaceChildren(...model.classes.map((one) => make("option", { value: one.class })));
}

function classRow(one, model) {
  const name = make("td", { class: "name" }, one.class), now = one.remembered[model.version];
  if (one.version === model.version && one.version > 1) {
    name.append(make("span", { class: "new" }, "new"));
  }
  const measured = `${one.held_out} of them measured on first`;
  const more = one.kept.length > THUMBS ? [make("span", {}, `+ ${one.kept.length - THUMBS}`)] : [];
  const thumbs = one.kept.slice(0, THUMBS).map((hash) => kept(hash, ""));
  return make("tr", {},
    name,
    make("td", { class: "when" }, `${one.made}, version ${one.version}`),
    make("td", { class: "number count", title: measured }, String(one.photographs)),
    make("td", { class: "number" }, now == null ? "–" : `${percent(now, 0)} %`),
    make("td", {}, course(one, model)),
    make("td", {}, make("div", { class: "thumbs" }, ...thumbs, ...more)));
}

// A line through the percentages of the versions since, on a scale that all classes share.
function course(one, model) {
  const first = model.versions[0]?.version ?? 1, last = Math.max(model.version, first + 1);
  const across = (version) => EDGE + ((version - first) / (last - first)) * (WIDE - 2 * EDGE);
  const down = (value) => EDGE + (1 - value / 100) * (HIGH - 2 * EDGE);
  const points = Object.entries(one.remembered)
    .map(([version, value]) => [Number(version), value])
    .sort((a, b) => a[0] - b[0]);
  const tell = ([version, value]) => `version ${version}: ${percent(value)} %`;
  const told = points.map(tell).join(", ") || "not measured";
  const box = `0 0 ${WIDE} ${HIGH}`;
  const drawing = draw("svg", { class: "course", viewBox: box, role: "img", "aria-label": told });
  for (const y of [down(0), down(100)]) {
    drawing.append(draw("line", { class: "level", x1: 0, x2: WIDE, y1: y, y2: y }));
  }
  const path = points.map(([version, value]) => `${across(version)},${down(value)}`).join("L");
  if (points.length > 1) drawing.append(draw("path", { d: `M${path}` }));
  for (const point of points) {
    const title = draw("title");
    title.textContent = tell(point);
    const dot = draw("circle", { cx: across(point[0]), cy: down(point[1]), r: 3 });
    dot.append(title);
    drawing.append(dot);
  }
  return drawing;
}

function versionRow(one, model) {
  const number = (text) => make("td", { class: "number" }, text);
  const isUsed = one.version === model.version;
  const state = one.refused ? `refused: ${one.refused}` : isUsed ? "in use" : "";
  return make("tr", isUsed ? { class: "now" } : {},
    number(String(one.version)),
    make("td", {}, one.made),
    number(String(one.classes)),
    ...[one.all, one.old, one.new, one.forgotten].map((value) => number(percent(value))),
    make("td", one.refused ? { class: "refused" } : {}, state));
}

function draw(tag, attributes = {}) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
