import type { LinkState } from '../../net/socket'
import { useBench, useNow } from '../bench'

/** The words of the chip. Source: ui.md 2. */
export function connectionWords(link: LinkState, now: number): string {
  switch (link.phase) {
    case 'open':
      return 'Connected'
    case 'connecting':
      return 'Reconnecting…'
    case 'waiting':
    case 'unauthorized':
      return `Offline — retrying in ${Math.max(1, Math.ceil((link.retryAt - now) / 1000))} s`
  }
}

/** Says whether this window still hears the service. */
export function ConnectionChip() {
  const link = useBench((s) => s.link)
  const open = link.phase === 'open'
  return (
    <div className="link-line" role="status" aria-label="Connection">
      <svg className={`wave ${open ? '' : 'warn'}`} viewBox="0 0 26 10" aria-hidden="true">
        <path d={open ? 'M0 5h5l2-4 3 8 2.5-6 1.5 2h12' : 'M0 5h6l2-3 2 6 2-3h3M19 5h7'} />
      </svg>
      <span className={open ? 'keep' : 'keep amber'}>
        {open ? 'Connected' : <Words link={link} />}
      </span>
    </div>
  )
}

function Words({ link }: { link: LinkState }) {
  return <>{connectionWords(link, useNow())}</>
}
