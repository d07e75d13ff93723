import { useState } from 'react'
import { writeStored } from '../store/storage'
import { Icon } from '../view/Icon'
import { Link } from '../view/Link'
import { useBench } from '../view/bench'
import { useNavigation } from '../view/navigate'

/** The views, by icon and word, and the theme. */
export function Rail() {
  const { route } = useNavigation()
  const need = useBench((s) =>
    (s.summaries ?? []).reduce((n, x) => n + (x.needs_you > 0 && !x.archived ? 1 : 0), 0),
  )
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
      <div className="bottom">
        <Link
          to={{ view: 'settings' }}
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

/** Switches at once and remembers. */
export function toggleTheme(): 'light' | 'dark' {
  const root = document.documentElement
  const next = root.dataset.theme === 'light' ? 'dark' : 'light'
  root.dataset.theme = next
  writeStored(next, 'theme')
  return next
}

function ThemeButton() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? 'dark')
  const other = theme === 'light' ? 'dark' : 'light'
  return (
    <button
      type="button"
      className="theme"
      aria-label={`Switch to the ${other} theme`}
      onClick={() => setTheme(toggleTheme())}
    >
      <Icon name={theme === 'light' ? 'moon' : 'sun'} />
      <span>Theme</span>
    </button>
  )
}
