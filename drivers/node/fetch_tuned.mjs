// fetch of the package undici, with an Agent of as many connections as requests in flight.
import { createRequire } from 'node:module'
import { Agent, fetch } from 'undici'
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

const { version } = createRequire(import.meta.url)('undici/package.json')
run(fetchClient, { name: 'fetch-tuned', version, engine: 'undici' })
