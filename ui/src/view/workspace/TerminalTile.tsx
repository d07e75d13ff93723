import { DropdownMenu } from 'radix-ui'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { Terminal } from '../../contract/gen'
import { writeStored } from '../../store/storage'
import type { Pane } from '../../store/workspace'
import { Icon } from '../Icon'
import { useActions, useWork, useWorkActions } from '../bench'
import { standing } from '../terminal/standing'
import { TerminalBody } from '../terminal/TerminalBody'
import { estimateRoom } from '../terminal/theme'
import { readerWanted, useTerminal } from '../terminal/useTerminal'
import { CloseDialog } from './CloseDialog'
import { TileBar } from './TileBar'
import { useTileKeys } from './tileContext'

interface Props {
  workspace: string
  cwd: string
  pane: Pane
  visible: boolean
  focused: boolean
}

// Source: ui.md 15.
const launchAfterMs = 200

/** A program in a terminal, with its bar. */
export function TerminalTile({ workspace, cwd, pane, visible, focused }: Props) {
  const terminal = useWork((s) => s.terminals?.find((t) => t.terminal_id === pane.id))
  return terminal ? (
    <Running {...{ workspace, cwd, pane, visible, focused, terminal }} />
  ) : (
    <Waiting {...{ workspace, cwd, pane, visible }} />
  )
}

function Running({
  workspace,
  cwd,
  pane,
  visible,
  focused,
  terminal,
}: Props & { terminal: Terminal }) {
  const { closePane, restart } = useWorkActions()
  const { say } = useActions()
  const fresh = useWork((s) => s.fresh[pane.id] === true)
  const [host, setHost] = useState<HTMLElement | null>(null)
  const [finding, setFinding] = useState(false)
  const [closing, setClosing] = useState(false)
  const { mounted, face } = useTerminal(pane.id, host, false, visible)
  const stand = standing(terminal)
  const live = terminal.state !== 'ended'

  // Who opened it looks at it: the size is theirs, and so is the keyboard.
  const begun = face?.begun === true && face.phase === 'open'
  // Only the beginning counts: later the focus is where the person put it.
  const taken = useRef(false)
  useEffect(() => {
    if (!begun || !mounted || taken.current) return
    taken.current = true
    if (fresh && focused && visible) mounted.takeOver()
  }, [begun, mounted, fresh, focused, visible])

  const find = useCallback(() => setFinding(true), [])
  useTileKeys(pane.id, { focus: mounted?.focus, find })

  const copyAll = (): void => {
    void navigator.clipboard
      ?.writeText(mounted?.text() ?? '')
      .then(() => say('Copied what the terminal holds'))
      .catch(() => say('The browser did not allow copying.', 'error'))
  }
  const close = (): void => {
    if (live) setClosing(true)
    else void closePane(workspace, pane.id)
  }
  return (
    <>
      <TileBar
        workspace={workspace}
        pane={pane.id}
        mark={stand.mark}
        words={stand.words}
        name={pane.name || terminal.command}
        title={terminal.title}
        closing="Close pane"
        onClose={close}
        badges={
          <>
            {stand.badge !== '' && (
              <span className={`tag keep ${stand.mark === 'fail' ? 'red' : ''}`}>
                {stand.badge}
              </span>
            )}
            <span className="micro ink-3 num keep hide-tight">
              {terminal.cols}×{terminal.rows}
            </span>
          </>
        }
        items={
          <>
            <DropdownMenu.Item className="mi" onSelect={() => void restart(pane, cwd)}>
              <Icon name="restart" />
              <span className="grow">{live ? 'Restart session' : 'Start session'}</span>
            </DropdownMenu.Item>
            <DropdownMenu.Item className="mi" onSelect={() => setFinding(true)}>
              <Icon name="search" />
              <span className="grow">Search in the scrollback</span>
              <kbd className="kbd">Ctrl+Shift+F</kbd>
            </DropdownMenu.Item>
            <DropdownMenu.Item className="mi" onSelect={copyAll}>
              <Icon name="copy" />
              <span className="grow">Copy everything</span>
            </DropdownMenu.Item>
            <DropdownMenu.CheckboxItem
              className="mi"
              checked={readerWanted()}
              onCheckedChange={(on) => {
                writeStored(on ? 'on' : '', 'terminal', 'reader')
                mounted?.setReader(on)
              }}
            >
              <Icon name="say" />
              <span className="grow">Text for screen readers</span>
              <DropdownMenu.ItemIndicator>
                <Icon name="check" />
              </DropdownMenu.ItemIndicator>
            </DropdownMenu.CheckboxItem>
            <hr />
          </>
        }
      />
      <TerminalBody
        mounted={mounted}
        face={face}
        name={pane.name || terminal.command}
        readOnly={false}
        setHost={setHost}
        finding={finding}
        onFound={() => setFinding(false)}
        ended={
          <div className="term-note row" role="status">
            <span className="mid">[Session ended]</span>
            <span className="micro ink-3">{stand.words}</span>
            <button type="button" className="btn sm" onClick={() => void restart(pane, cwd)}>
              <Icon name="restart" className="i-s" />
              Restart session
            </button>
          </div>
        }
      />
      {closing && (
        <CloseDialog
          title={`Close ${pane.name || terminal.command}?`}
          words="Any live PTY and CLI process in this pane will be stopped."
          button="Close pane"
          onClose={() => setClosing(false)}
          onConfirm={() => void closePane(workspace, pane.id)}
        />
      )}
    </>
  )
}

/** A tile whose program does not run: it starts once, by itself, when seen. */
function Waiting({ workspace, cwd, pane, visible }: Omit<Props, 'focused'>) {
  const { closePane, start } = useWorkActions()
  const known = useWork((s) => s.terminals !== undefined)
  const error = useWork((s) => s.terminalsError)
  const state = useWork((s) => s.starts[pane.id])
  const closed = useWork((s) => s.closed[pane.id] === true)
  const [body, setBody] = useState<HTMLElement | null>(null)
  const wanted = visible && known && !closed && state === undefined
  useEffect(() => {
    if (!wanted || !body) return
    const timer = setTimeout(() => void start(pane, cwd, estimateRoom(body)), launchAfterMs)
    return () => clearTimeout(timer)
  }, [wanted, body, pane, cwd, start])
  const again = (): void => {
    if (body) void start(pane, cwd, estimateRoom(body))
  }
  const failed = state?.phase === 'failed'
  return (
    <>
      <TileBar
        workspace={workspace}
        pane={pane.id}
        mark={failed ? 'fail' : closed ? 'idle' : 'stop'}
        words={failed ? 'did not start' : closed ? 'closed' : 'starting'}
        name={pane.name || pane.command}
        title=""
        closing={failed || closed ? 'Remove tile' : 'Close pane'}
        onClose={() => void closePane(workspace, pane.id)}
      />
      <div className="term term-wait" ref={setBody}>
        {failed ? (
          <div className="center" role="alert">
            <div>
              <p className="mid">
                Failed to start {pane.name || pane.command}: {state.reason}
              </p>
              <p className="ink-3">
                Make sure &apos;{pane.command}&apos; is installed and on your PATH.
              </p>
            </div>
            <button type="button" className="btn" onClick={again}>
              Start session
            </button>
          </div>
        ) : closed ? (
          <div className="center">
            <p className="ink-3">This terminal was closed.</p>
            <div className="row">
              <button type="button" className="btn" onClick={again}>
                Start session
              </button>
              <button
                type="button"
                className="btn quiet"
                onClick={() => void closePane(workspace, pane.id)}
              >
                Remove tile
              </button>
            </div>
          </div>
        ) : (
          <div className="center" role="status">
            <p className="ink-3">{error !== '' ? error : 'Starting…'}</p>
          </div>
        )}
      </div>
    </>
  )
}
