import {Damaged, Replaced} from "./errors.js";
import {sha256Of} from "./names.js";
import {pauseOf, refusal, unanswered} from "./transport.js";
import {wait} from "./waiting.js";

const FAILURES = 5;
const MISMATCHES = 3;
const SILENCE_SECONDS = 30;

/** A failure that passes: the request is made again for what is missing. */
class Passing {
  constructor(reason) {
    this.reason = reason;
  }
}

/**
 * One file on its way into its part, which may hold its beginning. `arrived` is told of bytes, negative ones when the
 * download begins again.
 */
export class Download {
  #transport;
  #file;
  #parts;
  #arrived;
  #size = 0;

  constructor(transport, file, parts, arrived) {
    this.#transport = transport;
    this.#file = file;
    this.#parts = parts;
    this.#arrived = arrived;
  }

  /**
   * Fetch it. At the end the part is complete and has the right SHA-256. `Replaced` if the service has another file
   * now, or none: the plan is out of date.
   */
  async run(signal) {
    const {guid, sha256, bytes} = this.#file;
    let [failures, mismatches, got] = [0, 0, null];
    this.#count(await this.#parts.size(guid, sha256));
    while (mismatches < MISMATCHES) {
      const before = this.#size;
      if (before >= bytes) {
        got = await sha256Of(await this.#parts.blob(guid, sha256));
        if (before === bytes && got === sha256) return;
        mismatches++;
        await this.#restart();
        continue;
      }
      try {
        await this.#receive(signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Passing)) throw error;
        failures = this.#size > before ? 1 : failures + 1;
        if (failures >= FAILURES) throw error.reason;
        await wait(Math.max(pauseOf(failures), (error.reason.retryAfter ?? 0) * 1000), signal);
      }
    }
    throw new Damaged(guid, sha256, got);
  }

  /** One request, given up when nothing arrives for a while. */
  async #receive(signal) {
    const {guid, sha256, bytes, url} = this.#file;
    const silence = new AbortController();
    let timer;
    const next = (promise) => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_SECONDS * 1000);
      return promise.catch((error) => {
        throw new Passing(unanswered(error, silence.signal.aborted));
      });
    };
    try {
      const start = {"If-Match": `"${sha256}"`};
      const headers = this.#size ? {Range: `bytes=${this.#size}-`, "If-Range": `"${sha256}"`} : start;
      const options = {headers, signal: AbortSignal.any([signal, silence.signal])};
      const answer = await next(this.#transport.send(this.#transport.resolve(url), options));
      await this.#check(answer);
      const reader = answer.body.getReader();
      // One byte more than the file has is enough to notice that it is another one.
      for (let read; this.#size <= bytes && !(read = await next(reader.read())).done; ) {
        const chunk = read.value.subarray(0, bytes + 1 - this.#size);
        await this.#parts.append(guid, sha256, chunk, this.#size);
        this.#count(chunk.length);
      }
      if (this.#size < bytes) throw new Passing(unanswered());
    } finally {
      clearTimeout(timer);
      // Ends a connection whose answer was not read to its end.
      silence.abort();
    }
  }

  /** Accept only an answer that is exactly what was asked for. */
  async #check(answer) {
    const {guid, sha256, bytes} = this.#file;
    if ([404, 410, 412].includes(answer.status)) throw new Replaced(guid);
    if (answer.ok) {
      if (answer.headers.get("ETag") !== `"${sha256}"`) throw new Replaced(guid);
      const range = `bytes ${this.#size}-${bytes - 1}/${bytes}`;
      if (answer.status === 206 && answer.headers.get("Content-Range") === range) return;
      if (this.#size) await this.#restart();
      if (answer.status === 200) return;
    }
    const error = refusal(answer, answer.ok ? "" : await answer.text());
    if (answer.status === 416) await this.#restart();
    throw answer.ok || answer.status === 416 || error.retryAfter <= 60 ? new Passing(error) : error;
  }

  async #restart() {
    await this.#parts.clear(this.#file.guid);
    this.#count(-this.#size);
  }

  #count(bytes) {
    this.#size += bytes;
    this.#arrived(bytes);
  }
}
