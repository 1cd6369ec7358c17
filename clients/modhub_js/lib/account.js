import {ModhubError, SignedOut} from "./errors.js";
import {events, wait} from "./waiting.js";

/** Seconds before its end in which an access token is not used any more. */
const SPARE_SECONDS = 60;
const STILL_WAITING = ["authorization_pending", "slow_down", "email_not_confirmed", "offline", "timeout", "busy"];

/** The session: who is signed in, and the tokens, which nothing but the store and the service ever sees. */
export function createAccount(transport, store, lock, client) {
  const {on, emit} = events();
  const locked = (work) => lock(`modhub ${transport.origin} session`, work);
  const sessionOf = () => store.get("session");

  async function send(method, path, options) {
    if (!transport.isPrivate) throw new ModhubError("insecure", "Nothing secret is sent without https.");
    return transport.json(method, path, options);
  }

  const post = (path, json, options) => send("POST", path, {json, patient: false, ...options});

  /** Stored before anybody uses it: the token before it is dead. */
  async function keep({expiresInSeconds, ...session}) {
    await store.set("session", {...session, until: Date.now() + (expiresInSeconds - SPARE_SECONDS) * 1000});
    return identity(session);
  }

  /** One at a time over all windows. Who comes second finds another token than the dead one, and takes that. */
  const refresh = (dead) =>
    locked(async () => {
      const session = await sessionOf();
      if (!session) throw new SignedOut();
      if (session.accessToken !== dead) return session.accessToken;
      try {
        await keep(await post("/api/auth/refresh", {refreshToken: session.refreshToken, client}, {patient: true}));
      } catch (error) {
        if (error.status !== 401) throw error;
        // Without a lock over all windows another one may have been first.
        const newer = await sessionOf();
        if (newer && newer.refreshToken !== session.refreshToken) return newer.accessToken;
        await store.delete("session");
        emit("signed-out");
        throw new SignedOut(error);
      }
      return (await sessionOf()).accessToken;
    });

  return {
    on,

    /** Who is signed in as far as is known here, null for nobody. */
    current: async () => identity(await sessionOf()),

    /**
     * Sign in by another device: `show` gets the code that the person types at `verificationUrl`, and is called again,
     * with `problem`, while the address has to be confirmed first.
     */
    async pair(show, {signal} = {}) {
      const {deviceCode, ...shown} = await post("/api/auth/device", {client}, {signal});
      const end = Date.now() + shown.expiresInSeconds * 1000;
      await show(shown);
      for (let problem; ; ) {
        await wait(shown.intervalSeconds * 1000, signal);
        try {
          return await keep(await post("/api/auth/device/token", {deviceCode}, {signal, patient: true}));
        } catch (error) {
          if (!STILL_WAITING.includes(error.code) || Date.now() > end) throw error;
          if (error.code === "email_not_confirmed" && !problem) await show({...shown, problem: (problem = error.code)});
        }
      }
    },

    /** `askCode` is asked for the second factor, with a sentence for the person; null gives up. */
    async signIn(email, password, askCode) {
      for (let code; ; ) {
        try {
          return await keep(await post("/api/auth/login", {email, password, code, client}));
        } catch (error) {
          code = error.body?.twoFactorRequired ? await askCode?.(error.message) : null;
          if (!code) throw error;
        }
      }
    },

    async signOut() {
      const session = await locked(async () => {
        const ended = await sessionOf();
        await store.delete("session");
        return ended;
      });
      if (!session) return;
      emit("signed-out");
      await post("/api/auth/logout", {refreshToken: session.refreshToken}).catch(() => {});
    },

    /** A call as this account, with a fresh token if the service knows this one no more. */
    async json(method, path, {headers, ...options} = {}) {
      const session = await sessionOf();
      if (!session) throw new SignedOut();
      const sendAs = (token) =>
        send(method, path, {...options, headers: {...headers, Authorization: `Bearer ${token}`}});
      if (session.until < Date.now()) return sendAs(await refresh(session.accessToken));
      try {
        return await sendAs(session.accessToken);
      } catch (error) {
        // Owner calls are 401 for a mod of somebody else too; only of a dead token the challenge speaks.
        if (!error.isTokenDead) throw error;
        return sendAs(await refresh(session.accessToken));
      }
    },
  };
}

const identity = (session) => (session ? {accountId: session.accountId, displayName: session.displayName} : null);
