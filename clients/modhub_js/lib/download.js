import {Damaged, Replaced} from "./errors.js";
import {sha256Of} from "./names.js";
import {pauseOf, refusal, unanswered} from "./transport.js";
import {wait} from "./waiting.js";

const FAILURES = 5;
const MISMATCHES = 3;
const SILENCE_SECONDS = 30;
const LONGEST_WAIT = 60;

/** A failure that passes: the request is made again for what is missing. */
const passing = (error) => Object.assign(error, {isPassing: true});

/**
 * Fetch a file into its part, which may hold its beginning. At the end the part is complete and has the right SHA-256.
 * `Replaced` if the service has another file now, or none: the plan is out of date. `arrived` is told of bytes,
 * negative ones when the download begins again.
 */
export async function download(transport, {guid, sha256, bytes, url}, parts, {signal, arrived}) {
  const etag = `"${sha256}"`;
  let size = 0;

  function count(more) {
    size += more;
    arrived(more);
  }

  async function restart() {
    await parts.clear(guid);
    count(-size);
  }

  /** Accept only an answer that is exactly what was asked for. */
  async function check(answer) {
    const isOther = answer.ok && answer.headers.get("ETag") !== etag;
    if (isOther || [404, 410, 412].includes(answer.status)) throw new Replaced(guid);
    const range = `bytes ${size}-${bytes - 1}/${bytes}`;
    if (answer.status === 206 && answer.headers.get("Content-Range") === range) return;
    if (size && (answer.ok || answer.status === 416)) await restart();
    if (answer.status === 200) return;
    const error = refusal(answer, answer.ok ? "{}" : await answer.text().catch(() => "{}"));
    throw [206, 416].includes(error.status) || error.retryAfter <= LONGEST_WAIT ? passing(error) : error;
  }

  /** One request, given up when nothing arrives for a while. */
  async function receive() {
    const silence = new AbortController();
    let timer;
    const next = (promise) => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_SECONDS * 1000);
      return promise.catch((error) => {
        throw passing(unanswered(error, silence.signal.aborted));
      });
    };
    try {
      const headers = size ? {Range: `bytes=${size}-`, "If-Range": etag} : {"If-Match": etag};
      const options = {headers, signal: AbortSignal.any(signal ? [signal, silence.signal] : [silence.signal])};
      const answer = await next(transport.send(transport.resolve(url), options));
      await check(answer);
      const reader = answer.body.getReader();
      // One byte more than the file has is enough to notice that it is another one.
      for (let read; size <= bytes && !(read = await next(reader.read())).done; ) {
        const chunk = read.value.subarray(0, bytes + 1 - size);
        await parts.append(guid, sha256, chunk, size);
        count(chunk.length);
      }
      if (size < bytes) throw passing(unanswered());
    } finally {
      clearTimeout(timer);
      // Ends a connection whose answer was not read to its end.
      silence.abort();
    }
  }

  let got;
  count(await parts.size(guid, sha256));
  for (let failures = 0, mismatches = 0; mismatches < MISMATCHES; ) {
    const before = size;
    try {
      if (size < bytes) await receive();
      got = await sha256Of(await parts.blob(guid, sha256));
      if (size === bytes && got === sha256) return;
      mismatches++;
      await restart();
    } catch (error) {
      signal?.throwIfAborted();
      failures = size > before ? 1 : failures + 1;
      if (!error.isPassing || failures >= FAILURES) throw error;
      await wait(Math.max(pauseOf(failures), (error.retryAfter ?? 0) * 1000), signal);
    }
  }
  throw new Damaged(guid, sha256, got);
}
