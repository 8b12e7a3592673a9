// node:http with an Agent: kept connections, or none when keep-alive is off.
import http from 'node:http'
import { agentOptions, run } from './kit.mjs'

const httpClient = (job) => {
  const agent = new http.Agent(agentOptions(job))
  const options = { method: job.method, headers: job.headers, timeout: job.timeout_ms, agent }
  const send = (url) => new Promise((resolve, reject) => {
    const request = http.request(url, options, (answer) => {
      const parts = []
      answer.on('data', (part) => parts.push(part)).on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode, body: Buffer.concat(parts) }))
    })
    request.on('error', reject).on('timeout', () => request.destroy(new Error('timeout'))).end()
  })
  return { send, close: () => agent.destroy() }
}

run(httpClient, { name: 'node-http', version: process.versions.node, engine: `llhttp/${process.versions.llhttp}` })
