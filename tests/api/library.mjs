// What test_javascript_library.py has the library do: `node library.mjs SCENARIO JSON`. Prints what it found as JSON.
import {mkdtemp, readdir, readFile, stat} from "node:fs/promises";
import net from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {cleanName} from "../../clients/modhub_js/lib/names.js";
import {Blocked, createClient, Damaged, SignedOut, StoreFull} from "../../clients/modhub_js/index.js";
import {memoryFiles} from "../../clients/modhub_js/files/memory.js";
import {nodeFiles} from "../../clients/modhub_js/files/node.js";
import {fileLock, fileStore} from "../../clients/modhub_js/stores/file.js";
import {memoryStore} from "../../clients/modhub_js/stores/memory.js";

const [scenario, given] = [process.argv[2], JSON.parse(process.argv[3])];
const say = (value) => console.log(JSON.stringify(value));

/** A client, and the requests that it sends; `before(request)` may answer in place of the service. */
function clientOf({url = given.url, store = memoryStore(), files = memoryFiles(), lock, before = () => {}} = {}) {
  const sent = [];
  const counted = async (address, options) => {
    const request = `${options.method ?? "GET"} ${new URL(address).pathname}`;
    sent.push(request);
    const answer = (await before(request, address, options)) ?? (await fetch(address, options));
    if (answer.status >= 400 || answer.status === 304) sent[sent.lastIndexOf(request)] += ` ${answer.status}`;
    return answer;
  };
  const client = createClient({url, agent: "Library test/1", store, files, lock, fetch: counted});
  return {client, sent, store, files};
}

/** The service through a proxy that cuts the first connection on which this many bytes have come back. */
async function cutting(bytes) {
  const target = new URL(given.url);
  let cuts = 0;
  const server = net.createServer((near) => {
    const far = net.connect(Number(target.port), target.hostname);
    let seen = 0;
    near.pipe(far);
    far.on("data", (chunk) => {
      seen += chunk.length;
      if (cuts || seen < bytes) return void near.write(chunk);
      cuts++;
      near.write(chunk.subarray(0, chunk.length / 2), () => near.destroy());
    });
    for (const [one, other] of [[near, far], [far, near]]) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {url: `http://127.0.0.1:${server.address().port}`, cuts: () => cuts, close: () => server.close()};
}

async function authorOf(name, options) {
  const made = clientOf(options);
  await made.client.account.signIn(`${name}@example.org`, given.password);
  return made;
}

/** How many pictures and bytes the cards of these mods have, once the small copies are made. */
async function smallPictures(mods) {
  let bytes = 0;
  for (const mod of mods) {
    let answer;
    do answer = await fetch(mod.picture(320), {headers: {Accept: "image/webp"}});
    while (answer.headers.get("Content-Type") !== "image/webp" && !(await new Promise((done) => setTimeout(done, 200))));
    bytes += (await answer.arrayBuffer()).byteLength;
  }
  return {pictures: mods.length, bytes};
}

const failure = (promise) => promise.then(() => null, (error) => error);
const text = (words) => new Blob([words]);

const scenarios = {
  names: async () => given.names.map(cleanName),

  async browse() {
    const {client, sent} = clientOf();
    const pages = client.search("Shown", {size: 20});
    const mods = await pages.next();
    const details = await client.details(mods);
    const data = sent.splice(0);
    const shown = await smallPictures(mods);
    await client.search("Shown", {size: 20}).next();
    const found = [];
    for await (const mod of client.search("Shown", {size: 15})) found.push(mod.guid);
    const facts = {total: pages.total, authors: mods.every((mod) => details.get(mod.guid).author.displayName)};
    return {...facts, data, again: sent[0], shown, found: new Set(found).size, frame: mods[0].frame()};
  },

  /** A chain, through a connection that is cut, while the author replaces a file. */
  async chain() {
    const folder = await mkdtemp(join(tmpdir(), "library-"));
    const author = await authorOf("author");
    const proxy = await cutting(100_000);
    let replaced = null;
    const before = async (request) => {
      if (!request.startsWith("GET /Modhub/file/") || replaced !== null) return;
      replaced = given.chain.at(-1);
      const {id} = await author.client.mod(replaced);
      const query = {version: "2", name: "new.js"};
      await author.client.account.json("POST", `/api/modhub/${id}/code`, {query, body: text("new")});
    };
    const {client, sent} = clientOf({url: proxy.url, files: nodeFiles(folder), store: fileStore(join(folder, ".state")), before});
    let last;
    const placed = await client.install([given.chain.at(-1)], {progress: (told) => (last = told)});
    const names = await Promise.all(placed.map((mod) => readdir(join(folder, mod.guid))));
    const damage = await client.verify();
    await client.remove([given.chain.at(-1)]);
    const left = (await readdir(folder)).filter((name) => !name.startsWith("."));
    proxy.close();
    return {order: placed.map((mod) => mod.guid), names, damage, left, last, cuts: proxy.cuts(), sent, replaced};
  },

  /** What was installed changes on the service; a run is killed while files are put in place. */
  async update() {
    const author = await authorOf("author");
    const {client, files, store, sent} = clientOf();
    const [required, mod] = given.pair;
    await client.install([mod]);
    const fresh = await client.updates();
    await author.client.publish({guid: mod, title: "Pair", version: "2", code: text("two"), name: "two.js", requires: []});
    sent.length = 0;
    const found = await client.updates();
    const asked = [...sent];
    const put = files.put;
    files.put = () => Promise.reject(new Error("killed"));
    const killed = await failure(client.update());
    files.put = put;
    const suspect = await store.get("suspect");
    const placed = await client.update();
    const installed = (await client.installed()).map((one) => one.guid);
    await files.remove(mod, "two.js");
    const damage = await client.verify();
    const repaired = await client.update();
    return {fresh, found, asked, killed: killed.message, suspect, placed, installed, required, damage, repaired, after: await client.verify()};
  },

  async refusals() {
    const full = memoryFiles();
    full.parts.append = () => Promise.reject(Object.assign(new Error("full"), {code: "ENOSPC"}));
    const [, mod] = given.pair;
    const spoil = async (request, address, options) => {
      if (!request.startsWith("GET /Modhub/file/")) return;
      const answer = await fetch(address, options);
      const bytes = new Uint8Array(await answer.arrayBuffer()).fill(7);
      return new Response(bytes, {status: answer.status, headers: answer.headers});
    };
    const planned = (sha256, url) => (request) => {
      if (request !== "POST /api/modhub/plan") return;
      const step = {guid: mod, action: "install", name: "x", bytes: 1, sha256, url};
      const entries = [{guid: mod, sha256, version: "1"}];
      const lists = {missing: [], conflicts: [], stillInstalled: []};
      return Response.json({steps: [step], lock: {entries}, ...lists});
    };
    const digest = "0".repeat(64);
    const busy = [];
    const wait = () => {
      if (busy.push(1) < 3) return Response.json({error: "busy"}, {status: 503, headers: {"Retry-After": "1"}});
    };
    const errors = {
      blocked: await failure(clientOf().client.install([given.missing])),
      damaged: await failure(clientOf({before: spoil}).client.install([mod])),
      full: await failure(clientOf({files: full}).client.install([mod])),
      elsewhere: await failure(clientOf({before: planned(digest, "https://evil.example/x")}).client.install([mod])),
      unsafe: await failure(clientOf({before: planned("../../x", "/Modhub/file/1")}).client.install([mod])),
      signedOut: await failure(clientOf().client.vote(mod, 1)),
      unknown: await failure(clientOf().client.mod(999_999)),
      offline: await failure(clientOf({url: "http://127.0.0.1:9"}).client.vote(mod, 1)),
      insecure: await failure(clientOf({url: "http://mods.example.org"}).client.account.signIn("a@example.org", "b")),
    };
    const classes = [errors.blocked instanceof Blocked, errors.damaged instanceof Damaged, errors.full instanceof StoreFull];
    const patient = (await clientOf({before: wait}).client.search("").next()).length > 0;
    return {
      codes: Object.fromEntries(Object.entries(errors).map(([name, error]) => [name, error.code ?? error.name])),
      requestId: errors.unknown.requestId,
      missing: errors.blocked.plan.missing.map((one) => one.guid),
      classes: [...classes, errors.signedOut instanceof SignedOut],
      attempts: busy.length,
      patient,
      allowed: (await clientOf().client.install([given.missing], {allow: ["missing"]})).length,
    };
  },

  async pair() {
    const folder = await mkdtemp(join(tmpdir(), "library-"));
    const {client, sent} = clientOf({store: fileStore(join(folder, "state"))});
    const account = await client.account.pair((shown) => say(shown));
    const {mode} = await stat(join(folder, "state", "session.json"));
    const me = await client.account.json("GET", "/api/auth/me");
    return {account, me, sent, mode: mode & 0o777, current: await client.account.current()};
  },

  async signIn() {
    const asked = [];
    const {client} = clientOf();
    const codes = [null, "000000", ...given.codes];
    const askCode = async (why) => {
      asked.push(why);
      return codes[asked.length];
    };
    const account = await client.account.signIn(given.email, given.password, askCode);
    const given_up = await failure(clientOf().client.account.signIn(given.email, given.password, async () => null));
    let ended = 0;
    client.account.on("signed-out", () => ended++);
    await client.account.signOut();
    return {account, asked: asked.length, givenUp: given_up.body.twoFactorRequired, ended, after: await client.account.current()};
  },

  /** Two clients of one process, and another process at the same time, with a token that has run out. */
  async refresh() {
    const [one, two] = [0, 1].map(() => clientOf({store: fileStore(given.folder), lock: fileLock(given.folder)}));
    const votes = await Promise.all([one, two].map(({client}) => client.vote(given.mod, 1)));
    return {votes, refreshes: [...one.sent, ...two.sent].filter((request) => request.endsWith("/refresh")).length};
  },

  async expire() {
    const store = fileStore(given.folder);
    await (await authorOf("voter", {store})).client.account.current();
    await store.set("session", {...(await store.get("session")), until: 0});
  },

  /** The answers of one upload and of the publication are lost; then all of it again. */
  async publish() {
    const steps = [];
    const image = new Blob([await readFile(given.image)], {type: "image/png"});
    const lose = (ending) => async (request, address, options) => {
      if (!request.startsWith("POST") || !request.endsWith(ending)) return;
      await fetch(address, options);
      throw new TypeError("lost");
    };
    const wanted = {
      title: "Published by the library",
      description: {markdown: "A **calm** HUD."},
      games: ["Portal"],
      requires: [given.pair[0]],
      version: "1.0",
      code: text("the code"),
      name: "hud.js",
      images: [{image, name: "night.png", caption: "At night"}],
      notes: {markdown: "The *first*."},
    };
    const errors = [];
    for (const ending of ["/code", "/images", "/publish"]) {
      const {client} = await authorOf("publisher", {before: lose(ending)});
      errors.push((await failure(client.publish(wanted, {publish: true}))).code);
    }
    const {client} = await authorOf("publisher");
    const {mod, rehearsal} = await client.publish(wanted, {publish: true, progress: (step) => steps.push(step)});
    const {mods} = await client.account.json("GET", "/api/modhub/mine");
    const notes = await client.changelog(mod.guid);
    const details = (await client.details([mod])).get(mod.guid);
    return {errors, mod, ready: rehearsal.ready, mods: mods.length, steps, notes, captions: details.captions};
  },

  async follow() {
    const {client} = clientOf();
    const author = await authorOf("author");
    await client.install([given.mod]);
    await author.client.publish({guid: given.mod, title: "Followed", version: "2", code: text("newer"), name: "a.js"});
    const follower = client.follow({every: 10_000, app: "windows"});
    const told = (name) => new Promise((resolve) => follower.on(name, resolve));
    const [update, app] = await Promise.all([told("update"), told("app")]);
    follower.stop();
    const lost = clientOf({url: "http://127.0.0.1:9"}).client.follow();
    const offline = await new Promise((resolve) => lost.on("offline", resolve));
    lost.stop();
    return {changed: update.changed.map((one) => one.guid), app: app.version, offline: offline.code};
  },
};

const answer = await scenarios[scenario]();
if (answer !== undefined) say(answer);
