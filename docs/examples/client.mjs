// The parts 1 to 5 of docs/clients.md, for a page of any origin, Node.js or Electron.

// 1. Find mods

const service = "https://mods.example.org";
const guid = "6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90";

async function post(path, body) {
  const headers = {"Content-Type": "application/json"};
  const answer = await fetch(service + path, {method: "POST", headers, body: JSON.stringify(body)});
  if (!answer.ok) throw new Error((await answer.json()).message);
  return answer.json();
}

const {mods} = await post("/api/modhub/lookup", {guids: [guid]});
console.error(mods.map((mod) => mod.title));

// 2. Plan an installation

// What is in `have` and no longer published stands in `stillInstalled`: no reason to stop.
const plan = await post("/api/modhub/plan", {want: [guid], have: []});
if (plan.conflicts.length || plan.missing.length) throw new Error("Ask the user.");

// 3. Download, resume, verify

async function download({url, bytes: total, sha256}) {
  const address = new URL(url, service);
  if (address.origin !== new URL(service).origin) throw new Error("Not an address of this service.");
  let chunks = [];
  let size = 0;
  for (let pause = 1; size < total; pause *= 5) {
    const headers = size ? {Range: `bytes=${size}-`, "If-Range": `"${sha256}"`} : {"If-Match": `"${sha256}"`};
    try {
      const answer = await fetch(address, {headers, redirect: "error"});
      if (answer.status === 412) throw new RangeError("Replaced: ask for a new plan.");
      if (answer.status === 200) [chunks, size] = [[], 0];
      const reader = answer.ok ? answer.body.getReader() : null;
      for (let read = await reader?.read(); read && !read.done; read = await reader.read()) {
        chunks.push(read.value);
        size += read.value.byteLength;
      }
    } catch (error) {
      if (error instanceof RangeError) throw error;
    }
    if (size < total && pause > 125) throw new Error("The service cannot be reached: try again later.");
    if (size < total) await new Promise((resolve) => setTimeout(resolve, pause * 1000));
  }
  const bytes = await new Blob(chunks).arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (hex !== sha256) throw new Error("Damaged on the way: download it again.");
  return bytes;
}

const step = plan.steps.at(-1);
const bytes = await download(step);

// 4. Ask for updates

const installed = {guid, sha256: step.sha256, relations: step.relations};
const updates = await post("/api/modhub/updates", {have: [installed]});
if (updates.changed.length || updates.relationsChanged.length) console.error("Ask for a new plan.");

// 5. Follow the whole catalogue

let serial = 0;
let feed = "";
const known = new Map();
for (let more = true; more; ) {
  const answer = await fetch(`${service}/api/modhub/changes?since=${serial}&feed=${feed}&limit=1000`);
  const page = await answer.json();
  for (const change of page.changes.filter((one) => one.kind === "mod")) {
    if (change.what === "deleted") known.delete(change.guid);
    else known.set(change.guid, change.id);
  }
  ({serial, feed, more} = page);
}
