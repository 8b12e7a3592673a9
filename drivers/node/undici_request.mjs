// undici: its request() on an Agent of as many connections as requests in flight, as its documentation advises for speed.
import { createRequire } from 'node:module'
import { Agent, request } from 'undici'
import { calls } from './calls.mjs'
import { run, undiciOptions } from './kit.mjs'

const undiciClient = (job) => {
  const dispatcher = new Agent({ ...undiciOptions(job), headersTimeout: job.timeout_ms, bodyTimeout: job.timeout_ms })
  const send = async (url) => {
    const response = await request(url, { method: job.method, headers: job.headers, dispatcher })
    return { status: response.statusCode, body: Buffer.from(await response.body.arrayBuffer()) }
  }
  return { send, close: () => dispatcher.close() }
}

const call = calls({
  words: ['method', 'body', 'fields', 'timeout'],
  open: () => new Agent(),
  make: async (dispatcher, { method, url, fields: headers, body, timeout }) => {
    const response = await request(url, { method, headers, body, dispatcher, headersTimeout: timeout, bodyTimeout: timeout })
    return { status: response.statusCode, body: Buffer.from(await response.body.arrayBuffer()) }
  }
})

const { version } = createRequire(import.meta.url)('undici/package.json')
run(undiciClient, { call, name: 'undici', version, engine: 'llhttp' })
