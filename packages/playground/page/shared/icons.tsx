import type { JSX } from 'preact'

/** Lines on a grid of 24; the text next to an icon, or the label of its button, names what it is. */
const PATHS = {
  again: 'M20 11a8 8 0 1 0-.6 4M20 5v6h-6',
  attach: 'M20 11.5 12 19.4a5 5 0 0 1-7.1-7L13 4.3a3.4 3.4 0 0 1 4.8 4.8l-7.9 7.9a1.7 1.7 0 0 1-2.4-2.4l7.3-7.2',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  dark: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  done: 'M5 13l4.5 4.5L19 7',
  down: 'M12 5v14M6 13l6 6 6-6',
  edit: 'M4 20h4L19.5 8.5l-4-4L4 16zM13 7l4 4',
  failed: 'M12 7v6M12 16.5v.5M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  inspect: 'M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14',
  key: 'M14 10a4 4 0 1 0-1.2 2.8L15 15h2v2h2v2h2v-3l-7-7z',
  light: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  menu: 'M4 7h16M4 12h16M4 17h10',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  new: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  system: 'M3 5h18v11H3zM9 20h6M12 16v4',
  tool: 'M14.5 6.5a4 4 0 0 0-5.3 5l-5.2 5.2 2.3 2.3 5.2-5.2a4 4 0 0 0 5-5.3L14 11l-2-.5-.5-2z',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13'
} as const

export function Icon ({ name }: { readonly name: keyof typeof PATHS }): JSX.Element {
  return <svg class='icon' viewBox='0 0 24 24' aria-hidden='true'><path d={PATHS[name]} /></svg>
}

/** The mark of the page: many lines that end in one point. */
export function Logo (): JSX.Element {
  return (
    <svg class='logo' viewBox='0 0 32 32' aria-hidden='true'>
      <rect width='32' height='32' rx='9' />
      <path d='M7 9c6 0 6 7 12 7M7 16h12M7 23c6 0 6-7 12-7' /><circle cx='22' cy='16' r='3.5' />
    </svg>
  )
}

interface IconButtonProps {
  readonly icon: keyof typeof PATHS
  readonly label: string
  readonly testId: string
  readonly onClick: () => unknown
  readonly disabled?: boolean
}

/** A button without text; its label is shown where a pointer rests on it. */
export function IconButton ({ icon, label, testId, onClick, disabled = false }: IconButtonProps): JSX.Element {
  return <button type='button' class='quiet' aria-label={label} title={label} data-testid={testId} disabled={disabled} onClick={() => { onClick() }}><Icon name={icon} /></button>
}
