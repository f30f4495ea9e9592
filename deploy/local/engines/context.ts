import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Credentials, Endpoints } from '../config.ts';
import type { ProgramStore } from '../fetch.ts';
import type { Ports } from '../ports.ts';
import type { ToolNeed } from '../prerequisites.ts';
import type { Launch } from '../supervise.ts';

export const engineNames = ['postgres', 'kafka', 'registry', 'clickhouse', 'temporal'] as const;
export type EngineName = (typeof engineNames)[number];

/** What an engine needs in order to start in a stack's folder. */
export interface EngineContext {
  /** The stack's folder, in which each engine has its own folder. */
  directory: string;
  ports: Ports;
  credentials: Credentials;
  programs: ProgramStore;
  /** Options for each engine that runs in Java, separated by blanks. */
  javaOptions: string;
  /** Addresses of the other engines. An engine starts after the engines that it needs. */
  endpoints: Endpoints;
}

export interface Engine {
  name: EngineName;
  /** The engines that this engine needs: they are ready before it starts, and they stop after it has stopped. */
  after: readonly EngineName[];
  /** Settings that hold the engine's address when it runs elsewhere. When all are set, it is not started here. */
  addressNames: readonly (keyof Endpoints)[];
  endpoints(context: EngineContext): Partial<Endpoints>;
  /** Tools of this machine (such as tar) with which `prepare` fetches what is missing. Empty if nothing is missing. */
  toolNeeds?(store: ProgramStore): readonly ToolNeed[];
  /** Fetches the program and makes the data folder unless they exist, and returns how to start the engine. */
  prepare(context: EngineContext): Promise<Launch>;
  /** Runs after each start, once the engine is ready. It must be safe to run again. */
  finish?(context: EngineContext): Promise<void>;
}

export function engineFolder(context: EngineContext, name: string): string {
  const folder = path.join(context.directory, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The few variables that a program may need. No other variable of ours reaches an engine. */
export function plainEnvironment(searchPath: string): Record<string, string> {
  return { PATH: searchPath, HOME: tmpdir(), TMPDIR: tmpdir(), TZ: 'UTC', LC_ALL: 'C' };
}

/** Java decodes paths by the locale. In the locale C it does not find a folder whose name has a letter such as ó. */
export function javaEnvironment({
  programs,
  javaOptions,
}: Pick<EngineContext, 'programs' | 'javaOptions'>): Record<string, string> {
  return { ...plainEnvironment(programs.searchPath), JDK_JAVA_OPTIONS: javaOptions, LC_ALL: 'C.UTF-8' };
}

/** True when the HTTP address answers with success. @throws Error when no answer comes within a second */
export async function answersOk(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
  await response.arrayBuffer();
  return response.ok;
}
