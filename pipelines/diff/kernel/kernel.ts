import { readFileSync } from 'node:fs';
import { checkDigitOfSum, keyOfPrefix } from '../../registers/ruc-key.ts';

/** The exports of assembly.ts, which explains each function and its arguments. */
export interface Kernel {
  readRows(...numbers: number[]): number;
  rows: { value: number };
  emptyNames: { value: number };
  listOthers(...numbers: number[]): number;
}

export interface WebAssemblyMemory {
  readonly buffer: SharedArrayBuffer;
  grow(units: number): number;
}

/** The parts of WebAssembly that are used here. The types of Node 20 do not describe it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: unknown };
  Memory: new (units: { initial: number; maximum: number; shared: true }) => WebAssemblyMemory;
};

const module = new WebAssembly.Module(readFileSync(new URL('./kernel.wasm', import.meta.url)));

/** Positions of two small tables, as in assembly.ts. The memory after them is free. */
const checkDigitsAt = 1024;
const firstKeysAt = 2048;
const firstFreeAt = 4096;
/** WebAssembly counts memory in units of 64 KB. A memory has at most 65,536 of them, which are 4 GB. */
const unitBytes = 65_536;
const maxUnits = 65_536;
/** Each range begins with a new line of the processor's cache. */
const cacheLineBytes = 64;

/** A range of memory. It begins at `at` of `buffer` and holds zeros. */
export interface MemoryRange {
  buffer: ArrayBufferLike;
  at: number;
}

/**
 * Memory that the kernel works in. It is shared memory, because only shared memory can grow while arrays use it. No other
 * thread uses it.
 */
export class KernelMemory {
  readonly memory = new WebAssembly.Memory({ initial: 1, maximum: maxUnits, shared: true });
  #used = firstFreeAt;

  constructor() {
    new Uint8Array(this.memory.buffer, checkDigitsAt).set(checkDigitOfSum);
    new Int32Array(this.memory.buffer, firstKeysAt).set(keyOfPrefix);
  }

  /**
   * Gives a range that nobody else has. The memory grows, and ranges that were taken before stay where they are.
   * @throws RangeError beyond 4 GB
   */
  take(bytes: number): MemoryRange {
    const at = this.#used;
    this.#used = Math.ceil((at + bytes) / cacheLineBytes) * cacheLineBytes;
    const missing = this.#used - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / unitBytes));
    return { buffer: this.memory.buffer, at };
  }
}

/** Makes the kernel's functions for this memory. */
export function kernelIn(memory: WebAssemblyMemory): Kernel {
  return new WebAssembly.Instance(module, { env: { memory } }).exports as Kernel;
}
