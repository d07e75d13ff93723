import { useEffect, useState } from 'react'
import type { Profile } from '../../contract/gen'
import { Icon } from '../Icon'
import { useActions, useBench } from '../bench'
import { ProfileEditor } from './ProfileEditor'

const modeNames: Record<Profile['permission_mode'], string> = {
  auto: 'Auto',
  ask_for_risky: 'Ask risky',
  allow_all: 'Allow all',
  deny_all: 'Deny risky',
}

/** What a profile is, in a line. */
export function profileLine(p: Profile): string {
  const tools = p.allowed_tools
  return [
    tools === null ? 'All tools' : tools.length === 1 ? '1 tool' : `${tools.length} tools`,
    p.memory_context_enabled ? 'memory on' : 'memory off',
    p.plan_mode ? 'plan' : modeNames[p.permission_mode],
    p.pinned_model ?? '',
  ]
    .filter(Boolean)
    .join(' · ')
}

/** Profiles: the built-in ones to clone, a person's own to edit. */
export function ProfilesGroup() {
  const list = useBench((s) => s.profiles)
  const error = useBench((s) => s.profilesError)
  const open = useBench((s) => s.link.phase === 'open')
  const { reloadProfiles, cloneProfile, setDefaultProfile } = useActions()
  const [editing, setEditing] = useState('')
  useEffect(() => {
    if (open) reloadProfiles()
  }, [open, reloadProfiles])
  if (!list) {
    return error === '' ? (
      <p className="panel none">The profiles are being read…</p>
    ) : (
      <p className="note red" role="alert">
        <Icon name="warn" className="i-s" />
        <span className="grow">{error}</span>
        <button type="button" className="btn sm" onClick={reloadProfiles}>
          Retry
        </button>
      </p>
    )
  }
  const builtin = list.profiles.filter((p) => p.is_builtin)
  const own = list.profiles.filter((p) => !p.is_builtin)
  const clone = (id: string): void => void cloneProfile(id).then(setEditing)
  const star = (p: Profile) => (
    <button
      type="button"
      className={p.id === list.default ? 'ico star on' : 'ico star'}
      aria-pressed={p.id === list.default}
      aria-label={`${p.name} is the default`}
      title={p.id === list.default ? 'The default' : 'Make it the default'}
      onClick={() => setDefaultProfile(p.id)}
    >
      <Icon name="star" className="i-s" />
    </button>
  )
  return (
    <>
      <h2>Built in</h2>
      <div className="grid-3">
        {builtin.map((p) => (
          <article
            key={p.id}
            className={p.id === list.default ? 'card chosen' : 'card'}
            aria-label={p.name}
          >
            <div className="row">
              {star(p)}
              <span className="strong grow">{p.name}</span>
              {p.id === list.default && <span className="tag">default</span>}
            </div>
            <p className="ink-2 micro">{p.description}</p>
            <div className="row card-foot">
              <span className="micro ink-3 grow">{profileLine(p)}</span>
              <button
                type="button"
                className="btn sm quiet"
                aria-label={`Clone ${p.name}`}
                onClick={() => clone(p.id)}
              >
                <Icon name="copy" className="i-s" />
                Clone
              </button>
            </div>
          </article>
        ))}
      </div>
      <h2>
        Yours <span className="scope">New conversations</span>
      </h2>
      <div className="panel">
        {own.length === 0 && (
          <p className="none">None yet. Clone a built-in one and change what you want.</p>
        )}
        {own.map((p) => (
          <div key={p.id} role="group" aria-label={p.name} className="own-profile">
            <div className="set">
              <div className="row">
                {star(p)}
                <div>
                  <span className="mid">{p.name}</span>{' '}
                  {p.id === list.default && <span className="tag">default</span>}
                  <p>{p.description}</p>
                </div>
              </div>
              <div className="ctl">
                <span className="micro ink-3">{profileLine(p)}</span>
                <button
                  type="button"
                  className="btn sm quiet"
                  aria-expanded={editing === p.id}
                  aria-label={`Edit ${p.name}`}
                  onClick={() => setEditing(editing === p.id ? '' : p.id)}
                >
                  Edit
                </button>
                <button
                  type="button"
                  className="btn sm quiet"
                  aria-label={`Clone ${p.name}`}
                  onClick={() => clone(p.id)}
                >
                  Clone
                </button>
              </div>
            </div>
            {editing === p.id && (
              <ProfileEditor key={p.id} profile={p} onClose={() => setEditing('')} />
            )}
          </div>
        ))}
      </div>
    </>
  )
}
