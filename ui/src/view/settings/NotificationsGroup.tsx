import { useState } from 'react'
import type { NotifyPrefs } from '../../store/prefs'
import { Switch } from '../Switch'
import { useActions, useBench } from '../bench'
import { SetRow } from './SetRow'

const rows: readonly { key: Exclude<keyof NotifyPrefs, 'enabled'>; label: string; hint: string }[] =
  [
    {
      key: 'unfocused',
      label: 'Only while PacketBench is in the background',
      hint: 'No window of this browser has the focus.',
    },
    { key: 'approval', label: 'Approval needed', hint: 'A tool or an edit waits for your answer.' },
    {
      key: 'complete',
      label: 'Session complete',
      hint: 'A turn is over and nothing is queued behind it.',
    },
    { key: 'error', label: 'Session error', hint: 'A turn has failed.' },
  ]

const off = 'Turn desktop notifications on first.'
const refused =
  'This browser does not allow notifications for this page. Allow them in its site settings. Until then the title of the page counts what waits.'
const absent =
  'This browser has no notifications here. The title of the page counts what waits instead.'

/** When this browser speaks up. */
export function NotificationsGroup() {
  const notify = useBench((s) => s.prefs.notify)
  const { setPrefs } = useActions()
  const [failure, setFailure] = useState('')
  const set = (change: Partial<NotifyPrefs>): void => setPrefs({ notify: { ...notify, ...change } })
  const enable = async (on: boolean): Promise<void> => {
    setFailure('')
    if (!on) {
      set({ enabled: false })
      return
    }
    if (typeof Notification !== 'function') {
      setFailure(absent)
      return
    }
    // The browser asks the person first; refused, it stays off.
    const answer = await Notification.requestPermission()
    if (answer === 'granted') set({ enabled: true })
    else setFailure(refused)
  }
  return (
    <div className="panel">
      <SetRow
        label="Desktop notifications"
        scope="This browser"
        hint="At most one in 5 s for a conversation, and one window of this browser speaks for all."
        failure={failure}
      >
        <Switch
          name="Desktop notifications"
          on={notify.enabled}
          onChange={(on) => void enable(on)}
        />
      </SetRow>
      {rows.map((r) => (
        <SetRow key={r.key} label={r.label} hint={r.hint}>
          <Switch
            name={r.label}
            on={notify[r.key]}
            blocked={notify.enabled ? '' : off}
            onChange={(on) => set({ [r.key]: on })}
          />
        </SetRow>
      ))}
    </div>
  )
}
