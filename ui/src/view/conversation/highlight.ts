// Colours for code: shiki's core with its JavaScript engine, the languages we
// list and nothing else, each loaded when it is first met. Colours are our
// tokens, so a theme switch needs no second pass.

import type { HighlighterCore, LanguageInput } from 'shiki/core'

export interface Token {
  content: string
  color: string | undefined
}

type Load = () => Promise<{ default: LanguageInput }>

const bash: Load = () => import('shiki/langs/bash.mjs')
const javascript: Load = () => import('shiki/langs/javascript.mjs')
const typescript: Load = () => import('shiki/langs/typescript.mjs')

// Names that models write after a fence.
const languages: Record<string, Load> = {
  bash,
  sh: bash,
  shell: bash,
  zsh: bash,
  console: () => import('shiki/langs/shellsession.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  cpp: () => import('shiki/langs/cpp.mjs'),
  csharp: () => import('shiki/langs/csharp.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  dockerfile: () => import('shiki/langs/docker.mjs'),
  docker: () => import('shiki/langs/docker.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  ini: () => import('shiki/langs/ini.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript,
  js: javascript,
  jsx: () => import('shiki/langs/jsx.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  jsonc: () => import('shiki/langs/jsonc.mjs'),
  kotlin: () => import('shiki/langs/kotlin.mjs'),
  lua: () => import('shiki/langs/lua.mjs'),
  makefile: () => import('shiki/langs/make.mjs'),
  make: () => import('shiki/langs/make.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  md: () => import('shiki/langs/markdown.mjs'),
  php: () => import('shiki/langs/php.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  py: () => import('shiki/langs/python.mjs'),
  ruby: () => import('shiki/langs/ruby.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  rs: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  swift: () => import('shiki/langs/swift.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript,
  ts: typescript,
  xml: () => import('shiki/langs/xml.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
  yml: () => import('shiki/langs/yaml.mjs'),
}

// Beyond this a page would stand still for colours. Characters.
const maxCode = 60_000

const theme = 'packetbench'

let core: Promise<HighlighterCore> | undefined
const loaded = new Map<string, Promise<string>>()

async function start(): Promise<HighlighterCore> {
  const [{ createHighlighterCore }, { createJavaScriptRegexEngine }] = await Promise.all([
    import('shiki/core'),
    import('shiki/engine/javascript'),
  ])
  const colour = (scope: string[], name: string) => ({
    scope,
    settings: { foreground: `var(--${name})` },
  })
  return createHighlighterCore({
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
    themes: [
      {
        name: theme,
        type: 'dark',
        fg: 'var(--ink)',
        bg: 'transparent',
        settings: [
          { settings: { foreground: 'var(--ink)' } },
          colour(['comment', 'punctuation.definition.comment'], 'syn-com'),
          colour(['string', 'markup.inline.raw', 'punctuation.definition.string'], 'syn-str'),
          colour(['constant.numeric', 'constant.language', 'constant.character'], 'syn-num'),
          colour(['keyword', 'storage', 'keyword.operator.new', 'markup.heading'], 'syn-key'),
          colour(['entity.name.function', 'support.function', 'entity.name.tag'], 'syn-fn'),
          colour(['entity.name.type', 'support.type', 'support.class'], 'syn-fn'),
          colour(['markup.inserted'], 'green'),
          colour(['markup.deleted'], 'red'),
        ],
      },
    ],
  })
}

/** Lines of coloured tokens; undefined for a language that is not listed. */
export async function highlight(code: string, language: string): Promise<Token[][] | undefined> {
  const name = language.toLowerCase()
  const load = Object.hasOwn(languages, name) ? languages[name] : undefined
  if (!load || code.length > maxCode) return undefined
  try {
    core ??= start()
    const highlighter = await core
    let ready = loaded.get(name)
    if (!ready) {
      ready = load().then(async ({ default: grammar }) => {
        const before = new Set(highlighter.getLoadedLanguages())
        await highlighter.loadLanguage(grammar)
        if (highlighter.getLoadedLanguages().includes(name)) return name
        return highlighter.getLoadedLanguages().find((l) => !before.has(l)) ?? 'text'
      })
      loaded.set(name, ready)
    }
    const { tokens } = highlighter.codeToTokens(code, { lang: await ready, theme })
    return tokens.map((line) => line.map((t) => ({ content: t.content, color: t.color })))
  } catch {
    // Colours are an extra: without them the code is still there.
    return undefined
  }
}
