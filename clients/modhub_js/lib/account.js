import {ModhubError, SignedOut} from "./errors.js";
import {Events, wait} from "./waiting.js";

/** Seconds before its end in which an access token is not used any more. */
const SPARE_SECONDS = 60;
const STILL_WAITING = new Set(["authorization_pending", "slow_down", "email_not_confirmed", "offline", "timeout", "busy"]);

/** The session: who is signed in, and the tokens, which nothing but the store and the service ever sees. */
export class Account extends Events {
  #transport;
  #store;
  #lock;
  #label;

  constructor(transport, store, lock, label) {
    super();
    this.#transport = transport;
    this.#store = store;
    this.#lock = (work) => lock(`modhub ${transport.origin} session`, work);
    this.#label = label;
  }

  /** Who is signed in as far as is known here, null for nobody. */
  async current() {
    const session = await this.#store.get("session");
    return session ? {accountId: session.accountId, displayName: session.displayName} : null;
  }

  /**
   * Sign in by another device: `show` gets the code that the person types at `verificationUrl`, and is called again,
   * with `problem`, while the address has to be confirmed first.
   */
  async pair(show, {signal} = {}) {
    const {deviceCode, ...shown} = await this.#post("/api/auth/device", {client: this.#label}, {signal});
    await show(shown);
    const end = Date.now() + shown.expiresInSeconds * 1000;
    for (let told; ; ) {
      await wait(shown.intervalSeconds * 1000, signal);
      try {
        return await this.#keep(await this.#post("/api/auth/device/token", {deviceCode}, {signal}));
      } catch (error) {
        if (!STILL_WAITING.has(error.code) || Date.now() > end) throw error;
        if (error.code === "email_not_confirmed" && !told) await show({...shown, problem: (told = error.code)});
        if (error.code === "slow_down") await wait(error.retryAfter * 1000, signal);
      }
    }
  }

  /** `askCode` is asked for the second factor, with a sentence for the person; null gives up. */
  async signIn(email, password, askCode) {
    for (let code; ; ) {
      try {
        return await this.#keep(await this.#post("/api/auth/login", {email, password, code, client: this.#label}));
      } catch (error) {
        code = error.body?.twoFactorRequired ? await askCode?.(error.message) : null;
        if (!code) throw error;
      }
    }
  }

  async signOut() {
    const session = await this.#lock(async () => {
      const ended = await this.#store.get("session");
      await this.#store.delete("session");
      return ended;
    });
    if (!session) return;
    this.emit("signed-out");
    await this.#post("/api/auth/logout", {refreshToken: session.refreshToken}).catch(() => {});
  }

  /** A call as this account, with a fresh token if the service knows this one no more. */
  async json(method, path, options = {}) {
    const token = await this.#token();
    try {
      return await this.#as(token, method, path, options);
    } catch (error) {
      // Owner calls are 401 for a mod of somebody else too; only of a dead token the challenge speaks.
      if (!error.isTokenDead) throw error;
      return this.#as(await this.#refresh(token), method, path, options);
    }
  }

  #as(token, method, path, {headers, ...options}) {
    return this.#transport.json(method, path, {...options, headers: {...headers, Authorization: `Bearer ${token}`}});
  }

  async #post(path, json, options) {
    if (!this.#transport.isPrivate) throw new ModhubError("insecure", "Nothing secret is sent without https.");
    return this.#transport.json("POST", path, {json, patient: false, ...options});
  }

  /** Stored before anybody uses it: the token before it is dead. */
  async #keep({accessToken, refreshToken, expiresInSeconds, accountId, displayName}) {
    const until = Date.now() + (expiresInSeconds - SPARE_SECONDS) * 1000;
    await this.#store.set("session", {accessToken, refreshToken, until, accountId, displayName});
    return {accountId, displayName};
  }

  async #token() {
    const session = await this.#store.get("session");
    if (!session) throw new SignedOut();
    return session.until > Date.now() ? session.accessToken : this.#refresh(session.accessToken);
  }

  /** One at a time over all windows. Who comes second finds another token than the dead one, and takes that. */
  #refresh(dead) {
    return this.#lock(async () => {
      const session = await this.#store.get("session");
      if (!session) throw new SignedOut();
      if (session.accessToken !== dead) return session.accessToken;
      try {
        const json = {refreshToken: session.refreshToken, client: this.#label};
        await this.#keep(await this.#post("/api/auth/refresh", json, {patient: true}));
      } catch (error) {
        if (error.status !== 401) throw error;
        // Without a lock over all windows another one may have been first.
        const newer = await this.#store.get("session");
        if (newer && newer.refreshToken !== session.refreshToken) return newer.accessToken;
        await this.#store.delete("session");
        this.emit("signed-out");
        throw new SignedOut(error);
      }
      return (await this.#store.get("session")).accessToken;
    });
  }
}
