// The thread of one search: its request is the data it was started with, its
// answer one message.
import { parentPort, workerData } from 'node:worker_threads'

import { fieldsOf, textOf } from '../../fields.js'
import { reason } from '../../log.js'
import { grep } from './grep.js'

const data = fieldsOf(workerData) ?? {}
try {
  const hits = grep({
    root: textOf(data['root']) ?? '',
    start: textOf(data['start']) ?? '',
    pattern: textOf(data['pattern']) ?? '',
    include: textOf(data['include']),
  })
  parentPort?.postMessage({ hits })
} catch (thrown) {
  parentPort?.postMessage({ failure: reason(thrown) })
}
