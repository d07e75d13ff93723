// run.mjs: what a person does with the page, against the real program.
//
//   node e2e/run.mjs [part of a scenario's name]
//
// Needs a built page (npm run build) and Chromium (CHROMIUM, else
// /usr/bin/chromium). PACKETBENCH_BIN names a program that is built already.
import { scenarios as decide } from './decide.mjs'
import { runAll } from './harness.mjs'
import { scenarios } from './scenarios.mjs'
import { scenarios as steer } from './steer.mjs'

await runAll([...scenarios, ...decide, ...steer], process.argv[2])
