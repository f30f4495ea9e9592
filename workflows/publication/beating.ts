import { Context } from '@temporalio/activity';

export interface BeatLimits {
  /** How often the step says that it lives. Far below the workflow's heartbeat timeout. */
  beatEveryMs: number;
  /** A step that reports nothing new for so long hangs: it is aborted and runs again. */
  maxSilenceMs: number;
}

/** Writing a large index to a busy disk reports nothing for minutes; a child that hangs reports nothing for ever. */
export const defaultBeatLimits: BeatLimits = { beatEveryMs: 3_000, maxSilenceMs: 15 * 60 * 1000 };

/**
 * Runs a long step with two watches. Heartbeats say that this worker lives, with the last progress as their details: when
 * they stop, the step runs elsewhere within seconds. Progress says that the step itself does.
 */
export async function beating<Result>(
  limits: BeatLimits,
  run: (report: (progress: unknown) => void, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  const silence = new AbortController();
  const hanging = setTimeout(() => {
    silence.abort(new Error(`the step made no progress for ${limits.maxSilenceMs} ms`));
  }, limits.maxSilenceMs);
  // An earlier attempt's details stay until this one has something to say: they tell how far Kafka had acknowledged.
  let last: unknown = context.info.heartbeatDetails;
  const beats = setInterval(() => context.heartbeat(last), limits.beatEveryMs);
  try {
    const report = (progress: unknown) => {
      last = progress;
      hanging.refresh();
      context.heartbeat(progress);
    };
    return await run(report, AbortSignal.any([context.cancellationSignal, silence.signal]));
  } finally {
    clearInterval(beats);
    clearTimeout(hanging);
  }
}
