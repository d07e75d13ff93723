import { useState } from 'react'
import type { Summary } from '../../contract/model'
import { age } from '../../store/format'
import { markOf, whyOf } from '../../store/sections'
import { Icon } from '../Icon'
import { Link } from '../Link'
import { useActions } from '../bench'
import { HealthMark } from '../status/HealthMark'
import { StatusMark } from '../status/StatusMark'
import { RenameField } from './RenameField'

interface Props {
  summary: Summary
  current: boolean
  /** Whether the second line says what waits. */
  why: boolean
  /** Whether its turn ended while nobody looked. */
  unread: boolean
  provider: string
  now: number
  onDelete: () => void
}

/** One conversation in the list. */
export function SidebarRow({ summary, current, why, unread, provider, now, onDelete }: Props) {
  const { rename, archive, pin } = useActions()
  const [renaming, setRenaming] = useState(false)
  const id = summary.session_id
  const title = summary.title || 'Untitled'
  const mark = markOf(summary)
  const canRename = summary.status !== 'active'
  if (renaming) {
    return (
      <div className="item">
        <StatusMark kind={mark.kind} words={mark.words} />
        <RenameField
          title={summary.title}
          onDone={(next) => {
            setRenaming(false)
            if (next !== '' && next !== summary.title) rename(id, next)
          }}
        />
      </div>
    )
  }
  return (
    <div className="item-wrap">
      <Link
        className={why ? 'item two' : 'item'}
        to={{ view: 'agents', screen: 'conversation', id }}
        aria-current={current ? 'true' : undefined}
        title={`${title} · ${provider} · ${summary.project_path}`}
        onDoubleClick={() => canRename && setRenaming(true)}
        onKeyDown={(e) => {
          if (e.key === 'F2' && canRename) {
            e.preventDefault()
            setRenaming(true)
          }
        }}
      >
        <StatusMark kind={mark.kind} words={mark.words} />
        <span className={current || unread ? 'cut mid' : 'cut'}>{title}</span>
        <span className="row gap-1">
          <HealthMark health={summary.health} />
          {unread && <span className="unread" role="img" aria-label="unread" title="unread" />}
          {summary.pinned && <Icon name="pin" className="i-s ink-3 pin" />}
          <span className="t">{age(summary.updated_at, now)}</span>
        </span>
        {why && <span className="why cut">{whyOf(summary)}</span>}
      </Link>
      <span className="row-acts">
        <Act
          icon="pin"
          label={summary.pinned ? `Unpin ${title}` : `Pin ${title}`}
          run={() => pin(id, !summary.pinned)}
        />
        <Act
          icon="history"
          label={summary.archived ? `Bring back ${title}` : `Archive ${title}`}
          run={() => archive(id, !summary.archived)}
        />
        <Act icon="trash" label={`Delete ${title}`} run={onDelete} />
      </span>
    </div>
  )
}

function Act(props: { icon: 'pin' | 'history' | 'trash'; label: string; run: () => void }) {
  return (
    <button
      type="button"
      className="ico"
      aria-label={props.label}
      title={props.label}
      onClick={props.run}
    >
      <Icon name={props.icon} className="i-s" />
    </button>
  )
}
