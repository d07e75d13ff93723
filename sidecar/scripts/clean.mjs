// Empties dist before a build, so that a file that was removed from src does
// not live on in what is installed.
import { rmSync } from 'node:fs'

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true })
