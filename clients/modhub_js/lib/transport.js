import {ModhubError} from "./errors.js";
import {wait} from "./waiting.js";

const ATTEMPTS = 4;
const LONGEST_WAIT = 60;
const JSON_SECONDS = 30;
const UPLOAD_SECONDS = 900;
const ANSWERS_KEPT = 100;
/** Programs of pages cannot set it, and the service's preflight does not know it. */
const NAMES_ITSELF = typeof document === "undefined" && typeof importScripts === "undefined";

/** Sends requests to one origin: tries again, keeps answers with their ETags, follows no address elsewhere. */
export class Transport {
  #fetch;
  #headers;
  /** The newest answers by address, the one that was used last at the end. */
  #kept = new Map();

  constructor(url, agent, fetch = globalThis.fetch) {
    const address = new URL(url);
    if (!/^https?:$/.test(address.protocol) || address.username || address.pathname !== "/" || address.search)
      throw new TypeError("The service's address must be like https://mods.example.org");
    this.origin = address.origin;
    /** Whether nobody on the way can read what is sent. */
    this.isPrivate = address.protocol === "https:" || /^(localhost|127\..*|\[::1\])$/.test(address.hostname);
    this.#fetch = (...words) => fetch(...words);
    this.#headers = agent && NAMES_ITSELF ? {"User-Agent": agent} : {};
  }

  /** An address that the service has sent, whole. */
  resolve(path) {
    const address = new URL(path, this.origin);
    if (address.origin !== this.origin) throw new ModhubError("foreign_address", "The service sent an address elsewhere.");
    return address;
  }

  /** The JSON of an answer, null if it is empty. `again`: the call may be repeated when no answer came. */
  async json(method, path, {query, json, body, headers, signal, again = method !== "POST", patient = true} = {}) {
    const address = this.resolve(path);
    for (const [name, value] of Object.entries(query ?? {})) if (value != null) address.searchParams.set(name, value);
    const isPublic = method === "GET" && !headers;
    const old = isPublic ? this.#kept.get(address.href) : undefined;
    const sent = {Accept: "application/json", ...headers};
    if (old) sent["If-None-Match"] = old.etag;
    if (json !== undefined) {
      body = JSON.stringify(json);
      sent["Content-Type"] = "application/json";
    }
    const seconds = body instanceof Blob ? UPLOAD_SECONDS : JSON_SECONDS;
    for (let attempt = 1; ; attempt++) {
      const tries = attempt < ATTEMPTS;
      const timeout = AbortSignal.timeout(seconds * 1000);
      let answer, text;
      try {
        const signals = AbortSignal.any(signal ? [signal, timeout] : [timeout]);
        answer = await this.send(address, {method, body, headers: sent, signal: signals});
        text = await answer.text();
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        if (!again || !tries) throw unanswered(error, timeout.aborted);
        await wait(pauseOf(attempt), signal);
        continue;
      }
      if (answer.status === 304 && old) return this.#keep(address, old);
      if (answer.ok) {
        const etag = answer.headers.get("ETag");
        const value = text ? parse(text) : null;
        return isPublic && etag ? this.#keep(address, {etag, text, value}) : value;
      }
      const error = refusal(answer, text);
      const isPassing = answer.status === 503 || answer.status === 429;
      if (!isPassing || !tries || !patient || !(error.retryAfter <= LONGEST_WAIT)) throw error;
      await wait(error.retryAfter * 1000 + Math.random() * 250, signal);
    }
  }

  /** One request, whose answer may be a refusal; rejects if there is no answer. */
  send(address, {headers, ...options}) {
    const fixed = {redirect: "error", credentials: "omit", cache: "no-store"};
    return this.#fetch(address.href, {...options, ...fixed, headers: {...this.#headers, ...headers}});
  }

  #keep(address, answer) {
    this.#kept.delete(address.href);
    this.#kept.set(address.href, {etag: answer.etag, text: answer.text});
    if (this.#kept.size > ANSWERS_KEPT) this.#kept.delete(this.#kept.keys().next().value);
    // Each caller has an object of its own.
    return answer.value ?? parse(answer.text);
  }
}

/** Milliseconds before the next attempt: half a second, doubled each time, and up to half as much at random. */
export const pauseOf = (attempt) => 500 * 2 ** (attempt - 1) * (1 + Math.random() / 2);

export function unanswered(cause, timedOut = false) {
  if (timedOut) return new ModhubError("timeout", "The service did not answer in time.", {cause});
  return new ModhubError("offline", "The service cannot be reached.", {cause});
}

/** The error that an answer means. */
export function refusal(answer, text) {
  const body = parse(text, {});
  const asked = Number(answer.headers.get("Retry-After") ?? body.retryAfterSeconds ?? NaN);
  const message = body.message ?? `The service answered ${answer.status}.`;
  const error = new ModhubError(body.error ?? `http_${answer.status}`, message, {
    status: answer.status,
    requestId: answer.headers.get("X-Request-Id"),
    retryAfter: Number.isFinite(asked) ? asked : undefined,
    body,
  });
  error.isTokenDead = /invalid_token/.test(answer.headers.get("WWW-Authenticate") ?? "");
  return error;
}

function parse(text, otherwise) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (otherwise !== undefined) return otherwise;
    throw new ModhubError("bad_answer", "The service's answer is no JSON.", {cause});
  }
}
