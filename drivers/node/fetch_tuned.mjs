// fetch of the package undici, with an Agent of as many connections as requests in flight.
import { createRequire } from 'node:module'
import { Agent, fetch } from 'undici'
import { calls } from './calls.mjs'
import { run, undiciOptions } from './kit.mjs'

const fetchClient = (job) => {
  const dispatcher = new Agent(undiciOptions(job))
  const { method, headers } = job
  const send = async (url) => {
    const response = await fetch(url, { method, headers, dispatcher, signal: AbortSignal.timeout(job.timeout_ms) })
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
  }
  return { send, close: () => dispatcher.close() }
}

const call = calls({
  words: ['method', 'body', 'fields', 'timeout', 'redirects', 'gzip'],
  open: () => new Agent({ connections: 100 }),
  make: async (dispatcher, { method, url, fields: headers, body, timeout, follow }) => {
    const redirect = follow === false ? 'manual' : 'follow'
    const response = await fetch(url, { method, headers, body, dispatcher, redirect, signal: AbortSignal.timeout(timeout) })
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
  }
})

const { version } = createRequire(import.meta.url)('undici/package.json')
run(fetchClient, { call, name: 'fetch-tuned', version, engine: 'undici' })
