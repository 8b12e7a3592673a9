// The command `call`: makes one call for an audit, with the client's own defaults, and reports its outcome.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const unsupported = (what) => ({ ok: false, error: 'unsupported', what })

// Which calls a client can make: `words`, `open(call)` makes a client, `make(client, call)` gives a status and the body as a Buffer.
export function calls ({ words, open = () => null, make }) {
  let client
  const reply = async (line) => {
    const refused = line.needs.split(',').find((word) => word && !words.includes(word))
    if (refused) return unsupported(refused)
    const call = callOf(line)
    if (line.new_client || line.by === 'close') {
      await client?.close?.()
      client = undefined
    }
    if (line.by === 'close') return { ok: true, responses: 0, errors: 0, ms: 0 }
    client ??= await open(call)
    const from = performance.now()
    const claim = line.parallel ? await atOnce(line.parallel, make, client, call) : await outcome(make, client, call)
    return { ok: true, ...claim, ms: Math.round(performance.now() - from) }
  }
  return Object.assign(reply, { words })
}

function callOf (line) {
  const { method, url, timeout_ms: timeout, follow, proxy, hosts } = line
  const body = line.body === undefined ? undefined : decodeURIComponent(line.body)
  const fields = Object.fromEntries(new URLSearchParams(line.fields))
  return { method, url, fields, body, timeout, follow, proxy, hosts, ca: line.ca && readFileSync(line.ca), poolSize: line.pool_size }
}

// Equal calls at once.
async function atOnce (count, make, client, call) {
  const claims = await Promise.all(Array.from({ length: count }, () => outcome(make, client, call)))
  const errors = claims.filter((claim) => claim.class)
  return { responses: count - errors.length, errors: errors.length, ...errors.at(-1) }
}

async function outcome (make, client, call) {
  try {
    const { status, body } = await make(client, call)
    return { status, bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') }
  } catch (error) {
    const cause = error.cause ?? error
    return { class: String(cause.code ?? cause.name ?? 'Error'), text: JSON.stringify(String(cause.message)).slice(1, 500) }
  }
}
