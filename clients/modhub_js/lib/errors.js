/** What the service, the network or a rule of this library refused. */
export class ModhubError extends Error {
  /**
   * @param {string} code as in the API; "offline" and "timeout" when nobody answered
   * @param {string} message for people
   * @param {object} [facts] status, requestId, retryAfter (seconds), body, cause, and what an error of its own has
   */
  constructor(code, message, {cause, ...facts} = {}) {
    super(message, {cause});
    Object.assign(this, {name: new.target.name, code, status: 0, requestId: null}, facts);
  }
}

/** A plan that needs a person's consent: `plan.missing`, `plan.conflicts` or `plan.advised`. Nothing was changed. */
export class Blocked extends ModhubError {
  constructor(plan) {
    super("blocked", "Something is missing, in conflict, warned of, or still required.", {plan});
  }
}

/** The author replaced a file while it was downloaded, also after three new plans. */
export class Replaced extends ModhubError {
  constructor(guid) {
    super("replaced", "The file was replaced on the service meanwhile.", {guid});
  }
}

/** What arrived has another SHA-256 than the plan says. Nothing was changed. */
export class Damaged extends ModhubError {
  constructor(guid, expected, got) {
    super("damaged", "The bytes that arrive do not match the SHA-256 of the file.", {guid, expected, got});
  }
}

/** The disk, or the room that the browser gives, is full. Unfinished downloads were deleted. */
export class StoreFull extends ModhubError {
  constructor(cause) {
    super("store_full", "There is no room for the files.", {cause});
  }
}

/** Nobody is signed in, or the service has ended the session. */
export class SignedOut extends ModhubError {
  constructor(cause) {
    super("signed_out", "Sign in first.", {status: cause?.status, requestId: cause?.requestId, cause});
  }
}
