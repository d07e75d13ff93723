import { Icon } from '../Icon'
import { placeKeys, shortcuts } from '../shortcuts'

/** Places that a composer is not part of. */
const elsewhere = new Set(['List', 'Workspace', 'Ops tree'])

/** What `/help` shows: the keys that matter here, until it is closed. */
export function CheatSheet({ onClose }: { onClose: () => void }) {
  const here = placeKeys.filter((p) => !elsewhere.has(p.place))
  return (
    <section className="note cheat" aria-label="Keys">
      <dl>
        {here
          .flatMap((p) => p.rows)
          .map(([keys, does]) => (
            <div key={keys}>
              <dt>
                <kbd className="kbd">{keys}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        {shortcuts
          .filter((s) => s.id === 'palette' || s.id === 'newAgent' || s.id === 'next')
          .map((s) => (
            <div key={s.id}>
              <dt>
                <kbd className="kbd">{s.keys}</kbd>
              </dt>
              <dd>{s.does}</dd>
            </div>
          ))}
      </dl>
      <button type="button" className="ico" aria-label="Close the keys" onClick={onClose}>
        <Icon name="x" className="i-s" />
      </button>
    </section>
  )
}
