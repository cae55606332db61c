// A photograph, and what it shows.
import { ask } from "./api.js";
import { find, kept, make, percent, trying, whenDropped } from "./parts.js";

const section = find("#look"), answer = find("#answer"), preview = find(".shown img", section);
let asked = 0;

export function startLooking(limits, sawVersion) {
  const look = ([photograph]) => trying(section, async () => {
    const number = ++asked;
    if (photograph.size > limits().photograph) {
      throw new Error(`${photograph.name} has more than ${limits().photograph.toLocaleString()} bytes`);
    }
    section.setAttribute("aria-busy", "true");
    try {
      const found = await (await ask("api/predict", { method: "POST", body: photograph })).json();
      if (number !== asked) return; // another photograph was dropped meanwhile
      show(photograph, found);
      sawVersion(found.version);
    } finally {
      if (number === asked) section.removeAttribute("aria-busy");
    }
  });
  whenDropped(find(".drop", section), look);
  addEventListener("paste", (event) => {
    const photographs = [...event.clipboardData.files].filter((file) => file.type.startsWith("image/"));
    if (photographs.length) look(photographs);
  });
}

function show(photograph, found) {
  URL.revokeObjectURL(preview.src);
  preview.src = URL.createObjectURL(photograph);
  preview.alt = photograph.name;
  find(".odds", answer).replaceChildren(...found.predictions.map(odds));
  find(".near", answer).replaceChildren(...found.nearest.map(alike));
  find(".none", answer).hidden = found.nearest.length > 0;
  answer.hidden = false;
}

function odds(one) {
  const bar = make("span");
  bar.style.width = `${100 * one.probability}%`;
  return make("li", {},
    make("span", { class: "name" }, one.class),
    make("span", { class: "share" }, `${percent(100 * one.probability)} %`),
    make("span", { class: "rail", "aria-hidden": "true" }, bar));
}

function alike(one) {
  const name = one.class.replaceAll("_", "_\u200b"); // a line may end there
  return make("figure", { title: `${name}: ${one.file}` }, kept(one.hash, ""), make("figcaption", {}, name));
}
