import type { ProjectGit } from '../contract/gen'
import { Icon } from './Icon'

/** Branch, an amber dot when something is not committed, how far behind. */
export function GitChip({ git, title = '' }: { git: ProjectGit; title?: string }) {
  if (!git.is_git_repo) return <span className="chip ink-3">not a git repo</span>
  const n = git.uncommitted_count
  const dirty = `${n} uncommitted change(s)`
  const about = [
    title,
    git.branch === '' ? 'No branch is checked out' : `Branch ${git.branch}`,
    n > 0 ? dirty : '',
    git.behind_upstream > 0 ? `${git.behind_upstream} behind upstream` : '',
    git.ahead_upstream > 0 ? `${git.ahead_upstream} ahead of upstream` : '',
    ...git.warnings,
  ].filter(Boolean)
  return (
    <span className="chip git" title={about.join('\n')}>
      <Icon name="branch" />
      <span className="cut">{git.branch || 'detached'}</span>
      {n > 0 && <span className="dirty" role="img" aria-label={dirty} />}
      {git.behind_upstream > 0 && (
        <span
          className="num ink-3"
          aria-label={`${git.behind_upstream} behind upstream`}
          role="img"
        >
          ↓{git.behind_upstream}
        </span>
      )}
    </span>
  )
}
