import { useEffect, useRef, useState } from 'react'
import { readStored, writeStored } from '../../store/storage'
import type { IconName } from '../Icon'
import { Icon } from '../Icon'

const cards: readonly { icon: IconName; title: string; text: string }[] = [
  {
    icon: 'folder',
    title: 'A project and a sentence',
    text: 'Pick a folder, say what you want done, and launch. Everything stays on this computer.',
  },
  {
    icon: 'shield',
    title: 'You decide',
    text: 'Commands and edits that matter wait for you: Y allows, N denies, a reason steers.',
  },
  {
    icon: 'branch',
    title: 'Apart from your work',
    text: 'In a worktree the agent has a branch of its own, and you land it or drop it.',
  },
  {
    icon: 'keys',
    title: 'Without the mouse',
    text: 'Ctrl/⌘+K finds everything, Alt+J goes to what waits, ? shows all keys.',
  },
]

/** What a first visit shows, below everything, until it is dismissed. */
export function Onboarding() {
  const [shown, setShown] = useState(() => readStored('onboarding') === '')
  const panel = useRef<HTMLElement>(null)
  const done = (): void => {
    writeStored('done', 'onboarding')
    setShown(false)
  }
  useEffect(() => {
    if (!shown) return
    const outside = (e: Event): void => {
      if (e.target instanceof Node && !panel.current?.contains(e.target)) done()
    }
    const escape = (e: KeyboardEvent): void => {
      if (e.key === 'Escape' && !e.defaultPrevented) done()
    }
    document.addEventListener('click', outside)
    document.addEventListener('keydown', escape)
    return () => {
      document.removeEventListener('click', outside)
      document.removeEventListener('keydown', escape)
    }
  }, [shown])
  if (!shown) return null
  return (
    <section className="onboarding" aria-label="First steps" ref={panel}>
      <div className="grid-2">
        {cards.map((c) => (
          <article className="card" key={c.title}>
            <p className="row">
              <Icon name={c.icon} className="i-s" />
              <span className="strong">{c.title}</span>
            </p>
            <p className="micro ink-2">{c.text}</p>
          </article>
        ))}
      </div>
      <button type="button" className="btn" onClick={done}>
        Got it
      </button>
    </section>
  )
}
