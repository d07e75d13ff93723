// Cuts a byte stream into lines. A frame of 100 KB that arrives byte by byte is
// still one line, and two frames that arrive together are two.

const NEWLINE = 0x0a

/** A line longer than this is dropped, so that a lost line break cannot fill the memory. */
export const MAX_REQUEST_BYTES = 256 * 1024 * 1024

/** Keeps the incomplete end between two reads. */
export class LineSplitter {
  private parts: Buffer[] = []
  private size = 0
  private tooLong = false

  constructor(
    /** One line without its line break; undefined for one that was dropped. */
    private readonly line: (line: Buffer | undefined) => void,
    private readonly limit = MAX_REQUEST_BYTES,
  ) {}

  /** Takes the next bytes. */
  push(bytes: Buffer): void {
    let from = 0
    for (;;) {
      const end = bytes.indexOf(NEWLINE, from)
      if (end < 0) break
      this.keep(bytes.subarray(from, end))
      this.flush()
      from = end + 1
    }
    this.keep(bytes.subarray(from))
  }

  /** The stream has ended: an unterminated last line counts as a line. */
  end(): void {
    if (this.size > 0 || this.tooLong) this.flush()
  }

  private keep(bytes: Buffer): void {
    if (bytes.length === 0 || this.tooLong) return
    this.size += bytes.length
    if (this.size > this.limit) {
      this.tooLong = true
      this.parts = []
      return
    }
    // Copied: what the stream hands out may be one small view of a large block.
    this.parts.push(Buffer.from(bytes))
  }

  private flush(): void {
    const whole = this.tooLong ? undefined : Buffer.concat(this.parts)
    this.parts = []
    this.size = 0
    this.tooLong = false
    this.line(whole)
  }
}
