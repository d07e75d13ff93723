import type { AnchorHTMLAttributes } from 'react'
import type { Route } from './navigate'
import { pathOf, useNavigation } from './navigate'

type Props = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> & { to: Route }

/** A real link: the plain click stays in the page, the others do as always. */
export function Link({ to, onClick, ...rest }: Props) {
  const { go } = useNavigation()
  return (
    <a
      href={pathOf(to)}
      onClick={(e) => {
        onClick?.(e)
        if (e.defaultPrevented || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
        e.preventDefault()
        go(to)
      }}
      {...rest}
    />
  )
}
