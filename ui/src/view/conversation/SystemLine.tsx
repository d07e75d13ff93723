import type { Message } from '../../contract/model'

/** A line of the service between the turns. */
export function SystemLine({ message }: { message: Message }) {
  const level = message.level === 'warning' || message.level === 'error' ? message.level : ''
  return (
    <div className={`sys ${level}`}>
      <span>{message.content}</span>
    </div>
  )
}
