import { useEffect, useState } from 'react'
import { useActions, useBench, useNow } from '../bench'
import { StatusMark } from './StatusMark'

// A reconnect within this time is not worth a line. In ms.
const graceMs = 400

/**
 * Over a pane while the window is cut off. It promises nothing: whether the
 * service still runs is known only when it answers again.
 */
export function ConnectionBanner() {
  const link = useBench((s) => s.link)
  const had = useBench((s) => s.summaries !== undefined)
  const down = had && link.phase !== 'open'
  const [shown, setShown] = useState(false)
  useEffect(() => {
    if (!down) return
    const timer = setTimeout(() => setShown(true), graceMs)
    return () => {
      clearTimeout(timer)
      setShown(false)
    }
  }, [down])
  return down && shown ? <Banner /> : null
}

function Banner() {
  const link = useBench((s) => s.link)
  const { retryNow } = useActions()
  const now = useNow()
  const wait =
    link.phase === 'waiting' || link.phase === 'unauthorized'
      ? `Again in ${Math.max(1, Math.ceil((link.retryAt - now) / 1000))} s.`
      : ''
  return (
    <div className="note amber banner" role="status">
      <StatusMark kind="stop" />
      <span className="grow">
        <span className="mid">Reconnecting…</span>{' '}
        {/* It changes each second; the chip beside the list says it too. */}
        <span aria-hidden="true">{wait}</span>
      </span>
      <button type="button" className="btn sm quiet" onClick={retryNow}>
        Now
      </button>
    </div>
  )
}
