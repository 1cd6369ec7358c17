import type {Files, Lock, Store} from "./index.js";

export function memoryStore(): Store;
export function indexedDbStore(name?: string): Store;
export function fileStore(folder: string): Store;
export function fileLock(folder: string): Lock;
export function memoryFiles(): Files;
export function nodeFiles(folder: string): Files;
export function indexedDbFiles(name?: string): Files;
