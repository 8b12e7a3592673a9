// fetch as it comes with Node: undici under the standard's interface, its connections its own affair.
import { calls } from './calls.mjs'
import { run } from './kit.mjs'

const fetchClient = (job) => {
  const { method, headers } = job
  const send = async (url) => {
    const response = await fetch(url, { method, headers, signal: AbortSignal.timeout(job.timeout_ms) })
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
  }
  return { send }
}

const call = calls({
  words: ['method', 'body', 'fields', 'timeout', 'redirects', 'gzip', 'parallel'],
  make: async (_, { method, url, fields, body, timeout, follow }) => {
    const redirect = follow === false ? 'manual' : 'follow'
    const response = await fetch(url, { method, headers: fields, body, redirect, signal: AbortSignal.timeout(timeout) })
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
  }
})

run(fetchClient, { call, name: 'fetch', version: process.versions.node, engine: `undici/${process.versions.undici}`, tls: false, keepalive: [true] })
