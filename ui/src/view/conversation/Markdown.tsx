import type { Element, ElementContent } from 'hast'
import type { ComponentProps } from 'react'
import type { Components } from 'streamdown'
import { Streamdown, useIsCodeFenceIncomplete } from 'streamdown'
import { CodeBlock } from './CodeBlock'

type Node = { node?: Element | undefined }

/** The text below a node of the parsed Markdown. */
function textOf(node: ElementContent | Element | undefined): string {
  if (!node) return ''
  if (node.type === 'text') return node.value
  return node.type === 'element' ? node.children.map(textOf).join('') : ''
}

/** A model may leak text through an image's address: only ours are loaded. */
function ownImage(src: string): boolean {
  if (src.startsWith('data:image/')) return true
  try {
    return new URL(src, location.href).origin === location.origin
  } catch {
    return false
  }
}

function Image({ src, alt }: ComponentProps<'img'> & Node) {
  const address = typeof src === 'string' ? src : ''
  if (address === '') return <>{alt}</>
  if (ownImage(address)) return <img src={address} alt={alt ?? ''} />
  return <Anchor href={address}>{`image: ${alt ? `${alt}, ` : ''}${address}`}</Anchor>
}

/** Opens in a new tab, tells nobody where from, and shows where it goes. */
function Anchor({ href, children }: ComponentProps<'a'> & Node) {
  const address = href ?? ''
  const shown = typeof children === 'string' ? children : ''
  return (
    <a href={address} target="_blank" rel="noreferrer noopener" title={address}>
      {children}
      {shown !== '' && !shown.includes(address) && !address.startsWith(shown) && (
        <span className="href"> ({address})</span>
      )}
    </a>
  )
}

function Pre({ node }: ComponentProps<'pre'> & Node) {
  const code = node?.children.find((c) => c.type === 'element')
  const names = code?.type === 'element' ? code.properties.className : undefined
  const language = (Array.isArray(names) ? names : [])
    .map(String)
    .find((n) => n.startsWith('language-'))
  return (
    <Fence
      code={textOf(code).replace(/\n$/, '')}
      language={language?.slice(9).split(':')[0] ?? ''}
    />
  )
}

function Fence({ code, language }: { code: string; language: string }) {
  return <CodeBlock code={code} language={language} open={useIsCodeFenceIncomplete()} />
}

/** Elements without classes of their own: parts.css knows them by name. */
const plain = <T extends keyof React.JSX.IntrinsicElements>(Tag: T) =>
  function Plain({
    node: _node,
    className: _class,
    ...rest
  }: Node & { className?: string | undefined }) {
    const Element: React.ElementType = Tag
    return <Element {...rest} />
  }

const components: Components = {
  a: Anchor,
  img: Image,
  pre: Pre,
  inlineCode: plain('code'),
  p: plain('p'),
  h1: plain('h1'),
  h2: plain('h2'),
  h3: plain('h3'),
  h4: plain('h4'),
  h5: plain('h5'),
  h6: plain('h6'),
  ul: plain('ul'),
  ol: plain('ol'),
  li: plain('li'),
  blockquote: plain('blockquote'),
  hr: plain('hr'),
  strong: plain('strong'),
  em: plain('em'),
  thead: plain('thead'),
  tbody: plain('tbody'),
  tr: plain('tr'),
  th: plain('th'),
  td: plain('td'),
  // The only field that Markdown has: a task that is done, or not.
  input: ({ checked }) => (
    <input
      type="checkbox"
      checked={checked === true}
      disabled
      readOnly
      aria-label={checked === true ? 'done' : 'to do'}
    />
  ),
  table: ({ children }) => (
    <div className="table">
      <table>{children}</table>
    </div>
  ),
}

/**
 * The one place where a model's Markdown becomes elements. Raw HTML is
 * sanitised by the library; links, images and code are ours.
 */
export default function Markdown({ text, live }: { text: string; live: boolean }) {
  return (
    <Streamdown
      className="md"
      // The other mode draws another tree, and an answer would be built anew
      // at its end.
      mode="streaming"
      isAnimating={live}
      parseIncompleteMarkdown={live}
      components={components}
      controls={false}
    >
      {text}
    </Streamdown>
  )
}
