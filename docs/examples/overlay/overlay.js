// An overlay's page: it lists 20 mods, installs one with all that it requires, and updates. Serve the repository's folder,
// and open docs/examples/overlay/?service=https://mods.example.org
import {Blocked, createClient} from "modhub-client";
import {indexedDbFiles} from "modhub-client/files/indexeddb";
import {indexedDbStore} from "modhub-client/stores/indexeddb";

const url = new URLSearchParams(location.search).get("service");
const modhub = createClient({url, agent: "Example", store: indexedDbStore(), files: indexedDbFiles()});
const list = document.querySelector("ul");
const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const say = (sentence) => (status.textContent = sentence);

/** Run it, and say how it ended. */
async function attempt(work) {
  try {
    say((await work()) ?? "");
  } catch (error) {
    say(`${error.message} (${error.code ?? error.name})`);
  }
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function card(mod, details, isInstalled) {
  const picture = mod.picture(320);
  const image = picture ? [element("img", {src: picture, alt: "", crossOrigin: "anonymous"})] : [];
  const facts = [mod.version, details?.author?.displayName, details && `▲ ${details.votes.ups} ▼ ${details.votes.downs}`];
  const button = element("button", {
    textContent: isInstalled ? "Remove" : "Install",
    onclick: () => attempt(() => (isInstalled ? remove(mod) : install(mod))),
  });
  button.setAttribute("aria-label", `${button.textContent} ${mod.title}`);
  return element("li", {}, ...image, element("h2", {}, mod.title), element("p", {}, facts.filter(Boolean).join(" · ")), button);
}

/** Two requests, and the pictures. */
async function show() {
  const mods = await modhub.search(form.q.value).next();
  const details = await modhub.details(mods);
  const installed = new Set((await modhub.installed()).map((mod) => mod.guid));
  list.replaceChildren(...mods.map((mod) => card(mod, details.get(mod.guid), installed.has(mod.guid))));
}

async function install(mod, allow = []) {
  const progress = ({title, received, bytes}) => say(`${title}: ${Math.round((100 * received) / bytes)} %`);
  try {
    const placed = await modhub.install([mod.guid], {allow, progress});
    await show();
    return `Installed ${placed.map((one) => one.title).join(", ")}`;
  } catch (error) {
    if (!(error instanceof Blocked) || !confirm(question(error.plan))) throw error;
    return install(mod, ["missing", "conflicts", "advised"]);
  }
}

function question({missing, conflicts, advised}) {
  const warnings = advised.map((one) => `${one.title}: ${one.reason} ${one.advice}`);
  return [`Missing: ${missing.length}. In conflict: ${conflicts.length}.`, ...warnings, "Install all the same?"].join("\n");
}

async function remove(mod) {
  const removed = await modhub.remove([mod.guid]);
  await show();
  return `Removed ${removed.length}`;
}

async function update() {
  const placed = await modhub.update();
  await show();
  return placed.length ? `Updated ${placed.map((one) => `${one.title} ${one.version}`).join(", ")}` : "Nothing is new.";
}

form.onsubmit = (event) => {
  event.preventDefault();
  attempt(show);
};
document.querySelector("#update").onclick = () => attempt(update);
modhub.follow().on("update", ({changed}) => say(`${changed.length} updates`));
attempt(show);
