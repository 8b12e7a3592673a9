// The command `ask`: makes one call for an audit, with the client's own defaults, and reports its outcome.
import { createHash } from 'node:crypto'

const unsupported = (what) => ({ ok: false, error: 'unsupported', what })

// Which calls a client can make: `words`, `open()` makes a client, `ask(client, call)` gives a status and the body as a Buffer.
export function asks ({ words, open = () => null, ask }) {
  let client
  return async (line) => {
    const refused = line.needs.split(',').find((word) => word && !words.includes(word))
    if (refused) return unsupported(refused)
    if (line.fresh) {
      await client?.close?.()
      client = await open()
    }
    const call = { method: line.method, url: line.url, fields: Object.fromEntries(new URLSearchParams(line.fields)),
      body: line.body === undefined ? undefined : decodeURIComponent(line.body), timeout: line.timeout_ms, follow: line.follow }
    const from = performance.now()
    const claim = await outcome(ask, client, call)
    return { ok: true, ...claim, ms: Math.round(performance.now() - from) }
  }
}

async function outcome (ask, client, call) {
  try {
    const { status, body } = await ask(client, call)
    return { status, bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') }
  } catch (error) {
    const cause = error.cause ?? error
    return { class: String(cause.code ?? cause.name ?? 'Error'), text: JSON.stringify(String(cause.message)).slice(1, 500) }
  }
}
