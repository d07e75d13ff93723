// The project folder as a fence around the workspace tools: every path is
// resolved through its links, and what ends up outside is refused. The shell is
// not confined; it asks.
//
// Gap: issue 3. Between the check and the use of a path another process can
// replace one of its folders by a link; Node has no openat. The last part is
// opened without following links.
//
// Source: tools-permissions.md 2.
import { constants } from 'node:fs'
import { lstat, mkdir, open, realpath, type FileHandle } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'

import { fieldsOf, textOf } from '../../fields.js'

/** The most that a tool reads of one file, bytes. Source: tools-permissions.md 1. */
export const MAX_READ_BYTES = 2_000_000

/** A failure whose text is a sentence for the model and the person. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

/** What a file holds before it is written. */
export type Current =
  | { readonly kind: 'new' }
  | { readonly kind: 'text'; readonly text: string }
  /** It is there and cannot be shown; `why` is a sentence. */
  | { readonly kind: 'other'; readonly why: string }

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of bytes, or undefined where they are none. */
export function textIn(bytes: Uint8Array): string | undefined {
  if (bytes.subarray(0, 8192).includes(0)) return undefined
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

/** See the top of this file. */
export class Fence {
  private constructor(
    /** The project folder with its links resolved. */
    readonly root: string,
  ) {}

  /** Throws a ToolError when the folder is not there. */
  static async around(projectPath: string): Promise<Fence> {
    if (projectPath === '') {
      throw new ToolError('This conversation has no project folder. Choose one, then start again.')
    }
    try {
      return new Fence(await realpath(projectPath))
    } catch {
      throw new ToolError(`The folder ${projectPath} does not exist. Choose another project.`)
    }
  }

  /** The true path of something that has to exist. */
  async existing(path: string): Promise<string> {
    const full = this.lexical(path)
    let real: string
    try {
      real = await realpath(full)
    } catch (thrown) {
      throw new ToolError(`${path} ${missing(thrown)}`)
    }
    this.check(path, real)
    return real
  }

  /** The true path of something that may be new: what is there of it lies inside. */
  async target(path: string): Promise<string> {
    const full = this.lexical(path)
    let there = full
    for (;;) {
      try {
        await lstat(there)
        break
      } catch (thrown) {
        if (codeOf(thrown) !== 'ENOENT') throw new ToolError(`${path} ${missing(thrown)}`)
        if (there === dirname(there)) throw new ToolError(`${path} ${missing(thrown)}`)
        there = dirname(there)
      }
    }
    let real: string
    try {
      // A link that leads nowhere fails here.
      real = await realpath(there)
    } catch (thrown) {
      throw new ToolError(`${path} is a link that leads nowhere (${codeOf(thrown)}).`)
    }
    const target = join(real, relative(there, full))
    this.check(path, target)
    return target
  }

  /** Reads a file that was checked. It throws a ToolError for what is no readable file. */
  async read(path: string, real: string): Promise<Uint8Array> {
    let file: FileHandle
    try {
      // Not blocking: opening a pipe waits for its other end.
      file = await open(real, constants.O_RDONLY | noFollow | nonBlocking)
    } catch (thrown) {
      throw new ToolError(`${path} ${missing(thrown)}`)
    }
    try {
      const stat = await file.stat()
      if (stat.isDirectory()) throw new ToolError(`${path} is a folder. Use list_directory.`)
      if (!stat.isFile()) throw new ToolError(`${path} is not a regular file.`)
      if (stat.size > MAX_READ_BYTES) {
        throw new ToolError(
          `${path} has ${stat.size} bytes; at most ${MAX_READ_BYTES} can be read. Use grep or bash.`,
        )
      }
      return await file.readFile()
    } finally {
      await file.close()
    }
  }

  /** What a target holds now. */
  async current(path: string, target: string): Promise<Current> {
    try {
      const stat = await lstat(target)
      if (!stat.isFile()) return { kind: 'other', why: `${path} is not a regular file.` }
    } catch (thrown) {
      if (codeOf(thrown) === 'ENOENT') return { kind: 'new' }
      return { kind: 'other', why: `${path} ${missing(thrown)}` }
    }
    try {
      const text = textIn(await this.read(path, target))
      if (text === undefined) return { kind: 'other', why: `${path} is not text.` }
      return { kind: 'text', text }
    } catch (thrown) {
      if (thrown instanceof ToolError) return { kind: 'other', why: thrown.message }
      throw thrown
    }
  }

  /** Writes a target, with the folders that lead to it. Returns the bytes written. */
  async write(path: string, target: string, content: string): Promise<number> {
    const parent = dirname(target)
    try {
      await mkdir(parent, { recursive: true })
      // Somebody may have put a link there meanwhile.
      const real = await realpath(parent)
      this.check(path, real)
      if (real !== parent) throw new ToolError(`${path} changed its place while it was written.`)
      const bytes = Buffer.from(content)
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC
      const file = await open(target, flags | noFollow | nonBlocking, 0o666)
      try {
        await file.writeFile(bytes)
      } finally {
        await file.close()
      }
      return bytes.length
    } catch (thrown) {
      if (thrown instanceof ToolError) throw thrown
      throw new ToolError(`${path} could not be written (${codeOf(thrown)}).`)
    }
  }

  /** A path of the project as it is shown; the project itself is `.`. */
  shown(real: string): string {
    const rel = relative(this.root, real).replaceAll(sep, '/')
    return rel === '' ? '.' : rel
  }

  private lexical(path: string): string {
    if (path === '') throw new ToolError('The path is empty. Give one inside the project.')
    if (path.includes('\0')) throw new ToolError('The path holds a zero byte.')
    return resolve(this.root, path)
  }

  private check(path: string, real: string): void {
    const base = this.root.endsWith(sep) ? this.root : this.root + sep
    if (real === this.root || real.startsWith(base)) return
    throw new ToolError(`${path} is outside the project. Only paths inside it can be used.`)
  }
}

// Neither exists on Windows.
const noFollow = constants.O_NOFOLLOW ?? 0
const nonBlocking = constants.O_NONBLOCK ?? 0

function codeOf(thrown: unknown): string {
  return textOf(fieldsOf(thrown)?.['code']) ?? 'unknown reason'
}

function missing(thrown: unknown): string {
  const code = codeOf(thrown)
  return code === 'ENOENT' ? 'does not exist.' : `cannot be opened (${code}).`
}
