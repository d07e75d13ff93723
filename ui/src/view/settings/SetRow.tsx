import type { ReactNode } from 'react'

/** One row of a panel: what it is, when it takes effect, its control. */
export function SetRow(props: {
  label: string
  scope?: 'App' | 'This browser' | 'New conversations'
  hint: ReactNode
  failure?: string
  children: ReactNode
}) {
  return (
    <div className="set" role="group" aria-label={props.label}>
      <div>
        <span className="mid">{props.label}</span>{' '}
        {props.scope && <span className="scope">{props.scope}</span>}
        <p>{props.hint}</p>
        {props.failure !== undefined && props.failure !== '' && (
          <p className="red" role="alert">
            {props.failure}
          </p>
        )}
      </div>
      <div className="ctl">{props.children}</div>
    </div>
  )
}
