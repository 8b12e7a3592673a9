// node:http with an Agent that keeps connections, or with one that does not: always with `plain`.
import http from 'node:http'
import https from 'node:https'
import { calls } from './calls.mjs'
import { agent, run } from './kit.mjs'

const plain = process.argv[2] === 'plain'

const httpClient = (job) => {
  const { request } = job.url.startsWith('https:') ? https : http
  const options = { method: job.method, headers: job.headers, timeout: job.timeout_ms, agent: agent(job) }
  const send = (url) => new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      const parts = []
      response.on('data', (part) => parts.push(part)).on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode, body: Buffer.concat(parts) }))
    })
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('timeout'))).end()
  })
  return { send, close: () => options.agent.destroy() }
}

const call = calls({
  words: ['method', 'body', 'fields', 'timeout', 'tls', 'parallel'],
  make: (_, { method, url, fields, body, timeout, ca }) => new Promise((resolve, reject) => {
    const { request } = url.startsWith('https:') ? https : http
    const sent = request(url, { method, headers: fields, timeout, ca }, (response) => {
      const parts = []
      response.on('data', (part) => parts.push(part)).on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode, body: Buffer.concat(parts) }))
    })
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('timeout'))).end(body)
  })
})

const [name, keepalive] = plain ? ['node-http-plain', [false]] : ['node-http', [true, false]]
run(httpClient, { name, call, version: process.versions.node, engine: `llhttp/${process.versions.llhttp}`, keepalive })
