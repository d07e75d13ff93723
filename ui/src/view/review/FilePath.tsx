import { Icon } from '../Icon'

/** A path with its folder in the background and its name in front. */
export function FilePath({ path, folded = false }: { path: string; folded?: boolean }) {
  const cut = path.lastIndexOf('/') + 1
  return (
    <>
      <Icon name={folded ? 'right' : 'file'} className="i-s" />
      <span className={folded ? 'path cut ink-2' : 'path cut'} title={path}>
        <span className="ink-3">{path.slice(0, cut)}</span>
        {path.slice(cut)}
      </span>
    </>
  )
}
