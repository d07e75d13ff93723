// The human log: stderr, one line an event, lower-case verb phrase first. The
// host reads it line by line and keeps the end of it for error texts.

/** Writes one line; line breaks inside are kept as spaces. Never pass a secret. */
export function log(line: string): void {
  process.stderr.write(`${line.replace(/\s*\n\s*/g, ' ')}\n`)
}

/** The text of whatever was thrown. */
export function reason(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
