import { Icon } from '../view/Icon'
import { Link } from '../view/Link'
import { useActions, useBench } from '../view/bench'
import { useNavigation } from '../view/navigate'

/** The views, by icon and word, and the theme. */
export function Rail({ onPalette }: { onPalette: () => void }) {
  const { route } = useNavigation()
  const need = useBench((s) =>
    (s.summaries ?? []).reduce((n, x) => n + (x.needs_you > 0 && !x.archived ? 1 : 0), 0),
  )
  const down = useBench((s) => s.sidecar?.state === 'down')
  return (
    <nav className="rail" aria-label="Views">
      <svg className="mark" viewBox="0 0 24 24" role="img" aria-label="PacketBench">
        <path
          d="M3 5.2h11.5M3 12h7M3 18.8h15.5"
          strokeWidth="2.6"
          strokeLinecap="round"
          fill="none"
          stroke="currentColor"
        />
        <circle cx="20" cy="5.2" r="2" fill="currentColor" />
        <circle cx="15.6" cy="12" r="2" fill="none" stroke="currentColor" strokeWidth="1.8" />
      </svg>
      <Link
        to={{ view: 'agents', screen: 'list' }}
        aria-current={route.view === 'agents' ? 'page' : undefined}
      >
        <Icon name="agents" />
        <span>Agents</span>
        {need > 0 && (
          <b className="tag" role="img" aria-label={`${need} need you`}>
            {need}
          </b>
        )}
      </Link>
      <Link to={{ view: 'work', id: '' }} aria-current={route.view === 'work' ? 'page' : undefined}>
        <Icon name="grid" />
        <span>Work</span>
      </Link>
      <Link to={{ view: 'history' }} aria-current={route.view === 'history' ? 'page' : undefined}>
        <Icon name="history" />
        <span>History</span>
      </Link>
      <Link
        to={{ view: 'ops', actor: '' }}
        aria-current={route.view === 'ops' ? 'page' : undefined}
      >
        <Icon name="ops" />
        <span>Ops</span>
        {down && (
          <b className="tag bad" role="img" aria-label="The sidecar is down">
            !
          </b>
        )}
      </Link>
      <div className="bottom">
        <button type="button" className="theme" aria-label="Command palette" onClick={onPalette}>
          <Icon name="search" />
          <span>Find</span>
        </button>
        <Link
          to={{ view: 'settings', group: 'providers' }}
          aria-current={route.view === 'settings' ? 'page' : undefined}
        >
          <Icon name="settings" />
          <span>Settings</span>
        </Link>
        <ThemeButton />
      </div>
    </nav>
  )
}

/** Switches at once; every window of the browser follows. */
function ThemeButton() {
  const theme = useBench((s) => s.prefs.theme)
  const { setPrefs } = useActions()
  const light =
    theme === 'light' || (theme === 'system' && matchMedia('(prefers-color-scheme: light)').matches)
  const other = light ? 'dark' : 'light'
  return (
    <button
      type="button"
      className="theme"
      aria-label={`Switch to the ${other} theme`}
      onClick={() => setPrefs({ theme: other })}
    >
      <Icon name={light ? 'moon' : 'sun'} />
      <span>Theme</span>
    </button>
  )
}
