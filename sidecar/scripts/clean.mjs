// Empties dist before a build, so that a file that was removed from src does
// not live on in what is installed. .gitkeep stays: the Go program embeds dist,
// and a checkout that was never built has to have it.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'

const dist = new URL('../dist/', import.meta.url)
mkdirSync(dist, { recursive: true })
for (const name of readdirSync(dist)) {
  if (name !== '.gitkeep') rmSync(new URL(name, dist), { recursive: true, force: true })
}
