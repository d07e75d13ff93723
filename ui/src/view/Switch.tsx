/** On or off, at once. */
export function Switch(props: {
  name: string
  on: boolean
  onChange: (on: boolean) => void
  /** Why it cannot be changed now; empty when it can. */
  blocked?: string
}) {
  const blocked = props.blocked ?? ''
  return (
    <button
      type="button"
      className="switch"
      role="switch"
      aria-checked={props.on}
      aria-label={props.name}
      aria-disabled={blocked !== ''}
      title={blocked === '' ? undefined : blocked}
      onClick={() => blocked === '' && props.onChange(!props.on)}
    />
  )
}
