// The rows of Settings > Providers: what each is called, what it falls back
// to, and how its text becomes a value of set_settings. Whether a value is
// good is the service's to say.

import type { ProviderSettings } from '../contract/model'

export interface SettingRow {
  /** The key of set_settings; a dot leads into an object. */
  key: string
  label: string
  /** What holds while nothing is set; shown in the empty field. */
  fallback: string
  hint: string
  /** Several lines instead of one. */
  long: boolean
  text: (s: ProviderSettings) => string
  value: (text: string) => unknown
}

function urlRow(key: string, label: string, fallback: string, hint: string): SettingRow {
  return {
    key,
    label,
    fallback,
    hint,
    long: false,
    text: (s) => s.urls[key] ?? '',
    value: (text) => text,
  }
}

/** The rows in order. Source of the defaults: ui.md 18, actors/turn/llm. */
export const settingRows: readonly SettingRow[] = [
  urlRow(
    'named_provider_base_urls.anthropic',
    'Anthropic base URL',
    'https://api.anthropic.com',
    'For a proxy or a gateway.',
  ),
  urlRow(
    'named_provider_base_urls.openai',
    'OpenAI base URL',
    'https://api.openai.com/v1',
    'For a proxy or a gateway.',
  ),
  urlRow(
    'named_provider_base_urls.openrouter',
    'OpenRouter base URL',
    'https://openrouter.ai/api/v1',
    'For a proxy or a gateway.',
  ),
  urlRow(
    'minimax_base_url',
    'MiniMax base URL',
    'https://api.minimax.io/v1',
    'In China the host is api.minimaxi.com.',
  ),
  urlRow(
    'ollama_base_url',
    'Ollama base URL',
    'http://localhost:11434',
    'Where the Ollama daemon listens.',
  ),
  {
    key: 'ollama_num_ctx_cap',
    label: 'Ollama context cap',
    fallback: '16384',
    hint: 'The most tokens of context that are asked of Ollama; more needs more memory.',
    long: false,
    text: (s) => s.ollamaContextCap,
    // What is no number goes as it is, so that the service says so.
    value: (text) => (/^\d+$/.test(text) ? Number(text) : text),
  },
  {
    key: 'ollama_keep_alive',
    label: 'Ollama keep-alive',
    fallback: '30m',
    hint: 'How long a model stays loaded: a number with ms, s, m or h, 0, or -1 for ever.',
    long: false,
    text: (s) => s.ollamaKeepAlive,
    value: (text) => text,
  },
  urlRow(
    'custom_compat_base_url',
    'Custom endpoint base URL',
    '',
    'Speaks the OpenAI chat completions; /chat/completions is appended. A key is optional.',
  ),
  {
    key: 'custom_compat_models',
    label: 'Custom endpoint models',
    fallback: '',
    hint: 'The names to choose from, one per line.',
    long: true,
    text: (s) => s.customModels.join('\n'),
    value: (text) => text.split('\n').filter((line) => line.trim() !== ''),
  },
]
