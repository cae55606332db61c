// Elements, drops, and lines that say what went wrong.
import { keptImage } from "./api.js";

export const find = (selector, within = document) => within.querySelector(selector);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const percent = (value, digits = 1) => (value == null ? "–" : value.toFixed(digits));

export function kept(hash, alt) {
  const image = make("img", { alt, loading: "lazy", decoding: "async" });
  keptImage(hash).then((address) => { image.src = address; }, () => {});
  return image;
}

// Photographs that are chosen or dropped, in a field; the same ones can be chosen again.
export function whenDropped(zone, use) {
  const input = find("input", zone);
  const take = (files) => {
    const photographs = [...files].filter((file) => !file.type || file.type.startsWith("image/"));
    if (photographs.length) use(photographs);
  };
  input.addEventListener("change", () => {
    take(input.files);
    input.value = "";
  });
  for (const kind of ["dragenter", "dragover"]) {
    zone.addEventListener(kind, (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) {
    zone.addEventListener(kind, () => zone.classList.remove("over"));
  }
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer.files);
  });
}

// Run something; what goes wrong is shown in the section it belongs to.
export async function trying(section, work) {
  const problem = find(".problem", section);
  problem.hidden = true;
  try {
    return await work();
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
    return undefined;
  }
}
