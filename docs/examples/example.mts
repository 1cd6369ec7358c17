// A client made by openapi-typescript: docs/clients.md, part 11.
import createClient from "openapi-fetch";
import type { paths } from "./modhub.js";

const service = "https://mods.example.org";

function need<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) throw new Error(`${answer.response.status} ${JSON.stringify(answer.error)}`);
  return answer.data;
}

// Everybody: find, read, plan, download.
const reader = createClient<paths>({ baseUrl: service });
const found = need(await reader.GET("/api/modhub", { params: { query: { q: "rally" } } }));
const id = found.mods[0]!.id;
const mod = need(await reader.GET("/api/modhub/{id}", { params: { path: { id } } }));
const plan = need(await reader.POST("/api/modhub/plan", { body: { want: [mod.guid] } }));
const digests = new Map(plan.lock.entries.map((entry) => [entry.guid, entry.sha256]));
for (const step of mod.install) {
  const sha256 = digests.get(step.guid);
  const params = { path: { id: step.id }, header: { "If-Match": `"${sha256}"` } };
  const bytes = need(await reader.GET("/api/modhub/{id}/download", { params, parseAs: "arrayBuffer" }));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (hex !== sha256) throw new Error("Damaged on the way: download it again.");
  console.log("downloaded", step.guid, hex);
}

// Authors: register, create, upload, publish, delete.
const account = { email: `ada-${crypto.randomUUID()}@example.org`, password: "a long sentence" };
const session = need(await reader.POST("/api/auth/register", { body: account }));
const headers = { Authorization: `Bearer ${session.accessToken}` };
const author = createClient<paths>({ baseUrl: service, headers });
const draft = need(await author.POST("/api/modhub", { body: { title: "My display", games: ["Portal 2"] } }));
const path = { id: draft.id };
const code = new TextEncoder().encode("the code of my mod");
need(
  await author.POST("/api/modhub/{id}/code", {
    params: { path, query: { version: "1.0", name: "display.zip" } },
    headers: { "Content-Type": "application/octet-stream" },
    body: "",
    bodySerializer: () => code,
  }),
);
const published = need(await author.POST("/api/modhub/{id}/publish", { params: { path } }));
console.log("published", published.id, published.version);
console.log("deleted", (await author.DELETE("/api/modhub/{id}", { params: { path } })).response.status);
