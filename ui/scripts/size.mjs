// size.mjs: fails when the page grows past what it promised (ui.md 26): 250 KB
// gzip for what the first paint needs, 5 MB for everything that is embedded.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const dist = fileURLToPath(new URL('../dist/', import.meta.url))
const firstPaintLimit = 250 * 1024
const totalLimit = 5 * 1024 * 1024

const walk = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? walk(join(dir, e.name)) : [join(dir, e.name)],
  )

let html
try {
  html = readFileSync(join(dist, 'index.html'), 'utf8')
} catch {
  console.error('size: dist/index.html is missing. Run `npm run build` first.')
  process.exit(1)
}
const named = [...html.matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g)].map((m) => m[1])
const first = named.reduce(
  (sum, name) => sum + gzipSync(readFileSync(join(dist, name))).length,
  gzipSync(html).length,
)
const total = walk(dist).reduce((sum, file) => sum + statSync(file).size, 0)
const kb = (n) => `${(n / 1024).toFixed(1)} KB`
console.log(
  `first paint ${kb(first)} gzip of ${kb(firstPaintLimit)}, dist ${kb(total)} of ${kb(totalLimit)}`,
)
if (named.length === 0 || first > firstPaintLimit || total > totalLimit) {
  console.error('size: the page is over its budget, or index.html names no assets.')
  process.exit(1)
}
