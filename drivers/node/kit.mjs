// The harness's side of every driver in Node: replies to commands, hands out requests, verifies and counts responses.
import { createInterface } from 'node:readline'
import { readFileSync, writeSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { paceOf } from './pace.mjs'

const HELLO = { ok: true, proto: 2, runtime: `node ${process.versions.node}`, http: ['1.1'], tls: true, models: ['async'],
  keepalive: [true, false], retries: 'off', max_concurrency: 1000, cores: 1, verify: ['tail', 'json', 'none'],
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], paces: ['rate'] }

// One `go`: as many loops as requests in flight, each awaits `send(url)`, which gives a status and the body as a Buffer.
async function go (job, send, command) {
  const errors = {}
  const latencies = new Map()
  const end = command.first + command.count
  const pace = paceOf(command)
  let [next, untimed, done, bytes, sum] = [command.first, 0, 0, 0, 0]
  let firstError

  const loop = async () => {
    while (next !== end) {
      const url = job.append_id ? job.url + next : job.url
      const position = next - command.first
      next += 1
      const taken = pace ? await pace.wait(position) : untimed === 0 ? performance.now() : 0
      untimed = (untimed || command.lat_every) - 1
      try {
        const { status, body } = await send(url)
        if (status < 200 || status > 299) throw new Error(`status ${status}`)
        const value = checkValue(job, body)
        done += 1
        bytes += body.length
        sum = (sum + value) % 2 ** 32
        if (taken) count(latencies, Math.floor((performance.now() - taken) * 1000))
      } catch (error) {
        const kind = error.code ?? error.cause?.code ?? error.message
        errors[kind] = (errors[kind] ?? 0) + 1
        firstError ??= String(error.cause ?? error)
      }
    }
  }
  await Promise.all(Array.from({ length: job.concurrency }, loop))
  return { ok: true, done, errors: command.count - done, errors_by: errors, first_error: firstError, bytes, sum, lat_us: [...latencies] }
}

// Counts microseconds to eight significant bits, rounded down.
function count (latencies, micros) {
  const shift = Math.max(24 - Math.clz32(micros), 0)
  const bucket = micros >> shift << shift
  latencies.set(bucket, (latencies.get(bucket) ?? 0) + 1)
}

// The check value at the end of a body. For a document, the numbers of all its records are added.
function checkValue (job, body) {
  if (job.verify === 'none') return 0
  if (job.verify !== 'json') return digits(body.toString('latin1', body.length - 8))
  const page = JSON.parse(body.toString())
  return page.records.reduce((sum, record) => sum + record.numbers, digits(page.token))
}

function digits (text) {
  if (!/^[0-9a-f]{8}$/.test(text)) throw new Error('check value')
  return parseInt(text, 16)
}

// The certificates to trust instead of the usual ones; none by default.
const trusted = ({ ca }) => ca && readFileSync(ca)

// An Agent of node:http or node:https. With a limit of sockets it would keep them alive against its option.
export function agent (job) {
  const pooled = { keepAlive: true, maxSockets: job.concurrency, maxFreeSockets: job.concurrency }
  const { Agent } = job.url.startsWith('https:') ? https : http
  return new Agent({ ...(job.keepalive ? pooled : { keepAlive: false }), ca: trusted(job) })
}

// Options of undici's Agent: as many connections as requests in flight.
export const undiciOptions = (job) =>
  ({ connections: job.concurrency, pipelining: job.keepalive ? 1 : 0, connect: { ca: trusted(job), timeout: job.timeout_ms } })

// Replies to commands until `bye`. `client(job)` gets ready; it returns `send` and, if need be, `close`.
export async function run (client, about) {
  let driver, job
  const reply = async (command) => {
    if (command.cmd === 'hello') return { ...HELLO, calls: about.call?.words ?? [], ...about }
    if (command.cmd === 'bye') return { ok: true }
    if (command.cmd === 'call' && about.call) return await about.call(command)
    if (command.cmd === 'go') return await go(job, driver.send, command)
    if (command.cmd !== 'prepare') return { ok: false, error: 'unsupported', what: command.cmd }
    await driver?.close?.()
    job = { ...command, headers: command.verify === 'json' ? { accept: 'application/json' } : {} }
    driver = await client(job)
    return { ok: true }
  }
  console.log = console.error // what a library prints must not stand between the responses
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line)
    const text = await reply(command).catch((error) => ({ ok: false, error: 'failed', what: String(error.message) }))
    writeSync(1, JSON.stringify({ id: command.id, ...text }) + '\n')
    if (command.cmd === 'bye') break
  }
  process.exit(0)
}
