// style.mjs: a colour or a length in px belongs to tokens.css; elsewhere a
// name is used, so that a theme or a density changes everything at once.
// components.css may use px for the geometry of a part (a pip, a mark), as the
// design draws it, and never a colour.
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const walk = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? walk(join(dir, e.name)) : [join(dir, e.name)],
  )
const hex = /#[0-9a-f]{3,8}\b(?![\w-])/i
const px = /\b\d*\.?\d+px\b/
let bad = 0
for (const file of walk(join(root, 'src'))) {
  const name = relative(root, file)
  if (!/\.(css|tsx?)$/.test(name) || /\.test\.|tokens\.css$|gen\.ts$/.test(name)) continue
  const lines = readFileSync(file, 'utf8').split('\n')
  lines.forEach((line, i) => {
    const code = line.replace(/^\s*(\/\/|\*|\/\*).*/, '')
    const isCss = name.endsWith('.css')
    if (hex.test(code) && !/href=/.test(code)) report(name, i, 'a hex colour')
    if (!isCss && px.test(code)) report(name, i, 'a length in px')
  })
}
function report(name, i, what) {
  console.error(`${name}:${i + 1}: ${what} outside tokens.css; use a token.`)
  bad++
}
process.exit(bad === 0 ? 0 : 1)
