import { createHash } from 'node:crypto'
import type { BegunSignIn, SignInPage } from '../sign-in/sign-ins.js'

const STYLE = 'body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}a,button{font:inherit;font-weight:600}'

/** No script, no frame, no form and no other origin; and no window that opened the page has a reference to it. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'content-security-policy': policy("'none'")
} as const

/** Those of the page with the form. With `no-referrer`, browsers would send `Origin: null` with it. */
export const FORM_HEADERS = { ...PAGE_HEADERS, 'referrer-policy': 'same-origin', 'content-security-policy': policy("'self'") } as const

function policy (formAction: string): string {
  return `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action ${formAction}; frame-ancestors 'none'`
}

/**
 * The page before the sign-in. It names the owner: a person who did not begin the sign-in can see that. The form has
 * the address of the page, whose query has the ticket.
 */
export function signInPage ({ owner, server, host }: SignInPage): string {
  const caller = owner === '' ? 'the caller of this service' : `the caller <strong>${escapeHtml(owner)}</strong> of this service`
  return page(`Sign in to ${server}`, `<p>${capital(caller)} asks for access to <strong>${escapeHtml(server)}</strong>, with the account that you sign in with at ${escapeHtml(host)}.</p>
<p>Continue only if you asked for this.</p>
<form method="post"><button>Continue to ${escapeHtml(host)}</button></form>`)
}

/**
 * The page that leads on, by its header `Refresh`: browsers would check the redirects of a form's response, of which
 * the authorization server may have any, against `form-action`.
 */
export function leadingPage ({ server, host, url }: BegunSignIn): string {
  return page(`Sign in to ${server}`, `<p><a href="${escapeHtml(url)}" rel="noreferrer">Continue to ${escapeHtml(host)}</a></p>`)
}

export function signedInPage (server: string): string {
  return page(`Signed in to ${server}`, '<p>You can close this page. The call that asked for it continues.</p>')
}

export function refusedPage (message: string): string {
  return page('Not signed in', `<p>${escapeHtml(capital(message))}.</p>`)
}

function page (title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body><h1>${escapeHtml(title)}</h1>
${body}
</body></html>
`
}

function escapeHtml (text: string): string {
  return text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
}

function capital (text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
