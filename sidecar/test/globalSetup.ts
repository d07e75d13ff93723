// The tests of this folder run what was built. It is built again here when a
// source is newer, so that `vitest` alone never tests yesterday's program.
import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export default function setup(): void {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const newest = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(`${root}src/${name}`).mtimeMs)
    .reduce((a, b) => Math.max(a, b), 0)
  const built = statSync(`${root}dist/index.js`, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (built > newest) return
  execFileSync(process.execPath, ['scripts/clean.mjs'], { cwd: root })
  try {
    execFileSync(
      process.execPath,
      ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'],
      { cwd: root, stdio: 'inherit' },
    )
  } catch {
    // A wrong type is the affair of lint; what was written can still be tested.
    process.stderr.write('The build has errors; testing what it wrote.\n')
  }
}
