// Questions to the server. The token, where one is needed, comes from the address or from the user.
const KEY = "remanence-token";
const images = new Map();

if (location.hash.startsWith("#token=")) {
  sessionStorage.setItem(KEY, decodeURIComponent(location.hash.slice(7)));
  history.replaceState(null, "", location.pathname);
}

export async function ask(path, options = {}) {
  for (;;) {
    const answer = await sent(path, options);
    if (answer.status === 401) {
      await newToken();
    } else {
      return checked(answer);
    }
  }
}

// The address of a photograph that is kept; an image cannot send a token, so it is fetched then.
export function keptImage(hash) {
  const path = `api/kept/${hash}`;
  if (!sessionStorage.getItem(KEY)) return Promise.resolve(path);
  if (!images.has(hash)) {
    images.set(hash, ask(path).then((answer) => answer.blob()).then(URL.createObjectURL));
  }
  return images.get(hash);
}

async function sent(path, options) {
  const token = sessionStorage.getItem(KEY);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  try {
    return await fetch(path, { ...options, headers });
  } catch {
    throw new Error("the server does not answer: is it still running?");
  }
}

async function checked(answer) {
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Error(told.error ?? `the server answered ${answer.status}`);
}

function newToken() {
  const door = document.querySelector("#door"), field = door.querySelector("input");
  door.querySelector(".problem").hidden = !sessionStorage.getItem(KEY);
  return new Promise((entered) => {
    door.addEventListener("close", () => {
      sessionStorage.setItem(KEY, field.value.trim());
      field.value = "";
      entered();
    }, { once: true });
    if (!door.open) door.showModal();
  });
}
