// Numbers and times as the page writes them. Source: ui.md 6, design 7.

/** 950, 41.2k, 1M: one decimal, dropped when it is none. */
export function tokens(n: number): string {
  const short = (v: number, unit: string): string => `${Number(v.toFixed(1))}${unit}`
  if (n < 1000) return String(n)
  if (n < 999_950) return short(n / 1000, 'k')
  return short(n / 1_000_000, 'M')
}

/** $3 in · $15 out, per million tokens; empty where there is no price. */
export function price(p: { input: number; output: number }): string {
  if (p.input === 0 && p.output === 0) return ''
  const usd = (n: number): string => `$${Number(n.toFixed(3))}`
  return `${usd(p.input)} in · ${usd(p.output)} out`
}

/** now, 4m, 3h, 2d. */
export function age(iso: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000)
  if (!(minutes >= 1)) return 'now'
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  return hours < 24 ? `${hours}h` : `${Math.floor(hours / 24)}d`
}

/** 14:06:40, by the clock of this computer. */
export function clockTime(ms: number): string {
  const at = new Date(ms)
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((n) => String(n).padStart(2, '0'))
    .join(':')
}

/** 0:42, 12:05, 1:00:00. */
export function clock(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  const two = (n: number): string => String(n).padStart(2, '0')
  const h = Math.floor(s / 3600)
  const m = Math.floor((s % 3600) / 60)
  return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`
}

/** How long something took: 9 s, 12.4 s, 1:05. */
export function seconds(ms: number): string {
  return ms < 60_000 ? `${Number((Math.max(0, ms) / 1000).toFixed(1))} s` : clock(ms)
}

/** The last folder of a path, the whole when there is none. */
export function baseName(path: string): string {
  return path.split(/[\\/]/).filter(Boolean).at(-1) ?? path
}

/** The statusline's segments: only those that count something. */
export function usageLine(
  ctx: number,
  messages: {
    role: string
    input_tokens: number
    output_tokens: number
    cache_read_tokens: number
    cache_write_tokens: number
  }[],
): string {
  const own = messages.filter((m) => m.role === 'assistant')
  const sum = (f: (m: (typeof own)[number]) => number): number => own.reduce((n, m) => n + f(m), 0)
  const input = sum((m) => m.input_tokens + m.cache_read_tokens + m.cache_write_tokens)
  const output = sum((m) => m.output_tokens)
  return [
    ctx > 0 ? `ctx ${tokens(ctx)} tok` : '',
    input > 0 ? `in ${tokens(input)}` : '',
    output > 0 ? `out ${tokens(output)}` : '',
  ]
    .filter(Boolean)
    .join(' · ')
}
