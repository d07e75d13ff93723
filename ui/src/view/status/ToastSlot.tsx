import { useEffect } from 'react'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'

// Source: ui.md 2.1.
const toastMs = 5000

/** The single toast; it goes by itself after 5 s. */
export function ToastSlot() {
  const toast = useBench((s) => s.toast)
  const { dismissToast } = useActions()
  useEffect(() => {
    if (!toast) return
    const timer = setTimeout(dismissToast, toastMs)
    return () => clearTimeout(timer)
  }, [toast, dismissToast])
  if (!toast) return null
  const failed = toast.tone === 'error'
  return (
    <div className="toast-at">
      <div className="toast" role={failed ? 'alert' : 'status'}>
        <Icon name={failed ? 'warn' : 'check'} className={failed ? 'i-s red' : 'i-s green'} />
        <span>{toast.text}</span>
        <button type="button" className="ico" aria-label="Dismiss" onClick={dismissToast}>
          <Icon name="x" className="i-s" />
        </button>
      </div>
    </div>
  )
}
