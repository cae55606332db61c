// The page: what the model knows, a place to ask it, and one to teach it.
import { ask } from "./api.js";
import { showModel } from "./classes.js";
import { startLooking } from "./look.js";
import { startTeaching } from "./teach.js";
import { find } from "./parts.js";

let model = null;

async function refresh() {
  try {
    model = await (await ask("api/classes")).json();
    showModel(model);
  } catch (error) {
    find("#summary").textContent = error.message;
  }
}

const limits = () => model?.limits ?? { photograph: Infinity, lesson: Infinity, photographs: Infinity };
const sawVersion = (version) => (model && version === model.version ? undefined : refresh());

// A photograph that misses its field must not replace the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());

await refresh();
startLooking(limits, sawVersion);
if (model?.teaches) startTeaching(limits, sawVersion);
document.documentElement.dataset.ready = "true";
