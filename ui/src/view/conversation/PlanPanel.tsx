import { useState } from 'react'
import type { PlanItem } from '../../contract/gen'
import { Icon } from '../Icon'
import { StatusMark } from '../status/StatusMark'

interface Props {
  items: PlanItem[]
  /** Absent while there is nothing to approve. */
  onApprove?: (() => void) | undefined
}

/** The latest plan, above the transcript; folded it shows the current step. */
export function PlanPanel({ items, onApprove }: Props) {
  const [open, setOpen] = useState(true)
  if (items.length === 0) return null
  const done = items.filter((i) => i.status === 'completed').length
  const now = items.find((i) => i.status === 'in_progress')
  return (
    <section className="plan" aria-label="Plan">
      <div className="plan-in">
        <div className="plan-top">
          <button
            type="button"
            className="plan-head"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            <Icon name="list" className="i-s" />
            <span className="mid">Plan</span>
            <span className="segs" role="img" aria-label={`${done} of ${items.length} steps done`}>
              {items.map((item, i) => (
                <b
                  key={i}
                  className={
                    item.status === 'completed' ? 'on' : item.status === 'in_progress' ? 'now' : ''
                  }
                />
              ))}
            </span>
            <span className="num ink-3 micro keep hide-tight">
              {done} of {items.length}
            </span>
            <span className="plan-now cut ink-2">{now ? (now.activeForm ?? now.content) : ''}</span>
            <span className="grow" />
            <Icon name={open ? 'up' : 'down'} className="i-s" />
          </button>
          {onApprove && (
            <button
              type="button"
              className="btn sm plan-go"
              title="Auto-run safe tools"
              onClick={onApprove}
            >
              Approve and execute
            </button>
          )}
        </div>
        {open && (
          <ol className="plan-list">
            {items.map((item, i) => (
              <Item key={item.id ?? i} item={item} />
            ))}
          </ol>
        )}
      </div>
    </section>
  )
}

function Item({ item }: { item: PlanItem }) {
  switch (item.status) {
    case 'completed':
      return (
        <li className="done">
          <StatusMark kind="done" words="done" />
          <span className="cut">{item.content}</span>
        </li>
      )
    case 'in_progress':
      return (
        <li className="now">
          <StatusMark kind="run" words="in progress" />
          <span className="cut">{item.activeForm ?? item.content}</span>
        </li>
      )
    case 'pending':
      return (
        <li>
          <StatusMark kind="idle" words="to do" />
          <span className="cut">{item.content}</span>
        </li>
      )
  }
}
