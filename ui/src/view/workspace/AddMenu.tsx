import { DropdownMenu } from 'radix-ui'
import type { Workspace } from '../../store/workspace'
import { conversationPane, terminalPane } from '../../store/workspace'
import { Icon } from '../Icon'
import { useBench, useWork, useWorkActions } from '../bench'

/** Opens one more tile: a program, a conversation, or a terminal that runs already. */
export function AddMenu({ workspace }: { workspace: Workspace }) {
  const { add } = useWorkActions()
  const presets = useWork((s) => s.presets)
  const terminals = useWork((s) => s.terminals)
  const workspaces = useWork((s) => s.workspaces)
  const summaries = useBench((s) => s.summaries)
  const agents = presets?.filter((p) => p.kind === 'agent') ?? []
  const shells = presets?.filter((p) => p.kind === 'shell') ?? []
  const placed = new Set((workspaces ?? []).flatMap((w) => w.panes.map((p) => p.id)))
  const loose = (terminals ?? []).filter((t) => !placed.has(t.terminal_id))
  const here = new Set(workspace.panes.map((p) => p.ref))
  const talks = (summaries ?? [])
    .filter((s) => !s.archived && !here.has(s.session_id))
    .sort((a, b) => {
      const own = (x: typeof a): number => Number(x.project_path === workspace.projectPath)
      return own(b) - own(a) || b.updated_at.localeCompare(a.updated_at)
    })
    .slice(0, 12)
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <button type="button" className="btn sm quiet">
          <Icon name="plus" className="i-s" />
          Add Session
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu add-menu" align="end" sideOffset={4}>
          {presets === undefined && <p className="none">Looking for programs…</p>}
          {[...agents, ...shells].map((p) => (
            <DropdownMenu.Item
              key={p.id}
              className="mi"
              title={p.path}
              onSelect={() => add(workspace.id, terminalPane(p))}
            >
              <Icon name={p.kind === 'agent' ? 'bot' : 'term'} />
              <span className="grow">{p.label}</span>
              {p.default && <small>your shell</small>}
            </DropdownMenu.Item>
          ))}
          {loose.length > 0 && (
            <>
              <hr />
              <DropdownMenu.Label asChild>
                <h4>Open already</h4>
              </DropdownMenu.Label>
              {loose.map((t) => (
                <DropdownMenu.Item
                  key={t.terminal_id}
                  className="mi"
                  onSelect={() =>
                    add(workspace.id, {
                      ...terminalPane({ command: t.command, args: t.args, label: t.command }),
                      id: t.terminal_id,
                    })
                  }
                >
                  <Icon name="term" />
                  <span className="grow cut">
                    {t.command} {t.title}
                  </span>
                  <small>{t.state}</small>
                </DropdownMenu.Item>
              ))}
            </>
          )}
          {talks.length > 0 && (
            <>
              <hr />
              <DropdownMenu.Label asChild>
                <h4>Conversations</h4>
              </DropdownMenu.Label>
              {talks.map((s) => (
                <DropdownMenu.Item
                  key={s.session_id}
                  className="mi"
                  onSelect={() => add(workspace.id, conversationPane(s.session_id))}
                >
                  <Icon name="agents" />
                  <span className="grow cut">{s.title || 'Untitled'}</span>
                </DropdownMenu.Item>
              ))}
            </>
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
