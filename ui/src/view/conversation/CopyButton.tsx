import { useEffect, useState } from 'react'
import { Icon } from '../Icon'

// How long the tick stays. Source: ui.md 14. In ms.
const flashMs = 1800

/** Copies a text and says so for a moment. */
export function CopyButton({ text, name }: { text: string; name: string }) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), flashMs)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <button
      type="button"
      className="ico copy"
      aria-label={copied ? 'Copied' : name}
      title={copied ? 'Copied' : name}
      onClick={() => void navigator.clipboard?.writeText(text).then(() => setCopied(true))}
    >
      <Icon name={copied ? 'check' : 'copy'} className="i-s" />
    </button>
  )
}
