// got: one extended instance, its retries off; an Agent keeps the connections.
import { readFileSync } from 'node:fs'
import got from 'got'
import { calls } from './calls.mjs'
import { agent, run } from './kit.mjs'

const gotClient = (job) => {
  const pooled = agent(job)
  const { method, headers, timeout_ms: request } = job
  const client = got.extend({
    method, headers, agent: { http: pooled, https: pooled }, timeout: { request }, retry: { limit: 0 }, throwHttpErrors: false, responseType: 'buffer'
  })
  const send = async (url) => {
    const { statusCode, body } = await client(url)
    return { status: statusCode, body: Buffer.from(body) }
  }
  return { send, close: () => pooled.destroy() }
}

const call = calls({
  words: ['method', 'body', 'fields', 'timeout', 'redirects', 'gzip', 'userinfo'],
  make: async (_, { method, url, fields: headers, body, timeout: request, follow }) => {
    const options = { method, headers, body, timeout: { request }, throwHttpErrors: false, responseType: 'buffer' }
    const response = await got(url, follow === false ? { ...options, followRedirect: false } : options)
    return { status: response.statusCode, body: Buffer.from(response.body) }
  }
})

const { version } = JSON.parse(readFileSync(new URL('node_modules/got/package.json', import.meta.url)))
run(gotClient, { call, name: 'got', version, engine: 'node:http' })
