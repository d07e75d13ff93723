import { useEffect, useState } from 'react'
import { Icon } from '../Icon'
import type { Token } from './highlight'
import { highlight } from './highlight'

interface Props {
  code: string
  language: string
  /** A block that still grows is not coloured: its colours would flicker. */
  open: boolean
}

/** A code block: its language, a copy button, colours when they are ready. */
export function CodeBlock({ code, language, open }: Props) {
  const [lines, setLines] = useState<{ code: string; tokens: Token[][] }>()
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (open) return
    let gone = false
    void highlight(code, language).then((tokens) => {
      if (!gone && tokens) setLines({ code, tokens })
    })
    return () => {
      gone = true
    }
  }, [code, language, open])
  const coloured = lines?.code === code ? lines.tokens : undefined
  return (
    <div className="code-block">
      <header>
        <span className="grow">{language || 'text'}</span>
        <button
          type="button"
          className="ico"
          aria-label={copied ? 'Copied' : 'Copy code'}
          title={copied ? 'Copied' : 'Copy code'}
          onClick={() => {
            void navigator.clipboard?.writeText(code).then(() => {
              setCopied(true)
              setTimeout(() => setCopied(false), 1800)
            })
          }}
        >
          <Icon name={copied ? 'check' : 'copy'} className="i-s" />
        </button>
      </header>
      <pre tabIndex={0} aria-label={`Code, ${language || 'text'}`}>
        <code>
          {coloured
            ? coloured.map((line, i) => (
                <span key={i}>
                  {line.map((t, j) => (
                    <span key={j} style={t.color === undefined ? undefined : { color: t.color }}>
                      {t.content}
                    </span>
                  ))}
                  {i < coloured.length - 1 && '\n'}
                </span>
              ))
            : code}
        </code>
      </pre>
    </div>
  )
}
