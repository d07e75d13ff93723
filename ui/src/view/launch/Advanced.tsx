import { DropdownMenu } from 'radix-ui'
import { useState } from 'react'
import type { Profile } from '../../contract/gen'
import { ProfileDefault } from '../../contract/gen'
import type { Segment } from '../../store/posture'
import { segments } from '../../store/posture'
import { Icon } from '../Icon'
import { Link } from '../Link'
import { Segments } from '../Segments'

export type Place = 'project' | 'worktree'

interface Props {
  mode: Segment
  onMode: (mode: Segment) => void
  profiles: Profile[]
  profile: Profile | undefined
  onProfile: (id: string) => void
  /** undefined where edits can land in one place only. */
  place: Place | undefined
  onPlace: (place: Place) => void
  /** Why a worktree will not do, in words; empty when it will. */
  placeNote: string
}

// A long name must not push the others out of the summary. Source: ui.md 4.
const summaryName = 12

const cutName = (name: string): string =>
  name.length > summaryName ? `${name.slice(0, summaryName)}…` : name

/** Mode, profile and place; folded while all three are as ever. */
export function Advanced(props: Props) {
  const { mode, profile, place } = props
  const changed = [
    mode.id === 'agent' ? '' : mode.label,
    profile && profile.id !== ProfileDefault ? cutName(profile.name) : '',
    place === 'worktree' ? 'Worktree' : '',
  ].filter(Boolean)
  // Until somebody folds it, it is open where something is not the default.
  const [choice, setChoice] = useState<boolean>()
  const open = choice ?? changed.length > 0
  return (
    <section className="adv">
      <button type="button" className="line" aria-expanded={open} onClick={() => setChoice(!open)}>
        <Icon name={open ? 'down' : 'right'} />
        <span className="mid text-ink">Advanced</span>
        {!open && changed.length > 0 && <span className="ink-3 cut">{changed.join(' · ')}</span>}
      </button>
      {open && (
        <dl>
          <dt>Mode</dt>
          <dd>
            <Segments
              name="Mode"
              value={mode.id}
              choices={segments.map((s) => ({
                id: s.id,
                label: s.label,
                mark: <span className={`mode-dot ${s.hue}`} aria-hidden="true" />,
              }))}
              onChange={(id) => {
                const next = segments.find((s) => s.id === id)
                if (next) props.onMode(next)
              }}
            />
            <span className="ink-3">{mode.description}</span>
          </dd>
          {profile && (
            <>
              <dt>Profile</dt>
              <dd>
                <ProfileMenu
                  profiles={props.profiles}
                  profile={profile}
                  onChange={props.onProfile}
                />
                <span className="ink-3 micro">{profile.description}</span>
              </dd>
            </>
          )}
          {place !== undefined && (
            <>
              <dt>Edits land in</dt>
              <dd>
                <Segments
                  name="Where edits land"
                  value={place}
                  choices={[
                    {
                      id: 'project',
                      label: 'Local',
                      title: 'edits land in the project tree (also updates the global default)',
                    },
                    {
                      id: 'worktree',
                      label: 'Worktree',
                      title:
                        'conversation runs on a fresh branch in .pkt-worktrees/ (also updates the global default)',
                    },
                  ]}
                  onChange={props.onPlace}
                />
                {place === 'worktree' && props.placeNote !== '' ? (
                  <span className="amber micro">{props.placeNote}</span>
                ) : place === 'worktree' ? (
                  <span className="ink-3">
                    a fresh branch <span className="code-s">pkt/…</span> in{' '}
                    <span className="code-s">.pkt-worktrees/</span>
                  </span>
                ) : (
                  <span className="ink-3">the project tree</span>
                )}
              </dd>
            </>
          )}
        </dl>
      )}
    </section>
  )
}

function ProfileMenu(props: {
  profiles: Profile[]
  profile: Profile
  onChange: (id: string) => void
}) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <button type="button" className="btn" aria-label={`Profile ${props.profile.name}`}>
          <span className="cut">{props.profile.name}</span>
          <Icon name="down" className="i-s" />
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu profile-list" align="start" sideOffset={6}>
          <DropdownMenu.RadioGroup value={props.profile.id} onValueChange={props.onChange}>
            {props.profiles.map((p) => (
              <DropdownMenu.RadioItem key={p.id} value={p.id} className="mi">
                <span
                  className={p.id === props.profile.id ? 'radio on' : 'radio'}
                  aria-hidden="true"
                />
                <span className="grow">
                  <span className="mid">{p.name}</span>
                  <small>{p.description}</small>
                </span>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
          <hr />
          <DropdownMenu.Item className="mi" asChild>
            <Link to={{ view: 'settings', group: 'profiles' }} className="no-underline">
              <Icon name="settings" />
              <span className="grow">Edit profiles…</span>
            </Link>
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
