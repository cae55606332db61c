// A lesson: a name, photographs of it, and how far it is.
import { ask } from "./api.js";
import { find, make, trying, whenDropped } from "./parts.js";

const FEWEST = 2, SHOWN = 30, PAUSE = 400;
const section = find("#teach"), form = find("form", section), name = find("#class");
const lesson = find("#lesson"), bar = find("progress", lesson), stop = find("#stop");
let chosen = [];
let sent = { name: "", chosen: [] };

export function startTeaching(limits, sawVersion) {
  section.hidden = false;
  whenDropped(find(".drop", section), (photographs) => {
    chosen.push(...photographs.map((file) => ({ file, address: URL.createObjectURL(file) })));
    show();
  });
  find("#clear").addEventListener("click", clear);
  const end = () => ask("api/teaching", { method: "DELETE" });
  stop.addEventListener("click", () => trying(section, end));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    trying(section, async () => {
      check(limits());
      await send();
      await follow(sawVersion);
    });
  });
  trying(section, async () => {
    if (isBusy(await standing())) await follow(sawVersion); // begun before this page was opened
  });
}

function check(limits) {
  const large = chosen.find(({ file }) => file.size > limits.photograph);
  const sum = chosen.reduce((all, { file }) => all + file.size, 0);
  if (chosen.length < FEWEST) {
    throw new Error("drop two photographs of it or more: one to learn from, one to measure with");
  }
  if (large) {
    throw new Error(`${large.file.name} has more than ${limits.photograph.toLocaleString()} bytes`);
  }
  if (chosen.length > limits.photographs || sum > limits.lesson) {
    throw new Error(`a lesson takes ${limits.photographs} photographs: teach it in several`);
  }
}

async function send() {
  const body = new FormData();
  body.append("class", name.value);
  for (const { file } of chosen) body.append("photographs", file, file.name);
  enable(false);
  tell({ state: "receiving", doing: `sending ${chosen.length} photographs`, notes: [] });
  try {
    tell(await (await ask("api/teach", { method: "POST", body })).json());
  } catch (error) {
    lesson.hidden = true;
    enable(true);
    throw error;
  }
  sent = { name: name.value, chosen };
  name.value = "";
  chosen = [];
  show();
}

async function follow(sawVersion) {
  enable(false);
  try {
    let now = await standing();
    while (isBusy(now)) {
      tell(now);
      await new Promise((go) => setTimeout(go, PAUSE));
      now = await standing();
    }
    tell(now);
    if (now.state === "learned") forget(sent.chosen);
    else putBack();
    sawVersion(null);
  } finally {
    enable(true);
  }
}

// What came to nothing may be sent again, with more photographs or under another name.
function putBack() {
  if (chosen.length || name.value) return;
  ({ chosen } = sent);
  name.value = sent.name;
  show();
}

const standing = async () => (await ask("api/teaching")).json();
const isBusy = (now) => now.state === "running" || now.state === "receiving";

function tell(now) {
  const counted = now.planned > 0 && now.done < now.planned;
  lesson.hidden = false;
  lesson.className = now.state;
  bar.hidden = stop.hidden = !isBusy(now);
  if (now.state !== "running") stop.hidden = true;
  if (counted) {
    bar.max = now.planned;
    bar.value = now.done;
  } else {
    bar.removeAttribute("value");
  }
  const of = now.name ? `${now.name}: ` : "", far = counted ? `, ${now.done} of ${now.planned}` : "";
  find(".line", lesson).textContent = now.line || `${of}${now.doing}${far} …`;
  find(".notes", lesson).replaceChildren(...now.notes.map((note) => make("li", {}, note)));
}

function show() {
  const thumbs = chosen.slice(0, SHOWN).map((one) => {
    const title = one.file.name, about = { "aria-label": `leave out ${title}`, title };
    const image = make("img", { src: one.address, alt: "", decoding: "async" });
    const button = make("button", { type: "button", ...about }, image);
    button.addEventListener("click", () => leaveOut(one));
    return make("li", {}, button);
  });
  const count = chosen.length > SHOWN ? `and ${chosen.length - SHOWN} more` : `${chosen.length}`;
  if (chosen.length) thumbs.push(make("li", { class: "more" }, count));
  find(".chosen", section).replaceChildren(...thumbs);
  find("#clear").hidden = chosen.length === 0;
}

function leaveOut(one) {
  const place = chosen.indexOf(one);
  forget(chosen.splice(place, 1));
  show();
  const buttons = section.querySelectorAll(".chosen button");
  (buttons[Math.min(place, buttons.length - 1)] ?? find("#photographs")).focus();
}

function clear() {
  forget(chosen);
  chosen = [];
  show();
}

function forget(photographs) {
  for (const { address } of photographs) URL.revokeObjectURL(address);
}

function enable(yes) {
  for (const button of form.querySelectorAll(".buttons button")) button.disabled = !yes;
}
