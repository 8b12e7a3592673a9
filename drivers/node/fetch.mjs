// fetch as it comes with Node: undici under the standard's interface, its connections its own affair.
import { run } from './kit.mjs'

const fetchClient = (job) => {
  const { method, headers } = job
  const send = async (url) => {
    const answer = await fetch(url, { method, headers, signal: AbortSignal.timeout(job.timeout_ms) })
    return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) }
  }
  return { send }
}

run(fetchClient, { name: 'fetch', version: process.versions.node, engine: `undici/${process.versions.undici}`, tls: false, keepalive: [true] })
