import {ModhubError} from "./errors.js";
import {wait} from "./waiting.js";

const ATTEMPTS = 4;
const LONGEST_WAIT = 60;
const JSON_SECONDS = 30;
const UPLOAD_SECONDS = 900;
const ANSWERS_KEPT = 100;
const FIXED = {redirect: "error", credentials: "omit", cache: "no-store"};
/** Programs of pages cannot set it, and the service's preflight does not know it. */
const NAMES_ITSELF = typeof document === "undefined" && typeof importScripts === "undefined";

/** Sends requests to one origin: tries again, keeps answers with their ETags, follows no address elsewhere. */
export function createTransport(url, agent, fetch = globalThis.fetch) {
  const {origin, protocol, hostname, href} = new URL(url);
  if (!/^https?:$/.test(protocol) || href !== `${origin}/`)
    throw new TypeError("The service's address must be like https://mods.example.org");
  const program = agent && NAMES_ITSELF ? {"User-Agent": agent} : {};
  /** The newest answers by address, the one that was used last at the end. */
  const kept = new Map();

  function keep(address, answer) {
    kept.delete(address);
    kept.set(address, answer);
    if (kept.size > ANSWERS_KEPT) kept.delete(kept.keys().next().value);
    // Parsed each time: each caller has an object of its own.
    return parse(answer.text);
  }

  /** An address that the service has sent, whole. */
  function resolve(path) {
    const address = new URL(path, origin);
    if (address.origin === origin) return address;
    throw new ModhubError("foreign_address", "The service sent an address elsewhere.");
  }

  /** One request, whose answer may be a refusal; rejects if there is no answer. */
  const send = (address, {headers, ...options}) =>
    fetch(address.href, {...options, ...FIXED, headers: {...program, ...headers}});

  /**
   * The JSON of an answer, null if it is empty. `again`: the call may be repeated when no answer came; `patient`: it
   * waits when asked to; `absent` is what a 404 means.
   */
  async function json(method, path, options = {}) {
    const {query = {}, headers, signal, again = method !== "POST", patient = true, absent} = options;
    const address = resolve(path);
    for (const [name, value] of Object.entries(query)) if (value != null) address.searchParams.set(name, value);
    const isPublic = method === "GET" && !headers;
    const old = isPublic && kept.get(address.href);
    const body = options.json ? JSON.stringify(options.json) : options.body;
    const sent = {Accept: "application/json", ...(options.json && {"Content-Type": "application/json"}), ...headers};
    if (old) sent["If-None-Match"] = old.etag;
    for (let left = ATTEMPTS - 1; ; left--) {
      const timeout = AbortSignal.timeout(1000 * (body instanceof Blob ? UPLOAD_SECONDS : JSON_SECONDS));
      let answer, text;
      try {
        const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
        answer = await send(address, {method, body, headers: sent, signal: either});
        text = await answer.text();
      } catch (error) {
        signal?.throwIfAborted();
        if (!again || !left) throw unanswered(error, timeout.aborted);
        await wait(pauseOf(ATTEMPTS - left), signal);
        continue;
      }
      if (answer.status === 304 && old) return keep(address.href, old);
      const etag = answer.headers.get("ETag");
      if (answer.ok) return isPublic && etag ? keep(address.href, {etag, text}) : parse(text || "null");
      if (answer.status === 404 && absent) return absent;
      const error = refusal(answer, text);
      if (!left || !patient || ![429, 503].includes(error.status) || !(error.retryAfter <= LONGEST_WAIT)) throw error;
      await wait(error.retryAfter * 1000 + Math.random() * 250, signal);
    }
  }

  /** Whether nobody on the way can read what is sent. */
  const isPrivate = protocol === "https:" || /^(localhost|127\..*|\[::1\])$/.test(hostname);
  return {origin, isPrivate, resolve, send, json};
}

/** Milliseconds before the next attempt: half a second, doubled each time, and up to half as much at random. */
export const pauseOf = (attempt) => 500 * 2 ** (attempt - 1) * (1 + Math.random() / 2);

export function unanswered(cause, timedOut = false) {
  if (timedOut) return new ModhubError("timeout", "The service did not answer in time.", {cause});
  return new ModhubError("offline", "The service cannot be reached.", {cause});
}

/** The error that an answer means. */
export function refusal({status, headers}, text) {
  const body = /json/.test(headers.get("Content-Type")) ? parse(text) : {};
  const asked = headers.get("Retry-After") ?? body.retryAfterSeconds;
  return new ModhubError(body.error ?? `http_${status}`, body.message ?? `The service answered ${status}.`, {
    status,
    requestId: headers.get("X-Request-Id"),
    retryAfter: Number(asked) || undefined,
    body,
    isTokenDead: /invalid_token/.test(headers.get("WWW-Authenticate")),
  });
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ModhubError("bad_answer", "The service's answer is no JSON.", {cause});
  }
}
