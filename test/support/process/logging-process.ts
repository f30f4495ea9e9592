import { Lifecycle } from '../../../pipelines/runtime/lifecycle.ts';
import { makeLineLogger, makeLogger } from '../../../pipelines/runtime/log.ts';

// A process like the product's three, with both kinds of log, that shows each round of lines by a dot on stderr. With
// the argument `fails`, it fails when stdin ends.
const log = makeLogger('test', 'info');
await new Lifecycle(log, 20_000).run(async (lifecycle) => {
  const requests = makeLineLogger('test', 'info');
  const timer = setInterval(() => {
    requests.log.info('a request');
    log.info('something happened');
    process.stderr.write('.');
  }, 20);
  lifecycle.onStop('request log', requests.stop);
  lifecycle.onStop('work', () => {
    clearInterval(timer);
    log.info('the work stops');
  });
  process.stdin.once('end', () => {
    if (process.argv.includes('fails')) lifecycle.fail(new Error('a failure'));
  });
  process.stdin.resume();
});
