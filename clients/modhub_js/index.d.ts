import type {components} from "./answers.js";

type Schemas = components["schemas"];
type PlanDocument = Schemas["PlanDocument"];
export type Guid = string;
export type ModDocument = Schemas["ModDocument"];
export type Details = Schemas["DetailDocument"];
export type Note = Schemas["NoteDocument"];
export type Build = Schemas["PlatformDocument"];
export type Advisory = Schemas["AdvisoryDocument"] & {guid: Guid; title: string};
export type Rehearsal = Schemas["RehearsalDocument"];
/** A GUID, a number of this service, or something that has a GUID. */
export type Ref = Guid | number | {guid: Guid; id?: number};

/** Keeps small values: the session, what is installed, the place in the feed. Keep secrets from other programs. */
export interface Store {
  get(key: string): Promise<any>;
  set(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<void>;
}

/** Keeps the files of mods. GUIDs and names are safe as parts of a path. */
export interface Files {
  read(guid: Guid, name: string): Promise<Blob | null>;
  /** The complete part becomes the file, in one step, and replaces one of this name. */
  put(guid: Guid, name: string, sha256: string): Promise<void>;
  remove(guid: Guid, name: string): Promise<unknown>;
  /** Downloads that are not complete or not in place yet. They may be forgotten at any time. */
  parts: {
    size(guid: Guid, sha256: string): Promise<number>;
    append(guid: Guid, sha256: string, bytes: Uint8Array, at: number): Promise<unknown>;
    blob(guid: Guid, sha256: string): Promise<Blob>;
    clear(guid: Guid): Promise<unknown>;
  };
}

/** Runs `work` while nobody else runs one under this name. */
export type Lock = <T>(name: string, work: () => Promise<T>) => Promise<T>;

export interface Options {
  /** The service's origin: `https://mods.example.org` */
  url: string;
  /** What your program is called, for `User-Agent` and the person's list of sessions: `MyOverlay/2.1` */
  agent: string;
  /** Of this service alone. */
  store: Store;
  /** Only to install. */
  files?: Files;
  fetch?: typeof fetch;
  /** Over all windows and processes that share the store. Web Locks where the browser has them, else this process. */
  lock?: Lock;
}

export interface Mod extends ModDocument {
  /** In the order of installation, this one last; only of `mod()`. */
  install?: ModDocument[];
  missing?: Guid[];
  /** The address of an image for a card (320 or 640, 16:9) or whole (1280); null if there is none. */
  picture(width?: 320 | 640 | 1280, place?: number): string | null;
  file(kind?: "code" | "css"): Schemas["AssetDocument"] | null;
  /** The description for `<iframe sandbox srcdoc>`. */
  frame(): string;
}

export interface Pages<T> extends AsyncIterable<T> {
  /** The next page; an empty list after the last. */
  next(): Promise<T[]>;
  /** All matches; null before the first page. */
  readonly total: number | null;
  readonly more: boolean;
}

export interface Plan extends PlanDocument {
  want: Guid[];
  steps: (Schemas["StepDocument"] & {version: string})[];
  advised: Advisory[];
  /** Whether nobody has to be asked. */
  ok: boolean;
  /** Only of a refused `remove`: the steps that are still required. */
  required?: Schemas["StepDocument"][];
}

export interface Installed {
  guid: Guid;
  title: string;
  version: string;
  name: string;
  bytes: number;
  sha256: string;
  uploadedAt: string;
  relations: string;
  /** Whether it was asked for, and not only required. */
  wanted: boolean;
}

export interface Progress {
  guid: Guid;
  title: string;
  received: number;
  bytes: number;
}

export interface InstallOptions {
  allow?: ("missing" | "conflicts" | "advised")[];
  signal?: AbortSignal;
  progress?(progress: Progress): void;
}

export interface Changed {
  changed: Schemas["ChangedMod"][];
  relationsChanged: Guid[];
}

export interface Updates extends Changed {
  /** No longer published; what is installed still works. */
  gone: Guid[];
  advised: Advisory[];
}

export interface Damage {
  guid: Guid;
  title: string;
  name: string;
  expected: string;
  got: string | null;
}

interface FollowerEvents {
  update: Changed;
  gone: Guid[];
  advised: Advisory[];
  app: Build;
  offline: ModhubError;
  online: undefined;
}

export interface Follower {
  on<Name extends keyof FollowerEvents>(name: Name, listener: (value: FollowerEvents[Name]) => void): () => boolean;
  stop(): void;
}

export interface Identity {
  accountId: number;
  displayName: string;
}

export interface Shown {
  userCode: string;
  verificationUrl: string;
  expiresInSeconds: number;
  intervalSeconds: number;
  problem?: "email_not_confirmed";
}

export interface Account {
  /** Sign in by another device: for every account, also one that a game platform made. */
  pair(show: (codes: Shown) => unknown, options?: {signal?: AbortSignal}): Promise<Identity>;
  /** `askCode` is asked for the second factor; null gives up. */
  signIn(email: string, password: string, askCode?: (why: string) => Promise<string | null>): Promise<Identity>;
  signOut(): Promise<void>;
  current(): Promise<Identity | null>;
  on(name: "signed-out", listener: () => void): () => boolean;
  /** Any other call of the API as this account. */
  json(method: string, path: string, options?: {query?: object; json?: unknown; body?: Blob; headers?: Record<string, string>}): Promise<any>;
}

export type Text = string | {markdown: string} | {html: string};

export interface Wanted {
  /** Without it the mod is found by its title, or created. */
  guid?: Guid;
  title: string;
  description?: Text;
  games?: string[];
  requires?: Guid[];
  conflictsWith?: Guid[];
  version?: string;
  code?: Blob;
  name?: string;
  images?: {image: Blob; name?: string; caption?: string}[];
  tags?: string[];
  links?: Schemas["LinksChange"];
  /** What is new, for the changelog's entry of this version. */
  notes?: Text;
}

export interface Client {
  search(q?: string, options?: {game?: string; sort?: "new" | "top"; size?: number; signal?: AbortSignal}): Pages<Mod>;
  mod(ref: Ref): Promise<Mod>;
  details(mods: {id: number}[]): Promise<Map<Guid, Details>>;
  changelog(ref: Ref): Promise<Note[]>;
  app(os: string): Promise<Build | null>;
  plan(want: Guid[], options?: {signal?: AbortSignal}): Promise<Plan>;
  install(want: Guid[] | Plan, options?: InstallOptions): Promise<Installed[]>;
  update(options?: InstallOptions): Promise<Installed[]>;
  remove(want: Guid[]): Promise<Guid[]>;
  installed(): Promise<Installed[]>;
  verify(): Promise<Damage[]>;
  updates(options?: {signal?: AbortSignal}): Promise<Updates>;
  follow(options?: {every?: number; app?: string}): Follower;
  account: Account;
  vote(ref: Ref, value: 1 | 0 | -1): Promise<Schemas["VotesDocument"]>;
  report(ref: Ref, notice: Schemas["NewNotice"]): Promise<Schemas["ReceiptDocument"]>;
  publish(wanted: Wanted, options?: {publish?: boolean; progress?(step: string): void}): Promise<{mod: ModDocument; rehearsal: Rehearsal}>;
}

export function createClient(options: Options): Client;

export class ModhubError extends Error {
  /** As in the API; also "offline", "timeout", "foreign_address", "bad_answer", "insecure", "not_ready", "title_used". */
  code: string;
  /** 0 without an answer. */
  status: number;
  requestId: string | null;
  /** Seconds. */
  retryAfter?: number;
  /** What the service answered. */
  body?: any;
}
export class Blocked extends ModhubError {
  plan: Plan;
}
export class Replaced extends ModhubError {
  guid: Guid;
}
export class Damaged extends ModhubError {
  guid: Guid;
  expected: string;
  got: string;
}
export class StoreFull extends ModhubError {}
export class SignedOut extends ModhubError {}
