// Browser storage: appearance and drafts, never facts of the service. A full
// or forbidden storage loses them and nothing else.

const prefix = 'packetbench:'

export function storageKey(...parts: string[]): string {
  return prefix + parts.join(':')
}

export function readStored(...parts: string[]): string {
  try {
    return localStorage.getItem(storageKey(...parts)) ?? ''
  } catch {
    return ''
  }
}

export function writeStored(value: string, ...parts: string[]): void {
  try {
    if (value === '') localStorage.removeItem(storageKey(...parts))
    else localStorage.setItem(storageKey(...parts), value)
  } catch {
    // Private windows may refuse; the page works without.
  }
}
