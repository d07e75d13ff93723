import { Dialog } from 'radix-ui'
import { useEffect, useId, useMemo, useRef, useState } from 'react'
import { nextTranscript } from '../../store/prefs'
import { nextNeed } from '../../store/sections'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import type { SettingsGroup } from '../navigate'
import { useNavigation } from '../navigate'
import { settingsTitles } from '../settings/groups'
import { keysOf } from '../shortcuts'
import type { PaletteRow } from './rows'
import { conversationRow, placeOf, readQuery, search } from './rows'

/** Everything by name: conversations, views, commands. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [highlight, setHighlight] = useState(0)
  const id = useId()
  const active = useRef<HTMLDivElement>(null)
  const rows = useRows()
  const found = useMemo(() => search(rows, typed), [rows, typed])
  const at = Math.min(highlight, Math.max(0, found.length - 1))
  useEffect(() => active.current?.scrollIntoView?.({ block: 'nearest' }), [at])
  const run = (row: PaletteRow | undefined): void => {
    if (!row) return
    // The page takes the focus back first, then moves on.
    onClose()
    row.run()
  }
  const { words } = readQuery(typed)
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="dialog-scrim over" />
        <Dialog.Content className="palette open" aria-describedby={undefined}>
          <Dialog.Title className="sr">Command palette</Dialog.Title>
          <div className="ask">
            <Icon name="search" />
            <input
              role="combobox"
              aria-expanded="true"
              aria-controls={id}
              aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
              aria-label="Command or conversation"
              placeholder="Command or conversation"
              autoFocus
              value={typed}
              onChange={(e) => {
                setTyped(e.target.value)
                setHighlight(0)
              }}
              onKeyDown={(e) => {
                if (e.nativeEvent.isComposing) return
                const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0
                if (step !== 0 && found.length > 0) {
                  e.preventDefault()
                  setHighlight((at + step + found.length) % found.length)
                } else if (e.key === 'Enter') {
                  e.preventDefault()
                  run(found[at])
                }
              }}
            />
          </div>
          <div className="menu scroll" id={id} role="listbox" aria-label="Results">
            {found.map((row, i) => (
              <div key={row.key} role="presentation">
                {row.group !== found[i - 1]?.group && <h4 role="presentation">{row.group}</h4>}
                <div
                  ref={i === at ? active : undefined}
                  id={`${id}-${i}`}
                  className={i === at ? 'mi on' : 'mi'}
                  role="option"
                  aria-selected={i === at}
                  onPointerMove={() => setHighlight(i)}
                  onClick={() => run(row)}
                >
                  <Icon name={row.icon} />
                  <span className="grow cut">
                    <Marked text={row.label} words={words} />
                  </span>
                  {row.note !== '' && (
                    <span className={`micro keep ${row.hue || 'ink-3'}`}>{row.note}</span>
                  )}
                  {row.keys !== '' && <kbd className="kbd">{row.keys}</kbd>}
                </div>
              </div>
            ))}
            {found.length === 0 && <p className="ink-3 p-2">Nothing is called that.</p>}
          </div>
          <div className="tips hide-narrow" aria-hidden="true">
            <span>
              <kbd className="kbd">↑</kbd> <kbd className="kbd">↓</kbd> move
            </span>
            <span>
              <kbd className="kbd">Enter</kbd> run
            </span>
            <span className="grow" />
            <span>
              <kbd className="kbd">&gt;</kbd> commands
            </span>
            <span>
              <kbd className="kbd">@</kbd> conversations
            </span>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** A label with the part that was typed marked. */
function Marked({ text, words }: { text: string; words: string }) {
  const at = words === '' ? -1 : placeOf(text, words)
  if (at < 0) return <>{text}</>
  return (
    <>
      {text.slice(0, at)}
      <em>{text.slice(at, at + words.length)}</em>
      {text.slice(at + words.length)}
    </>
  )
}

function useRows(): PaletteRow[] {
  const summaries = useBench((s) => s.summaries)
  const prefs = useBench((s) => s.prefs)
  const sidecar = useBench((s) => s.sidecar)
  const actions = useActions()
  const { route, go } = useNavigation()
  const current =
    route.view === 'agents' && route.screen === 'conversation'
      ? summaries?.find((s) => s.session_id === route.id)
      : undefined
  return useMemo(() => {
    const all = summaries ?? []
    const open = (id: string) => () => go({ view: 'agents', screen: 'conversation', id })
    const settings = (group: SettingsGroup) => () => go({ view: 'settings', group })
    const command = (
      key: string,
      group: PaletteRow['group'],
      icon: PaletteRow['icon'],
      label: string,
      run: () => void,
      more: Partial<PaletteRow> = {},
    ): PaletteRow => ({
      key,
      group,
      kind: 'command',
      icon,
      label,
      note: '',
      hue: '',
      keys: '',
      run,
      ...more,
    })
    const waits = nextNeed(all, current?.session_id ?? '')
    const newest = [...all]
      .filter((s) => !s.archived)
      .sort((a, b) => b.updated_at.localeCompare(a.updated_at))
    const rows: PaletteRow[] = newest.map((s) => conversationRow(s, open(s.session_id)))
    if (waits) {
      rows.push(
        command('need', 'Now', 'shield', 'Go to what waits for you', open(waits.session_id), {
          note: waits.title,
          hue: 'amber',
          keys: keysOf('next'),
        }),
      )
    }
    rows.push(
      command('history', 'Go to', 'history', 'History', () => go({ view: 'history' }), {
        keys: keysOf('history'),
      }),
      ...settingsTitles.map(([group, title]) =>
        command(`s:${group}`, 'Go to', 'settings', `Settings: ${title}`, settings(group)),
      ),
      command('new', 'Do', 'plus', 'New agent', () => go({ view: 'agents', screen: 'new' }), {
        keys: keysOf('newAgent'),
      }),
    )
    if (current) {
      const id = current.session_id
      if (current.status === 'active') {
        rows.push(command('stop', 'Do', 'x', 'Stop the turn', () => actions.stop(id)))
      } else {
        rows.push(command('retry', 'Do', 'restart', 'Retry last turn', () => actions.retry(id)))
      }
      rows.push(
        command(
          'pin',
          'Do',
          'pin',
          current.pinned ? 'Unpin conversation' : 'Pin conversation',
          () => actions.pin(id, !current.pinned),
        ),
        command(
          'archive',
          'Do',
          'history',
          current.archived ? 'Bring conversation back' : 'Archive conversation',
          () => actions.archive(id, !current.archived),
        ),
      )
    }
    const light = document.documentElement.dataset.theme === 'light'
    rows.push(
      command(
        'theme',
        'Do',
        light ? 'moon' : 'sun',
        `Use the ${light ? 'dark' : 'light'} theme`,
        () => actions.setPrefs({ theme: light ? 'dark' : 'light' }),
      ),
      command(
        'rows',
        'Do',
        'list',
        prefs.density === 'cozy' ? 'Use compact rows' : 'Use cozy rows',
        () => actions.setPrefs({ density: prefs.density === 'cozy' ? 'compact' : 'cozy' }),
      ),
      command(
        'transcript',
        'Do',
        'eye',
        `Show the transcript in ${nextTranscript(prefs.transcript)} density`,
        () => actions.setPrefs({ transcript: nextTranscript(prefs.transcript) }),
        { keys: keysOf('transcript') },
      ),
    )
    if (sidecar?.state === 'down' || sidecar?.state === 'incompatible') {
      rows.push(command('sidecar', 'Do', 'server', 'Reset the sidecar', actions.resetSidecar))
    }
    return rows
  }, [summaries, prefs, sidecar, actions, go, current])
}
