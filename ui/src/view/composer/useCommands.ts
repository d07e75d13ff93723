import { useCallback } from 'react'
import type { SlashCommand } from '../../store/completion'
import { builtins, merge } from '../../store/completion'
import { useActions } from '../bench'

/**
 * The commands behind `/`, read each time they are wanted: those of the page
 * in a chat, then the Markdown files of the project and of the person. A
 * service that does not answer leaves the page's own.
 */
export function useCommands(chat: boolean, project: string): () => Promise<SlashCommand[]> {
  const { listCommands } = useActions()
  return useCallback(async () => {
    const own = chat ? builtins : []
    const files = await listCommands(project).catch(() => [])
    return merge(
      own,
      files.map((c) => ({ kind: 'body', ...c })),
    )
  }, [chat, project, listCommands])
}
