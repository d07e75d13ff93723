// The page's icons: 16 by 16, drawn with the ink of the text beside them.

const shapes = {
  agents: (
    <>
      <path d="M2.5 3.5h11v7.5h-6L4.5 13.5V11h-2z" />
      <path d="M5.5 7.25h.01M8 7.25h.01M10.5 7.25h.01" strokeWidth="1.8" />
    </>
  ),
  history: (
    <>
      <path d="M2.8 8a5.2 5.2 0 1 0 1.6-3.75L2.5 6" />
      <path d="M2.5 3v3h3M8 5.2V8l2 1.4" />
    </>
  ),
  ops: (
    <>
      <circle cx="8" cy="3.2" r="1.6" />
      <circle cx="3.4" cy="12.6" r="1.6" />
      <circle cx="12.6" cy="12.6" r="1.6" />
      <path d="M8 4.8v3.4M3.4 11V8.2h9.2V11" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  plus: (
    <>
      <path d="M8 3v10M3 8h10" />
    </>
  ),
  minus: (
    <>
      <path d="M3 8h10" />
    </>
  ),
  x: (
    <>
      <path d="m4 4 8 8M12 4l-8 8" />
    </>
  ),
  check: (
    <>
      <path d="m3 8.5 3.2 3.2L13 4.8" />
    </>
  ),
  down: (
    <>
      <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />
    </>
  ),
  right: (
    <>
      <path d="m6.5 4.5 3.5 3.5-3.5 3.5" />
    </>
  ),
  up: (
    <>
      <path d="m4.5 9.5 3.5-3.5 3.5 3.5" />
    </>
  ),
  left: (
    <>
      <path d="M9.5 4.5 6 8l3.5 3.5" />
    </>
  ),
  dots: (
    <>
      <path d="M8 3.5v.01M8 8v.01M8 12.5v.01" strokeWidth="2" />
    </>
  ),
  send: (
    <>
      <path d="M8 13V3.5M4 7.2 8 3.2l4 4" />
    </>
  ),
  branch: (
    <>
      <circle cx="4.5" cy="3.6" r="1.5" />
      <circle cx="4.5" cy="12.4" r="1.5" />
      <circle cx="11.5" cy="5.4" r="1.5" />
      <path d="M4.5 5.1v5.8M11.5 6.9c0 2.6-3.2 2.2-5.4 3.3" />
    </>
  ),
  folder: (
    <>
      <path d="M2 4.2c0-.6.4-1 1-1h3l1.4 1.6H13c.6 0 1 .4 1 1v6c0 .6-.4 1-1 1H3c-.6 0-1-.4-1-1z" />
    </>
  ),
  file: (
    <>
      <path d="M4 2h5l3 3v9H4z" />
      <path d="M9 2v3h3" />
    </>
  ),
  pencil: (
    <>
      <path d="M10.8 2.8 13.2 5.2 5.6 12.8 2.6 13.4 3.2 10.4z" />
    </>
  ),
  term: (
    <>
      <rect x="2" y="3" width="12" height="10" rx="1.2" />
      <path d="m4.6 6 2 2-2 2M8.4 10.2h3" />
    </>
  ),
  think: (
    <>
      <path d="M8 2.2v2M8 11.8v2M2.2 8h2M11.8 8h2M4 4l1.3 1.3M10.7 10.7 12 12M12 4l-1.3 1.3M5.3 10.7 4 12" />
    </>
  ),
  look: (
    <>
      <circle cx="8" cy="8" r="5.7" />
      <path d="m10.4 5.6-1.3 3.5-3.5 1.3 1.3-3.5z" />
    </>
  ),
  bot: (
    <>
      <rect x="3" y="5.5" width="10" height="7.5" rx="1.6" />
      <path d="M8 3v2.5M6 9h.01M10 9h.01" strokeWidth="1.6" />
    </>
  ),
  plug: (
    <>
      <path d="M5.6 2.5v3M10.4 2.5v3M3.8 5.5h8.4v2.3a4.2 4.2 0 0 1-8.4 0zM8 12v2" />
    </>
  ),
  shield: (
    <>
      <path d="M8 2 3 4v3.6c0 3.1 2.1 5.3 5 6.4 2.9-1.1 5-3.3 5-6.4V4z" />
    </>
  ),
  key: (
    <>
      <circle cx="5.2" cy="10.8" r="2.7" />
      <path d="m7.2 8.8 6-6M11 5l1.7 1.7" />
    </>
  ),
  zap: (
    <>
      <path d="M9.2 1.8 3.8 9h3.6l-.6 5.2L12.2 7H8.6z" />
    </>
  ),
  warn: (
    <>
      <path d="M8 2.4 14.2 13H1.8z" />
      <path d="M8 6.6v3M8 11.3v.01" />
    </>
  ),
  info: (
    <>
      <circle cx="8" cy="8" r="5.8" />
      <path d="M8 7.4v3.4M8 5.2v.01" />
    </>
  ),
  eye: (
    <>
      <path d="M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8z" />
      <circle cx="8" cy="8" r="1.8" />
    </>
  ),
  list: (
    <>
      <path d="M5.5 4.2h8M5.5 8h8M5.5 11.8h8M2.6 4.2h.01M2.6 8h.01M2.6 11.8h.01" />
    </>
  ),
  undo: (
    <>
      <path d="M3 6.2h6.6a3.4 3.4 0 0 1 0 6.8H6" />
      <path d="M5.6 3.4 2.8 6.2 5.6 9" />
    </>
  ),
  say: (
    <>
      <path d="M2.5 3h11v7.6H8L4.8 13.4v-2.8H2.5z" />
    </>
  ),
  star: (
    <>
      <path d="m8 2.2 1.8 3.7 4 .6-2.9 2.8.7 4L8 11.4l-3.6 1.9.7-4L2.2 6.5l4-.6z" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.2" />
      <path d="M10.5 5.5v-2c0-.6-.4-1-1-1h-6c-.6 0-1 .4-1 1v6c0 .6.4 1 1 1h2" />
    </>
  ),
  trash: (
    <>
      <path d="M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5" />
    </>
  ),
  restart: (
    <>
      <path d="M13.2 8a5.2 5.2 0 1 1-1.6-3.75L13.5 6" />
      <path d="M13.5 3v3h-3" />
    </>
  ),
  user: (
    <>
      <circle cx="8" cy="5.4" r="2.6" />
      <path d="M3 13.5c.6-2.6 2.5-4 5-4s4.4 1.4 5 4" />
    </>
  ),
  pin: (
    <>
      <path d="M6 2.5h4l-.6 4 2.1 2.2H4.5l2.1-2.2zM8 8.7v5" />
    </>
  ),
  moon: (
    <>
      <path d="M12.8 9.6A5.4 5.4 0 0 1 6.4 3.2a5.4 5.4 0 1 0 6.4 6.4z" />
    </>
  ),
  external: (
    <>
      <path d="M9 2.8h4.2V7M13 3 7.6 8.4M11.5 9.5v3.7H2.8V4.5h3.7" />
    </>
  ),
  settings: (
    <>
      <path d="M2.5 4.5h6M12 4.5h1.5M2.5 11.5H4M7.5 11.5h6" />
      <circle cx="10.2" cy="4.5" r="1.7" />
      <circle cx="5.8" cy="11.5" r="1.7" />
    </>
  ),
  mic: (
    <>
      <rect x="6" y="2" width="4" height="7.5" rx="2" />
      <path d="M3.5 7.8a4.5 4.5 0 0 0 9 0M8 12.3V14" />
    </>
  ),
  bell: (
    <>
      <path d="M4 11V7a4 4 0 0 1 8 0v4l1 1.2H3zM6.8 14h2.4" />
    </>
  ),
  keys: (
    <>
      <rect x="1.8" y="4.2" width="12.4" height="7.6" rx="1.2" />
      <path d="M4.4 6.8h.01M6.8 6.8h.01M9.2 6.8h.01M11.6 6.8h.01" strokeWidth="1.6" />
      <path d="M5 9.4h6" />
    </>
  ),
  server: (
    <>
      <rect x="2.5" y="3" width="11" height="4" rx="1" />
      <rect x="2.5" y="9" width="11" height="4" rx="1" />
      <path d="M5 5h.01M5 11h.01" strokeWidth="1.7" />
    </>
  ),
  grid: (
    <>
      <rect x="2.5" y="2.5" width="5" height="11" rx="1" />
      <rect x="9.5" y="2.5" width="4" height="4.5" rx="1" />
      <rect x="9.5" y="9" width="4" height="4.5" rx="1" />
    </>
  ),
  max: (
    <>
      <path d="M9.5 2.5h4v4M6.5 13.5h-4v-4M13.5 2.5 9 7M2.5 13.5 7 9" />
    </>
  ),
  grip: (
    <>
      <path d="M6 4v.01M10 4v.01M6 8v.01M10 8v.01M6 12v.01M10 12v.01" strokeWidth="1.9" />
    </>
  ),
  play: (
    <>
      <path d="M5 3.2 12 8l-7 4.8z" />
    </>
  ),
  pause: (
    <>
      <path d="M5.5 3.5v9M10.5 3.5v9" />
    </>
  ),
  stop: (
    <>
      <rect x="4" y="4" width="8" height="8" rx="1" />
    </>
  ),
  sun: (
    <>
      <circle cx="8" cy="8" r="3" />
      <path d="M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1" />
    </>
  ),
}

export type IconName = keyof typeof shapes

/** An icon without a name of its own: the control that holds it has one. */
export function Icon({ name, className = '' }: { name: IconName; className?: string }) {
  return (
    <svg className={`i ${className}`} viewBox="0 0 16 16" aria-hidden="true">
      {shapes[name]}
    </svg>
  )
}
