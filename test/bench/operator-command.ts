import { type Chain, padron } from '../../deploy/local/demo/chain.ts';
import { ProcessWatch } from './process-watch.ts';

/**
 * Runs an operators' command as a person would, and prints the time and memory of each process that works for it.
 * @throws Error if its exit code is not 0
 */
export async function measureCommand(chain: Chain, words: readonly string[]): Promise<void> {
  const watch = new ProcessWatch();
  const began = performance.now();
  await padron(words, chain.environment);
  const seconds = (performance.now() - began) / 1000;
  console.log(`\npadron ${words.join(' ')}: ${seconds.toFixed(1)} s\n  process        CPU s    peak MB`);
  for (const [name, { cpuSeconds, peakRssMb }] of watch.stop()) {
    if (cpuSeconds < 0.1) continue;
    console.log(`  ${name.padEnd(14)} ${cpuSeconds.toFixed(1).padStart(5)} ${peakRssMb.toFixed(0).padStart(10)}`);
  }
}
